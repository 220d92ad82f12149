"""Whitened Poisson regression: the Poisson fit in the limit, never far below a constant, its price, what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import accounting
from discreet.accounting.events import compose, leaves
from discreet.accounting.objective_perturbation import ObjectivePerturbationDpEvent
from discreet.curator import RowBounds, make_curator
from discreet.linear_model import PoissonRegressor
from discreet.losses import PoissonLoss, SquaredLoss
from discreet.mechanisms import Gaussian
from discreet.penalties import L1Ball
from discreet.privacy import Budget
from discreet.randomness import SeededSource
from discreet.solvers.base import Problem, Refusal
from discreet.solvers.released import without_ridge
from discreet.solvers.whitened_poisson import WhitenedPoisson
from discreet.testing import without_privacy

BOUNDS = RowBounds(l2=3.0, intercept=0.3, y=(0.0, 40.0))
SLOPES = np.array([0.8, -0.4, 0.2, 0.0])


def problem(n=4000, p=4, budget=None, **more):
    more.setdefault("bounds", BOUNDS)
    return Problem(PoissonLoss(3.7), n_features=p, n_rows=n, budget=budget or Budget(1, 1e-6), **more)


def table(n=4000, level=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 4)) * [1, 1, 0.5, 2]
    return X, rng.poisson(np.exp(X @ SLOPES + level)).astype(float)


def solved(case, X, y, seed=0, **more):
    curator = make_curator(X, y, bounds=case.bounds, neighbors=case.budget.neighbors, **more)
    found = WhitenedPoisson().solve(case, WhitenedPoisson().plan(case), curator, SeededSource(seed))
    return found[:-1], found[-1] * float(case.grid.constant * case.grid.unit)


def explained(y, predicted):
    def deviance(mean):
        return np.where(y > 0, y * np.log(np.where(y > 0, y, 1) / mean), 0).sum() - (y - mean).sum()

    return 1 - deviance(predicted) / deviance(y.mean())


def fitted(X, y, epsilon, seed=0, weights=None, **more):
    given = {"bounds": (X.min(axis=0), X.max(axis=0)), "bounds_y": (0, y.max()), **more}
    return PoissonRegressor(epsilon=epsilon, random_state=seed, **given).fit(X, y, sample_weight=weights)


def test_without_noise_and_with_many_rows_it_is_the_poisson_fit():
    X, y = table(200_000)
    with without_privacy():
        coef, level = solved(problem(200_000), X, y)
    assert np.abs(coef - SLOPES).max() < 0.02
    assert abs(level - 1.0) < 0.02


@pytest.mark.parametrize("level", [-3.0, 0.0, 3.0, 7.0])
def test_counts_of_any_size(level):
    X, y = table(20_000, level)
    model = fitted(X, y, 3)
    assert abs(model.predict(X).mean() / y.mean() - 1) < 0.1
    assert np.abs((model.coef_ - SLOPES) * X.std(axis=0)).max() < 0.1


def test_large_counts_are_explained_where_descent_from_a_mean_of_one_was_worse_than_a_constant():
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (10_000, 10))
    y = rng.poisson(np.exp(X @ (0.4 * rng.normal(size=10)) + 5.0)).astype(float)
    for epsilon, least in ((0.1, 0.3), (1.0, 0.9), (10.0, 0.95)):
        assert explained(y, fitted(X, y, epsilon).predict(X)) > least
        assert explained(y, fitted(X, y, epsilon, bounds="private", bounds_y="private").predict(X)) > least


def test_noise_alone_is_hardly_worse_than_a_constant():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(6000, 30)), rng.poisson(4.0, 6000).astype(float)
    found = [explained(y, fitted(X, y, epsilon, seed).predict(X)) for epsilon in (0.3, 1.0, 10.0) for seed in range(3)]
    assert min(found) > -0.02


def test_rows_of_less_weight_are_fitted_as_others():
    X, y = table(40_000)
    for weights in (np.full(len(y), 0.3), np.random.default_rng(2).random(len(y))):
        model = fitted(X, y, 3, weights=weights)
        assert abs(model.predict(X).mean() / y.mean() - 1) < 0.05
        assert np.abs((model.coef_ - SLOPES) * X.std(axis=0)).max() < 0.05


def test_what_the_ridge_does_to_normal_rows_is_undone_exactly():
    """At the ridge's minimum of the population, the correction gives the truth back."""
    h, part, truth, level = 0.7 / 3, 0.3, np.array([1.0, -0.5, 0.25]), -0.4
    mean = np.exp(level + h * truth @ truth / 2)
    ridge, a, start = 0.2, np.zeros(3), 0.0
    for _ in range(20_000):  # gradient descent on the population's objective
        model = np.exp(start + h * a @ a / 2)
        a, start = (
            a - 0.2 * (h * (model * a - mean * truth) + ridge * a),
            start - 0.2 * (model - mean + ridge / part * start),
        )
    slopes, found = without_ridge(a, start, mean, ridge, (0.0, 0.1), part)
    assert np.abs(slopes - truth).max() < 1e-8
    assert abs(found - level) < 1e-8
    assert np.abs(a - truth).max() > 0.2


