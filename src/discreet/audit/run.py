"""Running an algorithm many times on two neighbours, on all cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from discreet.accounting import epsilon as price
from discreet.audit.distinguishing import AuditResult, distinguish
from discreet.audit.neighbours import Pair, worst_pairs
from discreet.privacy import Neighbours

__all__ = ["audit", "audit_solver"]

Floats = NDArray[np.float64]
Fit = Callable[..., Any]


def audit(
    model: BaseEstimator | Fit,
    neighbors: Sequence[tuple[Any, ...]] | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    runs: int = 2000,
    *,
    confidence: float = 0.95,
    n_features: int = 2,
    n_jobs: int = -1,
) -> AuditResult:
    """Attack an algorithm: run it many times on two neighbouring data sets, and bound its epsilon from below.

    Parameters
    ----------
    model : estimator, or function of (X, y)
        A private model, fitted or not; or anybody's function that returns numbers.
    neighbors : pair of tuples, optional
        Two neighbouring data sets as arguments of the function (of ``fit``).  Default, for a model: several pairs
        made to hurt it, with the confidence shared among them.
    epsilon, delta : float, optional
        The promise; by default the model's own.
    runs : int, default=2000
        Runs in all, half on each data set.
    confidence : float, default=0.95
        Probability that the lower bound is right.
    n_features : int, default=2
        Features of the data sets made for a model.
    n_jobs : int, default=-1
        Processes.

    Returns
    -------
    AuditResult
        ``epsilon_lower``, ``caught`` (whether it is above the promise), ``plot()``.

    Notes
    -----
    *Privacy.* Guarantee: none; it is an attack, on data made for it.  Neighbours: the model's own, or those given.
    Public: everything.  Bounded by: exact binomial limits.  Proof: ``proofs/audit.md``.

    Examples
    --------
    >>> import numpy as np
    >>> leaky = lambda X, y: X.sum(axis=0) + np.random.default_rng().normal(size=1)
    >>> one, other = np.ones((3, 1)), np.zeros((3, 1))
    >>> audit(leaky, ((one, None), (other, None)), epsilon=0.5, delta=1e-6, runs=400, n_jobs=1).caught
    True
    """
    if isinstance(model, BaseEstimator):
        return _audit_model(model, neighbors, runs, confidence, n_features, n_jobs)
    if neighbors is None or epsilon is None or delta is None:
        raise ValueError("auditing a function needs neighbors=((X0, y0), (X1, y1)), epsilon and delta")
    first, second = (_outputs(model, data, runs // 2, n_jobs) for data in neighbors)
    return distinguish(first, second, float(epsilon), float(delta), confidence)


def audit_solver(
    run: Callable[[int], Floats], other: Callable[[int], Floats], promised: float, delta: float, runs: int
) -> AuditResult:
    """The same attack on two prepared runs (of one planned solver on two curators), without processes.

    >>> import numpy as np
    >>> draw = np.random.default_rng(0).normal
    >>> audit_solver(lambda i: draw(0, 1, 1), lambda i: draw(9, 1, 1), 1.0, 1e-6, 400).caught
    True
    """
    half = runs // 2
    outputs = [np.stack([np.ravel(f(i)) for i in range(half)]) for f in (run, other)]
    return distinguish(outputs[0], outputs[1], promised, delta)


def _outputs(fit: Fit, data: tuple[Any, ...], runs: int, n_jobs: int) -> Floats:
    chunks = np.array_split(np.arange(runs), min(runs, 64))
    parts = Parallel(n_jobs=n_jobs)(delayed(_repeat)(fit, data, len(chunk)) for chunk in chunks)
    return np.concatenate(list(parts))


def _repeat(fit: Fit, data: tuple[Any, ...], times: int) -> Floats:
    return np.stack([np.ravel(np.asarray(fit(*data), dtype=np.float64)) for _ in range(times)])


class _FitModel:
    """Fits a fresh copy of a model and returns its coefficients; a class, so that processes can be sent it."""

    def __init__(self, model: BaseEstimator) -> None:
        self.model = model

    def __call__(self, X: Any, y: Any, sample_weight: Any = None) -> Floats:
        fresh = clone(self.model).set_params(random_state=None)
        fresh.fit(X, y) if sample_weight is None else fresh.fit(X, y, sample_weight=sample_weight)
        return np.concatenate([np.ravel(fresh.coef_), np.ravel(fresh.intercept_)])


def _audit_model(
    model: BaseEstimator,
    neighbors: Sequence[tuple[Any, ...]] | None,
    runs: int,
    confidence: float,
    n_features: int,
    n_jobs: int,
) -> AuditResult:
    fit = _FitModel(model)
    params = model.get_params()
    promised, relation = float(params["epsilon"]), Neighbours.of(params["neighbors"])
    delta = 1e-6 if params["delta"] == "auto" else float(params["delta"])
    if hasattr(model, "privacy_"):
        delta = model.privacy_.delta
        promised = max(promised, price(model.dp_event_.event, delta) if not model.privacy_.seeded else promised)
    pairs = [Pair("given", *neighbors)] if neighbors is not None else _pairs(model, params, relation, n_features)
    share = 1 - (1 - confidence) / len(pairs)
    results = []
    for pair in pairs:
        first, second = (_outputs(fit, data, runs // (2 * len(pairs)), n_jobs) for data in (pair.first, pair.second))
        results.append(distinguish(first, second, promised, delta, share))
    best = max(results, key=lambda r: r.epsilon_lower)
    return AuditResult(
        best.epsilon_lower, confidence, promised, delta, sum(r.runs for r in results), best.statistic, best.scores
    )


def _pairs(model: Any, params: dict[str, Any], relation: Neighbours, n_features: int) -> list[Pair]:
    bounds = params["bounds"]
    if isinstance(bounds, tuple):
        low, high = (np.broadcast_to(np.asarray(b, dtype=np.float64), (n_features,)) for b in bounds)
    else:
        low, high = -np.ones(n_features), np.ones(n_features)
    targets = params.get("bounds_y")
    if isinstance(targets, tuple):
        extremes = (float(targets[0]), float(targets[1]))
    elif params.get("classes") is not None:
        extremes = (float(min(params["classes"])), float(max(params["classes"])))
    else:
        extremes = (0.0, 1.0)
        if "classes" in params:
            model.set_params(classes=[0.0, 1.0]) if not hasattr(model, "privacy_") else None
    return worst_pairs(relation, n_features, low, high, extremes)
