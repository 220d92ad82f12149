"""Whitened objective perturbation: its minimum, its price, its attacks, its planted mistakes, and what it refuses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from dp_accounting import dp_event
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression as Reference

from discreet import accounting
from discreet.accounting.events import PureDpEvent, leaves
from discreet.accounting.objective_perturbation import ObjectivePerturbationDpEvent
from discreet.audit.neighbours import worst_pairs
from discreet.audit.one_dimensional import OneDimensional, hockey_stick, losses_and_masses
from discreet.audit.run import audit_solver
from discreet.curator import RowBounds, make_curator
from discreet.losses import HuberLoss, LogisticLoss, PseudoHuberLoss, SmoothedHingeLoss, SoftmaxLoss, SquaredLoss
from discreet.penalties import L1, L2, L1Ball
from discreet.privacy import Budget
from discreet.randomness import SeededSource
from discreet.solvers.base import Problem, Refusal
from discreet.solvers.whitened_objective_perturbation import WhitenedObjectivePerturbation
from discreet.testing import without_privacy
from tests.planted.objective import cap_squared

BOUNDS = RowBounds(l2=3.0, intercept=0.5)


def rows(n: int = 1500, p: int = 4, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * np.geomspace(1, 0.05, p) @ np.linalg.qr(rng.normal(size=(p, p)))[0]
    return X, np.where(X @ np.linspace(4, -4, p) + rng.logistic(size=n) > 0, 1.0, -1.0)


def problem(loss: Any = None, budget: Any = None, n: int = 1500, p: int = 4, **more: Any) -> Problem:
    return Problem(loss or LogisticLoss(), more.pop("bounds", BOUNDS), p, n, budget or Budget(1, 1e-6), **more)


def solved(case: Problem, solver: Any, seed: int = 1) -> Any:
    X, y = rows(case.rows, case.n_features)
    curator = make_curator(X, y, bounds=case.bounds, neighbors=case.budget.neighbors)
    return solver.solve(case, solver.plan(case), curator, SeededSource(seed))


def whitened(case: Problem, exponent: float) -> tuple[Any, Any, Any]:
    """The clipped rows, the noiseless map, and the rows' weights: worked out apart from the solver."""
    X, y = rows(case.rows, case.n_features)
    Z = np.hstack([X * np.minimum(1, 3 / np.linalg.norm(X, axis=1))[:, None], np.full((len(X), 1), 0.5)])
    spectrum, axes = np.linalg.eigh(Z.T @ Z / len(Z))
    stretch = spectrum**exponent
    return Z, (axes * (stretch / math.sqrt(spectrum @ stretch**2))) @ axes.T, y


@pytest.mark.parametrize("exponent", [-0.5, -0.25])
def test_without_noise_it_is_the_minimum_of_the_capped_problem(exponent: float) -> None:
    case = problem()
    solver = WhitenedObjectivePerturbation(exponent=exponent, ridge=8.0, longest=8.0, floor=1e-12)
    with without_privacy():
        found = solved(case, solver)
    Z, towards, y = whitened(case, exponent)
    T = Z @ towards
    weight = np.minimum(1, 1 / np.linalg.norm(T, axis=1))
    assert (weight < 1).mean() > 0.2  # the cap is at work
    theta = np.linalg.solve(towards.T, found)

    def objective(t: Any) -> float:
        return float(weight @ np.logaddexp(0, -y * (T @ t)) + 4 * t @ t)

    best = minimize(objective, theta, method="BFGS", options={"gtol": 1e-6}).fun
    assert objective(theta) <= best * (1 + 1e-5)  # weights lie on steps of 2**-10


