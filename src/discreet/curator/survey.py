"""Histograms of raw rows, before any bound is known: what private bounds are bought from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import kernels
from discreet.curator.curator import Curator
from discreet.curator.grid import RowBounds
from discreet.curator.statistics import ONE_BIN, public_edges
from discreet.curator.storage import curator_of
from discreet.curator.tables import Block, Table, open_table
from discreet.privacy import Bounded, Contribution, Neighbours, PrivacyError, isqrt_up

__all__ = ["Survey", "make_survey"]

Floats = NDArray[np.float64]

PRESENCE_STEPS = 1024
TILE = 4096


class Survey:
    """Raw rows in a curator's care, with no bounds yet: they can be counted and binned, never summed.

    Made by :func:`make_survey`.  :meth:`curator` puts bounds on the same rows.

    Notes
    -----
    *Privacy.* Guarantee: every answer is sealed.  Neighbours: `neighbors`.  Public: column count, edges, classes.
    Bounded by: a row is in one bin per histogram.  Proof: ``proofs/sensitivity.md``.

    Examples
    --------
    >>> import numpy as np
    >>> survey = make_survey(np.eye(3), np.array([0, 1, 1]))
    >>> survey.norm_histogram([0.5, 2.0])
    <Bounded: shape (3,), Contribution(l1=1, l2=1, linf=1, monotone=True), contents withheld>
    >>> survey.curator(RowBounds(l2=1)).n_weights
    3
    """

    def __init__(self, table: Table, neighbors: Neighbours | str, n_threads: int = 1) -> None:
        self._table = table
        self.neighbors = Neighbours.of(neighbors)
        self._n_threads = n_threads

    def __repr__(self) -> str:
        return f"<Survey: {self.n_features} features, neighbors={self.neighbors.value!r}, rows withheld>"

    def __reduce_ex__(self, _: object) -> Any:
        raise PrivacyError("a survey holds private rows and can't be pickled or copied")

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self._table.n_features

    @property
    def sparse(self) -> bool:
        """Whether rows are stored sparsely, so that zeros must stay zeros."""
        return any(piece().sparse for piece in self._table.pieces()[:1])

    @property
    def n_rows(self) -> int:
        """The number of rows, where it is public."""
        if not self.neighbors.public_n:
            raise PrivacyError("the number of rows is private here (neighbors='add_remove'); buy a noisy count()")
        return sum(block.n for block in self._blocks())

    def curator(self, bounds: RowBounds) -> Curator:
        """The same rows under bounds."""
        return curator_of(self._table, bounds, self.neighbors, self._n_threads)

    def _blocks(self) -> Iterator[Block]:
        for piece in self._table.pieces():
            yield piece()

    def _tiles(self) -> Iterator[tuple[Block, slice, NDArray[np.int64]]]:
        """Tiles of rows, with the places (within the tile) of those of positive weight."""
        for block in self._blocks():
            for a in range(0, block.n, TILE):
                at = slice(a, min(a + TILE, block.n))
                live = np.ones(at.stop - a, dtype=np.bool_) if block.weight is None else block.weight[at] > 0
                yield block, at, np.flatnonzero(live)

    def _counted(self, shape: tuple[int, ...], contribution: Contribution, count: Callable[..., Any]) -> Bounded:
        total = np.zeros(shape, dtype=np.int64)
        for block, at, live in self._tiles():
            total += count(block, at, live)
        return Bounded(total.reshape(-1), contribution, Fraction(1), self.neighbors)

    def count(self) -> Bounded:
        """The number of rows of positive weight.

        >>> import numpy as np
        >>> make_survey(np.eye(3)).count().sensitivity("l1")
        1
        """
        return self._counted((1,), ONE_BIN, lambda block, at, live: live.size)

    def norm_histogram(self, edges: ArrayLike, norm: str = "l2", scale: ArrayLike = 1.0) -> Bounded:
        """How many rows have a norm (of ``x / scale``) below the first edge, between edges, above the last.

        >>> import numpy as np
        >>> make_survey(np.eye(3)).norm_histogram([1.0, 10.0], norm="linf").shape
        (3,)
        """
        columns = {"l1": 0, "l2": 1, "linf": 2}
        if norm not in columns:
            raise ValueError(f"norm={norm!r} is not one of {sorted(columns)}")
        cuts, divisor = public_edges(edges), _scale(scale, self.n_features)

        def count(block: Block, at: slice, live: NDArray[np.int64]) -> Any:
            norms = _norms(block, at, divisor)[live, columns[norm]]
            return np.bincount(np.searchsorted(cuts, norms, side="right"), minlength=cuts.size + 1)

        return self._counted((cuts.size + 1,), ONE_BIN, count)

    def column_histogram(
        self,
        edges: ArrayLike,
        column: int | None = None,
        absolute: bool = False,
        centre: ArrayLike = 0.0,
        scale: ArrayLike = 1.0,
    ) -> Bounded:
        """For each column (or one), how many rows have ``(x - centre) / scale`` in each bin; column by column.

        A row is in one bin of every column, so the l2 bound grows with the root of the number of columns.

        >>> import numpy as np
        >>> h = make_survey(np.eye(4)).column_histogram([0.5])
        >>> h.shape, h.sensitivity("l2")
        ((8,), 2)
        """
        cuts = public_edges(edges)
        chosen = list(range(self.n_features)) if column is None else [int(column)]
        p, bins = len(chosen), cuts.size + 1
        zero = int(np.searchsorted(cuts, 0.0, side="right"))
        offset, divisor = (
            np.broadcast_to(np.asarray(v, dtype=np.float64), (self.n_features,)) for v in (centre, scale)
        )
        if not np.isfinite(offset).all() or not np.isfinite(divisor).all() or not (divisor > 0).all():
            raise ValueError("centre and scale must be finite, and scale positive")

        def place(x: Floats) -> NDArray[np.int64]:
            return np.searchsorted(cuts, np.abs(x) if absolute else x, side="right")

        def count(block: Block, at: slice, live: NDArray[np.int64]) -> Any:
            part = block.X[at][live]
            if not block.sparse:
                x = (np.asarray(part[:, chosen], dtype=np.float64) - offset[chosen]) / divisor[chosen]
                return np.bincount((place(x) + bins * np.arange(p)).ravel(), minlength=p * bins).reshape(p, bins)
            if offset.any():
                raise ValueError("sparse columns have no centre: their zeros aren't stored")
            part = part.tocsc()[:, chosen].tocoo()
            out = np.bincount(
                place(part.data / divisor[chosen][part.col]) + bins * part.col.astype(np.int64), minlength=p * bins
            ).reshape(p, bins)
            out[:, zero] += live.size - np.bincount(part.col, minlength=p)
            return out

        return self._counted((p, bins), Contribution(l1=p, l2=isqrt_up(p), linf=1, monotone=True), count)

    def target_histogram(self, edges: ArrayLike, absolute: bool = False) -> Bounded:
        """How many targets are in each bin that public edges make.

        >>> import numpy as np
        >>> make_survey(np.eye(3), np.arange(3)).target_histogram([0.5, 1.5]).shape
        (3,)
        """
        cuts = public_edges(edges)

        def count(block: Block, at: slice, live: NDArray[np.int64]) -> Any:
            y = _targets(block)[at][live]
            return np.bincount(
                np.searchsorted(cuts, np.abs(y) if absolute else y, side="right"), minlength=cuts.size + 1
            )

        return self._counted((cuts.size + 1,), ONE_BIN, count)

    def label_histogram(self, classes: ArrayLike) -> Bounded:
        """How many rows have each of the public classes; other labels count nowhere.

        >>> import numpy as np
        >>> make_survey(np.eye(3), np.arange(3)).label_histogram([0, 1]).shape
        (2,)
        """
        labels = np.asarray(classes, dtype=np.float64)
        if labels.ndim != 1 or np.unique(labels).size != labels.size:
            raise ValueError("classes must be a vector of different public labels")
        order = np.argsort(labels)

        def count(block: Block, at: slice, live: NDArray[np.int64]) -> Any:
            y = _targets(block)[at][live]
            place = np.minimum(np.searchsorted(labels, y, sorter=order), labels.size - 1)
            found = order[place]
            return np.bincount(found[labels[found] == y], minlength=labels.size)

        return self._counted((labels.size,), ONE_BIN, count)

    def column_presence(self, cap: int) -> Bounded:
        """For each column the number of rows with a non-zero entry there (document frequencies).

        A row with more than `cap` entries counts for ``sqrt(cap / entries)`` in each, so that its l2 norm is at most
        ``sqrt(cap)``; one row's count is 1024 units.

        >>> import numpy as np
        >>> h = make_survey(np.eye(200)).column_presence(cap=100)
        >>> float(h.sensitivity("l2") * h.unit), h.sensitivity("linf")
        (10.0, 1024)
        """
        if cap < 1:
            raise ValueError(f"cap={cap!r} must be at least 1")
        most = cap * PRESENCE_STEPS**2

        def count(block: Block, at: slice, live: NDArray[np.int64]) -> Any:
            part = block.X[at][live]
            if block.sparse:
                part = part.copy()
                part.eliminate_zeros()
                entries = part.indptr[1:] - part.indptr[:-1]
                where = part.indices
            else:
                present = part != 0
                entries = present.sum(axis=1)
                where = np.nonzero(present)[1]
            share = np.minimum(np.floor(np.sqrt(most / np.maximum(entries, 1))), PRESENCE_STEPS).astype(np.int64)
            share -= entries * share * share > most
            return np.bincount(where, weights=np.repeat(share, entries), minlength=self.n_features).astype(np.int64)

        bound = Contribution(l2=isqrt_up(most), linf=PRESENCE_STEPS, monotone=True)
        return self._counted((self.n_features,), bound, count).scaled(Fraction(1, PRESENCE_STEPS))


def _scale(scale: ArrayLike, p: int) -> Floats | None:
    s = np.asarray(scale, dtype=np.float64)
    if s.shape not in ((), (1,), (p,)) or not (np.isfinite(s).all() and (s > 0).all()):
        raise ValueError(f"scale must be positive and finite, one number or {p}")
    return None if s.ndim == 0 and s == 1.0 else np.broadcast_to(s, (p,)).copy()


def _norms(block: Block, at: slice, scale: Floats | None) -> Floats:
    x = block.X[at]
    out = np.empty((at.stop - at.start, 3))
    with np.errstate(over="ignore"):
        if block.sparse:
            kernels.csr_real_norms(x.indptr, x.data if scale is None else x.data / scale[x.indices], out)
        else:
            z = np.ascontiguousarray(x, dtype=np.float64)
            kernels.dense_real_norms(z if scale is None else z / scale, out)
    return out


def _targets(block: Block) -> Floats:
    if block.y is None:
        raise ValueError("this histogram needs targets: build the survey with y")
    return block.y


def make_survey(
    X: Any,
    y: Any = None,
    *,
    neighbors: Neighbours | str = Neighbours.ZERO_OUT,
    sample_weight: Any = None,
    n_threads: int = 1,
) -> Survey:
    """Put rows without known bounds in a curator's care; the arguments are those of :func:`make_curator`.

    Examples
    --------
    >>> import numpy as np
    >>> make_survey(np.eye(3))
    <Survey: 3 features, neighbors='zero_out', rows withheld>
    """
    return Survey(open_table(X, y, sample_weight), neighbors, n_threads)
