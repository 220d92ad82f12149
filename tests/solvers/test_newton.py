"""Double-noise Newton: its parabola, its price, and the minimum without noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from discreet import accounting
from discreet.losses import LogisticLoss, PseudoHuberLoss, SoftmaxLoss
from discreet.penalties import L1, L2, L1Ball
from discreet.privacy import Budget
from discreet.solvers.base import Refusal
from discreet.solvers.newton import Majorant, Newton
from discreet.testing import without_privacy
from tests.solvers.released_problems import design, problem, solved


def test_the_parabola_lies_above_the_loss() -> None:
    loss, m = LogisticLoss(), np.linspace(-30, 30, 301)
    bent = Majorant(loss).curvature(m, 1.0)
    other = np.linspace(-40, 40, 801)[:, None]
    for y in (-1.0, 1.0):
        model = loss.value(m, y) + loss.derivative(m, y) * (other - m) + bent * (other - m) ** 2 / 2
        assert (loss.value(other, y) <= model + 1e-9).all()
    assert bent.max() <= loss.smoothness
    near = Majorant(loss).curvature(np.array([0.99e-4, 1.01e-4]), 1.0)  # the series joins the formula
    assert abs(near[0] - near[1]) < 1e-8


@pytest.mark.parametrize("relation", ["zero_out", "replace_one"])
def test_it_costs_its_budget(relation: str) -> None:
    case = problem(budget=Budget(1, 1e-6, neighbors=relation))
    assert 0.99 < accounting.epsilon(Newton().plan(case).event, 1e-6) <= 1.0


@pytest.mark.parametrize("curvature", ["auto", "hessian"])
@pytest.mark.parametrize("penalty", [None, L2(3.0)], ids=repr)
def test_without_noise_it_is_the_minimum(curvature: Any, penalty: Any) -> None:
    case = problem(penalty=penalty)
    with without_privacy():
        found = solved(case, Newton(steps=60, floor=1e-9, curvature=curvature))
    Z, y = design(case)
    ridge = 0.0 if penalty is None else 3.0

    def objective(w: Any) -> float:
        return float(np.sum(LogisticLoss().value(Z @ w, y))) + ridge / 2 * float(w @ w)

    assert objective(found) <= minimize(objective, found, method="BFGS").fun * (1 + 1e-6)


def test_noise_leaves_most_of_the_gain_on_many_rows() -> None:
    case = problem(n=50_000)
    Z, y = design(case)
    risks = [float(np.mean(LogisticLoss().value(Z @ solved(case, Newton(), s), y))) for s in range(3)]
    best = minimize(lambda w: float(np.mean(LogisticLoss().value(Z @ w, y))), np.zeros(5)).fun
    assert max(risks) - best < 0.1 * (np.log(2) - best)


def test_refusals_and_other_losses() -> None:
    assert np.isfinite(solved(problem(PseudoHuberLoss(delta=0.5)), Newton())).all()
    assert np.array_equal(*(solved(problem(), Newton(), sparse=s) for s in (False, True)))
    for wrong in (
        problem(penalty=L1(1.0)),
        problem(penalty=L1Ball(1.0)),
        problem(SoftmaxLoss(3)),
        problem(budget=Budget(1)),
    ):
        with pytest.raises(Refusal):
            Newton().plan(wrong)
    with pytest.raises(Refusal, match="parabola"):
        Newton(curvature="majorant").plan(problem(PseudoHuberLoss(delta=0.5)))
