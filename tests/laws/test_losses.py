"""Laws that every loss of the registry obeys."""

from __future__ import annotations

import warnings

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet.losses as registry
from discreet.losses import Loss

VARIANTS = [
    registry.SquaredLoss(),
    registry.LogisticLoss(),
    registry.LogisticLoss(lead=2.0),
    registry.HuberLoss(),
    registry.HuberLoss(delta=0.3),
    registry.PseudoHuberLoss(),
    registry.PseudoHuberLoss(delta=0.25),
    registry.SmoothedHingeLoss(),
    registry.SmoothedHingeLoss(width=0.1),
    registry.HuberHingeLoss(),
    registry.HuberHingeLoss(width=1.5),
    registry.PoissonLoss(),
    registry.PoissonLoss(margin_range=1.0),
    registry.QuantileLoss(),
    registry.QuantileLoss(q=0.9, width=0.3),
    registry.QuantileLoss(q=0.05, width=0.05),
    registry.SoftmaxLoss(),
    registry.SoftmaxLoss(n_classes=9),
]
SCALAR = [loss for loss in VARIANTS if loss.n_outputs == 1]
# places where the first or second derivative jumps: a test of smoothness steps aside there
margins = st.floats(-30, 30)
every_loss = pytest.mark.parametrize("loss", VARIANTS, ids=repr)
every_scalar = pytest.mark.parametrize("loss", SCALAR, ids=repr)


def targets(loss: Loss) -> st.SearchStrategy[float]:
    return {
        "binary": st.sampled_from([-1.0, 1.0]),
        "classes": st.integers(0, loss.n_outputs - 1).map(float),
        "count": st.one_of(st.just(0.0), st.floats(0, 40)),
        "real": st.floats(-30, 30),
    }[loss.targets]


