"""Output perturbation: the noise that its theorem asks for, and the minimum without it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from discreet import accounting
from discreet.accounting import gdp
from discreet.losses import LogisticLoss, PseudoHuberLoss, SoftmaxLoss, SquaredLoss
from discreet.penalties import L2, L1Ball, Sparsity
from discreet.privacy import Budget
from discreet.solvers.base import Refusal
from discreet.solvers.output_perturbation import OutputPerturbation
from discreet.testing import without_privacy
from tests.solvers.released_problems import design, problem, solved

RELATIONS = ["zero_out", "replace_one", "add_remove"]


@pytest.mark.parametrize("relation", RELATIONS)
def test_it_costs_one_gaussian(relation: str) -> None:
    plan: Any = OutputPerturbation().plan(problem(budget=Budget(1, 1e-6, neighbors=relation)))
    assert plan.mechanisms["weights"].noise_multiplier == pytest.approx(1 / gdp.mu_for(1, 1e-6), rel=1e-4)
    assert accounting.epsilon(plan.event, 1e-6) <= 1.0


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_noise_has_the_size_of_the_theorem(relation: str, delta: float) -> None:
    """200 fits of 5 weights: the mean square is within 20 % of its value (about six standard errors or more)."""
    budget = Budget(1, delta, neighbors=relation)
    case, solver = problem(budget=budget, n=50), OutputPerturbation(ridge=3.0)
    with without_privacy():
        centre = solved(case, solver)
    errors = np.array([solved(case, solver, seed=s) - centre for s in range(200)])
    reach = budget.neighbors.moves * math.hypot(1, 0.5) / 3.0
    unit = math.sqrt(5 + 1) if budget.is_pure else 1 / gdp.mu_for(1, 1e-6)
    assert float(np.mean(errors**2)) == pytest.approx((reach * unit) ** 2, rel=0.2)


@pytest.mark.parametrize("loss", [LogisticLoss(), PseudoHuberLoss(delta=0.5), SoftmaxLoss(3)], ids=repr)
def test_without_noise_it_is_the_minimum(loss: Any) -> None:
    case = problem(loss)
    with without_privacy():
        found = solved(case, OutputPerturbation(ridge=2.0))
    Z, y = design(case)

    def objective(flat: Any) -> float:
        W = flat.reshape(case.shape)
        return float(np.sum(loss.value(Z @ (W if W.ndim == 1 else W.T), y))) + float(flat @ flat)

    assert objective(found.ravel()) <= minimize(objective, found.ravel(), method="BFGS").fun * (1 + 1e-6)


def test_sets_penalties_weights_and_refusals() -> None:
    assert np.abs(solved(problem(penalty=L1Ball(0.3)), OutputPerturbation())[:4]).sum() <= 0.3 * (1 + 1e-9)
    assert OutputPerturbation().schedule(problem(penalty=L2(9.0)))["ridge"] == 9.0
    assert OutputPerturbation(ridge=1.0).schedule(problem(penalty=L2(9.0)))["ridge"] == 10.0
    for wrong in (problem(SquaredLoss()), problem(penalty=Sparsity(2))):
        with pytest.raises(Refusal):
            OutputPerturbation().plan(wrong)
    a, b = (solved(problem(), OutputPerturbation(), sparse=s) for s in (False, True))
    np.testing.assert_allclose(a, b, atol=1e-6)
