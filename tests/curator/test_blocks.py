"""Gradients in blocks and half steps: exact values, bounds that hold and are reached, nothing lost on the way."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from discreet.curator import Clip, RowBounds, make_curator
from discreet.curator.blocks import gradient_blocks, half_step
from discreet.losses import LogisticLoss, SquaredLoss
from discreet.privacy import Neighbours, unseal
from tests.curator.bounds import check, neighbours

P = 6
BOUNDS = {
    "linf": RowBounds(linf=0.7, intercept=4.0),
    "l2": RowBounds(l2=1.0, intercept=0.3),
    "box": RowBounds(low=-1, high=np.arange(1.0, P + 1), centre=0, intercept=20.0),
    "no intercept": RowBounds(linf=1.0),
}


def data(n: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, P)), rng.choice([-1.0, 1.0], n), np.ones(n)


@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("bounds", BOUNDS.values(), ids=list(BOUNDS))
@pytest.mark.parametrize("loss", [LogisticLoss(), SquaredLoss()], ids=lambda loss: loss.name)
def test_no_row_moves_a_block_beyond_its_bound(relation, bounds, loss):
    largest = 0.0
    for seed in range(6):
        z = 3.0 * np.sign(np.random.default_rng(seed).normal(size=P))
        one, other = neighbours(relation, data(9, seed), z, 1.0, 1.0, seed)
        blocks = []
        for X, y, w in (one, other):
            curator = make_curator(X, y, bounds=bounds, neighbors=relation, sample_weight=w)
            theta = np.linspace(-0.5, 0.1, curator.n_weights) / 4
            blocks.append(
                (gradient_blocks(curator, loss, theta, 0.4), half_step(curator, loss, theta, (0.3, 0.01), 0.4))
            )
        for kind in (0, 1):
            for a, b in zip(blocks[0][kind], blocks[1][kind], strict=True):
                if a is not None:
                    largest = max(largest, check(a, b))
    assert largest > 0.4  # the bounds are not idle


def test_the_largest_feature_does_not_pay_for_the_intercept():
    curator = make_curator(np.eye(P), np.ones(P), bounds=RowBounds(linf=1.0, intercept=16.0))
    features, intercept = gradient_blocks(curator, LogisticLoss(), np.zeros(P + 1))
    whole = curator.gradient(LogisticLoss(), np.zeros(P + 1))
    assert features.sensitivity("linf") * 16 == whole.sensitivity("linf") == intercept.sensitivity("linf")
    assert features.sensitivity("l2") < whole.sensitivity("l2")


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_blocks_are_the_gradient_and_half_steps_move_along_it(form):
    X, y, _ = data(50)
    curator = make_curator(form(X), y, bounds=BOUNDS["linf"])
    theta = np.linspace(-1, 1, P + 1)
    whole = curator.gradient(SquaredLoss(), theta, Clip(2.0, "slope"))
    g = unseal(whole) * float(whole.unit)
    features, intercept = gradient_blocks(curator, SquaredLoss(), theta, 2.0)
    assert np.array_equal(np.concatenate([unseal(features), unseal(intercept)]), unseal(whole))
    moved, own = half_step(curator, SquaredLoss(), theta, (0.01, 0.002), 2.0)
    real = np.concatenate([unseal(b) * float(b.unit) for b in (moved, own)])
    expected = theta - np.array([0.01] * P + [0.002]) * g
    assert np.allclose(real, expected, rtol=0, atol=float(moved.unit))


def test_parts_and_rates_travel_with_the_blocks():
    X, y, _ = data(50)
    for part in make_curator(X, y, bounds=BOUNDS["linf"]).parts(2):
        named = part.gradient(LogisticLoss(), np.zeros(P + 1)).part
        assert named is not None
        for block in (
            *gradient_blocks(part, LogisticLoss(), np.zeros(P + 1)),
            *half_step(part, LogisticLoss(), np.zeros(P + 1), (1.0, 1.0)),
        ):
            assert block is not None and block.part == named


def test_weights_too_far_for_the_grid_are_refused():
    X, y, _ = data(5)
    curator = make_curator(X, y, bounds=BOUNDS["no intercept"])
    with pytest.raises(OverflowError, match="in steps of"):
        half_step(curator, LogisticLoss(), np.full(P, 1e12), (1e-3, 1.0))
