"""The l1 penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.penalties.base import Array, Penalty

__all__ = ["L1", "price", "soft_threshold"]


def price(value: float, what: str) -> float:
    """`value` as a float, refused unless finite and at least 0.

    >>> price(1, "a")
    1.0
    """
    number = float(value)
    if not (0 <= number < float("inf")):
        raise ValueError(f"{what}={value!r} must be a finite number, at least 0")
    return number


def soft_threshold(v: ArrayLike, level: ArrayLike) -> Array:
    """Every entry moved towards 0 by `level`, at most to 0.

    >>> soft_threshold([3.0, -0.5], 1.0)
    array([ 2., -0.])
    """
    x = np.asarray(v, dtype=np.float64)
    return np.asarray(np.sign(x) * np.maximum(np.abs(x) - np.asarray(level, dtype=np.float64), 0.0))


@dataclass(frozen=True)
class L1(Penalty):
    """``a * sum |w_j|``, beside a *sum* of losses.

    Parameters
    ----------
    a : float, default=1.0
        The price, a public number.

    Examples
    --------
    >>> L1(0.5).value([1.0, -3.0]), L1(0.5).prox([1.0, -3.0], step=2.0)
    (2.0, array([ 0., -2.]))
    """

    a: float = 1.0

    name: ClassVar[str] = "l1"
    separable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", price(self.a, "a"))

    def value(self, weights: ArrayLike) -> float:
        """`a` times the l1 norm."""
        return self.a * float(np.sum(np.abs(np.asarray(weights, dtype=np.float64))))

    def prox(self, v: ArrayLike, step: ArrayLike = 1.0) -> Array:
        """The soft threshold at ``step * a``."""
        return soft_threshold(v, self.a * np.asarray(step, dtype=np.float64))

    def prox_coordinate(self, v: float, step: float, index: int) -> float:
        """The soft threshold of one coordinate."""
        del index
        return float(soft_threshold(v, self.a * step))
