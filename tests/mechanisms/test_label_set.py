"""Releasing which labels occur: exact probabilities, the threshold, attacks, and a twin without one."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting.events import ApproximateDpEvent
from discreet.accounting.groups import each_of
from discreet.audit.distinguishing import epsilon_lower
from discreet.mechanisms import LabelSet
from discreet.privacy import Bounded, Budget, Contribution, Neighbours, PrivacyError
from discreet.randomness import SeededSource
from discreet.testing import without_privacy

ONE = Contribution(l1=1, l2=1, linf=1, monotone=True)


def counts(*values, neighbors=Neighbours.ZERO_OUT):
    return Bounded(np.array(values), ONE, Fraction(1), neighbors)


def reached(epsilon, threshold, count):
    """P(count + Z >= threshold) for discrete Laplace Z, exactly."""
    r = mpmath.exp(-mpmath.mpf(epsilon))
    m = threshold - count
    return r**m / (1 + r) if m >= 1 else 1 - r ** (1 - m) / (1 + r)


@given(st.floats(0.005, 8), st.floats(1e-12, 0.3), st.sampled_from([1, 2]))
def test_a_label_of_one_row_is_released_as_rarely_as_promised(epsilon, delta, moves):
    """At most its part of delta, and the threshold is the smallest that keeps it (2 at least)."""
    one = each_of(Budget(epsilon, delta), moves)
    t = LabelSet(epsilon, delta).threshold(moves)
    with mpmath.workdps(40):
        assert reached(one.epsilon, t, 1) <= mpmath.mpf(one.delta)
        assert t == 2 or reached(one.epsilon, t - 1, 1) > mpmath.mpf(one.delta) * (1 - mpmath.mpf(10) ** -6)


@pytest.mark.parametrize("moves", [1, 2])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-4), (2.0, 1e-9), (0.05, 1e-7)])
def test_all_neighbours_are_as_close_as_promised(epsilon, delta, moves):
    """Every label is in or out by itself: the hockey-stick divergence of one or two labels, worked out exactly."""
    one = each_of(Budget(epsilon, delta), moves)
    t = LabelSet(epsilon, delta).threshold(moves)
    with mpmath.workdps(40):
        limit = mpmath.exp(mpmath.mpf(epsilon))

        def chance(count):
            return reached(one.epsilon, t, count) if count > 0 else mpmath.mpf(0)

        starts = [(c,) for c in range(3 * t)] if moves == 1 else [(0, 1), (1, 1), (5, 0), (t, t - 1), (t - 1, 2)]
        for before in starts:
            after = (before[0] + 1,) if moves == 1 else (before[0] + 1, before[1] - 1)
            if min(after) < 0:
                continue
            for a, b in ((before, after), (after, before)):
                excess = mpmath.mpf(0)
                for released in np.ndindex(*(2,) * len(a)):
                    p, q = (
                        math.prod(chance(c) if hit else 1 - chance(c) for c, hit in zip(side, released, strict=True))
                        for side in (a, b)
                    )
                    excess += max(p - limit * q, 0)
                assert excess <= delta


def test_frequencies_are_those_worked_out():
    """Fixed seed; each frequency is within five deviations, a false alarm in fewer than one of 10^5 runs."""
    mechanism = LabelSet(0.7, 0.01, source=SeededSource(0))
    t, runs = mechanism.threshold(), 40_000
    kept = mechanism.release(counts(*np.full(runs, t - 3)), np.arange(runs))
    p = float(reached(0.7, t, t - 3))
    assert abs(len(kept) / runs - p) < 5 * math.sqrt(p / runs)


def test_an_attack_on_a_name_that_one_row_has():
    """The label of one person, 40,000 runs: seen no more often than delta; without a threshold it is seen at once."""
    delta, runs = 0.01, 40_000
    mechanism = LabelSet(1.0, delta, source=SeededSource(1))
    seen = len(mechanism.release(counts(*np.ones(runs, dtype=int)), np.arange(runs)))
    assert epsilon_lower(seen, runs, 0, runs, delta, 0.95) <= 1.0

    class Eager(LabelSet):
        def threshold(self, moves=1):
            return 1

    eager = Eager(1.0, delta, source=SeededSource(1))
    often = len(eager.release(counts(*np.ones(runs, dtype=int)), np.arange(runs)))
    assert epsilon_lower(often, runs, 0, runs, delta, 0.95) > 1.0


def test_labels_may_be_anything_and_keep_their_order():
    mechanism = LabelSet(1.0, 1e-6)
    names = np.array(["b", "a", 3], dtype=object)
    assert mechanism.release(counts(10**6, 0, 10**6), names).tolist() == ["b", 3]
    assert mechanism.event == ApproximateDpEvent(1.0, 1e-6)
    with without_privacy():
        assert mechanism.release(counts(1, 0, 1), names).tolist() == ["b", 3]


def test_two_moves_take_a_higher_threshold():
    mechanism = LabelSet(0.5, 1e-6)
    assert mechanism.threshold(2) > 1.9 * mechanism.threshold(1)
    top = mechanism.threshold(1) + 12
    sides = [mechanism.release(counts(*[top] * 200, neighbors=n), np.arange(200)).size for n in Neighbours]
    assert sides[0] > 150 and sides[1] < 50 and sides[2] > 150


def test_what_cannot_be_promised_is_refused():
    for delta in (0.0, -1e-6, 1.0, math.nan):
        with pytest.raises(ValueError, match="delta"):
            LabelSet(1.0, delta)
    with pytest.raises(PrivacyError, match="one label"):
        LabelSet(1.0, 1e-6).release(Bounded(np.array([3]), Contribution(l1=2), Fraction(1), Neighbours.ZERO_OUT), ["a"])
    with pytest.raises(ValueError, match="one for each"):
        LabelSet(1.0, 1e-6).release(counts(3, 4), ["a"])
