"""Private hypothesis selection over a cover: the reference for pure privacy in a few dimensions.

It needs about ``d / (alpha epsilon)`` rows under pure DP, as good as the best for approximate DP, but the cover, and
with it the time, is exponential in the dimension.  (Polynomial-time methods are known since 2022; none is practical.)
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from discreet.curator import make_survey
from discreet.curator.tournament import tournament_scores
from discreet.moments.purse import purse_for
from discreet.moments.release import Release
from discreet.privacy.budget import Number
from discreet.randomness import RandomState

__all__ = ["gaussian_by_selection"]

Floats = NDArray[np.float64]
MOST = 1024  # hypotheses: all pairs of them are compared on every row


def cover(d: int, radius: float, alpha: float) -> Floats:
    """Points such that N(mu, I) is within total variation alpha of one of them, for every mu in the ball.

    The total variation of N(mu, I) and N(nu, I) is ``2 Phi(|mu - nu| / 2) - 1 <= |mu - nu| / sqrt(2 pi)``.

    >>> cover(1, 1.0, 0.2).ravel().round(2).tolist()
    [-1.0, 0.0, 1.0]
    """
    step = 2 * alpha * math.sqrt(2 * math.pi) / math.sqrt(d)  # a cell's corner is alpha from its centre
    per_side = math.floor(radius / step + 0.5)
    points = (2 * per_side + 1) ** d
    if points > 50 * MOST:
        raise ValueError(_too_many(d, radius, alpha, points))
    spacing = min(step, radius / per_side) if per_side else step
    axis = spacing * np.arange(-per_side, per_side + 1)
    grid = np.array(list(itertools.product(axis, repeat=d)))
    inside: Floats = grid[np.linalg.norm(grid, axis=1) <= radius + spacing * math.sqrt(d) / 2]
    if len(inside) > MOST:
        raise ValueError(_too_many(d, radius, alpha, len(inside)))
    return inside


def _too_many(d: int, radius: float, alpha: float, points: int) -> str:
    return (
        f"a cover of the ball of radius {radius:g} in {d} dimensions at distance {alpha:g} has {points} hypotheses, "
        f"above {MOST}: time is exponential in the dimension. Use a larger alpha, a smaller radius, or mean()"
    )


def gaussian_by_selection(
    X: Any,
    *,
    radius: float,
    alpha: float,
    centre: ArrayLike = 0.0,
    deviation: ArrayLike = 1.0,
    epsilon: Number | None = None,
    delta: Number = 0,
    rho: Number | None = None,
    mu: Number | None = None,
    neighbors: Any = "zero_out",
    random_state: RandomState = None,
) -> Release:
    """The mean of normal rows of known deviation, chosen from a cover by the exponential mechanism.

    Parameters
    ----------
    X : array
        Rows, or a column.
    radius, centre : float and array
        The mean is known to lie in this ball, in units of `deviation`.
    alpha : float
        Total variation distance of the cover; the choice is within ``4 alpha`` of the truth with about
        ``log(m) / (alpha**2 + alpha epsilon)`` rows.
    deviation : float or array
        The known standard deviation of each column.

    Notes
    -----
    The budget's arguments are those of :func:`~discreet.moments.mean`.  ``standard_error`` is the distance that
    ``4 alpha`` allows, not a standard deviation.

    *Privacy.* Guarantee: the budget, whatever the data.  Neighbours: `neighbors`, with a public number of rows.
    Public: all arguments.  Bounded by: tournament scores that one row changes by at most 1.
    Proof: ``proofs/hypothesis_selection.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.randomness import data_generator
    >>> X = data_generator(0).normal(loc=[1.0, -0.5], size=(4000, 2))
    >>> chosen = gaussian_by_selection(X, radius=3, alpha=0.1, epsilon=1)
    >>> bool(np.linalg.norm(chosen.value - [1.0, -0.5]) < 0.6)
    True
    """
    if not 0 < alpha < 0.25:
        raise ValueError(f"alpha={alpha!r} must be between 0 and 0.25: 4 alpha is what can be promised")
    if not (math.isfinite(radius) and radius > 0):
        raise ValueError(f"radius={radius!r} must be a positive finite number")
    rows = np.asarray(X, dtype=np.float64)
    rows = rows[:, None] if rows.ndim == 1 else rows
    d, unit = rows.shape[1], np.asarray(deviation, dtype=np.float64)
    if not (np.isfinite(unit).all() and (unit > 0).all()):
        raise ValueError("deviation must be positive and finite")
    points, middle = cover(d, radius, alpha), np.asarray(centre, dtype=np.float64)
    purse = purse_for(epsilon, delta, rho, mu, neighbors, random_state)
    survey = make_survey(rows, neighbors=neighbors)
    scores = tournament_scores(survey, points, alpha, centre=np.zeros(d) + middle, scale=np.ones(d) * unit)
    chosen = purse.shares([1])[0].select(scores)
    reach = unit * 2 * float(ndtri((1 + min(4 * alpha, 1 - 1e-12)) / 2))
    value = points[chosen] * unit + middle
    notes = (f"ball, deviation, alpha: public ({len(points)} hypotheses)", "number of rows: public")
    error = np.broadcast_to(reach, (d,)).copy()
    return Release(value, error, error, float(survey.n_rows), "alpha", points.shape, purse.promise(*notes))
