"""The minimiser: certified, stable, and never dependent on luck."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import discreet.curator.descent as descent
from discreet.curator import Curator, RowBounds, make_curator
from discreet.curator.minimise import _solve, provable_tolerance
from discreet.curator.objective import Objective, Quadratic
from discreet.losses import (
    HuberLoss,
    LogisticLoss,
    PseudoHuberLoss,
    QuantileLoss,
    SmoothedHingeLoss,
    SoftmaxLoss,
    SquaredLoss,
)
from discreet.mechanisms import Gaussian
from discreet.penalties import L1, L2, Box, L1Ball, L2Ball
from discreet.privacy import Neighbours, Sealed, unseal
from discreet.randomness import SeededSource

LOSSES = [
    LogisticLoss(),
    PseudoHuberLoss(delta=0.5),
    HuberLoss(delta=0.3),
    SmoothedHingeLoss(width=0.2),
    QuantileLoss(q=0.7, width=0.1),
    SoftmaxLoss(3),
]


def table(n: int = 400, p: int = 5, loss: Any = None, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * (rng.random((n, p)) < 0.7)
    if getattr(loss, "targets", "") == "classes":
        return X, rng.integers(0, loss.n_outputs, n).astype(float)
    if getattr(loss, "targets", "") == "real":
        return X, X @ np.arange(p) / p + rng.normal(size=n) * 0.3
    return X, np.where(X @ np.arange(p) / p + rng.normal(size=n) > 0, 1.0, -1.0)


def curated(loss: Any, n: int = 400, p: int = 5, **more: Any) -> Curator:
    X, y = table(n, p, loss)
    return make_curator(X, y, bounds=RowBounds(l2=3.0, intercept=1.0, y=(-3, 3)), **more)


def weights(sealed: Any) -> np.ndarray:
    return unseal(sealed) * float(sealed.unit)


def gradient(c: Curator, loss: Any, theta: np.ndarray, ridge: float, b: Any = 0.0) -> np.ndarray:
    """The gradient of the objective in extended precision, row by row."""
    total = np.asarray(ridge * theta + b, dtype=np.longdouble)
    for rows in c._segments():
        K = (rows.K if hasattr(rows, "K") else rows._matrix().toarray()) * float(c.grid.unit)
        k = int(loss.n_outputs)
        W = theta.reshape(k, -1)
        d = np.asarray(loss.derivative((K @ W.T)[:, 0] if k == 1 else K @ W.T, rows.y)).reshape(rows.n, k)
        w = 1.0 if rows.w is None else rows.w[:, None] * float(c.grid.weight_unit)
        total += ((w * d).astype(np.longdouble).T @ K.astype(np.longdouble)).reshape(-1)
    return total.astype(np.float64)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("tau", [1e-6, 1e-3])
def test_the_gradient_is_within_the_tolerance(loss: Any, tau: float) -> None:
    c = curated(loss)
    noise = Gaussian.sealed_noise(c.n_weights * loss.n_outputs, 2.0**22, Fraction(1, 2**20), SeededSource(1))
    sealed = c.minimise(loss, 0.5, noise, tau)
    grid = float(sealed.unit) * np.sqrt(sealed.size)
    allowed = tau + grid * (c.n_rows * loss.smoothness * c.row_norm**2 + 0.5)  # the output is rounded to a grid
    assert np.linalg.norm(gradient(c, loss, weights(sealed), 0.5, unseal(noise))) <= allowed
    assert float(sealed.unit) * np.sqrt(sealed.size) < tau / 0.5 / 4


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_conjugate_gradients_and_sparse_rows_find_the_same_minimum(loss: Any, monkeypatch: Any) -> None:
    X, y = table(300, 5, loss)
    bounds = RowBounds(l2=3.0, intercept=1.0, y=(-3, 3))
    dense = weights(make_curator(X, y, bounds=bounds).minimise(loss, 1.0, tau=1e-7))
    monkeypatch.setattr(descent, "DIRECT_SIZE", 0)
    csr = weights(make_curator(sp.csr_array(X), y, bounds=bounds).minimise(loss, 1.0, tau=1e-7))
    assert np.linalg.norm(dense - csr) <= 2.2e-7


@pytest.mark.parametrize("loss", [LogisticLoss(), HuberLoss(delta=0.3)], ids=repr)
@pytest.mark.parametrize("composite", [None, L1Ball(0.8)], ids=repr)
def test_the_fallback_alone_reaches_the_minimum(loss: Any, composite: Any, monkeypatch: Any) -> None:
    c = curated(loss, n=60)
    best = weights(c.minimise(loss, 1.0, tau=1e-7, composite=composite))
    monkeypatch.setattr(descent, "NEWTON_STEPS", 0)
    assert np.linalg.norm(weights(c.minimise(loss, 1.0, tau=1e-7, composite=composite)) - best) <= 2.2e-7
    # and for its whole number of steps, with no certificate to stop it early
    monkeypatch.setattr(descent, "certify", lambda objective, theta, *_: (theta, False))
    objective = Objective(c, loss, Quadratic.of(1.0, c.n_weights), np.zeros(c.n_weights))
    assert np.linalg.norm(_solve(objective, 1e-4, composite) - best) <= 1.1e-4


@pytest.mark.parametrize("composite", [L1Ball(0.8), L2Ball(0.5), Box(-0.2, 0.3), L1(3.0)], ids=repr)
@pytest.mark.parametrize("loss", [LogisticLoss(), HuberLoss(delta=2.0)], ids=repr)
def test_sets_and_penalties_are_obeyed_at_the_minimum(loss: Any, composite: Any) -> None:
    c = curated(loss)
    noise = Sealed(np.zeros(c.n_weights))
    theta = weights(c.minimise(loss, L2(2.0), noise, 1e-6, composite=composite))
    g = gradient(c, loss, theta, 2.0)
    step = 1e-3
    again = composite.prox(theta - step * g, step)
    assert np.linalg.norm(again - theta) / step < 1e-3
    if composite.is_constraint:
        assert composite.value(theta * (1 - 1e-6)) == 0.0


@pytest.mark.parametrize("loss", [LogisticLoss(), PseudoHuberLoss(delta=0.5), SoftmaxLoss(3)], ids=repr)
def test_the_certificate_covers_the_true_error(loss: Any) -> None:
    c = curated(loss, n=3000)
    objective = Objective(
        c, loss, Quadratic.of(1.0, c.n_weights * loss.n_outputs), np.zeros(c.n_weights * loss.n_outputs)
    )
    rng = np.random.default_rng(3)
    for scale in (0.0, 1.0, 30.0):
        theta = scale * rng.normal(size=objective.size)
        found, error = objective.certified(theta)
        assert np.linalg.norm(found - gradient(c, loss, theta, 1.0)) <= error < 1e-8


@pytest.mark.parametrize("relation", list(Neighbours))
def test_what_its_bound_covers(relation: Neighbours) -> None:
    """With a perturbation 2 tau / lambda for any pair, never doubled again; without, the minimiser's move as well."""
    c, loss, ridge, tau = curated(LogisticLoss(), neighbors=relation), LogisticLoss(), 4.0, 1e-2
    noise = Gaussian.sealed_noise(c.n_weights, 2.0**22, Fraction(1, 2**20), SeededSource(1))
    error = c.minimise(loss, ridge, noise, tau, n_rows=400)
    assert 2 * tau / ridge <= error.sensitivity("l2") * error.unit <= 2 * tau / ridge * 1.2
    whole = c.minimise(loss, ridge, tau=tau, n_rows=400)
    moves = relation.moves * c.row_norm / ridge
    assert moves * 0.999 + 2 * tau / ridge <= whole.sensitivity("l2") * whole.unit <= moves * 1.001 + 2.4 * tau / ridge


