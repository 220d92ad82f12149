"""Tight against printed accounting: how much less noise, and how much less epsilon at the same noise.

Run ``python -m benchmarks.accounting_gain [--quick]``.  Relation: replace-one, the one of the sources, at delta 1e-6.
For each algorithm: the printed noise over the least that is enough (``noise``), and the epsilon that a run with the
printed noise costs if the mechanism is the one used here (``same_noise``: Gumbel noise, that is the exponential
mechanism, at the printed Laplace scale; Gaussian as printed) and if it is the printed one (``as_printed``).  The last
line is one JSON object; without ``--quick`` the table is written to docs/accounting_gain.md.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

from dp_accounting import dp_event

from discreet import accounting
from discreet.accounting import published
from discreet.accounting.events import BoundedRangeDpEvent, PureDpEvent, compose, repeat
from discreet.curator import RowBounds
from discreet.losses import LogisticLoss
from discreet.mechanisms import PublishedPeeling
from discreet.penalties import L1Ball, Sparsity
from discreet.privacy import Budget
from discreet.solvers import CoordinateDescent, FrankWolfe, IterativeHardThresholding
from discreet.solvers.base import Problem
from discreet.solvers.queries import Peel

DELTA, STEPS, SPARSITY = 1e-6, 100, 10
PAGE = Path(__file__).resolve().parent.parent / "docs" / "accounting_gain.md"


def problem(epsilon: float, penalty: Any) -> Problem:
    """Any problem will do: noise multipliers do not depend on it."""
    budget = Budget(epsilon, DELTA, neighbors="replace_one")
    return Problem(LogisticLoss(), RowBounds(linf=1.0), 1000, 10_000, budget, penalty=penalty)


def selections(epsilon: float) -> dict[str, float]:
    """Private LASSO: 100 selections."""
    task = problem(epsilon, L1Ball(1.0))
    tight: Any = FrankWolfe(steps=STEPS).plan(task).mechanisms["vertex"]
    printed = published.lecture_selection(task.budget, STEPS)
    return {
        "noise": tight.eta / printed,
        "same_noise": accounting.epsilon(repeat(BoundedRangeDpEvent(printed), STEPS), DELTA),
        "as_printed": accounting.epsilon(repeat(PureDpEvent(printed), STEPS), DELTA),
    }


def paper_selections(epsilon: float) -> dict[str, float]:
    """The same at the scale of the LASSO paper, half of the lecture's."""
    task = problem(epsilon, L1Ball(1.0))
    tight: Any = FrankWolfe(steps=STEPS).plan(task).mechanisms["vertex"]
    printed = published.lasso_selection(task.budget, STEPS)
    return {
        "noise": tight.eta / printed,
        "same_noise": accounting.epsilon(repeat(BoundedRangeDpEvent(printed), STEPS), DELTA),
        "as_printed": accounting.epsilon(repeat(PureDpEvent(printed), STEPS), DELTA),
    }


def thresholding(epsilon: float) -> dict[str, float]:
    """Hard thresholding by gradient noise: 100 Gaussian releases, with the constant 32 in Theorem 16.4."""
    task = problem(epsilon, Sparsity(SPARSITY))
    noise: list[Any] = [
        IterativeHardThresholding(steps=STEPS).plan(task).mechanisms["gradient"],
        IterativeHardThresholding(steps=STEPS, accounting="as_published").plan(task).mechanisms["gradient"],
    ]
    tight, printed = (mechanism.noise_multiplier for mechanism in noise)
    cost = accounting.epsilon(repeat(dp_event.GaussianDpEvent(printed), STEPS), DELTA)
    return {"noise": printed / tight, "same_noise": cost, "as_printed": cost}


def coordinates(epsilon: float) -> dict[str, float]:
    """Coordinate descent: 100 partial derivatives of even columns, with the constant 8 of the slides."""
    task = problem(epsilon, None)
    plans = [
        CoordinateDescent(steps=STEPS, curvature="bounds").plan(task),
        CoordinateDescent(steps=STEPS, curvature="bounds", accounting="as_published").plan(task),
    ]
    noise: list[Any] = [next(iter(plan.mechanisms.values())) for plan in plans]
    cost = accounting.epsilon(plans[1].event, DELTA)
    return {"noise": noise[1].noise_multiplier / noise[0].noise_multiplier, "same_noise": cost, "as_printed": cost}


