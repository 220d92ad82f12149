"""Noisy top k against enumerated ordered choices, Peeling, the printed noise, and what each costs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import accounting
from discreet.mechanisms import NoisyTopK, Peeling, PublishedPeeling, buckets
from discreet.mechanisms.bernoulli import Coins
from discreet.mechanisms.noisy_top_k import _entries
from discreet.privacy import Bounded, Contribution, Neighbours, PrivacyError
from discreet.randomness import SeededSource, _disable_noise
from tests.mechanisms import selection_reference as ref
from tests.planted import selection as planted

VALUES = [4, 3, 0, 4, -6]


def ordered_counts(draw, exact, n):
    counts = dict.fromkeys(exact, 0)
    for _ in range(n):
        counts[tuple(int(i) for i in draw())] += 1
    return [counts[c] for c in exact]


@pytest.mark.parametrize(("k", "largest"), [(1, True), (2, True), (3, False), (5, True)])
def test_ordered_choices_have_the_exact_probabilities(k, largest):
    mechanism = NoisyTopK(k, 1.0, source=SeededSource(41))
    exact = ref.top_k([q if largest else -q for q in VALUES], Fraction(1, 2), k)
    counts = ordered_counts(lambda: mechanism.select(ref.sealed(VALUES), largest=largest), exact, 4000)
    assert ref.p_value(counts, list(exact.values())) > ref.FALSE_ALARM


@pytest.mark.parametrize("tail", [1, 2, 6])
def test_buckets_sorted_anew_stay_exact(monkeypatch, tail):
    """A short row of buckets: the near ones run empty in nearly every draw."""
    monkeypatch.setattr(buckets, "_TAIL", tail)
    monkeypatch.setattr(buckets, "_GONE", tail + 1)
    values, rate, coins = np.array([0, -3, -40, -90, -200]), Fraction(1, 50), Coins(SeededSource(42))

    def draw():
        structure = buckets.Buckets(values, rate, True)
        chosen = []
        for _ in range(3):
            chosen.append(structure.draw(coins))
            structure.remove(chosen[-1])
        return chosen

    exact = ref.top_k(values.tolist(), rate, 3)
    assert ref.p_value(ordered_counts(draw, exact, 4000), list(exact.values())) > ref.FALSE_ALARM


def test_rounds_with_replacement_are_caught():
    exact = ref.top_k(VALUES, Fraction(1, 2), 2)
    mechanism = NoisyTopK(1, 1.0, source=SeededSource(43))

    def redraw_the_second_of_a_fresh_pair():
        first = int(mechanism.select(ref.sealed(VALUES))[0])
        second = int(mechanism.select(ref.sealed(VALUES))[0])
        return first, second if second != first else (first + 1) % len(VALUES)

    assert ref.p_value(ordered_counts(redraw_the_second_of_a_fresh_pair, exact, 3000), list(exact.values())) < 1e-6


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=25), st.sampled_from([1e-9, 1.0, 1e300]), st.data()
)
@settings(max_examples=40, deadline=None)
def test_choices_are_distinct_and_in_range(values, eta, data):
    k = data.draw(st.integers(1, len(values)))
    chosen = NoisyTopK(k, eta, source=SeededSource(1)).select(ref.sealed(np.array(values)))
    assert len(set(chosen.tolist())) == k
    assert 0 <= chosen.min() <= chosen.max() < len(values)
    if eta == 1e300:
        assert sorted(values[i] for i in chosen) == sorted(values)[-k:]


def test_a_thousand_of_a_hundred_thousand_at_all_distances():
    values = np.arange(10**5) ** 3
    chosen = NoisyTopK(1000, 1e6, source=SeededSource(2)).select(ref.sealed(values))
    assert set(chosen.tolist()) == set(range(99_000, 100_000))


def test_neighbours_of_ordered_choices_stay_within_the_rounds_price():
    """Hockey-stick of the exact ordered choice against the accountant's price of the event, at several epsilons."""
    before, after = [0, 0, 0, 1], [1, -1, 1, 0]
    mechanism = NoisyTopK(2, 1.0)
    rate = buckets.selection_rate(ref.sealed(before), mechanism.eta)
    p, q = (ref.top_k(v, rate, 2).values() for v in (before, after))
    for epsilon in (0.2, 0.7, 1.0):
        assert ref.hockey_stick(p, q, epsilon) <= accounting.delta(mechanism.event, epsilon) + 1e-12


