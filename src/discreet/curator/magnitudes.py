"""How large entries are: histograms over columns whose usual entries are free, for rows without known bounds.

One-hot columns are mostly zeros and ones.  Counting only the *uncommon* entries, those that are neither zero nor of
the usual size, makes a row's contribution to all columns together short, so that few rows tell much.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.curator.statistics import ONE_BIN, public_edges
from discreet.curator.survey import Survey
from discreet.curator.tables import Block
from discreet.privacy import Bounded, Contribution, isqrt_up

__all__ = ["column_magnitudes", "pooled_magnitudes", "uncommon_entries"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
STEPS = 1024  # one row, or one entry of it, is worth this many units


def _entries(block: Block, at: slice, live: Ints) -> tuple[Ints, Ints, Floats]:
    """Row, column and size of every entry that isn't zero."""
    part = block.X[at][live]
    if block.sparse:
        coo = part.tocoo()
        row, column, size = coo.row, coo.col, np.abs(np.asarray(coo.data, dtype=np.float64))
        some = size > 0
        return row[some].astype(np.int64), column[some].astype(np.int64), size[some]
    dense = np.abs(np.asarray(part, dtype=np.float64))
    row, column = np.nonzero(dense)
    return row, column, dense[row, column]


def pooled_magnitudes(survey: Survey, edges: ArrayLike) -> Bounded:
    """The sizes of non-zero entries of all columns together; each row counts as one, shared among its entries.

    Sizes equal to an edge lie below it.

    >>> import numpy as np
    >>> from discreet.curator.survey import make_survey
    >>> h = pooled_magnitudes(make_survey(np.eye(3)), [0.5, 1.0])
    >>> h.shape, float(h.sensitivity("l1") * h.unit)
    ((3,), 1.0)
    """
    cuts = public_edges(edges)

    def count(block: Block, at: slice, live: Ints) -> Any:
        row, _, size = _entries(block, at, live)
        each = np.zeros((live.size, cuts.size + 1), dtype=np.int64)
        np.add.at(each, (row, np.searchsorted(cuts, size, side="left")), 1)
        entries = np.maximum(each.sum(axis=1, keepdims=True), 1)
        return (each * STEPS // entries).sum(axis=0)  # rounded down, so no row adds more than STEPS

    bound = Contribution(l1=STEPS, l2=STEPS, linf=STEPS, monotone=True)
    return survey._counted((cuts.size + 1,), bound, count).scaled(Fraction(1, STEPS))


def uncommon_entries(survey: Survey, low: float, high: float, edges: ArrayLike) -> Bounded:
    """How many rows have how many entries whose size is neither zero nor in ``(low, high]``.

    >>> import numpy as np
    >>> from discreet.curator.survey import make_survey
    >>> uncommon_entries(make_survey(np.eye(3)), 0.5, 1.0, [1, 2, 4]).shape
    (4,)
    """
    cuts = public_edges(edges)

    def count(block: Block, at: slice, live: Ints) -> Any:
        row, _, size = _entries(block, at, live)
        many = np.bincount(row[(size <= low) | (size > high)], minlength=live.size)
        return np.bincount(np.searchsorted(cuts, many, side="left"), minlength=cuts.size + 1)

    return survey._counted((cuts.size + 1,), ONE_BIN, count)


def column_magnitudes(survey: Survey, edges: ArrayLike, low: float, high: float, cap: int) -> Bounded:
    """For each column a histogram of its uncommon entries, column by column.

    A row with more than `cap` of them counts for ``sqrt(cap / entries)`` in each, so that its l2 norm is at most
    ``sqrt(cap)``; one row's count is 1024 units.

    >>> import numpy as np
    >>> from discreet.curator.survey import make_survey
    >>> h = column_magnitudes(make_survey(np.eye(200)), [2.0], 0.5, 0.75, cap=4)
    >>> h.shape, float(h.sensitivity("l2") * h.unit)
    ((400,), 2.0)
    """
    if cap < 1:
        raise ValueError(f"cap={cap!r} must be at least 1")
    cuts, most = public_edges(edges), cap * STEPS**2
    bins, p = cuts.size + 1, survey.n_features

    def count(block: Block, at: slice, live: Ints) -> Any:
        row, column, size = _entries(block, at, live)
        odd = (size <= low) | (size > high)
        row, column, size = row[odd], column[odd], size[odd]
        many = np.bincount(row, minlength=live.size)
        share = np.minimum(np.floor(np.sqrt(most / np.maximum(many, 1))), STEPS).astype(np.int64)
        share -= many * share * share > most  # where the float root was rounded up
        where = column * bins + np.searchsorted(cuts, size, side="left")
        return np.bincount(where, weights=share[row], minlength=p * bins).astype(np.int64).reshape(p, bins)

    l2 = isqrt_up(most)
    bound = Contribution(l1=min(isqrt_up(most * p), STEPS * p), l2=l2, linf=STEPS, monotone=True)
    return survey._counted((p, bins), bound, count).scaled(Fraction(1, STEPS))
