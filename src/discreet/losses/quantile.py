"""The smoothed pinball loss, for quantiles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.losses.base import Array, Loss, Targets, bell, pair, positive, sigmoid

__all__ = ["QuantileLoss"]


@dataclass(frozen=True)
class QuantileLoss(Loss):
    """The pinball loss of the quantile `q`, with its corner smoothed by a logistic curve of width `w`.

    With ``r = y - margin``: ``q * r + w * log(1 + exp(-r / w))``, at most ``w * log(2)`` above the pinball loss.

    Parameters
    ----------
    q : float, default=0.5
        The quantile, strictly between 0 and 1.
    width : float, default=0.1
        The width `w` of the corner, in units of the target; a public number.

    Examples
    --------
    >>> loss = QuantileLoss(q=0.9, width=0.01)
    >>> loss.value([0.0, 2.0], 1.0).round(6)
    array([0.9, 0.1])
    >>> loss.lipschitz
    0.9
    """

    q: float = 0.5
    width: float = 0.1

    name: ClassVar[str] = "quantile"
    targets: ClassVar[Targets] = "real"
    self_saturating: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", positive(self.q, "q", least=1e-6, most=1 - 1e-6))
        object.__setattr__(self, "width", positive(self.width, "width"))

    @property
    def lipschitz(self) -> float:
        """The larger of `q` and ``1 - q``."""
        return max(self.q, 1.0 - self.q)

    @property
    def smoothness(self) -> float:
        """``1 / (4 w)``."""
        return 0.25 / self.width

    def value(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """The pinball loss plus the smoothing of its corner."""
        m, t = pair(margin, y)
        r = t - m
        corner = self.width * np.log1p(np.exp(-np.abs(r) / self.width))
        return np.asarray(np.where(r >= 0, self.q * r, (self.q - 1.0) * r) + corner)

    def derivative(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """The smoothed step from ``-q`` (margin far below the target) to ``1 - q``."""
        m, t = pair(margin, y)
        return np.asarray(sigmoid((m - t) / self.width) - self.q)

    def curvature(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """The logistic bell over the width."""
        m, t = pair(margin, y)
        return np.asarray(bell((m - t) / self.width) / self.width)

    def curvature_of_slope(self, s: ArrayLike) -> Array:
        """The larger curvature of the at most two places with that slope."""
        shift = np.asarray(s, dtype=np.float64) * self.lipschitz
        low, high = np.maximum(self.q - shift, 0.0), np.minimum(self.q + shift, 1.0)
        return np.asarray(np.maximum(low * (1.0 - low), high * (1.0 - high)) / self.width)

    def infimum(self, y: ArrayLike) -> Array:
        """The width times the entropy of `q`."""
        entropy = -self.q * math.log(self.q) - (1.0 - self.q) * math.log1p(-self.q)
        return np.full(np.shape(y), self.width * entropy)