def test_k_rounds_priced_as_one_are_caught():
    """PITFALLS 20: exact ordered choices of neighbours lose more than one round's price allows."""
    before, after = [0] * 6, [1, 1, -1, -1, -1, -1]
    broken = planted.OneRoundPriced(2, 1.0)
    rate = buckets.selection_rate(ref.sealed(before), broken.eta)
    p, q = (list(ref.top_k(v, rate, 2).values()) for v in (after, before))
    assert ref.hockey_stick(p, q, 1.0) > accounting.delta(broken.event, 1.0) + 1e-4
    assert ref.hockey_stick(p, q, 1.0) <= accounting.delta(NoisyTopK(2, 1.0).event, 1.0) + 1e-12


def test_peeling_finds_large_entries_and_noises_them_by_what_k_entries_can_change():
    v = np.zeros(500, dtype=np.int64)
    v[[7, 90, 300]] = [-(10**6), 2 * 10**6, 3 * 10**6]
    sealed = Bounded(v, Contribution(l2=1000, linf=100), Fraction(1, 4), Neighbours.ZERO_OUT)
    errors = []
    for seed in range(300):
        peeled = Peeling(3, 1.0, 2.0, source=SeededSource(seed)).release(sealed)
        assert sorted(peeled.indices.tolist()) == [7, 90, 300]
        errors.extend(peeled.values * 4 - v[peeled.indices])
        assert np.count_nonzero(peeled.dense()) == 3
    sigma = 2.0 * math.isqrt(3 * 100 * 100) + 2  # sqrt(k) linf, not the l2 bound of the whole vector
    assert abs(np.std(errors) / sigma - 1) < 0.12  # 900 draws: 5 standard errors are 0.118


@pytest.mark.parametrize(("contribution", "k", "l2"), [
    (Contribution(l2=10, linf=10), 4, 10),
    (Contribution(l2=1000, linf=10), 4, 20),
    (Contribution(linf=3), 2, 5),
    (Contribution(l1=6, linf=5), 3, 6),
])  # fmt: skip
@pytest.mark.parametrize("neighbors", list(Neighbours))
def test_the_chosen_entries_bounds_are_the_smaller_of_two(contribution, k, l2, neighbors):
    v = Bounded(np.arange(50), contribution, Fraction(1), neighbors, rate=0.25)
    part = _entries(v, np.arange(k))
    assert part.sensitivity("l2") == l2 * neighbors.moves
    assert part.sensitivity("linf") == v.sensitivity("linf")
    assert (part.rate, part.unit) == (v.rate, v.unit)


def test_published_noise_is_the_printed_one():
    mechanism = PublishedPeeling(10, 0.1, 1e-6)
    assert math.isclose(mechanism.noise_multiplier, 2 * math.sqrt(30 * math.log(1e6)) / 0.1)
    v = Bounded(np.array([0, 10**9, -(10**9)]), Contribution(linf=8), Fraction(1, 2), Neighbours.ZERO_OUT)
    values = []
    for s in range(400):
        peeled = PublishedPeeling(2, 1.0, 1e-3, source=SeededSource(s)).release(v)
        assert sorted(peeled.indices.tolist()) == [1, 2]
        values.extend(np.abs(np.abs(peeled.values) - 5 * 10**8))
    scale = 4.0 * PublishedPeeling(2, 1.0, 1e-3).noise_multiplier
    assert abs(np.mean(values) / scale - 1) < 0.18  # mean of |Laplace| is its scale; 800 draws, 5 standard errors


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_published_noise_keeps_its_promise_and_tight_noise_needs_half(epsilon):
    k, delta = 10, 1e-6
    printed = PublishedPeeling(k, epsilon, delta)
    assert accounting.epsilon(printed.event, delta) <= epsilon
    # The same scales in the tight form: Gumbel of scale b, Gaussian of Laplace's standard deviation.
    eta = 2 / printed.noise_multiplier
    tight = Peeling(k, eta, math.sqrt(2) * printed.noise_multiplier / math.sqrt(k))
    assert accounting.epsilon(tight.event, delta) < 0.6 * epsilon


