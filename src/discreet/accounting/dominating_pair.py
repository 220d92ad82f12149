"""From two bounded privacy losses to pairs of distributions that may be composed.

A bound on the hockey stick for epsilon >= 0 in each direction is not enough to compose: domination is asked for
every alpha >= 0, and each ordered direction apart.  Section 4 of ``proofs/objective_perturbation.md`` gives the bound
used here (the smaller of the direction's own bound and the dual of the other's), its convex envelope on a grid, and
the discrete pair whose hockey stick that envelope is.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from discreet.accounting.objective_profile import LossBound
from discreet.accounting.pmf import LossPmf

__all__ = ["best_split", "discretise", "ordered_bounds", "reach_of", "replace_one_bound", "with_gaussian"]

Array = NDArray[np.float64]
Bound = Callable[[Array], Array]
TAIL = 1e-18


def ordered_bounds(first: LossBound, second: LossBound) -> tuple[Bound, Bound]:
    """Upper bounds of the hockey sticks of directions 1 and 2, valid for every alpha >= 0 (given as log alpha).

    ``H_alpha(P, Q) = 1 - alpha + alpha H_{1/alpha}(Q, P)``, so each direction also bounds the other.
    """

    def bound(own: LossBound, other: LossBound) -> Bound:
        def values(log_alpha: Array) -> Array:
            la = np.asarray(log_alpha, dtype=float)
            with np.errstate(over="ignore", invalid="ignore"):
                dual = 1.0 - np.exp(la) * (1.0 - other.hockey_stick(-la))
            return np.asarray(np.minimum(own.hockey_stick(la), np.where(la < 30.0, dual + 1e-15, 1.0)))

        return values

    return bound(first, second), bound(second, first)


def replace_one_bound(one: Bound, two: Bound, reach: float) -> Bound:
    """The bound for replacing a record: remove and add, or add and remove, whichever is smaller.

    For every s > 0, ``H_alpha(P, R) <= H_s(P, Q) + s H_{alpha/s}(Q, R)``; any set of s will do (Theorem 7).  Both
    bounds are tabulated up to `reach`, and read off along chords in alpha, which are above a convex profile.
    """
    a, b = _tabled(one, reach), _tabled(two, reach)
    grid = np.linspace(-reach, reach, 1025)
    s, left, right = np.exp(grid), a(grid), b(grid)

    def values(log_alpha: Array) -> Array:
        la = np.atleast_1d(np.asarray(log_alpha, dtype=float))
        best = np.ones(la.shape)
        for i, v in enumerate(la.tolist()):
            best[i] = min(1.0, float(np.min(left + s * b(v - grid))), float(np.min(right + s * a(v - grid))))
        return best

    return values


def best_split(
    one: Bound, two: Bound, log_alpha: float, reach: float, guides: tuple[Bound, Bound] | None = None, half: int = 64
) -> float:
    """Theorem 7 at one alpha: the smallest right side over s, on a grid refined around its best point.

    `guides`, if given, are cheaper functions close to `one` and `two`, used only to find where to look; every round
    of the search has `half` points on either side.

    >>> from discreet.accounting.objective_curvature import SHAPES
    >>> from discreet.accounting.objective_profile import directions, gaussian_profile
    >>> bounds = ordered_bounds(*directions(0.3, 0.001, SHAPES["logistic"]))
    >>> round(best_split(*bounds, 1.0, 3.0) / gaussian_profile(0.6, 1.0), 6)  # exact for a Gaussian
    1.0
    """
    best = 1.0
    first, second = (one, two) if guides is None else guides
    for a, b, find_a, find_b in ((one, two, first, second), (two, one, second, first)):
        low, high = min(-reach, log_alpha - reach), max(reach, log_alpha + reach)
        for _ in range(4):
            step = (high - low) / (2 * half)
            s: Array = low + step * np.arange(2 * half + 1.0)
            i = int(np.argmin(_right_side(find_a, find_b, log_alpha, s)))
            low, high = s[i] - 2 * step, s[i] + 2 * step
        s = (low + high) / 2 + (high - low) * np.arange(-8.0, 9.0) / 16
        best = min(best, float(np.min(_right_side(a, b, log_alpha, s))))
    return best


def _right_side(a: Bound, b: Bound, log_alpha: float, s: Array) -> Array:
    return np.asarray(a(s) + np.exp(np.minimum(s, 700.0)) * b(log_alpha - s))


def _lower_hull(x: Array, y: Array) -> NDArray[np.intp]:
    """Indices of the vertices of the lower convex envelope of points with increasing x.

    A point that is not below the chord of its neighbours is no vertex; dropping all such points at once changes
    nothing in the envelope of the rest.
    """
    index = np.arange(len(x))
    while len(index) > 2:
        slopes = np.diff(y[index]) / np.diff(x[index])
        inside = slopes[1:] <= slopes[:-1]
        if not inside.any():
            break
        index = np.concatenate([index[:1], index[1:-1][~inside], index[-1:]])
    return index


def discretise(bound: Bound, step: float, low: float, high: float, spacing: float) -> LossPmf:
    """The pair whose hockey stick is the convex envelope of `bound` on a grid (alpha = 0 and ``exp(k step)``).

    The true hockey stick is convex and below `bound`, hence below every chord of it: the pair dominates whatever the
    grid is.  Losses lie on multiples of `step`; every so many of them are used, about `spacing` apart.
    """
    stride = max(1, math.floor(spacing / step))
    k = stride * np.arange(math.floor(low / step / stride), math.ceil(high / step / stride) + 1)
    values = np.minimum.accumulate(np.minimum(bound(np.asarray(k * step, dtype=np.float64)), 1.0))
    alpha, u = np.concatenate([[0.0], np.exp(k * step)]), np.concatenate([[1.0], values])
    vertices = _lower_hull(alpha, u)
    slopes = np.append(np.diff(u[vertices]) / np.diff(alpha[vertices]), 0.0)
    inner = vertices[1:]
    mass = np.zeros(int(k[-1] - k[0]) + 1)
    mass[k[inner - 1] - k[0]] = np.maximum(alpha[inner] * np.diff(slopes), 0.0)
    return LossPmf(step, int(k[0]), mass * (1 + 1e-13), float(u[-1]))


def reach_of(bound: Bound, start: float) -> float:
    """A log alpha beyond which `bound` is below 1e-18, or as far as is worth looking.

    >>> reach_of(lambda la: np.exp(-np.exp(la)), 1.0)
    4.0
    """
    reach = start
    while float(bound(np.array([reach]))[0]) > TAIL and reach < 512.0:
        reach *= 2.0
    for smaller in (0.625, 0.75, 0.875):
        if float(bound(np.array([reach * smaller]))[0]) <= TAIL:
            return reach * smaller
    return reach


def _tabled(bound: Bound, reach: float, size: int = 4097) -> Bound:
    """`bound` through chords between tabulated points: larger, still valid, and quick to evaluate very often."""
    points = np.linspace(-reach, reach, size)
    alpha = np.concatenate([[0.0], np.exp(points)])
    u = np.concatenate([[1.0], np.minimum.accumulate(np.minimum(bound(points), 1.0))])
    return lambda la: np.asarray(np.interp(np.exp(np.minimum(la, 700.0)), alpha, u))


def with_gaussian(bound: Bound, mu: float, cells: int = 400) -> Bound:
    """The bound of the composition of `bound`'s mechanism with a Gaussian mechanism of parameter `mu`.

    ``E u(alpha exp(-l))`` with l ~ N(mu^2/2, mu^2), the Gaussian's loss: cells of l at their right ends, tail at 1.

    >>> from discreet.accounting.objective_curvature import SHAPES
    >>> from discreet.accounting.objective_profile import directions, gaussian_profile
    >>> u, _ = ordered_bounds(*directions(0.3, 0.001, SHAPES["logistic"]))
    >>> 1.0 < float(with_gaussian(u, 0.02)(np.array([1.0]))[0]) / gaussian_profile(0.0904**0.5, 1.0) < 1.01
    True
    """
    z = np.linspace(-9.5, 9.5, cells + 1)
    upper = np.exp(log_ndtr(-z))
    weights = np.concatenate([[1.0 - upper[0]], upper[:-1] - upper[1:]])
    losses = mu * z + mu * mu / 2

    def values(log_alpha: Array) -> Array:
        la = np.atleast_1d(np.asarray(log_alpha, dtype=float))
        total = np.full(la.shape, float(upper[-1]))
        quick = bound if la.size <= 64 else _tabled(bound, float(np.max(np.abs(la)) + losses[-1]), 16385)
        for chunk in range(0, la.size, 1024):
            some = la[chunk : chunk + 1024]
            u = quick((some[:, None] - losses[None, :]).ravel()).reshape(some.size, losses.size)
            total[chunk : chunk + 1024] += u @ weights
        return np.asarray(np.minimum(total * (1 + 1e-12), 1.0))

    return values
