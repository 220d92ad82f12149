"""The privacy of a perturbed softmax minimum with three classes or more (Theorem 9 of the proof page).

The slope of a softmax loss turns with the coefficients, hence with the noise, so the scalar theorem with the
Lipschitz constant sqrt(2) R is false.  What holds has ``W = max_{1 <= j < K} zeta_j - zeta_0`` in the place of the
standard normal variable.  Given the maximum M of K - 1 normals, W is normal with mean M; M is rounded up to a grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from discreet.accounting.objective_profile import LineEnvelope, at_nodes, nodes_for, tilted_mass

__all__ = ["SoftmaxEnvelope", "softmax_directions"]

Array = NDArray[np.float64]


def log_determinant(s: Array, kappa: float, n_classes: int) -> tuple[Array, Array]:
    """``g_K(s)`` and its derivative: log det(I + kappa (diag pi - pi pi^T)) at pi = (1 - s, s/(K-1), ...).

    >>> import numpy as np
    >>> value, _ = log_determinant(np.array([0.5]), 2.0, 2)
    >>> float(value[0]) == float(np.log1p(2 * 2.0 * 0.25))
    True
    """
    own, other = 1.0 - s, s / (n_classes - 1)
    a, b = 1.0 + kappa * own, 1.0 + kappa * other
    inner = own / a + s / b
    value = np.log(a) + (n_classes - 1) * np.log(b) + np.log(inner)
    slope = kappa / b - kappa / a + (1.0 / b**2 - 1.0 / a**2) / inner
    return value, slope


def _maximum_cells(n_others: int, step: float) -> tuple[Array, Array, float]:
    """Right ends and masses of cells of the maximum of `n_others` normals, and the mass beyond the last end.

    The first cell is wide: it takes everything below the 1e-4 quantile.
    """
    ends = np.arange(-40.0, 40.0, step)
    log_cdf = n_others * log_ndtr(ends)
    survival = -np.expm1(log_cdf)
    keep = (log_cdf > math.log(1e-4)) & (survival > 1e-20)
    ends, log_cdf, survival = ends[keep], log_cdf[keep], survival[keep]
    # P(a < M <= b): from the survival side where the distribution function is close to 1
    upper = np.concatenate([[1.0], survival[:-1]]) - survival
    lower = np.exp(log_cdf) - np.concatenate([[0.0], np.exp(log_cdf[:-1])])
    return ends, np.maximum(np.where(log_cdf > -0.5, upper, lower), 0.0), float(survival[-1])


class SoftmaxEnvelope(LineEnvelope):
    """The law of ``max_i (slopes[i] W + intercepts[i])``.

    Given M = m, W is normal around m: every normal probability becomes a weighted sum over the cells of M.

    Examples
    --------
    >>> import numpy as np
    >>> two = SoftmaxEnvelope(np.array([0.0, 0.5]), np.array([0.0, 0.25]), n_classes=2)
    >>> one = LineEnvelope(np.array([0.0, 0.5 * 2**0.5]), np.array([0.0, 0.25]), two_sided=False)
    >>> at = np.array([1.0])
    >>> 0.99 < float(two.hockey_stick(at)[0] / one.hockey_stick(at)[0]) < 1.02
    True
    """

    def __init__(self, slopes: Array, intercepts: Array, *, n_classes: int, step: float = 0.01) -> None:
        self._ends, self._weights, self._rest = _maximum_cells(n_classes - 1, step)
        super().__init__(slopes, intercepts, two_sided=False)
        # W is the largest of K - 1 variables sqrt(2) Z, so a nonnegative increasing function of it is below the sum
        self._others = n_classes - 1
        self._single = LineEnvelope(self.slopes * math.sqrt(2.0), self.intercepts, two_sided=False)
        self._table: tuple[Array, Array] | None = None

    def _above(self, z: Array) -> Array:
        return self._mixed(lambda m, i: ndtr(m - z[i]), z.size)

    def _tilted(self, c: Array, a: Array, lo: Array, hi: Array) -> Array:
        def part(m: Array, i: slice) -> Array:
            return tilted_mass(c[i], a[i] + c[i] * m, lo[i] - m, hi[i] - m)

        return self._mixed(part, c.size)

    def _mixed(self, part: Callable[[Array, slice], Array], size: int) -> Array:
        """The weighted sum over cells of M, some entries at a time."""
        out, m = np.empty(size), self._ends[:, None]
        for start in range(0, size, 512):
            i = slice(start, min(start + 512, size))
            out[i] = self._weights @ part(m, i)
        return out

    def hockey_stick(self, log_alpha: Array) -> Array:
        """See :class:`~discreet.accounting.objective_profile.LossBound`."""
        la = np.atleast_1d(np.asarray(log_alpha, dtype=float))
        if la.size <= 4:
            return self._exactly(la)
        alpha, u = self._chords()
        return np.asarray(np.interp(np.exp(np.minimum(la, 700.0)), alpha, u))

    def _chords(self) -> tuple[Array, Array]:
        """Values at 1,025 points: the expectation is convex in alpha, so chords between them are above it."""
        if self._table is None:
            reach = 8.0 * float(self.slopes[-1])
            while float(self._exactly(np.array([reach]))[0]) > 1e-18 and reach < 512:
                reach *= 1.5
            at = np.linspace(-reach, reach, 1025)
            self._table = np.append(0.0, np.exp(at)), np.append(1.0, self._exactly(at))
        return self._table

    def _exactly(self, la: Array) -> Array:
        mixed = super().hockey_stick(la) + self._rest
        return np.asarray(np.minimum(np.minimum(mixed, self._others * self._single.hockey_stick(la)), 1.0))

    def log_moment_above(self, power: float, log_alpha: float) -> float:
        """See :class:`~discreet.accounting.objective_profile.LossBound`."""
        return math.log(self._others) + self._single.log_moment_above(power, log_alpha)


def softmax_directions(
    mu: float, kappa: float, n_classes: int, *, step: float = 0.01
) -> tuple[SoftmaxEnvelope, SoftmaxEnvelope]:
    """Directions 1 and 2 of Theorem 9, with ``mu = R / sigma`` and ``kappa = R^2 / lambda``.

    >>> import numpy as np
    >>> removed, added = softmax_directions(0.5, 1.0, 10)
    >>> 0.0080 < float(removed.hockey_stick(np.array([2.0]))[0]) < 0.0092
    True
    """
    if n_classes < 2:
        raise ValueError(f"n_classes={n_classes!r} must be at least 2")
    if not (mu > 0 and math.isfinite(mu)) or not (kappa > 0 and math.isfinite(kappa)):
        raise ValueError(f"mu={mu!r} and kappa={kappa!r} must be positive and finite: noise and ridge are needed")
    ends = np.array([0.0, 1.0])
    first = SoftmaxEnvelope(mu * ends, (mu * ends) ** 2, n_classes=n_classes, step=step)
    nodes = nodes_for(kappa)[::4]
    middle, half = (nodes[:-1] + nodes[1:]) / 2, np.diff(nodes) / 2
    value, slope = log_determinant(middle, kappa, n_classes)  # concave in s: the tangent is an upper bound
    lines = (mu * nodes) ** 2 + at_nodes(value - slope * half, value + slope * half)
    return first, SoftmaxEnvelope(mu * nodes, lines, n_classes=n_classes, step=step)
