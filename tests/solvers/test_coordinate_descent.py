"""Coordinate descent: prices per coordinate, clipping rules, constants that are public or paid, and what it gains."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from discreet import accounting
from discreet.accounting import published_descent
from discreet.curator import RowBounds, make_curator
from discreet.curator.choices import public_choices
from discreet.losses import SquaredLoss
from discreet.penalties import L1, ElasticNet
from discreet.privacy import Budget, unseal
from discreet.solvers.base import Problem
from discreet.solvers.coordinate_descent import CoordinateDescent
from discreet.solvers.greedy_coordinate_descent import GreedyCoordinateDescent
from discreet.theory import coordinate_noise
from tests.solvers.smooth_problems import LOSS, N, P, multiplier, problem, solved, table

ONE = Budget(1, 1e-6)
UNEVEN = RowBounds(low=-np.array([8.0, 1, 1, 1, 1]), high=np.array([8.0, 1, 1, 1, 1]), centre=0)


def noises(plan: Any, schedule: Any) -> Any:
    """The noise multiplier of every coordinate."""
    return np.array([multiplier(plan, f"group_{g}") for g in schedule["group"]])


@pytest.mark.parametrize("clipping", ["lipschitz", "uniform"])
def test_noise_is_in_proportion_to_delta_root_m(clipping: Any) -> None:
    """The allocation of the theory: sigma_j^2 proportional to Delta_j sqrt(M_j), at the mu of the whole budget."""
    task = problem(ONE, bounds=UNEVEN)
    solver = CoordinateDescent(steps=100, sampling="cyclic", curvature="bounds", clipping=clipping)
    schedule, plan = solver.schedule(task), solver.plan(task)
    delta = schedule["clip"] * schedule["shape"]
    sigma = delta * noises(plan, schedule)
    mu = accounting.gdp.mu_for(1.0, 1e-6)
    assert np.allclose(sigma, coordinate_noise(delta, schedule["smoothness"], mu, updates=100), rtol=1e-6)


def test_even_noise_is_never_better() -> None:
    task = problem(ONE, bounds=UNEVEN)
    tight = CoordinateDescent(steps=100, sampling="cyclic", curvature="bounds", clipping="uniform")
    schedule, plan = tight.schedule(task), tight.plan(task)
    delta, smooth = schedule["clip"] * schedule["shape"], schedule["smoothness"]
    ours = sum((delta * noises(plan, schedule)) ** 2 / smooth)
    even = sum(100 * (delta / accounting.gdp.mu_for(1.0, 1e-6)) ** 2 / smooth)
    assert ours < 0.9 * even


def test_published_noise_costs_two_to_three_times_less_than_it_says() -> None:
    task = problem(ONE)
    solver = CoordinateDescent(steps=100, accounting="as_published")
    plan = solver.plan(task)
    assert multiplier(plan, "group_0") == published_descent.descent_noise(ONE, 100)
    assert accounting.epsilon(plan.event, 1e-6) == pytest.approx(0.376, abs=2e-3)  # ALGORITHMS 5.5
    tight = CoordinateDescent(100, curvature="bounds").plan(task)
    assert multiplier(plan, "group_0") > 2.2 * multiplier(tight, "group_0")


def test_clips_follow_their_rules() -> None:
    task = problem(ONE, bounds=UNEVEN)
    by_root = CoordinateDescent(clip=2.0).schedule(task)
    assert np.allclose(by_root["shape"], np.array([8, 1, 1, 1, 1]) / math.sqrt(68), rtol=1e-3)
    assert np.allclose(CoordinateDescent(clipping="uniform").schedule(task)["shape"], 1 / math.sqrt(P))
    assert by_root["clip"] == 2.0
    natural = CoordinateDescent().schedule(task)
    assert np.allclose(natural["clip"] * natural["shape"], np.array([8.0, 1, 1, 1, 1]), rtol=1e-3)


def test_importance_prefers_rough_coordinates_and_everything_is_public() -> None:
    task = problem(ONE, bounds=UNEVEN)
    order = CoordinateDescent(steps=2000, sampling="importance").schedule(task)["order"]
    counts = np.bincount(order, minlength=P)
    assert counts[0] > 2.5 * counts[1:].max()
    assert counts.min() > 0
    assert np.array_equal(order, CoordinateDescent(steps=2000, sampling="importance").schedule(task)["order"])


def test_public_choices_have_their_probabilities() -> None:
    counts = np.bincount(public_choices([1, 2, 0, 5], 40_000), minlength=4)
    assert counts[2] == 0
    # four standard deviations of a binomial count
    assert all(abs(counts[j] - 40_000 * q) < 400 for j, q in ((0, 1 / 8), (1, 2 / 8), (3, 5 / 8)))


def test_paid_squares_are_what_the_columns_have() -> None:
    X, y = table()
    curator = make_curator(X, y, bounds=RowBounds(linf=1.0))
    sealed = curator.column_squares()
    assert np.allclose(np.asarray(unseal(sealed)) * float(sealed.unit), (X**2).sum(axis=0), rtol=1e-3)


def test_paid_constants_are_in_the_plan_and_public_ones_cost_nothing() -> None:
    task = problem(ONE)
    assert "squares" in CoordinateDescent(curvature="private").plan(task).queries
    assert "squares" not in CoordinateDescent(curvature="bounds").plan(task).queries
    adaptive = CoordinateDescent(clipping="adaptive", rounds=3, curvature="bounds").plan(task)
    assert adaptive.queries["lengths"].times == 3


@pytest.mark.parametrize("penalty", [L1(60.0), ElasticNet(80.0, 0.5)])
def test_composite_objectives_by_prox(penalty: Any) -> None:
    """At the minimum the prox of a gradient step stays put; zeros are exact."""
    w = solved(CoordinateDescent(steps=1500, average="last"), problem(penalty=penalty), seed=None)
    X, y = table()
    gradient = X.T @ LOSS.derivative(X @ w, y)
    step = 1 / (0.25 * N * P)
    assert np.abs(penalty.prox(w - step * gradient, step) - w).max() < 1e-6
    assert (w == 0).any()


def test_regression_with_a_clipped_slope_is_hubers() -> None:
    X, _ = table()
    y = np.clip(np.rint(X @ [0.5, 0, 0, 0, -0.25] * 64) / 64, -1, 1)
    task = Problem(SquaredLoss(), RowBounds(linf=1.0, y=(-1, 1)), P, N, Budget(4, 1e-6), slope=2.0)
    w = CoordinateDescent(steps=300)
    curator = make_curator(X, y, bounds=task.bounds)
    found = w.solve(task, w.plan(task), curator)
    assert np.abs(found - [0.5, 0, 0, 0, -0.25]).max() < 0.1  # noise of about 0.01


def test_pure_budgets_get_laplace_noise() -> None:
    plan = CoordinateDescent(steps=50, curvature="bounds").plan(problem(Budget(2)))
    assert accounting.epsilon(plan.event, 0.0) == pytest.approx(2.0, rel=1e-9)


def test_greedy_finds_the_coordinates_that_matter() -> None:
    """Fifty columns, two of which matter: the chosen coordinates are those; a miss in 10 steps has odds below 1e-6."""
    rng = np.random.default_rng(0)
    X = rng.integers(-8, 9, (20_000, 50)) / 8
    y = np.where(rng.random(20_000) < 1 / (1 + np.exp(-3 * X[:, 7] + 3 * X[:, 30])), 1.0, -1.0)
    task = Problem(LOSS, RowBounds(linf=1.0), 50, 20_000, Budget(2, 1e-6))
    solver = GreedyCoordinateDescent(steps=10)
    w = solver.solve(task, solver.plan(task), make_curator(X, y, bounds=task.bounds))
    assert set(np.flatnonzero(w)) == {7, 30}
