"""Report-noisy-max: exact probabilities with rounded Laplace noise, ties, and the noisy minimum."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.events import BoundedRangeDpEvent, PureDpEvent
from discreet.mechanisms import NoisyMax, noisy_max
from discreet.randomness import SeededSource, _disable_noise
from tests.mechanisms import selection_reference as ref
from tests.planted import selection as planted

VALUES = [4, 3, 0, 4, -6]


@pytest.mark.parametrize(("epsilon", "linf"), [(1.0, 1), (3.0, 2), (4.0, 1)])
def test_laplace_draws_have_the_exact_probabilities(epsilon, linf):
    mechanism = NoisyMax(epsilon, source=SeededSource(31))
    counts = ref.frequencies(lambda: mechanism.select(ref.sealed(VALUES, linf)), len(VALUES), 6000)
    assert ref.p_value(counts, ref.laplace_max(VALUES, Fraction(2 * linf) / Fraction(epsilon))) > ref.FALSE_ALARM


@pytest.mark.parametrize(("noise", "exact"), [("gumbel", ref.softmax), ("exponential", ref.permute_and_flip)])
def test_the_other_noises_are_their_mechanisms(noise, exact):
    mechanism = NoisyMax(2.0, noise, source=SeededSource(32))
    counts = ref.frequencies(lambda: mechanism.select(ref.sealed(VALUES)), len(VALUES), 4000)
    assert ref.p_value(counts, exact(VALUES, Fraction(1))) > ref.FALSE_ALARM
    assert ref.p_value(counts, ref.laplace_max(VALUES, Fraction(1))) < ref.FALSE_ALARM


@given(
    st.lists(st.tuples(st.integers(-6, 6), st.integers(-1, 1)), min_size=2, max_size=4),
    st.sampled_from([0.7, 1.0, 3.0, 9.0]),
    st.booleans(),
)
@settings(max_examples=30, deadline=None)
def test_rounded_noise_with_first_come_ties_keeps_epsilon(pairs, epsilon, monotone):
    pairs = [(q, abs(d) if monotone else d) for q, d in pairs]
    before, after = [q for q, _ in pairs], [q + d for q, d in pairs]
    scale = Fraction(NoisyMax(epsilon).scale(ref.sealed(before, 1, monotone)))
    loss = ref.largest_loss(ref.laplace_max(before, scale), ref.laplace_max(after, scale))
    assert loss <= epsilon + ref.Real(10) ** -15  # the sums of the reference leave out tails of e^-60


def test_the_change_of_one_score_in_place_of_the_range_is_caught():
    scale = 1 / planted.single_change_rate(ref.sealed([0, 0]), 4.0)
    assert ref.largest_loss(ref.laplace_max([0, 0], scale), ref.laplace_max([1, -1], scale)) > 4.2


@pytest.mark.parametrize("noise", ["laplace", "exponential", "gumbel"])
def test_the_noisy_minimum_negates_scores_only(noise):
    exact = {"laplace": ref.laplace_max, "exponential": ref.permute_and_flip, "gumbel": ref.softmax}[noise]
    mechanism = NoisyMax(2.0, noise, source=SeededSource(33))
    counts = ref.frequencies(lambda: mechanism.select_smallest(ref.sealed(VALUES)), len(VALUES), 3000)
    assert ref.p_value(counts, exact([-q for q in VALUES], Fraction(1))) > ref.FALSE_ALARM


def test_a_minimum_with_negated_noise_is_caught():
    """PITFALLS 4: with 21 candidates the loss is 20 epsilon in place of epsilon; and the draws betray it."""
    before, after = [0] * 21, [1] + [0] * 20  # monotone scores: the range is 1
    rate = Fraction(1)
    wrong = [planted.NegatedNoiseMin.probabilities(q, rate) for q in (before, after)]
    right = [ref.permute_and_flip([-q for q in s], rate) for s in (before, after)]
    assert ref.largest_loss(*right) <= 1 + ref.SLACK
    assert abs(ref.largest_loss(*wrong) - 20) < ref.SLACK
    mechanism, few = planted.NegatedNoiseMin(2.0, source=SeededSource(34)), [1] + [0] * 7
    counts = ref.frequencies(lambda: mechanism.select_smallest(ref.sealed(few)), 8, 4000)
    assert ref.p_value(counts, mechanism.probabilities(few, rate)) > ref.FALSE_ALARM
    assert ref.p_value(counts, ref.permute_and_flip([-q for q in few], rate)) < ref.FALSE_ALARM


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=30), st.integers(0, 50))
@settings(max_examples=40, deadline=None)
def test_index_in_range_and_steep_noise_finds_the_first_best(values, seed):
    scores = ref.sealed(np.array(values), 2**30)
    assert 0 <= NoisyMax(1.0, source=SeededSource(seed)).select(scores) < len(values)
    sharp = NoisyMax(2.0**20, source=SeededSource(seed)).select(ref.sealed(np.array(values)))
    assert sharp == values.index(max(values))


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=20), st.integers(-(2**61), 2**61), st.integers(0, 50))
@settings(max_examples=40, deadline=None)
def test_a_constant_added_to_the_scores_changes_no_draw(values, constant, seed):
    draws = [
        NoisyMax(0.01, source=SeededSource(seed)).select(ref.sealed(np.array(v)))
        for v in (values, [q + constant for q in values])
    ]
    assert draws[0] == draws[1]


def test_sums_beyond_64_bits_are_added_without_wrapping():
    top = np.array([2**63 - 1, -(2**63), 2**63 - 1])
    assert {noisy_max.laplace_best(SeededSource(s), top, 2.0**40) for s in range(30)} == {0, 2}
    assert noisy_max.laplace_best(SeededSource(0), top, 2.0**40, largest=False) == 1


def test_scale_follows_relation_and_sign_and_is_rounded_up():
    for monotone, neighbors, span in [(False, "zero_out", 2), (True, "zero_out", 1), (False, "replace_one", 4)]:
        scale = NoisyMax(0.3).scale(ref.sealed([1, 2], 1, monotone, neighbors))
        assert 0 <= Fraction(scale) - span / Fraction(0.3) < Fraction(1, 2**48)


def test_refusals_events_and_no_noise():
    for bad in (0.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="epsilon"):
            NoisyMax(bad)
    with pytest.raises(ValueError, match="gaussian"):
        NoisyMax(1.0, "gaussian")
    assert NoisyMax(0.5).event == NoisyMax(0.5, "exponential").event == PureDpEvent(0.5)
    assert NoisyMax(0.5, "gumbel").event == BoundedRangeDpEvent(0.5)
    with _disable_noise():
        assert NoisyMax(1e-9).select(ref.sealed([1, 8, 8])) == 1
        assert NoisyMax(1e-9).select_smallest(ref.sealed([5, 1, 1])) == 1
