"""The local and shuffled worlds: how fast reports are added, what liars do, what shuffling buys.

``python -m benchmarks.local [--quick]`` prints tables and, as its last line, one JSON object.  ``aggregate_ratio`` is
the aggregator's throughput over that of the plain standard-library loop that decodes the same reports and calls
``numpy.add.reduce``, the worst of the forms below; both are timed in the same run, the best of several repetitions.
"""

from __future__ import annotations

import argparse
import base64
import json
import struct
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet import local
from discreet.accounting.shuffling import Variation, closed_form_epsilon, local_epsilon_for, shuffled_epsilon
from discreet.local.base import Randomizer
from discreet.local.wire import encode_all
from discreet.randomness import SeededSource, data_generator


def best(job: Callable[[], Any], repetitions: int) -> float:
    """The shortest of several timings, in seconds of this process, so that others on the machine don't count."""
    times = []
    for _ in range(repetitions):
        start = time.process_time()
        job()
        times.append(time.process_time() - start)
    return min(times)


def json_numbers(reports: list[Any]) -> Any:
    """The plain loop for JSON reports of one number."""
    return np.add.reduce(np.array([json.loads(text)["r"] for text in reports]))


def json_vectors(reports: list[Any]) -> Any:
    """The plain loop for JSON reports of several numbers."""
    packed = [base64.urlsafe_b64decode(_padded(json.loads(text)["r"])) for text in reports]
    return np.add.reduce(np.array([np.frombuffer(p, dtype="<u2") for p in packed]), axis=0)


def _padded(text: str) -> str:
    return text + "=" * (-len(text) % 4)


def byte_numbers(reports: list[Any]) -> Any:
    """The plain loop for byte reports of one number."""
    return np.add.reduce(np.array([struct.unpack("<2sBBB8sB", blob)[5] for blob in reports]))


def throughput(n: int, repetitions: int) -> dict[str, float]:
    """Aggregator over plain loop, form by form (above 1: faster than the plain loop)."""
    data, source = data_generator(1), SeededSource(1)
    answers = local.KaryResponse(1.0, 10, source=source)
    numbers = answers.randomize(data.integers(0, 10, n))
    ball = local.Hemisphere(1.0, 16, source=source)
    vectors = ball.randomize(data.uniform(-0.2, 0.2, (n // 4, 16)))
    cases: list[tuple[str, Any, list[Any], Callable[[list[Any]], Any]]] = [
        ("json, one number", answers, encode_all(answers, numbers), json_numbers),
        ("json, with ids", answers, encode_all(answers, numbers, ids=[f"{i:x}" for i in range(n)]), json_numbers),
        ("bytes, one number", answers, encode_all(answers, numbers, form="bytes"), byte_numbers),
        ("json, 16 numbers", ball, encode_all(ball, vectors), json_vectors),
    ]
    ratios = {}
    for name, randomizer, reports, plain in cases:
        ours = best(lambda r=randomizer, b=reports: local.Aggregator(r).add(b), repetitions)  # type: ignore[misc]
        theirs = best(lambda p=plain, b=reports: p(b), repetitions)  # type: ignore[misc]
        ratios[name] = theirs / ours
        print(f"{name:20s} {len(reports) / ours:12,.0f} reports/s   plain loop {len(reports) / theirs:12,.0f}")
    return ratios


def poisoning(n: int) -> dict[str, float]:
    """How far one client in a hundred moves a mean (or share) whose truth is the lower end."""
    data: dict[str, float] = {}
    print(f"\nOne in a hundred of {n} clients lies; the truth is the lower end, an honest change moves it by 0.01")
    for epsilon in (0.25, 1.0, 4.0):
        source = SeededSource(7)
        response, hybrid = local.BinaryResponse(epsilon, source=source), local.Hybrid(epsilon, source=source)
        end = hybrid.branches[0].shape[3] if hybrid.share else hybrid.alphabet[1]
        cases: list[tuple[Randomizer, Any, int, float, float]] = [
            (response, np.zeros(n, dtype=np.int64), 1, 0.0, 1.0),
            (hybrid, np.full(n, -1.0), end, -1.0, 2.0),
        ]
        for r, values, lie, truth, span in cases:
            messages = r.randomize(values)
            messages[: n // 100] = lie
            estimate = local.Aggregator(r).add_messages(messages).estimate()
            moved, noise = (estimate.value - truth) / span, estimate.standard_error / span
            bound = local.poisoned_shift(r, n, n // 100) / span
            data[f"{r.name} at {epsilon:g}"] = moved
            print(
                f"  {r.name:8s} epsilon {epsilon:<5g} moved by {moved:.4f} +- {noise:.4f} ranges, at most {bound:.4f}"
            )
    return data


def shuffling() -> dict[str, float]:
    """Central epsilon at delta 1e-6 by each bound, and the inverse with its time."""
    print("\nShuffled, delta 1e-6:   n   local   FMT21   FMT23   finite sum   10-ary   Laplace")
    for n, e in ((10**4, 1.0), (10**4, 4.0), (10**3, 3.0), (10**6, 4.0), (10**9, 6.0)):
        printed = [closed_form_epsilon(e, n, 1e-6, theorem=t) for t in ("fmt21", "fmt23")]
        tight = [
            shuffled_epsilon(v, n, 1e-6) for v in (Variation.generic(e), Variation.k_ary(e, 10), Variation.laplace(e))
        ]
        print(f"  {n:>12,d} {e:4g}  " + "  ".join(f"{x:9.5f}" for x in (*printed, *tight)))
    answer: dict[str, float] = {}
    for n in (10**3, 10**5, 10**9):
        start = time.perf_counter()
        found = local_epsilon_for(n, 1.0, 1e-6)
        answer[f"local_epsilon_{n}"] = found
        answer[f"inverse_seconds_{n}"] = time.perf_counter() - start
        print(f"  central 1 with {n:,d} people: local {found:.4f} ({answer[f'inverse_seconds_{n}']:.2f} s)")
    return answer


def main() -> None:
    """Run all three and print the JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer reports")
    quick = parser.parse_args().quick
    ratios = throughput(20_000 if quick else 200_000, 3 if quick else 5)
    lies = poisoning(10_000 if quick else 200_000)
    bounds = shuffling()
    result = {"aggregate_ratio": min(ratios.values()), "aggregate_ratios": ratios, "poisoned": lies, **bounds}
    print(json.dumps({"benchmark": "local", "quick": quick, **result}))


if __name__ == "__main__":
    main()
