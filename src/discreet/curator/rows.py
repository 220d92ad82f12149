"""Rows on the grid, dense or CSR: the four products that every statistic is made of, tile by tile."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet import kernels
from discreet.curator.grid import TARGET_BITS, WEIGHT_STEPS, Grid, power_of_two
from discreet.curator.tables import Block

__all__ = ["DenseRows", "Rows", "SparseRows", "fill_dense", "place_targets", "standardise", "to_grid"]

Floats = NDArray[np.float64]


class Rows(ABC):
    """Whole-number rows held in float64, with targets and whole-number weights.

    Everything is done on *tiles* ``[a, b)`` of rows that fit in cache; the size of a tile is public.
    """

    n: int
    p: int
    tile_rows: int
    y: Floats | None
    w: Floats | None  # whole steps of the weight grid; None: every weight is one
    _norms: Floats | None = None

    def tiles(self) -> Iterator[tuple[int, int]]:
        """The tiles, in order."""
        for a in range(0, self.n, self.tile_rows):
            yield a, min(a + self.tile_rows, self.n)

    @property
    def norms(self) -> Floats:
        """Norms of each row in units, columns l1, l2 (rounded up) and maximum; worked out once."""
        if self._norms is None:
            out = np.empty((self.n, 3))
            self._fill_norms(out)
            self._norms = out
        return self._norms

    @abstractmethod
    def _fill_norms(self, out: Floats) -> None: ...

    @abstractmethod
    def margins(self, a: int, b: int, theta: Floats) -> Floats:
        """``rows[a:b] @ theta`` for a vector or a matrix."""

    @abstractmethod
    def back(self, a: int, b: int, r: Floats, out: Floats) -> None:
        """Add ``rows[a:b].T @ r`` to `out`, for a vector or a matrix."""

    @abstractmethod
    def clipped_back(self, a: int, b: int, r: Floats, caps: Floats, drop: bool, out: Floats) -> None:
        """Add the sum of ``clip(r[i] * rows[i, j], caps[j])`` to `out`."""

    @abstractmethod
    def gram(self, a: int, b: int, scale: Floats | None, out: Floats, *, whole: bool = True) -> None:
        """Add ``S.T @ S`` to the upper triangle of `out`, for ``S = trunc(scale * rows[a:b])`` (or not truncated)."""

    @abstractmethod
    def column(self, j: int) -> tuple[Any, Floats]:
        """Where column `j` is non-zero (an index array, or a slice for all rows) and its entries there."""

    @abstractmethod
    def take(self, index: NDArray[np.int64]) -> Rows:
        """A copy of some rows."""

    @abstractmethod
    def mapped(self, matrix: Floats) -> Floats:
        """All rows times a whole-number matrix, dense."""

    def _side(self, index: NDArray[np.int64]) -> tuple[Floats | None, Floats | None]:
        return None if self.y is None else self.y[index], None if self.w is None else self.w[index]


class DenseRows(Rows):
    """Rows in a C-contiguous float64 matrix."""

    def __init__(self, K: Floats, y: Floats | None, w: Floats | None) -> None:
        self.K, self.y, self.w = K, y, w
        self.n, self.p = K.shape
        self.tile_rows = dense_tile(self.p)
        self._columns: Floats | None = None

    def _fill_norms(self, out: Floats) -> None:
        kernels.dense_norms(self.K, out)

    def margins(self, a: int, b: int, theta: Floats) -> Floats:
        return np.asarray(self.K[a:b] @ theta)

    def back(self, a: int, b: int, r: Floats, out: Floats) -> None:
        out += self.K[a:b].T @ r

    def clipped_back(self, a: int, b: int, r: Floats, caps: Floats, drop: bool, out: Floats) -> None:
        kernels.dense_clipped_back(self.K[a:b], r, caps, drop, out)

    def gram(self, a: int, b: int, scale: Floats | None, out: Floats, *, whole: bool = True) -> None:
        tile = self.K[a:b]
        if scale is not None:
            tile = tile * scale[:, None]
            if whole:
                np.trunc(tile, out=tile)
        out += tile.T @ tile

    def column(self, j: int) -> tuple[Any, Floats]:
        if self._columns is None:
            self._columns = np.asfortranarray(self.K)
        return slice(None), self._columns[:, j]

    def take(self, index: NDArray[np.int64]) -> DenseRows:
        return DenseRows(self.K[index], *self._side(index))

    def mapped(self, matrix: Floats) -> Floats:
        return np.asarray(self.K @ matrix)


_UNSIGNED = {np.dtype(np.int32): np.uint32, np.dtype(np.int64): np.uint64}


class SparseRows(Rows):
    """Rows in compressed sparse row form, column indices sorted."""

    tile_rows = 4096

    def __init__(
        self, indptr: NDArray[Any], indices: NDArray[Any], data: Floats, p: int, y: Floats | None, w: Floats | None
    ) -> None:
        # unsigned, which spares the compiled loops the check for indices that count from the end
        self.indptr, self.indices, self.data = indptr.astype(np.uint64), indices.view(_UNSIGNED[indices.dtype]), data
        self.n, self.p, self.y, self.w = len(indptr) - 1, p, y, w
        self._columns: sp.csc_array | None = None

    @property
    def _csr(self) -> tuple[NDArray[Any], NDArray[Any], Floats]:
        return self.indptr, self.indices, self.data

    def _matrix(self) -> sp.csr_array:
        signed = self.indices.view(f"i{self.indices.itemsize}"), self.indptr.view(np.int64)
        return sp.csr_array((self.data, *signed), shape=(self.n, self.p))

    def _fill_norms(self, out: Floats) -> None:
        kernels.csr_norms(self.indptr, self.data, out)

    def margins(self, a: int, b: int, theta: Floats) -> Floats:
        out = np.empty((b - a, *theta.shape[1:]))
        (kernels.csr_margins if theta.ndim == 1 else kernels.csr_margins_many)(*self._csr, theta, a, b, out)
        return out

    def back(self, a: int, b: int, r: Floats, out: Floats) -> None:
        (kernels.csr_back if r.ndim == 1 else kernels.csr_back_many)(*self._csr, r, a, b, out)

    def clipped_back(self, a: int, b: int, r: Floats, caps: Floats, drop: bool, out: Floats) -> None:
        kernels.csr_clipped_back(*self._csr, r, caps, drop, a, b, out)

    def gram(self, a: int, b: int, scale: Floats | None, out: Floats, *, whole: bool = True) -> None:
        scales = np.zeros(0) if scale is None else np.ascontiguousarray(scale)
        kernels.csr_gram(*self._csr, scales, whole, a, b, out)

    def column(self, j: int) -> tuple[Any, Floats]:
        if self._columns is None:
            self._columns = self._matrix().tocsc()
        c = self._columns
        a, b = c.indptr[j], c.indptr[j + 1]
        return c.indices[a:b], c.data[a:b]

    def take(self, index: NDArray[np.int64]) -> SparseRows:
        m = self._matrix()[index]
        return SparseRows(m.indptr, m.indices, m.data, self.p, *self._side(index))

    def mapped(self, matrix: Floats) -> Floats:
        return np.asarray(self._matrix() @ matrix)


def dense_tile(p: int) -> int:
    """Rows per tile: about four megabytes, from the public column count alone."""
    return 1 << max(6, min(13, math.floor(math.log2(2**19 / max(p, 1)))))


def place_targets(y: Floats | None, grid: Grid) -> Floats | None:
    """Targets clipped to their public range and put on a grid, or class codes as they are."""
    if y is None:
        return None
    if grid.bounds.y is None:
        if not np.array_equal(y, np.rint(y)) or np.abs(y).max(initial=0) >= 2**31:
            raise ValueError("real-valued targets need a public range: give RowBounds(y=(low, high))")
        return y
    low, high = grid.bounds.y
    unit = float(power_of_two(max(abs(low), abs(high)))) / 2**TARGET_BITS
    on_grid: Floats = np.clip(np.rint(np.clip(y - grid.bounds.y_centre, low, high) / unit) * unit, low, high)
    return on_grid


def _weights(weight: Floats | None, grid: Grid) -> Floats | None:
    """Whole steps of the weight grid, at most the public cap."""
    if weight is None:
        return None
    return np.minimum(np.rint(np.minimum(weight, grid.bounds.weight) / float(grid.weight_unit)), WEIGHT_STEPS)


def _kernel_bounds(grid: Grid) -> tuple[float, Floats, float, float, float]:
    return grid.factor, grid.caps, grid.row_linf, grid.row_l1, grid.row_l2


def standardise(x: NDArray[Any], grid: Grid) -> Floats:
    """``(clip(x, low, high) - centre) / scale`` for one tile; single operations, so entry by entry."""
    b = grid.bounds
    z = np.array(x, dtype=np.float64, order="C")
    if b.low is not None:
        np.clip(z, b.low, b.high, out=z)
    if b.centred or np.any(b.scale != 1.0):
        with np.errstate(over="ignore"):
            z -= b.centre if b.centre is not None else 0.0
            z /= b.scale
        np.clip(z, -1e300, 1e300, out=z)
    return z


def to_grid(block: Block, grid: Grid) -> Rows:
    """Put raw rows on the grid and clip every one of them in whole numbers."""
    y, w = place_targets(block.y, grid), _weights(block.weight, grid)
    return _sparse_to_grid(block.X, grid, y, w) if block.sparse else _dense_to_grid(block.X, grid, y, w)


def fill_dense(x: NDArray[Any], grid: Grid, out: Floats) -> None:
    """Standardise real rows, put them on the grid and clip them, into `out`."""
    factor, caps, linf, l1, l2 = _kernel_bounds(grid)
    kernels.dense_to_grid(standardise(x, grid), factor, caps, linf, l1, l2, float(grid.constant), out)


def _dense_to_grid(X: NDArray[Any], grid: Grid, y: Floats | None, w: Floats | None) -> DenseRows:
    n, step = X.shape[0], dense_tile(grid.n_weights)
    K = np.empty((n, grid.n_weights))
    for a in range(0, n, step):
        fill_dense(X[a : a + step], grid, K[a : a + step])
    return DenseRows(K, y, w)


def _sparse_to_grid(X: Any, grid: Grid, y: Floats | None, w: Floats | None) -> SparseRows:
    b = grid.bounds
    if b.centred:
        raise ValueError("centring would fill in a sparse matrix; give RowBounds(centre=0) or bounds around 0")
    data = X.data
    if b.low is not None:
        if (b.low > 0).any() or (b.high < 0).any():
            raise ValueError("bounds of sparse features must include 0, or clipping would fill the matrix in")
        low, high = (np.broadcast_to(v, (grid.n_features,)) for v in (b.low, b.high))
        data = np.clip(data, low[X.indices], high[X.indices])
    if np.any(b.scale != 1.0):
        with np.errstate(over="ignore"):
            data = data / np.broadcast_to(b.scale, (grid.n_features,))[X.indices]
        data = np.clip(data, -1e300, 1e300)
    extra = 1 if grid.constant else 0
    size = X.nnz + extra * X.shape[0]
    index = np.int32 if max(size, grid.n_weights) < 2**31 else np.int64
    indptr = np.zeros(X.shape[0] + 1, dtype=index)
    indices, out = np.empty(size, dtype=index), np.empty(size)
    kernels.csr_to_grid(
        X.indptr, X.indices, data, *_kernel_bounds(grid), extra, grid.n_features, float(grid.constant), indptr,
        indices, out,
    )  # fmt: skip
    return SparseRows(indptr, indices, out, grid.n_weights, y, w)
