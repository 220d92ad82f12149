"""Length and level of a regression: noise gets no length, means are means, and prices are those of the plan."""

from __future__ import annotations

import numpy as np
import pytest
from dp_accounting.dp_event import GaussianDpEvent

from discreet import accounting
from discreet.accounting.events import compose
from discreet.curator import RowBounds, make_curator
from discreet.losses import PoissonLoss, SquaredLoss
from discreet.privacy import Budget
from discreet.randomness import SeededSource
from discreet.solvers.base import Problem
from discreet.solvers.calibration import SCARCE, Direction, best_clip, calibration_shares
from discreet.solvers.paid_minimum import room
from discreet.solvers.whitened_poisson import WhitenedPoisson
from discreet.solvers.whitened_regression import WhitenedRegression
from discreet.testing import without_privacy

BOUNDS = RowBounds(l2=4.0, intercept=0.4, y=(-4.0, 4.0))


def problem(n=1000, p=4, epsilon=0.5, bounds=BOUNDS, **more):
    return Problem(SquaredLoss(), bounds, p, n, Budget(epsilon, 1e-6), **more)


def solved(case, X, y, seed=0, solver=None, **more):
    solver = solver or WhitenedRegression()
    found = solver.solve(case, solver.plan(case), make_curator(X, y, bounds=case.bounds, **more), SeededSource(seed))
    return found[:-1], found[-1] * float(case.grid.constant * case.grid.unit)


def skewed(n, p=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (n, p)), np.minimum(np.exp(rng.normal(size=n)), 8.0) - 4.0


def test_the_level_is_the_mean_and_not_a_median():
    """Log-normal targets: mean and median are a third of a deviation apart."""
    for n, epsilon in ((2000, 0.5), (20_000, 1.0)):
        X, y = skewed(n)
        levels = [solved(problem(n, epsilon=epsilon), X, y, seed)[1] for seed in range(8)]
        assert abs(np.mean(levels) - y.mean()) < 0.1 * y.std()
        assert abs(np.median(y) - y.mean()) > 0.25 * y.std()


@pytest.mark.parametrize(("n", "p"), [(1000, 4), (1000, 40), (4000, 4)])
def test_slopes_of_noise_are_zero_or_do_no_harm(n, p):
    harm = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = rng.uniform(-1, 1, (n, p)), rng.normal(size=n)
        harm.append(np.var(X @ solved(problem(n, p), X, y, seed)[0]))
    assert np.mean(harm) < 0.01


def test_a_wide_table_with_few_rows_per_weight_is_learnt_without_moments():
    rng = np.random.default_rng(4)
    F = rng.normal(size=(5000, 3))
    X = (F @ rng.normal(size=(3, 40)) + 0.5 * rng.normal(size=(5000, 40))) / 10
    y = F @ [1, 0.5, -0.7] / 2
    case = problem(5000, 40, 0.2)
    assert "moments" not in WhitenedRegression().plan(case).mechanisms
    scores = [1 - np.var(y - X @ solved(case, X, y, seed)[0]) / y.var() for seed in range(4)]
    assert np.mean(scores) > 0.4


def test_weights_of_rows_don_t_move_the_level():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (20_000, 4)), 2 + 0.5 * rng.normal(size=20_000)
    weights = np.full(len(y), 0.25)
    for epsilon in (0.1, 2.0):
        level = solved(problem(20_000, epsilon=epsilon), X, y, sample_weight=weights)[1]
        assert abs(level - 2) < (0.6 if epsilon < 1 else 0.1)


def test_without_an_intercept_the_length_is_found_too():
    X = np.random.default_rng(0).uniform(-1, 1, (50_000, 4))
    bounds = RowBounds(l2=4.0, y=(-4.0, 4.0))
    for epsilon in (0.05, 1.0):
        case = problem(50_000, epsilon=epsilon, bounds=bounds)
        with without_privacy():
            found = WhitenedRegression().solve(
                case, WhitenedRegression().plan(case), make_curator(X, X @ [1.0, -0.5, 0.2, 0.0], bounds=bounds),
                SeededSource(0),
            )  # fmt: skip
        assert np.abs(found - [1.0, -0.5, 0.2, 0.0]).max() < 0.2


def test_counts_without_signal_are_a_constant():
    rng = np.random.default_rng(1)
    bounds = RowBounds(l2=4.0, intercept=0.4, y=(20.0, 80.0))
    for n, epsilon in ((1000, 0.5), (5000, 0.5)):
        X, y = rng.uniform(-1, 1, (n, 3)), rng.poisson(50.0, n).astype(float)
        case = Problem(PoissonLoss(4.4), bounds, 3, n, Budget(epsilon, 1e-6))
        for seed in range(5):
            slopes, level = solved(case, X, y, seed, WhitenedPoisson())
            assert np.var(50 * X @ slopes) < 0.05 * y.var()
            assert abs(np.exp(level) - 50) < 0.4 * y.std()


