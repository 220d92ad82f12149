"""The mean: clip, add up, add noise, divide by a number that is public or paid for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.curator import Curator, RowBounds, Survey, make_survey
from discreet.moments.purse import Share, purse_for
from discreet.moments.ranges import find_ranges
from discreet.moments.release import Release
from discreet.privacy import PrivacyError
from discreet.privacy.budget import Number
from discreet.randomness import RandomState

__all__ = ["mean"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Frame:
    """Rows under bounds: ``x = centre + scale * z`` with z on the curator's grid, and how many rows there are."""

    curator: Curator
    centre: Any
    scale: Any
    n: float
    n_noise: float
    bounds: Any
    notes: tuple[str, ...]


def columns(X: Any) -> tuple[Any, bool]:
    """X as rows, and whether it was a single column."""
    if getattr(X, "ndim", None) == 1 or (isinstance(X, (list, tuple)) and X and np.ndim(X[0]) == 0):
        return np.asarray(X, dtype=np.float64)[:, None], True
    return X, False


def row_bounds(
    bounds: Any, radius: float | None, centre: Any, *, around_zero: bool = False, bits: int = 20
) -> RowBounds:
    """Bounds in the curator's words: per coordinate scaled to [-1, 1], or a ball of `radius` about `centre`."""
    if (bounds is None) == (radius is None):
        raise ValueError("give bounds=(low, high), or radius= (with centre=), or neither for private bounds")
    if radius is not None:
        if not (math.isfinite(radius) and radius > 0):
            raise ValueError(f"radius={radius!r} must be a positive finite number")
        return RowBounds(l2=radius, centre=centre, bits=bits)
    if centre is not None:
        raise ValueError("centre= goes with radius=; bounds=(low, high) have a centre of their own")
    low, high = (np.asarray(b, dtype=np.float64) for b in bounds)
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
        raise ValueError("bounds=(low, high) must be finite, every low below its high")
    if around_zero:
        reach = np.maximum(np.abs(low), np.abs(high))
        return RowBounds(low=low, high=high, centre=np.zeros_like(low), scale=reach, bits=bits)
    return RowBounds(low=low, high=high, scale=(high - low) / 2, bits=bits)


def count_rows(survey: Survey, share: Share | None) -> tuple[float, float, str]:
    """The number of rows, public or bought with a share; the deviation of its noise; and a line that says so."""
    if share is None:
        return float(survey.n_rows), 0.0, "number of rows: public"
    value, noise = share.release(survey.count(), counts=True)
    return max(float(value[0]), 1.0), noise, f"number of rows: paid (noise {noise:.3g})"


def frame(
    X: Any, neighbors: Any, bounds: Any, radius: float | None, centre: Any, ranges: Share | None, counts: Share | None,
    *, around_zero: bool = False, bits: int = 20,
) -> Frame:  # fmt: skip
    """Put rows under bounds that are given, or bought with the share `ranges`."""
    survey = make_survey(X, neighbors=neighbors)
    if ranges is not None:
        bounds = find_ranges(survey, ranges)
    known = row_bounds(bounds, radius, centre, around_zero=around_zero, bits=bits)
    n, n_noise, counted = count_rows(survey, counts)
    notes = (f"bounds: {'paid' if ranges is not None else 'public'}", counted, "column count: public")
    middle = 0.0 if known.centre is None else known.centre
    return Frame(survey.curator(known), middle, known.scale, n, n_noise, bounds if radius is None else radius, notes)


def divided(neighbors: Any, private_bounds: bool, others: dict[str, float]) -> dict[str, float]:
    """The shares of one call: a tenth for private bounds, a twentieth for a private count, the rest as said."""
    if str(getattr(neighbors, "value", neighbors)) == "add_remove":
        others = {"count": 0.05, **others}
    return {"ranges": 0.15, **others} if private_bounds else others


