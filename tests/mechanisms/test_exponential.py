"""The exponential mechanism: its draws against exact softmax, its bounded range, and its extremes."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.events import BoundedRangeDpEvent
from discreet.mechanisms import Exponential, buckets
from discreet.mechanisms.bernoulli import Coins
from discreet.privacy import PrivacyError
from discreet.randomness import SeededSource, _disable_noise
from tests.mechanisms import selection_reference as ref
from tests.planted import selection as planted

SCORES = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=40)
SHAPES = {
    "unit buckets": ([10, 9, 5, 10, -40, 7], 2.0, 3),
    "wide buckets": ([900_000, 100, 654_321, 654_322, 899_999, 500_000, 0], 3.0, 200_000),
    "tied": ([4, 4, 4, 4, 4], 1.0, 1),
    "nearly uniform": ([0, 2**61, -(2**61)], 1e-3, 2**40),
    "steep": ([0, 1, 2, 3], 5.0, 1),
}


@pytest.mark.parametrize("name", SHAPES)
def test_draws_have_the_softmax_probabilities(name):
    values, eta, linf = SHAPES[name]
    mechanism = Exponential(eta, source=SeededSource(11))
    counts = ref.frequencies(lambda: mechanism.select(ref.sealed(values, linf)), len(values), 6000)
    assert ref.p_value(counts, ref.softmax(values, Fraction(eta) / (2 * linf))) > ref.FALSE_ALARM


@pytest.mark.parametrize("tail", [1, 2, 5])
def test_the_tail_bucket_is_as_exact_as_the_others(monkeypatch, tail):
    monkeypatch.setattr(buckets, "_TAIL", tail)
    monkeypatch.setattr(buckets, "_GONE", tail + 1)
    values, rate, coins = np.array([0, -3, -40, -55, -90, -91, -200]), Fraction(1, 50), Coins(SeededSource(12))
    counts = ref.frequencies(lambda: buckets.Buckets(values, rate, True).draw(coins), 7, 6000)
    assert ref.p_value(counts, ref.softmax(values.tolist(), rate)) > ref.FALSE_ALARM


def test_the_chi_square_notices_a_rate_off_by_a_factor_of_two():
    values, eta = [10, 9, 5, 10, -40, 7], 2.0
    wrong = Exponential(2 * eta, source=SeededSource(11))
    counts = ref.frequencies(lambda: wrong.select(ref.sealed(values, 3)), len(values), 6000)
    assert ref.p_value(counts, ref.softmax(values, Fraction(eta) / 6)) < ref.FALSE_ALARM


@given(SCORES, st.sampled_from([1e-300, 1e-9, 0.3, 7.0, 1e300]), st.sampled_from([1, 10**6, 2**62]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_any_int64_scores_give_an_index_in_range(values, eta, linf, largest):
    index = Exponential(eta, source=SeededSource(1)).select(ref.sealed(np.array(values), linf), largest=largest)
    assert 0 <= index < len(values)
    if eta == 1e300 and linf == 1:
        assert values[index] == (max(values) if largest else min(values))


@given(
    st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=30), st.integers(-(2**61), 2**61), st.integers(0, 99)
)
@settings(max_examples=40, deadline=None)
def test_a_constant_added_to_the_scores_changes_no_draw(values, constant, seed):
    def draw(v):
        return Exponential(1.0, source=SeededSource(seed)).select(ref.sealed(np.array(v), 10**8))

    assert draw(values) == draw([q + constant for q in values])


@given(st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=30), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_the_smallest_of_scores_is_the_largest_of_their_negatives(values, seed):
    mechanism = [Exponential(1.0, source=SeededSource(seed)) for _ in range(2)]
    negated = ref.sealed(-np.array(values), 10**8)
    assert mechanism[0].select_smallest(ref.sealed(np.array(values), 10**8)) == mechanism[1].select(negated)


@given(
    st.lists(st.tuples(st.integers(-20, 20), st.integers(-3, 3)), min_size=2, max_size=6), st.sampled_from([0.2, 3.0])
)
@settings(max_examples=60, deadline=None)
def test_neighbours_stay_within_the_bounded_range(pairs, eta):
    rate = buckets.selection_rate(ref.sealed([q for q, _ in pairs], 3), eta)
    before, after = ref.softmax([q for q, _ in pairs], rate), ref.softmax([q + d for q, d in pairs], rate)
    assert ref.range_of_loss(before, after) <= eta + ref.SLACK


def test_one_scores_change_in_place_of_the_range_is_caught():
    before, after = [0, 0, 5], [3, -3, 5]
    rate = planted.single_change_rate(ref.sealed(before, 3), 1.0)
    assert ref.range_of_loss(ref.softmax(before, rate), ref.softmax(after, rate)) > 1.9


def test_range_follows_relation_and_sign():
    for monotone, neighbors, span in [(False, "zero_out", 2), (True, "zero_out", 1), (False, "replace_one", 4)]:
        assert buckets.selection_rate(ref.sealed([1, 2], 1, monotone, neighbors), 1.0) == Fraction(1, span)


@pytest.mark.parametrize("eta", [0.0, -1.0, float("inf"), float("nan")])
def test_zero_or_infinite_noise_is_refused(eta):
    with pytest.raises((PrivacyError, ValueError), match="eta"):
        Exponential(eta)


def test_a_bound_of_zero_and_broken_scores_are_refused_without_naming_a_value():
    with pytest.raises(PrivacyError, match="range is 0"):
        Exponential(1.0).select(ref.sealed([1, 2], 0))
    for bad in ([1.5, 7.25], [np.nan, 1.0], [np.inf, 0.0]):
        with pytest.raises(PrivacyError) as error:
            Exponential(1.0).select(ref.sealed(np.array(bad)))
        assert not any(str(v) in str(error.value) for v in bad)
    with pytest.raises(PrivacyError, match="2\\*\\*63"):
        Exponential(1.0).select(ref.sealed(np.array([2**63], dtype=np.uint64)))
    with pytest.raises(TypeError, match="Bounded"):
        Exponential(1.0).select([1, 2])
    with pytest.raises(ValueError, match="vector"):
        Exponential(1.0).select(ref.sealed(np.zeros((2, 2), dtype=int)))
    with pytest.raises(ValueError, match="vector"):
        Exponential(1.0).select(ref.sealed(np.zeros(0, dtype=int)))


def test_whole_numbers_in_doubles_are_the_same_scores():
    values = np.array([3, -8, 2**52, 2**52 - 4])
    for seed in range(20):
        draws = {Exponential(1.0, source=SeededSource(seed)).select(ref.sealed(v, 4)) for v in (values, values * 1.0)}
        assert len(draws) == 1


def test_without_noise_the_first_best_comes_back():
    with _disable_noise():
        assert Exponential(1e-9).select(ref.sealed([1, 8, 8, 2])) == 1
        assert Exponential(1e-9).select_smallest(ref.sealed([5, 1, 1])) == 1


def test_the_event_is_the_bounded_range():
    assert Exponential(0.25).event == BoundedRangeDpEvent(0.25)


def test_a_million_candidates_cost_less_than_sorting_them():
    values = np.random.default_rng(0).integers(-(10**6), 10**6, size=10**6)
    scores, mechanism = ref.sealed(values, 10**4), Exponential(1.0, source=SeededSource(0))

    def best(task):
        times = []
        for _ in range(4):
            start = time.perf_counter()
            task()
            times.append(time.perf_counter() - start)
        return min(times)

    assert best(lambda: mechanism.select(scores)) < best(lambda: np.argsort(values))


def test_a_far_candidate_is_chosen_among_many():
    """10^5 candidates, a lot far away: the near ones take all the draws but a chance of e^-1000."""
    values = np.full(10**5, -(2**62))
    values[777], values[999] = 2**61, 2**61
    mechanism = Exponential(1.0, source=SeededSource(4))
    assert {mechanism.select(ref.sealed(values)) for _ in range(40)} == {777, 999}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_many_draws_on_random_scores(seed):
    """60,000 draws on 40 scores over all distances: false alarm 1e-6 as above, but errors of a percent would show."""
    values = np.random.default_rng(seed).integers(-(10**6), 10**6, size=40).tolist()
    mechanism = Exponential(4.0, source=SeededSource(seed))
    counts = ref.frequencies(lambda: mechanism.select(ref.sealed(values, 10**6)), 40, 60_000)
    assert ref.p_value(counts, ref.softmax(values, Fraction(2, 10**6))) > ref.FALSE_ALARM
