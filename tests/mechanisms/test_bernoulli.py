"""Exact coins: bounds of exp, and decisions next to their thresholds against 60 digits."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.mechanisms import buckets
from discreet.mechanisms.bernoulli import (
    Coins,
    LazyUniform,
    exp_bounds,
    geometric_powers,
    keep_bounds,
    pick_geometric,
    power_bounds,
)
from discreet.randomness import SeededSource
from tests.mechanisms import selection_reference as ref

RATIONALS = st.builds(Fraction, st.integers(0, 10**12), st.integers(1, 10**9))


@given(RATIONALS, st.sampled_from([1, 8, 64, 128, 190]))
@settings(max_examples=300, deadline=None)
def test_exp_bounds_enclose_and_are_tight(x, bits):
    with mpmath.workdps(600):
        exact = mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator) * mpmath.mpf(2) ** bits
        low, high = exp_bounds(x, bits)
        assert low <= exact <= high
        assert high - low <= 2


def test_negative_exponents_are_refused():
    with pytest.raises(ValueError, match="negative"):
        exp_bounds(Fraction(-1), 10)


@given(st.integers(0, 2**40), st.integers(0, 50), st.integers(0, 300))
@settings(max_examples=100, deadline=None)
def test_power_bounds_enclose(value, slack, exponent):
    low, high = power_bounds(value, min(value + slack, 2**40), 40, exponent)
    assert low <= Fraction(value, 2**40) ** exponent * 2**40
    assert high >= Fraction(min(value + slack, 2**40), 2**40) ** exponent * 2**40


@given(st.builds(Fraction, st.integers(1, 1000), st.integers(1, 100)), st.sampled_from([64, 160]))
@settings(max_examples=60, deadline=None)
def test_geometric_powers_enclose(ratio, work):
    low, high = geometric_powers(ratio, 40, work)
    for k in (0, 1, 7, 39):
        exact = mpmath.exp(-k * mpmath.mpf(ratio.numerator) / ratio.denominator) * mpmath.mpf(2) ** work
        assert low[k] <= exact <= high[k]
        assert high[k] - low[k] <= 3 * (k + 1)


@given(RATIONALS, st.integers(-3, 3), st.integers(0, 2**64 - 1))
@settings(max_examples=300, deadline=None)
def test_a_coin_within_2_to_minus_62_of_its_edge_falls_as_the_exact_one(x, offset, second):
    """The first word is forced onto the threshold, give or take 3 units; the reference compares 128 digits."""
    with mpmath.workdps(200):
        p = mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)
        first = min(max(int(mpmath.floor(p * 2**64)) + offset, 0), 2**64 - 1)
        uniform = (mpmath.mpf(first) * 2**64 + second) / mpmath.mpf(2) ** 128
        if abs(uniform - p) < mpmath.mpf(2) ** -126:
            return  # the next digits would decide
        assert Coins(ref.Scripted([first, second], 1)).bernoulli_exp(x) == (x == 0 or uniform < p)


@pytest.mark.parametrize(("n", "seed"), [(1, 0), (2, 1), (3, 2), (7, 3), (10, 4)])
def test_below_is_uniform(n, seed):
    coins = Coins(SeededSource(seed))
    counts = ref.frequencies(lambda: coins.below(n), n, 7000)
    assert ref.p_value(counts, [mpmath.mpf(1) / n] * n) > ref.FALSE_ALARM


def test_below_enumerated_over_all_top_digits():
    """n = 5 reads three digits: words 0..4 of 8 are answers, 5, 6, 7 are thrown away."""
    answers = [Coins(ref.Scripted([top << 61, 3 << 61])).below(5) for top in range(8)]
    assert answers == [0, 1, 2, 3, 4, 3, 3, 3]
    assert Coins(SeededSource(0)).below(2**100) >= 2**64
    with pytest.raises(ValueError, match="at least 1"):
        Coins(SeededSource(0)).below(0)


def test_pick_geometric_at_its_edges():
    """A uniform point forced onto each cumulative weight, one unit of 2^-64 to either side, falls as it should."""
    counts, ratio = [2, 0, 5, 1], Fraction(1, 3)
    with mpmath.workdps(100):
        weights = [n * mpmath.exp(-mpmath.mpf(k) / 3) for k, n in enumerate(counts)]
        for k in (0, 2):
            edge = sum(weights[: k + 1]) / sum(weights) * 2**64
            for word in (int(mpmath.floor(edge)) - 1, int(mpmath.floor(edge)), int(mpmath.floor(edge)) + 1):
                for second in (0, 2**63, 2**64 - 1):
                    exact = next(
                        i
                        for i in range(4)
                        if (word + mpmath.mpf(second) / 2**64) / 2**64 < sum(weights[: i + 1]) / sum(weights)
                    )
                    assert pick_geometric(Coins(ref.Scripted([word, second])), counts, ratio) == exact
    with pytest.raises(ValueError, match="nothing"):
        pick_geometric(Coins(SeededSource(0)), [0, 0], ratio)


def test_pick_geometric_takes_the_last_on_the_largest_words():
    assert pick_geometric(Coins(ref.Scripted([2**64 - 1] * 16)), [3, 0, 1], Fraction(1)) == 2
    assert pick_geometric(Coins(ref.Scripted([0] * 16)), [3, 0, 1], Fraction(1)) == 0


@given(st.fractions(Fraction(1, 1000), 60), st.integers(2, 1000))
@settings(max_examples=60, deadline=None)
def test_keep_bounds_enclose(epsilon, k):
    low, high = keep_bounds(epsilon, k)(64)
    exact = mpmath.mpf(2) ** 64 / (1 + (k - 1) * mpmath.exp(-mpmath.mpf(epsilon.numerator) / epsilon.denominator))
    assert low <= exact <= high
    assert high - low <= 2


def test_the_first_success_is_geometric():
    coins, exponent, n = Coins(SeededSource(5)), Fraction(3, 2), 6
    counts = ref.frequencies(
        lambda: (lambda j: n if j is None else j)(buckets._first_success(coins, exponent, n)), 7, 5000
    )
    p = mpmath.exp(-mpmath.mpf(3) / 2)
    assert ref.p_value(counts, [p * (1 - p) ** j for j in range(n)] + [(1 - p) ** n]) > ref.FALSE_ALARM


def test_a_uniform_keeps_its_digits_between_comparisons():
    uniform = LazyUniform(Coins(SeededSource(6)))
    first = uniform.below(lambda bits: (1 << bits - 1, 1 << bits - 1))
    assert all(uniform.below(lambda bits: (1 << bits - 1, 1 << bits - 1)) == first for _ in range(5))
    assert uniform.bits == 64


def test_words_for_loops_come_from_the_same_source():
    assert np.array_equal(Coins(SeededSource(7)).words(3), SeededSource(7).words(3))
