"""The l1 ball: sparse weights, 2p vertices, the home of private Frank-Wolfe."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.penalties.base import Array, ConstraintSet, Norm, norm_of, positive, vector
from discreet.penalties.simplex import onto_simplex
from discreet.penalties.vertex_map import VertexMap
from discreet.penalties.widths import largest_absolute_normal

__all__ = ["L1Ball"]


@dataclass(frozen=True)
class L1Ball(ConstraintSet):
    """Weights whose absolute values add up to at most `radius`.

    Parameters
    ----------
    radius : float, default=1.0
        The radius, a public number.

    Examples
    --------
    >>> ball = L1Ball(1.0)
    >>> ball.project([1.0, -1.0]), ball.n_vertices(1000)
    (array([ 0.5, -0.5]), 2000)
    >>> ball.vertex(1500, 1000).nonzero()[0], round(ball.gaussian_width(1000), 3)
    (array([500]), 3.435)
    """

    radius: float = 1.0

    name: ClassVar[str] = "l1_ball"
    exact_width: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive(self.radius, "radius"))

    def project(self, v: ArrayLike) -> Array:
        """The nearest point, by sorting: the soft threshold that leaves exactly `radius`."""
        x = vector(v)
        if norm_of(x, "l1") <= self.radius:
            return x.copy()
        return np.sign(x) * onto_simplex(np.abs(x), self.radius)

    def linear_oracle(self, g: ArrayLike) -> Array:
        """The vertex against the largest entry of `g` (the first of equals)."""
        x = vector(g)
        j = int(np.argmax(np.abs(x)))
        s = np.zeros_like(x)
        s[j] = -self.radius if x[j] >= 0 else self.radius
        return s

    def support(self, v: ArrayLike) -> Array:
        """`radius` times the largest absolute entry."""
        return np.asarray(self.radius * np.max(np.abs(np.asarray(v, dtype=np.float64)), axis=-1))

    def minkowski(self, v: ArrayLike) -> float:
        """The l1 norm over `radius`."""
        return norm_of(vector(v), "l1") / self.radius

    def radius_in(self, norm: Norm, p: int) -> float:
        """`radius` in every norm, reached at the vertices."""
        del norm, p
        return self.radius

    def gaussian_width(self, p: int) -> float:
        """`radius` times the expected largest of `p` absolute normal variables, exactly."""
        return self.radius * largest_absolute_normal(p)

    def gaussian_width_bound(self, p: int) -> float:
        """``radius * sqrt(2 log(2 p))``: Fact 1 of lecture 16 with its constant."""
        return self.radius * math.sqrt(2.0 * math.log(2.0 * p))

    def n_vertices(self, p: int) -> int:
        """``2 p``."""
        return 2 * p

    def vertex_map(self, p: int) -> VertexMap:
        """Plus and minus `radius` in every coordinate."""
        return VertexMap("signed_pair", p, self.radius)
