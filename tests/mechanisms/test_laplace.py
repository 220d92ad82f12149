"""The Laplace mechanism on whole numbers: scale, noise, event, refusals."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting import dp_event
from hypothesis import given
from hypothesis import strategies as st

from discreet.mechanisms import Laplace
from discreet.mechanisms.exact import rounded_laplace
from discreet.privacy import Bounded, Contribution, Neighbours, PrivacyError
from discreet.randomness import SeededSource
from discreet.testing import without_privacy


def statistic(l1: int = 16, neighbors: Neighbours = Neighbours.ZERO_OUT) -> Bounded:
    return Bounded(np.array([1000, -40]), Contribution(l1=l1), Fraction(1, 8), neighbors)


def test_release_is_the_integers_plus_rounded_noise_times_the_unit() -> None:
    released = Laplace(0.5, source=SeededSource(1)).release(statistic())
    assert np.array_equal(released, (np.array([1000, -40]) + rounded_laplace(SeededSource(1), 32.0, 2)) / 8)


@given(st.floats(1e-3, 1e3), st.integers(1, 10**9))
def test_scale_and_event_are_rounded_to_the_private_side(epsilon: float, sensitivity: int) -> None:
    m, b = Laplace(epsilon), statistic(l1=sensitivity)
    assert Fraction(m.scale(b)) >= sensitivity / Fraction(epsilon)
    assert Fraction(m.event.noise_multiplier) <= 1 / Fraction(epsilon)
    assert m.scale(statistic(sensitivity, Neighbours.REPLACE_ONE)) == 2 * m.scale(b)


def test_event() -> None:
    assert Laplace(0.5).event == dp_event.LaplaceDpEvent(2.0)


@pytest.mark.parametrize("scale", [0.3, 1.0, 30.0])
def test_variance_of_rounded_noise(scale: float) -> None:
    """Sample variances are within 6 standard errors (a false alarm in 10^8 seeds)."""
    squares = rounded_laplace(SeededSource(2), scale, 200_000).astype(float) ** 2
    assert abs(squares.mean() - Laplace(1.0).noise_variance(scale)) <= 6 * squares.std() / math.sqrt(200_000)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan])
def test_noise_that_is_none_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="epsilon"):
        Laplace(bad)


def test_without_privacy() -> None:
    with without_privacy():
        assert Laplace(0.0).release(statistic()).tolist() == [125.0, -5.0]
    with pytest.raises(PrivacyError, match="no row can change it"):
        Laplace(1.0).release(statistic(l1=0))
