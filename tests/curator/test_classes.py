"""Sums by class and own margins: what they are, and that a row is in one block."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.curator import RowBounds, make_curator
from discreet.curator.classes import class_sums, own_margins
from discreet.privacy import Neighbours, unseal

K, P = 3, 4


def data(n: int = 60) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(3)
    return rng.uniform(-1, 1, (n, P)), rng.integers(0, K, n).astype(float), rng.uniform(0, 1, n)


@pytest.mark.parametrize("intercept", [0.0, 0.7])
def test_sums_are_those_of_each_class_with_a_count(intercept: float) -> None:
    X, y, w = data()
    bounds = RowBounds(low=-1, high=1, intercept=intercept)
    sealed = class_sums(make_curator(X, y, bounds=bounds, sample_weight=w), K)
    found = (unseal(sealed) * float(sealed.unit)).reshape(K, P + 1)
    for k in range(K):
        at = y == k
        assert found[k, :P] == pytest.approx(w[at] @ X[at], abs=0.1)  # weights on 1024 steps, rows on the grid
        assert found[k, P] == pytest.approx(w[at].sum(), abs=0.1)


@pytest.mark.parametrize("relation", list(Neighbours))
def test_a_row_moves_one_block_by_its_bound_and_a_replaced_row_two(relation: Neighbours) -> None:
    X, y, _ = data(5)
    bounds, corner = RowBounds(low=-1, high=1), np.ones((1, P))
    rows = [(np.vstack([X, corner]), np.append(y, 0.0))]
    if relation is Neighbours.REPLACE_ONE:
        rows.append((np.vstack([X, -corner]), np.append(y, 2.0)))
    elif relation is Neighbours.ZERO_OUT:
        rows.append((np.vstack([X, corner]), np.append(y, 0.0)))
    else:
        rows.append((X, y))
    weights = [np.ones(6), np.append(np.ones(5), 0.0)[: len(rows[1][0])] if relation is Neighbours.ZERO_OUT else None]
    made = [
        make_curator(a, b, bounds=bounds, neighbors=relation, sample_weight=w)
        for (a, b), w in zip(rows, weights, strict=True)
    ]
    for ask in (lambda c: class_sums(c, K), lambda c: own_margins(c, np.eye(K, P), np.zeros(K), [0.0, 0.5])):
        one, other = (ask(c) for c in made)
        moved = np.abs(unseal(one) - unseal(other)).reshape(K, -1)
        assert one.contribution.apart == K
        assert moved.max(axis=1).sum() == one.contribution.known("linf") * relation.moves  # reached, not exceeded
        assert (moved.max(axis=1) > 0).sum() == relation.moves
        assert np.sqrt((moved**2).sum(axis=1)).sum() <= one.contribution.known("l2") * relation.moves


def test_margins_are_those_of_the_rows() -> None:
    X, y, _ = data(400)
    V, o = np.random.default_rng(1).normal(size=(K, P)), np.array([0.1, -0.2, 0.3])
    edges = np.array([-1.0, 0.0, 1.0])
    for intercept in (0.0, 0.5):
        curator = make_curator(X, y, bounds=RowBounds(low=-1, high=1, intercept=intercept))
        sealed = own_margins(curator, V, o, edges)
        found = (unseal(sealed) * float(sealed.unit)).reshape(K, -1)
        margins = X @ V.T + o
        own = margins[np.arange(400), y.astype(int)]
        rest = np.where(np.eye(K, dtype=bool)[y.astype(int)], -np.inf, margins).max(axis=1)
        expected = [np.histogram((own - rest)[y == k], [-np.inf, *edges, np.inf])[0] for k in range(K)]
        assert np.abs(found - expected).sum() <= 4  # rows beside an edge may be rounded over it
        assert found.sum() == 400


def test_two_classes_are_told_by_their_sign_and_misfits_are_refused() -> None:
    X, y, _ = data(50)
    signs = np.where(y > 0, 1.0, -1.0)
    counts = (unseal(class_sums(make_curator(X, signs, bounds=RowBounds(low=-1, high=1)), 2)).reshape(2, -1))[:, -1]
    assert counts[1] / counts.sum() == pytest.approx((signs > 0).mean())
    curator = make_curator(X, bounds=RowBounds(low=-1, high=1))
    with pytest.raises(ValueError, match="needs targets"):
        class_sums(curator, 2)
    with pytest.raises(ValueError, match="at least 2"):
        class_sums(curator, 1)
    with pytest.raises(ValueError, match="for each class"):
        own_margins(curator, np.eye(2), np.zeros(2), [0.0])