def mean(
    X: Any,
    *,
    epsilon: Number | None = None,
    delta: Number = 0,
    rho: Number | None = None,
    mu: Number | None = None,
    neighbors: Any = "zero_out",
    bounds: Any = None,
    radius: float | None = None,
    centre: Any = None,
    inference: bool = False,
    pure_noise: str = "auto",
    random_state: RandomState = None,
) -> Release:
    r"""The mean of a column, or of rows, under pure, approximate, zero-concentrated or Gaussian DP.

    Parameters
    ----------
    X : array, data frame, sparse matrix, blocks or Parquet path
        Values, or rows.
    epsilon, delta, rho, mu : number, optional
        The budget: epsilon (with delta), or rho, or mu.  Default: epsilon 1, delta 0.
    neighbors : {"zero_out", "replace_one", "add_remove"}
        The neighbouring relation.  Under ``"add_remove"`` the number of rows is paid for.
    bounds : (low, high), optional
        Public bounds, for all columns or one per column.  Without bounds and radius they are paid for.
    radius, centre : float and array, optional
        Rows are pulled into the l2 ball of this radius about this (public) centre instead.
    inference : bool
        Spend a tenth on the spread of each column, so that intervals cover the mean of the population.
    pure_noise : {"auto", "laplace", "k_norm"}
        What a pure budget buys: noise coordinate by coordinate, or for the whole vector; the smaller by default.
    random_state : None or int
        None is private; a seed is repeatable and promises nothing.

    Returns
    -------
    Release
        With ``value``, ``interval()`` and ``privacy``.

    Notes
    -----
    Noise: pure budgets buy Laplace or K-norm noise, whichever is less (errors grow as d\ :sup:`3/2`); all others
    Gaussian (errors grow as d).

    *Privacy.* Guarantee: the budget.  Neighbours: `neighbors`.  Public: column count, given bounds, and the number of
    rows unless ``"add_remove"``.  Bounded by: rows clipped in whole numbers.  Proof: ``proofs/moments.md``.

    Examples
    --------
    >>> import numpy as np
    >>> ages = np.linspace(20, 70, 10_000)
    >>> result = mean(ages, epsilon=1, bounds=(0, 120))
    >>> bool(abs(result.value - 45) < 0.5)
    True
    >>> result.privacy.epsilon
    1.0
    """
    rows, single = columns(X)
    private = bounds is None and radius is None
    plan = divided(neighbors, private, {"mean": 0.9, "spread": 0.1} if inference else {"mean": 1.0})
    purse = purse_for(epsilon, delta, rho, mu, neighbors, random_state, pure_noise)
    share = dict(zip(plan, purse.shares(list(plan.values())), strict=True))
    at = frame(rows, neighbors, bounds, radius, centre, share.get("ranges"), share.get("count"))
    total, deviation = share["mean"].release(at.curator.sum_rows())
    inside = total / at.n
    value = at.centre + at.scale * inside
    noise = at.scale * np.hypot(deviation, inside * at.n_noise) / at.n
    error = noise
    if inference:
        spread = _spread(at.curator, inside, at.n, share["spread"])
        error = np.sqrt(noise**2 + (at.scale * spread) ** 2 / at.n)
    if not np.isfinite(value).all():
        raise PrivacyError("the released mean is not finite; give bounds= within the range of ordinary numbers")
    pick = (lambda v: float(v[0])) if single else (lambda v: v)
    covers = "noise and sampling" if inference else "noise"
    return Release(pick(value), pick(error), pick(noise), at.n, covers, at.bounds, purse.promise(*at.notes))


def _spread(curator: Curator, inside: Floats, n: float, share: Share) -> Floats:
    """A private standard deviation of each coordinate of z, rounded up by its noise so that intervals stay honest."""
    d = curator.n_features
    # of a row in a ball, or in [-1, 1] per coordinate: no coordinate is larger than this
    reach = float(curator.grid.linf * curator.grid.unit)
    squares, noise = np.empty(d), np.empty(d)
    for j, part in enumerate(share.split(d)):
        column = curator.transformed(np.eye(1, d, j), RowBounds(l2=reach))
        released, noise[j] = part.release(column.second_moments())
        squares[j] = released[0, 0]
    return np.asarray(np.sqrt(np.maximum(squares / n - inside**2, 0.0) + 2 * noise / n), dtype=np.float64)
