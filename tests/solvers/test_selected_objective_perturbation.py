"""Select, then refit: the features it finds, its minimum, its price, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from discreet import accounting
from discreet.accounting.events import leaves
from discreet.accounting.objective_perturbation import ObjectivePerturbationDpEvent
from discreet.curator import RowBounds, make_curator
from discreet.losses import LogisticLoss, SquaredLoss
from discreet.mechanisms import Gaussian
from discreet.privacy import Budget
from discreet.randomness import SeededSource
from discreet.solvers import SelectedObjectivePerturbation
from discreet.solvers.base import Problem, Refusal
from discreet.testing import without_privacy

BOUNDS = RowBounds(linf=1.0, intercept=1.0)


def rows(n: int = 4000, p: int = 60, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (n, p))
    return X, np.where(2 * X[:, 7] - 2 * X[:, 31] + 0.5 + rng.logistic(size=n) > 0, 1.0, -1.0)


def problem(budget: Budget | None = None, n: int = 4000, **more: Any) -> Problem:
    return Problem(LogisticLoss(), more.pop("bounds", BOUNDS), 60, n, budget or Budget(1, 1e-6), **more)


def solved(case: Problem, solver: Any, seed: int = 0) -> Any:
    X, y = rows()
    curator = make_curator(X, y, bounds=case.bounds, neighbors=case.budget.neighbors)
    return solver.solve(case, solver.plan(case), curator, SeededSource(seed))


def test_without_noise_it_refits_the_features_that_frank_wolfe_visits() -> None:
    case, solver = problem(), SelectedObjectivePerturbation(steps=6)
    with without_privacy():
        w = solved(case, solver)
        plan = solver.plan(case)
    X, y = rows()
    point, visited = np.zeros(60), set()
    for t in range(6):  # Frank-Wolfe over the l1 ball of radius 8, worked out apart
        slope = X.T @ LogisticLoss(lead=2.0).derivative(X @ point, y)
        j = int(np.abs(slope).argmax())
        visited.add(j)
        point *= 1 - 2 / (t + 2)
        point[j] -= 2 / (t + 2) * 8 * np.sign(slope[j])
    names = sorted(visited)
    assert {7, 31} <= visited and np.flatnonzero(w[:-1]).tolist() == names
    constant = plan.schedule["constant"]
    Z = np.column_stack([X[:, names], np.full(len(X), constant)])
    ridge = plan.schedule["ridge"]
    exact = minimize(
        lambda t: np.logaddexp(0, -y * (Z @ t)).sum() + ridge / 2 * t @ t, np.zeros(len(names) + 1), tol=1e-12
    ).x
    np.testing.assert_allclose(w[names], exact[:-1], atol=2e-3)
    assert w[-1] == pytest.approx(exact[-1] * constant, abs=2e-3)  # the table's own constant is 1


@pytest.mark.parametrize("relation", ["zero_out", "replace_one", "add_remove"])
def test_all_of_it_is_priced(relation: str) -> None:
    budget = Budget(1, 1e-6, neighbors=relation)
    case = problem(budget, spent=Gaussian(60.0).event)
    plan = SelectedObjectivePerturbation(steps=5).plan(case)
    assert 0.97 < accounting.epsilon(plan.event, 1e-6) <= 1.0
    kinds = [type(leaf).__name__ for leaf, times in leaves(plan.event) for _ in range(times)]
    assert kinds.count("BoundedRangeDpEvent") == 5 and kinds.count("GaussianDpEvent") == 1
    (minimum,) = (leaf for leaf, _ in leaves(plan.event) if isinstance(leaf, ObjectivePerturbationDpEvent))
    assert plan.mechanisms["tilt"].sigma * minimum.mu >= plan.schedule["slope"]
    longest = np.sqrt(5 * 1.0**2) * 1.001
    assert plan.schedule["slope"] >= np.sqrt(5) * np.sqrt(1.01) * 0.999 and plan.schedule["radius"] <= longest * 1.01


def test_it_finds_the_few_that_matter() -> None:
    """Eight fits at epsilon 1: both features are among the visited in every one, and carry the largest weights."""
    for seed in range(8):
        w = solved(problem(), SelectedObjectivePerturbation(steps=5), seed)
        assert set(np.argsort(-np.abs(w[:-1]))[:2]) == {7, 31} and w[7] > 0 > w[31]
        assert np.count_nonzero(w[:-1]) <= 5


def test_without_a_constant_column_there_is_no_intercept() -> None:
    w = solved(problem(bounds=RowBounds(linf=1.0)), SelectedObjectivePerturbation(steps=3))
    assert w.shape == (60,)


def test_refusals() -> None:
    with pytest.raises(Refusal, match="fits the logistic loss, not 'squared'"):
        SelectedObjectivePerturbation().plan(Problem(SquaredLoss(), RowBounds(l2=1.0, y=(-1, 1)), 3, 9, Budget(1, 0.1)))
    with pytest.raises(Refusal, match="never pure"):
        SelectedObjectivePerturbation().plan(problem(Budget(1)))
    with pytest.raises(ValueError, match="steps=0 must be from 1"):
        SelectedObjectivePerturbation(steps=0)
    with pytest.raises(ValueError, match=r"share=1\.5"):
        SelectedObjectivePerturbation(share=1.5)
