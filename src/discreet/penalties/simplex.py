"""The simplex: non-negative weights with a fixed sum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.penalties.base import Array, ConstraintSet, Norm, norm_of, positive, vector
from discreet.penalties.vertex_map import VertexMap
from discreet.penalties.widths import largest_normal

__all__ = ["Simplex", "onto_simplex"]


def onto_simplex(v: Array, total: float) -> Array:
    """The nearest vector with non-negative entries that add up to `total`, by sorting.

    >>> onto_simplex(np.array([2.0, 1.0, -1.0]), 1.0)
    array([1., 0., 0.])
    """
    shifted = v - np.max(v)  # the answer does not change, and large entries don't drown the total
    ordered = np.sort(shifted)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, v.size + 1)
    kept = int(np.flatnonzero(ordered > excess)[-1])
    return np.asarray(np.maximum(shifted - excess[kept], 0.0))


@dataclass(frozen=True)
class Simplex(ConstraintSet):
    """Non-negative weights that add up to `radius`: mixtures and portfolios.

    Parameters
    ----------
    radius : float, default=1.0
        The sum, a public number.

    Examples
    --------
    >>> Simplex().project([0.4, 0.4, -3.0])
    array([0.5, 0.5, 0. ])
    >>> Simplex().linear_oracle([0.3, -0.2, 0.1])
    array([0., 1., 0.])
    """

    radius: float = 1.0

    name: ClassVar[str] = "simplex"
    exact_width: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive(self.radius, "radius"))

    @property
    def symmetric(self) -> bool:
        """False."""
        return False

    def project(self, v: ArrayLike) -> Array:
        """The nearest point, by sorting."""
        return onto_simplex(vector(v), self.radius)

    def linear_oracle(self, g: ArrayLike) -> Array:
        """The vertex at the smallest entry of `g` (the first of equals)."""
        x = vector(g)
        s = np.zeros_like(x)
        s[int(np.argmin(x))] = self.radius
        return s

    def support(self, v: ArrayLike) -> Array:
        """`radius` times the largest entry."""
        return np.asarray(self.radius * np.max(np.asarray(v, dtype=np.float64), axis=-1))

    def minkowski(self, v: ArrayLike) -> float:
        """The sum over `radius` for non-negative vectors, infinite for others."""
        x = vector(v)
        return float(np.sum(x)) / self.radius if bool(np.all(x >= 0)) else math.inf

    def contains(self, v: ArrayLike, tolerance: float = 1e-9) -> bool:
        """Whether all entries are at least 0 and their sum is `radius`, up to a tolerance."""
        x, slack = vector(v), tolerance * self.radius
        return bool(np.all(x >= -slack)) and abs(float(np.sum(x)) - self.radius) <= slack

    def radius_in(self, norm: Norm, p: int) -> float:
        """`radius` in every norm, reached at the vertices."""
        del norm, p
        return self.radius

    def diameter(self, norm: Norm, p: int) -> float:
        """The distance between two vertices: 2, sqrt(2) or 1 times `radius`."""
        apart = np.array([1.0, -1.0]) if p > 1 else np.zeros(1)
        return self.radius * norm_of(apart, norm)

    def gaussian_width(self, p: int) -> float:
        """`radius` times the expected largest of `p` normal variables, exactly."""
        return self.radius * largest_normal(p)

    def n_vertices(self, p: int) -> int:
        """`p`."""
        return p

    def vertex_map(self, p: int) -> VertexMap:
        """`radius` in every coordinate: the scores are the gradient itself."""
        return VertexMap("identity", p, self.radius)
