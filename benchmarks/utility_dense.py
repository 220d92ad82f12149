"""Accuracy, AUC and log-loss of one-line private logistic regression on dense binary tables, delta 1/n^2.

Run ``python -m benchmarks.utility_dense [--quick] [--splits S] [--data NAMES]``.  For each table, epsilon and split:
the default with public bounds of each column, and with ``bounds="private"`` (raw columns, nothing said about them).
Beside them scikit-learn without privacy (features scaled to [0, 1]) and the constant predictor.  `slope` and `excess`
say how well probabilities are calibrated: the slope of a logistic regression of test labels on private margins (1 is
right, more means that they are too near one half), and the mean of predicted probabilities less that of labels.

Columns of one value are left out; labels are 1 above their smallest value.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression as Reference
from sklearn.metrics import log_loss, roc_auc_score

from benchmarks._utility import Array, Floor, Line, command, cuts, line, rows_of
from discreet.linear_model import LogisticRegression

TABLES = (
    "adult", "bank_full", "credit_default", "kddcup99_10pct",
    "bank_dpagd", "covtype", "electricity", "phishing", "mushrooms", "w8a",
)  # fmt: skip
QUICK = 3
EPSILONS = (0.1, 1.0)
ALL_EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # for `--data` and full runs of smaller tables
FLOORS = [
    Floor(f"{data}_{'private_' if bounds == 'private' else ''}{metric}_{epsilon:g}", name, epsilon, bounds, metric,
          round(least - (0.01 if bounds == "private" else 0.0), 4))
    for data, name, metric, epsilon, least in (
        ("adult", "adult", "accuracy", 0.1, 0.822), ("adult", "adult", "accuracy", 1.0, 0.844),
        ("adult", "adult", "auc", 0.1, 0.858), ("adult", "adult", "auc", 1.0, 0.896),
        ("bank_full", "bank_full", "auc", 0.1, 0.76), ("bank_full", "bank_full", "auc", 1.0, 0.90),
        ("credit_default", "credit_default", "accuracy", 0.1, 0.79),
        ("credit_default", "credit_default", "accuracy", 1.0, 0.805),
        ("kddcup99", "kddcup99_10pct", "accuracy", 0.1, 0.988), ("kddcup99", "kddcup99_10pct", "accuracy", 1.0, 0.992),
    )
    for bounds in ("public", "private")
]  # fmt: skip


def table(name: str) -> tuple[Array, Array] | None:
    """Rows and labels 0 and 1, without columns of one value; None where the file is missing."""
    found = rows_of(name)
    if found is None:
        return None
    X, y, _ = found
    X = X.toarray() if hasattr(X, "toarray") else X
    varied = X.min(axis=0) < X.max(axis=0)
    return np.ascontiguousarray(X[:, varied], dtype=np.float64), (y > y.min()).astype(float)


def score(margins: Array, y: Array) -> dict[str, float]:
    """How good margins are on rows that the model has not seen."""
    p = np.clip(expit(margins), 1e-9, 1 - 1e-9)
    line = Reference(C=1e6).fit(margins[:, None] / max(float(margins.std()), 1e-12), y)
    return {
        "accuracy": float(((margins > 0) == (y > 0)).mean()), "auc": float(roc_auc_score(y, margins)),
        "log_loss": float(log_loss(y, p)), "excess": float(p.mean() - y.mean()),
        "slope": float(line.coef_[0, 0]) / max(float(margins.std()), 1e-12),
    }  # fmt: skip


def of_one(
    name: str, splits: int, epsilons: Sequence[float], kinds: Sequence[str], models: dict[str, Any], first: int = 0
) -> Iterator[Line]:
    """Every way to fit one table."""
    found = table(name)
    if found is None:
        return
    X, y = found
    low, high = X.min(axis=0), X.max(axis=0)
    parts = cuts(len(X), splits, first)
    shape = (len(parts[0][0]), X.shape[1])
    start = time.perf_counter()
    constant = [{"accuracy": max(float(y[t].mean()), 1 - float(y[t].mean())), "auc": 0.5} for _, t in parts]
    yield line(name, shape, (math.inf, 0.0), "-", "constant", constant, start)
    start, best = time.perf_counter(), []
    for a, b in parts[: splits if shape[0] < 100_000 else 1]:
        unit = Reference(C=10.0, max_iter=300).fit((X[a] - low) / (high - low), y[a])
        best.append(score(unit.decision_function((X[b] - low) / (high - low)), y[b]))
    yield line(name, shape, (math.inf, 0.0), "public", "reference", best, start)
    delta = 1 / shape[0] ** 2
    for epsilon in epsilons:
        for kind in kinds:
            for model, solver in models.items():
                start, scores = time.perf_counter(), []
                for seed, (a, b) in enumerate(parts):
                    private = LogisticRegression(
                        epsilon=epsilon, delta=delta, bounds=(low, high) if kind == "public" else "private",
                        solver=solver, random_state=first + seed,
                    )  # fmt: skip
                    scores.append(score(private.fit(X[a], y[a]).decision_function(X[b]), y[b]))
                yield line(name, shape, (epsilon, delta), kind, model, scores, start)


def lines(quick: bool, splits: int, data: Sequence[str] | None) -> Iterator[Line]:
    """Every table: two epsilons when quick, seven otherwise (two for the largest tables)."""
    for name in TABLES if data is None else [n for n in TABLES if n in data]:
        if quick and data is None and name not in TABLES[:QUICK]:
            continue
        large = name in ("kddcup99_10pct", "covtype")
        epsilons = EPSILONS if quick or large else ALL_EPSILONS
        yield from of_one(name, splits, epsilons, ("public", "private"), {"default": "auto"})


if __name__ == "__main__":
    command(__doc__, lines, FLOORS)
