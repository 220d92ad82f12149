"""What is particular to single losses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from discreet.losses import (
    HuberHingeLoss,
    HuberLoss,
    LogisticLoss,
    PoissonLoss,
    PseudoHuberLoss,
    QuantileLoss,
    SmoothedHingeLoss,
    SoftmaxLoss,
    SquaredLoss,
)


def test_softmax_of_two_classes_is_logistic() -> None:
    m = np.linspace(-8, 8, 33)
    y = np.where(np.arange(33) % 2, 1.0, -1.0)
    pairs = np.stack([np.zeros_like(m), m], axis=-1)
    two, one = SoftmaxLoss(n_classes=2), LogisticLoss()
    np.testing.assert_allclose(two.value(pairs, (y + 1) / 2), one.value(m, y), rtol=1e-11)
    np.testing.assert_allclose(two.derivative(pairs, (y + 1) / 2)[:, 1], one.derivative(m, y), atol=1e-15)
    np.testing.assert_allclose(two.predict_proba(pairs), one.predict_proba(m), rtol=1e-13)


def test_softmax_slope_reaches_root_two_and_curvature_one_half() -> None:
    loss = SoftmaxLoss(n_classes=4)
    g = loss.derivative([[60.0, 0, 0, 0]], [1])
    assert 1.41421 < np.linalg.norm(g) <= loss.lipschitz
    h = loss.curvature([[0.0, 0.0, -90, -90]], [0])[0]
    assert np.linalg.eigvalsh(h)[-1] == pytest.approx(0.5)
    rng = np.random.default_rng(0)
    for margin in rng.normal(0, 4, (200, 4)):
        eigenvalues = np.linalg.eigvalsh(loss.curvature(margin, 0))
        assert eigenvalues[0] >= -1e-15 and eigenvalues[-1] <= 0.5


def test_softmax_refuses_wrong_shapes() -> None:
    with pytest.raises(ValueError, match="3 entries on the last axis"):
        SoftmaxLoss(3).value(np.zeros((5, 4)), np.zeros(5))
    with pytest.raises(ValueError, match="at least 2"):
        SoftmaxLoss(1)


def test_poisson_mean_and_limits() -> None:
    loss = PoissonLoss(margin_range=2.0)
    # a perfect fit has no loss, a count of 0 keeps a positive loss, a count beyond the range is taken as the range
    assert float(loss.value(np.log(3.0), 3.0)) == pytest.approx(0, abs=1e-15)
    assert 0 < float(loss.value(-300.0, 0.0)) < 1e-100
    assert float(loss.value(0.5, 1e9)) == float(loss.value(0.5, np.exp(2.0)))
    assert np.all(np.diff(loss.value(np.linspace(-4, 9, 200), 1e9)) <= 1e-12)
    assert loss.lipschitz_on(margin_bound=0.0, target_bound=1.0) == pytest.approx(1.0)


def test_poisson_near_a_perfect_fit_keeps_its_digits() -> None:
    loss = PoissonLoss()
    for u in (1e-9, 1e-6, 9.9e-4, 1.1e-3):
        assert float(loss.value(np.log(5.0) + u, 5.0)) == pytest.approx(5 * (u * u / 2 + u**3 / 6), rel=1e-4)


def test_smoothings_stay_close_to_what_they_smooth() -> None:
    m = np.linspace(-5, 5, 2001)
    hinge = np.maximum(0, 1 - m)
    soft, quad = SmoothedHingeLoss(0.2).value(m, 1.0), HuberHingeLoss(0.2).value(m, 1.0)
    assert np.all(soft >= hinge) and np.max(soft - hinge) == pytest.approx(0.2 * np.log(2))
    assert np.all(quad >= hinge - 1e-12) and np.max(quad - hinge) == pytest.approx(0.05)
    pinball = np.where(m <= 0, -0.8 * m, 0.2 * m)
    gap = QuantileLoss(q=0.8, width=0.05).value(m, 0.0) - pinball
    assert np.all(gap >= -1e-14) and gap.max() == pytest.approx(0.05 * np.log(2))


def test_quantile_minimiser_is_near_the_quantile() -> None:
    y = np.random.default_rng(1).exponential(1.0, 4001)
    loss = QuantileLoss(q=0.75, width=0.02)
    grid = np.linspace(0.5, 2.5, 2001)
    best = grid[np.argmin([loss.value(g, y).sum() for g in grid])]
    assert best == pytest.approx(np.quantile(y, 0.75), abs=0.03)


def test_huber_is_the_squared_loss_with_a_clipped_slope() -> None:
    r = np.linspace(-4, 4, 81)
    np.testing.assert_array_equal(
        HuberLoss(1.5).derivative(r, 0.0), np.clip(SquaredLoss().derivative(r, 0.0), -1.5, 1.5)
    )


def test_pseudo_huber_needs_no_bound_on_targets() -> None:
    assert abs(float(PseudoHuberLoss(0.5).derivative(0.0, 1e300))) <= 0.5
    # no cancellation for small residuals: r**2 / 2
    assert float(PseudoHuberLoss(1.0).value(1e-9, 0.0)) == pytest.approx(0.5e-18, rel=1e-12)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: HuberLoss(0.0), "delta=0.0"),
        (lambda: PseudoHuberLoss(-1), "delta=-1"),
        (lambda: SmoothedHingeLoss(float("nan")), "width=nan"),
        (lambda: HuberHingeLoss(float("inf")), "width=inf"),
        (lambda: PoissonLoss(19), "margin_range=19"),
        (lambda: QuantileLoss(q=1.0), "q=1.0"),
    ],
)
def test_constants_out_of_range_are_refused(make: Callable[[], object], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        make()
