"""Finding where a column lives, privately: one histogram of magnitudes, then two that look closer.

Every stage is planned before the first look: its number of bins, its share and its threshold are public.  A stage keeps
the bins whose noisy count stands out of the noise and hands on the interval they span, one bin wider on each side.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.curator import Survey
from discreet.moments.purse import Share

__all__ = ["find_ranges", "magnitude_edges"]

Floats = NDArray[np.float64]

SMALLEST, LARGEST = -60, 100  # powers of two that count as magnitudes; beyond them values are clipped
BINS = 32
STAGES = 3
WIDER, WIDEST = 1.25, 2.0  # the interval at the end is stretched about its middle, more where bins had to be large


def magnitude_edges() -> Floats:
    """Minus and plus the powers of two, and zero.

    >>> magnitude_edges().size
    323
    """
    powers = 2.0 ** np.arange(SMALLEST, LARGEST + 1)
    return np.concatenate([-powers[::-1], [0.0], powers])


def find_ranges(survey: Survey, share: Share) -> tuple[Floats, Floats]:
    """A low and a high for each column that hold nearly all of it, whatever its scale.

    Parameters
    ----------
    survey : Survey
        Rows without bounds.
    share : Share
        What may be spent, divided evenly over columns and stages.

    Notes
    -----
    *Privacy.* Guarantee: the share.  Neighbours: the survey's.  Public: edges of the first stage, numbers of bins.
    Bounded by: a row is in one bin of each histogram.  Proof: ``proofs/moments.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.curator import make_survey
    >>> from discreet.moments.purse import purse_for
    >>> ages = make_survey(np.linspace(20, 70, 20_000)[:, None])
    >>> low, high = find_ranges(ages, purse_for(1, 0, None, None, "zero_out", 0).shares([1])[0])
    >>> bool(0 < low[0] < 25 < 65 < high[0] < 100)
    True
    """
    lows, highs = [], []
    for j, column in enumerate(share.split(survey.n_features)):
        stages = column.split(STAGES)
        edges = magnitude_edges()
        low, high, _ = _kept(survey, j, edges, stages[0])
        missed = 0.0
        for stage in stages[1:]:
            low, high, missed = _kept(survey, j, np.linspace(low, high, BINS + 1), stage, closer=True)
        middle, half = (
            low / 2 + high / 2,
            (high - low) / 2 * (1.0 if missed == 1.0 else min(WIDER + 25 * missed, WIDEST)),
        )
        lows.append(middle - half)
        highs.append(middle + half)
    return np.array(lows), np.array(highs)


def _kept(
    survey: Survey, column: int, edges: Floats, share: Share, *, closer: bool = False
) -> tuple[float, float, float]:
    """The span of the bins that stand out, one bin wider on each side, and the share of rows a bin needed for that."""
    counts, noise = share.release(survey.column_histogram(edges, column=column), counts=True)
    inner = counts[1:-1]
    # exceeded by noise alone in one run of two thousand (a wrong magnitude is fatal), or, when looking closer, of
    # twenty: the largest of as many Gaussian, or discrete Laplace, draws
    tail = math.log((20 if closer else 2000) * inner.size)
    limit = noise * (tail / math.sqrt(2) if share.purse.pure else math.sqrt(2 * tail))
    standing = np.flatnonzero(inner > limit)
    if not standing.size and closer:
        return float(edges[0]), float(edges[-1]), 1.0  # too few rows to look closer: keep what is known
    if not standing.size:
        standing = np.array([int(np.argmax(inner))])
    first, last = max(int(standing[0]) - 1, 0), min(int(standing[-1]) + 2, edges.size - 1)
    return float(edges[first]), float(edges[last]), limit / max(float(inner.sum()), limit)