def peeling(epsilon: float) -> dict[str, float]:
    """One Peeling of ten entries, as in each part of Algorithm 6."""
    budget = Budget(epsilon, DELTA)
    printed = PublishedPeeling(SPARSITY, *published.lecture_peeling(budget))
    b = printed.noise_multiplier  # Laplace scale over lambda, for choices and for values
    # equal variances: Gumbel b^2 pi^2/6 and Gaussian at the Laplace values' 2 b^2, over sqrt(s) lambda
    values = dp_event.GaussianDpEvent(math.sqrt(2.0) * b / math.sqrt(SPARSITY))
    same = compose(repeat(BoundedRangeDpEvent(2 / b), SPARSITY), values)

    def at(noise: float) -> dp_event.DpEvent:
        return Peel(k=SPARSITY).at(noise).event

    least: Any = Peel(k=SPARSITY).at(accounting.calibrate(at, budget))
    return {
        "noise": least.eta * b / 2,
        "same_noise": accounting.epsilon(same, DELTA),
        "as_printed": accounting.epsilon(printed.event, DELTA),
    }


ROWS = {
    "lasso_lecture": (selections, f"private LASSO, {STEPS} steps, lecture 16 (Algorithm 2)"),
    "lasso_paper": (paper_selections, f"private LASSO, {STEPS} steps, the LASSO paper (Algorithm 2)"),
    "iht": (thresholding, f"hard thresholding, {STEPS} steps, lecture 16 (Theorem 16.4, c = 32)"),
    "coordinate": (coordinates, f"coordinate descent, {STEPS} updates, the slides (8 Delta^2 T K log(1/delta))"),
    "peeling": (peeling, f"Peeling of {SPARSITY} entries, lecture 16 (Algorithm 5)"),
}
INTRODUCTION = """# What tight accounting buys

The same algorithm, the same promise (replace-one, delta = 1e-6), and the noise that its source prints against the noise
that `discreet` adds. Written by `python -m benchmarks.accounting_gain`.

* **noise**: printed over ours. Errors shrink by about this factor.
* **same noise**: the epsilon that our mechanism costs at the printed noise. The promise over it, *epsilon saved*, is
  how much less epsilon buys the same noise.
* **as printed**: the epsilon that the printed mechanism costs, by our accountant. Above the promise, the printed noise
  is refused (`accounting="as_published"` raises).

| algorithm | promised | noise | same noise | epsilon saved | as printed |
|---|---|---|---|---|---|
"""
NOTES = """
For selections "same noise" means the same scale: Gumbel noise (the exponential mechanism) in place of Laplace noise,
which nobody knows how to price better than pure steps composed. The paper's scale is half of the lecture's: with
Laplace noise it breaks its promise under the paper's own relation, with Gumbel noise it keeps it. Peeling's values get
Gaussian noise of the printed variance.
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="epsilon 1 only, and no page")
    quick = parser.parse_args().quick
    numbers: dict[str, float] = {}
    lines = []
    for name, (measure, title) in ROWS.items():
        for epsilon in (1.0,) if quick else (0.1, 0.5, 1.0, 4.0):
            row = measure(epsilon)
            cells = [f"{epsilon:g}", f"{row['noise']:.2f}", f"{row['same_noise']:.3f}"]
            cells += [f"{epsilon / row['same_noise']:.2f}", f"{row['as_printed']:.3f}"]
            lines.append(f"| {title} | {' | '.join(cells)} |")
            print(lines[-1])
            if epsilon == 1.0:
                numbers[f"{name}_noise_gain"] = row["noise"]
                numbers[f"{name}_epsilon_gain"] = epsilon / row["same_noise"]
    if not quick:
        PAGE.write_text(INTRODUCTION + "\n".join(lines) + "\n" + NOTES)
    print(json.dumps(numbers))


if __name__ == "__main__":
    main()
