"""Pure, zCDP and Renyi: every conversion is valid for the mechanism that is worst for it, and tight where said so."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting import dp_event
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting import composition, gdp, pure, rdp, zcdp
from discreet.accounting.events import ApproximateDpEvent, PureDpEvent, compose, repeat

DELTAS = [1e-2, 1e-6, 1e-12, 1e-100]


@given(st.floats(1e-4, 30.0), st.floats(1.0001, 200.0))
def test_randomised_response_renyi(eps, order):
    yes = -math.log1p(math.exp(-eps))
    no = yes - eps
    exact = float(np.logaddexp(order * yes + (1 - order) * no, order * no + (1 - order) * yes)) / (order - 1)
    assert pure.rdp(eps, order) == pytest.approx(exact, rel=1e-6, abs=1e-9 + 1e-14 / (order - 1))
    assert pure.rdp(eps, order) <= min(eps, order * pure.to_zcdp(eps) * (1 + 1e-9))


def test_pure_to_zcdp_is_tight_at_order_one():
    for eps in (0.01, 1.0, 5.0):
        near_one = float(pure.rdp(eps, 1 + 1e-7))
        assert near_one == pytest.approx(pure.to_zcdp(eps), rel=1e-5)
        assert pure.to_zcdp(eps) <= eps**2 / 2


def test_zcdp_table_of_the_dossier():
    for eps, rho in ((0.1, 3.2e-4), (0.5, 6.64e-3), (1, 0.02436), (4, 0.31106)):
        assert zcdp.rho_for(eps, 1e-6) == pytest.approx(rho, rel=5e-3)
        assert zcdp.epsilon(zcdp.rho_for(eps, 1e-6), 1e-6) <= eps


@given(st.floats(-5, 1), st.sampled_from(DELTAS))
def test_zcdp_conversion_covers_the_gaussian_and_beats_the_usual_one(log_rho, delta):
    rho = 10**log_rho
    eps = zcdp.epsilon(rho, delta)
    assert gdp.epsilon(math.sqrt(2 * rho), delta) <= eps <= rho + 2 * math.sqrt(rho * -math.log(delta))
    if eps > 0:
        assert zcdp.delta(rho, eps) <= delta * (1 + 1e-5)
        assert gdp.delta(math.sqrt(2 * rho), eps) <= zcdp.delta(rho, eps)


def test_zcdp_edges():
    assert zcdp.epsilon(0.0, 1e-6) == 0 == zcdp.delta(0.0, 1.0) == zcdp.epsilon(0.3, 1.0)
    assert zcdp.epsilon(0.1, 0.0) == math.inf == zcdp.epsilon(math.inf, 0.1)
    assert zcdp.delta(math.inf, 1.0) == 1
    with pytest.raises(ValueError, match="rho"):
        zcdp.epsilon(-1.0, 0.1)


@given(st.floats(0.05, 20.0), st.integers(1, 500), st.sampled_from(DELTAS))
def test_renyi_conversion_covers_the_gaussian_and_its_inverse(z, count, delta):
    event = repeat(dp_event.GaussianDpEvent(z), count)
    exact = gdp.epsilon(math.sqrt(count) / z, delta)
    eps = rdp.epsilon(event, delta)
    assert exact <= eps <= 1.5 * exact + 0.05 * math.sqrt(count) / z
    if 0 < eps < 500:
        assert rdp.delta(event, eps) <= delta * (1 + 1e-6)
        assert gdp.delta(math.sqrt(count) / z, eps) <= rdp.delta(event, eps)


def test_laplace_curve_is_the_integral():
    eps = 0.8
    x = np.linspace(-60, 60, 1_200_001)
    p, q = 0.5 * eps * np.exp(-eps * abs(x)), 0.5 * eps * np.exp(-eps * abs(x - 1))
    for order in (1.5, 2.0, 9.0):
        exact = math.log(np.trapezoid((p / q) ** order * q, x)) / (order - 1)
        assert float(rdp.curve(dp_event.LaplaceDpEvent(1 / eps), [order])[0]) == pytest.approx(exact, rel=1e-5)


def test_discrete_laplace_curve_is_the_sum():
    a, s = 0.4, 3
    k = np.arange(-200, 201)
    p, q = math.tanh(a / 2) * np.exp(-a * abs(k)), math.tanh(a / 2) * np.exp(-a * abs(k - s))
    for order in (1.5, 2.0, 9.0):
        exact = math.log(((p / q) ** order * q).sum()) / (order - 1)
        value = float(rdp.curve(dp_event.DiscreteLaplaceDpEvent(a, s), [order])[0])
        assert exact * (1 - 1e-9) <= value <= exact * 1.001


def test_curves_that_are_not_numbers_never_turn_into_nothing():
    for bad in (math.inf, math.nan):
        assert rdp.to_epsilon([2.0, 3.0], [bad, bad], 1e-6) == math.inf
        assert rdp.to_delta([2.0, 3.0], [bad, bad], 1.0) == 1
    assert rdp.to_epsilon([2.0], [0.0], 1e-6) == 0 == rdp.to_epsilon([2.0], [0.5], 1.0)
    assert rdp.to_epsilon([2.0], [0.5], 0.0) == math.inf
    assert rdp.epsilon(dp_event.ZCDpEvent(0.01, 0.1), 1e-6) < math.inf
    with pytest.raises(ValueError, match="negative parameter"):
        rdp.curve(dp_event.ZCDpEvent(-0.01))
    with pytest.raises(ValueError, match="not an event"):
        rdp.curve(dp_event.UnsupportedDpEvent())


def test_repeat_and_select_costs_more_than_its_base():
    base = dp_event.GaussianDpEvent(10.0)
    assert rdp.epsilon(base, 1e-6) < rdp.epsilon(dp_event.RepeatAndSelectDpEvent(base, 3.0, 1.0), 1e-6) < math.inf
    own = dp_event.RepeatAndSelectDpEvent(PureDpEvent(0.1), 3.0, 1.0)
    assert 0.1 < rdp.epsilon(own, 1e-6) < math.inf


def test_the_library_is_checked_against_numbers_worked_out_by_hand(monkeypatch):
    """A library that prices twice as little is refused, whatever it calls its version."""

    class Cheap(rdp.RdpAccountant):
        @property
        def rdp(self):
            return super().rdp / 2

    rdp._check_library.cache_clear()
    monkeypatch.setattr(rdp, "RdpAccountant", Cheap)
    try:
        with pytest.raises(Exception, match="install the version that discreet pins"):
            rdp.curve(dp_event.RepeatAndSelectDpEvent(dp_event.GaussianDpEvent(1.0), 3.0, 1.0))
    finally:
        rdp._check_library.cache_clear()


@given(st.floats(0.001, 2.0), st.integers(1, 400), st.sampled_from([1e-3, 1e-6]))
def test_basic_and_advanced_composition(eps, count, delta):
    event = repeat(PureDpEvent(eps), count)
    assert composition.basic(event) == pytest.approx(count * eps)
    advanced = composition.advanced(event, delta)
    printed = math.sqrt(2 * count * -math.log(delta)) * eps + count * eps * math.expm1(eps)
    assert rdp.epsilon(event, delta) <= advanced * (1 + 1e-2) or advanced == composition.basic(event)
    assert advanced <= min(printed, count * eps * (1 + 1e-12))


def test_advanced_composition_edges():
    assert composition.advanced(PureDpEvent(1.0), 0.0) == 1
    assert composition.advanced(dp_event.GaussianDpEvent(1.0), 1e-6) == math.inf
    with pytest.raises(ValueError, match="steps"):
        composition.share_for_advanced(1.0, 1e-6, 0)


def test_an_epsilon_delta_step_composes():
    one = ApproximateDpEvent(0.1, 1e-8)
    from discreet import accounting

    assert accounting.epsilon(one, 1e-8) == pytest.approx(0.1)
    many = accounting.epsilon(repeat(one, 50), 1e-6)
    assert accounting.epsilon(repeat(PureDpEvent(0.1), 50), 1e-6) < many < 5.0
    assert accounting.epsilon(repeat(one, 50), 1e-7) == math.inf  # fifty deltas do not fit
    assert accounting.delta(compose(one, one), 1000.0) >= 1.99e-8
