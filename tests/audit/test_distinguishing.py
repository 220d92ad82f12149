"""The attack itself: its limits are exact, it stays silent on what keeps its promise, and it rings on what doesn't."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.audit.distinguishing import AuditResult, distinguish, epsilon_lower
from discreet.audit.neighbours import worst_pairs


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (3, 10), (10, 10), (500, 1000)])
def test_limits_are_those_of_the_binomial_test(hits, n):
    both = stats.binomtest(hits, n).proportion_ci(confidence_level=0.95, method="exact")
    high_of_none = stats.binomtest(0, 1000).proportion_ci(confidence_level=0.95, method="exact").high
    bound = epsilon_lower(hits, n, 0, 1000, 0.0, 0.95)
    expected = max(math.log(both.low / high_of_none), 0.0) if both.low > 0 else 0.0
    assert bound == pytest.approx(expected, abs=1e-9)


def test_delta_is_subtracted():
    assert epsilon_lower(100, 1000, 0, 1000, 0.5, 0.95) == 0.0
    assert epsilon_lower(900, 1000, 0, 1000, 0.1, 0.95) < epsilon_lower(900, 1000, 0, 1000, 0.0, 0.95)


def test_coverage_of_the_bound():
    """Randomised response at epsilon 1: the bound exceeds 1 in at most 5 % of audits (400 audits, false alarm 1e-4)."""
    rng = np.random.default_rng(0)
    p = math.e / (1 + math.e)
    above = 0
    for _ in range(400):
        a = (rng.random((400, 1)) < p).astype(float)
        b = (rng.random((400, 1)) > p).astype(float)
        above += distinguish(a, b, 1.0, 0.0).caught
    assert above <= stats.binom.ppf(1 - 1e-4, 400, 0.05)


def gaussian(mu):
    rng = np.random.default_rng(1)
    return rng.normal(0, 1, (2000, 3)), rng.normal([0, mu, 0], 1, (2000, 3))


def test_it_finds_most_of_a_gaussian_and_never_more():
    from discreet.accounting import gdp

    a, b = gaussian(2.0)
    result = distinguish(a, b, gdp.epsilon(2.0, 1e-5), 1e-5)
    assert not result.caught
    assert result.epsilon_lower > 2.0


def test_it_finds_a_difference_in_spread_alone():
    rng = np.random.default_rng(2)
    assert distinguish(rng.normal(0, 1, (2000, 2)), rng.normal(0, 9, (2000, 2)), 0.5, 1e-6).caught


def test_it_finds_a_lattice():
    """PITFALLS 8: sums of floats on a lattice of 2**-53 that the other data set's sums are not on."""
    rng = np.random.default_rng(3)
    fine = rng.normal(size=(500, 1)) * 2.0**-30
    on_lattice = np.round(fine * 2.0**53) / 2.0**53
    off_lattice = on_lattice + 2.0**-55
    assert distinguish(on_lattice, off_lattice, 1.0, 1e-6).caught


def test_equal_algorithms_are_not_told_apart():
    a, b = gaussian(0.0)
    assert distinguish(a, b, 0.1, 1e-6).epsilon_lower < 0.2


def test_outputs_that_are_not_numbers_are_refused():
    with pytest.raises(ValueError, match="finite"):
        distinguish(np.full((10, 1), np.nan), np.zeros((10, 1)), 1.0, 0.0)


def test_the_package_is_a_function():
    rng = np.random.default_rng(4)

    def honest(X, y):
        return np.round((X.sum() + rng.laplace(loc=0.0, scale=1.0)) * 1024) / 1024

    def leaky(X, y):
        return np.round((X.sum() + rng.laplace(loc=0.0, scale=0.2)) * 1024) / 1024

    def in_floats(X, y):  # the right scale, but 0 + noise and 1 + noise reach different floats (PITFALLS 8)
        return X.sum() + rng.laplace(loc=0.0, scale=1.0)

    pair = ((np.ones((1, 1)), None), (np.zeros((1, 1)), None))
    assert not discreet.audit(honest, pair, epsilon=1.0, delta=0.0, runs=2000, n_jobs=1).caught
    found = discreet.audit(leaky, pair, epsilon=1.0, delta=0.0, runs=2000, n_jobs=1)
    assert found.caught
    assert 1.0 < found.epsilon_lower < 5.0
    assert discreet.audit(in_floats, pair, epsilon=1.0, delta=0.0, runs=2000, n_jobs=1).statistic.startswith("on the")


def test_a_function_needs_a_promise():
    with pytest.raises(ValueError, match="needs neighbors"):
        discreet.audit(lambda X, y: 0.0)


@pytest.mark.parametrize("relation", ["zero_out", "replace_one", "add_remove"])
def test_worst_pairs_are_neighbours(relation):
    for pair in worst_pairs(relation, 2, -np.ones(2), np.ones(2), (-1.0, 1.0)):
        (X0, y0, w0), (X1, y1, w1) = pair.first, pair.second
        if relation == "add_remove":
            assert np.array_equal(X0[1:], X1) and np.array_equal(y0[1:], y1) and np.array_equal(w0[1:], w1)
        else:
            differ = np.any(X0 != X1, axis=1) | (y0 != y1) | (w0 != w1)
            assert differ.sum() == 1


def test_a_plot_is_drawn():
    plt = pytest.importorskip("matplotlib.pyplot")
    ax = AuditResult(0.5, 0.95, 1.0, 0.0, 10, "norm", (np.arange(5.0), np.arange(5.0))).plot()
    assert "0.50" in ax.get_title()
    plt.close("all")
