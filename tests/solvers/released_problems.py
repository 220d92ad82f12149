"""Problems for the solvers that work on released moments or minima."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from discreet.curator import RowBounds, make_curator
from discreet.losses import LogisticLoss
from discreet.privacy import Budget
from discreet.randomness import SeededSource
from discreet.solvers.base import Problem


def rows(n: int, p: int, loss: Any, seed: int = 0) -> tuple[Any, Any]:
    """Rows of uneven columns, within the unit ball, and targets for the loss."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * np.linspace(1.0, 0.2, p)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1.0)
    score = X @ np.linspace(2, -1, p)
    if loss.targets == "classes":
        return X, rng.integers(0, loss.n_outputs, n).astype(float)
    if loss.targets == "real":
        return X, np.clip(score / 2 + 0.1 * rng.normal(size=n), -1, 1)
    return X, np.where(score + rng.logistic(size=n) > 0, 1.0, -1.0)


def problem(loss: Any = None, budget: Any = None, n: int = 1000, p: int = 4, **more: Any) -> Problem:
    """With an intercept; real targets lie in [-1, 1]."""
    loss = loss or LogisticLoss()
    bounds = more.pop("bounds", RowBounds(l2=1.0, intercept=0.5, y=(-1, 1) if loss.targets == "real" else None))
    return Problem(loss, bounds, p, n, budget or Budget(1, 1e-6), **more)


def solved(case: Problem, solver: Any, seed: int = 1, *, sparse: bool = False, weight: Any = None) -> Any:
    """The weights that the solver releases."""
    X, y = rows(case.n_rows or 1000, case.n_features, case.loss)
    table = sp.csr_array(X) if sparse else X
    curator = make_curator(table, y, bounds=case.bounds, neighbors=case.budget.neighbors, sample_weight=weight)
    return solver.solve(case, solver.plan(case), curator, SeededSource(seed))


def design(case: Problem) -> tuple[Any, Any]:
    """The rows with their constant column, and targets."""
    X, y = rows(case.n_rows or 1000, case.n_features, case.loss)
    return np.hstack([X, np.full((len(X), 1), case.bounds.intercept)]), y
