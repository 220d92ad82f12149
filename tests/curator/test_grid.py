"""Public bounds and the grid that follows from them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.curator import RowBounds, make_curator
from discreet.curator.grid import Grid, power_of_two
from discreet.privacy import unseal

positive = st.floats(1e-6, 1e6)


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9))
def test_power_of_two_is_the_least(value: Fraction) -> None:
    unit = power_of_two(value)
    assert unit / 2 < value <= unit
    assert Fraction(2) ** round(math.log2(unit)) == unit


def test_power_of_two_refuses_zero() -> None:
    with pytest.raises(ValueError, match="positive"):
        power_of_two(0)


@settings(max_examples=60)
@given(
    positive, st.one_of(st.none(), positive), st.one_of(st.none(), positive), st.floats(0, 100), st.integers(1, 5000)
)
def test_bounds_in_units_never_exceed_the_real_ones(
    l2: float, linf: float | None, l1: float | None, constant: float, p: int
) -> None:
    grid = Grid(RowBounds(l2=l2, linf=linf, l1=l1, intercept=constant), p)
    assert grid.row_l2 * grid.unit <= Fraction(l2) or grid.row_l2 == 1
    for name, value in (("row_linf", linf), ("row_l1", l1)):
        bound = getattr(grid, name)
        assert math.isinf(bound) if value is None else (bound * grid.unit <= Fraction(value) or bound == 1)
    # the constant is inside the bound of the row: PITFALLS 10
    assert grid.l2 >= math.hypot(grid.constant, min(grid.row_l2, grid.row_l1)) - 1 or linf is not None
    assert grid.linf >= grid.constant
    assert grid.l2 < 2**26


def test_many_features_with_their_own_bounds_keep_ten_bits() -> None:
    grid = Grid(RowBounds(linf=1.0), 100_000)
    assert 1.0 / float(grid.unit) >= 2**10
    uneven = Grid(RowBounds(low=-1e-9, high=np.r_[1e6, np.ones(99_999)], centre=0, intercept=1e3), 100_000)
    assert 2**15 < uneven.l2 < 2**26


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({}, "needs a bound"),
        ({"l2": 0.0}, "positive"),
        ({"l2": math.inf}, "finite"),
        ({"low": 0}, "both"),
        ({"low": 1, "high": 1}, "below"),
        ({"low": math.nan, "high": 1}, "finite"),
        ({"l2": 1, "scale": 0}, "scale"),
        ({"l2": 1, "intercept": -1}, "intercept"),
        ({"l2": 1, "y": (1, 1)}, "range"),
        ({"l2": 1, "bits": 40}, "bits"),
        ({"l2": 1, "weight": math.inf}, "weight"),
    ],
)
def test_what_is_refused(given: dict[str, object], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        RowBounds(**given)  # type: ignore[arg-type]


def test_wrong_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="3 entries for 2 features"):
        RowBounds(low=np.zeros(3), high=1).grid(2)


def test_weights_go_back_to_the_features_as_they_came() -> None:
    rng = np.random.default_rng(0)
    bounds = RowBounds(low=-1, high=[1.0, 3.0], scale=[1.0, 2.0], intercept=0.7)
    X, theta = rng.uniform(-1, 1, (5, 2)), rng.normal(size=3)
    z = (X - [0.0, 1.0]) / [1.0, 2.0]
    coef, intercept = bounds.to_original(theta)
    np.testing.assert_allclose(X @ coef + intercept, z @ theta[:2] + 0.7 * theta[2])
    coef, intercept = bounds.to_original(np.stack([theta, -theta]))
    np.testing.assert_allclose(coef[1], -coef[0])
    assert intercept.shape == (2,)


def test_the_sum_of_rows_is_that_of_the_standardised_rows() -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 5, (500, 3))
    low, high, scale = np.array([-1.0, 0.0, -2.0]), np.array([4.0, 5.0, 2.0]), np.array([1.0, 2.0, 3.0])
    total = make_curator(X, bounds=RowBounds(low=low, high=high, scale=scale, intercept=1.0)).sum_rows()
    wanted = ((np.clip(X, low, high) - (low + high) / 2) / scale).sum(axis=0)
    np.testing.assert_allclose(unseal(total) * float(total.unit), [*wanted, 500.0], atol=500 * 2.0**-14)
