"""The value function: against its table, brute force, what two candidates realise, and refinement."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from dp_accounting import dp_event
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from discreet import accounting
from discreet.accounting import bounded_range, gdp, pld, zcdp
from discreet.accounting.events import BoundedRangeDpEvent, PureDpEvent, compose, repeat
from discreet.privacy import Budget


def share(eta: float, t: float) -> float:
    return -math.expm1(t - eta) / -math.expm1(-eta)


def brute(eta: float, count: int, eps: float) -> float:
    """The recursion itself, each supremum by scanning and then a bounded search; no grid in epsilon."""
    if count == 0:
        return max(0.0, -math.expm1(eps))
    if count == 1:
        return float(bounded_range.profile(eta, eps))

    def value(t: float) -> float:
        a = share(eta, t)
        return a * brute(eta, count - 1, eps - t) + (1 - a) * brute(eta, count - 1, eps - t + eta)

    ts = np.linspace(0, eta, 15)
    best = int(np.argmax([value(t) for t in ts]))
    low, high = ts[max(best - 1, 0)], ts[min(best + 1, 14)]
    found = minimize_scalar(lambda t: -value(t), bounds=(low, high), method="bounded", options={"xatol": 1e-7})
    return max(value(ts[best]), -float(found.fun))


@pytest.mark.parametrize(
    ("target", "count", "expected"), [(1, 10, 0.905), (1, 100, 0.927), (1, 1000, 0.9285), (4, 100, 3.729)]
)
def test_table_of_the_dossier(target, count, expected):
    eta = math.sqrt(8 * zcdp.rho_for(target, 1e-6) / count)
    price = accounting.epsilon(repeat(BoundedRangeDpEvent(eta), count), 1e-6)
    assert price == pytest.approx(expected, rel=1.2e-3)


@pytest.mark.parametrize("eta", [0.05, 0.7, 3.0])
@pytest.mark.parametrize("eps", [0.0, 0.3, 0.9])
def test_one_selection_has_its_closed_form(eta, eps):
    scan = max(brute_one(eta, t, eps * eta) for t in np.linspace(0, eta, 4001))
    exact = float(bounded_range.profile(eta, eps * eta))
    assert scan <= exact * (1 + 1e-12)
    assert scan == pytest.approx(exact, rel=1e-5)


def brute_one(eta: float, t: float, eps: float) -> float:
    a = share(eta, t)
    return a * max(0.0, -math.expm1(eps - t)) + (1 - a) * max(0.0, -math.expm1(eps - t + eta))


@pytest.mark.parametrize(("eta", "count"), [(0.5, 2), (2.0, 2), (0.5, 3)])
def test_brute_force_is_below_and_close(eta, count):
    table = bounded_range.value_function(((eta, count),), eta * count, 128)
    for eps in np.array([0.0, 0.3, 0.6]) * eta * count:
        exact = brute(eta, count, float(eps))
        assert exact * (1 - 1e-7) <= table(float(eps)) <= exact * 1.002 + 1e-6


def test_refinement_only_lowers_it():
    """Each grid is nested in the next, and none is cut off."""
    for eta, count in ((0.1, 20), (0.4, 6)):
        tables = [bounded_range.value_function(((eta, count),), eta * count, cells) for cells in (8, 16, 32, 64)]
        for eps in np.linspace(0, 1.4, 57):
            values = [t(float(eps)) for t in tables]
            assert all(a >= b * (1 - 1e-12) for a, b in pairwise(values))


@settings(max_examples=40)
@given(st.floats(0.02, 1.0), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_no_adversary_of_two_candidates_beats_it(eta, count, seed):
    """A random strategy (an offset for each state of the loss so far), priced exactly."""
    rng = np.random.default_rng(seed)
    losses = {0.0: 1.0}
    for _ in range(count):
        after: dict[float, float] = {}
        for loss, p in losses.items():
            t = float(rng.choice([0.25, 0.5, 0.75])) * eta
            a = share(eta, t)
            for new, mass in ((loss + t, a * p), (loss + t - eta, (1 - a) * p)):
                key = round(new / (eta / 4)) * (eta / 4)
                after[key] = after.get(key, 0.0) + mass
        losses = after
    event = repeat(BoundedRangeDpEvent(eta), count)
    for eps in (0.1 * eta * math.sqrt(count), 0.7 * eta * math.sqrt(count)):
        attained = sum(p * max(0.0, -math.expm1(eps - loss)) for loss, p in losses.items())
        assert attained <= accounting.delta(event, eps, accountant="value_function") + 1e-12


def test_half_root_t_gaussian_is_the_asymptote_but_no_bound():
    """The dossier's warning: eta sqrt(T) / 2 as a mu is passed at T = 1, by half."""
    eta = 0.4
    ratio = max(bounded_range.profile(eta, e) / gdp.delta(eta / 2, e) for e in np.linspace(0, 0.3, 50))
    assert 1.3 < ratio < 1.6
    exact = gdp.epsilon(0.1 * math.sqrt(100) / 2, 1e-6)
    assert accounting.epsilon(repeat(BoundedRangeDpEvent(0.1), 100), 1e-6) == pytest.approx(exact, rel=2e-3)


