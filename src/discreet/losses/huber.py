"""Huber's loss: squared near zero, linear beyond."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.losses.base import Array, Loss, Targets, pair, positive

__all__ = ["HuberLoss"]


@dataclass(frozen=True)
class HuberLoss(Loss):
    """``r**2 / 2`` for ``|r| <= delta``, else ``delta * (|r| - delta / 2)``, with ``r = margin - y``.

    It is the squared loss with its derivative clipped.  The curvature jumps at the clip, so it gains nothing from the
    refined profile of objective perturbation: take :class:`~discreet.losses.PseudoHuberLoss` there.

    Parameters
    ----------
    delta : float, default=1.0
        The residual beyond which the loss is linear; a public number.

    Examples
    --------
    >>> HuberLoss(delta=2.0).derivative([-5.0, 1.0, 7.0], 0.0)
    array([-2.,  1.,  2.])
    """

    delta: float = 1.0

    name: ClassVar[str] = "huber"
    targets: ClassVar[Targets] = "real"

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", positive(self.delta, "delta"))

    @property
    def lipschitz(self) -> float:
        """`delta`."""
        return self.delta

    @property
    def smoothness(self) -> float:
        """One."""
        return 1.0

    def lipschitz_on(self, margin_bound: float = float("inf"), target_bound: float = float("inf")) -> float:
        """The largest residual, or `delta` if that is smaller."""
        return min(self.delta, float(margin_bound) + float(target_bound))

    def value(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """Half the squared residual, continued linearly."""
        m, t = pair(margin, y)
        r = np.abs(m - t)
        near = np.minimum(r, self.delta)
        return np.asarray(0.5 * near * near + self.delta * (r - near))

    def derivative(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """The residual, clipped to ``[-delta, delta]``."""
        m, t = pair(margin, y)
        return np.asarray(np.clip(m - t, -self.delta, self.delta))

    def curvature(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """One up to `delta`, zero beyond."""
        m, t = pair(margin, y)
        return np.asarray(np.where(np.abs(m - t) <= self.delta, 1.0, 0.0))

    def curvature_of_slope(self, s: ArrayLike) -> Array:
        """One: the curvature does not fall as the slope grows."""
        return np.ones(np.shape(s))
