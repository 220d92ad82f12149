"""Where a curator's rows live: in memory (dense or CSR), in chunks read one at a time, or in a view of another curator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from discreet.privacy import Neighbours
from discreet.curator.base import MAX_ROWS
from discreet.curator.curator import Curator
from discreet.curator.grid import Grid, RowBounds
from discreet.curator.rows import DenseRows, Rows, SparseRows, to_grid
from discreet.curator.tables import Table, open_table

__all__ = ["ChunkedCurator", "DenseCurator", "SparseCurator", "make_curator"]

CACHE_BYTES = 2**30


def _few_enough(n: int) -> None:
    if n > MAX_ROWS:
        raise ValueError(f"there are more than {MAX_ROWS} rows, the public limit of one curator: use disjoint parts")


class _MemoryCurator(Curator):
    def __init__(self, rows: Rows, grid: Grid, neighbors: Neighbours | str, *, n_threads: int = 1) -> None:
        super().__init__(grid, neighbors, n_threads=n_threads)
        _few_enough(rows.n)
        self._rows = rows

    def _segments(self) -> Iterator[Rows]:
        yield self._rows

    def _count(self) -> int:
        return self._rows.n


class DenseCurator(_MemoryCurator):
    """Rows of a dense matrix in memory; made by :func:`make_curator`."""


class SparseCurator(_MemoryCurator):
    """Rows of a CSR matrix in memory; made by :func:`make_curator`."""


class ChunkedCurator(Curator):
    """Rows in blocks, put on the grid as they are read; kept in memory while they fit in a gigabyte."""

    def __init__(self, table: Table, grid: Grid, neighbors: Neighbours | str, *, n_threads: int = 1) -> None:
        super().__init__(grid, neighbors, n_threads=n_threads)
        self._table = table
        self._kept: dict[int, Rows] = {}
        self._bytes = 0
        self._n: int | None = None

    def _segments(self) -> Iterator[Rows]:
        if self._n is not None and self._complete:
            yield from (self._kept[i] for i in range(len(self._kept)))
            return
        n, i = 0, -1
        for i, block in enumerate(self._table.blocks()):
            rows = self._kept[i] if i in self._kept else to_grid(block, self.grid)
            if i not in self._kept and self._bytes + _size(rows) <= CACHE_BYTES:
                self._kept[i] = rows
                self._bytes += _size(rows)
            n += rows.n
            yield rows
        _few_enough(n)
        self._n, self._complete = n, len(self._kept) == i + 1

    _complete = False

    def _count(self) -> int:
        if self._n is None:
            for _ in self._segments():
                pass
        assert self._n is not None
        return self._n


def _size(rows: Rows) -> int:
    if isinstance(rows, DenseRows):
        return int(rows.K.nbytes)
    assert isinstance(rows, SparseRows)
    return int(rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes)


def make_curator(
    X: Any,
    y: Any = None,
    *,
    bounds: RowBounds,
    neighbors: Neighbours | str = Neighbours.ZERO_OUT,
    sample_weight: Any = None,
    n_threads: int = 1,
) -> Curator:
    """Put rows in a curator's care.

    Parameters
    ----------
    X : array, sparse matrix, data frame, sequence of blocks, or path
        Rows.  A sequence of blocks ``(X, y)`` or ``(X, y, sample_weight)`` (or of functions that return one, read when
        needed) and a Parquet file or folder (`y` and `sample_weight` then name columns) are read block by block.
    y : array, optional
        Targets: ``-1``/``+1``, class codes, or real numbers with ``bounds.y``.
    bounds : RowBounds
        What is publicly known of a row.
    neighbors : {"zero_out", "replace_one", "add_remove"}
        The neighbouring relation.
    sample_weight : array, optional
        Clipped to ``bounds.weight``.
    n_threads : int, default=1
        Threads; the answers are the same to the last bit for any number.

    Notes
    -----
    *Privacy.* Guarantee: every answer is sealed and carries its exact bound.  Neighbours: `neighbors`.  Public:
    column count, storage type, `bounds`; the number of rows unless ``"add_remove"``.  Bounded by: whole-number
    clipping of each row.  Proof: ``proofs/curator.md``.

    Examples
    --------
    >>> import numpy as np
    >>> make_curator(np.eye(3), bounds=RowBounds(l2=1, intercept=1))
    <DenseCurator: 3 features, neighbors='zero_out', rows withheld>
    """
    table = open_table(X, y, sample_weight)
    return curator_of(table, bounds, neighbors, n_threads)


def curator_of(table: Table, bounds: RowBounds, neighbors: Neighbours | str, n_threads: int) -> Curator:
    """The curator for an opened table."""
    if not table.weighted and bounds.weight != 1.0:
        bounds = replace(bounds, weight=1.0)  # without sample weights every weight is one, and so is their cap
    grid = Grid(bounds, table.n_features)
    if table.resident:
        rows = to_grid(next(table.blocks()), grid)
        kind = DenseCurator if isinstance(rows, DenseRows) else SparseCurator
        return kind(rows, grid, neighbors, n_threads=n_threads)
    return ChunkedCurator(table, grid, neighbors, n_threads=n_threads)


class ViewCurator(Curator):
    """Some rows of another curator: a random batch or a part."""

    def __init__(
        self, pieces: Sequence[Rows], grid: Grid, neighbors: Neighbours, *, n_threads: int, private_n: bool
    ) -> None:
        super().__init__(grid, neighbors, n_threads=n_threads, private_n=private_n)
        self._pieces = pieces

    def _segments(self) -> Iterator[Rows]:
        yield from self._pieces

    def _count(self) -> int:
        return sum(rows.n for rows in self._pieces)
