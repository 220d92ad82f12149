"""numba loops of the accountants: plain arrays in, plain arrays out."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]

__all__ = ["lower_hull", "selection_step"]


@njit(cache=True)
def lower_hull(x: Floats, y: Floats) -> NDArray[np.int64]:
    """Indices of the lower convex hull of points with increasing `x` (a monotone chain).

    Examples
    --------
    >>> lower_hull(np.array([0.0, 1.0, 2.0]), np.array([0.0, 5.0, 1.0])).tolist()
    [0, 2]
    """
    keep = np.empty(x.size, dtype=np.int64)
    n = 0
    for i in range(x.size):
        while n >= 2:
            a, b = keep[n - 2], keep[n - 1]
            # b lies on or above the chord from a to i
            if (y[b] - y[a]) * (x[i] - x[b]) >= (y[i] - y[b]) * (x[b] - x[a]):
                n -= 1
            else:
                break
        keep[n] = i
        n += 1
    return keep[:n].copy()


@njit(cache=True)
def selection_step(values: Floats, h: float, cells: int) -> Floats:
    r"""One more selection of range ``eta = cells * h`` in front of those that `values` already accounts for.

    ``values[i]`` bounds delta at ``i * h`` from above.  For each epsilon on the grid: the supremum over the offset t in
    [0, eta] of ``a(t) d(eps - t) + (1 - a(t)) d(eps - t + eta)``, where d is `values` joined by chords in
    ``e^epsilon`` (an upper bound, as delta is convex there), continued to the left by duality,
    ``d(-e) = 1 - e^-e + e^-e d(e)``, and to the right by its last value (delta decreases).

    Within a cell, with ``s = e^-t``, that is ``const + E s - F / s`` with F >= 0: concave when E < 0 and increasing
    otherwise, so its supremum is at an end or at ``sqrt(-F / E)``: exact, not a grid maximum.

    Examples
    --------
    >>> h = 0.05
    >>> nothing_yet = np.zeros(60)
    >>> round(float(selection_step(nothing_yet, h, 20)[10]), 5)  # (1 - e^-0.25)^2 / (1 - e^-1) = 0.0774
    0.0774
    """
    n = values.size
    ext = np.empty(n + 2 * cells + 1)  # ext[i + cells] is d at i * h, for i from -cells to n + cells
    for i in range(cells):
        mirror = min(cells - i, n - 1)
        shrink = math.exp(-(cells - i) * h)
        ext[i] = -math.expm1(-(cells - i) * h) + shrink * values[mirror]
    for i in range(n):
        ext[cells + i] = values[i]
    for i in range(cells + 1):
        ext[cells + n + i] = values[n - 1]
    low = math.exp(-cells * h)
    gap = -math.expm1(-cells * h)
    s = np.exp(-h * np.arange(cells + 1))
    a = (1.0 - low / s) / gap
    a[cells] = 0.0
    out = np.empty(n)
    for j in range(n):
        p0, r0 = ext[cells + j], ext[2 * cells + j]  # at eps - t and at eps - t + eta, t = 0
        best = a[0] * p0 + (1.0 - a[0]) * r0
        for c in range(cells):
            p1, r1 = ext[cells + j - c - 1], ext[2 * cells + j - c - 1]
            best = max(best, a[c + 1] * p1 + (1.0 - a[c + 1]) * r1)
            width = s[c] - s[c + 1]
            slope_p, slope_r = (p0 - p1) / width, (r0 - r1) / width
            e = slope_p - low * slope_r
            f = low * ((p0 - slope_p * s[c]) - (r0 - slope_r * s[c]))
            if e < 0.0 and -e * s[c + 1] ** 2 < f < -e * s[c] ** 2:
                top = math.sqrt(-f / e)
                w = (s[c] - top) / width
                at = (1.0 - low / top) / gap
                best = max(best, at * (p0 + w * (p1 - p0)) + (1.0 - at) * (r0 + w * (r1 - r0)))
            p0, r0 = p1, r1
        out[j] = min(best, 1.0)
    return out
