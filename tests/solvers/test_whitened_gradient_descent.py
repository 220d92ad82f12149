"""Whitened gradient descent: its price, the minimum without noise, and what whitening buys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from discreet import accounting
from discreet.curator import RowBounds
from discreet.losses import LogisticLoss, SoftmaxLoss
from discreet.penalties import L1, L1Ball
from discreet.privacy import Budget
from discreet.solvers.base import Refusal
from discreet.solvers.gradient_descent import GradientDescent
from discreet.solvers.whitened_gradient_descent import WhitenedGradientDescent
from discreet.testing import without_privacy
from tests.solvers.released_problems import design, problem, solved


@pytest.mark.parametrize("relation", ["zero_out", "replace_one"])
def test_it_costs_its_budget(relation: str) -> None:
    case = problem(budget=Budget(1, 1e-6, neighbors=relation))
    assert 0.99 < accounting.epsilon(WhitenedGradientDescent().plan(case).event, 1e-6) <= 1.0


@pytest.mark.parametrize("loss", [LogisticLoss(), SoftmaxLoss(3)], ids=repr)
def test_without_noise_it_is_the_minimum(loss: Any) -> None:
    case = problem(loss)
    with without_privacy():
        found = solved(case, WhitenedGradientDescent(steps=300, radius=20.0, floor=1e-9, momentum=0.5))
    Z, y = design(case)

    def objective(flat: Any) -> float:
        W = flat.reshape(case.shape)
        return float(np.sum(loss.value(Z @ (W if W.ndim == 1 else W.T), y)))

    assert objective(found.ravel()) <= minimize(objective, found.ravel(), method="BFGS").fun * (1 + 1e-6)


def test_uneven_columns_cost_less_than_plain_steps() -> None:
    """Twenty steps each, same budget; plain descent has not arrived, and both gaps are several times their noise."""
    case = problem(n=50_000, p=10)
    Z, y = design(case)
    best = minimize(lambda w: float(np.mean(LogisticLoss().value(Z @ w, y))), np.zeros(11)).fun

    def excess(solver: Any) -> float:
        return float(np.mean([np.mean(LogisticLoss().value(Z @ solved(case, solver, s), y)) for s in range(3)])) - best

    assert excess(WhitenedGradientDescent(steps=20)) < 0.5 * excess(GradientDescent(steps=20))


def test_storage_weights_and_refusals() -> None:
    assert np.array_equal(*(solved(problem(), WhitenedGradientDescent(), sparse=s) for s in (False, True)))
    heavy = problem(bounds=RowBounds(l2=1.0, intercept=0.5, weight=2.0))
    assert np.isfinite(solved(heavy, WhitenedGradientDescent(), weight=np.linspace(0, 3, 1000))).all()
    for wrong in (problem(penalty=L1(1.0)), problem(penalty=L1Ball(1.0)), problem(budget=Budget(1))):
        with pytest.raises(Refusal):
            WhitenedGradientDescent().plan(wrong)
