"""The Euclidean ball."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.penalties.base import Array, ConstraintSet, Norm, norm_of, positive, vector
from discreet.penalties.widths import mean_chi

__all__ = ["L2Ball"]


@dataclass(frozen=True)
class L2Ball(ConstraintSet):
    """Weights of Euclidean norm at most `radius`.

    Parameters
    ----------
    radius : float, default=1.0
        The radius, a public number.

    Examples
    --------
    >>> L2Ball(1.0).project([3.0, 4.0])
    array([0.6, 0.8])
    >>> round(L2Ball(1.0).gaussian_width(100), 3)
    9.975
    """

    radius: float = 1.0

    name: ClassVar[str] = "l2_ball"
    exact_width: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive(self.radius, "radius"))

    def project(self, v: ArrayLike) -> Array:
        """The vector itself, shortened to `radius` if it is longer."""
        x = vector(v)
        length = norm_of(x, "l2")
        return x * (self.radius / length) if length > self.radius else x.copy()

    def linear_oracle(self, g: ArrayLike) -> Array:
        """The point opposite to `g`."""
        x = vector(g)
        length = norm_of(x, "l2")
        return x * (-self.radius / length) if length > 0 else np.zeros_like(x)

    def support(self, v: ArrayLike) -> Array:
        """`radius` times the Euclidean norm."""
        return np.asarray(self.radius * np.linalg.norm(np.asarray(v, dtype=np.float64), axis=-1))

    def minkowski(self, v: ArrayLike) -> float:
        """The Euclidean norm over `radius`."""
        return norm_of(vector(v), "l2") / self.radius

    def radius_in(self, norm: Norm, p: int) -> float:
        """`radius`, but ``radius * sqrt(p)`` in the l1 norm."""
        return self.radius * norm_of(np.full(p, p**-0.5), norm) if norm == "l1" else self.radius

    def gaussian_width(self, p: int) -> float:
        """`radius` times the expected length of a normal vector, which is just below ``sqrt(p)``."""
        return self.radius * mean_chi(p)
