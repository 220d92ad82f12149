"""The convex hull of a finite list of points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog, nnls

from discreet.penalties.base import Array, ConstraintSet, Norm, norm_of, vector, whole
from discreet.penalties.vertex_map import VertexMap

__all__ = ["Polytope"]

Points = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Polytope(ConstraintSet):
    """The convex hull of public points, one per row.

    Points are put on a grid, so that scores of vertices are exact integers: the coarsest grid that holds them exactly
    if `bits` binary digits are enough, else the nearest points on a grid of that fineness.  The set is the hull of the
    points on the grid (:attr:`points`).

    Parameters
    ----------
    vertices : array of shape (n_vertices, n_features)
        The points, public numbers.
    bits : int, default=12
        How many binary digits the largest coordinate gets at most.

    Examples
    --------
    >>> square = Polytope([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    >>> square.project([3.0, 0.5]), square.linear_oracle([1.0, 0.0])
    (array([1. , 0.5]), array([-1.,  1.]))
    >>> square.symmetric, square.unit, square.minkowski([2.0, 0.0])
    (True, Fraction(1, 1), 2.0)
    """

    vertices: Points = ((1.0,), (-1.0,))
    bits: int = 12

    name: ClassVar[str] = "polytope"

    def __post_init__(self) -> None:
        points = np.asarray(self.vertices, dtype=np.float64)
        if points.ndim != 2 or 0 in points.shape or not bool(np.all(np.isfinite(points))):
            raise ValueError(f"vertices must be a finite table, one row per vertex; got shape {points.shape}")
        if not 1 <= whole(self.bits, "bits") <= 30:
            raise ValueError(f"bits={self.bits!r} must lie between 1 and 30")
        object.__setattr__(self, "vertices", tuple(tuple(row) for row in points.tolist()))

    @cached_property
    def _grid(self) -> tuple[NDArray[np.int64], Fraction]:
        points = np.asarray(self.vertices)
        top = float(np.max(np.abs(points)))
        if top == 0:
            return points.astype(np.int64), Fraction(1)
        exponent = math.frexp(top)[1]  # top <= 2**exponent
        for digits in range(self.bits + 1):
            unit = Fraction(2) ** (exponent - digits)
            steps = np.rint(points / float(unit))
            if digits == self.bits or bool(np.all(steps * float(unit) == points)):
                return steps.astype(np.int64), unit
        raise AssertionError("the last number of digits always returns")

    @property
    def unit(self) -> Fraction:
        """What one grid step is worth, a power of two."""
        return self._grid[1]

    @cached_property
    def points(self) -> Array:
        """The points on the grid, one per row."""
        steps, unit = self._grid
        return np.asarray(steps * float(unit), dtype=np.float64)

    @property
    def symmetric(self) -> bool:
        """Whether the negative of every point is a point."""
        return self._symmetric

    @cached_property
    def _symmetric(self) -> bool:
        rows = {tuple(row) for row in self._grid[0].tolist()}
        return all(tuple(-c for c in row) in rows for row in rows)

    def _check(self, p: int) -> None:
        if p != self.points.shape[1]:
            raise ValueError(f"the vertices have {self.points.shape[1]} coordinates, not {p}")

    def project(self, v: ArrayLike) -> Array:
        """The nearest point, exactly up to rounding.

        With ``P`` the vertices minus `v`, ``|P'a|^2 + (sum a - 1)^2`` over ``a >= 0`` is least at a multiple of the
        weights of the hull's point nearest to 0: for ``a = s b`` with `b` in the simplex the best `s` leaves
        ``d / (1 + d)``, which grows with ``d = |P'b|^2``.  That is a non-negative least squares problem.
        """
        x = vector(v)
        self._check(x.size)
        moved = self.points - x
        scale = float(np.sqrt(np.min(np.sum(moved * moved, axis=1)))) or 1.0
        if not np.any(np.all(moved == 0, axis=1)):
            system = np.vstack([moved.T / scale, np.ones(len(moved))])
            goal = np.append(np.zeros(x.size), 1.0)
            a = nnls(system, goal, maxiter=50 * len(moved) + 100)[0]
            return np.asarray((a / a.sum()) @ self.points)
        return x.copy()

    def linear_oracle(self, g: ArrayLike) -> Array:
        """The vertex with the smallest product (the first of equals)."""
        x = vector(g)
        self._check(x.size)
        return np.array(self.points[int(np.argmin(self.points @ x))])

    def support(self, v: ArrayLike) -> Array:
        """The largest product with a vertex."""
        return np.asarray(np.max(np.asarray(v, dtype=np.float64) @ self.points.T, axis=-1))

    def minkowski(self, v: ArrayLike) -> float:
        """The least total of non-negative multiples of vertices that add up to `v` (a linear program)."""
        x = vector(v)
        self._check(x.size)
        if not np.any(x):
            return 0.0
        size = float(np.max(np.abs(x)))
        answer = linprog(np.ones(len(self.points)), A_eq=self.points.T, b_eq=x / size, method="highs")
        return float(answer.fun or 0.0) * size if answer.status == 0 else math.inf

    def contains(self, v: ArrayLike, tolerance: float = 1e-9) -> bool:
        """Whether the nearest point is as near as the tolerance, relative to the largest vertex."""
        x = vector(v)
        return norm_of(self.project(x) - x, "l2") <= tolerance * max(1e-300, self.radius_in("l2", x.size))

    def radius_in(self, norm: Norm, p: int) -> float:
        """The largest norm of a vertex."""
        self._check(p)
        return max(norm_of(row, norm) for row in self.points)

    def diameter(self, norm: Norm, p: int) -> float:
        """The largest distance between two vertices."""
        self._check(p)
        return max(norm_of(row, norm) for i in range(len(self.points)) for row in self.points[i:] - self.points[i])

    def gaussian_width(self, p: int) -> float:
        """The bound ``max |v_i - center| * sqrt(2 log k)`` for `k` vertices (Fact 1 of lecture 16 with its constant).

        The width does not change when the set is moved; the center is the mean of the vertices, or 0 if better.
        """
        self._check(p)
        far = min(float(np.max(np.linalg.norm(self.points - c, axis=1))) for c in (0.0, self.points.mean(axis=0)))
        return far * math.sqrt(2.0 * math.log(len(self.points)))

    def n_vertices(self, p: int) -> int:
        """How many points there are."""
        self._check(p)
        return len(self.points)

    def vertex_map(self, p: int) -> VertexMap:
        """The points in whole grid steps."""
        self._check(p)
        return VertexMap("matrix", p, 1.0, *self._grid)
