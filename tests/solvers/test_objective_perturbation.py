"""Objective perturbation: every relation, every kind of budget, sets and penalties, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from dp_accounting import dp_event
from scipy.optimize import minimize

from discreet import accounting
from discreet.accounting.events import PureDpEvent
from discreet.curator import RowBounds, make_curator
from discreet.losses import LogisticLoss, PseudoHuberLoss, SoftmaxLoss, SquaredLoss
from discreet.penalties import L1, L2, Box, L1Ball, L2Ball, LqBall, Simplex, Sparsity
from discreet.privacy import Budget, PrivacyError
from discreet.randomness import SeededSource
from discreet.solvers.base import Problem, Refusal
from discreet.solvers.objective_perturbation import ObjectivePerturbation
from discreet.testing import without_privacy
from discreet.theory import objective_perturbation_bound

BOUNDS = RowBounds(l2=2.0, intercept=0.5)
RELATIONS = ["zero_out", "replace_one", "add_remove"]


def rows(n: int = 2000, p: int = 4, loss: Any = None, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    if loss is not None and loss.n_outputs > 1:
        return X, rng.integers(0, loss.n_outputs, n).astype(float)
    return X, np.where(X @ np.linspace(1, -1, p) + rng.logistic(size=n) > 0, 1.0, -1.0)


def problem(loss: Any = None, budget: Any = None, n: int = 2000, p: int = 4, **more: Any) -> Problem:
    return Problem(loss or LogisticLoss(), more.pop("bounds", BOUNDS), p, n, budget or Budget(1, 1e-6), **more)


def solved(case: Problem, solver: Any = None, seed: int = 1, sparse: bool = False, weight: Any = None) -> Any:
    X, y = rows(case.n_rows or 2000, case.n_features, case.loss)
    solver = solver or ObjectivePerturbation()
    curator = make_curator(
        sp.csr_array(X) if sparse else X, y, bounds=case.bounds, neighbors=case.budget.neighbors, sample_weight=weight
    )
    return solver.solve(case, solver.plan(case), curator, SeededSource(seed))


@pytest.mark.parametrize("relation", ["zero_out", pytest.param("replace_one", marks=pytest.mark.slow), "add_remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_event_costs_what_was_promised_and_nearly_all_of_it(relation: str, delta: float) -> None:
    case = problem(budget=Budget(1.0, delta, neighbors=relation), spent=PureDpEvent(0.25))
    spent = accounting.epsilon(ObjectivePerturbation().plan(case).event, delta)
    assert 0.99 < spent <= 1.0


def test_pure_noise_is_that_of_the_linear_term_alone_when_the_ridge_allows() -> None:
    plan = ObjectivePerturbation(ridge=100.0, tolerance_share=0.01).plan(problem(budget=Budget(1.0)))
    assert plan.mechanisms["tilt"].scale == pytest.approx(math.hypot(2, 0.5) / 0.99, rel=1e-3)
    assert plan.mechanisms["weights"].epsilon == pytest.approx(0.01, rel=1e-9)


def test_a_replaced_row_costs_twice_the_noise() -> None:
    one, two = (
        ObjectivePerturbation(ridge=100.0).plan(problem(budget=Budget(1.0, 1e-6, neighbors=r))).mechanisms["tilt"].sigma
        for r in RELATIONS[:2]
    )
    assert 1.9 < two / one < 2.2


@pytest.mark.parametrize("loss", [LogisticLoss(), PseudoHuberLoss(delta=0.5), SoftmaxLoss(3)], ids=repr)
@pytest.mark.parametrize("penalty", [None, L2(30.0), L1Ball(0.7), L1(15.0), Box(-0.2, 0.3)], ids=repr)
def test_without_noise_it_is_the_minimum(loss: Any, penalty: Any) -> None:
    case = problem(loss, n=500, penalty=penalty)
    solver = ObjectivePerturbation(ridge=5.0)
    if penalty is not None and penalty.name == "l2":
        solver = ObjectivePerturbation()
    with without_privacy():
        found = solved(case, solver)
    ridge = solver.schedule(case)["ridge"]
    X, y = rows(500, 4, loss)
    Z = np.hstack([X, np.full((500, 1), 0.5)])
    Z[:, :4] *= np.minimum(1, 2 / np.linalg.norm(X, axis=1))[:, None]

    def objective(flat: Any) -> float:
        W = flat.reshape(case.shape)
        m = Z @ W if W.ndim == 1 else Z @ W.T
        value = float(np.sum(loss.value(m, y))) + ridge / 2 * float(flat @ flat)
        return value + (penalty.value(W[..., :4].ravel()) if penalty is not None and penalty.name == "l1" else 0.0)

    here = objective(found.ravel())
    if penalty is None or penalty.name == "l2":
        assert here <= minimize(objective, found.ravel(), method="BFGS").fun * (1 + 1e-6)
    rng = np.random.default_rng(3)
    for _ in range(200):  # no feasible point nearby, nor far away, is better
        other = case.prox(found + rng.normal(size=found.shape) * 10.0 ** rng.uniform(-4, 0)) if (
            case.constrained
        ) else found + rng.normal(size=found.shape) * 10.0 ** rng.uniform(-4, 0)  # fmt: skip
        assert objective(other.ravel()) >= here * (1 - 1e-6)


@pytest.mark.parametrize("penalty", [L1Ball(0.5), L2Ball(0.3), Simplex(), Box(-0.1, 0.1)], ids=repr)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_release_lies_in_the_set(penalty: Any, delta: float) -> None:
    found = solved(problem(budget=Budget(0.5, delta), penalty=penalty))
    np.testing.assert_allclose(penalty.project(found[:4]), found[:4], atol=1e-12)


def test_the_excess_over_a_small_set_follows_its_width() -> None:
    """Theorem 16.9 with constants: the mean of 30 fits is within the bound (its spread is far below the slack)."""
    p, ball = 40, L1Ball(0.5)
    case = problem(budget=Budget(0.3, 1e-6), n=2000, p=p, penalty=ball, bounds=RowBounds(l2=1.0))
    solver = ObjectivePerturbation(ridge=1.0)
    plan = solver.plan(case)
    X, y = rows(2000, p)
    Z = X / np.maximum(np.linalg.norm(X, axis=1), 1.0)[:, None]
    with without_privacy():
        best = solved(case, ObjectivePerturbation(ridge=1e-3))

    def risk(w: Any) -> float:
        return float(np.sum(LogisticLoss().value(Z @ w, y)))

    curator = make_curator(X, y, bounds=case.bounds)
    excess = [risk(solver.solve(case, plan, curator, SeededSource(s))) - risk(best) for s in range(30)]
    sigma = plan.mechanisms["tilt"].sigma
    bound = objective_perturbation_bound(sigma, 1.0, width=ball.gaussian_width(p), radius=0.5)
    assert np.mean(excess) <= bound < sigma * math.sqrt(p) * 0.5 * 1.2  # and below what the dimension would give


def test_storage_does_not_matter_and_seeds_repeat() -> None:
    case = problem()
    dense, again, csr = solved(case), solved(case), solved(case, sparse=True)
    assert np.array_equal(dense, again) and not np.array_equal(dense, solved(case, seed=2))
    assert np.linalg.norm(dense - csr) < 1e-4  # floats inside: equal to the tolerance, then rounded to one grid


def test_capped_weights_scale_the_noise() -> None:
    heavy = RowBounds(l2=2.0, intercept=0.5, weight=3.0)
    plain, capped = (
        ObjectivePerturbation(ridge=90.0).plan(problem(bounds=b)).mechanisms["tilt"].sigma for b in (BOUNDS, heavy)
    )
    assert capped == pytest.approx(3 * plain, rel=1e-3)
    assert np.isfinite(solved(problem(bounds=heavy), weight=np.linspace(0, 5, 2000))).all()


def test_printed_calibrations() -> None:
    tight = ObjectivePerturbation(ridge=30.0).plan(problem()).mechanisms["tilt"].sigma
    sources: list[Any] = ["as_published", "as_lectured"]
    for printed in sources:
        solver = ObjectivePerturbation(accounting=printed)
        plan = solver.plan(problem())
        assert plan.mechanisms["tilt"].sigma > 2.4 * tight
        assert accounting.epsilon(plan.event, 1e-6) < 1.0
        with pytest.raises(PrivacyError):
            solver.plan(problem(budget=Budget(1, 1e-6, neighbors="replace_one")))
        with pytest.raises(Refusal, match="pure"):
            solver.plan(problem(budget=Budget(1)))
        assert np.isfinite(solved(problem(), solver)).all()


@pytest.mark.parametrize("penalty", [LqBall(1.5, 1.0), Sparsity(2)], ids=repr)
def test_sets_without_an_exact_convex_projection_are_refused(penalty: Any) -> None:
    with pytest.raises(Refusal, match="certifies minima"):
        ObjectivePerturbation().plan(problem(penalty=penalty))


def test_a_loss_of_unbounded_slope_is_refused() -> None:
    with pytest.raises(Refusal, match="bounded slope"):
        ObjectivePerturbation().plan(problem(SquaredLoss()))


def test_an_l2_penalty_is_a_ridge_but_never_below_what_privacy_needs() -> None:
    small, large = (ObjectivePerturbation().schedule(problem(penalty=L2(a)))["ridge"] for a in (1e-6, 77.0))
    assert large == 77.0 and small > 1.0


def test_the_tolerance_is_negligible_at_scale() -> None:
    big = problem(n=400_000, p=100, bounds=RowBounds(l2=4.0))
    plan = ObjectivePerturbation(ridge=10.0).plan(big)
    assert plan.schedule["tau"] < 2e-6
    noise = plan.mechanisms["weights"].noise_multiplier * 2 * plan.schedule["tau"] / 10.0
    assert noise < 1e-4
    assert isinstance(plan.event, dp_event.DpEvent)


@pytest.mark.parametrize("ridge", ["auto", 0.001, 5.0])
def test_the_event_after_bought_bounds_does_not_move_with_what_was_bought(ridge):
    """Composition of fixed events is only priced right when released bounds can't choose the event."""
    spent = dp_event.GaussianDpEvent(40.0)
    events, least = set(), []
    for radius in (0.37, 1.0, 83.1):
        problem = Problem(LogisticLoss(), RowBounds(l2=radius), 5, 4000, Budget(1, 1e-6), spent=spent)
        plan = ObjectivePerturbation(ridge=ridge).plan(problem)
        events.add(repr(plan.event))
        least.append(plan.schedule["kappa"] * plan.schedule["ridge"] / problem.radius**2)
    assert len(events) == 1
    assert min(least) >= 1.0  # the priced kappa is never below R^2 / lambda
