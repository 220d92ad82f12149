"""Where entries lie: histograms of columns that leave out the bin of zero, where most entries of most tables are.

Rows of one-hot and of sparse tables differ from zero in few places.  Counting only entries that lie in another bin than
zero does makes a row's contribution to all columns together short; the count that is left out is what is missing to
the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.curator.statistics import ONE_BIN, public_edges
from discreet.curator.survey import Survey
from discreet.curator.tables import Block
from discreet.privacy import Bounded, Contribution, isqrt_up

__all__ = ["Places"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
STEPS = 1024  # one entry is worth this many units
TILE_ENTRIES = 2**22  # of a dense block that are looked at in one go


class Places:
    """Public bins of each column, for rows without known bounds.

    Parameters
    ----------
    survey : Survey
        The raw rows.
    edges : array
        Public bin edges of ``(x - centre) / scale``.
    centre, scale : float or array
        Public offset and unit of each column; sparse columns have no centre.

    Notes
    -----
    *Privacy.* Guarantee: every answer is sealed.  Neighbours: the survey's.  Public: bins and `cap`.
    Bounded by: a row is in at most one bin of each column, and counts less where it has more than `cap` entries.
    Proof: ``proofs/private_bounds.md``.

    Examples
    --------
    >>> from discreet.curator.survey import make_survey
    >>> places = Places(make_survey(np.eye(200)), [0.5, 2.0])
    >>> places.zero[:3], places.entries([1.0, 2.0]).shape
    (array([0, 0, 0]), (3,))
    >>> found = places.histogram(cap=4)
    >>> found.shape, float(found.sensitivity("l2") * found.unit)
    ((600,), 2.0)
    """

    def __init__(self, survey: Survey, edges: ArrayLike, centre: ArrayLike = 0.0, scale: ArrayLike = 1.0) -> None:
        p = survey.n_features
        self._survey, self.edges = survey, public_edges(edges)
        self._centre, self._scale = (np.broadcast_to(np.asarray(v, dtype=np.float64), (p,)) for v in (centre, scale))
        if not np.isfinite(self._centre).all() or not np.isfinite(self._scale).all() or not (self._scale > 0).all():
            raise ValueError("centre and scale must be finite, and scale positive")
        if survey.sparse and self._centre.any():
            raise ValueError("sparse columns have no centre: their zeros aren't stored")
        self.bins = self.edges.size + 1
        self.zero = self._bin(np.zeros(p), np.arange(p))

    def _bin(self, x: Floats, column: Any) -> Ints:
        with np.errstate(over="ignore"):
            place = (x - self._centre[column]) / self._scale[column]
        return np.asarray(np.searchsorted(self.edges, place, side="right"))

    def _apart(self, block: Block, at: slice, live: Ints) -> Iterator[tuple[Ints, Ints, Ints, int]]:
        """Row, column and bin of every entry that isn't in the bin of zero, and how many rows those are of."""
        part = block.X[at][live]
        if block.sparse:
            coo = part.tocoo()
            row, column = coo.row.astype(np.int64), coo.col.astype(np.int64)
            found = self._bin(np.asarray(coo.data, dtype=np.float64), column)
            far = found != self.zero[column]
            yield row[far], column[far], found[far], live.size
            return
        step = max(TILE_ENTRIES // max(part.shape[1], 1), 1)
        for a in range(0, live.size, step):
            x = np.asarray(part[a : a + step], dtype=np.float64)
            found = self._bin(x, slice(None))
            row, column = np.nonzero(found != self.zero)
            yield row, column, found[row, column], x.shape[0]

    def entries(self, edges: ArrayLike) -> Bounded:
        """How many rows have how many entries outside the bins of zero; numbers equal to an edge lie below it."""
        cuts = public_edges(edges)

        def count(block: Block, at: slice, live: Ints) -> Any:
            total = np.zeros(cuts.size + 1, dtype=np.int64)
            for row, _, _, rows in self._apart(block, at, live):
                many = np.bincount(row, minlength=rows)
                total += np.bincount(np.searchsorted(cuts, many, side="left"), minlength=total.size)
            return total

        return self._survey._counted((cuts.size + 1,), ONE_BIN, count)

    def histogram(self, cap: int) -> Bounded:
        """For each column the rows in each bin but that of zero, column by column.

        A row with more than `cap` such entries counts for ``sqrt(cap / entries)`` in each, so that its l2 norm is at
        most ``sqrt(cap)``; one row's count is 1024 units.
        """
        p, bins = self._survey.n_features, self.bins
        if not 1 <= cap <= p:
            raise ValueError(f"cap={cap!r} must be from 1 to the number of columns, {p}")
        most = cap * STEPS**2

        def count(block: Block, at: slice, live: Ints) -> Any:
            total = np.zeros(p * bins)
            for row, column, found, rows in self._apart(block, at, live):
                many = np.bincount(row, minlength=rows)
                share = np.minimum(np.floor(np.sqrt(most / np.maximum(many, 1))), STEPS).astype(np.int64)
                share -= many * share * share > most  # where the float root was rounded up
                total += np.bincount(column * bins + found, weights=share[row], minlength=p * bins)  # whole numbers
            return total.astype(np.int64).reshape(p, bins)

        # sum of shares <= sqrt(entries) * l2 norm <= sqrt(p cap) units of a row
        bound = Contribution(l1=min(isqrt_up(most * p), STEPS * p), l2=isqrt_up(most), linf=STEPS, monotone=True)
        return self._survey._counted((p, bins), bound, count).scaled(Fraction(1, STEPS))
