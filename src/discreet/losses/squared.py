"""Half the squared residual."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.losses.base import Array, Loss, Targets, pair

__all__ = ["SquaredLoss"]

_ROOT_OF_LARGEST = 1e154  # a residual beyond this has a square beyond the largest double


@dataclass(frozen=True)
class SquaredLoss(Loss):
    """``(margin - y)**2 / 2``: its derivative is bounded only where margins and targets are.

    Examples
    --------
    >>> loss = SquaredLoss()
    >>> float(loss.value(3.0, 1.0)), loss.lipschitz, loss.lipschitz_on(margin_bound=2, target_bound=1)
    (2.0, inf, 3.0)
    """

    name: ClassVar[str] = "squared"
    targets: ClassVar[Targets] = "real"

    @property
    def lipschitz(self) -> float:
        """Infinite: use :meth:`lipschitz_on`, or clip."""
        return math.inf

    @property
    def smoothness(self) -> float:
        """One."""
        return 1.0

    def lipschitz_on(self, margin_bound: float = math.inf, target_bound: float = math.inf) -> float:
        """The largest residual."""
        return float(margin_bound) + float(target_bound)

    def value(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """Half the squared residual (residuals beyond 1e154 count as 1e154, so that the value stays finite)."""
        m, t = pair(margin, y)
        r = np.minimum(np.abs(m - t), _ROOT_OF_LARGEST)
        return np.asarray(0.5 * r * r)

    def derivative(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """The residual ``margin - y``."""
        m, t = pair(margin, y)
        return np.asarray(m - t)

    def curvature(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """One everywhere."""
        return np.ones(np.broadcast_shapes(np.shape(margin), np.shape(y)))
