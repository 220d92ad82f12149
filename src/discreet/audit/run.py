"""Running an algorithm many times on two neighbours: anybody's function, a model, or one planned solver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from discreet.audit.distinguishing import AuditResult, distinguish
from discreet.audit.models import attack, outputs

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
    n_features: int | None = None,
    n_jobs: int = -1,
) -> AuditResult:
    """Attack an algorithm: run it many times on two neighbouring data sets, and bound its epsilon from below.

    Parameters
    ----------
    model : estimator, or function of (X, y)
        A private model, fitted or not, of which unseeded copies are fitted (it stays as it is, and no ledger is
        charged); or anybody's function that returns numbers.
    neighbors : pair of tuples, optional
        Two neighbouring data sets as arguments of the function (of ``fit``).  Default, for a model: several pairs
        made to hurt it, with the confidence shared among them.
    epsilon, delta : float, optional
        The promise; by default the model's own.
    runs : int, default=2000
        Runs in all, half on each data set.
    confidence : float, default=0.95
        Probability that the lower bound is right.
    n_features : int, optional
        Features of the data sets made for a model; by default as many as its bounds name, else 2.
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
    if runs < 40:
        raise ValueError(f"runs={runs} is too few to bound anything: take 400 or more")
    if isinstance(model, BaseEstimator):
        promise = (epsilon, delta)
        return attack(model, neighbors, promise, runs, confidence, n_features, n_jobs)
    if neighbors is None or epsilon is None or delta is None:
        raise ValueError("auditing a function needs neighbors=((X0, y0), (X1, y1)), epsilon and delta")
    first, second = (outputs(model, data, runs // 2, n_jobs) for data in neighbors)
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
    found = [np.stack([np.ravel(f(i)) for i in range(half)]) for f in (run, other)]
    return distinguish(found[0], found[1], promised, delta)
