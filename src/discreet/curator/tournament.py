"""Scores of a tournament between public hypotheses, for private hypothesis selection."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from discreet import kernels_local
from discreet.curator.survey import Survey
from discreet.privacy import Bounded, Contribution, PrivacyError

__all__ = ["tournament_scores"]

Floats = NDArray[np.float64]


def tournament_scores(
    survey: Survey,
    means: Floats,
    alpha: float,
    *,
    zeta: float = 1.0,
    centre: float | Floats = 0.0,
    scale: float | Floats = 1.0,
) -> Bounded:
    r"""For each normal law N(mean, I), how many rows would have to change for it to lose to some other one.

    The score of Bun, Kamath, Steinke and Wu (2019), Algorithm 1: hypothesis i loses to j if the share of rows that
    prefer i is below what j expects plus ``(1 + zeta/2) alpha``; pairs closer than ``(2 + zeta) alpha`` do not fight.

    Parameters
    ----------
    survey : Survey
        Rows, with a public number.
    means : array of shape (m, d)
        Public hypotheses.
    alpha, zeta : float
        The distance within which some hypothesis is thought to be right, and the slack.
    centre, scale : float or array
        Rows are compared as ``(x - centre) / scale``.

    Notes
    -----
    *Privacy.* Guarantee: sealed.  Neighbours: the survey's.  Public: the hypotheses, n.  Bounded by: a row adds 0 or 1
    to every count of wins, and a score is a minimum of counts less public numbers.  Proof:
    ``proofs/hypothesis_selection.md``.

    Examples
    --------
    >>> from discreet.curator import make_survey
    >>> tournament_scores(make_survey(np.zeros((10, 2))), np.array([[0.0, 0], [3, 0]]), 0.1).sensitivity("range")
    1
    """
    if not survey.neighbors.public_n:
        raise PrivacyError(
            "hypothesis selection compares shares of rows: it needs a public number of rows; "
            "use neighbors='zero_out' or 'replace_one'"
        )
    m, n = len(means), survey.n_rows
    wins = np.zeros((m, m), dtype=np.int64)
    shift = (means * means).sum(axis=1) / 2
    for block, at, live in survey._tiles():
        part: Any = block.X[at][live]
        rows = np.asarray(part.todense() if block.sparse else part, dtype=np.float64)
        rows = (rows - centre) / scale
        scores = np.zeros((len(rows), m))
        for k in range(rows.shape[1]):  # column by column: the same order of additions for every row
            scores += rows[:, k : k + 1] * means[:, k]
        kernels_local.pairwise_wins(scores - shift, wins)
    gap = np.sqrt(((means[:, None, :] - means[None, :, :]) ** 2).sum(axis=2))
    prefers = special.ndtr(gap / 2)  # what a law expects of the share that prefers it to the other
    needed = np.ceil(n * (1 - prefers + (1 + zeta / 2) * alpha)).astype(np.int64)
    fights = 2 * prefers - 1 > (2 + zeta) * alpha
    margin = np.where(fights, np.maximum(wins - needed, 0), n)
    score = np.minimum(margin.min(axis=1), n)
    return Bounded(score, Contribution(linf=1, monotone=True), Fraction(1), survey.neighbors)
