"""Permute-and-flip: exact probabilities, its edge over the exponential mechanism, forced draws, extremes."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import kernels_selection as kernels
from discreet.accounting.events import PureDpEvent
from discreet.mechanisms import PermuteAndFlip, buckets
from discreet.mechanisms.bernoulli import Coins
from discreet.randomness import SeededSource, _disable_noise
from tests.mechanisms import selection_reference as ref

SHAPES = {
    "unit buckets": ([10, 9, 5, 10, -40, 7], 2.0, 3),
    "wide buckets": ([900_000, 100, 654_321, 654_322, 899_999, 500_000, 0], 3.0, 200_000),
    "tied": ([4, 4, 4, 4, 4], 1.0, 1),
    "nearly uniform": ([0, 2**61, -(2**61)], 1e-3, 2**40),
    "steep": ([0, 1, 2, 3], 5.0, 1),
}


@pytest.mark.parametrize("name", SHAPES)
def test_draws_have_the_exact_probabilities(name):
    values, epsilon, linf = SHAPES[name]
    mechanism = PermuteAndFlip(epsilon, source=SeededSource(21))
    counts = ref.frequencies(lambda: mechanism.select(ref.sealed(values, linf)), len(values), 4000)
    assert ref.p_value(counts, ref.permute_and_flip(values, Fraction(epsilon) / (2 * linf))) > ref.FALSE_ALARM


def test_the_chi_square_tells_it_from_the_exponential_mechanism():
    values, epsilon = [10, 9, 5, 10, -40, 7], 2.0
    mechanism = PermuteAndFlip(epsilon, source=SeededSource(21))
    counts = ref.frequencies(lambda: mechanism.select(ref.sealed(values, 3)), len(values), 9000)
    assert ref.p_value(counts, ref.softmax(values, Fraction(epsilon) / 6)) < ref.FALSE_ALARM


@pytest.mark.parametrize("tail", [1, 2, 5])
def test_the_tail_bucket_is_as_exact_as_the_others(monkeypatch, tail):
    monkeypatch.setattr(buckets, "_TAIL", tail)
    monkeypatch.setattr(buckets, "_GONE", tail + 1)
    values, rate, coins = np.array([0, -3, -40, -55, -90, -91, -200]), Fraction(1, 50), Coins(SeededSource(22))
    counts = ref.frequencies(lambda: buckets.Buckets(values, rate, True).survivor(coins), 7, 3500)
    assert ref.p_value(counts, ref.permute_and_flip(values.tolist(), rate)) > ref.FALSE_ALARM


def test_the_reference_is_the_mechanism_as_printed():
    """Three candidates by hand: both orders of the other two."""
    p = [mpmath.mpf(1), mpmath.exp(-1), mpmath.exp(-3)]
    first = ref.permute_and_flip([3, 2, 0], Fraction(1))[0]
    orders = [1, 1, 1 - p[1], 1 - p[2], (1 - p[1]) * (1 - p[2]), (1 - p[1]) * (1 - p[2])]
    assert abs(first - sum(orders) / 6) < ref.SLACK


@given(
    st.lists(st.tuples(st.integers(-20, 20), st.integers(-3, 3)), min_size=2, max_size=6), st.sampled_from([0.2, 3.0])
)
@settings(max_examples=60, deadline=None)
def test_neighbours_stay_within_epsilon_and_error_below_the_exponential_mechanism(pairs, epsilon):
    before, after = [q for q, _ in pairs], [q + d for q, d in pairs]
    rate = buckets.selection_rate(ref.sealed(before, 3), epsilon)
    flip = ref.permute_and_flip(before, rate)
    assert ref.largest_loss(flip, ref.permute_and_flip(after, rate)) <= epsilon + ref.SLACK
    error = [
        sum(p * (max(before) - q) for p, q in zip(ps, before, strict=True)) for ps in (flip, ref.softmax(before, rate))
    ]
    assert error[0] <= error[1] + ref.SLACK


def test_half_of_the_range_is_caught():
    before, after = [0, 0], [3, -3]
    rate = 2 * buckets.selection_rate(ref.sealed(before, 3), 1.0)
    assert ref.largest_loss(ref.permute_and_flip(before, rate), ref.permute_and_flip(after, rate)) > 1.2


def test_coins_next_to_their_thresholds_are_left_undecided_and_then_exact():
    """Every near candidate's 32-bit draw is forced on, below and above its threshold; 60 digits decide."""
    rng = np.random.default_rng(0)
    rate = Fraction(1, 7919)
    gaps = np.concatenate([[0], rng.integers(1, 150_000, size=300)])
    scores = -gaps.astype(np.int64)
    structure = buckets.Buckets(scores, rate, True)
    near = structure._codes < buckets._TAIL
    exact = [mpmath.exp(-mpmath.mpf(int(g)) * rate.numerator / rate.denominator) * 2**32 for g in gaps]
    edge = np.array([min(int(p), 2**32 - 1) for p in exact], dtype=np.uint64)
    for offset in (-1, 0, 1):
        draws = np.clip(edge.astype(np.int64) + offset, 0, 2**32 - 1).astype(np.uint64)[near]
        halves = np.append(draws, np.uint64(0)) if draws.size % 2 else draws
        words = halves[0::2] | halves[1::2] << np.uint64(32)
        source = ref.Scripted([int(w) for w in words], 3)
        again = buckets.Buckets(scores, rate, True)
        again._flip_near(Coins(source, block=1))
        after = iter(again._codes[near])
        fresh = iter(ref.Scripted([int(w) for w in words], 3).words(words.size + 400)[words.size :])
        for p, draw in zip(np.array(exact, dtype=object)[near], draws, strict=True):
            code = next(after)
            if int(draw) + 1 <= p or p == 2**32:
                assert code == kernels.SUCCESS
            elif int(draw) >= p:
                assert code == kernels.FAIL
            else:  # the threshold lies inside: 64 further digits, in the order in which they are asked for
                assert code == (
                    kernels.SUCCESS if (int(draw) + mpmath.mpf(int(next(fresh))) / 2**64) < p else kernels.FAIL
                )


