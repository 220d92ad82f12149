"""Small smooth problems whose rows are exact on the grid, and the best models for them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from discreet.curator import RowBounds, make_curator
from discreet.losses import LogisticLoss
from discreet.privacy import Budget
from discreet.randomness import SeededSource
from discreet.solvers.base import Plan, Problem, Solver
from discreet.testing import without_privacy

LOSS = LogisticLoss()
GENEROUS = Budget(4, 1e-6)
N, P = 2000, 5


@cache
def table(n: int = N, p: int = P) -> tuple[Any, Any]:
    """Multiples of 1/8 in [-1, 1], and labels that are noisy enough for a finite best model."""
    rng = np.random.default_rng(3)
    X = rng.integers(-8, 9, (n, p)) / 8
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-2 * X @ np.linspace(-1, 1, p))), 1.0, -1.0)
    return X, y


def problem(budget: Budget = GENEROUS, n: int = N, p: int = P, **more: Any) -> Problem:
    """Logistic regression on it."""
    return Problem(LOSS, more.pop("bounds", RowBounds(linf=1.0)), p, n, budget, **more)


def objective(w: Any, ridge: float = 0.0) -> float:
    """The sum of losses, with half `ridge` times the squared norm."""
    X, y = table()
    return float(LOSS.value(X @ w, y).sum()) + 0.5 * ridge * float(w @ w)


@cache
def best(ridge: float = 0.0) -> float:
    """The least objective, by a convex solver in plain floats."""
    X, y = table()
    found = minimize(
        objective,
        np.zeros(P),
        args=(ridge,),
        jac=lambda w, r: X.T @ LOSS.derivative(X @ w, y) + r * w,
        method="BFGS",
        options={"gtol": 1e-7},
    )
    return float(found.fun)


def solved(solver: Solver, task: Problem, seed: int | None = 0, storage: int = 0) -> Any:
    """Plan and run; without noise where the seed is None."""
    plan = solver.plan(task)
    X, y = storages()[storage]
    curator = make_curator(X, y, bounds=task.bounds, neighbors=task.budget.neighbors)
    if seed is None:
        with without_privacy():
            return solver.solve(task, plan, curator)
    return solver.solve(task, plan, curator, SeededSource(seed))


def excess(solver: Solver, task: Problem, seeds: int = 4) -> float:
    """The mean excess of the objective per row, over a few seeds."""
    return float(np.mean([objective(solved(solver, task, seed)) - best() for seed in range(seeds)])) / N


def storages() -> list[tuple[Any, Any]]:
    """The same rows dense, in CSR and in uneven chunks."""
    X, y = table()
    chunks = [(X[:700], y[:700]), (sp.csr_array(X[700:1100]), y[700:1100]), (X[1100:], y[1100:])]
    return [(X, y), (sp.csr_array(X), y), (chunks, None)]


def multiplier(plan: Plan, name: str) -> float:
    """The noise multiplier of a query."""
    return float(plan.mechanisms[name].noise_multiplier)  # type: ignore[attr-defined]