@pytest.mark.parametrize("neighbors", ["zero_out", "replace_one", "add_remove"])
def test_the_price_is_within_the_budget_and_counts_everything(neighbors):
    spent = Gaussian(20.0).event
    plan = WhitenedPoisson().plan(problem(budget=Budget(1, 1e-6, neighbors=neighbors), spent=spent))
    assert 0.99 < accounting.epsilon(plan.event, 1e-6) <= 1
    (minimum,) = [e for e, _ in leaves(plan.event) if isinstance(e, ObjectivePerturbationDpEvent)]
    bought = [plan.mechanisms[name].event for name in ("moments", "level", "total")]
    assert accounting.epsilon(compose(spent, *bought, minimum), 1e-6) <= 1


@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_noise_and_ridge_pay_for_the_largest_slope_and_curvature(weight):
    """One row, whatever its count, moves the gradient by at most mu sigma and the Hessian by at most kappa ridge."""
    bounds = RowBounds(l2=3.0, intercept=0.3, y=(0.0, 40.0), weight=weight)
    plan = WhitenedPoisson().plan(problem(400_000, bounds=bounds))
    (minimum,) = [e for e, _ in leaves(plan.event) if isinstance(e, ObjectivePerturbationDpEvent)]
    loss, view = plan.schedule["loss"], plan.schedule["bounds"]
    assert view.y == (0.0, loss.top)  # where the curator clips counts in units of the bought mean
    margins, counts = np.meshgrid(np.linspace(-9, 9, 181), np.linspace(0, loss.top, 50))
    steepest, sharpest = np.abs(loss.derivative(margins, counts)).max(), loss.curvature(margins, counts).max()
    assert 0.95 * loss.top < steepest <= loss.top
    assert 0.9 * loss.top < sharpest <= loss.top
    cap, longest = plan.schedule["cap"], np.hypot(view.l2, plan.schedule["constant"])
    assert weight * cap * steepest <= minimum.mu * plan.mechanisms["tilt"].sigma
    assert weight * cap * longest * sharpest <= minimum.kappa * plan.schedule["ridge"]


def test_predictions_are_positive_and_stay_within_the_range_of_the_counts():
    X, y = table(5000)
    model = fitted(X, y, 1, bounds_y=(1, 5))
    predicted = model.predict(X * 1e6)
    assert predicted.min() >= 1
    assert predicted.max() <= 5
    rare = fitted(*table(20_000, -4.0), 3)
    assert rare.predict(X).min() > 0
    assert rare.predict(X).max() < 0.3  # a range that starts at a mean of 0.9 would be far off


def test_it_is_the_default_where_it_can_be():
    X, y = table()
    assert fitted(X, y, 1).privacy_.solver == "whitened_poisson"
    assert fitted(X, y, 1, fit_intercept=False).privacy_.solver == "gradient_descent"
    assert fitted(X, y, 1, max_iter=20).n_iter_ == 20
    assert fitted(X, y, 1, delta=0).privacy_.solver == "objective_perturbation"


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ({"loss": SquaredLoss()}, "Poisson loss"),
        ({"penalty": L1Ball(1.0)}, "no set"),
        ({"bounds": RowBounds(l2=1.0, intercept=0.1)}, "bounds_y"),
        ({"bounds": RowBounds(l2=1.0, y=(0.0, 4.0))}, "fit_intercept=False"),
        ({"budget": Budget(1)}, "Gaussian noise"),
        ({"n_features": 3000}, "gradient_descent"),
    ],
)
def test_what_it_refuses(case, words):
    facts = {"loss": PoissonLoss(), "bounds": BOUNDS, "n_features": 4, "n_rows": 100, "budget": Budget(1, 1e-6)}
    with pytest.raises(Refusal, match=words):
        WhitenedPoisson().plan(Problem(**{**facts, **case}))


@pytest.mark.parametrize("options", [{"moments": 0.0}, {"total": 0.9}, {"longest": 0.5}, {"top": 0.5}])
def test_options_that_mean_nothing_are_refused(options):
    with pytest.raises(ValueError, match="must be positive and leave"):
        WhitenedPoisson(**options)
