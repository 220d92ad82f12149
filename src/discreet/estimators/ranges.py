"""Ranges and scales of columns from noisy counts: what is made of histograms after they were paid for."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.curator import RowBounds

__all__ = [
    "ODD_SIZES",
    "POWERS",
    "SIZES",
    "boxed",
    "held",
    "located",
    "paired",
    "shortest",
    "sizes",
    "tidy",
    "usual_size",
]

Floats = NDArray[np.float64]
Edges = Floats

POWERS: Floats = 2.0 ** np.arange(-46.0, 47.0)
SIZES: Edges = 2.0 ** np.arange(-47.0, 48.0)
ODD_SIZES: Edges = 4.0 ** np.arange(-23.0, 24.0)
MANY = 0.25  # of the rows: where half of the columns were narrowed by more, it was noise that did it
FEW, SURE = 0.05, 1.5  # rows that may then be cut off a column, or what noise reaches at that many deviations


def located(counts: Floats, edges: Edges, tall: float, n_rows: int) -> tuple[Floats, Floats]:
    """For each row of noisy counts the edges around its populated bins (the tallest one where none stands out).

    >>> located(np.array([[0.0, 90.0, 80.0, 3.0]]), np.array([0.0, 1.0, 2.0]), 10.0, 200)
    (array([0.]), array([2.]))
    """
    full = counts > max(tall, 0.002 * n_rows)
    best = counts.argmax(axis=1)
    full[np.arange(len(counts)), best] |= ~full.any(axis=1)
    first, last = full.argmax(axis=1), full.shape[1] - 1 - full[:, ::-1].argmax(axis=1)
    padded = np.concatenate([[2 * edges[0] - edges[1]], edges, [2 * edges[-1] - edges[-2]]])
    return padded[first], padded[last + 1]


def paired(counts: Floats, tall: float, zero: int) -> Floats:
    """Counts, in which two neighbours that stand out together, but neither alone, stand out both.

    The bin of zero has no neighbours: what is near it in size is far from it among powers.

    >>> paired(np.array([0.0, 8.0, 9.0, 90.0, 7.0, 1.0]), 10.0, 3)
    array([ 0., 11., 11., 90.,  7.,  1.])
    """
    found, both = counts.copy(), counts[:-1] + counts[1:]
    for k in np.flatnonzero(both > 1.3 * tall):
        if zero not in (k, k + 1):
            found[k : k + 2] = np.maximum(found[k : k + 2], 1.1 * tall)
    return found


def held(counts: Floats, edges: Edges, low: Floats, high: Floats, noise: float, n_rows: int) -> tuple[Floats, Floats]:
    """Ranges, widened while noisy sums say that rows lie outside, where most columns have lost many of theirs.

    What a few columns lose is rare values, and better lost.  Where noise is large and columns are spread evenly,
    single bins stand out in their middle alone, and rows would lose most of what they say.

    >>> counts = np.array([[10.0, 300.0, 400.0, 250.0, 0.0, 40.0]])
    >>> held(counts, np.arange(5.0), np.array([1.0]), np.array([2.0]), 10.0, 1000)
    (array([0.]), array([3.]))
    >>> held(np.array([[10.0, 0.0, 900.0, 90.0]]), np.arange(3.0), np.array([1.0]), np.array([2.0]), 10.0, 1000)
    (array([1.]), array([2.]))
    """
    ends = np.concatenate([[2 * edges[0] - edges[1]], edges, [2 * edges[-1] - edges[-2]]])
    first, last = np.searchsorted(ends, low), np.searchsorted(ends, high) - 1
    sums, every, top = np.cumsum(np.pad(counts, ((0, 0), (1, 0))), axis=1), np.arange(len(counts)), counts.shape[1] - 1
    lost = sums[every, first] + sums[:, -1] - sums[every, last + 1]
    if np.median(lost) <= MANY * n_rows:
        return low, high
    for _ in range(top):
        below, above = sums[every, first], sums[:, -1] - sums[every, last + 1]
        bins = first + top - last
        many = below + above > np.maximum(FEW * n_rows, SURE * noise * np.sqrt(bins))
        down = (first > 0) & ((below / np.maximum(first, 1) > above / np.maximum(top - last, 1)) | (last == top))
        first, last = first - (many & down), last + (many & ~down & (last < top))
    return ends[first], ends[last + 1]


def usual_size(counts: Floats, tall: float) -> float:
    """The size below which the entries of the most common sizes lie; 1 where too few rows say what it is."""
    top = int(counts.argmax())
    if counts[top] < tall:
        return 1.0
    while top + 1 < SIZES.size and counts[top + 1] > max(0.4 * counts.max(), tall):
        top += 1
    return float(SIZES[min(top, SIZES.size - 1)])


def sizes(odd: Floats, tall: float, usual: float, n_rows: int) -> Floats:
    """The scale of each column from noisy counts of its odd entries: `usual` unless enough rows say otherwise."""
    edges = np.append(ODD_SIZES, ODD_SIZES[-1] * 4)
    above = np.cumsum(odd[:, ::-1], axis=1)[:, ::-1]  # rows in each bin or beyond
    slack = np.sqrt(np.arange(edges.size, 0, -1.0))
    seen = above > np.maximum(0.05 * n_rows, 0.7 * tall * slack)
    top = edges.size - 1 - seen[:, ::-1].argmax(axis=1)
    found = np.where(seen.any(axis=1), edges[top], usual)
    small = (found < usual) & (above.max(axis=1) < 0.5 * n_rows)  # the rest of such a column is of the usual size
    return np.where(small, usual, found)


def shortest(shares: Floats, noise: float) -> tuple[int, int]:
    """The fewest bins in a row that hold all rows but one in 200, as far as the noise of each bin can tell.

    The number of rows is known, so what few bins lack is known better than what many others hold.

    >>> shortest(np.array([0.01, 0.0, 0.3, 0.4, 0.28, 0.01]), 0.01)
    (2, 5)
    """
    ends = np.concatenate([[0.0], np.cumsum(shares)])
    for length in range(1, shares.size):
        inside = ends[length:] - ends[:-length]
        if inside.max() >= 0.995 - 2 * noise * math.sqrt(length):
            first = int(inside.argmax())
            return first, first + length
    return 0, shares.size


def tidy(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Zero for the bin around zero; columns of which only zeros were seen get the usual scale of the others."""
    tiny = POWERS[0]
    low, high = np.where(np.abs(low) <= tiny, 0.0, low), np.where(np.abs(high) <= tiny, 0.0, high)
    empty = (low == 0) & (high == 0)
    usual = np.maximum(np.abs(low), np.abs(high))[~empty]
    high = np.where(empty, float(np.median(usual)) if usual.size else 1.0, high)
    return low, high


def boxed(bounds: RowBounds, low: Floats, high: Floats, *, sparse: bool, scaled: bool = True) -> RowBounds:
    """`bounds` with ranges of columns: a zero that is allowed stays zero, and the widest side becomes one.

    >>> boxed(RowBounds(l2=1.0), np.array([0.0, 1990.0]), np.array([2.0, 2010.0]), sparse=False).centre
    array([   0., 2000.])
    """
    centre = np.where((low > 0) | (high < 0), (low + high) / 2, 0.0)
    if sparse:
        low, high, centre = np.minimum(low, 0.0), np.maximum(high, 0.0), np.zeros_like(centre)
    reach = np.maximum(high - centre, centre - low)
    scale: Any = reach if scaled else 1.0
    return replace(bounds, low=low, high=high, centre=centre, scale=scale, l2=None)
