"""The utility table of private coordinate descent, its comparison with SGD, and bounds with constants.

Source: the slides of Mangold, Bellet, Salmon and Tommasi (2021).  Bounds marked *explicit* are in the sum convention
and proved in ``proofs/theory.md``, section 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.theory.checks import approximate, at_least_one, positive

__all__ = [
    "CoordinateConstants",
    "coordinate_descent_bound",
    "coordinate_descent_steps",
    "coordinate_noise",
    "even_ratio_limits",
    "uneven_ratio_limit",
    "utility_table",
]


@dataclass(frozen=True)
class CoordinateConstants:
    """The constants that the utility table is made of.

    Parameters
    ----------
    sensitivities : array
        ``Delta_j``: how much one row can move the derivative along each coordinate.
    smoothness : array
        ``M_j``: the smoothness along each coordinate.
    displacement : array
        ``w_0 - w*``: where the start is, seen from the optimum.
    gradient_sensitivity : float, optional
        ``Delta_2``: how much one row can move the whole gradient, in Euclidean length.  By default the length of
        `sensitivities`, which rows of bounded entries reach; rows of bounded length have less.

    Examples
    --------
    >>> c = CoordinateConstants([3.0, 4.0], [1.0, 4.0], [1.0, 1.0])
    >>> c.delta_2, round(c.delta_m, 4), round(c.r_m, 4), round(c.ratio, 4)
    (5.0, 3.6056, 2.2361, 1.1402)
    """

    sensitivities: ArrayLike
    smoothness: ArrayLike
    displacement: ArrayLike
    gradient_sensitivity: float | None = None

    def __post_init__(self) -> None:
        most, d = self._arrays()[0].max(), self.delta_2
        if not most * (1 - 1e-12) <= d <= float(np.linalg.norm(self._arrays()[0])) * (1 + 1e-12):
            raise ValueError(f"gradient_sensitivity={d} must lie between the largest and the length of sensitivities")

    def _arrays(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        d, m, w = (np.asarray(a, dtype=np.float64) for a in (self.sensitivities, self.smoothness, self.displacement))
        if not (d.shape == m.shape == w.shape) or d.ndim != 1 or not bool(np.all(m > 0)):
            raise ValueError("sensitivities, smoothness (positive) and displacement must be vectors of one length")
        return d, m, w

    @property
    def delta_2(self) -> float:
        """``Delta_2``: the sensitivity of the whole gradient."""
        given = self.gradient_sensitivity
        return float(np.linalg.norm(self._arrays()[0])) if given is None else float(given)

    @property
    def delta_m(self) -> float:
        """``Delta_{M^-1}``: the root of ``sum Delta_j^2 / M_j``."""
        d, m, _ = self._arrays()
        return float(np.sqrt(np.sum(d * d / m)))

    @property
    def r_2(self) -> float:
        """The distance from the start to the optimum."""
        return float(np.linalg.norm(self._arrays()[2]))

    @property
    def r_m(self) -> float:
        """``R_M``: that distance with coordinates weighted by their smoothness."""
        _, m, w = self._arrays()
        return float(np.sqrt(np.sum(m * w * w)))

    @property
    def ratio(self) -> float:
        """``Delta_{M^-1} R_M / (Delta_2 R_2)``: coordinate descent's bound over SGD's, for convex losses."""
        return self.delta_m * self.r_m / (self.delta_2 * self.r_2)

    def mu_m(self, hessian: ArrayLike) -> float:
        """``mu_M`` of a quadratic: the smallest eigenvalue of ``M^(-1/2) H M^(-1/2)``.

        >>> round(CoordinateConstants([1, 1], [2.0, 8.0], [0, 1]).mu_m([[2.0, 0.0], [0.0, 8.0]]), 12)
        1.0
        """
        scale = 1.0 / np.sqrt(self._arrays()[1])
        return float(np.linalg.eigvalsh(scale[:, None] * np.asarray(hessian, dtype=np.float64) * scale)[0])


def utility_table(
    n: int,
    epsilon: float,
    delta: float,
    constants: CoordinateConstants,
    *,
    mu_m: float | None = None,
    mu_2: float | None = None,
) -> dict[str, dict[str, float]]:
    """The slides' table of excess risks (means over rows; their ``O(.)`` with constant 1 and no logarithms of n, p).

    Rows ``"coordinate_descent"`` and ``"sgd"`` (which stands for SVRG too), columns ``"convex"`` and, where the
    moduli of strong convexity are given, ``"strongly_convex"``.

    Examples
    --------
    >>> c = CoordinateConstants([1.0, 1.0], [1.0, 1.0], [1.0, 0.0])
    >>> table = utility_table(1000, 1.0, 1e-6, c, mu_m=1.0, mu_2=1.0)
    >>> table["sgd"] == table["coordinate_descent"], round(table["sgd"]["convex"], 5)
    (True, 0.00743)
    """
    log = approximate(epsilon, delta)
    at_least_one(n=n)
    p = len(np.asarray(constants.sensitivities))
    unit = math.sqrt(p * log) / (n * epsilon)
    table = {
        "coordinate_descent": {"convex": unit * constants.delta_m * constants.r_m},
        "sgd": {"convex": unit * constants.delta_2 * constants.r_2},
    }
    for row, modulus, size in (("coordinate_descent", mu_m, constants.delta_m), ("sgd", mu_2, constants.delta_2)):
        if modulus is not None:
            positive(modulus=modulus)
            table[row]["strongly_convex"] = (unit * size) ** 2 / modulus
    return table


def even_ratio_limits(p: int, *, printed: bool = False) -> tuple[float, float]:
    """Between what the ratio can lie when all ``M_j`` are equal: 1 and ``sqrt(p)`` (printed: 1 and `p`).

    Then it is ``sqrt(sum Delta_j^2) / Delta_2(gradient)``, and each ``Delta_j`` is at most the whole gradient's.

    Examples
    --------
    >>> even_ratio_limits(100), even_ratio_limits(100, printed=True)
    ((1.0, 10.0), (1.0, 100.0))
    """
    at_least_one(p=p)
    return 1.0, float(p) if printed else math.sqrt(p)


def uneven_ratio_limit(p: int, share: float = 0.0) -> float:
    """``sqrt(p share / (1 + (p-1) share))``: the ratio when the first coordinate dominates and starts at its optimum.

    For ``Delta_j^2`` in proportion to ``M_j`` (features of unequal scales) and ``M_j = share * M_1`` elsewhere.  It
    falls to 0 with `share`, so the gain is not limited by `p`.  The slides print "at most 1/p" for a first coordinate
    that is no farther from its optimum than the others; with *equal* displacements the ratio is 1 whatever the share.

    Examples
    --------
    >>> round(uneven_ratio_limit(100, share=0.0001), 4)
    0.0995
    """
    at_least_one(p=p)
    if not 0 <= share <= 1:
        raise ValueError(f"share={share!r} must lie between 0 and 1")
    return math.sqrt(p * share / (1.0 + (p - 1) * share))


def coordinate_noise(sensitivities: ArrayLike, smoothness: ArrayLike, mu: float, updates: float) -> NDArray[np.float64]:
    """Noise per coordinate that minimises the bound for a total cost: variance in proportion to ``Delta_j sqrt(M_j)``.

    Minimises ``sum sigma_j^2 / M_j`` subject to ``(updates / p) sum Delta_j^2 / sigma_j^2 = mu^2``: `updates` updates
    spread evenly over the coordinates.  Giving every coordinate the same share of the budget is never better.

    Examples
    --------
    >>> sd = coordinate_noise([1.0, 2.0], [1.0, 4.0], mu=1.0, updates=2)
    >>> round(float((np.array([1.0, 2.0]) ** 2 / sd**2).sum()), 12)
    1.0
    """
    positive(mu=mu, updates=updates)
    d, m = np.asarray(sensitivities, dtype=np.float64), np.asarray(smoothness, dtype=np.float64)
    shape = d * np.sqrt(m)
    total = updates / d.size * float(np.sum(d / np.sqrt(m))) / mu**2
    return np.asarray(np.sqrt(shape * total))


def coordinate_descent_bound(r_m: float, delta_m: float, mu: float, p: int, n_updates: int) -> float:
    """*Explicit*: ``(p / K) R_M^2 + K Delta_{M^-1}^2 / mu^2``, the expected excess of the average of K updates.

    Coordinates drawn uniformly, steps ``1 / M_j``, noise of variance ``Delta_j^2 K / mu^2`` on each update.

    Examples
    --------
    >>> coordinate_descent_bound(10.0, 1.0, mu=1.0, p=4, n_updates=20)
    40.0
    """
    at_least_one(p=p, n_updates=n_updates)
    positive(mu=mu)
    return p / n_updates * r_m**2 + n_updates * (delta_m / mu) ** 2


def coordinate_descent_steps(r_m: float, delta_m: float, mu: float, p: int) -> int:
    """The number of updates that minimises the bound: ``sqrt(p) R_M mu / Delta_{M^-1}``.

    Examples
    --------
    >>> coordinate_descent_steps(10.0, 1.0, mu=1.0, p=4)
    20
    """
    at_least_one(p=p)
    positive(r_m=r_m, delta_m=delta_m, mu=mu)
    return max(1, round(math.sqrt(p) * r_m * mu / delta_m))