def test_without_noise_and_cap_it_is_scikit_learns() -> None:
    """Rows of equal whitened norm below the cap: scikit-learn's ridge in the metric of the second moments."""
    signs = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    X, n = np.tile(signs * [0.8, 0.05], (100, 1)), 400
    y = np.where(np.random.default_rng(0).uniform(size=n) < 1 / (1 + np.exp(-2 * X[:, 0] - 20 * X[:, 1])), 1.0, -1.0)
    case = problem(n=n, p=2, bounds=RowBounds(l2=1.0))
    solver = WhitenedObjectivePerturbation(exponent=-0.5, ridge=2.0, floor=1e-12)
    with without_privacy():
        found = solver.solve(case, solver.plan(case), make_curator(X, y, bounds=case.bounds), SeededSource(0))
    towards = np.diag([1 / 0.8, 1 / 0.05]) / math.sqrt(2)
    wanted = Reference(C=1 / 2.0, fit_intercept=False, tol=1e-10).fit(X @ towards, y).coef_[0] @ towards
    np.testing.assert_allclose(found, wanted, rtol=5e-3)  # the rows lie on a grid, the weights on steps of 2**-10


@pytest.mark.parametrize("relation", ["zero_out", "add_remove", pytest.param("replace_one", marks=pytest.mark.slow)])
def test_the_event_is_both_releases_and_costs_the_budget(relation: str) -> None:
    spent = dp_event.GaussianDpEvent(40.0)
    case = problem(budget=Budget(1.0, 1e-6, neighbors=relation), n=20_000, spent=spent)
    plan = WhitenedObjectivePerturbation().plan(case)
    found = list(leaves(plan.event))
    kinds = sorted(type(leaf[0] if isinstance(leaf, tuple) else leaf).__name__ for leaf in found)
    assert kinds == ["GaussianDpEvent", "GaussianDpEvent", "ObjectivePerturbationDpEvent"]
    assert 0.995 < accounting.epsilon(plan.event, 1e-6) <= 1.0
    minimum, moves = plan.mechanisms["tilt"].event, case.budget.neighbors.moves
    share = plan.mechanisms["moments"].noise_multiplier ** -2
    assert share / (share + (minimum.mu * moves) ** 2) == pytest.approx(0.1, rel=1e-6)
    grid = plan.schedule["bounds"].grid(case.n_weights)
    assert minimum.kappa >= float(grid.l2 * grid.unit) / plan.schedule["ridge"]
    assert plan.mechanisms["tilt"].sigma >= 1 / minimum.mu


@pytest.mark.parametrize("loss", [SmoothedHingeLoss(0.5), PseudoHuberLoss(delta=0.5)], ids=repr)
def test_slope_and_smoothness_of_the_loss_enter(loss: Any) -> None:
    bounds = RowBounds(l2=3.0, intercept=0.5, y=(-1.0, 1.0), weight=2.0) if loss.name == "pseudo_huber" else BOUNDS
    case = problem(loss, n=5000, bounds=bounds)
    plan = WhitenedObjectivePerturbation().plan(case)
    minimum, weight = plan.mechanisms["tilt"].event, bounds.weight
    assert plan.mechanisms["tilt"].sigma == pytest.approx(weight * loss.lipschitz / minimum.mu, rel=1e-9)
    scale = 1.0 if loss.name == "pseudo_huber" else 4 * loss.smoothness
    assert minimum.kappa == pytest.approx(scale * weight * 2.0 / plan.schedule["ridge"], rel=1e-3)
    assert np.isfinite(solved(case, WhitenedObjectivePerturbation())).all()


def test_seeds_repeat() -> None:
    case, solver = problem(), WhitenedObjectivePerturbation()
    once, again, other = solved(case, solver), solved(case, solver), solved(case, solver, seed=2)
    assert np.array_equal(once, again) and not np.array_equal(once, other)


def test_a_second_plan_is_not_priced_again() -> None:
    solver, calls = WhitenedObjectivePerturbation(), []
    first = solver.plan(problem(n=1501))
    original = accounting.calibrate
    try:
        accounting.calibrate = lambda *a, **k: calls.append(a) or original(*a, **k)
        assert solver.plan(problem(n=1501)).mechanisms == first.mechanisms and not calls
        solver.plan(problem(n=1501, spent=PureDpEvent(0.5)))
        assert len(calls) == 1  # something else was bought before: another price
    finally:
        accounting.calibrate = original


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"loss": SoftmaxLoss(3)}, "one output"),
        ({"loss": SquaredLoss()}, "straight where it is steep"),
        ({"loss": HuberLoss()}, "straight where it is steep"),
        ({"budget": Budget(1.0)}, "never pure"),
        ({"budget": Budget(mu=1.0)}, "epsilon and delta"),
        ({"penalty": L1Ball(1.0)}, "no set"),
        ({"penalty": L1(1.0)}, "no penalty"),
        ({"penalty": L2(1.0)}, "no penalty"),
        ({"p": 2000}, "matrix"),
    ],
)
def test_what_does_not_go_together_is_refused(more: dict[str, Any], reason: str) -> None:
    with pytest.raises(Refusal, match=reason):
        WhitenedObjectivePerturbation().plan(problem(**more))


