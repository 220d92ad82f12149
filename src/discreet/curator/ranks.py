"""How far each bin of a column is from holding a quantile."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from discreet.curator.survey import Survey
from discreet.privacy import Bounded, Contribution, unseal

__all__ = ["rank_scores"]


def rank_scores(survey: Survey, edges: ArrayLike, q: Fraction) -> Bounded:
    r"""For each bin between neighbouring edges, ``max(0, b below - a n, a n - b upto)`` for the quantile ``q = a/b``.

    `below` counts rows below the bin, `upto` those up to its end: a bin that holds the quantile scores 0, others the
    number of rows (times b) by which they miss it.

    Notes
    -----
    *Privacy.* Guarantee: sealed.  Neighbours: the survey's.  Public: edges, q.  Bounded by: one row moves each of the
    two differences by ``b - a`` or ``-a``, and a maximum moves no more than its arguments.
    Proof: ``proofs/moments.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.curator import make_survey
    >>> rank_scores(make_survey(np.eye(3)[:, :1]), [0.0, 0.5, 2.0], Fraction(1, 4)).sensitivity("linf")
    3
    """
    a, b = q.numerator, q.denominator
    if not 0 < a < b:
        raise ValueError(f"q={q} must be strictly between 0 and 1")
    counts = np.asarray(unseal(survey.column_histogram(edges, column=0)), dtype=np.int64)
    upto, n = np.cumsum(counts), int(counts.sum())
    short = np.maximum(b * upto[:-2] - a * n, a * n - b * upto[1:-1])
    return Bounded(np.maximum(short, 0), Contribution(linf=max(a, b - a)), Fraction(1), survey.neighbors)