def some(loss: Loss, n: int, seed: int = 0, spread: float = 3.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    shape = (n,) if loss.n_outputs == 1 else (n, loss.n_outputs)
    y = {
        "binary": rng.choice([-1.0, 1.0], n),
        "classes": rng.integers(0, loss.n_outputs, n).astype(float),
        "count": rng.poisson(2.0, n).astype(float),
        "real": rng.normal(0, spread, n),
    }[loss.targets]
    return rng.normal(0, spread, shape), y


def test_the_registry_is_covered() -> None:
    assert {type(loss).__name__ for loss in VARIANTS} == set(registry.__all__)
    assert len({getattr(registry, name).name for name in registry.__all__}) == len(registry.__all__)


def reference(loss: Loss) -> object:
    """The loss as its definition says, in 60 digits."""
    e, ln, sq = mpmath.e, mpmath.log, mpmath.sqrt
    if loss.name == "squared":
        return lambda m, y: (m - y) ** 2 / 2
    if loss.name == "logistic":
        return lambda m, y: ln(1 + e ** (mpmath.mpf(loss.lead) - y * m))
    if loss.name == "huber":
        d = loss.delta
        return lambda m, y: (m - y) ** 2 / 2 if abs(m - y) <= d else d * (abs(m - y) - mpmath.mpf(d) / 2)
    if loss.name == "pseudo_huber":
        d = mpmath.mpf(loss.delta)
        return lambda m, y: d * d * (sq(1 + ((m - y) / d) ** 2) - 1)
    if loss.name == "smoothed_hinge":
        w = mpmath.mpf(loss.width)
        return lambda m, y: w * ln(1 + e ** ((1 - y * m) / w))
    if loss.name == "huber_hinge":
        w = mpmath.mpf(loss.width)
        return lambda m, y: 0 if y * m > 1 + w else 1 - y * m if y * m < 1 - w else (1 + w - y * m) ** 2 / (4 * w)
    if loss.name == "quantile":
        q, w = mpmath.mpf(loss.q), mpmath.mpf(loss.width)
        return lambda m, y: q * (y - m) + w * ln(1 + e ** ((m - y) / w))
    top, big = mpmath.exp(loss.margin_range), mpmath.mpf(loss.margin_range)

    def poisson(m: object, y: object) -> object:
        y = min(y, top)
        mean = e**m if m <= big else top * (1 + m - big)
        return mean - y * m - (y - y * ln(y) if y else 0)

    return poisson


@every_scalar
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_value_and_derivatives_are_those_of_the_definition(loss: Loss, data: st.DataObject) -> None:
    m, y = data.draw(margins), data.draw(targets(loss))
    with mpmath.workdps(60):
        f = reference(loss)
        exact = f(mpmath.mpf(m), mpmath.mpf(y))
        assert float(loss.value(m, y)) == pytest.approx(float(exact), rel=1e-9, abs=1e-13)
        h = mpmath.mpf(10) ** -20
        slope = (f(m + h, mpmath.mpf(y)) - f(m - h, mpmath.mpf(y))) / (2 * h)
        assert float(loss.derivative(m, y)) == pytest.approx(float(slope), rel=1e-9, abs=1e-10)
        bend = (f(m + h, mpmath.mpf(y)) - 2 * exact + f(m - h, mpmath.mpf(y))) / h**2
        left, right = loss.curvature(m - 1e-9, y), loss.curvature(m + 1e-9, y)
        if abs(float(left - right)) < 1e-3 * loss.smoothness:  # not at a jump
            assert float(loss.curvature(m, y)) == pytest.approx(float(bend), rel=1e-7, abs=1e-9)


@every_loss
def test_differences_agree_with_derivatives(loss: Loss) -> None:
    m, y = some(loss, 400, spread=1.5)
    h = 1e-6
    if loss.n_outputs == 1:
        slope = (loss.value(m + h, y) - loss.value(m - h, y)) / (2 * h)
        np.testing.assert_allclose(loss.derivative(m, y), slope, rtol=1e-6, atol=1e-6)
        return
    for k in range(loss.n_outputs):
        step = h * np.eye(loss.n_outputs)[k]
        slope = (loss.value(m + step, y) - loss.value(m - step, y)) / (2 * h)
        np.testing.assert_allclose(loss.derivative(m, y)[:, k], slope, atol=1e-8)
        bend = (loss.derivative(m + step, y) - loss.derivative(m - step, y)) / (2 * h)
        np.testing.assert_allclose(loss.curvature(m, y)[:, k], bend, atol=1e-8)


@every_scalar
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_convex_smooth_and_lipschitz(loss: Loss, data: st.DataObject) -> None:
    a, b, y = data.draw(margins), data.draw(margins), data.draw(targets(loss))
    t = data.draw(st.floats(0, 1))
    fa, fb = float(loss.value(a, y)), float(loss.value(b, y))
    ga, gb = float(loss.derivative(a, y)), float(loss.derivative(b, y))
    scale = 1e-12 * (1 + abs(fa) + abs(fb) + abs(ga * (b - a)))
    assert float(loss.value(t * a + (1 - t) * b, y)) <= t * fa + (1 - t) * fb + scale
    assert fb >= fa + ga * (b - a) - scale
    assert fb <= fa + ga * (b - a) + loss.smoothness / 2 * (b - a) ** 2 + scale
    assert (gb - ga) * (b - a) >= 0
    assert abs(gb - ga) <= loss.smoothness * abs(b - a) * (1 + 1e-12) + 1e-12 * (1 + abs(ga))
    assert 0 <= float(loss.curvature(a, y)) <= loss.smoothness
    if np.isfinite(loss.lipschitz):
        assert abs(fa - fb) <= loss.lipschitz * abs(a - b) + scale
    assert abs(ga) <= loss.lipschitz


@every_scalar
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_bounds_hold_on_public_ranges(loss: Loss, data: st.DataObject) -> None:
    m, y = data.draw(margins), data.draw(targets(loss))
    assert abs(float(loss.derivative(m, y))) <= loss.lipschitz_on(abs(m), abs(y)) <= loss.lipschitz
    assert float(loss.curvature(m, y)) <= loss.smoothness_on(abs(m), abs(y)) <= loss.smoothness


@every_scalar
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_curvature_is_bounded_by_a_function_of_the_slope(loss: Loss, data: st.DataObject) -> None:
    m, y = data.draw(margins), data.draw(targets(loss))
    if not np.isfinite(loss.lipschitz):
        assert loss.curvature_of_slope(0.5) is None
        return
    s = abs(float(loss.derivative(m, y))) / loss.lipschitz
    h = loss.curvature_of_slope(s)
    assert h is not None
    assert float(loss.curvature(m, y)) <= float(h) * (1 + 1e-9) + 1e-9 * loss.smoothness
    grid = loss.curvature_of_slope(np.linspace(0, 1, 101))
    assert grid is not None and np.all(grid >= 0) and np.all(grid <= loss.smoothness * (1 + 1e-12))
    assert loss.self_saturating == (float(grid[-1]) == 0)


@every_loss
def test_the_sign_of_the_slope_is_fixed_where_it_says_so(loss: Loss) -> None:
    if loss.n_outputs > 1:
        assert not loss.sign_fixed
        return
    y = {"binary": 1.0, "count": 2.0}.get(loss.targets, 0.3)
    g = loss.derivative(np.linspace(-40, 40, 801), y)
    both = bool(np.any(g > 0) and np.any(g < 0))
    assert loss.sign_fixed == (not both)


@every_loss
def test_values_start_at_the_infimum(loss: Loss) -> None:
    m, y = some(loss, 300)
    assert np.all(loss.value(m, y) >= 0)
    if loss.n_outputs > 1:
        best = np.where(np.arange(loss.n_outputs) == y[:, None], 50.0, -50.0)
        assert np.all(loss.value(best, y) < 1e-15)
        return
    grid = np.linspace(-60, 60, 24001)
    least = loss.value(grid[:, None], y[None, :40]).min(axis=0)
    assert np.all(least >= loss.infimum(y[:40]) - 1e-12)
    np.testing.assert_allclose(least, loss.infimum(y[:40]), atol=1e-4 * loss.smoothness)


@every_loss
def test_extremes_stay_finite_and_quiet(loss: Loss) -> None:
    _, y = some(loss, 8, seed=3)
    sizes = np.array([1e300, -1e300, 1e160, -1e160, 750.0, -750.0, 0.0, -0.0])
    m = sizes if loss.n_outputs == 1 else sizes[:, None] * np.where(np.arange(loss.n_outputs) % 2, -1.0, 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in (loss.value, loss.derivative, loss.curvature):
            assert np.all(np.isfinite(call(m, y)))
        assert np.all(np.isfinite(loss.predict(m)))


@every_loss
def test_scalars_rows_and_grids_broadcast(loss: Loss) -> None:
    m, y = some(loss, 6)
    for call in (loss.value, loss.derivative, loss.curvature):
        whole = call(m, y)
        for i in range(6):
            np.testing.assert_array_equal(call(m[i], y[i]), whole[i])
        grid = call(m[:, None], y[None, :]) if loss.n_outputs == 1 else call(m[:, None, :], y[None, :])
        assert grid.shape[:2] == (6, 6)
        np.testing.assert_array_equal(grid[np.arange(6), np.arange(6)], whole)


@every_loss
@pytest.mark.parametrize("method", ["value", "derivative", "curvature"])
def test_a_row_does_not_depend_on_its_place(loss: Loss, method: str) -> None:
    """Bit for bit the same under slicing, striding, reversal and memory order (the loops of a CPU differ there)."""
    m, y = some(loss, 1003, seed=7, spread=20.0)
    call = getattr(loss, method)
    whole = call(m, y)
    for start in (1, 2, 3, 5, 7):
        np.testing.assert_array_equal(call(m[start:].copy(), y[start:].copy()), whole[start:])
        np.testing.assert_array_equal(call(m[::start], y[::start]), whole[::start])
    np.testing.assert_array_equal(call(m[::-1], y[::-1]), whole[::-1])
    np.testing.assert_array_equal(call(np.asfortranarray(m), y), whole)
    for i in range(0, 1003, 97):
        np.testing.assert_array_equal(call(m[i], y[i]), whole[i])


@every_loss
def test_targets_are_checked_without_being_told(loss: Loss) -> None:
    _, y = some(loss, 5)
    np.testing.assert_array_equal(loss.encode(y), y)
    wrong = {"binary": 0.25, "classes": 17.0, "count": -3.5, "real": np.nan}[loss.targets]
    with pytest.raises(ValueError, match="every target") as caught:
        loss.encode([*y[:3], wrong])
    assert str(wrong) not in str(caught.value)
    with pytest.raises(ValueError, match="every target"):
        loss.encode([np.inf])


@every_loss
def test_predictions_are_possible_targets_and_probabilities_add_up(loss: Loss) -> None:
    m, _ = some(loss, 200)
    if loss.targets != "real":
        loss.encode(loss.predict(m))
    if loss.probabilistic:
        p = loss.predict_proba(m)
        assert p.shape == (200, max(2, loss.n_outputs)) and np.all(p >= 0)
        np.testing.assert_allclose(p.sum(axis=-1), 1.0, rtol=1e-14)
    else:
        with pytest.raises(TypeError, match="not a probability model"):
            loss.predict_proba(m)


@every_loss
def test_losses_are_values(loss: Loss) -> None:
    assert loss == type(loss)(**loss.__dict__) and hash(loss) == hash(type(loss)(**loss.__dict__))
