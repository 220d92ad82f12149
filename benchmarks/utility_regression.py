"""R2 of one-line private linear regression on real tables and synthetic designs, delta 1/n^2.

Run ``python -m benchmarks.utility_regression [--quick] [--splits S] [--data NAMES]``.  For each table, epsilon and
split: the default with public bounds of columns and target, and with everything private.  Beside them ridge regression
without privacy (columns on [0, 1]) and the constant predictor.  `relative` is the mean squared error over that of the
constant predictor of the same split.  Tables of counts (``bike_hour_counts``) go through Poisson regression, where `d2`
is the share of deviance that is explained.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.linear_model import PoissonRegressor as PlainPoisson
from sklearn.linear_model import Ridge
from sklearn.metrics import d2_tweedie_score

from benchmarks._utility import Array, Floor, Line, command, cuts, line, rows_of
from discreet.linear_model import LinearRegression, PoissonRegressor

REAL = (
    "california", "houses", "bike_hour", "wine_quality", "abalone", "communities_crime", "uci_elevators",
    "uci_protein", "bodyfat",
)  # fmt: skip
SYNTHETIC = ("linear_50000_100", "small_noise", "heavy_tails", "ill_conditioned", "no_signal", "skewed")
COUNTS = {"bike_hour_counts": "bike_hour"}
QUICK = ("california", "linear_50000_100")
EPSILONS = (0.1, 1.0, 10.0)
ALL_EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
FLOORS = [
    Floor("california_share_1", "california", 1.0, "public", "r2", 0.9, share_of="reference"),
    Floor("california_private_share_1", "california", 1.0, "private", "r2", 0.9, share_of="reference"),
    Floor("linear_50000_100_r2_1", "linear_50000_100", 1.0, "public", "r2", 0.9),
    Floor("linear_50000_100_private_r2_1", "linear_50000_100", 1.0, "private", "r2", 0.9),
]


def synthetic(name: str) -> tuple[Array, Array]:
    """Rows and targets of a design; each is the same every time."""
    rng = np.random.default_rng(20_240)
    n, p = {"linear_50000_100": (50_000, 100), "no_signal": (6_000, 30), "skewed": (20_000, 20)}.get(name, (10_000, 50))
    X, w = rng.uniform(-1, 1, (n, p)), rng.normal(size=p) / math.sqrt(p)
    if name == "linear_50000_100":
        X, w = rng.normal(size=(n, p)), rng.normal(size=p)
    if name == "ill_conditioned":
        X = rng.normal(size=(n, p)) * np.geomspace(1, 0.01, p) @ np.linalg.qr(rng.normal(size=(p, p)))[0]
    if name == "no_signal":
        return X, rng.normal(size=n)
    if name == "skewed":
        return X, np.exp(X @ w + 0.5 * rng.normal(size=n))
    noise = {"linear_50000_100": 1.0, "small_noise": 0.02, "ill_conditioned": 0.05}.get(name, 0.3)
    shape = rng.standard_t(2.2, size=n) if name == "heavy_tails" else rng.normal(size=n)
    return X, X @ w + noise * shape


def table(name: str) -> tuple[Array, Array] | None:
    """Columns that vary, and targets; None where the file is missing."""
    if name in SYNTHETIC:
        return synthetic(name)
    found = rows_of(name)
    if found is None:
        return None
    X, y, _ = found
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    return np.ascontiguousarray(X[:, X.min(axis=0) < X.max(axis=0)]), y


def score(predicted: Array, y: Array, level: float) -> dict[str, float]:
    """R2, and the mean squared error over that of a constant."""
    error = float(((y - predicted) ** 2).mean())
    return {"r2": 1 - error / float(y.var()), "relative": error / float(((y - level) ** 2).mean())}


def of_one(name: str, splits: int, epsilons: Sequence[float], first: int = 0) -> Iterator[Line]:
    """Every way to fit one table."""
    found = table(name)
    if found is None:
        return
    X, y = found
    low, high = X.min(axis=0), X.max(axis=0)
    unit, parts = (X - low) / (high - low), cuts(len(X), splits, first)
    shape, start = (len(parts[0][0]), X.shape[1]), time.perf_counter()
    constant = [score(np.full(len(b), y[a].mean()), y[b], float(y[a].mean())) for a, b in parts]
    yield line(name, shape, (math.inf, 0.0), "-", "constant", constant, start)
    start = time.perf_counter()
    best = [score(Ridge(1.0).fit(unit[a], y[a]).predict(unit[b]), y[b], float(y[a].mean())) for a, b in parts]
    yield line(name, shape, (math.inf, 0.0), "public", "reference", best, start)
    delta = 1 / shape[0] ** 2
    public: dict[str, Any] = {"bounds": (low, high), "bounds_y": (float(y.min()), float(y.max()))}
    for epsilon in epsilons:
        for kind, given in (("public", public), ("private", {})):
            start, scores = time.perf_counter(), []
            for seed, (a, b) in enumerate(parts):
                model = LinearRegression(epsilon=epsilon, delta=delta, random_state=first + seed, **given)
                scores.append(score(model.fit(X[a], y[a]).predict(X[b]), y[b], float(y[a].mean())))
            yield line(name, shape, (epsilon, delta), kind, "default", scores, start)


def of_counts(name: str, splits: int, epsilons: Sequence[float], first: int = 0) -> Iterator[Line]:
    """Poisson regression of one table: the default, and without privacy on columns of one size."""
    found = table(COUNTS[name])
    if found is None:
        return
    X, y = found
    unit, parts = (X - X.mean(axis=0)) / X.std(axis=0), cuts(len(X), splits, first)
    shape, start = (len(parts[0][0]), X.shape[1]), time.perf_counter()
    plain = [PlainPoisson(alpha=1e-4, max_iter=500).fit(unit[a], y[a]).predict(unit[b]) for a, b in parts]
    best = [{"d2": float(d2_tweedie_score(y[b], m, power=1))} for (_, b), m in zip(parts, plain, strict=True)]
    yield line(name, shape, (math.inf, 0.0), "public", "reference", best, start)
    delta = 1 / shape[0] ** 2
    public: dict[str, Any] = {"bounds": (X.min(axis=0), X.max(axis=0)), "bounds_y": (0.0, float(y.max()))}
    for epsilon in epsilons:
        for kind, given in (("public", public), ("private", {})):
            start, scores = time.perf_counter(), []
            for seed, (a, b) in enumerate(parts):
                model = PoissonRegressor(epsilon=epsilon, delta=delta, random_state=first + seed, **given)
                scores.append({"d2": float(d2_tweedie_score(y[b], model.fit(X[a], y[a]).predict(X[b]), power=1))})
            yield line(name, shape, (epsilon, delta), kind, "default", scores, start)


def lines(quick: bool, splits: int, data: Sequence[str] | None) -> Iterator[Line]:
    """Every table: epsilon 1 when quick; seven epsilons for tables that are named."""
    every = (*REAL, *SYNTHETIC, *COUNTS)
    for name in every:
        if name in (data if data is not None else QUICK if quick else every):
            fitted = of_counts if name in COUNTS else of_one
            yield from fitted(name, splits, EPSILONS[1:2] if quick else EPSILONS if data is None else ALL_EPSILONS)


if __name__ == "__main__":
    command(__doc__, lines, FLOORS)
