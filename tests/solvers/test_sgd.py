"""Noisy SGD: sampling, the lecture's two theorems side by side, parts in parallel, batches that answer once; SVRG."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet import accounting
from discreet.accounting import published_descent
from discreet.accounting.events import repeat
from discreet.curator import Clip, make_curator
from discreet.mechanisms import Gaussian
from discreet.penalties import L2Ball
from discreet.privacy import Budget, PrivacyError, unseal
from discreet.randomness import SeededSource
from discreet.solvers.base import Ask, Plan
from discreet.solvers.gradient_descent import GradientDescent
from discreet.solvers.queries import NoisySum
from discreet.solvers.sgd import StochasticGradientDescent
from discreet.solvers.svrg import StochasticVarianceReduced
from tests.solvers.smooth_problems import LOSS, N, P, multiplier, problem, solved, table

ONE = Budget(1, 1e-6)


def rows() -> Any:
    X, y = table()
    return make_curator(X, y, bounds=problem().bounds)


def test_a_batch_is_a_poisson_sample_and_says_its_rate() -> None:
    sizes = [int(unseal(rows().batch(0.25, SeededSource(k)).count())[0]) for k in range(40)]
    # mean 500, standard deviation 19.4 each, 3.1 of the mean of 40: five deviations
    assert abs(np.mean(sizes) - 500) < 16
    assert 12 < np.std(sizes) < 28  # a batch of fixed size would have 0
    assert rows().batch(0.25, SeededSource(0)).gradient(LOSS, np.zeros(P)).rate == 0.25


QUESTIONS = {
    "gradient": lambda c: c.gradient(LOSS, np.zeros(P)),
    "count": lambda c: c.count(),
    "rows": lambda c: c.sum_rows(),
    "moments": lambda c: c.second_moments(),
    "objective": lambda c: c.objective(LOSS, np.zeros((2, P)), 1.0),
    "partial": lambda c: c.cursor(LOSS, np.zeros(P)).partial(0),
    "squares": lambda c: c.column_squares(),
    "steepness": lambda c: c.steepness(LOSS, np.zeros(P), 1.0),
    "transformed": lambda c: c.transformed(np.eye(P), problem().bounds).sum_rows(),
    "part": lambda c: c.parts(2, SeededSource(1))[0].sum_rows(),
    "batch of it": lambda c: c.batch(0.5, SeededSource(1)).sum_rows(),
    "norms": lambda c: c.norm_histogram([0.5]),
}


@pytest.mark.parametrize("second", QUESTIONS)
@pytest.mark.parametrize("first", QUESTIONS)
def test_a_batch_answers_once(first: str, second: str) -> None:
    batch = rows().batch(0.5, SeededSource(0))
    assert QUESTIONS[first](batch).rate in (0.5, 0.25)
    with pytest.raises(PrivacyError, match="one question"):
        QUESTIONS[second](batch)


def test_a_cursor_on_a_batch_does_not_get_round_that() -> None:
    cursor = rows().batch(0.5, SeededSource(0)).cursor(LOSS, np.zeros(P))
    cursor.partial(0)
    with pytest.raises(PrivacyError, match="one question"):
        cursor.partial(1)


def test_one_sealed_answer_about_a_batch_is_not_opened_twice() -> None:
    ask = Ask(StochasticGradientDescent(steps=3, batch=500).plan(problem()), SeededSource(0))
    sealed = ask.sample("gradient", rows()).gradient(LOSS, np.zeros(P))
    ask.gradient(sealed)
    for again in (sealed, sealed.scaled(2), sealed.absolute()):
        with pytest.raises(PrivacyError, match="fresh sample"):
            ask.gradient(again)


def test_answers_about_other_rows_than_priced_are_refused() -> None:
    solver = StochasticGradientDescent(steps=3, batch=200)
    ask = Ask(solver.plan(problem()), SeededSource(0))
    with pytest.raises(PrivacyError, match="rate"):
        ask.gradient(rows().gradient(LOSS, np.zeros(P)))


def test_parts_are_priced_once_and_each_is_asked_once() -> None:
    solver = StochasticGradientDescent(steps=4, passes="one")
    plan = solver.plan(problem(ONE))
    assert multiplier(plan, "gradient") == pytest.approx(1 / accounting.gdp.mu_for(1.0, 1e-6))
    ask = Ask(plan, SeededSource(0))
    with pytest.raises(PrivacyError, match="disjoint parts"):
        ask.gradient(rows().gradient(LOSS, np.zeros(P)))
    parts = ask.parts("gradient", rows(), 4)
    ask.gradient(parts[0].gradient(LOSS, np.zeros(P)))
    with pytest.raises(PrivacyError, match="disjoint parts"):
        ask.gradient(parts[0].gradient(LOSS, np.ones(P)))
    with pytest.raises(PrivacyError, match="made once"):
        ask.parts("gradient", rows(), 4)


def test_parts_of_another_run_are_refused() -> None:
    plan = StochasticGradientDescent(steps=4, passes="one").plan(problem(ONE))
    ask = Ask(plan, SeededSource(0))
    ask.parts("gradient", rows(), 4)
    with pytest.raises(PrivacyError, match="disjoint parts"):
        ask.gradient(rows().parts(4)[0].gradient(LOSS, np.zeros(P)))


def test_phases_halve_the_rows() -> None:
    assert StochasticGradientDescent(steps=20, passes="phased").schedule(problem())["steps"] == 15


def test_both_printed_theorems_side_by_side() -> None:
    """At one pass in batches of a tenth: what each costs by the tight accountant, and what is needed."""
    task, n = problem(ONE), N
    rate, steps = 0.1, 1000
    needed = multiplier(StochasticGradientDescent(steps=steps, batch=int(rate * n)).plan(task), "gradient")
    printed = {t: published_descent.sgd_noise(ONE, steps, rate, t) for t in ("3.1", "3.2")}
    assert needed > printed["3.1"] * 1.1  # constant 1 falls short even here: 2.4 is needed at the root of log(1/delta)
    assert printed["3.2"] / needed > 3  # the sloppier theorem pays for its proof
    with pytest.raises(PrivacyError, match="published noise"):
        StochasticGradientDescent(steps=steps, batch=200, accounting="as_published").plan(task)
    plan = StochasticGradientDescent(steps=steps, batch=200, accounting="as_published", theorem="3.2").plan(task)
    assert accounting.epsilon(plan.event, 1e-6) < 0.4


def test_theorem_3_1_fails_for_small_batches() -> None:
    """ "For any m, T" is false: q = 0.01 and T = 100 give epsilon 17.9 at a promised 1 (ALGORITHMS, errata)."""
    noise = published_descent.sgd_noise(ONE, 100, 0.01, "3.1")
    event = repeat(NoisySum(rate=0.01).event(Gaussian(noise), ONE.neighbors), 100)
    assert accounting.epsilon(event, 1e-6) == pytest.approx(17.9, abs=0.3)


def test_dropping_and_scaling_have_one_bound_and_differ() -> None:
    scaled, dropped = (rows().gradient(LOSS, np.zeros(P), Clip(0.5, "l2", mode)) for mode in ("scale", "drop"))
    assert scaled.sensitivity("l2") == dropped.sensitivity("l2")
    assert not np.array_equal(unseal(scaled), unseal(dropped))


def test_sampling_is_cheaper_than_all_rows_each_time() -> None:
    full = multiplier(GradientDescent(steps=100).plan(problem(ONE)), "gradient")
    assert multiplier(StochasticGradientDescent(steps=100, batch=N // 10).plan(problem(ONE)), "gradient") < full / 5


def test_corrections_shrink_with_the_way_gone() -> None:
    """The bound on a correction is never reached by clipping, and falls with the distance to the anchor."""
    X, y = table()
    task, rng = problem(), np.random.default_rng(1)
    for far in (1e-3, 0.1, 1.0, 30.0):
        w, a = (v := rng.normal(size=P)), v + far * rng.normal(size=P) / 3
        long = StochasticVarianceReduced.longest(task, float(np.linalg.norm(w - a)))
        change = (LOSS.derivative(X @ w, y) - LOSS.derivative(X @ a, y))[:, None] * X
        assert np.linalg.norm(change, axis=1).max() <= long
        assert long <= 2 * task.radius
    assert StochasticVarianceReduced.longest(task, 1e-3) < 1e-2


def test_the_difference_of_gradients_is_that() -> None:
    X, y = table()
    w, a = np.linspace(-1, 1, P), np.linspace(0.5, -0.5, P)
    sealed = rows().gradient(LOSS, w, reference=a)
    change = X.T @ (LOSS.derivative(X @ w, y) - LOSS.derivative(X @ a, y))
    assert np.allclose(np.asarray(unseal(sealed)) * float(sealed.unit), change, atol=N * 2.0**-13)


def test_hidden_steps_cost_less_where_they_may() -> None:
    """Amplification by iteration binds for long runs in a small set; the slack of the grid is in the price."""
    task = problem(ONE, n=300, penalty=L2Ball(0.05))
    shown, hidden = (GradientDescent(steps=3000, average="last", momentum=0, hidden=h) for h in (False, True))
    assert multiplier(hidden.plan(task), "gradient") < 0.8 * multiplier(shown.plan(task), "gradient")
    assert accounting.epsilon(hidden.plan(task).event, 1e-6) <= 1.0
    short = GradientDescent(steps=50, average="last", momentum=0, hidden=True).plan(task)
    assert multiplier(short, "gradient") == pytest.approx(
        multiplier(GradientDescent(steps=50).plan(task), "gradient"), rel=1e-6
    )


def test_without_noise_batches_of_all_rows_are_gradient_descent() -> None:
    step = 1 / problem().smoothness
    batches = StochasticGradientDescent(steps=30, batch=N, step_size=step, average="last")
    full = GradientDescent(steps=30, momentum=0, average="last")
    assert np.abs(solved(batches, problem(), seed=None) - solved(full, problem(), seed=None)).max() < 1e-3


def test_a_plan_counts_parts_times_answers() -> None:
    plan = Plan(ONE, {"g": NoisySum(times=2, parts=3)}, {"g": Gaussian(1.0)}, {}, ONE)  # type: ignore[arg-type]
    ask = Ask(plan, SeededSource(0))
    parts = ask.parts("g", rows(), 3)
    for part in parts:
        ask.g(part.count())
        ask.g(part.count())
        with pytest.raises(PrivacyError):
            ask.g(part.count())
