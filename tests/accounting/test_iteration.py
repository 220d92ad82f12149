"""Last-iterate bounds: the optimum of the shifts that prove them, attained on quadratics, refused otherwise."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from discreet.accounting import iteration
from discreet.accounting.iteration import Conditions
from discreet.privacy import PrivacyError

ALL = Conditions(True, True, True, True, True)
RUN = {"step_size": 0.1, "smoothness": 1.0, "sensitivity": 1.0}


def best_shifts(moves: np.ndarray, c: float, start: float = 0.0) -> float:
    """min |a| over z_k = c z_{k-1} + move_k - a_k >= 0, z_0 = start, z_T = 0: non-negative least squares."""
    t = len(moves)
    target = moves.astype(float).copy()
    target[0] += c * start
    if t == 1:
        return float(target[0])
    map_ = np.zeros((t, t - 1))
    map_[np.arange(1, t), np.arange(t - 1)] = c
    map_[np.arange(t - 1), np.arange(t - 1)] = -1
    return math.sqrt(2 * lsq_linear(map_, -target, bounds=(0, np.inf), tol=1e-14).cost)


@pytest.mark.parametrize("m", [0.0, 0.5, 4.0])
@pytest.mark.parametrize("steps", [1, 2, 17, 60])
def test_strongly_convex_bound_is_the_best_of_its_proof(m, steps):
    run = {"step_size": 0.1, "smoothness": 4.0, "sensitivity": 2.0}
    c = iteration.contraction(0.1, 4.0, m)
    mu = iteration.last_iterate_mu(steps, 5.0, conditions=ALL, strong_convexity=m, **run)
    assert mu == pytest.approx(best_shifts(np.ones(steps), c) / 5.0, rel=1e-6)


@pytest.mark.parametrize(("m", "diameter"), [(0.0, 0.5), (0.0, 3.0), (0.5, 0.3), (0.5, 40.0)])
def test_diameter_bound_is_the_best_of_its_proof(m, diameter):
    c, away = iteration.contraction(0.1, 1.0, m), diameter / 0.1
    from_some_step = min(best_shifts(np.ones(k), c, away) for k in range(1, 61))
    expected = min(from_some_step, best_shifts(np.ones(60), c))
    mu = iteration.last_iterate_mu(60, 1.0, conditions=ALL, strong_convexity=m, diameter=diameter, **RUN)
    assert mu == pytest.approx(expected, rel=1e-5)


def test_it_is_attained_on_quadratics():
    """w <- (1 - eta m) w - eta (shift + noise): the last iterate is Gaussian, and its mean over its deviation is mu."""
    eta, m, sigma, shift, steps = 0.2, 0.7, 3.0, 1.0, 40
    mean, variance = 0.0, 0.0
    for _ in range(steps):
        mean, variance = (1 - eta * m) * mean + eta * shift, (1 - eta * m) ** 2 * variance + (eta * sigma) ** 2
    mu = iteration.last_iterate_mu(
        steps, sigma, conditions=ALL, step_size=eta, smoothness=m, strong_convexity=m, sensitivity=shift
    )
    assert mu == pytest.approx(mean / math.sqrt(variance), rel=1e-9)


def test_it_stops_growing_and_never_costs_more_than_all_steps():
    values = [
        iteration.last_iterate_mu(n, 10.0, conditions=ALL, diameter=1.0, **RUN) for n in (1, 10, 100, 1000, 10_000)
    ]
    assert all(a <= b for a, b in pairwise(values))
    assert values[-1] == values[-2] < math.sqrt(1000) / 10
    assert values[0] == pytest.approx(0.1) and values[1] == pytest.approx(math.sqrt(10) / 10)
    assert iteration.last_iterate_mu(0, 10.0, conditions=ALL, **RUN) == 0


@pytest.mark.parametrize(("batches", "epochs"), [(2, 5), (5, 3), (1, 4)])
def test_cyclic_bound_covers_every_place_in_the_turn(batches, epochs):
    c = iteration.contraction(0.3, 1.0, 0.4)
    worst = 0.0
    for place in range(batches):
        moves = np.zeros(batches * epochs)
        moves[place::batches] = 1
        worst = max(worst, best_shifts(moves, c))
    mu = iteration.cyclic_mu(epochs, batches, 2.0, conditions=ALL, step_size=0.3, smoothness=1.0, strong_convexity=0.4)
    assert worst / 2 <= mu * (1 + 1e-6)
    if batches > 1:
        assert mu == pytest.approx(worst / 2, rel=1e-5)


@pytest.mark.parametrize("missing", Conditions().broken())
def test_each_condition_is_needed(missing):
    with pytest.raises(PrivacyError, match=missing):
        iteration.last_iterate_mu(10, 1.0, conditions=replace(ALL, **{missing: False}), **RUN)
    with pytest.raises(PrivacyError, match=missing):
        iteration.cyclic_mu(
            2, 2, 1.0, conditions=replace(ALL, **{missing: False}), step_size=0.1, smoothness=1.0, strong_convexity=0.5
        )


def test_steps_that_do_not_contract_are_refused():
    with pytest.raises(PrivacyError, match="2 / smoothness"):
        iteration.last_iterate_mu(10, 1.0, conditions=ALL, step_size=2.1, smoothness=1.0, sensitivity=1.0)
    with pytest.raises(ValueError, match="can't be above"):
        iteration.contraction(0.1, 1.0, 2.0)
    with pytest.raises(ValueError, match="n_steps"):
        iteration.last_iterate_mu(-1, 1.0, conditions=ALL, **RUN)
    with pytest.raises(ValueError, match="at least 1"):
        iteration.cyclic_mu(0, 2, 1.0, conditions=ALL, step_size=0.1, smoothness=1.0, strong_convexity=0.5)


def test_a_step_of_exactly_two_over_beta_still_counts():
    """Contraction one, on a function with no strong convexity: the plain price."""
    mu = iteration.last_iterate_mu(9, 3.0, conditions=ALL, step_size=2.0, smoothness=1.0, sensitivity=1.0)
    assert mu == pytest.approx(1.0)
    turns = iteration.cyclic_mu(4, 3, 2.0, conditions=ALL, step_size=2.0, smoothness=1.0, strong_convexity=0.5)
    assert turns == pytest.approx(1.0)
