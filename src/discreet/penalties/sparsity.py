"""Exact sparsity: at most k weights that are not zero, in a Euclidean ball."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.penalties.base import Array, ConstraintSet, Norm, norm_of, positive, vector, whole
from discreet.penalties.widths import mean_chi

__all__ = ["Sparsity"]


@dataclass(frozen=True)
class Sparsity(ConstraintSet):
    """At most `k` non-zero weights, of Euclidean norm at most `radius` if one is given; not convex.

    Parameters
    ----------
    k : int, default=10
        The number of weights that may be non-zero, a public number.
    radius : float, optional
        The radius, a public number; None for no limit.

    Examples
    --------
    >>> Sparsity(2).project([0.1, -3.0, 2.0])
    array([ 0., -3.,  2.])
    >>> Sparsity(1, radius=1.0).project([0.1, -3.0, 2.0]), Sparsity(1, radius=1.0).is_convex
    (array([ 0., -1.,  0.]), False)
    """

    k: int = 10
    radius: float | None = None

    name: ClassVar[str] = "sparsity"
    is_convex: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole(self.k, "k"))
        if self.radius is not None:
            object.__setattr__(self, "radius", positive(self.radius, "radius"))

    @property
    def _limit(self) -> float:
        return math.inf if self.radius is None else self.radius

    def largest(self, v: ArrayLike) -> Array:
        """The places of the `k` largest absolute entries, in increasing order (the first of equals)."""
        x = vector(v)
        order = np.argsort(-np.abs(x), kind="stable")
        return np.sort(order[: self.k])

    def project(self, v: ArrayLike) -> Array:
        """A nearest point: the `k` largest entries kept, then shortened to the ball."""
        x = vector(v)
        w = np.zeros_like(x)
        kept = self.largest(x)
        w[kept] = x[kept]
        length = norm_of(w, "l2")
        return w * (self._limit / length) if length > self._limit else w

    def linear_oracle(self, g: ArrayLike) -> Array:
        """Against the `k` largest entries of `g`; needs a radius."""
        x = vector(g)
        if self.radius is None:
            raise ValueError("radius=None lets a linear function fall for ever; give Sparsity a radius")
        s = Sparsity(self.k).project(x)
        length = norm_of(s, "l2")
        return s * (-self.radius / length) if length > 0 else s

    def support(self, v: ArrayLike) -> Array:
        """`radius` times the length of the `k` largest entries."""
        x = np.abs(np.asarray(v, dtype=np.float64))
        k = min(self.k, x.shape[-1])
        top = np.linalg.norm(np.partition(x, x.shape[-1] - k, axis=-1)[..., x.shape[-1] - k :], axis=-1)
        return np.asarray(np.where(top > 0, self._limit * np.where(top > 0, top, 1.0), 0.0))

    def minkowski(self, v: ArrayLike) -> float:
        """The Euclidean norm over `radius`, infinite beyond `k` non-zero entries (a gauge, not a norm)."""
        x = vector(v)
        return math.inf if int(np.count_nonzero(x)) > self.k else norm_of(x, "l2") / self._limit

    def radius_in(self, norm: Norm, p: int) -> float:
        """`radius`, but ``radius * sqrt(min(k, p))`` in the l1 norm."""
        return self._limit * math.sqrt(min(self.k, p)) if norm == "l1" else self._limit

    def gaussian_width(self, p: int) -> float:
        """The bound ``radius * (mean length of k normals + sqrt(2 log(p choose k)))``, at most the ball's width.

        The width is the expected largest of ``(p choose k)`` lengths, each 1-Lipschitz in the normal vector.
        """
        k = min(self.k, p)
        subsets = math.lgamma(p + 1) - math.lgamma(k + 1) - math.lgamma(p - k + 1)
        return self._limit * min(mean_chi(k) + math.sqrt(2.0 * max(subsets, 0.0)), mean_chi(p))
