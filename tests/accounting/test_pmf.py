"""Grids only raise a profile, composition included, down to deltas that doubles can hardly hold."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting import gdp, leaf_losses, pld
from discreet.accounting.events import PureDpEvent, compose, repeat
from discreet.accounting.pmf import Composition, LossPmf


def exact_response(eps0: float, count: int, eps: float) -> mp.mpf:
    """Delta of `count` randomised responses: a binomial sum."""
    with mp.workdps(60):
        p = 1 / (1 + mp.exp(-mp.mpf(eps0)))
        total = mp.mpf(0)
        for k in range(count + 1):
            loss = (2 * k - count) * mp.mpf(eps0)
            if loss > eps:
                total += mp.binomial(count, k) * p**k * (1 - p) ** (count - k) * (1 - mp.exp(eps - loss))
        return total


@pytest.mark.parametrize(("eps0", "count"), [(0.1, 100), (1.0, 7), (0.013, 1000)])
@pytest.mark.parametrize("size", [0.2, 1e-6, 1e-30, 1e-120])
def test_randomised_responses_match_the_binomial_sum(eps0, count, size):
    event = repeat(PureDpEvent(eps0), count)
    eps = pld.epsilon(event, size)
    if eps == 0 or eps >= eps0 * count * (1 - 1e-9):
        assert exact_response(eps0, count, eps) <= size
        return
    exact = exact_response(eps0, count, eps)
    assert exact <= size
    assert exact >= size * 0.97
    assert exact <= pld.delta(event, eps) <= exact * 1.05


@pytest.mark.parametrize(("mu", "delta"), [(1.0, 1e-6), (0.01, 1e-12), (3.0, 1e-200), (6.0, 0.1)])
def test_gaussian_grids_are_above_the_closed_form_and_close(mu, delta):
    event = compose(dp_event.GaussianDpEvent(2 / mu), repeat(dp_event.GaussianDpEvent(2 / mu), 3))
    exact = gdp.epsilon(mu, delta)
    assert exact * (1 - 1e-9) <= pld.epsilon(event, delta) <= exact * (1 + 1e-5)


def laplace_delta(eps0: float, eps: float) -> float:
    return -math.expm1((eps - eps0) / 2) if eps < eps0 else 0.0


@given(st.floats(0.05, 5.0), st.floats(1e-3, 0.3), st.floats(-0.99, 1.2))
def test_laplace_grid_is_above_its_profile(eps0, step, where):
    pmf, eps = leaf_losses.laplace(eps0, step), where * eps0
    exact = laplace_delta(eps0, eps) if eps >= 0 else 1 - math.exp(eps) + math.exp(eps) * laplace_delta(eps0, -eps)
    assert exact - 1e-13 <= pmf.delta(eps) <= exact + step
    assert pmf.mass.sum() + pmf.infinity == pytest.approx(1, abs=1e-10)


@given(st.floats(0.01, 1.0), st.floats(0.05, 3.0), st.sampled_from(["remove", "add"]), st.floats(-3, 5))
def test_sampled_gaussian_grid_is_above_the_integral(q, mu, direction, eps):
    def gauss(x: float, centre: float) -> float:
        return math.exp(-((x - centre) ** 2) / 2) / math.sqrt(2 * math.pi)

    x = np.linspace(-12, 12 + mu, 60_001)
    blank, row = np.exp(-(x**2) / 2), np.exp(-((x - mu) ** 2) / 2)
    p, lower = (1 - q) * blank + q * row, blank
    p, lower = (p, lower) if direction == "remove" else (lower, p)
    exact = float(np.trapezoid(np.maximum(p - math.exp(eps) * lower, 0), x)) / math.sqrt(2 * math.pi)
    value = leaf_losses.sampled_gaussian(q, mu, direction, 0.01, 1e-15).delta(eps)
    assert exact - 1e-8 <= value <= exact + 0.003


def test_hull_of_a_profile_is_above_it_at_every_epsilon():
    def profile(eps):
        return np.array([gdp.delta(1.0, e) for e in np.atleast_1d(eps)])

    pmf = LossPmf.from_profile(profile, 0.05, -6.0, 6.0)
    for eps in np.linspace(-7, 6, 200):
        assert profile(eps)[0] * (1 - 2e-11) <= pmf.delta(float(eps)) <= profile(eps)[0] + 2e-3


def test_hull_keeps_valid_what_is_not_convex():
    """A bound with a bump is still a bound after the bump is cut off."""
    pmf = LossPmf.from_profile(lambda e: np.clip(0.5 - e / 4, 0, 1) * (1 + 0.1 * np.sin(9 * e) ** 2), 0.01, -2.0, 2.0)
    values = [pmf.delta(float(e)) for e in np.linspace(-2, 2, 300)]
    alpha = np.exp(np.linspace(-2, 2, 300))
    slopes = np.diff(values) / np.diff(alpha)
    assert np.all(np.diff(slopes) >= -1e-9)


def test_export_is_read_by_the_library_with_the_same_result():
    event = PureDpEvent(0.3)
    theirs = event.pld(0.01).self_compose(5)
    ours = Composition([(event.pmf("remove", 0.01, 0.0), 5)])
    assert theirs.get_delta_for_epsilon(0.7) == pytest.approx(ours.delta(0.7), rel=1e-9)


def test_different_grids_do_not_compose():
    one, other = (PureDpEvent(1.0).pmf("add", step, 0.0) for step in (0.1, 0.2))
    with pytest.raises(ValueError, match="one grid"):
        Composition([(one, 1), (other, 1)])


def test_flattened_composition_is_above_and_close():
    whole = Composition([(PureDpEvent(0.5).pmf("remove", 0.05, 0.0), 4)])
    flat = whole.flattened()
    for eps in (-1.0, 0.0, 0.5, 1.5):
        assert whole.delta(eps) * (1 - 1e-9) - 1e-15 <= flat.delta(eps) <= whole.delta(eps) * (1 + 1e-6) + 1e-10


@pytest.mark.parametrize(
    "event",
    [
        repeat(dp_event.PoissonSampledDpEvent(0.02, dp_event.GaussianDpEvent(0.9)), 200),
        repeat(dp_event.PoissonSampledDpEvent(0.1, dp_event.LaplaceDpEvent(1.5)), 30),
        repeat(dp_event.DiscreteLaplaceDpEvent(0.2, 2), 25),
        compose(dp_event.LaplaceDpEvent(3.0), dp_event.GaussianDpEvent(2.0)),
        dp_event.MixtureOfGaussiansDpEvent(6.0, [0.0, 1.0], [0.5, 0.5]),
    ],
    ids=["sampled-gaussian", "sampled-laplace", "discrete-laplace", "mixed", "mixture"],
)
def test_agrees_with_the_library(event):
    theirs = PLDAccountant(value_discretization_interval=1e-3).compose(event).get_epsilon(1e-6)
    assert pld.epsilon(event, 1e-6) == pytest.approx(theirs, rel=2e-3)
