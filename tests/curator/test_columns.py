"""Statistics about columns: what they are, beside the laws that hold for every statistic."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.curator import Clip, RowBounds, make_curator
from discreet.curator.choices import public_choices
from discreet.losses import LogisticLoss, SoftmaxLoss
from discreet.privacy import unseal

LOSS = LogisticLoss()
HIGH = np.array([1.0, 3.0, 100.0])
BOUNDS = RowBounds(low=-HIGH, high=HIGH, centre=0)


def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return rng.uniform(-1, 1, (400, 3)) * HIGH, rng.choice([-1.0, 1.0], 400)


def test_steepness_orders_coordinates_as_their_gradients_do() -> None:
    X, y = rows()
    curator = make_curator(X, y, bounds=BOUNDS)
    clip = Clip(HIGH, norm="per_coordinate")
    sealed = curator.steepness(LOSS, np.array([0.3, -0.2, 0.01]), 1 / HIGH, clip)
    exact = np.abs(X.T @ LOSS.derivative(X @ [0.3, -0.2, 0.01], y)) / HIGH
    assert np.allclose(np.asarray(unseal(sealed)) * float(sealed.unit), exact, rtol=0.01, atol=0.1)


def test_steepness_pays_for_each_coordinate_in_its_own_scale() -> None:
    """A bound of the largest column over the smallest scale would be 100 times this."""
    X, y = rows()
    sealed = make_curator(X, y, bounds=BOUNDS).steepness(LOSS, np.zeros(3), 1 / HIGH, Clip(HIGH, norm="per_coordinate"))
    assert 0.99 < float(sealed.sensitivity("linf") * sealed.unit) < 1.01


def test_column_squares_count_weights() -> None:
    X, y = rows()
    w = np.linspace(0, 1, 400)
    sealed = make_curator(X, y, bounds=BOUNDS, sample_weight=w).column_squares()
    assert np.allclose(unseal(sealed) * float(sealed.unit), w @ (X / HIGH) ** 2, rtol=2e-3)


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf])
def test_scales_must_be_positive(scale: float) -> None:
    X, y = rows()
    with pytest.raises(ValueError, match="positive finite scale"):
        make_curator(X, y, bounds=BOUNDS).steepness(LOSS, np.zeros(3), scale)


def test_several_outputs_are_refused() -> None:
    X, y = rows()
    with pytest.raises(ValueError, match="one output"):
        make_curator(X, (y > 0) * 1.0, bounds=BOUNDS).steepness(SoftmaxLoss(2), np.zeros((2, 3)), 1.0)


@pytest.mark.parametrize("weights", [[], [0.0, 0.0], [-1.0, 2.0], [np.nan]])
def test_choices_refuse_what_is_no_weight(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="weights"):
        public_choices(weights, 3)
