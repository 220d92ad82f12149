"""Pure privacy (delta 0) and few rows: accuracy and log-loss of one-line logistic regression.

Run ``python -m benchmarks.utility_pure [--quick] [--splits S] [--data NAMES]``.  For each table, epsilon and split: the
default with delta 0 (model ``default``) and, where rows are few, with delta 1/n^2 (``approximate``), bounds of each
column given.  The one large table is also fitted with ``bounds="private"``.  Beside them scikit-learn without privacy
and the constant predictor.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.linear_model import LogisticRegression as Reference

from benchmarks import utility_dense
from benchmarks._utility import Array, Floor, Line, command, cuts, line
from discreet.linear_model import LogisticRegression

LARGE = "make_classification"
TABLES = ("breast_cancer", LARGE, "heart_scale", "mushrooms", "phishing", "electricity")
QUICK = 2
FEW = ("breast_cancer", "heart_scale")  # also with delta above 0
EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
FLOORS = [
    Floor("breast_cancer_pure_accuracy_1", "breast_cancer", 1.0, "public", "accuracy", 0.935),
    Floor("make_classification_pure_accuracy_1", LARGE, 1.0, "public", "accuracy", 0.792),
    Floor("make_classification_pure_private_accuracy_1", LARGE, 1.0, "private", "accuracy", 0.782),
]


def table(name: str) -> tuple[Array, Array] | None:
    """Rows and labels 0 and 1, without columns of one value; None where the file is missing."""
    if name == "breast_cancer":
        X, y = load_breast_cancer(return_X_y=True)
    elif name == LARGE:
        X, y = make_classification(60_000, 100, n_informative=20, n_redundant=10, random_state=0)
    else:
        return utility_dense.table(name)
    return np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)


def of_one(name: str, splits: int, epsilons: Sequence[float], first: int = 0) -> Iterator[Line]:
    """Every way to fit one table."""
    found = table(name)
    if found is None:
        return
    X, y = found
    low, high = X.min(axis=0), X.max(axis=0)
    parts = cuts(len(X), splits, first)
    shape = (len(parts[0][0]), X.shape[1])
    start = time.perf_counter()
    constant = [utility_dense.score(np.full(len(t), math.log(y[a].mean() / (1 - y[a].mean()))), y[t]) for a, t in parts]
    kept = [{key: s[key] for key in ("accuracy", "log_loss")} for s in constant]
    yield line(name, shape, (math.inf, 0.0), "-", "constant", kept, start)
    start, best = time.perf_counter(), []
    for a, b in parts:
        unit = Reference(C=10.0, max_iter=300).fit((X[a] - low) / (high - low), y[a])
        best.append(utility_dense.score(unit.decision_function((X[b] - low) / (high - low)), y[b]))
    yield line(name, shape, (math.inf, 0.0), "public", "reference", best, start)
    ways: list[tuple[str, str, float]] = [("default", "public", 0.0)]
    if name in FEW:
        ways.append(("approximate", "public", 1 / shape[0] ** 2))
    if name == LARGE:
        ways.append(("default", "private", 0.0))
    for epsilon in epsilons:
        for model, kind, delta in ways:
            start, scores = time.perf_counter(), []
            for seed, (a, b) in enumerate(parts):
                bounds: Any = (low, high) if kind == "public" else "private"
                private = LogisticRegression(epsilon=epsilon, delta=delta, bounds=bounds, random_state=first + seed)
                scores.append(utility_dense.score(private.fit(X[a], y[a]).decision_function(X[b]), y[b]))
            yield line(name, shape, (epsilon, delta), kind, model, scores, start)


def lines(quick: bool, splits: int, data: Sequence[str] | None) -> Iterator[Line]:
    """Every table: epsilon 1 alone when quick, and for the large table."""
    for name in TABLES if data is None else [n for n in TABLES if n in data]:
        if quick and data is None and name not in TABLES[:QUICK]:
            continue
        yield from of_one(name, splits, (1.0,) if quick or name == LARGE else EPSILONS)


if __name__ == "__main__":
    command(__doc__, lines, FLOORS)
