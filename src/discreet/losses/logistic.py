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
    """``log(1 + exp(lead - y * margin))`` with `y` in {-1, +1}.

    The slope ``s = |f'|`` gives the curvature: ``f'' = s (1 - s)``, which vanishes where the slope is steepest.

    Parameters
    ----------
    lead : float, default=0
        How far a margin must go beyond 0 before its row counts as half settled; a public number.  With the lead at 0
        rows of margin 0 have half the slope that noise is made for, with a lead of 2 they have 88 % of it.

    Examples
    --------
    >>> loss = LogisticLoss()
    >>> round(float(loss.value(0.0, -1.0)), 6), float(loss.curvature_of_slope(0.5))
    (0.693147, 0.25)
    >>> loss.predict_proba([0.0])
    array([[0.5, 0.5]])
    """

    lead: float = 0.0

    name: ClassVar[str] = "logistic"
    targets: ClassVar[Targets] = "binary"
    sign_fixed: ClassVar[bool] = True
    self_saturating: ClassVar[bool] = True
    probabilistic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 <= self.lead <= 20:
            raise ValueError(f"lead={self.lead!r} must be a number between 0 and 20")

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
        return float(np.nextafter(sigmoid(np.asarray(self.lead + float(margin_bound))), 1.0))

    def value(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """``log(1 + exp(lead - y * margin))``."""
        m, t = pair(margin, y)
        return log1p_exp(self.lead - t * m)

    def derivative(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """``-y / (1 + exp(y * margin - lead))``."""
        m, t = pair(margin, y)
        return np.asarray(-t * sigmoid(self.lead - t * m))

    def curvature(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """``s (1 - s)`` with `s` the slope; without a lead the same for both classes."""
        m, t = pair(margin, y)
        return bell(t * m - self.lead)

    def curvature_of_slope(self, s: ArrayLike) -> Array:
        """``s (1 - s)``, exactly the curvature."""
        v = np.asarray(s, dtype=np.float64)
        return np.asarray(v * (1.0 - v))

    def predict_proba(self, margin: ArrayLike) -> Array:
        """Probabilities of -1 and of +1 at which `margin` minimises the expected loss, on a new last axis.

        >>> LogisticLoss(lead=2.0).predict_proba([0.0, 2.0]).round(3)
        array([[0.5  , 0.5  ],
               [0.337, 0.663]])
        """
        m = np.asarray(margin, dtype=np.float64)
        up, down = sigmoid(self.lead + m), sigmoid(self.lead - m)  # p * down = (1 - p) * up
        return np.stack([down / (up + down), up / (up + down)], axis=-1)
