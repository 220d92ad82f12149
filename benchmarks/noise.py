"""Exact noise against OpenDP's integer vectors, in one run, on one thread, entropy included.

Run ``python -m benchmarks.noise [--quick]``.  Each row is the median of several timings of each, taken in turns.
The last line is one JSON object: the smallest ratio over the scales, and draws a second.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable

import opendp.prelude as dp

from discreet.mechanisms.exact import rounded_gaussian, rounded_laplace
from discreet.randomness import system

SCALES = {"100": 100.0, "2^20": 2.0**20, "2^30": 2.0**30}


def ours(family: str, scale: float, n: int) -> Callable[[], object]:
    """A call that draws `n` numbers with our sampler."""
    draw = rounded_gaussian if family == "gaussian" else rounded_laplace
    return lambda: draw(system(), scale, n)


def theirs(family: str, scale: float, n: int) -> Callable[[], object]:
    """A call that releases `n` integers with OpenDP's integer mechanism of the same scale."""
    domain = dp.vector_domain(dp.atom_domain(T=int))
    if family == "gaussian":
        release = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale)
    else:
        release = dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=scale)
    zeros = [0] * n
    return lambda: release(zeros)


def rate(call: Callable[[], object], n: int) -> float:
    """Draws a second of one call."""
    start = time.perf_counter()
    call()
    return n / (time.perf_counter() - start)


def compare(family: str, scale: float, n_ours: int, n_theirs: int, rounds: int) -> tuple[float, float]:
    """Median draws a second of ours and of theirs."""
    a, b = ours(family, scale, n_ours), theirs(family, scale, n_theirs)
    ours(family, scale, 10)()  # load the compiled loop
    theirs(family, scale, 10)()
    pairs = [(rate(a, n_ours), rate(b, n_theirs)) for _ in range(rounds)]
    return statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs)


def main(argv: list[str] | None = None) -> dict[str, object]:
    """Print the table and the JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shorter vectors and fewer rounds")
    quick = parser.parse_args(argv).quick
    dp.enable_features("contrib")
    n_ours, n_theirs, rounds = (10**6, 20_000, 3) if quick else (10**7, 200_000, 5)
    entropy = statistics.median(rate(lambda: system().words(10**6), 10**6) for _ in range(rounds))
    print(f"entropy alone: {entropy:.3g} 64-bit words a second; {os.cpu_count()} cores, 1 used")
    print(f"{'noise':<10}{'scale':>6}{'discreet /s':>14}{'OpenDP /s':>12}{'ratio':>8}")
    result: dict[str, object] = {"entropy_words_per_second": round(entropy), "n": n_ours, "n_opendp": n_theirs}
    for family in ("gaussian", "laplace"):
        ratios, rates = {}, {}
        for name, scale in SCALES.items():
            mine, other = compare(family, scale, n_ours, n_theirs, rounds)
            ratios[name], rates[name] = round(mine / other, 1), round(mine)
            print(f"{family:<10}{name:>6}{mine:>14.3g}{other:>12.3g}{mine / other:>8.1f}")
        result |= {f"{family}_ratio": min(ratios.values()), f"{family}_ratios": ratios, f"{family}_per_second": rates}
    print(json.dumps(result))
    return result


if __name__ == "__main__":
    main()
