"""CoinPress: a loose public ball, or a loose public bound on the covariance, shrinks step by step.

Biswas, Dong, Kamath and Ullman, *CoinPress: practical private mean and covariance estimation* (2020), Algorithms 1 to
4, with the constants of their experiments.  Only public numbers and released estimates decide a step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.curator import RowBounds, make_survey
from discreet.moments.covariances import BITS, positive_part
from discreet.moments.means import count_rows, divided
from discreet.moments.purse import purse_for
from discreet.moments.release import Release
from discreet.privacy.budget import Number
from discreet.randomness import RandomState

__all__ = ["coinpress_covariance", "coinpress_mean"]

Floats = NDArray[np.float64]


def tail_radius(d: int, beta: float) -> float:
    """A standard normal vector of d coordinates is longer than this with probability at most beta (Laurent, Massart).

    >>> round(tail_radius(50, 0.01), 3)
    9.464
    """
    log = math.log(1 / beta)
    return math.sqrt(d + 2 * math.sqrt(d * log) + 2 * log)


def step_shares(steps: int, shares: Sequence[Number] | None) -> list[Number]:
    """Three quarters for the last step, the rest evenly, unless shares are given.

    >>> step_shares(3, None)
    [0.125, 0.125, 0.75]
    """
    if shares is not None:
        if len(shares) < 1 or min(float(s) for s in shares) <= 0:
            raise ValueError(f"shares={shares!r} must be positive numbers, one per step")
        return list(shares)
    if isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= 20:
        raise ValueError(f"steps={steps!r} must be a whole number from 1 to 20")
    return [*([0.25 / (steps - 1)] * (steps - 1)), 0.75] if steps > 1 else [1.0]


def coinpress_mean(
    X: Any,
    *,
    radius: float,
    centre: ArrayLike = 0.0,
    deviation: ArrayLike = 1.0,
    steps: int = 3,
    shares: Sequence[Number] | None = None,
    epsilon: Number | None = None,
    delta: Number = 0,
    rho: Number | None = None,
    mu: Number | None = None,
    neighbors: Any = "zero_out",
    random_state: RandomState = None,
) -> Release:
    """The mean of roughly normal rows, of which only a loose ball for the mean is known.

    Parameters
    ----------
    X : array or table
        Rows.
    radius, centre : float and array
        The mean is known to lie within `radius`, in units of `deviation`, of `centre`.  A hundred times too large a
        radius costs one more step.
    deviation : float or array
        Public bound of the columns' standard deviations.
    steps : int
        The number of steps; three quarters of the budget go to the last one.
    shares : sequence of numbers, optional
        Another division of the budget.

    Notes
    -----
    The budget's arguments are those of :func:`~discreet.moments.mean`.  The standard error counts noise and sampling at
    the declared deviation, and takes for granted that the data is about normal and the ball was right.

    *Privacy.* Guarantee: the budget, whatever the data: normality matters for accuracy only.  Neighbours: `neighbors`.
    Public: all arguments.  Bounded by: rows clipped to each step's ball, in whole numbers.
    Proof: ``proofs/coinpress.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.randomness import data_generator
    >>> X = data_generator(0).normal(loc=7.0, size=(5000, 10))
    >>> result = coinpress_mean(X, radius=1000.0, rho=0.5)
    >>> bool(np.linalg.norm(result.value - 7) < 0.2)
    True
    """
    if not (math.isfinite(radius) and radius > 0):
        raise ValueError(f"radius={radius!r} must be a positive finite number")
    survey = make_survey(X, neighbors=neighbors)
    d, unit = survey.n_features, np.asarray(deviation, dtype=np.float64)
    parts = step_shares(steps, shares)
    purse, spent, n, noted = _planned(survey, parts, epsilon, delta, rho, mu, neighbors, random_state)
    c, r = np.broadcast_to(np.asarray(centre, dtype=np.float64), (d,)).copy(), float(radius)
    gamma, sd = tail_radius(d, 0.01), 0.0
    for share in spent:
        clip = min(math.sqrt(r * r + 6 * r + gamma * gamma), r + gamma)  # 3 stands for sqrt(log(2 / beta))
        curator = survey.curator(RowBounds(l2=clip, centre=c, scale=unit, bits=20))
        total, deviation_of_noise = share.release(curator.sum_rows())
        sd = deviation_of_noise / n
        c = c + unit * total / n
        r = math.sqrt(1 / n + sd * sd) * gamma
    noise = np.broadcast_to(unit * sd, (d,)).copy()
    error = np.broadcast_to(unit * math.sqrt(1 / n + sd * sd), (d,)).copy()
    notes = (f"ball of radius {radius:g} and deviation: public", noted)
    return Release(c, error, noise, n, "noise and sampling", r, purse.promise(*notes))


def coinpress_covariance(
    X: Any,
    *,
    largest: float,
    centre: ArrayLike = 0.0,
    steps: int = 3,
    shares: Sequence[Number] | None = None,
    epsilon: Number | None = None,
    delta: Number = 0,
    rho: Number | None = None,
    mu: Number | None = None,
    neighbors: Any = "zero_out",
    random_state: RandomState = None,
) -> Release:
    """The covariance of roughly normal rows about a public centre, of which only the largest variance is loosely known.

    Each step rescales the rows by the inverse root of the estimate so far, so that an ellipsoid around the data
    shrinks to fit it.

    Parameters
    ----------
    X : array or table
        Rows.
    largest : float
        No direction has a larger variance about `centre`.
    centre : float or array
        Public; for an unknown mean use differences of pairs of rows, or a mean bought before.
    steps, shares : int and sequence
        As in :func:`coinpress_mean`.

    Notes
    -----
    The budget's arguments are those of :func:`~discreet.moments.mean`.

    *Privacy.* Guarantee: the budget, whatever the data.  Neighbours: `neighbors`.  Public: all arguments.
    Bounded by: rescaled rows clipped to one public norm, in whole numbers.  Proof: ``proofs/coinpress.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.randomness import data_generator
    >>> X = data_generator(0).normal(size=(20_000, 3)) * [1.0, 2.0, 0.5]
    >>> result = coinpress_covariance(X, largest=100.0, rho=0.5)
    >>> bool(np.abs(np.diagonal(result.value) / [1.0, 4.0, 0.25] - 1).max() < 0.1)
    True
    """
    if not (math.isfinite(largest) and largest > 0):
        raise ValueError(f"largest={largest!r} must be a positive finite number")
    survey = make_survey(X, neighbors=neighbors)
    d, parts = survey.n_features, step_shares(steps, shares)
    purse, spent, n, noted = _planned(survey, parts, epsilon, delta, rho, mu, neighbors, random_state)
    gamma, margin = tail_radius(d, 0.1), math.sqrt(d / n) + d / n / 2
    root = math.sqrt(largest)
    curator = survey.curator(RowBounds(l2=gamma, centre=np.full(d, 1.0) * centre, scale=root, bits=BITS))
    B = np.eye(d)
    for i, share in enumerate(spent):
        whitened = curator if i == 0 else curator.transformed(B, RowBounds(l2=gamma))
        released, deviation = share.release(whitened.second_moments())
        Z = positive_part(released / n)
        if i + 1 < len(spent):
            values, vectors = np.linalg.eigh(Z + margin * np.eye(d))
            B = (vectors / np.sqrt(values)) @ vectors.T @ B
    back = np.linalg.inv(B) * root
    value = back @ Z @ back.T
    # the noise of an entry, carried back by the linear map (as if the entries of the whole matrix were independent)
    noise = deviation / n * np.sqrt(np.outer((back**2).sum(axis=1), (back**2).sum(axis=1)))
    sampling = (np.outer(np.diagonal(value), np.diagonal(value)) + value**2) / n
    notes = (f"largest variance {largest:g} and centre: public", noted)
    return Release(value, np.sqrt(noise**2 + sampling), noise, n, "noise and sampling", largest, purse.promise(*notes))


def _planned(
    survey: Any, parts: list[Number], epsilon: Any, delta: Any, rho: Any, mu: Any, neighbors: Any, random_state: Any
) -> Any:
    """The purse, the steps' shares, the number of rows, and a line that says where it comes from."""
    plan = divided(neighbors, False, {str(i): float(part) for i, part in enumerate(parts)})
    purse = purse_for(epsilon, delta, rho, mu, neighbors, random_state)
    share = dict(zip(plan, purse.shares(list(plan.values())), strict=True))
    n, _, noted = count_rows(survey, share.pop("count", None))
    return purse, list(share.values()), n, noted
