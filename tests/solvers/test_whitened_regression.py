"""Whitened regression: least squares in the limit, robust below, its price, its shrinkage, and what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet import accounting
from discreet.accounting.events import compose, leaves
from discreet.accounting.objective_perturbation import ObjectivePerturbationDpEvent
from discreet.curator import RowBounds, make_curator
from discreet.linear_model import LinearRegression
from discreet.losses import LogisticLoss, SquaredLoss
from discreet.mechanisms import Gaussian
from discreet.penalties import L1Ball
from discreet.privacy import Budget
from discreet.randomness import SeededSource
from discreet.solvers.base import Problem, Refusal
from discreet.solvers.released import edge_at
from discreet.solvers.whitened_regression import WhitenedRegression
from discreet.testing import without_privacy

BOUNDS = RowBounds(l2=4.0, intercept=0.4, y=(-4.0, 4.0))


def problem(n=4000, p=4, budget=None, **more):
    more.setdefault("bounds", BOUNDS)
    return Problem(SquaredLoss(), n_features=p, n_rows=n, budget=budget or Budget(1, 1e-6), **more)


def table(n=4000, p=4, noise=0.2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, p)) * np.geomspace(1, 0.1, p)
    return X, X @ np.linspace(1.0, -2.0, p) + 0.3 + noise * rng.normal(size=n)


def solved(case, X, y, seed=0, solver=None):
    solver = solver or WhitenedRegression()
    curator = make_curator(X, y, bounds=case.bounds, neighbors=case.budget.neighbors)
    found = solver.solve(case, solver.plan(case), curator, SeededSource(seed))
    return found[:-1], found[-1] * float(case.grid.constant * case.grid.unit)


def test_without_noise_it_is_least_squares_on_clean_linear_data():
    X, y = table(100_000, noise=0.01)
    with without_privacy():
        coef, level = solved(problem(100_000), X, y)
    assert np.abs(coef - np.linspace(1.0, -2.0, 4)).max() < 0.03
    assert abs(level - 0.3) < 0.01


def test_coefficients_come_nearer_to_least_squares_with_more_rows():
    errors = []
    for n in (2_000, 200_000):
        X, y = table(n, noise=0.3)
        ols = np.linalg.lstsq(np.column_stack([X, np.ones(n)]), y, rcond=None)[0][:-1]
        spread = X.std(axis=0)  # errors as they count in predictions
        errors.append(np.mean([np.linalg.norm(spread * (solved(problem(n), X, y, s)[0] - ols)) for s in range(3)]))
    assert errors[1] < errors[0] / 20  # a hundred times the rows: the noise alone falls by that much
    assert errors[1] < 0.005


def test_threshold_and_cap_grow_with_the_budget_and_the_rows():
    small, large = (WhitenedRegression().plan(problem(n)).schedule for n in (2_000, 2_000_000))
    assert small["grown"] == small["cap"] == 1
    assert large["grown"] > large["cap"] == 4.0


@pytest.mark.parametrize("neighbors", ["zero_out", "replace_one", "add_remove"])
def test_the_price_is_within_the_budget_and_counts_everything(neighbors):
    budget = Budget(1, 1e-6, neighbors=neighbors)
    spent = Gaussian(20.0).event
    plan = WhitenedRegression().plan(problem(budget=budget, spent=spent))
    assert 0.99 < accounting.epsilon(plan.event, 1e-6) <= 1
    minima = [e for e, _ in leaves(plan.event) if isinstance(e, ObjectivePerturbationDpEvent)]
    assert len(minima) == 1
    bought = [plan.mechanisms[name].event for name in ("moments", "cross", "sizes")]
    assert accounting.epsilon(compose(spent, *bought, minima[0]), 1e-6) <= 1


def test_the_price_beside_bought_bounds_is_that_of_what_is_left():
    """The determinant leaves room: with 15 % spent before, noise is at most a tenth above its Gaussian share."""
    budget = Budget(0.1, 1e-8)
    mu = accounting.gdp.mu_for(0.1, 1e-8)
    spent = Gaussian(1 / (mu * math.sqrt(0.15))).event
    plan = WhitenedRegression().plan(problem(budget=budget, spent=spent))
    assert plan.mechanisms["moments"].noise_multiplier * mu * math.sqrt(0.85 * 0.12) < 1.1


def test_targets_may_have_outliers_of_any_size():
    X, y = table(20_000)
    far = np.where(np.arange(len(y)) % 200 == 0, 1e3, y)
    case = problem(20_000, bounds=RowBounds(l2=4.0, intercept=0.4, y=(-100.0, 100.0)))
    coef, level = solved(case, X, far)
    assert np.linalg.norm(X.std(axis=0) * (coef - np.linspace(1.0, -2.0, 4))) < 0.1
    assert abs(level - 0.3) < 0.1


def test_slopes_below_the_noise_are_zero():
    rng = np.random.default_rng(3)
    X, y = rng.uniform(-1, 1, (600, 10)), rng.normal(size=600) * 0.5
    zero = [not solved(problem(600, 10, Budget(0.2, 1e-6)), X, y, seed)[0].any() for seed in range(10)]
    assert np.mean(zero) >= 0.8


def test_the_threshold_is_the_quantile_or_half_the_range_where_counts_say_nothing():
    edges = 2.0 ** (np.arange(-23, 1) / 2)
    counts = np.zeros(25)
    counts[19], counts[20], counts[21] = 600.0, 300.0, 100.0  # a tenth above edges[20], two fifths above edges[19]
    assert edge_at(counts, edges, 0.75, 0.1, 1000) == edges[20]
    assert edge_at(np.zeros(25), edges, 0.75, 1000.0, 1000) == 0.5
    assert edge_at(np.zeros(25), edges, 0.75, 0.1, 1000) == edges[0]


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ({"loss": LogisticLoss()}, "squared loss"),
        ({"penalty": L1Ball(1.0)}, "no set"),
        ({"bounds": RowBounds(l2=1.0)}, "bounds_y"),
        ({"budget": Budget(1)}, "Gaussian noise"),
        ({"n_features": 3000}, "gradient_descent"),
    ],
)
def test_what_it_refuses(case, words):
    facts = {"loss": SquaredLoss(), "bounds": BOUNDS, "n_features": 4, "n_rows": 100, "budget": Budget(1, 1e-6)}
    with pytest.raises(Refusal, match=words):
        WhitenedRegression().plan(Problem(**{**facts, **case}))


@pytest.mark.parametrize("options", [{"moments": 0.0}, {"cross": 0.9}, {"longest": 0.5}, {"quantile": 1.0}])
def test_options_that_mean_nothing_are_refused(options):
    with pytest.raises(ValueError, match="must be positive and leave"):
        WhitenedRegression(**options)


def test_it_is_the_default_and_works_without_an_intercept():
    X, y = table(5000)
    model = LinearRegression(epsilon=2, bounds=(-1, 1), bounds_y=(-4, 4), random_state=0).fit(X, y)
    assert model.privacy_.solver == "whitened_regression"
    assert model.score(X, y) > 0.85
    bare = LinearRegression(epsilon=2, bounds=(-1, 1), bounds_y=(-4, 4), fit_intercept=False, random_state=0)
    assert bare.fit(X, y - 0.3).score(X, y - 0.3) > 0.85


def test_predictions_stay_within_the_range_of_the_targets():
    X, y = table(5000)
    model = LinearRegression(epsilon=2, bounds=(-1, 1), bounds_y=(-0.5, 0.7), random_state=0).fit(X, y)
    predicted = model.predict(X)
    assert predicted.min() >= -0.5
    assert predicted.max() <= 0.7
    assert (predicted == 0.7).any()


def test_the_bought_centre_shortens_rows_far_from_zero():
    rng = np.random.default_rng(1)
    X = np.clip(rng.normal(0.8, 0.03, (20_000, 6)), 0, 1)
    y = X @ np.arange(6.0) + 0.02 * rng.normal(size=20_000)
    model = LinearRegression(epsilon=1, bounds=(0, 1), bounds_y=(8, 16), random_state=0).fit(X, y)
    assert np.abs(model.bounds_.centre - 0.8).max() < 0.02
    assert model.bounds_.l2 < 0.3
    assert model.score(X, y) > 0.9