def test_exp_minus_is_within_its_stated_error():
    for x in np.linspace(0, 0.5, 2001):
        exact = mpmath.exp(-mpmath.mpf(float(x)))
        assert abs(kernels.exp_minus(float(x)) / exact - 1) < 1e-14


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=40),
    st.sampled_from([1e-300, 1e-9, 0.3, 7.0, 1e300]),
    st.sampled_from([1, 10**6, 2**62]),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_any_int64_scores_give_an_index_in_range(values, epsilon, linf, largest):
    scores = ref.sealed(np.array(values), linf)
    index = PermuteAndFlip(epsilon, source=SeededSource(1)).select(scores, largest=largest)
    assert 0 <= index < len(values)
    if epsilon == 1e300 and linf == 1:
        assert values[index] == (max(values) if largest else min(values))


@given(
    st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=30), st.integers(-(2**61), 2**61), st.integers(0, 99)
)
@settings(max_examples=40, deadline=None)
def test_a_constant_changes_no_draw_and_smallest_mirrors_largest(values, constant, seed):
    def draw(v, largest=True):
        mechanism = PermuteAndFlip(1.0, source=SeededSource(seed))
        return mechanism.select(ref.sealed(np.array(v), 10**8), largest=largest)

    assert draw(values) == draw([q + constant for q in values]) == draw([-q for q in values], largest=False)


def test_many_candidates_use_several_batches_of_words(monkeypatch):
    monkeypatch.setattr(buckets, "_WORDS_AT_ONCE", 3)
    mechanism = PermuteAndFlip(0.5, source=SeededSource(5))
    values = [3] * 10 + [1] * 10
    counts = ref.frequencies(lambda: mechanism.select(ref.sealed(values)), 20, 4000)
    assert ref.p_value(counts, ref.permute_and_flip(values, Fraction(1, 4))) > ref.FALSE_ALARM


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("inf"), float("nan")])
def test_zero_or_infinite_noise_is_refused(epsilon):
    with pytest.raises(ValueError, match="epsilon"):
        PermuteAndFlip(epsilon)


def test_without_noise_and_event():
    with _disable_noise():
        assert PermuteAndFlip(1e-9).select(ref.sealed([1, 8, 8, 2])) == 1
    assert PermuteAndFlip(0.25).event == PureDpEvent(0.25)


@pytest.mark.slow
def test_many_draws_on_random_scores():
    """60,000 draws on 40 scores over all distances: false alarm 1e-6 as above, but errors of a percent would show."""
    values = np.random.default_rng(3).integers(-(10**6), 10**6, size=40).tolist()
    mechanism = PermuteAndFlip(4.0, source=SeededSource(3))
    counts = ref.frequencies(lambda: mechanism.select(ref.sealed(values, 10**6)), 40, 60_000)
    assert ref.p_value(counts, ref.permute_and_flip(values, Fraction(2, 10**6))) > ref.FALSE_ALARM
