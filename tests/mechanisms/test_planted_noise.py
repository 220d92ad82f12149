"""Alarms for the noise mistakes of PITFALLS: silent on our mechanisms, ringing on their planted twins.

Each alarm answers True when it rings.  Those that look at random numbers ring for ours in at most one run in 10^6.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.mechanisms import DiscreteLaplace, Gaussian, Laplace
from discreet.mechanisms.base import Additive
from discreet.privacy import Bounded, Contribution, Neighbours
from discreet.randomness import SeededSource, Source, system
from tests.planted import noise as planted

OURS: list[Callable[[], Additive]] = [lambda: Gaussian(1.0), lambda: Laplace(1.0), lambda: DiscreteLaplace(1.0)]
UNIT = Fraction(1, 2**30)


def statistic(n: int, value: int = 0, bound: int = 2**40, unit: Fraction = UNIT) -> Bounded:
    c = Contribution(l1=bound, l2=bound, linf=bound)
    return Bounded(np.full(n, value, dtype=np.int64), c, unit, Neighbours.ZERO_OUT)


def few_outcomes(make: Callable[[], Additive]) -> bool:
    """1, 5: among 3,000 fits some are the same (by chance less than one run in 10^5 000 at five coordinates each)."""
    return len({make().release(statistic(5)).tobytes() for _ in range(3000)}) < 3000


def used_again(make: Callable[[], Additive]) -> bool:
    """7: the difference of two releases of one mechanism is noise-free in some coordinate."""
    mechanism = make()
    return bool((mechanism.release(statistic(50)) == mechanism.release(statistic(50))).any())


def copied(source: Source) -> bool:
    """5: two workers that get the source by pickle (as joblib and Dask send it), or the sender, draw the same noise."""
    streams = [pickle.loads(pickle.dumps(source)).words(8) for _ in range(2)]
    streams.append(source.words(8))
    return len({w for s in streams for w in s.tolist()}) < 24


def too_little_noise(mechanism: Additive, sd: float) -> bool:
    """2, 6: the spread of 20,000 draws is more than 6 % below what the guarantee needs, sd (in grid units).

    For Laplace, whose squares vary most, 6 % is six standard errors.
    """
    return float(np.std(mechanism.release(statistic(20_000, bound=1000, unit=Fraction(1))))) < 0.94 * sd


def tells_neighbours_apart(mechanism: Additive) -> bool:
    """8: 'is the number a multiple of 2^-53?' (or of the unit) separates a sum of 0 from a sum of 1.

    Float noise near zero has finer digits than 2^-53; added to 1 it has not.
    """
    one = 2**30
    zero_sums, one_sums = (mechanism.release(statistic(4000, value=v, bound=one)) for v in (0, one))

    def share(values: np.ndarray, grid: int) -> float:
        return float(np.mean([(Fraction(v) * grid).denominator == 1 for v in values.tolist()]))

    return any(abs(share(zero_sums, g) - share(one_sums, g)) > 0 for g in (2**53, 2**54, 2**60, UNIT.denominator))


def off_the_grid(mechanism: Additive) -> bool:
    """8: a released number is not a whole multiple of the public unit."""
    values = mechanism.release(statistic(4000, value=12345, bound=2**30)).tolist()
    return any((Fraction(v) / UNIT).denominator != 1 for v in values)


def holes(mechanism: Additive) -> bool:
    """8: of 100,000 draws at scale 2^40 over 20 pairs are equal (ours: 0.005 expected), or the last 10 bits uneven."""
    draws = mechanism.noise(2.0**40 * (1 + math.pi / 10), 100_000)
    uneven = stats.chisquare(np.bincount(draws & 1023, minlength=1024)).pvalue < 1e-7
    return bool(uneven) or len(np.unique(draws)) < len(draws) - 20


@pytest.mark.parametrize("make", OURS)
def test_alarms_are_silent_on_ours(make: Callable[[], Additive]) -> None:
    assert not few_outcomes(make)
    assert not used_again(make)
    sd = 1000.0 if isinstance(make(), Gaussian) else 1000.0 * math.sqrt(2)
    assert not too_little_noise(make(), sd)
    assert not tells_neighbours_apart(make())
    assert not off_the_grid(make())
    assert not holes(make())


@pytest.mark.parametrize("source", [system(), SeededSource(0)])
def test_copies_of_our_sources_are_silent(source: Source) -> None:
    assert not copied(source)


def test_1_a_generator_seeded_from_one_byte() -> None:
    assert few_outcomes(lambda: planted.ReseededGaussian(1.0))


def test_2_mu_for_a_noise_multiplier() -> None:
    steps, mu = 100, 0.5
    needed = math.sqrt(steps) / mu  # composition of `steps` releases of this multiplier is mu-GDP
    assert too_little_noise(planted.MuIsTheMultiplier.for_mu(mu, steps), 1000 * needed)
    assert not too_little_noise(Gaussian(needed), 1000 * needed)


def test_5_a_constant_seed() -> None:
    assert few_outcomes(lambda: planted.SharedConstantGaussian(1.0))


def test_5_workers_that_copy_the_generator() -> None:
    assert copied(planted.CopiedSource())


def test_6_operator_precedence() -> None:
    assert too_little_noise(planted.WrongPrecedenceLaplace(1.0), 1000 * math.sqrt(2))


def test_7_noise_drawn_once() -> None:
    assert used_again(lambda: planted.NoiseDrawnOnce(1.0))


@pytest.mark.parametrize("broken", [planted.FloatLaplace(1.0), planted.FloatGaussian(1.0)])
def test_8_float_noise(broken: Additive) -> None:
    assert tells_neighbours_apart(broken)
    assert off_the_grid(broken)


def test_8_whole_numbers_with_holes() -> None:
    assert holes(planted.RoundedFloatLaplace(1.0))
