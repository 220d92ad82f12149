"""Charged scores and private searches: what intervals cover, and what a search gains and costs.

Run ``python -m benchmarks.selection [--quick]``.  Relation: zero-out; epsilon 1.  *Coverage*: how often the 95 %
interval of a charged score on a fresh test set of 2500 rows holds the population's score.  *Search*: the log-loss on
held-out rows of the default model, of both methods over four penalties, and of the worst of the four, fitted alone; all
at the same total budget.  The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import math
from typing import Any

import numpy as np
from sklearn import metrics as plain

from discreet import L2, LogisticRegression, metrics
from discreet.model_selection import PrivateSearchCV

GRID = {"penalty": [L2(a) for a in (1.0, 30.0, 1000.0, 30_000.0)]}


def scored(rng: np.random.Generator, n: int) -> tuple[Any, Any, Any]:
    """Labels, scores and their probabilities under a known law."""
    y = (rng.random(n) < 0.4).astype(int)
    s = 1.2 * y + rng.normal(size=n)
    return y, s, 1 / (1 + np.exp(-(1.2 * s - 1.1)))


def coverage(sets: int) -> dict[str, float]:
    """The share of intervals that hold the population's score."""
    rng = np.random.default_rng(3)
    y, s, p = scored(rng, 2_000_000)
    truth = {
        "accuracy": np.mean((p > 0.5) == y),
        "auc": plain.roc_auc_score(y, s),
        "log_loss": plain.log_loss(y, p),
        "r2": 0.8,
    }
    held = dict.fromkeys(truth, 0)
    for _ in range(sets):
        y, s, p = scored(rng, 2500)
        t = rng.normal(size=2500)
        fit = t + rng.normal(0, math.sqrt(0.2), 2500)
        found = {
            "accuracy": metrics.accuracy(p > 0.5, y == 1),
            "auc": metrics.auc(s, y, bounds=(-4, 5)),
            "log_loss": metrics.log_loss(p, y),
            "r2": metrics.r2(fit, t, bounds_y=(-5, 5), clip=2),
        }
        for name, score in found.items():
            low, high = score.interval()
            held[name] += low <= truth[name] <= high
    return {f"{name}_coverage": count / sets for name, count in held.items()}


def searches(seeds: int) -> dict[str, float]:
    """Mean held-out log-losses over seeds."""
    model = LogisticRegression(bounds=(-1, 1))
    contenders: dict[str, Any] = {
        "default": model,
        "ladder": PrivateSearchCV(model, GRID, scoring="log_loss", method="ladder"),
        "repeat_and_select": PrivateSearchCV(model, GRID, scoring="log_loss", method="repeat_and_select"),
        "worst_setting": LogisticRegression(bounds=(-1, 1), penalty=GRID["penalty"][-1]),
    }
    losses: dict[str, list[float]] = {name: [] for name in contenders}
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, (20_000, 20))
        y = 1.5 * X @ rng.normal(size=20) + rng.logistic(size=20_000) > 0
        for name, one in contenders.items():
            fitted = one.fit(X[:16_000], y[:16_000])
            losses[name].append(float(plain.log_loss(y[16_000:], fitted.predict_proba(X[16_000:]))))
    return {f"{name}_log_loss": float(np.mean(values)) for name, values in losses.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few test sets and seeds")
    quick = parser.parse_args().quick
    numbers = coverage(40 if quick else 400) | searches(2 if quick else 10)
    for name, value in numbers.items():
        print(f"{name:>28} {value:.4f}")
    print(json.dumps(numbers))


if __name__ == "__main__":
    main()