def test_epsilon_inside_the_root_is_caught():
    """PITFALLS 3: the values alone already cost more than was promised, by an optimistic count."""
    broken, right = (kind(10, 0.01, 1e-6) for kind in (planted.EpsilonInsideRoot, PublishedPeeling))

    def at_least(mechanism):
        one = pld.from_laplace_mechanism(
            mechanism.noise_multiplier, value_discretization_interval=1e-6, pessimistic_estimate=False
        )
        return one.self_compose(10).get_epsilon_for_delta(1e-6)

    assert at_least(broken) > 2 * 0.01 > 0.01 > at_least(right)
    assert accounting.epsilon(planted.EpsilonInsideRoot(10, 0.1, 1e-6).event, 1e-6) > 0.1
    assert math.isclose(
        PublishedPeeling(10, 0.1, 1e-6).noise_multiplier / planted.EpsilonInsideRoot(10, 0.1, 1e-6).noise_multiplier,
        math.sqrt(10),
    )


def test_events_say_how_often():
    event = Peeling(4, 0.5, 3.0).event
    assert event == dp_event.ComposedDpEvent([NoisyTopK(4, 0.5).event, dp_event.GaussianDpEvent(3.0)])
    assert NoisyTopK(4, 0.5).event.count == 4


def test_refusals_and_no_noise():
    scores = ref.sealed([5, -9, 1])
    for bad in (lambda: NoisyTopK(0, 1.0), lambda: NoisyTopK(True, 1.0), lambda: NoisyTopK(1, 0.0),
                lambda: Peeling(1, 1.0, float("inf")), lambda: Peeling(1, float("nan"), 1.0),
                lambda: PublishedPeeling(1, 0.0, 1e-6), lambda: NoisyTopK(4, 1.0).select(scores),
                lambda: PublishedPeeling(4, 1.0, 1e-6).release(scores)):  # fmt: skip
        with pytest.raises(ValueError, match=r"k=|eta=|noise_multiplier=|epsilon="):
            bad()
    with pytest.raises(PrivacyError, match="delta"):
        PublishedPeeling(1, 1.0, 0.0)
    with pytest.raises(PrivacyError):
        PublishedPeeling(1, 1.0, 1e-6).release(ref.sealed([5, -9, 1], 0))
    with pytest.raises(PrivacyError):
        Peeling(1, 1.0, 1.0).release(ref.sealed([5, -9, 1], 0))
    with _disable_noise():
        assert NoisyTopK(2, 1e-9).select(scores).tolist() == [0, 2]
        assert NoisyTopK(2, 1e-9).select_smallest(scores).tolist() == [1, 2]
        for mechanism in (Peeling(2, 1e-9, 1e9), PublishedPeeling(2, 1e-9, 1e-6)):
            assert mechanism.release(scores).dense().tolist() == [5.0, -9.0, 0.0]


def test_peeling_repeats_itself_on_the_same_seed_and_not_on_another():
    v = ref.sealed(np.arange(100) ** 2, 50)
    a, b, c = (Peeling(5, 0.5, 1.0, source=SeededSource(s)).release(v) for s in (1, 1, 2))
    assert np.array_equal(a.values, b.values)
    assert np.array_equal(a.indices, b.indices)
    assert not np.array_equal(a.values, c.values)
