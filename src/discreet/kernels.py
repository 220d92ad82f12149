"""Compiled loops over plain arrays of whole numbers; they know neither losses nor storage classes.

Every array of whole numbers here is float64: sums and products of whole numbers below 2**53 are exact in any order,
so nothing in this module has a rounding error that could depend on other rows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = [
    "csr_back",
    "csr_back_many",
    "csr_clipped_back",
    "csr_gram",
    "csr_margins",
    "csr_margins_many",
    "csr_norms",
    "csr_real_norms",
    "csr_to_grid",
    "dense_clipped_back",
    "dense_norms",
    "dense_real_norms",
    "dense_to_grid",
    "shrink_rows",
]

Array = NDArray[Any]

# Shrinks every non-zero whole number below 2**40 by at least one unit, once truncated.
_NUDGE = 1.0 - 2.0**-40


@njit(cache=True, nogil=True)
def _shrink_l1(row: Array, limit: float) -> None:
    total = 0.0
    for j in range(row.size):
        total += abs(row[j])
    if total <= limit:
        return
    factor = limit / total
    while total > limit:
        total = 0.0
        for j in range(row.size):
            row[j] = math.trunc(row[j] * factor)
            total += abs(row[j])
        factor = _NUDGE


@njit(cache=True, nogil=True)
def _shrink_l2(row: Array, limit: float) -> None:
    # With limit <= 2**26 a true sum of squares within limit**2 is summed exactly, and one beyond is seen as beyond.
    square = limit * limit
    total = 0.0
    for j in range(row.size):
        total += row[j] * row[j]
    if total <= square:
        return
    # One unit short of the limit and rounded to the nearest, which hardly ever is too long and has no bias toward zero;
    # what is too long all the same loses a unit in every entry, until it isn't.
    factor = max(limit - 1.0, 0.0) / math.sqrt(total)
    total = 0.0
    for j in range(row.size):
        row[j] = np.rint(row[j] * factor)
        total += row[j] * row[j]
    while total > square:
        total = 0.0
        for j in range(row.size):
            row[j] = math.trunc(row[j] * _NUDGE)
            total += row[j] * row[j]


@njit(cache=True, nogil=True)
def shrink_rows(rows: Array, limits: Array, order: int) -> None:
    """Scale rows of whole numbers toward zero until the l1 (`order` 1) or l2 norm of each is within its limit."""
    for i in range(rows.shape[0]):
        if order == 1:
            _shrink_l1(rows[i], limits[i])
        else:
            _shrink_l2(rows[i], limits[i])


@njit(cache=True, nogil=True)
def _round_row(row: Array, factor: float) -> None:
    """Multiply by a power of two and round; a row with gigantic entries is first scaled, its direction kept."""
    top = 0.0
    for j in range(row.size):
        top = max(top, abs(row[j]))
    limit = 2.0**30 / factor
    if top > limit:
        for j in range(row.size):
            row[j] = np.rint(row[j] / top * 2.0**30)
    else:
        for j in range(row.size):
            row[j] = np.rint(row[j] * factor)


@njit(cache=True, nogil=True)
def _norms(row: Array) -> tuple[float, float, float]:
    l1 = 0.0
    square = 0.0
    top = 0.0
    for j in range(row.size):
        a = abs(row[j])
        l1 += a
        square += a * a
        top = max(top, a)
    return l1, math.ceil(math.sqrt(square)), top


@njit(cache=True, nogil=True)
def dense_to_grid(
    x: Array, factor: float, caps: Array, linf: float, l1: float, l2: float, constant: float, out: Array
) -> None:
    """Put real rows on the grid and clip each in whole numbers; `out` may have one more column, for a constant.

    `caps` (one bound per column, or empty), `linf`, `l1`, `l2` are bounds in grid units (infinity: no bound).
    """
    p = x.shape[1]
    for i in range(x.shape[0]):
        row = out[i, :p]
        for j in range(p):
            row[j] = x[i, j]
        if linf < np.inf or caps.size:
            # per-entry bounds clip entry by entry: a gigantic entry must not flatten its neighbours
            for j in range(p):
                cap = min(linf, caps[j]) if caps.size else linf
                row[j] = min(max(np.rint(row[j] * factor), -cap), cap)
        else:
            _round_row(row, factor)
        if l1 < np.inf:
            _shrink_l1(row, l1)
        if l2 < np.inf:
            _shrink_l2(row, l2)
        if out.shape[1] > p:
            out[i, p] = constant


@njit(cache=True, nogil=True)
def csr_to_grid(
    indptr: Array,
    indices: Array,
    data: Array,
    factor: float,
    caps: Array,
    linf: float,
    l1: float,
    l2: float,
    extra: int,
    column: int,
    constant: float,
    out_indptr: Array,
    out_indices: Array,
    out_data: Array,
) -> None:
    """The sparse form of :func:`dense_to_grid`; with ``extra=1`` every row gets `constant` in column `column`."""
    for i in range(indptr.size - 1):
        a, b = indptr[i], indptr[i + 1]
        start = a + extra * i
        row = out_data[start : start + (b - a)]
        for j in range(b - a):
            row[j] = data[a + j]
            out_indices[start + j] = indices[a + j]
        if linf < np.inf or caps.size:
            for j in range(b - a):
                cap = min(linf, caps[indices[a + j]]) if caps.size else linf
                row[j] = min(max(np.rint(row[j] * factor), -cap), cap)
        else:
            _round_row(row, factor)
        if l1 < np.inf:
            _shrink_l1(row, l1)
        if l2 < np.inf:
            _shrink_l2(row, l2)
        end = start + (b - a)
        if extra:
            out_indices[end] = column
            out_data[end] = constant
            end += 1
        out_indptr[i + 1] = end


@njit(cache=True, nogil=True)
def dense_norms(rows: Array, out: Array) -> None:
    """The l1, (rounded up) l2 and maximum norm of each row of whole numbers, into ``out[:, 0:3]``."""
    for i in range(rows.shape[0]):
        out[i, 0], out[i, 1], out[i, 2] = _norms(rows[i])


@njit(cache=True, nogil=True)
def csr_norms(indptr: Array, data: Array, out: Array) -> None:
    """The sparse form of :func:`dense_norms`."""
    for i in range(indptr.size - 1):
        out[i, 0], out[i, 1], out[i, 2] = _norms(data[indptr[i] : indptr[i + 1]])


# In the CSR loops below `indptr` and `indices` are unsigned: signed ones would be checked for counting from the end.
_ONE = np.uint64(1)
_TWO = np.uint64(2)
_THREE = np.uint64(3)
_FOUR = np.uint64(4)


@njit(cache=True, nogil=True)
def csr_margins(indptr: Array, indices: Array, data: Array, theta: Array, a: int, b: int, out: Array) -> None:
    """``rows[a:b] @ theta``.  Four partial sums: exact in whole numbers, and the processor needn't wait for each."""
    first = np.uint64(a)
    for i in range(np.uint64(b - a)):
        k, end = indptr[first + i], indptr[first + i + _ONE]
        fours = k + (end - k) // _FOUR * _FOUR
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        while k < fours:
            s0 += data[k] * theta[indices[k]]
            s1 += data[k + _ONE] * theta[indices[k + _ONE]]
            s2 += data[k + _TWO] * theta[indices[k + _TWO]]
            s3 += data[k + _THREE] * theta[indices[k + _THREE]]
            k += _FOUR
        while k < end:
            s0 += data[k] * theta[indices[k]]
            k += _ONE
        out[i] = (s0 + s1) + (s2 + s3)


