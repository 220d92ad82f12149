"""How private a perturbed minimum is: the two directions of its privacy loss, bounded from above.

Theorem 1 of ``proofs/objective_perturbation.md`` bounds the privacy loss by a nondecreasing convex function of one
standard normal variable.  Here that function is bounded by the upper envelope of finitely many lines, and every
expectation over the normal variable is then a finite sum of closed forms: no quadrature, no grid in Z.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from discreet.accounting.objective_curvature import Curvature

__all__ = ["LineEnvelope", "LossBound", "Spliced", "at_nodes", "directions", "gaussian_profile", "nodes_for"]

Array = NDArray[np.float64]

# Rounding: a tail probability and a sum of a few hundred terms of one sign in double precision are good to 1e-13 of
# the probability; 1e-12 of it is added to every value, so that rounding errors end up on the private side.
SLACK = 1e-12


class LossBound(Protocol):
    """What the accounting needs of an upper bound of a privacy loss."""

    def hockey_stick(self, log_alpha: Array) -> Array:
        """Upper bounds of E (1 - alpha exp(-loss))_+ at the given logarithms of alpha."""

    def log_moment_above(self, power: float, log_alpha: float) -> float:
        """Logarithm of an upper bound of E exp(power * loss) over losses above `log_alpha`."""


class LineEnvelope:
    """The law of ``max_i (slopes[i] Z + intercepts[i])``, Z standard normal or its absolute value.

    Parameters
    ----------
    slopes, intercepts : array of float
        Non-negative slopes.
    two_sided : bool
        Whether Z is the absolute value of a standard normal variable.

    Examples
    --------
    >>> import numpy as np
    >>> gaussian = LineEnvelope(np.array([0.0, 0.5]), np.array([0.0, 0.125]), two_sided=False)
    >>> float(gaussian.hockey_stick(np.array([1.0]))[0]) / gaussian_profile(0.5, 1.0)
    1.000...
    """

    def __init__(self, slopes: Array, intercepts: Array, *, two_sided: bool) -> None:
        keep = _envelope(slopes, intercepts)
        c, a = slopes[keep], intercepts[keep]
        breaks = np.maximum.accumulate(-np.diff(a) / np.diff(c)) if len(c) > 1 else np.empty(0)
        start = 0.0 if two_sided else -math.inf
        if two_sided:  # lines that matter only for negative Z are gone
            first = int(np.searchsorted(breaks, 0.0, side="right"))
            c, a, breaks = c[first:], a[first:], breaks[first:]
        self.two_sided, self._c, self._a = two_sided, c, a
        self.slopes, self.intercepts = c, a
        self._from = np.concatenate([[start], breaks])
        self._to = np.concatenate([breaks, [math.inf]])
        pieces = self._tilted(c, a, self._from, self._to)
        self._q = np.concatenate([np.cumsum(pieces[::-1])[::-1], [0.0]])  # E exp(-loss) over piece k and later
        self._break_losses = c[1:] * breaks + a[1:]

    @property
    def _sides(self) -> float:
        return 2.0 if self.two_sided else 1.0

    def _above(self, z: Array) -> Array:
        """P(Z > z)."""
        return np.asarray(self._sides * ndtr(-z))

    def _tilted(self, c: Array, a: Array, lo: Array, hi: Array) -> Array:
        """``E exp(-(c Z + a))`` over lo < Z < hi, element by element."""
        return self._sides * tilted_mass(c, a, lo, hi)

    def crossing(self, log_alpha: Array) -> tuple[Array, NDArray[np.intp]]:
        """The smallest Z whose loss reaches each value, and the line on which it lies."""
        k = np.searchsorted(self._break_losses, log_alpha, side="right")
        c, a = self._c[k], self._a[k]
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(c > 0, (log_alpha - a) / np.where(c > 0, c, 1.0), np.where(a >= log_alpha, -np.inf, np.inf))
        return np.clip(z, self._from[k], self._to[k]), k

    def hockey_stick(self, log_alpha: Array) -> Array:
        """Upper bounds of E (1 - alpha exp(-loss))_+; see :class:`LossBound`."""
        la = np.atleast_1d(np.asarray(log_alpha, dtype=float))
        z, k = self.crossing(la)
        above = self._above(z)
        part = self._tilted(self._c[k], self._a[k] - la, z, self._to[k])
        lower = part + np.exp(np.minimum(la, 700.0)) * self._q[k + 1]
        exact = np.where(np.isneginf(la), 1.0, above - lower)
        return np.asarray(np.clip(exact + SLACK * above, 0.0, 1.0))

    def log_moment_above(self, power: float, log_alpha: float) -> float:
        """See :class:`LossBound`."""
        z, k = self.crossing(np.array([log_alpha]))
        start, first = float(z[0]), int(k[0])
        c, a = self._c[first:], self._a[first:]
        lo, hi = np.maximum(self._from[first:], start), self._to[first:]
        shift = power * c
        upper, lower = log_ndtr(-(lo - shift)), log_ndtr(-(hi - shift))
        mass = upper + np.log1p(-np.exp(np.minimum(lower - upper, 0.0) - 1e-15))
        terms = power * a + shift * shift / 2 + mass
        return float(np.logaddexp.reduce(terms) + math.log(self._sides) + 1e-11)


def tilted_mass(c: Array, a: Array, lo: Array, hi: Array) -> Array:
    """``E exp(-(c Z + a))`` over lo < Z < hi for a standard normal Z, element by element."""
    exponent = c * c / 2 - a
    with np.errstate(over="ignore", invalid="ignore"):
        first, last = exponent + log_ndtr(-(lo + c)), exponent + log_ndtr(-(hi + c))
    return np.asarray(np.maximum(np.exp(np.minimum(first, 700.0)) - np.exp(np.minimum(last, 700.0)), 0.0))


def _envelope(slopes: Array, intercepts: Array) -> list[int]:
    """Indices of the lines on the upper envelope, by increasing slope: the points on the upper concave hull."""
    order = np.lexsort((intercepts, slopes))
    hull: list[int] = []
    s, a = slopes.tolist(), intercepts.tolist()
    for i in order.tolist():
        while hull and s[hull[-1]] == s[i]:
            hull.pop()
        while len(hull) > 1:
            j, k = hull[-2], hull[-1]
            if (a[k] - a[j]) * (s[i] - s[j]) <= (a[i] - a[j]) * (s[k] - s[j]):
                hull.pop()
            else:
                break
        hull.append(i)
    return hull


def nodes_for(kappa: float) -> Array:
    """A grid on [0, 1], denser at both ends, finer for larger kappa: ``sin^2`` of equal steps.

    >>> nodes_for(1.0)[[0, -1]].tolist()
    [0.0, 1.0]
    """
    cells = 512 if kappa <= 20 else 2048
    nodes = np.sin(np.linspace(0.0, math.pi / 2, cells + 1)) ** 2
    nodes[0], nodes[-1] = 0.0, 1.0
    return nodes


def at_nodes(left: Array, right: Array) -> Array:
    """The log-determinant part of each line through a node: the larger of the two neighbouring cells' end values.

    On a cell the loss is below a convex quadratic plus an affine function, hence below the larger end value.
    """
    part = np.maximum(np.concatenate([left, [-np.inf]]), np.concatenate([[-np.inf], right]))
    return np.asarray(part + 4e-16 * (1.0 + np.abs(part)))


class Spliced:
    """Direction 2 where both directions are known to agree from some epsilon on (Corollary 6).

    Examples
    --------
    >>> import numpy as np
    >>> line = LineEnvelope(np.array([0.5]), np.array([0.125]), two_sided=False)
    >>> bool(Spliced(line, line, 1.0).hockey_stick(np.array([2.0])) == line.hockey_stick(np.array([2.0])))
    True
    """

    def __init__(self, first: LineEnvelope, second: LineEnvelope, start: float) -> None:
        self._first, self._second, self._start = first, second, start

    def hockey_stick(self, log_alpha: Array) -> Array:
        """See :class:`LossBound`."""
        la = np.atleast_1d(np.asarray(log_alpha, dtype=float))
        return np.where(la >= self._start, self._first.hockey_stick(la), self._second.hockey_stick(la))

    def log_moment_above(self, power: float, log_alpha: float) -> float:
        """See :class:`LossBound`."""
        part = self._first if log_alpha >= self._start else self._second
        return part.log_moment_above(power, log_alpha)


def directions(mu: float, kappa: float, shape: Curvature) -> tuple[LossBound, LossBound]:
    """The loss of removing a record (direction 1) and of adding it (direction 2), bounded as in Theorem 1.

    Parameters
    ----------
    mu : float
        ``L R / sigma``.
    kappa : float
        ``R^2 / lambda`` (times the smoothness relative to the shape's).
    shape : Curvature

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.accounting.objective_curvature import SHAPES
    >>> removed, added = directions(0.2367, 1.0, SHAPES["logistic"])
    >>> float(added.hockey_stick(np.array([1.0]))[0]) / gaussian_profile(0.2367, 1.0)
    1.000...
    """
    if not (mu > 0 and math.isfinite(mu)) or not (kappa > 0 and math.isfinite(kappa)):
        raise ValueError(f"mu={mu!r} and kappa={kappa!r} must be positive and finite: noise and ridge are needed")
    two_sided = not shape.sign_fixed
    ends = np.array([1.0]) if two_sided else np.array([0.0, 1.0])
    first = LineEnvelope(mu * ends, (mu * ends) ** 2 / 2, two_sided=two_sided)
    nodes = nodes_for(kappa)
    slopes = mu * nodes
    intercepts = slopes**2 / 2 + at_nodes(*shape.for_short_rows().log_determinant(kappa, nodes))
    second = LineEnvelope(slopes, intercepts, two_sided=two_sided)
    return first, second if shape.agree is None else Spliced(first, second, shape.agree(mu, kappa))


def gaussian_profile(mu: float, epsilon: float) -> float:
    """``H_epsilon(mu)``: the hockey stick of two unit normals at distance mu.

    >>> round(gaussian_profile(1.0, 0.0), 6)
    0.382925
    """
    upper = log_ndtr(mu / 2 - epsilon / mu)
    lower = epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    return float(math.exp(upper) * -math.expm1(min(lower - upper, 0.0))) if upper > -745 else 0.0
