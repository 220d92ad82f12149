"""Randomised response: exact thresholds, exact ratios, unbiased estimates with honest errors."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.events import PureDpEvent
from discreet.mechanisms import KRandomizedResponse, RandomizedResponse, randomized_response
from discreet.mechanisms.bernoulli import Coins
from discreet.randomness import SeededSource, _disable_noise
from tests.mechanisms import selection_reference as ref


def exact_probabilities(epsilon: float, k: int, truth: int) -> list[ref.Real]:
    e = mpmath.exp(mpmath.mpf(epsilon))
    return [(e if j == truth else 1) / (e + k - 1) for j in range(k)]


@pytest.mark.parametrize(("epsilon", "k", "truth"), [(0.1, 2, 1), (1.0, 2, 0), (2.0, 5, 3), (0.5, 9, 8), (6.0, 3, 1)])
def test_answers_have_the_exact_probabilities(epsilon, k, truth):
    mechanism = KRandomizedResponse(epsilon, k, source=SeededSource(51))
    answers = mechanism.release(np.full(200_000, truth))
    assert ref.p_value(np.bincount(answers, minlength=k).tolist(), exact_probabilities(epsilon, k, truth)) > 1e-6


def test_the_binary_form_is_the_k_ary_one_with_two_answers():
    bits = np.arange(1000) % 2
    binary, general = (
        RandomizedResponse(1.0, source=SeededSource(1)),
        KRandomizedResponse(1.0, 2, source=SeededSource(1)),
    )
    assert np.array_equal(binary.release(bits), general.release(bits))
    assert binary.release(True) in (0, 1)


@given(st.sampled_from([1e-12, 0.1, 1.0, 3.0, 20.0, 44.0, 300.0]), st.sampled_from([2, 3, 1000]), st.integers(-2, 2))
@settings(max_examples=80, deadline=None)
def test_a_draw_on_the_edge_is_decided_by_further_digits(epsilon, k, offset):
    """The word is forced onto the threshold of telling the truth; 60 digits say which side it is on."""
    with mpmath.workdps(300):
        p = 1 / (1 + (k - 1) * mpmath.exp(-mpmath.mpf(epsilon)))
        word = min(max(int(mpmath.floor(p * 2**64)) + offset, 0), 2**64 - 1)
        for second in (0, 2**63, 2**64 - 1):
            exact = (word + mpmath.mpf(second) / 2**64) / 2**64
            if abs(exact - p) < mpmath.mpf(2) ** -126:
                continue
            mechanism = KRandomizedResponse(epsilon, k, source=ref.Scripted([word, second], 1))
            assert (mechanism.release(0) == 0) == (exact < p)


@given(st.sampled_from([0.1, 1.0, 5.0]), st.integers(2, 6))
@settings(max_examples=20, deadline=None)
def test_likelihood_ratios_reach_epsilon_and_no_more(epsilon, k):
    loss = ref.largest_loss(exact_probabilities(epsilon, k, 0), exact_probabilities(epsilon, k, 1))
    assert abs(loss - epsilon) < ref.SLACK


def test_a_keep_probability_that_forgets_k_is_caught():
    """Truth with e^eps / (e^eps + 1) among five answers costs log 4 more."""
    e, k = mpmath.exp(1), 5
    keep = e / (e + 1)
    rows = [[keep if j == truth else (1 - keep) / (k - 1) for j in range(k)] for truth in (0, 1)]
    assert ref.largest_loss(*rows) > 2.3


def test_uniform_lies_are_uniform_and_late_words_are_thrown_away():
    coins = Coins(SeededSource(52))
    for n in (1, 2, 3, 7):
        counts = np.bincount(randomized_response._uniform(coins, n, 7000), minlength=n)
        assert ref.p_value(counts.tolist(), [ref.Real(1) / n] * n) > 1e-6
    scripted = Coins(ref.Scripted([2**64 - 1, 5]))  # 2**64 - 1 is past the last multiple of 7 * 2**k
    assert randomized_response._uniform(scripted, 7, 1).tolist() == [5 % 7]


@pytest.mark.parametrize(("epsilon", "k"), [(1.0, 2), (1.0, 6), (4.0, 3)])
def test_estimates_are_unbiased_with_honest_errors(epsilon, k):
    """200 surveys of 2,000 fresh people: means, and stated against real errors, each within 5 standard errors."""
    shares = np.arange(1, k + 1) / np.arange(1, k + 1).sum()
    people = np.random.default_rng(0)
    mechanism = KRandomizedResponse(epsilon, k, source=SeededSource(53))
    runs = [mechanism.estimate(mechanism.release(people.choice(k, 2000, p=shares))) for _ in range(200)]
    spread = np.std([r.estimate for r in runs], axis=0)
    assert np.all(np.abs(np.mean([r.estimate for r in runs], axis=0) - shares) < 5 * spread / math.sqrt(200))
    assert np.all(np.abs(spread / np.mean([r.standard_error for r in runs], axis=0) - 1) < 5 / math.sqrt(400))
    assert all(math.isclose(r.estimate.sum(), 1.0) for r in runs)


def test_variance_is_that_of_one_answer_at_worst():
    for epsilon, k in [(1.0, 2), (0.5, 7), (3.0, 3)]:
        mechanism = KRandomizedResponse(epsilon, k, source=SeededSource(54))
        p, q = (float(x) for x in exact_probabilities(epsilon, k, 0)[:2])
        answers = mechanism.release(np.concatenate([np.zeros(200_000, int), np.ones(200_000, int)]))
        parts = (answers == 0).reshape(2, -1) / (p - q)
        assert abs(parts.var(axis=1).max() / mechanism.variance - 1) < 0.02  # 5 standard errors are below 0.02


def test_shapes_and_types():
    mechanism = KRandomizedResponse(1.0, 4, source=SeededSource(0))
    assert isinstance(mechanism.release(2), int)
    assert mechanism.release(np.zeros((3, 2), dtype=np.int8)).shape == (3, 2)
    assert mechanism.release(np.zeros(0, dtype=int)).shape == (0,)


def test_refusals_name_no_answer():
    with pytest.raises(ValueError, match="not among") as error:
        KRandomizedResponse(1.0, 4).release([1, 77])
    assert "77" not in str(error.value)
    with pytest.raises(TypeError, match="whole numbers"):
        RandomizedResponse(1.0).release(0.5)
    for bad in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="epsilon"):
            RandomizedResponse(bad)
    for k in (1, 0, 2.0, True, 2**40):
        with pytest.raises(ValueError, match="k="):
            KRandomizedResponse(1.0, k)
    with pytest.raises(ValueError, match="KRandomizedResponse"):
        RandomizedResponse(1.0, k=3)
    with pytest.raises(ValueError, match="too few"):
        RandomizedResponse(1.0).estimate([1])


def test_event_and_no_noise():
    assert KRandomizedResponse(0.7, 9).event == PureDpEvent(0.7)
    with _disable_noise():
        assert KRandomizedResponse(0.01, 9).release([1, 8, 0]).tolist() == [1, 8, 0]
        assert RandomizedResponse(0.01).release(1) == 1