@pytest.mark.parametrize("eta", [0.01, 0.3, 2.0, 8.0])
def test_gaussian_that_dominates_one_selection(eta):
    mu = bounded_range.gaussian_mu(eta)
    for eps in np.linspace(0, eta, 101):
        assert bounded_range.profile(eta, eps) <= gdp.delta(mu, float(eps)) * (1 + 1e-9)
    assert bounded_range.profile(eta, 0.0) == pytest.approx(gdp.delta(mu, 0.0), rel=1e-9)  # touches at 0


@given(st.floats(1e-3, 5.0), st.floats(1.001, 50.0))
def test_renyi_curve_is_the_supremum_over_offsets(eta, order):
    scan = 0.0
    for t in np.linspace(0, eta, 201)[1:-1]:
        a = share(eta, t)
        moment = a * math.exp((order - 1) * t) + (1 - a) * math.exp((order - 1) * (t - eta))
        scan = max(scan, math.log(moment) / (order - 1))
    value = float(bounded_range.rdp(eta, order))
    assert scan * (1 - 1e-6) - 1e-12 <= value <= order * eta**2 / 8
    assert value <= scan * (1 + 1e-3) + 2e-15 / (order - 1) + 1e-9


def test_fixed_pairs_before_the_selections_cover_those_between():
    """With two selections and one coin between them, priced exactly by hand, the order we assume is the worse one."""
    eta, coin, eps = 0.6, 0.4, 0.5
    p = 1 / (1 + math.exp(-coin))

    def after_coin(e: float) -> float:
        return p * brute(eta, 1, e - coin) + (1 - p) * brute(eta, 1, e + coin)

    between = max(
        share(eta, t) * after_coin(eps - t) + (1 - share(eta, t)) * after_coin(eps - t + eta)
        for t in np.linspace(0, eta, 400)
    )
    before = p * brute(eta, 2, eps - coin) + (1 - p) * brute(eta, 2, eps + coin)
    tree = compose(BoundedRangeDpEvent(eta), PureDpEvent(coin), BoundedRangeDpEvent(eta))
    ours = accounting.delta(tree, eps, accountant="value_function")
    assert between <= before + 1e-12
    assert before * (1 - 1e-7) <= ours <= before * 1.005


def test_selections_with_gaussians_cost_little_more_than_their_asymptote():
    tree = repeat(compose(BoundedRangeDpEvent(0.05), dp_event.GaussianDpEvent(30.0)), 60)
    mu = math.sqrt(60 * (0.025**2 + 1 / 900))
    price = accounting.epsilon(tree, 1e-6)
    assert price == pytest.approx(gdp.epsilon(mu, 1e-6), rel=5e-3)
    assert price < min(accounting.epsilon(tree, 1e-6, accountant=a) for a in ("zcdp", "rdp", "pld"))


def test_different_ranges_in_the_order_of_the_tree():
    a, b = BoundedRangeDpEvent(0.5), BoundedRangeDpEvent(0.8)
    both = accounting.epsilon(compose(a, b), 1e-3)
    assert accounting.epsilon(repeat(a, 2), 1e-3) < both < accounting.epsilon(repeat(b, 2), 1e-3)


def test_very_many_selections_fall_back_on_the_curve():
    event = repeat(BoundedRangeDpEvent(1e-3), 10**6)
    assert bounded_range.epsilon(event, 1e-6) == math.inf
    assert accounting.epsilon(event, 1e-6) <= zcdp.epsilon(1e-6 / 8 * 10**6, 1e-6)


def test_calibration_fits_and_gains():
    budget = Budget(epsilon=1, delta=1e-6)
    eta = accounting.calibrate(
        lambda e: repeat(BoundedRangeDpEvent(e), 100), budget, increasing=True, start=0.1, rtol=1e-4
    )
    assert accounting.epsilon(repeat(BoundedRangeDpEvent(eta), 100), 1e-6) <= 1
    assert eta / (2 * accounting.composition.share_for_advanced(1.0, 1e-6, 100)) > 2.4


def test_needs_a_selection():
    for price in (bounded_range.epsilon, bounded_range.delta):
        with pytest.raises(ValueError, match="BoundedRangeDpEvent"):
            price(dp_event.GaussianDpEvent(1.0), 0.1)


def test_the_profile_composed_as_a_pair_is_valid_but_looser():
    event = repeat(BoundedRangeDpEvent(0.1), 50)
    assert pld.epsilon(event, 1e-6) > accounting.epsilon(event, 1e-6)
