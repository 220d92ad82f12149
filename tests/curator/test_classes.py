"""Sums by class and own margins: what they are, and that a row is in one block."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from discreet.curator import RowBounds, make_curator
from discreet.curator.classes import class_sums, entry_moments, own_margins, shortened
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


LENGTHS = [2, 77, 2**15, 39_000]


@pytest.mark.parametrize("bounds", [RowBounds(low=-1, high=1), RowBounds(low=-1, high=1, l2=1.2, intercept=0.4)])
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("centre", [0, -9_000])
def test_sums_of_cut_rows_are_those_of_rows_of_that_length(length: int, centre: int, bounds: RowBounds) -> None:
    X, y, w = data()
    unit = bounds.grid(P).size
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    X = X / np.maximum(norms / (bounds.l2 or 9.0), 1)
    cut = X - centre * unit
    cut = cut / np.maximum(np.linalg.norm(cut, axis=1, keepdims=True) / (length * unit), 1)
    for table in (X, sp.csr_array(X)):
        sealed = class_sums(make_curator(table, y, bounds=bounds, sample_weight=w), K, length, centre)
        found = (unseal(sealed) * float(sealed.unit)).reshape(K, P + 1)
        for k in range(K):
            at = y == k
            assert found[k, :P] == pytest.approx(w[at] @ cut[at], abs=0.1)
            assert found[k, P] == pytest.approx(w[at].sum() * (length // 2) * unit, rel=1e-2, abs=0.1)


@pytest.mark.parametrize("length", LENGTHS)
def test_no_cut_row_moves_sums_by_more_than_their_bound(length: int) -> None:
    bounds = RowBounds(low=-1, high=1)
    rng, most = np.random.default_rng(0), 0.0
    rows = [np.ones(P), -np.eye(P)[1], *rng.uniform(-1, 1, (40, P)), *rng.uniform(-1e-4, 1e-4, (9, P)), np.zeros(P)]
    for row, centre in itertools.product(rows, (0, -(2**15), 777)):
        sealed = class_sums(make_curator(row[None], np.zeros(1), bounds=bounds), K, length, centre)
        moved = np.abs(unseal(sealed)).astype(float)
        assert moved.max() <= sealed.contribution.known("linf")
        assert np.linalg.norm(moved) <= sealed.contribution.known("l2")
        assert moved.sum() <= sealed.contribution.known("l1")
        most = max(most, np.linalg.norm(moved) / sealed.contribution.known("l2"))
    assert most > 0.5


def test_cut_rows_never_exceed_their_length_not_even_by_rounding() -> None:
    """Whole numbers: the square of a cut row's norm is at most the length's, for a million rows and awkward lengths."""
    rng = np.random.default_rng(1)
    for length in (2, 3, 4097, 46_341, 2**16 - 1, 2**20 - 1):
        rows = np.rint(rng.normal(size=(40_000, 5)) * rng.choice([1.0, 1e2, 1e4, 2e5], size=(40_000, 1)))
        out = shortened(rows, length)
        assert ((out**2).sum(axis=1) <= length**2).all()
        assert (np.abs(out) <= np.abs(rows)).all() and (out * rows >= 0).all()
        short = (rows**2).sum(axis=1) <= length**2
        assert (out[short] == rows[short]).all()


@pytest.mark.parametrize("length", [1, 0, -5, 2**20])
def test_a_length_of_nothing_and_one_beyond_every_row_are_refused(length: int) -> None:
    X, y, _ = data(5)
    with pytest.raises(ValueError, match="length="):
        class_sums(make_curator(X, y, bounds=RowBounds(low=-1, high=1)), K, length)


@pytest.mark.parametrize(("length", "centre"), [(None, 5), (100, 2**30), (100, -(2**30))])
def test_a_centre_outside_the_rows_or_of_whole_ones_is_refused(length: int | None, centre: int) -> None:
    X, y, _ = data(5)
    with pytest.raises(ValueError, match="centre="):
        class_sums(make_curator(X, y, bounds=RowBounds(low=-1, high=1)), K, length, centre)


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