def test_every_release_is_in_the_event():
    for case in (problem(300), problem(300, 60), problem(9000)):
        plan = WhitenedRegression().plan(case)
        sums = [plan.mechanisms[name].event for name in WhitenedRegression().bought(case)]
        assert set(WhitenedRegression().bought(case)) | {"tilt", "weights"} == set(plan.mechanisms)
        assert 0.98 < accounting.epsilon(plan.event, 1e-6) / 0.5 <= 1
        assert accounting.epsilon(compose(*sums), 1e-6) < 0.5


def test_the_last_step_gets_most_where_rows_are_few():
    few, more = (calibration_shares(problem(n), near=True) for n in (300, 30_000))
    assert few["level"] == 0.18
    assert sum(few.values()) <= 0.5
    assert sum(more.values()) < 0.15
    assert SCARCE == 300


def test_the_best_clip_grows_with_tails_and_shrinks_with_noise():
    edges = 2.0 ** np.arange(-3.0, 4.0)
    short, long = np.zeros(8), np.zeros(8)
    short[3], long[[3, 5]] = 1000, (900, 100)
    assert best_clip(long, edges, 0.1, 0.01, 1000) > best_clip(short, edges, 0.1, 0.01, 1000)
    assert best_clip(long, edges, 0.1, 1.0, 1000) < best_clip(long, edges, 0.1, 0.001, 1000)


def test_a_length_below_its_noise_is_zero_and_a_negative_one_too():
    seen = Direction(np.array([1.0]), 1.0, None, 1.0, 0.0, 0.5)
    assert seen.length(0.0, np.array([0.1, 0.0]), 0.06) == 0
    assert seen.length(0.5, np.array([-0.4, 0.0]), 0.001) == 0
    assert abs(seen.length(0.0, np.array([0.1, 0.0]), 1e-6) - 0.2) < 1e-6


@pytest.mark.parametrize(("guess", "length"), [(0.1, 0.2), (0.3, 0.3), (5.0, 0.6)])
def test_the_length_of_a_minimum_is_believed_between_once_and_three_times_least_squares(guess, length):
    seen = Direction(np.array([1.0]), 1.0, None, 1.0, 0.0, 0.5)
    assert abs(seen.length(0.0, np.array([0.1, 0.0]), 1e-6, guess) - length) < 1e-9
    assert seen.length(0.0, np.array([0.1, 0.0]), 0.08, guess) == 0


def test_the_determinant_gets_room_where_much_was_spent_before():
    """At a ridge of 1 in these units the noise of a minimum with a quarter of mu squared left is doubled."""
    mu = accounting.gdp.mu_for(0.5, 1e-6)
    shares = sum(WhitenedRegression().bought(problem(1000, 40)).values())
    spent = GaussianDpEvent(1 / (mu * 0.35**0.5))
    poor = problem(1000, 40, spent=spent)
    assert room(problem(), 0.2) == 1
    assert abs(room(problem(), 0.5) - 1.5) < 1e-9
    assert abs(room(poor, 0.5) - 1.5 / 0.65) < 0.01
    solver, sigma = WhitenedRegression(), {}
    for name, more in (("as it is", 1.0), ("no room", 1 / room(poor, shares)), ("much room", 20.0)):
        schedule = dict(solver.schedule(poor))
        facts = schedule | {"kappa": schedule["kappa"] / more}
        sigma[name] = accounting.calibrate(lambda z, f=facts: compose(spent, *solver._events(poor, f, z)), poor.budget)
    assert sigma["as it is"] < 1.08 * sigma["much room"]
    assert sigma["no room"] > 1.3 * sigma["much room"]


def test_a_strong_signal_survives_few_rows():
    """With rows times mu of 120 and ten columns a private model explains more than half of what can be explained."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 10)) / 4
    y = np.clip(X @ rng.normal(size=10) + 0.5 * rng.normal(size=1000), -4, 4)
    best = np.var(X @ np.linalg.lstsq(X, y, rcond=None)[0]) / y.var()
    scores = [1 - np.var(y - X @ solved(problem(1000, 10, 0.5), X, y, seed)[0]) / y.var() for seed in range(8)]
    assert np.mean(scores) > 0.5 * best, (np.mean(scores), best)