def test_options_are_checked() -> None:
    with pytest.raises(Refusal, match="too small"):
        WhitenedObjectivePerturbation(ridge=1.0, longest=64.0).plan(problem())
    for wrong in ({"share": 1.0}, {"exponent": -0.6}, {"longest": 0.5}, {"floor": 0.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            WhitenedObjectivePerturbation(**wrong)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["zero_out", "replace_one"])
def test_it_is_not_caught(relation: str) -> None:
    """Seeds are fixed; with others a sound solver would be caught with probability at most 5 % for each pair."""
    case = problem(budget=Budget(2.0, 1e-4, neighbors=relation), n=25, p=2, bounds=RowBounds(l2=1.0, linf=1.0))
    solver = WhitenedObjectivePerturbation(share=0.5, longest=4.0)
    plan = solver.plan(case)
    for number, pair in enumerate(worst_pairs(relation, 2, -np.ones(2), np.ones(2), (-1.0, 1.0))):
        sides = [
            make_curator(X, y, bounds=case.bounds, neighbors=relation, sample_weight=w)
            for X, y, w in (pair.first, pair.second)
        ]
        source = SeededSource(number)

        def run(i: int, side: int, sides: Any = sides, source: Any = source) -> Any:
            return solver.solve(case, plan, sides[side], source.child(side, i))

        assert not audit_solver(lambda i, r=run: r(i, 0), lambda i, r=run: r(i, 1), 2.0, 1e-4, 800).caught


def test_second_moments_that_nobody_pays_for_are_caught() -> None:
    """Planted: the price of the minimum alone is promised.  The release of G by itself breaks that promise."""
    case = problem(budget=Budget(8.0, 1e-4), n=25, p=1, bounds=RowBounds(l2=1.0))
    plan = WhitenedObjectivePerturbation(share=0.99, ridge=100.0).plan(case)
    promised = accounting.epsilon(plan.mechanisms["tilt"].event, 1e-4)
    one, none = (make_curator(np.ones((1, 1)), np.ones(1), bounds=case.bounds, sample_weight=w) for w in ([1.0], [0.0]))

    def release(curator: Any, side: int) -> Any:
        from discreet.solvers.base import Ask

        return lambda i: Ask(plan, SeededSource(5).child(side, i)).moments(curator.second_moments())

    result = audit_solver(release(one, 0), release(none, 1), promised, 1e-4, 1000)
    assert promised < 1.0
    assert result.caught, result
    assert not audit_solver(release(one, 0), release(none, 1), 8.0, 1e-4, 1000).caught


def test_the_price_of_scaled_rows_is_too_low_for_capped_weights() -> None:
    """Planted: kappa = c^2 / lambda.  One long row with its capped weight has a divergence above that price."""
    solver = WhitenedObjectivePerturbation(ridge=0.02, longest=8.0)
    plan = solver.plan(problem(budget=Budget(6.0, 1e-3)))
    minimum, ridge = plan.mechanisms["tilt"].event, plan.schedule["ridge"]
    sigma, longest = plan.mechanisms["tilt"].sigma, 8.0
    cheap = cap_squared(1.0, longest, sigma, ridge)
    law = OneDimensional(LogisticLoss(), np.array([longest]), np.ones(1), np.array([1 / longest]), sigma, ridge)
    exact = [hockey_stick(*losses_and_masses(law, law.without(0)), e) for e in (1.0, 2.0, 3.0)]
    honest = ObjectivePerturbationDpEvent(minimum.mu, minimum.kappa)
    assert all(d <= honest.delta(e) for d, e in zip(exact, (1.0, 2.0, 3.0), strict=True))
    assert any(d > cheap.delta(e) for d, e in zip(exact, (1.0, 2.0, 3.0), strict=True))
