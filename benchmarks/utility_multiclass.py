"""Many classes: accuracy and log-loss of one-line softmax regression, delta 1/n^2 and delta 0.

Run ``python -m benchmarks.utility_multiclass [--quick] [--splits S] [--data NAMES]``.  For each table, epsilon and
split: the default with public bounds (0 to 255 for images, else of each column), and for the small tables with delta 0
(model ``pure``).  Beside them scikit-learn without privacy and the constant predictor.  mnist takes 3 splits, or 10
when `--splits 10` is asked for by name.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression as Reference
from sklearn.metrics import log_loss

from benchmarks._utility import Array, Floor, Line, command, cuts, line, rows_of
from discreet.linear_model import LogisticRegression

SMALL = {"iris": load_iris, "wine": load_wine, "digits": load_digits}
TABLES = (*SMALL, "mnist", "covtype")
LARGE_SPLITS = 3
EPSILONS = (1.0, 3.0, 10.0)
FLOORS = [Floor("mnist_accuracy_1", "mnist", 1.0, "public", "accuracy", 0.85)]


def table(name: str) -> tuple[Array, Array, Any] | None:
    """Rows, labels and public bounds; None where the file is missing."""
    if name in SMALL:
        X, y = SMALL[name](return_X_y=True)
    else:
        found = rows_of(name)
        if found is None:
            return None
        X, y, rest = found
        y = np.asarray(rest.get("y_multi", y), dtype=np.float64)
        X = X.toarray() if hasattr(X, "toarray") else X
    X = np.asarray(X, dtype=np.float64)
    if name == "mnist":
        return X, y, (0, 255)
    X = np.ascontiguousarray(X[:, X.min(axis=0) < X.max(axis=0)])
    return X, y, (X.min(axis=0), X.max(axis=0))


def score(model: Any, X: Array, y: Array) -> dict[str, float]:
    """Accuracy and log-loss on rows that the model has not seen."""
    p = np.clip(model.predict_proba(X), 1e-9, None)
    right = model.classes_[p.argmax(axis=1)] == y
    loss = log_loss(y, p / p.sum(axis=1, keepdims=True), labels=model.classes_)
    return {"accuracy": float(right.mean()), "log_loss": float(loss)}


def of_one(name: str, splits: int, epsilons: Sequence[float], first: int = 0) -> Iterator[Line]:
    """Every way to fit one table."""
    found = table(name)
    if found is None:
        return
    X, y, bounds = found
    classes = np.unique(y)
    low, high = bounds
    parts = cuts(len(X), splits, first)
    shape = (len(parts[0][0]), X.shape[1])
    start, constant = time.perf_counter(), []
    for a, b in parts:
        share = np.array([(y[a] == c).mean() for c in classes])
        chance = np.tile(share, (len(b), 1))
        right = float((y[b] == classes[share.argmax()]).mean())
        constant.append({"accuracy": right, "log_loss": float(log_loss(y[b], chance, labels=classes))})
    yield line(name, shape, (math.inf, 0.0), "-", "constant", constant, start)
    start, best = time.perf_counter(), []
    for a, b in parts[: splits if shape[0] < 10_000 else 1]:
        unit = Reference(C=10.0, max_iter=300 if shape[0] < 10_000 else 60).fit((X[a] - low) / (high - low), y[a])
        best.append(score(unit, (X[b] - low) / (high - low), y[b]))
    yield line(name, shape, (math.inf, 0.0), "public", "reference", best, start)
    for epsilon in epsilons:
        for model, delta in (("default", 1 / shape[0] ** 2), ("pure", 0.0)):
            if model == "pure" and name not in SMALL:
                continue
            start, scores = time.perf_counter(), []
            for seed, (a, b) in enumerate(parts):
                private = LogisticRegression(
                    epsilon=epsilon, delta=delta, bounds=bounds, classes=classes, random_state=first + seed
                ).fit(X[a], y[a])
                scores.append(score(private, X[b], y[b]))
            yield line(name, shape, (epsilon, delta), "public", model, scores, start)


def lines(quick: bool, splits: int, data: Sequence[str] | None) -> Iterator[Line]:
    """Every table: the small ones alone when quick; three epsilons for them, one for the large."""
    for name in TABLES if data is None else [n for n in TABLES if n in data]:
        if quick and data is None and name not in SMALL:
            continue
        large = name not in SMALL
        count = min(splits, LARGE_SPLITS) if large and data is None else splits
        yield from of_one(name, count, (1.0,) if large or quick else EPSILONS)


if __name__ == "__main__":
    command(__doc__, lines, FLOORS)
