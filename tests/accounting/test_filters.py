"""Filters: exact to the last bit, stop before they exceed, and nothing is charged for a refusal."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting import dp_event
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting import gdp, rdp, zcdp
from discreet.accounting.events import BoundedRangeDpEvent, PureDpEvent, compose, repeat
from discreet.accounting.filters import GaussianFilter, RdpFilter, ZCdpFilter
from discreet.privacy import Budget, PrivacyError
from tests.planted.accounting import FloatFilter

GAUSS = dp_event.GaussianDpEvent


@given(st.integers(1, 200), st.fractions(Fraction(1, 1000), 10))
def test_equal_shares_all_fit_and_not_a_hair_more(count, rho):
    purse = ZCdpFilter(rho)
    for _ in range(count):
        purse.charge(rho / count)
    assert purse.remaining == 0
    assert not purse.fits(Fraction(1, 10**30))
    with pytest.raises(PrivacyError, match="does not fit"):
        purse.charge(Fraction(1, 10**30))
    assert purse.spent == rho


def test_float_sums_refuse_an_equal_share():
    """Planted bug 24: the float twin refuses the last of its shares; ours takes all of them."""
    twin, purse = FloatFilter(1.0), ZCdpFilter(1)
    for _ in range(19):
        twin.charge(1.0 / 20)
        purse.charge(Fraction(1, 20))
    refused = []
    for count in range(2, 50):
        other = FloatFilter(0.1 * count)
        try:
            for _ in range(count):
                other.charge(0.1)
        except PrivacyError:
            refused.append(count)
        ours = ZCdpFilter(Fraction(count, 10))
        for _ in range(count):
            ours.charge(0.1)
        assert ours.remaining == 0
    assert refused, "the twin is not broken any more"


@given(st.lists(st.floats(0.5, 50.0), min_size=1, max_size=30), st.floats(0.01, 3.0))
def test_what_passes_the_filter_is_within_the_budget(multipliers, rho):
    purse, taken = ZCdpFilter(rho), []
    for z in multipliers:
        if purse.fits(GAUSS(z)):
            purse.charge(GAUSS(z))
            taken.append(GAUSS(z))
    assert zcdp.rho_of(compose(*taken)) <= rho * (1 + 1e-14)
    left_out = [z for z in multipliers if GAUSS(z) not in taken]
    assert all(Fraction(1) / (2 * Fraction(z) ** 2) > purse.remaining for z in left_out[-1:])


def test_costs_of_events():
    purse = ZCdpFilter(10)
    assert purse.cost(GAUSS(2.0)) == Fraction(1, 8)
    assert purse.cost(repeat(BoundedRangeDpEvent(0.5), 4)) == Fraction(1, 8)
    assert purse.cost(PureDpEvent(1.0)) >= Fraction(math.tanh(0.5))
    assert purse.cost(PureDpEvent(0.0)) == 0
    for lost in (dp_event.PoissonSampledDpEvent(0.1, GAUSS(1.0)), GAUSS(0.0)):
        with pytest.raises(PrivacyError, match="no finite cost"):
            purse.cost(lost)
    with pytest.raises(ValueError, match="negative"):
        purse.cost(-1)
    with pytest.raises(ValueError, match="negative"):
        ZCdpFilter(-1)


def test_limits_from_budgets():
    assert ZCdpFilter(Budget(rho=0.3)).limit == Fraction(3, 10)
    assert ZCdpFilter(Budget(mu=1)).limit == Fraction(1, 2)
    assert zcdp.epsilon(float(ZCdpFilter(Budget(epsilon=1, delta=1e-6)).limit), 1e-6) <= 1
    assert gdp.epsilon(math.sqrt(GaussianFilter(Budget(epsilon=1, delta=1e-6)).limit), 1e-6) <= 1 + 1e-10
    assert GaussianFilter(Budget(mu=0.1)).limit == Fraction(1, 100)
    with pytest.raises(ValueError, match="ZCdpFilter"):
        GaussianFilter(Budget(rho=1))


def test_gaussian_filter_saves_the_conversion_and_takes_gaussians_only():
    budget = Budget(epsilon=1, delta=1e-6)
    wide, narrow = GaussianFilter(budget), ZCdpFilter(budget)
    assert wide.limit / 2 > narrow.limit * Fraction(107, 100)
    for _ in range(20):
        wide.charge(GAUSS(20.0))
    with pytest.raises(PrivacyError, match="Gaussian steps only"):
        wide.charge(BoundedRangeDpEvent(0.01))
    assert wide.spent == Fraction(20, 400)


def test_renyi_filter_holds_at_every_order():
    orders = [2.0, 8.0, 64.0]
    purse = RdpFilter(orders, [0.1, 0.4, 3.2])
    step = repeat(GAUSS(10.0), 2)
    taken = 0
    while purse.fits(step):
        purse.charge(step)
        taken += 1
    assert taken == 5  # 0.02 a step at order 2
    with pytest.raises(PrivacyError, match="limit at order 2"):
        purse.charge(step)
    assert np.all(rdp.curve(repeat(step, taken), orders) <= [0.1 * (1 + 1e-12), 0.4 * (1 + 1e-12), 3.2])


def test_renyi_filter_for_a_budget_keeps_it():
    budget = Budget(epsilon=1, delta=1e-6)
    purse = RdpFilter.for_budget(budget)
    taken = []
    for z in (30.0, 20.0, 15.0, 12.0, 10.0, 9.0, 8.0, 7.0, 30.0, 40.0):
        step = compose(GAUSS(z), BoundedRangeDpEvent(0.01))
        if purse.fits(step):
            purse.charge(step)
            taken.append(step)
    assert taken and rdp.to_epsilon(purse.orders, rdp.curve(compose(*taken), purse.orders), 1e-6) <= 1
    assert RdpFilter.for_budget(budget, order=30.0).orders.tolist() == [30.0]
    with pytest.raises(ValueError, match="leaves nothing"):
        RdpFilter.for_budget(budget, order=2.0)
    with pytest.raises(ValueError, match="no delta"):
        RdpFilter.for_budget(Budget(rho=1))
    with pytest.raises(ValueError, match="orders above 1"):
        RdpFilter([1.0], [1])
