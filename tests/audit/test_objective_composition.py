"""Several fits by objective perturbation on the same rows, priced from the profile and attacked together.

The noise is seeded; were it not, a sound price would be refuted with probability at most 5 %.
"""

from __future__ import annotations

import numpy as np
import pytest

from discreet import accounting
from discreet.accounting.events import repeat
from discreet.audit.run import audit_solver
from discreet.curator import RowBounds, make_curator
from discreet.losses import LogisticLoss
from discreet.privacy import Budget
from discreet.randomness import SeededSource
from discreet.solvers.base import Problem
from discreet.solvers.objective_perturbation import ObjectivePerturbation

DELTA = 1e-4


def attacked(k: int, each: float, ridge: float, runs: int, pretended: float = 1.0) -> tuple[object, float]:
    """The audit of `k` fits at epsilon `each`, and what they cost together by the profile."""
    problem = Problem(LogisticLoss(), RowBounds(l2=1.0), 2, 81, Budget(each, DELTA))
    solver = ObjectivePerturbation(ridge=ridge)
    plan = solver.plan(problem)
    price = accounting.epsilon(repeat(plan.event, k), DELTA)
    # rows that push the weights to where the one that differs is steepest: there the closed form is reached
    X = np.vstack([[[1.0, 0.0]], np.tile([[-1.0, 0.0]], (80, 1))])
    tables = (X, np.vstack([np.zeros((1, 2)), X[1:]]))
    sides = [make_curator(table, np.ones(81), bounds=problem.bounds) for table in tables]
    source = SeededSource(k)

    def run(side: int, i: int) -> np.ndarray:
        fits = [solver.solve(problem, plan, sides[side], source.child(side, i, t)) for t in range(k)]
        return np.concatenate([np.sum(fits, axis=0), *fits[: min(k, 2)]])

    return audit_solver(lambda i: run(0, i), lambda i: run(1, i), pretended * price, DELTA, runs), price


QUICK = [(1, 1.0, 1.0, 300), (2, 1.0, 0.05, 200)]
SLOW = [(1, 4.0, 0.25, 3000), (2, 2.0, 0.5, 2000), (2, 2.0, 0.02, 2000), (10, 1.0, 1.0, 1200), (10, 1.0, 0.05, 1200)]


@pytest.mark.parametrize(
    ("k", "each", "ridge", "runs"), [*QUICK, *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW)]
)
def test_fits_together_are_not_caught(k: int, each: float, ridge: float, runs: int) -> None:
    result, price = attacked(k, each, ridge, runs)
    assert price >= 0.99 * each
    assert not result.caught, result


@pytest.mark.slow
@pytest.mark.parametrize(("k", "runs"), [(10, 1200)])
def test_the_price_of_one_fit_for_all_would_be_caught(k: int, runs: int) -> None:
    """The attack is sharp enough that silence above says something."""
    result, price = attacked(k, 1.5, 2.0, runs)
    assert price > 1.8 * 1.5
    assert not result.caught, result
    assert result.epsilon_lower > 1.5, result


def test_weak_ridges_are_priced_at_all() -> None:
    """Their losses go far beyond what is usual for them: the grid has to be coarser, and the price stays a bound."""
    event = (
        ObjectivePerturbation(ridge=0.05)
        .plan(Problem(LogisticLoss(), RowBounds(l2=1.0), 2, 25, Budget(1.0, DELTA)))
        .event
    )
    two, ten = (accounting.epsilon(repeat(event, k), DELTA) for k in (2, 10))
    assert 1.0 < two < 2.5
    assert two < ten < 12.0
