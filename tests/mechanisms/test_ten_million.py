"""Ten million draws of every sampler that chooses, against exact probabilities; additive noise is in ``test_exact``.

Fixed seeds; each comparison would raise a false alarm for about one seed in a million.
"""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from discreet import kernels_selection as kernels
from discreet.mechanisms import KNorm, KRandomizedResponse, RandomizedResponse, buckets
from discreet.mechanisms.bernoulli import Coins
from discreet.mechanisms.exact import rounded_laplace
from discreet.mechanisms.noisy_max import laplace_best
from discreet.randomness import SeededSource
from tests.mechanisms import selection_reference as ref

N = 10**7
pytestmark = pytest.mark.slow


def test_the_exponential_mechanism() -> None:
    """Every probability of the softmax to about one part in a thousand, near and far buckets alike."""
    values, rate = [10, 9, 5, 10, -14, 7, -3], Fraction(1, 3)
    structure, coins = buckets.Buckets(np.array(values), rate, True), Coins(SeededSource(61))
    counts = ref.frequencies(lambda: structure.draw(coins), len(values), N)
    assert ref.p_value(counts, ref.softmax(values, rate)) > ref.FALSE_ALARM


def test_the_coins_of_permute_and_flip() -> None:
    """One candidate in each of ten million places, gaps from 0 to 99: successes of each gap, and of all in the tail."""
    rate, gaps = Fraction(1, 20), np.arange(N) % 100
    structure = buckets.Buckets(-gaps, rate, True)
    structure._flip_near(Coins(SeededSource(62)))
    won = np.bincount(gaps[structure._codes == kernels.SUCCESS], minlength=100)
    chances = np.array([float(mpmath.exp(-mpmath.mpf(int(g)) / 20)) for g in range(100)])
    assert won[0] == N // 100  # the best always succeeds
    expected = N / 100 * chances[1:]
    spread = expected * (1 - chances[1:])
    assert stats.chi2.sf(float(((won[1:] - expected) ** 2 / spread).sum()), 99) > ref.FALSE_ALARM


def test_report_noisy_max() -> None:
    """A selection takes one noise per candidate out of the stream: so ten million are a table with that many rows."""
    values, scale, source = np.array([4, 3, 0, 4, -6]), 2.5, SeededSource(63)
    one_by_one = [laplace_best(source, values, scale) for _ in range(2000)]
    again, counts = SeededSource(63), np.zeros(5, dtype=np.int64)
    for block in range(20):
        chosen = np.argmax(values + rounded_laplace(again, scale, N // 20 * 5).reshape(-1, 5), axis=1)
        assert block or chosen[:2000].tolist() == one_by_one
        counts += np.bincount(chosen, minlength=5)
    assert ref.p_value(counts.tolist(), ref.laplace_max(values.tolist(), Fraction(5, 2))) > ref.FALSE_ALARM


@pytest.mark.parametrize(("epsilon", "k", "truth"), [(1.0, 2, 1), (0.1, 2, 0), (2.0, 5, 3), (6.0, 9, 8)])
def test_randomized_response(epsilon: float, k: int, truth: int) -> None:
    mechanism = (
        RandomizedResponse(epsilon, source=SeededSource(64))
        if k == 2
        else KRandomizedResponse(epsilon, k, source=SeededSource(64))
    )
    counts = sum(np.bincount(mechanism.release(np.full(10**6, truth)), minlength=k) for _ in range(N // 10**6))
    e = mpmath.exp(mpmath.mpf(epsilon))
    exact = [(e if j == truth else 1) / (e + k - 1) for j in range(k)]
    assert ref.p_value(np.asarray(counts).tolist(), exact) > ref.FALSE_ALARM


def test_noise_in_a_ball() -> None:
    """Ten million coordinates: the norms are Gamma, coordinates have their signs and sizes."""
    n, runs, scale = 100, N // 100, 2.0**30
    mechanism = KNorm(1.0, source=SeededSource(65))
    radii, small, positive = np.empty(runs), 0, 0
    for i in range(runs):
        z = mechanism.noise(scale, n) / scale
        radii[i] = np.linalg.norm(z)
        small += int(np.sum(np.abs(z) < 10.0))
        positive += int(np.sum(z > 0))
    cells = np.floor(stats.gamma(n).cdf(radii) * 200).astype(int)
    assert stats.chisquare(np.bincount(cells, minlength=200)).pvalue > ref.FALSE_ALARM
    assert stats.binomtest(positive, N).pvalue > ref.FALSE_ALARM
    # a coordinate is a Gamma(n) radius times one coordinate of a uniform direction: below 10 with this chance
    inside = stats.beta(0.5, (n - 1) / 2)
    at = stats.gamma(n).ppf((np.arange(20_000) + 0.5) / 20_000)
    chance = float(np.mean(inside.cdf(np.minimum((10.0 / at) ** 2, 1.0))))
    # coordinates of one draw share its radius: the spread of their number is bounded by that of n at once
    assert abs(small / N - chance) < 5 * math.sqrt(chance * (1 - chance) / runs)
