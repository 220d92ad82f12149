"""The K-norm mechanism: the law of its norm and direction, its roundings, its refusals."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.accounting.events import PureDpEvent
from discreet.mechanisms import KNorm, k_norm
from discreet.mechanisms.exact import Deviate, sampler
from discreet.privacy import Bounded, Contribution, Neighbours, PrivacyError, unseal
from discreet.randomness import SeededSource
from discreet.testing import without_privacy
from tests.mechanisms.reference_exact import mp

ALARM = 1e-6  # p value at which a test with a fixed seed would give a false alarm


def statistic(n: int = 3, l2: int = 16, **kw: int) -> Bounded:
    return Bounded(np.arange(n) * 100, Contribution(l2=l2), Fraction(1, 8), Neighbours.ZERO_OUT, **kw)


def vectors(n: int, runs: int, scale: float, seed: int) -> np.ndarray:
    mechanism = KNorm(1.0, source=SeededSource(seed))
    return np.array([mechanism.noise(scale, n) for _ in range(runs)]) / scale


@pytest.mark.parametrize(("n", "runs"), [(1, 6000), (2, 4000), (5, 2000), (60, 300)])
def test_norm_is_gamma_and_direction_uniform(n: int, runs: int) -> None:
    z = vectors(n, runs, 2.0**30, n)
    radius = np.linalg.norm(z, axis=1)
    assert stats.kstest(radius, stats.gamma(n).cdf).pvalue > ALARM
    if n > 1:  # one squared coordinate of a uniform direction is Beta(1/2, (n - 1) / 2)
        first = (z[:, 0] / radius) ** 2
        assert stats.kstest(first, stats.beta(0.5, (n - 1) / 2).cdf).pvalue > ALARM
        assert abs(stats.spearmanr(first, radius).statistic) < 5 / math.sqrt(runs)
    assert stats.binomtest(int((z > 0).sum()), z.size).pvalue > ALARM


def test_one_coordinate_is_laplace() -> None:
    z = vectors(1, 6000, 3.0, 9).ravel() * 3
    k = np.arange(12)
    chance = np.append(-np.diff(np.append(1.0, np.exp(-(k + 0.5) / 3))), math.exp(-11.5 / 3))
    counts = np.bincount(np.minimum(np.abs(z), 12).astype(int), minlength=13)
    assert stats.chisquare(counts, chance * 6000).pvalue > ALARM


@pytest.mark.parametrize("scale", [0.5, 100.0, 2.0**40 * 1.3])
def test_rounding_equals_mpmath(scale: float) -> None:
    """With any completion of the digits the answer is the one that was given."""
    rng = np.random.default_rng(0)
    for n in (1, 2, 7):
        for _ in range(60):
            numbers = [Deviate(int.from_bytes(rng.bytes(15), "little"), 118) for _ in range(2 * n)]
            whole = k_norm._rounded(sampler("gaussian", scale), numbers[:n], numbers[n:])
            if whole is None:
                continue
            for part in (0, rng.random(), 1):
                with mp.workprec(400):
                    x = [mp.ldexp(d.digits + mp.mpf(part), -d.point) for d in numbers]
                    factor = scale * sum(x[n:]) / mp.sqrt(sum(v * v for v in x[:n]))
                    assert whole == [int(mp.floor(factor * v + mp.mpf(0.5))) for v in x[:n]]


def test_an_open_rounding_is_left_open() -> None:
    """Two equal directions and a radius at an edge: 2^-60 to either side decides, the edge itself does not."""
    g, edge = Deviate(1 << 150, 150), Fraction(5, 2)
    for offset, expected in ((-(1 << 90), [2]), (0, None), (1 << 90, [3])):
        radius = Deviate(int(edge * 2**150) + offset, 150)
        assert k_norm._rounded(sampler("gaussian", 1.0), [g], [radius]) == expected


def test_release_scale_event_and_variance() -> None:
    b = statistic()
    noise = KNorm(0.5, source=SeededSource(1)).noise(32.0, 3)
    assert np.array_equal(KNorm(0.5, source=SeededSource(1)).release(b), (np.arange(3) * 100 + noise) / 8)
    assert KNorm(0.5).event == PureDpEvent(0.5)
    spread = vectors(3, 4000, 100.0, 5)
    assert float((spread**2).mean()) == pytest.approx(4.0, rel=0.15)  # r**2 / 3 has sd 5.5: six standard errors
    assert KNorm(0.5).variance(b) == pytest.approx(32**2 * 4 / 64, rel=1e-3)


def test_symmetric_matrices_stay_symmetric() -> None:
    released = KNorm(0.5).release(statistic(6, symmetric=3))
    assert released.shape == (3, 3)
    assert np.array_equal(released, released.T)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan])
def test_noise_that_is_none_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="epsilon"):
        KNorm(bad)
    with pytest.raises(ValueError, match="scale_units"):
        KNorm.sealed_noise(2, bad, Fraction(1))
    with pytest.raises(PrivacyError, match="no row can change it"):
        KNorm(1.0).release(statistic(l2=0))


def test_sealed_noise_and_no_noise() -> None:
    sealed = unseal(KNorm.sealed_noise((2, 2), 1000.0, Fraction(1, 4), source=SeededSource(3)))
    assert np.array_equal(sealed * 4, KNorm(1.0, source=SeededSource(3)).noise(1000.0, 4).reshape(2, 2))
    with without_privacy():
        assert not unseal(KNorm.sealed_noise(3, 1000.0, Fraction(1))).any()
        assert KNorm(0.0).release(statistic()).tolist() == [0.0, 12.5, 25.0]
