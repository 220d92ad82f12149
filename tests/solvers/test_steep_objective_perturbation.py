"""Objective perturbation with a lead: its minimum, its price, its gain, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.metrics import roc_auc_score

from discreet import accounting
from discreet.accounting.objective_perturbation import ObjectivePerturbationDpEvent
from discreet.audit.one_dimensional import OneDimensional, hockey_stick, losses_and_masses
from discreet.curator import RowBounds, make_curator
from discreet.inference import check as check_inference
from discreet.losses import LogisticLoss, SmoothedHingeLoss
from discreet.mechanisms import Gaussian
from discreet.privacy import Budget
from discreet.randomness import SeededSource
from discreet.solvers import ObjectivePerturbation, SteepObjectivePerturbation
from discreet.solvers.base import Problem, Refusal
from discreet.testing import without_privacy

BOUNDS = RowBounds(l2=1.0, intercept=0.1)


def problem(n: int = 400, p: int = 6, epsilon: float = 1.0, **more: Any) -> Problem:
    return Problem(LogisticLoss(), more.pop("bounds", BOUNDS), p, n, Budget(epsilon, 1e-6), **more)


def rows(n: int, p: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, np.where(X[:, : max(p // 20, 1)].sum(axis=1) > 0, 1.0, -1.0)


def test_without_noise_it_is_the_minimum_of_the_moved_loss() -> None:
    case, solver = problem(), SteepObjectivePerturbation(lead=1.5, ridge=7.0)
    X, y = rows(400, 6)
    with without_privacy():
        found = solver.solve(case, solver.plan(case), make_curator(X, y, bounds=BOUNDS), SeededSource(0))
    Z = np.hstack([X, np.full((400, 1), 0.1)])
    exact = minimize(lambda t: np.logaddexp(0, 1.5 - y * (Z @ t)).sum() + 3.5 * t @ t, np.zeros(7), tol=1e-12).x
    np.testing.assert_allclose(found, exact, atol=2e-3)


@pytest.mark.parametrize("spent", [None, 0.06])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_lead_is_free(epsilon: float, spent: float | None) -> None:
    """At the same ridge the noise is that of the plain logistic loss, and the whole plan stays within the budget."""
    bought = {} if spent is None else {"spent": Gaussian(1 / (accounting.gdp.mu_for(epsilon, 1e-6) * spent**0.5)).event}
    case = problem(epsilon=epsilon, **bought)
    plan = SteepObjectivePerturbation().plan(case)
    assert accounting.epsilon(plan.event, 1e-6) <= epsilon
    same = ObjectivePerturbation(plan.schedule["ridge"]).plan(case)
    assert plan.mechanisms["tilt"].sigma == pytest.approx(same.mechanisms["tilt"].sigma, rel=0.15)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_ridge_has_a_limit_where_weights_are_many(epsilon: float) -> None:
    case = problem(n=20, p=3000, epsilon=epsilon)
    limit = 1.5 * case.radius**2 / accounting.gdp.mu_for(epsilon, 1e-6)
    asked = ObjectivePerturbation().plan(replace(case, n_rows=10**15)).schedule["ridge"]  # by privacy alone
    found = SteepObjectivePerturbation().plan(case).schedule["ridge"]
    assert found == pytest.approx(max(limit, asked), rel=1e-6)
    assert found < ObjectivePerturbation().plan(case).schedule["ridge"]


def test_the_default_ridge_moves_with_the_rows_bound_and_kappa_does_not() -> None:
    """kappa, which the event is made of, is the same whatever bound was bought."""
    bought = {"spent": Gaussian(40.0).event}
    plans = [
        SteepObjectivePerturbation().plan(problem(bounds=RowBounds(l2=r, intercept=0.1 * r), **bought))
        for r in (0.037, 1.0, 1234.5)
    ]
    assert len({repr(plan.event) for plan in plans}) == 1
    ratios = [plan.schedule["ridge"] / problem(bounds=RowBounds(l2=r, intercept=0.1 * r)).radius ** 2
              for plan, r in zip(plans, (0.037, 1.0, 1234.5), strict=True)]  # fmt: skip
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-9)


@pytest.mark.parametrize("lead", [0.5, 2.0, 5.0])
@pytest.mark.parametrize("rest", [0, 4])
def test_exact_profiles_stay_below_the_price(lead: float, rest: int) -> None:
    """One coefficient, a row there or blank, beside rows that agree or not: worked out from densities."""
    rng = np.random.default_rng(rest)
    x, y = np.concatenate([[1.0], rng.uniform(-1, 1, rest)]), np.concatenate([[1.0], rng.choice([-1.0, 1.0], rest)])
    sigma, ridge = 1.5, 0.8
    law = OneDimensional(LogisticLoss(lead), x, y, np.ones(rest + 1), sigma, ridge)
    event = ObjectivePerturbationDpEvent(1 / sigma, 1 / ridge)
    for epsilon in (0.25, 1.0, 2.0):
        for pair in ((law, law.without(0)), (law.without(0), law)):
            assert hockey_stick(*losses_and_masses(*pair), epsilon) <= event.delta(epsilon) * (1 + 1e-9)


def test_it_ranks_better_where_weights_are_many() -> None:
    """600 weights, 3,000 rows, epsilon 1, five fits: the mean AUC gains more than 0.02."""
    X, y = rows(4000, 600)
    bounds = RowBounds(l2=1.0, intercept=0.1)
    case = problem(3000, 600, bounds=bounds)
    curator = make_curator(X[:3000], y[:3000], bounds=bounds)
    scores = [
        np.mean([roc_auc_score(y[3000:], X[3000:] @ s.solve(case, s.plan(case), curator, SeededSource(k))[:-1])
                 for k in range(5)])
        for s in (ObjectivePerturbation(), SteepObjectivePerturbation())
    ]  # fmt: skip
    assert scores[1] > scores[0] + 0.02


def test_refusals() -> None:
    case = Problem(SmoothedHingeLoss(), BOUNDS, 3, 100, Budget(1, 1e-6))
    with pytest.raises(Refusal, match=r"moves the logistic loss, not 'smoothed_hinge'.*starts steep"):
        SteepObjectivePerturbation().plan(case)
    with pytest.raises(ValueError, match=r"lead=-1\.0 must be a number between 0 and 20"):
        SteepObjectivePerturbation(lead=-1.0).plan(problem())
    with pytest.raises(Refusal, match="no law from which standard errors follow"):
        check_inference(SteepObjectivePerturbation(), None, 1e-6)


def test_probabilities_are_those_at_which_the_margin_is_best() -> None:
    loss, margins = LogisticLoss(lead=2.0), np.linspace(-5, 5, 21)
    p = loss.predict_proba(margins)[:, 1]
    slope = p * loss.derivative(margins, 1.0) + (1 - p) * loss.derivative(margins, -1.0)
    np.testing.assert_allclose(slope, 0, atol=1e-12)
    np.testing.assert_allclose(LogisticLoss().predict_proba(margins)[:, 1], 1 / (1 + np.exp(-margins)), rtol=1e-12)