@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("composite", [None, L2Ball(0.5)], ids=repr)
def test_neighbours_without_a_perturbation_stay_within_the_bound(relation: Neighbours, composite: Any) -> None:
    rng = np.random.default_rng(11)
    X, y = rng.normal(size=(4, 3)), np.array([1.0, -1.0, 1.0, 1.0])
    bounds, loss = RowBounds(l2=1.0), LogisticLoss()
    first = np.array([0.0, 1.0, 1.0, 1.0]) if relation is Neighbours.ZERO_OUT else np.ones(4)
    X2, y2 = X.copy(), y.copy()
    if relation is Neighbours.REPLACE_ONE:
        X2[0], y2[0] = -50 * X[0], 1.0
    one = make_curator(X, y, bounds=bounds, sample_weight=first, neighbors=relation)
    if relation is Neighbours.ADD_REMOVE:
        one = make_curator(X[1:], y[1:], bounds=bounds, sample_weight=first[1:], neighbors=relation)
    two = make_curator(X2, y2, bounds=bounds, sample_weight=np.ones(4), neighbors=relation)
    a, b = (c.minimise(loss, 0.3, tau=1e-2, composite=composite, n_rows=9) for c in (one, two))
    change = [int(u) - int(v) for u, v in zip(unseal(a), unseal(b), strict=True)]
    assert sum(v * v for v in change) <= a.sensitivity("l2") ** 2


