"""The discrete Laplace mechanism: exact likelihood ratios, scale, event, refusals."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting import dp_event
from scipy import stats

from discreet.mechanisms import DiscreteLaplace
from discreet.mechanisms.exact import sampler
from discreet.privacy import Bounded, Contribution, Neighbours
from discreet.randomness import SeededSource
from discreet.testing import without_privacy


def statistic(l1: int = 2, neighbors: Neighbours = Neighbours.ADD_REMOVE) -> Bounded:
    return Bounded(np.array([10, 20]), Contribution(l1=l1), Fraction(1), neighbors)


def test_release_is_the_integers_plus_discrete_noise() -> None:
    noise = sampler("laplace", 4.0, discrete=True).draw(SeededSource(1), 2)
    assert np.array_equal(DiscreteLaplace(0.5, source=SeededSource(1)).release(statistic()), np.array([10, 20]) + noise)


def test_neighbouring_counts_never_differ_by_more_than_the_promised_ratio() -> None:
    """P(k) exp(|k|) is the same for all k: the signed counts of a million draws (p > 1e-6 of a chi-square)."""
    draws = sampler("laplace", 1.0, discrete=True).draw(SeededSource(2), 10**6)
    k = np.arange(-9, 10)
    chance = np.tanh(0.5) * np.exp(-np.abs(k))
    counts = np.array([(draws == i).sum() for i in k])
    rest = len(draws) - counts.sum()
    observed, expected = np.append(counts, rest), len(draws) * np.append(chance, 1 - chance.sum())
    assert stats.chisquare(observed, expected).pvalue > 1e-6


def test_event_is_dearest_at_sensitivity_one() -> None:
    assert DiscreteLaplace(0.5).event == dp_event.DiscreteLaplaceDpEvent(0.5, 1)
    k = np.arange(-4000, 4001)
    for level in (0.0, 0.1, 0.3, 0.49):

        def delta(sensitivity: int, level: float = level) -> float:
            a = 0.5 / sensitivity
            p, q = np.exp(-a * np.abs(k)), np.exp(-a * np.abs(k - sensitivity))
            return float(np.maximum(p - math.exp(level) * q, 0).sum() * math.tanh(a / 2))

        dearest = (1 - math.exp(level - 0.5)) / (1 + math.exp(-0.5))  # randomised response, which bounds epsilon-DP
        assert delta(1) == pytest.approx(dearest, rel=1e-9)
        assert all(delta(s) <= delta(1) for s in (2, 3, 10, 50))


@pytest.mark.parametrize("scale", [0.3, 1.0, 30.0])
def test_variance(scale: float) -> None:
    """Sample variances are within 6 standard errors (a false alarm in 10^8 seeds)."""
    squares = sampler("laplace", scale, discrete=True).draw(SeededSource(3), 200_000).astype(float) ** 2
    claimed = DiscreteLaplace(1.0).noise_variance(scale)
    assert abs(squares.mean() - claimed) <= 6 * squares.std() / math.sqrt(200_000)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan])
def test_noise_that_is_none_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="epsilon"):
        DiscreteLaplace(bad)


def test_without_privacy() -> None:
    with without_privacy():
        assert DiscreteLaplace(1.0).release(statistic()).tolist() == [10.0, 20.0]
