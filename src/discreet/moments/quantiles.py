"""Quantiles by the exponential mechanism on a grid that closes in."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.curator import Survey, make_survey
from discreet.moments.purse import Share, purse_for
from discreet.moments.ranges import magnitude_edges
from discreet.moments.release import Release
from discreet.privacy.budget import Number
from discreet.randomness import RandomState

__all__ = ["quantile"]

Floats = NDArray[np.float64]
CANDIDATES = 64  # candidates of each closer look


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

    Candidates are the points of a public grid; the score of one is ``|(1-q) (rows below) - q (rows above)|``, and the
    exponential mechanism prefers small scores.  Each further level looks closer, between the chosen point's neighbours.

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
        Spend the budget on three quantiles, so that ``bounds`` of the release brackets the population's at 95 %
        (``standard_error`` is then a quarter of the bracket's length).

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
    reach = 1.96 * np.sqrt(q * (1 - q) / max(n, 1.0)) if inference else 0.0
    if inference and not survey.neighbors.public_n:
        raise ValueError("inference=True needs a public number of rows; use zero_out or replace_one")
    wanted = [q, max(q - reach, 1 / (n + 1)), min(q + reach, n / (n + 1))] if inference else [q]
    found = [
        _search(survey, one, bounds, share.split(levels))
        for one, share in zip(wanted, purse.shares([1] * len(wanted)), strict=True)
    ]
    values_found = [v for v, _ in found]
    step = found[0][1]
    error = (max(values_found) - min(values_found)) / 4 if inference else step
    note = "bounds: public" if bounds is not None else "bounds: none needed (powers of two)"
    bracket = (min(values_found), max(values_found)) if inference else (values_found[0] - step, values_found[0] + step)
    covers = "noise and sampling" if inference else "grid"
    return Release(values_found[0], error, step, n, covers, bracket, purse.promise(note))


def _search(survey: Survey, q: float, bounds: tuple[float, float] | None, shares: list[Share]) -> tuple[float, float]:
    """The chosen point of the last level, and that level's step there."""
    points = magnitude_edges() if bounds is None else np.linspace(*bounds, CANDIDATES)
    for share in shares:
        chosen = share.select(_scores(survey, points, q), largest=False)
        value = float(points[chosen])
        low, high = float(points[max(chosen - 1, 0)]), float(points[min(chosen + 1, points.size - 1)])
        points = np.linspace(low, high, CANDIDATES)
    return value, (high - low) / 2


def _scores(survey: Survey, points: Floats, q: float) -> Any:
    """``|(1-q) below - q above|`` of each point, from the histogram of the bins between them, in whole numbers."""
    share = Fraction(q).limit_denominator(1000)
    a, b = share.numerator, share.denominator
    if a == 0 or a == b:
        a = 1 if a == 0 else b - 1
    below = np.tril(np.ones((points.size, points.size + 1), dtype=np.int64))  # bins 0..j lie below point j
    return survey.column_histogram(points).linear(b * below - a).absolute()
