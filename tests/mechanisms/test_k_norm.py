"""The K-norm mechanism: the law of its norm and direction, its roundings, its refusals."""

from __future__ import annotations

import math
from dataclasses import replace
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


@pytest.mark.parametrize(("n", "runs"), [(1, 4000), (2, 4000), (31, 400)])
def test_cube_norm_is_gamma_and_places_uniform(n: int, runs: int) -> None:
    mechanism = KNorm(1.0, "linf", source=SeededSource(20 + n))
    z = np.array([mechanism.noise(2.0**30, n) for _ in range(runs)]) / 2.0**30
    largest = np.abs(z).max(axis=1)
    assert stats.kstest(largest, stats.gamma(n).cdf).pvalue > ALARM
    assert stats.binomtest(int((z > 0).sum()), z.size).pvalue > ALARM
    if n > 1:  # given the norm, the coordinate that attains it is any one, and the others are uniform
        at = np.abs(z).argmax(axis=1)
        assert stats.chisquare(np.bincount(at, minlength=n)).pvalue > ALARM
        others = (np.abs(z) / largest[:, None])[np.arange(n)[None, :] != at[:, None]]
        assert stats.kstest(others, stats.uniform.cdf).pvalue > ALARM


@pytest.mark.parametrize("scale", [0.5, 100.0, 2.0**40 * 1.3])
def test_cube_rounding_equals_mpmath(scale: float) -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 7):
        for _ in range(60):
            sides = [Deviate(int.from_bytes(rng.bytes(14), "little"), 112) for _ in range(n)]
            radii = [Deviate(int.from_bytes(rng.bytes(15), "little"), 118) for _ in range(n + 1)]
            whole = k_norm._scaled(sampler("gaussian", scale), sides, radii)
            if whole is None:
                continue
            for part in (0, rng.random(), 1):
                with mp.workprec(400):
                    r, u = ([mp.ldexp(d.digits + mp.mpf(part), -d.point) for d in v] for v in (radii, sides))
                    assert whole == [int(mp.floor(scale * sum(r) * v + mp.mpf(0.5))) for v in u]


def test_cube_and_blocks_state_their_variance() -> None:
    b = Bounded(np.zeros(12), Contribution(linf=100, apart=3), Fraction(1, 8), Neighbours.ZERO_OUT)
    for mechanism in (KNorm(1.0, "linf", 3, source=SeededSource(4)), KNorm(1.0, "l2", 3, source=SeededSource(5))):
        released = np.array([mechanism.release(b) for _ in range(1500)])
        assert float((released**2).mean()) == pytest.approx(mechanism.variance(b), rel=0.12)  # five standard errors
    corners = np.corrcoef(np.abs(released[:, :4]).sum(axis=1), np.abs(released[:, 4:8]).sum(axis=1))[0, 1]
    assert abs(corners) < 5 / math.sqrt(1500)  # blocks are independent of one another


def test_blocks_are_for_rows_in_one_block_and_cost_twice_when_a_row_moves() -> None:
    with pytest.raises(PrivacyError, match="one of as many blocks"):
        KNorm(1.0, "linf", 3).release(statistic())
    counts = Contribution(l1=1, l2=1, linf=1, monotone=True, apart=2)
    for relation, scale in ((Neighbours.ZERO_OUT, 2.0), (Neighbours.REPLACE_ONE, 4.0)):
        b = Bounded(np.array([5, 7]), counts, Fraction(1), relation)
        assert KNorm(0.5, "linf", 2).scale(b) == scale
    with pytest.raises(ValueError, match="blocks"):
        KNorm(1.0, blocks=0)


@pytest.mark.parametrize("blocks", [1, 2])
def test_the_lesser_noise_is_taken_by_the_bounds_alone(blocks: int) -> None:
    for l2, norm in ((30, "linf"), (20, "linf"), (19, "l2"), (10, "l2")):
        bound = Contribution(l2=l2, linf=10, apart=blocks) if blocks > 1 else Contribution(l2=l2, linf=10)
        b = Bounded(np.zeros(9 * blocks), bound, Fraction(1), Neighbours.ZERO_OUT)
        least, made = KNorm(0.5, "least", blocks), KNorm(0.5, norm, blocks)
        assert least.made_for(b) == made
        assert least.variance(b) == made.variance(b) == min(KNorm(0.5, n, blocks).variance(b) for n in ("l2", "linf"))
        assert least.scale(b) == made.scale(b)
        drawn = replace(least, source=SeededSource(3)).release(b)
        assert (drawn == replace(made, source=SeededSource(3)).release(b)).all()
    assert least.event == made.event


def test_the_lesser_of_no_statistic_is_refused() -> None:
    with pytest.raises(PrivacyError, match="call release"):
        KNorm(1.0, "least").noise(10.0, 5)
    with pytest.raises(ValueError, match="'least'"):
        KNorm(1.0, "l1").check()
