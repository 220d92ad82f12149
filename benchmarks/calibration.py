"""Calibration against ``dp_accounting``, and what T adaptive selections cost.

Run ``python -m benchmarks.calibration [--quick]``.  First the noise of 1,000 Poisson-subsampled Gaussian steps
(rate 0.01, epsilon 1, delta 1e-5): ours and the library's own calibration with its PLD accountant, at the same
tolerance, in turns, on one thread.  Then the epsilon of T exponential-mechanism selections by each accountant, and how
much less noise the value function needs than the scale that lecture 16 prints, under the same (replace-one) relation.
The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import time

from dp_accounting import dp_event, mechanism_calibration
from dp_accounting.pld import PLDAccountant

from discreet import accounting
from discreet.accounting.events import BoundedRangeDpEvent, repeat
from discreet.privacy import Budget

STEPS, RATE, EPSILON, DELTA = 1000, 0.01, 1.0, 1e-5


def steps(sigma: float) -> dp_event.DpEvent:
    """The event of the whole run at one noise multiplier."""
    return repeat(dp_event.PoissonSampledDpEvent(RATE, dp_event.GaussianDpEvent(sigma)), STEPS)


def ours(tolerance: float) -> float:
    """Our calibration; its tolerance is relative, and the answer is above 1, so this is the stricter of the two."""
    return accounting.calibrate(steps, Budget(epsilon=EPSILON, delta=DELTA), rtol=tolerance / 2)


def theirs(tolerance: float) -> float:
    """The library's calibration with its PLD accountant as it comes."""
    bracket = mechanism_calibration.LowerEndpointAndGuess(0.3, 1.0)
    return float(
        mechanism_calibration.calibrate_dp_mechanism(PLDAccountant, steps, EPSILON, DELTA, bracket, tol=tolerance)
    )


def subsampled(tolerance: float, turns: int) -> dict[str, float]:
    """Both calibrations in turns; medians of the times."""
    ours(tolerance)  # numba caches and imports
    times: dict[str, list[float]] = {"ours": [], "theirs": []}
    found: dict[str, float] = {}
    for _ in range(turns):
        for name, calibration in (("ours", ours), ("theirs", theirs)):
            start = time.perf_counter()
            found[name] = calibration(tolerance)
            times[name].append(time.perf_counter() - start)
    seconds = {name: statistics.median(values) for name, values in times.items()}
    certified = accounting.epsilon(steps(found["ours"]), DELTA)
    print(f"{STEPS} steps at rate {RATE}, epsilon {EPSILON}, delta {DELTA}, tolerance {tolerance:g}")
    for name in found:
        print(f"  {name:7} sigma {found[name]:.7f}  {seconds[name]:8.3f} s")
    print(f"  certified epsilon at our sigma: {certified:.9f}; by the library: {library_epsilon(found['ours']):.9f}")
    return {
        "sigma": found["ours"],
        "sigma_theirs": found["theirs"],
        "sigma_error": abs(found["ours"] / found["theirs"] - 1),
        "time_ratio": seconds["ours"] / seconds["theirs"],
        "seconds": seconds["ours"],
        "certified_epsilon": certified,
    }


def library_epsilon(sigma: float) -> float:
    """What the library says of our noise."""
    return float(PLDAccountant().compose(steps(sigma)).get_epsilon(DELTA))


def lecture_eta(epsilon: float, delta: float, count: int) -> float:
    r"""Range of one selection at the scale lecture 16 prints for Frank-Wolfe.

    Laplace (or Gumbel) scale ``Delta sqrt(8 T log(1/delta)) / epsilon`` with Delta how far one score can move when a
    row is replaced; some scores go up while others go down, so the range is 2 Delta, and eta = 2 Delta / scale.
    """
    return 2 * accounting.composition.share_for_advanced(epsilon, delta, count)


def selections(count: int, epsilon: float, delta: float) -> dict[str, float]:
    """Prices of `count` selections at the largest eta that is certified, and the gain over lecture 16."""
    eta = accounting.calibrate(
        lambda e: repeat(BoundedRangeDpEvent(e), count),
        Budget(epsilon=epsilon, delta=delta),
        increasing=True,
        start=1 / math.sqrt(count),
    )
    event = repeat(BoundedRangeDpEvent(eta), count)
    print(f"{count} selections of range {eta:.6f}, delta {delta:g}: epsilon by")
    prices = {
        name: accounting.epsilon(event, delta, accountant=name)
        for name in ("auto", "value_function", "rdp", "zcdp", "pld", "advanced", "basic")
    }
    print("  " + ", ".join(f"{name} {value:.4f}" for name, value in prices.items()))
    gain = eta / lecture_eta(epsilon, delta, count)
    print(f"  {gain:.3f} times less noise than lecture 16 prints")
    return {"epsilon": prices["auto"], "advanced": prices["advanced"], "gain": gain}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one turn instead of three, and no thousand selections")
    quick = parser.parse_args().quick
    result = subsampled(1e-4, 1 if quick else 3)
    table = {count: selections(count, 1.0, 1e-6) for count in ((10, 100) if quick else (10, 100, 1000))}
    result["selection_gain"] = table[100]["gain"]
    result.update({f"selection_epsilon_{count}": row["epsilon"] for count, row in table.items()})
    result.update({f"selection_advanced_{count}": row["advanced"] for count, row in table.items()})
    print(json.dumps(result))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
