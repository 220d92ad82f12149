"""Accuracy and AUC of one-line private logistic regression on sparse text and wide tables, delta 1/n^2.

Run ``python -m benchmarks.utility_sparse [--quick] [--splits S] [--data NAMES]``.  For each table, epsilon and split:
the default with ``bounds="private"`` on raw rows (raw counts for text), scikit-learn without privacy on rows of
presence, weighted by document frequencies and cut to norm 1 (scaled columns for dense tables), and the constant
predictor of the training rows.  `slope` says how well probabilities are calibrated: the slope of a logistic regression
of test labels on private margins (1 is right, more means that they are too near one half).

``sparse_*`` are synthetic: signs in 1,000 columns, 8,000 rows, few of which matter (independent,
autoregressive with effects that cancel, a correlated block).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression as Reference
from sklearn.preprocessing import normalize

from benchmarks._utility import Array, Floor, Line, command, cuts, line, rows_of
from benchmarks.utility_dense import score
from discreet.linear_model import LogisticRegression

TEXT = ("sms_spam", "news20", "imdb", "rcv1_vw1500", "dexter", "imdb_hash20")
WIDE = ("arcene", "ge_golub", "ge_shipp", "ge_singh")
SYNTHETIC = ("sparse_independent", "sparse_cancel", "sparse_far", "sparse_block")
TABLES = (*TEXT, "w8a", *WIDE, *SYNTHETIC)
QUICK = ("sms_spam", "news20")
EPSILONS = (0.1, 1.0, 4.0)
FLOORS = [
    Floor("sms_spam_auc_1", "sms_spam", 1.0, "private", "auc", 0.92),
    Floor("news20_auc_1", "news20", 1.0, "private", "auc", 0.925),
    Floor("imdb_accuracy_1", "imdb", 1.0, "private", "accuracy", 0.84),
    Floor("imdb_accuracy_4", "imdb", 4.0, "private", "accuracy", 0.875),
]


def synthetic(name: str, n: int = 10_000, p: int = 1000) -> tuple[Array, Array]:
    """Signs whose first columns matter: alone, with correlated columns that cancel, or as a correlated block."""
    rng = np.random.default_rng(SYNTHETIC.index(name))
    keep = {"sparse_independent": 0.0, "sparse_cancel": 0.5, "sparse_far": 0.9, "sparse_block": 0.9}[name]
    flips = rng.random((n, p)) > (1 + keep) / 2  # each column is the one before, or its opposite
    X = np.where(rng.random((n, 1)) < 0.5, 1.0, -1.0) * np.where(np.cumsum(flips, axis=1) % 2, -1.0, 1.0)
    weights = np.zeros(p)
    where = np.arange(5) + 100 if name != "sparse_independent" else np.arange(5) * 200
    weights[where] = 1.0 if name == "sparse_block" else np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    return X, (X @ weights + rng.logistic(size=n) > 0).astype(float)


def table(name: str) -> tuple[Any, Array] | None:
    """Rows and labels 0 and 1; None where the file is missing."""
    if name in SYNTHETIC:
        return synthetic(name)
    found = rows_of(name)
    if found is None:
        return None
    X, y, _ = found
    return sp.csr_matrix(X) if name in TEXT or name == "w8a" else X, (y > y.min()).astype(float)


def prepared(X: Any, train: Array) -> Any:
    """What a non-private user would do first, from the training rows."""
    if not sp.issparse(X):
        low, high = X[train].min(axis=0), X[train].max(axis=0)
        return np.clip((X - low) / np.maximum(high - low, 1e-12), -1, 2) - 0.5
    present = sp.csr_matrix(X != 0, dtype=np.float64)
    frequency = np.maximum(np.asarray(present[train].sum(axis=0)).ravel(), 1.0)
    return normalize(present.multiply(np.log1p(len(train) / frequency)).tocsr())


def of_one(name: str, splits: int, epsilons: Sequence[float], first: int = 0) -> Iterator[Line]:
    """Every way to fit one table."""
    found = table(name)
    if found is None:
        return
    X, y = found
    parts = cuts(len(y), splits, first)
    shape = (len(parts[0][0]), X.shape[1])
    start = time.perf_counter()
    constant = [{"accuracy": float((y[b] == (y[a].mean() > 0.5)).mean()), "auc": 0.5} for a, b in parts]
    yield line(name, shape, (math.inf, 0.0), "-", "constant", constant, start)
    start, best = time.perf_counter(), []
    for a, b in parts if len(y) < 10_000 else parts[:1]:
        Z = prepared(X, a)
        best.append(score(Reference(C=10.0, max_iter=100).fit(Z[a], y[a]).decision_function(Z[b]), y[b]))
    yield line(name, shape, (math.inf, 0.0), "public", "reference", best, start)
    delta = 1 / shape[0] ** 2
    for epsilon in epsilons:
        start, scores = time.perf_counter(), []
        for seed, (a, b) in enumerate(parts):
            private = LogisticRegression(epsilon=epsilon, delta=delta, random_state=first + seed)
            scores.append(score(private.fit(X[a], y[a]).decision_function(X[b]), y[b]))
        yield line(name, shape, (epsilon, delta), "private", "default", scores, start)


def lines(quick: bool, splits: int, data: Sequence[str] | None) -> Iterator[Line]:
    """Every table at three epsilons; quick: two tables at epsilon 1."""
    for name in TABLES if data is None else [n for n in TABLES if n in data]:
        if quick and data is None and name not in QUICK:
            continue
        yield from of_one(name, splits, (1.0,) if quick else EPSILONS[1:] if name == "imdb_hash20" else EPSILONS)


if __name__ == "__main__":
    command(__doc__, lines, FLOORS)
