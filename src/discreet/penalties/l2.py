"""The squared Euclidean (ridge) penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.penalties.base import Array, Penalty
from discreet.penalties.l1 import price

__all__ = ["L2"]


@dataclass(frozen=True)
class L2(Penalty):
    """``a / 2 * sum w_j**2``, beside a *sum* of losses.

    Parameters
    ----------
    a : float, default=1.0
        The price, a public number; also the modulus of strong convexity.

    Examples
    --------
    >>> L2(2.0).value([1.0, -3.0]), L2(2.0).prox([1.0, -3.0], step=0.5), L2(2.0).strong_convexity
    (10.0, array([ 0.5, -1.5]), 2.0)
    """

    a: float = 1.0

    name: ClassVar[str] = "l2"
    separable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", price(self.a, "a"))

    @property
    def strong_convexity(self) -> float:
        """`a`."""
        return self.a

    def value(self, weights: ArrayLike) -> float:
        """Half of `a` times the squared norm."""
        w = np.asarray(weights, dtype=np.float64)
        return 0.5 * self.a * float(np.sum(w * w))

    def prox(self, v: ArrayLike, step: ArrayLike = 1.0) -> Array:
        """Everything divided by ``1 + step * a``."""
        return np.asarray(np.asarray(v, dtype=np.float64) / (1.0 + self.a * np.asarray(step, dtype=np.float64)))

    def prox_coordinate(self, v: float, step: float, index: int) -> float:
        """One coordinate divided by ``1 + step * a``."""
        del index
        return v / (1.0 + self.a * step)
