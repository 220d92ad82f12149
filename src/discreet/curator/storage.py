"""Where a curator's rows live: in memory (dense or CSR), or in pieces that are made when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from discreet.curator.base import MAX_ROWS, CuratorCore
from discreet.curator.curator import Curator
from discreet.curator.grid import Grid, RowBounds
from discreet.curator.rows import DenseRows, Rows, SparseRows, to_grid
from discreet.curator.tables import Block, Table, open_table
from discreet.privacy import Neighbours

__all__ = ["ChunkedCurator", "DenseCurator", "MappedCurator", "SparseCurator", "ViewCurator", "make_curator"]

CACHE_BYTES = 2**30


class ViewCurator(Curator):
    """Rows on the grid, held in memory: a whole table, a random batch or a part."""

    def __init__(
        self,
        pieces: Sequence[Rows],
        grid: Grid,
        neighbors: Neighbours | str,
        *,
        n_threads: int = 1,
        private_n: bool = False,
        rate: float = 1.0,
    ) -> None:
        super().__init__(grid, neighbors, n_threads=n_threads, private_n=private_n, rate=rate)
        self._pieces = list(pieces)
        _few_enough(self._count())

    def _segments(self) -> Iterator[Rows]:
        yield from self._pieces

    def _count(self) -> int:
        return sum(rows.n for rows in self._pieces)


class DenseCurator(ViewCurator):
    """Rows of a dense matrix in memory; made by :func:`make_curator`.

    Notes
    -----
    *Privacy.* As for every :class:`Curator`.  Guarantee: every answer is sealed.  Neighbours: the relation it was built
    with.  Public: bounds, column count.  Bounded by: whole-number clipping of each row.  Proof: ``proofs/curator.md``.

    Examples
    --------
    >>> import numpy as np
    >>> type(make_curator(np.eye(2), bounds=RowBounds(l2=1))).__name__
    'DenseCurator'
    """


class SparseCurator(ViewCurator):
    """Rows of a sparse matrix in memory, as CSR; made by :func:`make_curator`.

    Notes
    -----
    *Privacy.* As for every :class:`Curator`.  Guarantee: every answer is sealed.  Neighbours: the relation it was built
    with.  Public: bounds, column count.  Bounded by: whole-number clipping of each row.  Proof: ``proofs/curator.md``.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> type(make_curator(sp.eye_array(2, format="csc"), bounds=RowBounds(l2=1))).__name__
    'SparseCurator'
    """


class LazyCurator(Curator):
    """Rows made piece by piece when they are needed, and kept while they fit in a gigabyte."""

    def __init__(self, makers: Sequence[Callable[[], Rows]], grid: Grid, neighbors: Neighbours, **more: Any) -> None:
        super().__init__(grid, neighbors, **more)
        self._makers = makers
        self._kept: dict[int, Rows] = {}
        self._bytes = 0
        self._n: int | None = None

    def _segments(self) -> Iterator[Rows]:
        n = 0
        for i, make in enumerate(self._makers):
            rows = self._kept[i] if i in self._kept else make()
            if i not in self._kept and self._bytes + _size(rows) <= CACHE_BYTES:
                self._kept[i] = rows
                self._bytes += _size(rows)
            n += rows.n
            _few_enough(n)
            yield rows
        self._n = n

    def _count(self) -> int:
        if self._n is None:
            for _ in self._segments():
                pass
        assert self._n is not None
        return self._n


class ChunkedCurator(LazyCurator):
    """Rows in blocks (a sequence, or Parquet row groups), put on the grid as they are read.

    Notes
    -----
    *Privacy.* As for every :class:`Curator`.  Guarantee: every answer is sealed.  Neighbours: the relation it was built
    with.  Public: bounds, column count.  Bounded by: whole-number clipping of each row.  Proof: ``proofs/curator.md``.

    Examples
    --------
    >>> import numpy as np
    >>> make_curator([(np.eye(2), np.ones(2)), (np.eye(2), np.ones(2))], bounds=RowBounds(l2=1)).n_rows
    4
    """

    def __init__(self, table: Table, grid: Grid, neighbors: Neighbours | str, *, n_threads: int = 1) -> None:
        makers = [partial(_loaded, piece, grid) for piece in table.pieces()]
        super().__init__(makers, grid, Neighbours.of(neighbors), n_threads=n_threads)


class MappedCurator(LazyCurator):
    """Another curator's rows after a public linear map."""

    def __init__(self, parent: CuratorCore, change: Callable[[Rows], Rows], grid: Grid) -> None:
        super().__init__(
            [], grid, parent.neighbors, n_threads=parent.n_threads, private_n=parent._private_n, rate=parent._rate
        )
        self._parent, self._change = parent, change
        self._once, self.part = parent._once, parent.part

    def _segments(self) -> Iterator[Rows]:
        n = 0
        complete = self._n is not None and len(self._kept) == self._pieces
        for i, rows in enumerate(self._kept.values() if complete else self._parent._segments()):
            if complete:
                yield rows
                continue
            out = self._kept[i] if i in self._kept else self._change(rows)
            if i not in self._kept and self._bytes + _size(out) <= CACHE_BYTES:
                self._kept[i] = out
                self._bytes += _size(out)
            n += out.n
            self._pieces = i + 1
            yield out
        self._n = self._n if complete else n

    _pieces = -1


def _loaded(piece: Callable[[], Block], grid: Grid) -> Rows:
    return to_grid(piece(), grid)


def _few_enough(n: int) -> None:
    if n > MAX_ROWS:
        raise ValueError(f"there are more than {MAX_ROWS} rows, the public limit of one curator: use disjoint parts")


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
    return curator_of(open_table(X, y, sample_weight), bounds, neighbors, n_threads)


def curator_of(table: Table, bounds: RowBounds, neighbors: Neighbours | str, n_threads: int) -> Curator:
    """The curator for an opened table."""
    if not table.weighted and bounds.weight != 1.0:
        bounds = replace(bounds, weight=1.0)  # without sample weights every weight is one, and so is their cap
    grid = Grid(bounds, table.n_features)
    if not table.resident:
        return ChunkedCurator(table, grid, neighbors, n_threads=n_threads)
    rows = to_grid(table.pieces()[0](), grid)
    kind = DenseCurator if isinstance(rows, DenseRows) else SparseCurator
    return kind([rows], grid, neighbors, n_threads=n_threads)
