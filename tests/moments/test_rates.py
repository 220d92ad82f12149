"""The exponents that the lecture states, fitted to measured errors (seeds are fixed: a test always passes or fails)."""

from __future__ import annotations

import pytest

from benchmarks.moments import coinpress, exponents
from benchmarks.moments import slope as fitted_slope

THEORY = {
    "mean_zcdp_n": -1.0, "mean_zcdp_d": 1.0, "mean_zcdp_epsilon": -1.0,
    "mean_pure_n": -1.0, "mean_pure_d": 1.5, "mean_pure_epsilon": -1.0, "mean_k_norm_d": 1.5,
    "covariance_zcdp_n": -1.0, "covariance_zcdp_d": 2.0, "covariance_pure_n": -1.0, "covariance_pure_d": 3.0,
    "mean_local_n": -0.5, "mean_local_epsilon": -1.0, "mean_central_n": -1.0, "mean_central_epsilon": -1.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def found() -> dict[str, float]:
    return exponents(True, {})


def test_all_are_measured(found) -> None:
    assert set(found) == set(THEORY)


@pytest.mark.parametrize("name", THEORY)
def test_exponent(found, name: str) -> None:
    """Within a tenth: zCDP and pure means, and local and central ones, differ by half.

    Twelve repetitions of a norm of d draws have a relative deviation of at most a tenth each at d = 4, which is about
    0.03 in a slope over 4 to 32; matrices start at ten entries of unequal variance, which lowers a slope by 0.06.
    """
    assert found[name] == pytest.approx(THEORY[name], abs=0.1)


def test_a_wrong_rate_would_be_seen() -> None:
    """Local errors where central ones are claimed are half an exponent away."""
    assert fitted_slope([1, 2, 4, 8], [1, 2**-0.5, 0.5, 8**-0.5]) == pytest.approx(-0.5)


@pytest.mark.slow
def test_coinpress_at_the_published_settings() -> None:
    """d = 50, R = 10 sqrt d and d = 10, u = 10 sqrt d; 40 runs each: at most a tenth above the published method."""
    worst = coinpress(False)
    assert worst["coinpress_mean_ratio"] <= 1.1
    assert worst["coinpress_covariance_ratio"] <= 1.1
