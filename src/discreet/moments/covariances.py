"""Covariance and second moments: one symmetric release, with noise scaled for the Frobenius norm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.curator import Curator
from discreet.moments.means import Frame, columns, divided, frame
from discreet.moments.purse import Purse, Share, purse_for
from discreet.moments.release import Release
from discreet.privacy.budget import Number
from discreet.randomness import RandomState

__all__ = ["covariance", "second_moments"]

Floats = NDArray[np.float64]
BITS = 17  # of the grid: products of two entries, added over 2**26 rows, stay whole in 64 bits


def covariance(
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
    psd: bool = True,
    inference: bool = False,
    pure_noise: str = "auto",
    random_state: RandomState = None,
) -> Release:
    """The covariance matrix of rows (dividing by n), or the variance of a column.

    A fifth of the budget buys the mean, which is taken off the second moments about the public centre.  The arguments
    not listed are those of :func:`~discreet.moments.mean`.

    Parameters
    ----------
    X : array or table
        Rows, or a column.
    psd : bool
        Set negative eigenvalues of the released matrix to zero.
    inference : bool
        Add the sampling error of normally distributed rows to the standard error; it is worked out from the release
        and costs nothing.

    Notes
    -----
    *Privacy.* Guarantee: the budget.  Neighbours: `neighbors`.  Public: column count, given bounds, and the number of
    rows unless ``"add_remove"``.  Bounded by: the squared norm of a clipped row, in Frobenius norm.
    Proof: ``proofs/moments.md``.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.sin(np.arange(20_000.0))
    >>> result = covariance(np.c_[x, -x], rho=0.5, bounds=(-1, 1))
    >>> bool(np.abs(result.value - [[0.5, -0.5], [-0.5, 0.5]]).max() < 0.01)
    True
    """
    rows, single = columns(X)
    plan = divided(neighbors, bounds is None and radius is None, {"mean": 0.2, "moments": 0.8})
    purse = purse_for(epsilon, delta, rho, mu, neighbors, random_state, pure_noise)
    share = dict(zip(plan, purse.shares(list(plan.values())), strict=True))
    at = frame(rows, neighbors, bounds, radius, centre, share.get("ranges"), share.get("count"), bits=BITS)
    total, mean_noise = share["mean"].release(at.curator.sum_rows())
    moments, noise = _moments(at.curator, at.n, share["moments"])
    inside = total / at.n
    value = moments - np.outer(inside, inside)
    if at.curator.neighbors.value == "add_remove":
        noise = np.hypot(noise, moments * at.n_noise / at.n)
    noise = np.sqrt(noise**2 + (mean_noise / at.n) ** 2 * np.add.outer(inside**2, inside**2))
    return _released(value, noise, at, purse, single, psd, inference)


def second_moments(
    X: Any,
    *,
    epsilon: Number | None = None,
    delta: Number = 0,
    rho: Number | None = None,
    mu: Number | None = None,
    neighbors: Any = "zero_out",
    bounds: Any = None,
    radius: float | None = None,
    psd: bool = True,
    inference: bool = False,
    pure_noise: str = "auto",
    random_state: RandomState = None,
) -> Release:
    """The matrix of mean products ``x x'`` about zero; arguments as in :func:`covariance`.

    Notes
    -----
    *Privacy.* Guarantee: the budget.  Neighbours: `neighbors`.  Public: column count, given bounds, and the number of
    rows unless ``"add_remove"``.  Bounded by: the squared norm of a clipped row, in Frobenius norm.
    Proof: ``proofs/moments.md``.

    Examples
    --------
    >>> import numpy as np
    >>> result = second_moments(np.ones((5000, 3)), epsilon=1, delta=1e-6, radius=2.0)
    >>> bool(np.abs(result.value - 1).max() < 0.05)
    True
    """
    rows, single = columns(X)
    plan = divided(neighbors, bounds is None and radius is None, {"moments": 1.0})
    purse = purse_for(epsilon, delta, rho, mu, neighbors, random_state, pure_noise)
    share = dict(zip(plan, purse.shares(list(plan.values())), strict=True))
    at = frame(
        rows, neighbors, bounds, radius, None, share.get("ranges"), share.get("count"), around_zero=True, bits=BITS
    )
    value, noise = _moments(at.curator, at.n, share["moments"])
    noise = np.hypot(noise, value * at.n_noise / at.n)
    return _released(value, noise, at, purse, single, psd, inference)


def _moments(curator: Curator, n: float, share: Share) -> tuple[Floats, Floats]:
    """Mean products of z and the deviation of each one's noise."""
    value, deviation = share.release(curator.second_moments())
    noise = np.full(value.shape, deviation / n)
    if not share.purse.pure:  # the Gaussian ensemble: the diagonal's variance is twice that of the rest
        np.fill_diagonal(noise, math.sqrt(2) * deviation / n)
    return value / n, noise


def _released(
    value: Floats, noise: Floats, at: Frame, purse: Purse, single: bool, psd: bool, inference: bool
) -> Release:
    value = positive_part(value) if psd else value
    units = np.outer(np.broadcast_to(at.scale, len(value)), np.broadcast_to(at.scale, len(value)))
    value, noise = value * units, noise * units
    diagonal = np.maximum(np.diagonal(value), 0.0)
    sampling = (np.outer(diagonal, diagonal) + value**2) / at.n if inference else 0.0
    error = np.sqrt(noise**2 + sampling)
    covers = "noise and sampling" if inference else "noise"
    pick = (lambda v: float(v[0, 0])) if single else (lambda v: v)
    return Release(pick(value), pick(error), pick(noise), at.n, covers, at.bounds, purse.promise(*at.notes))


def positive_part(matrix: Floats) -> Floats:
    """The nearest positive semidefinite matrix in Frobenius norm.

    >>> positive_part(np.diag([2.0, -1.0])).tolist()
    [[2.0, 0.0], [0.0, 0.0]]
    """
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T, dtype=np.float64)
