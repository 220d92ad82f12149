"""The compiled loops, against plain numpy and exact integers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import kernels

whole = st.one_of(st.integers(-(2**30), 2**30), st.integers(-3, 3), st.just(2**30)).map(float)
INF = math.inf


@settings(max_examples=200, deadline=None)
@given(st.lists(whole, min_size=1, max_size=9), st.integers(1, 2**26 - 1), st.sampled_from([1, 2]))
def test_shrunk_rows_are_within_their_limit_as_integers(row: list[float], limit: int, order: int) -> None:
    rows = np.array([row, [0.0] * len(row)])
    kernels.shrink_rows(rows, np.full(2, float(limit)), order)
    k, before = [int(v) for v in rows[0]], [int(v) for v in row]
    assert (sum(map(abs, k)) if order == 1 else sum(v * v for v in k)) <= (limit if order == 1 else limit**2)
    assert all(abs(u) <= abs(v) and u * v >= 0 for u, v in zip(k, before, strict=True))
    inside = (sum(map(abs, before)) if order == 1 else sum(v * v for v in before)) <= (
        limit if order == 1 else limit**2
    )
    if inside:
        assert k == before
    elif limit > 1000:  # not shrunk by much more than it must
        size = sum(map(abs, k)) if order == 1 else math.sqrt(sum(v * v for v in k))
        assert size >= limit - 2 * len(row) - 2


@pytest.mark.parametrize("bounds", [(INF, INF, 50.0), (INF, 90.0, INF), (7.0, INF, INF), (9.0, 60.0, 20.0)])
@pytest.mark.parametrize("capped", [False, True])
def test_dense_and_sparse_rows_become_the_same_whole_numbers(bounds: tuple[float, float, float], capped: bool) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 5)) * np.exp(8 * rng.normal(size=(60, 1))) * (rng.random((60, 5)) < 0.5)
    caps = np.array([1.0, 2.0, 30.0, 4.0, 5.0]) if capped else np.zeros(0)
    dense, s = np.empty((60, 6)), sp.csr_array(x)
    kernels.dense_to_grid(x, 16.0, caps, *bounds, 3.0, dense)
    starts, columns, data = np.zeros(61, np.int64), np.empty(s.nnz + 60, np.int64), np.empty(s.nnz + 60)
    kernels.csr_to_grid(s.indptr, s.indices, s.data, 16.0, caps, *bounds, 1, 5, 3.0, starts, columns, data)
    sparse = sp.csr_array((data, columns, starts), shape=(60, 6)).toarray()
    assert np.array_equal(dense, sparse)
    k = dense[:, :5]
    assert np.array_equal(k, np.rint(k))
    assert (dense[:, 5] == 3).all()
    linf, l1, l2 = bounds
    assert (np.abs(k) <= (np.minimum(caps, linf) if capped else linf)).all()
    assert (np.abs(k).sum(axis=1) <= l1).all()
    assert ((k * k).sum(axis=1) <= l2 * l2).all()


def signed(m: Any) -> tuple[Any, Any, Any]:
    return m.indptr.astype(np.uint64), m.indices.view(np.uint32), m.data


def test_sparse_products_are_those_of_scipy() -> None:
    rng = np.random.default_rng(1)
    m = sp.csr_array(np.rint(rng.normal(size=(40, 7)) * 9) * (rng.random((40, 7)) < 0.6))
    theta, r = np.rint(rng.normal(size=(7, 3)) * 100), np.rint(rng.normal(size=(40, 3)) * 100)
    a, b = 5, 33
    out, many = np.empty(b - a), np.empty((b - a, 3))
    kernels.csr_margins(*signed(m), theta[:, 0].copy(), a, b, out)
    kernels.csr_margins_many(*signed(m), theta, a, b, many)
    assert np.array_equal(many, m[a:b] @ theta)
    assert np.array_equal(out, many[:, 0])
    back, backs = np.ones(7), np.ones((7, 3))
    kernels.csr_back(*signed(m), r[a:b, 0].copy(), a, b, back)
    kernels.csr_back_many(*signed(m), r[a:b], a, b, backs)
    assert np.array_equal(backs, m[a:b].T @ r[a:b] + 1)
    assert np.array_equal(back, backs[:, 0])
    for scale, whole in ((np.zeros(0), True), (rng.random(b - a), True), (rng.random(b - a), False)):
        gram, S = np.zeros((7, 7)), m[a:b].toarray() * (scale[:, None] if scale.size else 1.0)
        kernels.csr_gram(*signed(m), scale, whole, a, b, gram)
        S = np.trunc(S) if whole else S
        np.testing.assert_allclose(np.triu(gram), np.triu(S.T @ S), rtol=1e-13)
    for drop in (False, True):
        caps, dense, sparse = np.arange(7.0) * 100, np.zeros(7), np.zeros(7)
        kernels.csr_clipped_back(*signed(m), r[:, 0].copy(), caps, drop, 0, 40, sparse)
        kernels.dense_clipped_back(m.toarray(), r[:, 0].copy(), caps, drop, dense)
        terms = r[:, :1] * m.toarray()
        wanted = np.where(np.abs(terms) > caps, 0.0, terms) if drop else np.clip(terms, -caps, caps)
        assert np.array_equal(dense, sparse)
        assert np.array_equal(dense, wanted.sum(axis=0))


def test_norms_are_rounded_up() -> None:
    rows = np.array([[3.0, -4.0], [1.0, 1.0], [0.0, 0.0], [2.0**25, 1.0]])
    out, sparse = np.empty((4, 3)), np.empty((4, 3))
    kernels.dense_norms(rows, out)
    s = sp.csr_array(rows)
    kernels.csr_norms(s.indptr, s.data, sparse)
    assert out.tolist() == [[7, 5, 4], [2, 2, 1], [0, 0, 0], [2**25 + 1, 2**25 + 1, 2**25]]
    assert np.array_equal(out, sparse)


def test_real_norms_do_not_overflow() -> None:
    rows = np.array([[3e300, -4e300, 0.0], [0.0, 0.0, 0.0], [3e-310, 0.0, 4e-310]])
    out, sparse = np.empty((3, 3)), np.empty((3, 3))
    kernels.dense_real_norms(rows, out)
    s = sp.csr_array(rows)
    kernels.csr_real_norms(s.indptr, s.data, sparse)
    np.testing.assert_allclose(out, [[7e300, 5e300, 4e300], [0, 0, 0], [7e-310, 5e-310, 4e-310]], rtol=1e-9)
    assert np.array_equal(out, sparse)
