"""The grouped l1 ball: few active groups of features."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.penalties.base import Array, ConstraintSet, Norm, positive, vector, whole
from discreet.penalties.simplex import onto_simplex
from discreet.penalties.vertex_map import VertexMap
from discreet.penalties.widths import largest_chi, mean_chi

__all__ = ["GroupL1Ball"]


@dataclass(frozen=True)
class GroupL1Ball(ConstraintSet):
    """Weights whose groups' Euclidean lengths add up to at most `radius`.

    Groups are `k` features in a row, in order; the last may be shorter (lecture 16, Fact 2).

    Parameters
    ----------
    k : int, default=1
        The number of features in a group; 1 gives the l1 ball.
    radius : float, default=1.0
        The radius, a public number.

    Examples
    --------
    >>> ball = GroupL1Ball(k=2, radius=1.0)
    >>> ball.project([3.0, 4.0, 0.1, 0.0])
    array([0.6, 0.8, 0. , 0. ])
    >>> ball.dual_norm([3.0, 4.0, 1.0])
    5.0
    """

    k: int = 1
    radius: float = 1.0

    name: ClassVar[str] = "group_l1_ball"
    exact_width: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole(self.k, "k"))
        object.__setattr__(self, "radius", positive(self.radius, "radius"))

    def lengths(self, v: ArrayLike) -> Array:
        """The Euclidean length of every group, for vectors on the last axis."""
        x = np.asarray(v, dtype=np.float64)
        groups = -(-x.shape[-1] // self.k)
        padded = np.zeros((*x.shape[:-1], groups * self.k))
        padded[..., : x.shape[-1]] = x
        return np.asarray(np.linalg.norm(padded.reshape(*x.shape[:-1], groups, self.k), axis=-1))

    def _scaled(self, v: Array, factors: Array) -> Array:
        return v * np.repeat(factors, self.k)[: v.size]

    def project(self, v: ArrayLike) -> Array:
        """The nearest point: groups shrink to the projection of their lengths."""
        x = vector(v)
        lengths = self.lengths(x)
        if float(lengths.sum()) <= self.radius:
            return x.copy()
        kept = onto_simplex(lengths, self.radius)
        return self._scaled(x, kept / np.where(lengths > 0, lengths, 1.0))

    def linear_oracle(self, g: ArrayLike) -> Array:
        """All of `radius` in the longest group of `g` (the first of equals), against its direction."""
        x = vector(g)
        lengths = self.lengths(x)
        longest = int(np.argmax(lengths))
        factors = np.zeros_like(lengths)
        if lengths[longest] > 0:
            factors[longest] = -self.radius / lengths[longest]
        return self._scaled(x, factors)

    def support(self, v: ArrayLike) -> Array:
        """`radius` times the longest group."""
        return np.asarray(self.radius * np.max(self.lengths(v), axis=-1))

    def minkowski(self, v: ArrayLike) -> float:
        """The grouped norm over `radius`."""
        return float(self.lengths(vector(v)).sum()) / self.radius

    def radius_in(self, norm: Norm, p: int) -> float:
        """`radius`, but ``radius * sqrt(min(k, p))`` in the l1 norm."""
        return self.radius * math.sqrt(min(self.k, p)) if norm == "l1" else self.radius

    def gaussian_width(self, p: int) -> float:
        """`radius` times the expected longest group of a normal vector, exactly."""
        full, rest = divmod(p, self.k)
        groups = [(self.k, full)] + ([(rest, 1)] if rest else [])
        return self.radius * largest_chi(self.k, groups)

    def gaussian_width_bound(self, p: int) -> float:
        """``radius * (mean length of a group + sqrt(2 log(number of groups)))``: Fact 2 of lecture 16, corrected.

        The order is ``sqrt(k) + sqrt(log(p / k))``; the printed ``sqrt(k log(p / k))`` is larger, up to constants.
        """
        return self.radius * (mean_chi(min(self.k, p)) + math.sqrt(2.0 * math.log(-(-p // self.k))))

    def n_vertices(self, p: int) -> int | None:
        """``2 p`` for groups of one, else none."""
        return 2 * p if self.k == 1 else None

    def vertex_map(self, p: int) -> VertexMap:
        """Those of the l1 ball, for groups of one."""
        return VertexMap("signed_pair", p, self.radius) if self.k == 1 else super().vertex_map(p)
