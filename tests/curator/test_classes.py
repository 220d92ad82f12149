"""Sums by class and own margins: what they are, and that a row is in one block."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from discreet.curator import RowBounds, make_curator
from discreet.curator.classes import centre_of, class_sums, entry_moments, own_margins
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


BOXES = [(-(2**15), 2**14), (0, 2**15 + 1), (-5, 2**16)]


@pytest.mark.parametrize("bounds", [RowBounds(low=-1, high=1), RowBounds(low=-1, high=1, l2=1.2, intercept=0.4)])
@pytest.mark.parametrize("box", BOXES)
def test_sums_in_a_box_are_those_of_cut_rows_around_its_middle(box: tuple[int, int], bounds: RowBounds) -> None:
    X, y, w = data()
    X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True) / 1.2, 1) if bounds.l2 is not None else X
    unit = bounds.grid(P).size
    low, high = (min(v, bounds.grid(P).feature_linf) for v in box)
    middle, half = centre_of(bounds.grid(P), (low, high))
    for table in (X, sp.csr_array(X)):
        sealed = class_sums(make_curator(table, y, bounds=bounds, sample_weight=w), K, (low, high))
        found = (unseal(sealed) * float(sealed.unit)).reshape(K, P + 1)
        for k in range(K):
            at = y == k
            rows = np.clip(X, low * unit, high * unit) - middle * unit
            assert found[k, :P] == pytest.approx(w[at] @ rows[at], abs=0.1)
            assert found[k, P] == pytest.approx(w[at].sum() * half * unit, abs=0.1)


@pytest.mark.parametrize("box", BOXES)
def test_no_row_moves_sums_in_a_box_by_more_than_their_bound(box: tuple[int, int]) -> None:
    """Short rows, too: with the middle taken off they may be longer than any row was."""
    bounds = RowBounds(low=-1, high=1, l2=0.5)
    low, high = (min(v, bounds.grid(P).feature_linf) for v in box)
    for row in (np.zeros(P), np.eye(P)[0] / 2, -np.eye(P)[1] / 2, np.full(P, 0.25), np.full(P, -0.25)):
        sealed = class_sums(make_curator(row[None], np.zeros(1), bounds=bounds), K, (low, high))
        moved = np.abs(unseal(sealed)).astype(float)
        assert moved.max() <= sealed.contribution.known("linf")
        assert np.linalg.norm(moved) <= sealed.contribution.known("l2")
        assert moved.sum() <= sealed.contribution.known("l1")
    assert moved.max() > 0


def test_a_box_outside_the_rows_is_refused() -> None:
    X, y, _ = data(5)
    curator = make_curator(X, y, bounds=RowBounds(low=-1, high=1))
    for box in ((5, 5), (7, -7), (0, 2**40), (-(2**40), 0)):
        with pytest.raises(ValueError, match="box="):
            class_sums(curator, K, box)


@pytest.mark.parametrize("relation", list(Neighbours))
def test_moments_of_entries_are_what_they_say_and_within_their_bound(relation: Neighbours) -> None:
    X, _, w = data()
    bounds = RowBounds(low=-1, high=1, intercept=0.7)
    for table in (X, sp.csr_array(X)):
        sealed = entry_moments(make_curator(table, bounds=bounds, neighbors=relation, sample_weight=w))
        found = unseal(sealed) * float(sealed.unit)
        assert found == pytest.approx([w @ X.mean(axis=1), w @ (1 - (X**2).mean(axis=1))], abs=0.05)
    largest = 0.0
    for t in (-1.0, -0.5, -0.3, 0.0, 0.49999, 0.5, 0.500123, 1.0):
        sealed = entry_moments(make_curator(np.full((1, P), t), bounds=bounds, neighbors=relation))
        moved = np.abs(unseal(sealed)).astype(float)
        assert moved.sum() <= sealed.contribution.known("l1")
        assert moved.max() <= sealed.contribution.known("linf")
        assert np.linalg.norm(moved) <= sealed.contribution.known("l2")
        largest = max(largest, moved.sum() / sealed.contribution.known("l1"))
    assert largest == 1.0  # reached at one half
