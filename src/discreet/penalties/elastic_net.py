"""The elastic net: an l1 and a squared Euclidean penalty together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.penalties.base import Array, Penalty
from discreet.penalties.l1 import price, soft_threshold

__all__ = ["ElasticNet"]


@dataclass(frozen=True)
class ElasticNet(Penalty):
    """``a * (ratio * sum |w_j| + (1 - ratio) / 2 * sum w_j**2)``, beside a *sum* of losses.

    Parameters
    ----------
    a : float, default=1.0
        The price, a public number.
    ratio : float, default=0.5
        The share of the l1 penalty, between 0 and 1.

    Examples
    --------
    >>> net = ElasticNet(2.0, ratio=0.5)
    >>> net.value([1.0, -3.0]), net.prox([3.0, -0.5], step=1.0), net.strong_convexity
    (9.0, array([ 1., -0.]), 1.0)
    """

    a: float = 1.0
    ratio: float = 0.5

    name: ClassVar[str] = "elastic_net"
    separable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", price(self.a, "a"))
        if not 0.0 <= float(self.ratio) <= 1.0:
            raise ValueError(f"ratio={self.ratio!r} must lie between 0 (all l2) and 1 (all l1)")
        object.__setattr__(self, "ratio", float(self.ratio))

    @property
    def l1_price(self) -> float:
        """The price of the l1 part."""
        return self.a * self.ratio

    @property
    def strong_convexity(self) -> float:
        """The price of the squared part."""
        return self.a * (1.0 - self.ratio)

    def value(self, weights: ArrayLike) -> float:
        """Both parts together."""
        w = np.asarray(weights, dtype=np.float64)
        return self.l1_price * float(np.sum(np.abs(w))) + 0.5 * self.strong_convexity * float(np.sum(w * w))

    def prox(self, v: ArrayLike, step: ArrayLike = 1.0) -> Array:
        """The soft threshold, then the division."""
        h = np.asarray(step, dtype=np.float64)
        return np.asarray(soft_threshold(v, h * self.l1_price) / (1.0 + h * self.strong_convexity))

    def prox_coordinate(self, v: float, step: float, index: int) -> float:
        """The prox of one coordinate."""
        del index
        return float(self.prox(v, step))
