"""The Gaussian mechanism: its scale, its noise, what it refuses, and symmetric matrices."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting import dp_event
from hypothesis import given
from hypothesis import strategies as st

from discreet.mechanisms import Gaussian
from discreet.mechanisms.base import round_down, round_up
from discreet.mechanisms.exact import rounded_gaussian
from discreet.mechanisms.gaussian import over_root_two
from discreet.privacy import Bounded, Contribution, Neighbours, PrivacyError, Sealed, unseal
from discreet.randomness import SeededSource
from discreet.testing import without_privacy


def statistic(value: object = (1000, -40, 7), l2: int = 16, unit: Fraction = Fraction(1, 8), **kw: object) -> Bounded:
    relation = kw.pop("neighbors", Neighbours.ZERO_OUT)
    return Bounded(np.asarray(value), Contribution(l2=l2), unit, relation, **kw)


def test_release_is_the_integers_plus_rounded_noise_times_the_unit() -> None:
    released = Gaussian(2.5, source=SeededSource(1)).release(statistic())
    noise = rounded_gaussian(SeededSource(1), 40.0, 3)
    assert released.dtype == np.float64
    assert np.array_equal(released, (np.array([1000, -40, 7]) + noise) / 8)


def test_integers_in_floats_are_the_same() -> None:
    a = Gaussian(2.5, source=SeededSource(1)).release(statistic())
    b = Gaussian(2.5, source=SeededSource(1)).release(statistic(np.array([1000.0, -40.0, 7.0])))
    assert np.array_equal(a, b)


def test_replace_one_doubles_the_noise() -> None:
    assert Gaussian(1.5).scale(statistic()) == 24.0
    assert Gaussian(1.5).scale(statistic(neighbors=Neighbours.REPLACE_ONE)) == 48.0


@given(st.floats(1e-3, 1e6), st.integers(1, 10**9))
def test_the_scale_is_rounded_up(multiplier: float, sensitivity: int) -> None:
    exact = Fraction(multiplier) * sensitivity
    scale = Gaussian(multiplier).scale(statistic(l2=sensitivity))
    assert Fraction(scale) >= exact
    assert Fraction(math.nextafter(scale, 0)) < exact


@given(st.fractions(Fraction(1, 10**6), 10**9, max_denominator=10**12))
def test_scales_are_rounded_to_the_private_side(value: Fraction) -> None:
    assert Fraction(round_down(value)) <= value <= Fraction(round_up(value))
    half = over_root_two(value)
    assert 2 * Fraction(half) ** 2 >= value**2 > 2 * Fraction(math.nextafter(half, 0)) ** 2


def test_event_and_mu() -> None:
    assert Gaussian(0.5).event == dp_event.GaussianDpEvent(0.5)
    assert Gaussian(0.5).mu == 2.0


@pytest.mark.parametrize("scale", [0.2, 0.6, 1.0, 1.9, 2.0, 30.0])
def test_variance_of_rounded_noise(scale: float) -> None:
    """Sample variances are within 6 standard errors (a false alarm in 10^8 seeds)."""
    n = 200_000
    claimed = Gaussian(scale).noise_variance(scale)
    squares = rounded_gaussian(SeededSource(2), scale, n).astype(float) ** 2
    assert abs(squares.mean() - claimed) <= 6 * squares.std() / math.sqrt(n)
    b = statistic(l2=1)
    assert Gaussian(scale).variance(b) == pytest.approx(claimed / 64)


def test_symmetric_matrices_get_symmetric_noise_of_half_the_variance_off_the_diagonal() -> None:
    p = 40
    triangle = np.arange(p * (p + 1) // 2)
    b = statistic(triangle, l2=100, unit=Fraction(1, 4), symmetric=p)
    full = np.zeros((p, p))
    full[np.triu_indices(p)] = triangle / 4
    full = full + np.triu(full, 1).T
    off, on = [], []
    for seed in range(40):
        released = Gaussian(10.0, source=SeededSource(seed)).release(b)
        assert np.array_equal(released, released.T)
        noise = released - full
        on.append(np.diag(noise))
        off.append(noise[np.triu_indices(p, 1)])
    # 1,600 and 31,200 draws; 5 standard errors, a false alarm in about 10^6 seeds
    assert np.std(on) == pytest.approx(250.0, rel=5 / math.sqrt(2 * 1600))
    assert np.std(off) == pytest.approx(250.0 / math.sqrt(2), rel=5 / math.sqrt(2 * 31_200))
    assert Gaussian(10.0).variance(b) == pytest.approx(250.0**2 / 2, rel=1e-5)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan])
def test_noise_that_is_none_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="noise_multiplier"):
        Gaussian(bad)
    with pytest.raises(ValueError, match="sigma_units"):
        Gaussian.sealed_noise(2, bad, Fraction(1))


@pytest.mark.parametrize("bad", ["1", None, True])
def test_noise_that_is_no_number_is_refused(bad: object) -> None:
    with pytest.raises(TypeError, match="noise_multiplier"):
        Gaussian(bad)


def test_made_without_privacy_is_not_usable_with_it() -> None:
    with without_privacy():
        silent = Gaussian(0.0)
        assert silent.release(statistic()).tolist() == [125.0, -5.0, 0.875]
        assert Gaussian(math.inf).mu == 0.0
        with pytest.raises(ValueError, match="nan"):
            Gaussian(math.nan)
    with pytest.raises(ValueError, match="noise_multiplier"):
        silent.release(statistic())


def test_a_statistic_that_nobody_can_change_is_refused() -> None:
    with pytest.raises(PrivacyError, match="no row can change it"):
        Gaussian(1.0).release(statistic(l2=0))


@pytest.mark.parametrize("value", [[0.5, 1.0, 2.0], [math.nan, 0.0, 0.0], [2.0**60, 0.0, 0.0], [math.inf, 0.0, 0.0]])
def test_what_is_not_whole_is_refused_without_being_shown(value: list[float]) -> None:
    with pytest.raises(PrivacyError, match="whole numbers") as error:
        Gaussian(1.0).release(statistic(np.array(value)))
    assert not any(str(v) in str(error.value) for v in value if v)


def test_sealed_noise_stays_sealed_and_is_the_rounded_gaussian() -> None:
    sealed = Gaussian.sealed_noise((2, 3), 1000.0, Fraction(1, 2**10), source=SeededSource(4))
    assert isinstance(sealed, Sealed)
    expected = rounded_gaussian(SeededSource(4), 1000.0, 6).reshape(2, 3) / 2**10
    assert np.array_equal(unseal(sealed), expected)
    with without_privacy():
        assert not unseal(Gaussian.sealed_noise(3, 1000.0, Fraction(1))).any()


def test_two_releases_never_share_noise() -> None:
    b = statistic(np.zeros(1000, dtype=np.int64), l2=2**40)
    mechanism = Gaussian(1.0)
    a, c = mechanism.release(b), mechanism.release(b)
    assert not np.isin(a, c).any()  # by chance: once in 10^6 runs


def test_parameters_are_frozen_and_the_source_is_not_shown() -> None:
    g = Gaussian(1.0, source=SeededSource(1))
    assert repr(g) == "Gaussian(noise_multiplier=1.0)"
    assert g == Gaussian(1.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        g.noise_multiplier = 0.1


def test_ten_million_coordinates_in_one_release() -> None:
    b = statistic(np.zeros(10**7), l2=2**20, unit=Fraction(1, 2**20))
    assert Gaussian(1.0, source=SeededSource(0)).release(b).std() == pytest.approx(1.0, rel=2e-3)
