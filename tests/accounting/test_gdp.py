"""Closed forms against 60 digits, far into the tails, and always on the private side of them."""

from __future__ import annotations

import math

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting import clip_shares, gdp


def exact_delta(mu: float, eps: float) -> mp.mpf:
    with mp.workdps(80):
        m, e = mp.mpf(mu), mp.mpf(eps)
        return mp.ncdf(-e / m + m / 2) - mp.exp(e) * mp.ncdf(-e / m - m / 2)


@pytest.mark.parametrize("mu", [1e-9, 1e-5, 9.9e-3, 1.01e-2, 0.3, 1.0, 8.0, 40.0])
@pytest.mark.parametrize("eps", [0.0, 1e-8, 1e-3, 0.5, 3.0, 50.0, 1000.0])
def test_delta_is_above_the_exact_one_by_a_hair(mu, eps):
    exact = exact_delta(mu, eps)
    if exact == 0 or mp.log(exact) < -3000:
        return
    excess = float(mp.mpf(gdp.log_delta(mu, eps)) - mp.log(exact))
    assert (0 <= excess <= 3e-11) if exact < 1 - 1e-11 else gdp.delta(mu, eps) == 1


@given(st.floats(-6, 2.5), st.floats(-300, -0.7))
def test_mu_and_epsilon_are_inverse_and_never_too_generous(log_eps, log_delta):
    eps, delta = 10**log_eps, 10**log_delta
    mu = gdp.mu_for(eps, delta)
    assert exact_delta(mu, eps) <= delta
    assert exact_delta(mu * (1 + 1e-8), eps) > delta
    back = gdp.epsilon(mu, delta)
    assert exact_delta(mu, back) <= delta
    assert back <= eps * (1 + 1e-6)


def test_negative_epsilon_by_duality():
    for mu, eps in ((0.1, -0.3), (1.0, -2.0), (3.0, -0.01)):
        assert gdp.delta(mu, eps) == pytest.approx(float(exact_delta(mu, eps)), rel=1e-10)


def test_the_table_of_the_dossier():
    for eps, mu in ((0.1, 0.02754), (0.5, 0.12411), (1, 0.23670), (4, 0.83786)):
        assert gdp.mu_for(eps, 1e-6) == pytest.approx(mu, abs=6e-6)


def test_edges():
    assert gdp.delta(0.0, 1.0) == 0
    assert gdp.delta(0.0, -1.0) == pytest.approx(1 - math.exp(-1))
    assert gdp.epsilon(0.0, 1e-9) == 0 == gdp.epsilon(2.0, 1.0) == gdp.epsilon(1e-9, 1e-3)
    assert gdp.epsilon(1.0, 0.0) == math.inf
    for bad in (0.0, 1.0, -1e-9):
        with pytest.raises(ValueError, match="delta"):
            gdp.mu_for(1.0, bad)
    with pytest.raises(ValueError, match="mu"):
        gdp.delta(math.nan, 1.0)


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=6), st.data())
def test_shares_cost_exactly_one_release(bounds, data):
    curvature = data.draw(st.lists(st.floats(1e-3, 1e3), min_size=len(bounds), max_size=len(bounds)))
    shares = clip_shares(bounds, curvature)
    assert sum((b / s) ** 2 for b, s in zip(bounds, shares, strict=True)) == pytest.approx(1, rel=1e-12)
    # the allocation minimises sum sigma^2 / M: moving along the constraint never helps
    value = sum(s * s / m for s, m in zip(shares, curvature, strict=True))
    for j in range(len(bounds)):
        other = [s * (1.01 if i == j else 1.0) for i, s in enumerate(shares)]
        scale = math.sqrt(sum((b / s) ** 2 for b, s in zip(bounds, other, strict=True)))
        assert sum((s * scale) ** 2 / m for s, m in zip(other, curvature, strict=True)) >= value * (1 - 1e-12)
