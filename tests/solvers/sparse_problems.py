"""Small regression problems on a grid, and what the best models for them are."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from discreet.curator import RowBounds, make_curator
from discreet.losses import SquaredLoss
from discreet.penalties.base import Penalty
from discreet.privacy import Budget
from discreet.randomness import SeededSource
from discreet.solvers.base import Plan, Problem, Solver
from discreet.testing import without_privacy

APPROXIMATE = Budget(1, 1e-6)
LIMITS = (-1.0, 1.0)


def sparse_table(n: int = 2000, p: int = 40, seed: int = 0, noise: float = 0.1) -> tuple[Any, Any]:
    """Signs as features (exact on any grid), three of which matter; targets on a grid within [-1, 1]."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (n, p))
    y = 0.5 * X[:, 0] - 0.25 * X[:, 3] + 0.125 * X[:, 7] + noise * rng.uniform(-1, 1, n)
    return X, np.rint(y * 2**12) / 2**12


def regression(penalty: Penalty, n: int, p: int, budget: Budget = APPROXIMATE, **more: Any) -> Problem:
    """Least squares with the derivative clipped far out, unless told otherwise."""
    bounds = RowBounds(linf=1.0, y=LIMITS, intercept=more.pop("intercept", 0.0))
    return Problem(SquaredLoss(), bounds, p, n, budget, penalty=penalty, slope=more.pop("slope", 4.0), **more)


def solved(solver: Solver, problem: Problem, X: Any, y: Any, seed: int | None = 0) -> Any:
    """Plan and run; without noise where the seed is None."""
    plan = solver.plan(problem)
    curator = make_curator(X, y, bounds=problem.bounds, neighbors=problem.budget.neighbors)
    if seed is None:
        with without_privacy():
            return solver.solve(problem, plan, curator)
    return solver.solve(problem, plan, curator, SeededSource(seed))


def objective(X: Any, y: Any, w: Any) -> float:
    """Half the sum of squared residuals."""
    return 0.5 * float(np.sum((X @ w - y) ** 2))


def constrained(X: Any, y: Any, region: Any, steps: int = 600) -> Any:
    """The best model in a convex set, by accelerated projected gradients in plain floats."""
    gram, right = X.T @ X, X.T @ y
    eta = 1 / np.linalg.norm(gram, 2)
    w = z = region.project(np.zeros(X.shape[1]))
    momentum = 1.0
    for _ in range(steps):
        new = region.project(z - eta * (gram @ z - right))
        after = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        z = new + (momentum - 1) / after * (new - w)
        w, momentum = new, after
    return w


def storages(X: Any, y: Any) -> list[tuple[Any, Any]]:
    """The same rows dense, in CSR and in uneven chunks."""
    chunks = [(X[:700], y[:700]), (sp.csr_array(X[700:1100]), y[700:1100]), (X[1100:], y[1100:])]
    return [(X, y), (sp.csr_array(X), y), (chunks, None)]


def event_text(plan: Plan) -> str:
    """The event, written out."""
    return repr(plan.event)
