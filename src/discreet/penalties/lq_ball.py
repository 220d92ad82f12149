"""The lq ball for 1 < q < 2, between the l1 and the Euclidean ball, with a finite cover for private selection."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.sparse import csr_array

from discreet.penalties.base import Array, ConstraintSet, Norm, positive, vector, whole
from discreet.penalties.vertex_map import VertexMap
from discreet.penalties.widths import largest_absolute_normal, log_absolute_moment, mean_chi

__all__ = ["LqBall"]

_BITS = 20
_MOST_ENTRIES = 20_000_000


@dataclass(frozen=True)
class LqBall(ConstraintSet):
    r"""Weights with ``sum |w_j|**q <= radius**q`` for ``1 < q < 2``.

    The ball has no finite set of vertices.  For private selection it offers a *candidate cover*: all
    ``w_j = +-radius (c_j / m)**(1/q)`` with whole numbers ``c_j`` that add up to the resolution `m`.  With
    ``q* = q / (q - 1)`` the best candidate for any direction reaches at least ``min(1/4, (m / (4 p))**(1/q*))`` of
    the optimum, and for ``m = 1`` exactly ``p**(-1/q*)`` in the worst case.  There are at most ``(2 p)**m`` candidates.

    Parameters
    ----------
    q : float, default=1.5
        The exponent, strictly between 1 and 2.
    radius : float, default=1.0
        The radius, a public number.
    resolution : int, default=1
        `m` above.

    Notes
    -----
    The bound on the cover is proved in ``proofs/theory.md``, section 1.

    Examples
    --------
    >>> ball = LqBall(1.5, resolution=2)
    >>> len(ball.vertex_map(3)), round(ball.vertex_map(3).factor, 3)
    (18, 0.693)
    >>> ball.project([1.0, 1.0]).round(4)
    array([0.63, 0.63])
    """

    q: float = 1.5
    radius: float = 1.0
    resolution: int = 1

    name: ClassVar[str] = "lq_ball"

    def __post_init__(self) -> None:
        if not 1.0 < float(self.q) < 2.0:
            raise ValueError(f"q={self.q!r} must lie strictly between 1 and 2; take L1Ball or L2Ball at the ends")
        object.__setattr__(self, "q", float(self.q))
        object.__setattr__(self, "radius", positive(self.radius, "radius"))
        object.__setattr__(self, "resolution", whole(self.resolution, "resolution"))

    @property
    def dual_q(self) -> float:
        """The exponent of the dual norm, ``q / (q - 1)``."""
        return self.q / (self.q - 1.0)

    def project(self, v: ArrayLike) -> Array:
        """The nearest point: a root in the multiplier, with a Newton solution per coordinate inside."""
        x = vector(v)
        if self.minkowski(x) <= 1.0:
            return x.copy()
        scale = float(np.max(np.abs(x)))
        a, target = np.abs(x) / scale, self.radius / scale

        def excess(log_multiplier: float) -> float:
            return _norm(_shrunk(a, math.exp(log_multiplier), self.q), self.q) - target

        low, high = -1.0, 1.0
        while excess(low) < 0:
            low *= 2.0
        while excess(high) > 0:
            high *= 2.0
        multiplier = math.exp(float(brentq(excess, low, high, xtol=1e-14, rtol=1e-14)))
        w = _shrunk(a, multiplier, self.q)
        return np.sign(x) * w * (self.radius / _norm(w, self.q))

    def linear_oracle(self, g: ArrayLike) -> Array:
        """The point where the gradient of the norm is opposite to `g`."""
        x = vector(g)
        largest = float(np.max(np.abs(x), initial=0.0))
        if largest == 0:
            return np.zeros_like(x)
        s = (np.abs(x) / largest) ** (self.dual_q - 1.0)
        return -np.sign(x) * s * (self.radius / _norm(s, self.q))

    def support(self, v: ArrayLike) -> Array:
        """`radius` times the norm with the dual exponent."""
        x = np.abs(np.asarray(v, dtype=np.float64))
        largest = np.max(x, axis=-1, keepdims=True)
        safe = np.where(largest > 0, largest, 1.0)
        total = np.sum((x / safe) ** self.dual_q, axis=-1) ** (1.0 / self.dual_q)
        return np.asarray(self.radius * total * largest[..., 0])

    def minkowski(self, v: ArrayLike) -> float:
        """The lq norm over `radius`."""
        return _norm(np.abs(vector(v)), self.q) / self.radius

    def radius_in(self, norm: Norm, p: int) -> float:
        """`radius`, but ``radius * p**(1 - 1/q)`` in the l1 norm."""
        return self.radius * p ** (1.0 - 1.0 / self.q) if norm == "l1" else self.radius

    def gaussian_width(self, p: int) -> float:
        """The smallest of three bounds: Jensen's, and those from the l1 and the Euclidean ball.

        ``E |z|_q* <= (p E|z|^q*)^(1/q*)``; ``|z|_q* <= p^(1/q*) max |z_j|``; ``|z|_q* <= |z|_2``.
        """
        jensen = math.exp((math.log(p) + log_absolute_moment(self.dual_q)) / self.dual_q)
        flat = math.pow(p, 1.0 / self.dual_q) * largest_absolute_normal(p)
        return self.radius * min(jensen, flat, mean_chi(p))

    def cover_factor(self, p: int) -> float:
        """What share of the optimum the best candidate of the cover is sure to reach, in every direction."""
        single = p ** (-1.0 / self.dual_q)  # the largest coordinate alone
        return float(max(single, min(0.25, (self.resolution / (4.0 * p)) ** (1.0 / self.dual_q))))

    def cover_size(self, p: int) -> int:
        """How many candidates the cover has.

        >>> LqBall(1.5, resolution=1).cover_size(10)
        20
        """
        m = self.resolution
        return sum(math.comb(p, k) * 2**k * math.comb(m - 1, k - 1) for k in range(1, min(m, p) + 1))

    def vertex_map(self, p: int) -> VertexMap:
        """The candidate cover; coordinates are rounded towards 0, so every candidate is in the ball."""
        if self.resolution == 1:
            return VertexMap("signed_pair", p, self.radius, factor=self.cover_factor(p))
        size = self.cover_size(p)
        if size * self.resolution > _MOST_ENTRIES:
            raise ValueError(
                f"resolution={self.resolution} with p={p} gives {size} candidates; lower the resolution, or use the "
                "general variant of Frank-Wolfe"
            )
        columns, values, starts = _cover(p, self.resolution, self.q)
        matrix = csr_array((values, columns, starts), shape=(size, p))
        loss = 1.0 - self.resolution ** (1.0 / self.q) * 2.0**-_BITS  # of rounding towards 0, relative
        return VertexMap("matrix", p, self.radius, matrix, Fraction(1, 2**_BITS), self.cover_factor(p) * loss)


def _norm(a: Array, q: float) -> float:
    largest = float(np.max(a, initial=0.0))
    if largest == 0:
        return 0.0
    return largest * math.pow(float(np.sum((a / largest) ** q)), 1.0 / q)


def _shrunk(a: Array, multiplier: float, q: float) -> Array:
    """The root `w` of ``w + multiplier q w^(q-1) = a`` for every ``a >= 0``.

    In ``x = log w`` the logarithm of the left side is convex and rises, so Newton's steps from the right fall to the
    root and never pass it, however steep the corner at 0 is.
    """
    w = np.zeros_like(a)
    there = a > 0
    goal = np.log(a[there])
    x, log_c = goal.copy(), math.log(multiplier) + math.log(q)
    for _ in range(100):
        bent = log_c + (q - 1.0) * x
        total = np.logaddexp(x, bent)
        share = np.exp(x - total)
        step = np.maximum(total - goal, 0.0) / (share + (1.0 - share) * (q - 1.0))
        x = x - step
        if bool(np.all(step <= 1e-15 * (1.0 + np.abs(x)))):
            break
    w[there] = np.exp(x)
    return w


def _cover(p: int, m: int, q: float) -> tuple[Array, Array, Array]:
    """Columns, whole-number values and row starts of all signed allocations of `m` atoms."""
    level = np.floor((np.arange(m + 1) / m) ** (1.0 / q) * 2.0**_BITS)
    columns: list[int] = []
    values: list[float] = []
    starts = [0]
    for k in range(1, min(m, p) + 1):
        shares = [c for c in product(range(1, m - k + 2), repeat=k) if sum(c) == m]
        for where in combinations(range(p), k):
            for share in shares:
                for signs in product((1, -1), repeat=k):
                    columns += where
                    values += [s * level[c] for s, c in zip(signs, share, strict=True)]
                    starts.append(len(columns))
    return np.array(columns), np.array(values), np.array(starts)