def test_refusals_name_public_reasons_only() -> None:
    c = curated(LogisticLoss())
    with pytest.raises(ValueError, match="below"):
        c.minimise(LogisticLoss(), 1.0, tau=1e-14)
    with pytest.raises(ValueError, match="weakest eigenvalue"):
        c.minimise(LogisticLoss(), 0.0)
    with pytest.raises(ValueError, match="not a quadratic"):
        c.minimise(LogisticLoss(), L1(1.0))
    with pytest.raises(ValueError, match="6 weights"):
        c.minimise(LogisticLoss(), 1.0, Sealed(np.zeros(3)))
    with pytest.raises(ValueError, match="unbounded slope"):
        c.minimise(SquaredLoss(), 1.0)
    with pytest.raises(ValueError, match="needs targets"):
        make_curator(np.eye(2), bounds=RowBounds(l2=1)).minimise(LogisticLoss(), 1.0)


def test_matrix_and_vector_penalties() -> None:
    c, loss = curated(LogisticLoss()), LogisticLoss()
    d = np.linspace(1, 3, c.n_weights)
    a, b = (weights(c.minimise(loss, penalty, tau=1e-7)) for penalty in (d, np.diag(d)))
    assert np.linalg.norm(a - b) <= 2.1e-7
    assert np.linalg.norm(gradient(c, loss, a, 0.0) + d * a) <= 1e-5


def test_no_rows_and_a_tolerance_for_a_private_number_of_rows() -> None:
    c = make_curator(np.zeros((0, 2)), np.zeros(0), bounds=RowBounds(l2=1), neighbors="add_remove")
    assert c.tolerance(LogisticLoss(), 1.0) > c.tolerance(LogisticLoss(), 1.0, n_rows=1000)
    noise = Sealed(np.array([2.0, -1.0]))
    theta = weights(c.minimise(LogisticLoss(), 2.0, noise, c.tolerance(LogisticLoss(), 2.0)))
    np.testing.assert_allclose(theta, [-1.0, 0.5], atol=c.tolerance(LogisticLoss(), 2.0))


@pytest.mark.parametrize("composite", [None, L2Ball(0.2)], ids=repr)
def test_plain_gradient_steps_alone_arrive_within_their_public_number(composite: Any, monkeypatch: Any) -> None:
    c = curated(LogisticLoss(), n=20, p=2)
    best = weights(c.minimise(LogisticLoss(), 4.0, tau=1e-8, composite=composite))
    monkeypatch.setattr(descent, "NEWTON_STEPS", 0)
    monkeypatch.setattr(descent, "_accelerated", lambda objective, tau, composite, start, size: (start, False))
    monkeypatch.setattr(descent, "certify", lambda objective, theta, *_: (theta, False))
    objective = Objective(c, LogisticLoss(), Quadratic.of(4.0, c.n_weights), np.zeros(c.n_weights))
    assert np.linalg.norm(_solve(objective, 1e-8, composite) - best) <= 2.1e-8 / 4.0


def test_the_tolerance_stays_near_the_rounding_error() -> None:
    """A condition number in it would cost four hundred times as much here."""
    grid = RowBounds(l2=4.0).grid(100)
    assert provable_tolerance(grid, LogisticLoss(), 10.0, 50_000) < 3e-8
    assert provable_tolerance(grid, LogisticLoss(), 10.0, 400_000) < 5e-7
    assert provable_tolerance(grid, LogisticLoss(), 10.0, 50_000, 1e4) > provable_tolerance(
        grid, LogisticLoss(), 10.0, 50_000
    )


def test_newton_alone_is_certified_at_the_smallest_tolerance(monkeypatch: Any) -> None:
    monkeypatch.setattr("discreet.curator.minimise.fallback", None)
    for seed in range(3):
        X, y = table(20_000, 10, seed=seed)
        c = make_curator(X, y, bounds=RowBounds(l2=4.0, intercept=1.0))
        noise = Gaussian.sealed_noise(c.n_weights, 2.0**24, Fraction(1, 2**20), SeededSource(seed))
        c.minimise(LogisticLoss(), 1.0, noise)
