"""The logistic loss for two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.losses.base import Array, Loss, Targets, bell, log1p_exp, pair, sigmoid

__all__ = ["LogisticLoss"]


@dataclass(frozen=True)
class LogisticLoss(Loss):
    """``log(1 + exp(-y * margin))`` with `y` in {-1, +1}.

    The slope ``s = |f'|`` gives the curvature: ``f'' = s (1 - s)``, which vanishes where the slope is steepest.

    Examples
    --------
    >>> loss = LogisticLoss()
    >>> round(float(loss.value(0.0, -1.0)), 6), float(loss.curvature_of_slope(0.5))
    (0.693147, 0.25)
    >>> loss.predict_proba([0.0])
    array([[0.5, 0.5]])
    """

    name: ClassVar[str] = "logistic"
    targets: ClassVar[Targets] = "binary"
    sign_fixed: ClassVar[bool] = True
    self_saturating: ClassVar[bool] = True
    probabilistic: ClassVar[bool] = True

    @property
    def lipschitz(self) -> float:
        """One."""
        return 1.0

    @property
    def smoothness(self) -> float:
        """One quarter."""
        return 0.25

    def lipschitz_on(self, margin_bound: float = float("inf"), target_bound: float = float("inf")) -> float:
        """The slope at the margin ``-margin_bound``, which is the steepest."""
        del target_bound
        return float(np.nextafter(sigmoid(np.asarray(float(margin_bound))), 1.0))

    def value(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """``log(1 + exp(-y * margin))``."""
        m, t = pair(margin, y)
        return log1p_exp(-t * m)

    def derivative(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """``-y / (1 + exp(y * margin))``."""
        m, t = pair(margin, y)
        return np.asarray(-t * sigmoid(-t * m))

    def curvature(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """``s (1 - s)`` with `s` the slope; the same for both classes."""
        m, t = pair(margin, y)
        return bell(t * m)

    def curvature_of_slope(self, s: ArrayLike) -> Array:
        """``s (1 - s)``, exactly the curvature."""
        v = np.asarray(s, dtype=np.float64)
        return np.asarray(v * (1.0 - v))

    def predict_proba(self, margin: ArrayLike) -> Array:
        """Probabilities of -1 and of +1, on a new last axis."""
        m = np.asarray(margin, dtype=np.float64)
        return np.stack([sigmoid(-m), sigmoid(m)], axis=-1)
