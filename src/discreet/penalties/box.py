"""The box: every weight between two bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.penalties.base import Array, ConstraintSet, Norm, norm_of, vector
from discreet.penalties.vertex_map import VertexMap

__all__ = ["Box"]

Bound = float | tuple[float, ...]


@dataclass(frozen=True)
class Box(ConstraintSet):
    """Weights between `low` and `high`, coordinate by coordinate.

    Parameters
    ----------
    low, high : float or sequence of floats
        Public bounds: one for all coordinates or one per coordinate.

    Examples
    --------
    >>> box = Box(0.0, 1.0)
    >>> box.project([-2.0, 0.25, 9.0]), box.linear_oracle([1.0, -1.0, -1.0])
    (array([0.  , 0.25, 1.  ]), array([0., 1., 1.]))
    >>> Box([0.0, -1.0], [2.0, 1.0]).diameter("l1", 2)
    4.0
    """

    low: Bound = -1.0
    high: Bound = 1.0

    name: ClassVar[str] = "box"
    separable: ClassVar[bool] = True
    exact_width: ClassVar[bool] = True

    def __post_init__(self) -> None:
        low, high = _plain(self.low, "low"), _plain(self.high, "high")
        if not bool(np.all(np.asarray(low) <= np.asarray(high))):
            raise ValueError(f"low={self.low!r} must not exceed high={self.high!r} in any coordinate")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def symmetric(self) -> bool:
        """Whether every bound is its partner's negative."""
        return bool(np.all(np.asarray(self.low) == -np.asarray(self.high)))

    def _bounds(self, p: int) -> tuple[Array, Array]:
        low, high = np.asarray(self.low, dtype=np.float64), np.asarray(self.high, dtype=np.float64)
        if max(low.size, high.size) not in (1, p):
            raise ValueError(f"the box has bounds for {max(low.size, high.size)} coordinates, not for {p}")
        return np.broadcast_to(low, (p,)), np.broadcast_to(high, (p,))

    def project(self, v: ArrayLike) -> Array:
        """Every coordinate clipped."""
        x = vector(v)
        return np.clip(x, *self._bounds(x.size))

    def prox_coordinate(self, v: float, step: float, index: int) -> float:
        """One coordinate clipped."""
        del step
        low, high = np.asarray(self.low), np.asarray(self.high)
        at_low = float(low if low.ndim == 0 else low[index])
        return min(max(v, at_low), float(high if high.ndim == 0 else high[index]))

    def linear_oracle(self, g: ArrayLike) -> Array:
        """The corner against `g` (the lower bound where `g` is 0)."""
        x = vector(g)
        low, high = self._bounds(x.size)
        return np.where(x >= 0, low, high)

    def support(self, v: ArrayLike) -> Array:
        """The value of the best corner."""
        x = np.asarray(v, dtype=np.float64)
        low, high = self._bounds(x.shape[-1])
        return np.asarray(np.sum(np.where(x >= 0, x * high, x * low), axis=-1))

    def minkowski(self, v: ArrayLike) -> float:
        """The smallest factor by which the box must grow to hold `v`; infinite where no factor does."""
        x = vector(v)
        low, high = self._bounds(x.size)
        least, most = 0.0, math.inf
        for side, bound in ((1.0, high), (-1.0, -low)):  # side * x <= t * bound in every coordinate
            a = side * x
            if bool(np.any((bound == 0) & (a > 0))):
                return math.inf
            up, down = bound > 0, bound < 0
            least = max(least, float(np.max(a[up] / bound[up], initial=0.0)))
            most = min(most, float(np.min(a[down] / bound[down], initial=math.inf)))
        return least if least <= most else math.inf

    def contains(self, v: ArrayLike, tolerance: float = 1e-9) -> bool:
        """Whether every coordinate is between its bounds, up to a tolerance relative to the box's largest bound."""
        x = vector(v)
        low, high = self._bounds(x.size)
        slack = tolerance * max(float(np.max(np.abs(low))), float(np.max(np.abs(high))), 1e-300)
        return bool(np.all(x >= low - slack) and np.all(x <= high + slack))

    def radius_in(self, norm: Norm, p: int) -> float:
        """The norm of the farthest corner."""
        low, high = self._bounds(p)
        return norm_of(np.maximum(np.abs(low), np.abs(high)), norm)

    def diameter(self, norm: Norm, p: int) -> float:
        """The norm of the diagonal."""
        low, high = self._bounds(p)
        return norm_of(high - low, norm)

    def gaussian_width(self, p: int) -> float:
        """``sum (high - low) / sqrt(2 pi)``, exactly."""
        return self.diameter("l1", p) / math.sqrt(2.0 * math.pi)

    def n_vertices(self, p: int) -> int:
        """``2**p`` corners."""
        return 1 << p

    def vertex(self, i: int, p: int) -> Array:
        """The corner whose upper bounds are where the binary digits of `i` are 1."""
        low, high = self._bounds(p)
        if not 0 <= i < 2**p:
            raise IndexError(f"there are 2**{p} corners, numbered from 0; {i} is not one of them")
        return np.array([high[j] if i >> j & 1 else low[j] for j in range(p)])

    def vertex_map(self, p: int) -> VertexMap:
        """All corners, for boxes with the bounds -r and r and at most 12 coordinates."""
        low, high = self._bounds(p)
        if p > 12 or not bool(np.all(low == -high[0]) and np.all(high == high[0]) and high[0] > 0):
            raise TypeError(
                "selecting a corner privately needs bounds -r and r and at most 12 features; use projected or "
                "coordinate descent, or a Polytope of the corners"
            )
        corners = 2 * (np.arange(2**p)[:, None] >> np.arange(p) & 1) - 1
        return VertexMap("matrix", p, float(high[0]), corners.astype(np.int64), Fraction(1))


def _plain(bound: ArrayLike, what: str) -> Bound:
    values = np.asarray(bound, dtype=np.float64)
    if values.ndim > 1 or not bool(np.all(np.isfinite(values))):
        raise ValueError(f"{what}={bound!r} must be one finite number or one per coordinate")
    return float(values) if values.ndim == 0 else tuple(float(b) for b in values)
