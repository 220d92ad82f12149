"""The front door: which accountant, calibration to the private side, standard events."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import accounting
from discreet.accounting import gdp, zcdp
from discreet.accounting.events import BoundedRangeDpEvent, PureDpEvent, ReplaceOneSampledDpEvent, compose, repeat
from discreet.privacy import Budget, Neighbours, PrivacyError
from tests.planted import accounting as planted

GAUSS = dp_event.GaussianDpEvent
BUDGETS = [Budget(epsilon=0.1, delta=1e-6), Budget(epsilon=1, delta=1e-6), Budget(epsilon=10, delta=1e-9)]


def keeps(budget: Budget, event: dp_event.DpEvent) -> bool:
    """The alarm: does the event cost no more than was promised?"""
    return accounting.epsilon(event, budget.delta) <= budget.epsilon


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("steps", [1, 100])
def test_gaussian_calibration_is_exact_and_keeps_its_budget(budget, steps):
    sigma = accounting.calibrate(lambda z: repeat(GAUSS(z), steps), budget)
    exact = math.sqrt(steps) / gdp.mu_for(budget.epsilon, budget.delta)
    assert keeps(budget, repeat(GAUSS(sigma), steps))
    assert exact * (1 - 1e-12) <= sigma <= exact * (1 + 2e-6)


@settings(max_examples=12)
@given(
    st.floats(0.05, 8.0),
    st.sampled_from([1e-3, 1e-6, 1e-12]),
    st.sampled_from(["sampled", "laplace", "mixed", "select"]),
)
def test_round_trips_never_exceed_the_budget_and_waste_little(epsilon, delta, kind):
    makers = {
        "sampled": lambda z: repeat(dp_event.PoissonSampledDpEvent(0.05, GAUSS(z)), 20),
        "laplace": lambda z: repeat(dp_event.LaplaceDpEvent(z), 5),
        "mixed": lambda z: compose(GAUSS(2 * z), dp_event.LaplaceDpEvent(3 * z)),
        "select": lambda z: repeat(BoundedRangeDpEvent(1 / z), 8),
    }
    budget = Budget(epsilon=epsilon, delta=delta)
    noise = accounting.calibrate(makers[kind], budget, rtol=1e-4)
    assert keeps(budget, makers[kind](noise))
    assert not keeps(budget, makers[kind](noise * 0.999))


def test_other_budgets():

    def run(z: float) -> dp_event.DpEvent:
        return repeat(GAUSS(z), 8)

    assert zcdp.rho_of(run(accounting.calibrate(run, Budget(rho=1)))) <= 1
    assert accounting.calibrate(run, Budget(rho=1)) == pytest.approx(2, rel=1e-5)
    assert accounting.calibrate(run, Budget(mu=1)) == pytest.approx(math.sqrt(8), rel=1e-5)
    assert accounting.calibrate(dp_event.LaplaceDpEvent, Budget(epsilon=0.5)) == pytest.approx(2, rel=1e-5)
    eta = accounting.calibrate(lambda e: repeat(BoundedRangeDpEvent(e), 10), Budget(epsilon=1), increasing=True)
    assert eta == pytest.approx(0.1, rel=1e-5) and eta <= 0.1
    selections = accounting.calibrate(lambda e: repeat(BoundedRangeDpEvent(e), 4), Budget(mu=1), increasing=True)
    assert gdp.compose(*[accounting.bounded_range.gaussian_mu(selections)] * 4) <= 1 + 1e-9


def test_calibration_refuses_what_no_noise_can_do():
    with pytest.raises(PrivacyError, match="no number"):
        accounting.calibrate(GAUSS, Budget(epsilon=1))  # Gaussian noise is never purely private
    with pytest.raises(PrivacyError, match="no number"):
        accounting.calibrate(lambda z: PureDpEvent(0.1), Budget(epsilon=1, delta=1e-6))
    with pytest.raises(ValueError, match="start"):
        accounting.calibrate(GAUSS, Budget(epsilon=1, delta=1e-6), start=0.0)


def test_steps():
    budget = Budget(epsilon=1, delta=1e-6)
    most = accounting.steps_for(lambda n: repeat(GAUSS(50.0), n), budget)
    assert keeps(budget, repeat(GAUSS(50.0), most)) and not keeps(budget, repeat(GAUSS(50.0), most + 1))
    assert most == math.floor((50 * gdp.mu_for(1, 1e-6)) ** 2)
    assert accounting.steps_for(lambda n: repeat(GAUSS(0.5), n), budget) == 0
    with pytest.raises(PrivacyError, match="cost nothing"):
        accounting.steps_for(lambda n: dp_event.NoOpDpEvent(), budget)


def test_the_accountants_are_ordered_as_they_should_be():
    event = repeat(BoundedRangeDpEvent(0.05), 100)
    price = {name: accounting.epsilon(event, 1e-6, accountant=name) for name in accounting.ACCOUNTANTS if name != "gdp"}
    assert price["value_function"] < price["rdp"] == price["moments"] < price["zcdp"] < price["advanced"]
    assert accounting.epsilon(event, 1e-6) == price["value_function"]
    assert accounting.delta(event, price["advanced"], accountant="advanced") == pytest.approx(1e-6, rel=1e-5)
    with pytest.raises(ValueError, match="can't read"):
        accounting.epsilon(event, 1e-6, accountant="gdp")
    with pytest.raises(ValueError, match="not one of"):
        accounting.epsilon(event, 1e-6, accountant="magic")


def test_nothing_is_promised_without_noise():
    lost = [
        dp_event.NonPrivateDpEvent(),
        GAUSS(0.0),
        dp_event.LaplaceDpEvent(0.0),
        dp_event.PoissonSampledDpEvent(0.1, GAUSS(0.0)),
        compose(GAUSS(1.0), dp_event.NonPrivateDpEvent()),
    ]
    for event in lost:
        assert accounting.epsilon(event, 1e-6) == math.inf
        assert accounting.delta(event, 10.0) == 1
        assert accounting.epsilon(event, 0) == math.inf
    assert accounting.epsilon(dp_event.PoissonSampledDpEvent(0.0, GAUSS(0.0)), 1e-6) == 0
    assert accounting.epsilon(dp_event.NoOpDpEvent(), 1e-6) == 0 == accounting.delta(dp_event.NoOpDpEvent(), 0.0)
    for bad in (-1e-9, 1.1, math.nan):
        with pytest.raises(ValueError, match="delta"):
            accounting.epsilon(GAUSS(1.0), bad)
    with pytest.raises(ValueError, match="epsilon"):
        accounting.delta(GAUSS(1.0), -1.0)


def test_spent_is_a_budget():
    price = accounting.spent(GAUSS(4.0), 1e-6, neighbors="replace_one")
    assert price.neighbors is Neighbours.REPLACE_ONE and price.delta == 1e-6
    assert price.epsilon == accounting.epsilon(GAUSS(4.0), 1e-6)


TREE = compose(
    repeat(compose(BoundedRangeDpEvent(0.1), GAUSS(20.0)), 5),
    PureDpEvent(0.05),
    dp_event.RandomizedResponseDpEvent(0.95, 2),
    dp_event.PoissonSampledDpEvent(0.1, repeat(GAUSS(4.0), 2)),
    dp_event.SingleEpochTreeAggregationDpEvent(30.0, 7),
)


@pytest.mark.parametrize(("kind", "reader"), [("pld", PLDAccountant), ("rdp", RdpAccountant)])
def test_standard_events_are_read_by_the_library_and_cost_no_less(kind, reader):
    standard = accounting.to_standard(TREE, kind)
    theirs = reader().compose(standard).get_epsilon(1e-6)
    ours = accounting.epsilon(TREE, 1e-6)
    assert ours <= theirs * (1 + 1e-9) < 3 * ours


@pytest.mark.parametrize("event", [PureDpEvent(0.7), BoundedRangeDpEvent(0.7)], ids=["pure", "bounded-range"])
@pytest.mark.parametrize("kind", ["pld", "rdp"])
def test_each_standard_event_dominates_at_every_epsilon(event, kind):
    standard = event.standard(kind)
    for eps in np.linspace(0.0, 0.65, 14):
        assert event.delta(float(eps)) <= accounting.delta(standard, float(eps)) * (1 + 1e-9)


def test_standard_edges():
    assert isinstance(accounting.to_standard(dp_event.NoOpDpEvent(), "pld"), dp_event.NoOpDpEvent)
    assert isinstance(PureDpEvent(0.0).standard("pld"), dp_event.NoOpDpEvent)
    assert isinstance(BoundedRangeDpEvent(0.0).standard("rdp"), dp_event.NoOpDpEvent)
    for event, kind in ((dp_event.ZCDpEvent(0.1), "pld"), (ReplaceOneSampledDpEvent(0.1, GAUSS(1.0)), "rdp")):
        with pytest.raises(ValueError, match=r"accountant|curve"):
            accounting.to_standard(event, kind)
    with pytest.raises(ValueError, match="kind"):
        accounting.to_standard(GAUSS(1.0), "other")


# ---- planted bugs: the alarm `keeps` must ring ----


@pytest.mark.parametrize("steps", [1, 25])
def test_planted_mu_as_multiplier_is_caught(steps):
    """2: the real epsilon is beyond a hundred at a promised 1; with the root of the steps over mu it is 1."""
    budget = Budget(epsilon=1, delta=1e-6)
    assert accounting.epsilon(planted.mu_as_multiplier(budget, steps), 1e-6) > 25
    small, large = (planted.mu_as_multiplier(Budget(epsilon=e, delta=1e-6), 1).event.noise_multiplier for e in (1, 4))
    assert small < large  # noise that grows with the budget: the smell of this bug
    right = repeat(GAUSS(math.sqrt(steps) / gdp.mu_for(1, 1e-6)), steps)
    assert accounting.epsilon(right, 1e-6) == pytest.approx(1, rel=1e-9)


def test_planted_theorems_outside_their_range_are_caught():
    """19: the classical scale holds at epsilon 1 and fails at 10; the printed constant for batches at small q T."""
    assert keeps(Budget(epsilon=1, delta=1e-6), planted.classical_gaussian(Budget(epsilon=1, delta=1e-6)))
    ten = planted.classical_gaussian(Budget(epsilon=10, delta=1e-6))
    assert accounting.epsilon(ten, 1e-6) == pytest.approx(10.25, abs=0.01)
    batches = planted.published_sgd(Budget(epsilon=1, delta=1e-6), 0.01, 100)
    assert accounting.epsilon(batches, 1e-6) > 15


def test_planted_single_price_is_caught():
    """20: a hundred randomised responses at the price of one."""
    event = repeat(dp_event.RandomizedResponseDpEvent(0.9, 2), 100)
    assert planted.priced_once(event, 1e-6) < 0.25 < 3 < accounting.epsilon(event, 1e-6)


def test_planted_double_spending_is_caught():
    """21: selection on one half and estimation on the whole; the whole in every phase."""
    budget = Budget(epsilon=1, delta=1e-6)
    assert not keeps(budget, planted.half_then_full(budget))
    assert accounting.epsilon(planted.full_in_each_phase(budget, 1000), 1e-6) > 3
