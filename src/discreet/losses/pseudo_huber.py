"""The pseudo-Huber loss: a smooth Huber loss whose curvature fades as its slope saturates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.losses.base import Array, Loss, Targets, pair, positive

__all__ = ["PseudoHuberLoss"]


@dataclass(frozen=True)
class PseudoHuberLoss(Loss):
    """``delta**2 * (sqrt(1 + (r / delta)**2) - 1)`` with ``r = margin - y``.

    Needs no bound on the targets: the slope never exceeds `delta`.  With ``s = |f'| / delta`` the curvature is
    ``(1 - s**2) ** 1.5``.

    Parameters
    ----------
    delta : float, default=1.0
        Where the loss turns from square to linear, and its Lipschitz constant; a public number.

    Examples
    --------
    >>> loss = PseudoHuberLoss(delta=2.0)
    >>> float(loss.derivative(1e300, -5.0)), float(loss.curvature_of_slope(0.0))
    (2.0, 1.0)
    """

    delta: float = 1.0

    name: ClassVar[str] = "pseudo_huber"
    targets: ClassVar[Targets] = "real"
    self_saturating: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", positive(self.delta, "delta", most=1e6))

    @property
    def lipschitz(self) -> float:
        """`delta`."""
        return self.delta

    @property
    def smoothness(self) -> float:
        """One."""
        return 1.0

    def lipschitz_on(self, margin_bound: float = float("inf"), target_bound: float = float("inf")) -> float:
        """The slope at the largest residual."""
        r = min(float(margin_bound) + float(target_bound), 1e300)
        return min(self.delta, float(self.delta * (r / np.hypot(self.delta, r)) * (1 + 1e-15)))

    def value(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """``delta * (hypot(delta, r) - delta)``, written without cancellation."""
        m, t = pair(margin, y)
        r = np.abs(m - t)
        return np.asarray(self.delta * (r * (r / (self.delta + np.hypot(self.delta, r)))))

    def derivative(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """``delta * r / hypot(delta, r)``."""
        m, t = pair(margin, y)
        r = m - t
        return np.asarray(self.delta * (r / np.hypot(self.delta, r)))

    def curvature(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """``(delta / hypot(delta, r)) ** 3``."""
        m, t = pair(margin, y)
        c = self.delta / np.hypot(self.delta, m - t)
        return np.asarray(c * c * c)

    def curvature_of_slope(self, s: ArrayLike) -> Array:
        """``(1 - s**2) ** 1.5``, exactly the curvature."""
        v = np.asarray(s, dtype=np.float64)
        w = np.maximum((1.0 - v) * (1.0 + v), 0.0)
        return np.asarray(w * np.sqrt(w))