@njit(cache=True, nogil=True)
def csr_margins_many(indptr: Array, indices: Array, data: Array, theta: Array, a: int, b: int, out: Array) -> None:
    """``rows[a:b] @ theta`` for a matrix of several columns."""
    first = np.uint64(a)
    for i in range(np.uint64(b - a)):
        for c in range(theta.shape[1]):
            out[i, c] = 0.0
        for k in range(indptr[first + i], indptr[first + i + _ONE]):
            for c in range(theta.shape[1]):
                out[i, c] += data[k] * theta[indices[k], c]


@njit(cache=True, nogil=True)
def csr_back(indptr: Array, indices: Array, data: Array, r: Array, a: int, b: int, out: Array) -> None:
    """Add ``r @ rows[a:b]`` to `out`.  Columns differ within a row, so four may be read before any is written."""
    first = np.uint64(a)
    for i in range(np.uint64(b - a)):
        v = r[i]
        k, end = indptr[first + i], indptr[first + i + _ONE]
        fours = k + (end - k) // _FOUR * _FOUR
        while k < fours:
            j0, j1, j2, j3 = indices[k], indices[k + _ONE], indices[k + _TWO], indices[k + _THREE]
            s0, s1 = out[j0] + v * data[k], out[j1] + v * data[k + _ONE]
            s2, s3 = out[j2] + v * data[k + _TWO], out[j3] + v * data[k + _THREE]
            out[j0], out[j1], out[j2], out[j3] = s0, s1, s2, s3
            k += _FOUR
        while k < end:
            out[indices[k]] += v * data[k]
            k += _ONE


