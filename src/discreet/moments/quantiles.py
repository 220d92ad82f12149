"""Quantiles by the exponential mechanism on a grid that closes in."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.curator import Survey, make_survey
from discreet.curator.ranks import rank_scores
from discreet.moments.purse import Share, purse_for
from discreet.moments.ranges import magnitude_edges
from discreet.moments.release import Release
from discreet.privacy.budget import Number
from discreet.randomness import RandomState

__all__ = ["quantile", "search"]

BINS = 64  # bins of each closer look


def quantile(
    x: ArrayLike,
    q: float = 0.5,
    *,
    epsilon: Number | None = None,
    delta: Number = 0,
    rho: Number | None = None,
    mu: Number | None = None,
    neighbors: Any = "zero_out",
    bounds: tuple[float, float] | None = None,
    levels: int = 3,
    inference: bool = False,
    random_state: RandomState = None,
) -> Release:
    r"""A value that a share `q` of the column lies below.

    Candidates are the bins of a public grid; the score of one is the number of rows by which it misses the quantile,
    and the exponential mechanism prefers small scores.  Each further level divides the chosen bin.

    Parameters
    ----------
    x : array
        One number per person.
    q : float
        Strictly between 0 and 1.
    bounds : (float, float), optional
        Public bounds.  Without them the first level's grid is plus and minus the powers of two.
    levels : int
        How many looks; each costs the same share.
    inference : bool
        Spend the budget on three quantiles, so that ``bounds`` of the release brackets the population's at 95 % or
        more, counting sampling and the noise of the choices (``standard_error`` is a quarter of the bracket's length).

    Notes
    -----
    The budget's arguments are those of :func:`~discreet.moments.mean`.

    *Privacy.* Guarantee: the budget.  Neighbours: `neighbors`.  Public: bounds, number of levels, q.
    Bounded by: one row changes every score by at most ``max(q, 1-q)``.  Proof: ``proofs/moments.md``.

    Examples
    --------
    >>> import numpy as np
    >>> middle = quantile(np.linspace(0, 100, 5001), 0.5, epsilon=1, bounds=(0, 1000))
    >>> bool(48 < middle.value < 52)
    True
    """
    if not 0 < q < 1:
        raise ValueError(f"q={q!r} must be strictly between 0 and 1; extremes can't be released")
    if not 1 <= levels <= 10:
        raise ValueError(f"levels={levels!r} must be from 1 to 10")
    values = np.asarray(x, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"x of shape {values.shape}: give one column")
    if bounds is not None and not (np.isfinite(bounds).all() and bounds[0] < bounds[1]):
        raise ValueError(f"bounds={bounds!r} must be finite, the lower one first")
    purse = purse_for(epsilon, delta, rho, mu, neighbors, random_state)
    survey = make_survey(values[:, None], neighbors=neighbors)
    n = float(survey.n_rows) if survey.neighbors.public_n else float("nan")
    if inference and not survey.neighbors.public_n:
        raise ValueError("inference=True needs a public number of rows; use zero_out or replace_one")
    shares = [share.split(levels) for share in purse.shares([1] * (3 if inference else 1))]
    wanted = [q]
    if inference:
        # a choice misses by an exponential number of rows on either side, at each level; at most all levels add up
        missed = np.sqrt(2 * levels) * (1.0 if survey.neighbors.moves > 1 else max(q, 1 - q)) / shares[0][0].eta()
        reach = 1.96 * np.sqrt(q * (1 - q) / max(n, 1.0) + (missed / max(n, 1.0)) ** 2)
        wanted += [max(q - reach, 1 / (n + 1)), min(q + reach, n / (n + 1))]
    found = [search(survey, one, bounds, parts) for one, parts in zip(wanted, shares, strict=True)]
    values_found = [v for v, _ in found]
    step = found[0][1]
    error = (max(values_found) - min(values_found)) / 4 if inference else step
    note = "bounds: public" if bounds is not None else "bounds: none needed (powers of two)"
    bracket = (min(values_found), max(values_found)) if inference else (values_found[0] - step, values_found[0] + step)
    covers = "noise and sampling" if inference else "grid"
    return Release(values_found[0], error, step, n, covers, bracket, purse.promise(note))


def search(survey: Survey, q: float, bounds: tuple[float, float] | None, shares: list[Share]) -> tuple[float, float]:
    """The middle of the last level's bin, and half its width; the survey has one column.

    >>> from discreet.curator import make_survey
    >>> ages = make_survey(np.linspace(20, 70, 20_000)[:, None])
    >>> middle, half = search(ages, 0.5, (0, 100), purse_for(1, 0, None, None, "zero_out", 0).shares([1])[0].split(2))
    >>> 44 < middle < 46
    True
    """
    share_below = min(max(Fraction(q).limit_denominator(1000), Fraction(1, 1000)), Fraction(999, 1000))
    edges = magnitude_edges() if bounds is None else np.linspace(*bounds, BINS + 1)
    for share in shares:
        chosen = share.select(rank_scores(survey, edges, share_below), largest=False)
        low, high = float(edges[chosen]), float(edges[chosen + 1])
        edges = np.linspace(low, high, BINS + 1)
    return low / 2 + high / 2, (high - low) / 2
