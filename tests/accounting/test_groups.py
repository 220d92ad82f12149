"""From one row to k rows: the lemma against exact curves, rounding, and how little it costs a Gaussian."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from dp_accounting import dp_event
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting import gdp
from discreet.accounting.groups import each_of, group_epsilon, growth
from discreet.audit.distinguishing import distinguish
from discreet.mechanisms import DiscreteLaplace, Gaussian
from discreet.privacy import Bounded, Budget, Contribution, Neighbours
from discreet.randomness import SeededSource


@given(st.floats(0.01, 20), st.floats(1e-12, 0.1), st.integers(1, 200))
def test_k_rows_keep_the_budget(epsilon, delta, k):
    """In exact arithmetic: k times the epsilon, and the sum of exponentials times the delta, are at most the whole."""
    whole = Budget(epsilon, delta)
    one = each_of(whole, k)
    assert k * one._first <= whole._first
    with mpmath.workdps(60):
        e, d = (mpmath.mpf(v.numerator) / v.denominator for v in (one._first, one._delta))
        limit = mpmath.mpf(whole._delta.numerator) / whole._delta.denominator
        assert mpmath.fsum(mpmath.exp(i * e) for i in range(k)) * d <= limit
        assert float(d) >= 0.999999 * float(limit / mpmath.fsum(mpmath.exp(i * e) for i in range(k)))


@pytest.mark.parametrize("k", [1, 2, 5, 20])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_lemma_holds_for_gaussians_exactly(epsilon, k):
    """A person of k rows moves a sum by k; the exact curve at k times the move is within the lemma's."""
    one = each_of(Budget(epsilon, 1e-6), k)
    mu = gdp.mu_for(one.epsilon, one.delta)
    assert gdp.delta(k * mu, epsilon) <= 1e-6


@pytest.mark.parametrize(("epsilon", "k", "loss"), [(0.1, 50, 1.0001), (1.0, 10, 1.0025), (4.0, 10, 1.0265)])
def test_for_a_gaussian_it_costs_next_to_nothing(epsilon, k, loss):
    """The noise against what scaling the sensitivity by k would take: the figures of proofs/people.md."""
    one = each_of(Budget(epsilon, 1e-6), k)
    extra = gdp.mu_for(epsilon, 1e-6) / k / gdp.mu_for(one.epsilon, one.delta)
    assert 1 <= extra < loss


def test_the_price_of_a_group_comes_back():
    whole = Budget(2, 1e-5)
    one = each_of(whole, 7)
    event = dp_event.GaussianDpEvent(1 / gdp.mu_for(one.epsilon, one.delta))
    assert group_epsilon(event, whole, 7) == pytest.approx(2, rel=1e-6)
    assert group_epsilon(event, whole, 1) < 0.4


def test_one_row_is_the_budget_itself_and_pure_stays_pure():
    whole = Budget(Fraction(1, 3), 1e-7, neighbors="replace_one")
    assert each_of(whole, 1) is whole
    assert each_of(Budget(1, neighbors="add_remove"), 4) == Budget(0.25, neighbors="add_remove")
    assert growth(1.0, 2) >= 1 + math.e


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_groups_of_no_size_are_refused(k):
    with pytest.raises(ValueError, match="whole number"):
        each_of(Budget(1), k)


@pytest.mark.parametrize("k", [5, 20])
@pytest.mark.parametrize("kind", ["pure", "gaussian"])
def test_an_attack_measures_less_than_promised_and_a_twin_more(k, kind):
    """Counts in which a person has k rows, 40,000 releases: the lemma's noise, and noise that forgets the k.

    Fixed seeds; a sound twin is caught with probability at most 5 %.
    """
    whole = Budget(1.0, 0 if kind == "pure" else 1e-5)

    def attacked(one):
        source = SeededSource(k)
        mechanism = (
            DiscreteLaplace(one.epsilon, source=source)
            if kind == "pure"
            else Gaussian(1 / gdp.mu_for(one.epsilon, one.delta), source=source)
        )
        count = Contribution(l1=1, l2=1, linf=1, monotone=True)  # one release each: 20,000 of them, side by side
        sides = [
            mechanism.release(Bounded(np.full(20_000, rows), count, Fraction(1), Neighbours.ZERO_OUT))
            for rows in (k, 0)
        ]
        return distinguish(sides[0][:, None], sides[1][:, None], 1.0, whole.delta)

    sound = attacked(each_of(whole, k))
    assert 0.2 < sound.epsilon_lower <= 1.0
    assert attacked(whole).caught