@njit(cache=True, nogil=True)
def csr_back_many(indptr: Array, indices: Array, data: Array, r: Array, a: int, b: int, out: Array) -> None:
    """Add ``rows[a:b].T @ r`` to `out`, for residuals of several columns."""
    first = np.uint64(a)
    for i in range(np.uint64(b - a)):
        for k in range(indptr[first + i], indptr[first + i + _ONE]):
            for c in range(r.shape[1]):
                out[indices[k], c] += r[i, c] * data[k]


@njit(cache=True, nogil=True)
def _capped(v: float, cap: float, drop: bool) -> float:
    if abs(v) <= cap:
        return v
    if drop:
        return 0.0
    return cap if v > 0 else -cap


@njit(cache=True, nogil=True)
def dense_clipped_back(rows: Array, r: Array, caps: Array, drop: bool, out: Array) -> None:
    """Add the sum of ``clip(r[i] * rows[i, j], caps[j])`` to `out`, entry by entry."""
    for i in range(rows.shape[0]):
        if r[i] != 0.0:
            for j in range(rows.shape[1]):
                out[j] += _capped(r[i] * rows[i, j], caps[j], drop)


@njit(cache=True, nogil=True)
def csr_clipped_back(
    indptr: Array, indices: Array, data: Array, r: Array, caps: Array, drop: bool, a: int, b: int, out: Array
) -> None:
    """The sparse form of :func:`dense_clipped_back`."""
    first = np.uint64(a)
    for i in range(np.uint64(b - a)):
        v = r[i]
        if v != 0.0:
            for k in range(indptr[first + i], indptr[first + i + _ONE]):
                out[indices[k]] += _capped(v * data[k], caps[indices[k]], drop)


@njit(cache=True, nogil=True)
def csr_gram(indptr: Array, indices: Array, data: Array, scale: Array, whole: bool, a: int, b: int, out: Array) -> None:
    """Add ``S.T @ S`` to `out` (its upper triangle), with `S` the rows ``a:b`` times `scale`, truncated when `whole`.

    `scale` may be empty for ones.  Columns rise within a row.
    """
    first = np.uint64(a)
    for i in range(np.uint64(b - a)):
        start, end = indptr[first + i], indptr[first + i + _ONE]
        s = scale[i] if scale.size else 1.0
        for k in range(start, end):
            v = data[k] * s
            if whole:
                v = math.trunc(v)
            if v != 0.0:
                for m in range(k, end):
                    u = data[m] * s
                    if whole:
                        u = math.trunc(u)
                    out[indices[k], indices[m]] += v * u


@njit(cache=True, nogil=True)
def _real_norms(row: Array) -> tuple[float, float, float]:
    """Norms of a real row in a fixed order and without overflow; zeros in between change nothing."""
    top = 0.0
    for j in range(row.size):
        top = max(top, abs(row[j]))
    if top == 0.0:
        return 0.0, 0.0, 0.0
    l1 = 0.0
    square = 0.0
    for j in range(row.size):
        a = abs(row[j]) / top
        l1 += a
        square += a * a
    return l1 * top, math.sqrt(square) * top, top


@njit(cache=True, nogil=True)
def dense_real_norms(x: Array, out: Array) -> None:
    """The l1, l2 and maximum norm of each row of real numbers, into ``out[:, 0:3]``."""
    for i in range(x.shape[0]):
        out[i, 0], out[i, 1], out[i, 2] = _real_norms(x[i])


@njit(cache=True, nogil=True)
def csr_real_norms(indptr: Array, data: Array, out: Array) -> None:
    """The sparse form of :func:`dense_real_norms`."""
    for i in range(indptr.size - 1):
        out[i, 0], out[i, 1], out[i, 2] = _real_norms(data[indptr[i] : indptr[i + 1]])
