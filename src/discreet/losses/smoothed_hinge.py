"""Two smooth versions of the hinge loss of support vector machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.losses.base import Array, Loss, Targets, bell, log1p_exp, pair, positive, sigmoid

__all__ = ["HuberHingeLoss", "SmoothedHingeLoss"]


@dataclass(frozen=True)
class SmoothedHingeLoss(Loss):
    """The softplus hinge ``w * log(1 + exp((1 - y * margin) / w))`` with `y` in {-1, +1}.

    At most ``w * log(2)`` above the hinge.  With slope `s` its curvature is ``s (1 - s) / w``, which vanishes where
    the slope is steepest, so objective perturbation fits it at the noise of one Gaussian query.

    Parameters
    ----------
    width : float, default=0.5
        The width `w` of the smoothed corner; a public number.

    Examples
    --------
    >>> loss = SmoothedHingeLoss(width=0.5)
    >>> float(loss.curvature_of_slope(0.5)), loss.smoothness
    (0.5, 0.5)
    """

    width: float = 0.5

    name: ClassVar[str] = "smoothed_hinge"
    targets: ClassVar[Targets] = "binary"
    sign_fixed: ClassVar[bool] = True
    self_saturating: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", positive(self.width, "width"))

    @property
    def lipschitz(self) -> float:
        """One."""
        return 1.0

    @property
    def smoothness(self) -> float:
        """``1 / (4 w)``."""
        return 0.25 / self.width

    def _z(self, margin: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
        m, t = pair(margin, y)
        return (1.0 - t * m) / self.width, t

    def value(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """The softplus of the distance to the margin 1."""
        z, _ = self._z(margin, y)
        return np.asarray(self.width * log1p_exp(z))

    def derivative(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """``-y`` times the logistic function of the distance over the width."""
        z, t = self._z(margin, y)
        return np.asarray(-t * sigmoid(z))

    def curvature(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """``s (1 - s) / w``."""
        z, _ = self._z(margin, y)
        return np.asarray(bell(z) / self.width)

    def curvature_of_slope(self, s: ArrayLike) -> Array:
        """``s (1 - s) / w``, exactly the curvature."""
        v = np.asarray(s, dtype=np.float64)
        return np.asarray(v * (1.0 - v) / self.width)


@dataclass(frozen=True)
class HuberHingeLoss(Loss):
    """The hinge with a quadratic corner (the Huber support vector machine of Chaudhuri, Monteleoni and Sarwate).

    With ``z = y * margin``: 0 above ``1 + w``, ``1 - z`` below ``1 - w``, and ``(1 + w - z)**2 / (4 w)`` between.
    Within ``w / 4`` of the hinge.  Its curvature jumps, so it has no refined profile.

    Parameters
    ----------
    width : float, default=0.5
        The half-width `w` of the corner; a public number.

    Examples
    --------
    >>> HuberHingeLoss(width=0.5).value([0.0, 1.0, 2.0], 1.0)
    array([1.   , 0.125, 0.   ])
    """

    width: float = 0.5

    name: ClassVar[str] = "huber_hinge"
    targets: ClassVar[Targets] = "binary"
    sign_fixed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", positive(self.width, "width"))

    @property
    def lipschitz(self) -> float:
        """One."""
        return 1.0

    @property
    def smoothness(self) -> float:
        """``1 / (2 w)``."""
        return 0.5 / self.width

    def _short(self, margin: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
        """How far the margin falls short of ``1 + w`` (at least 0), and the targets."""
        m, t = pair(margin, y)
        return np.maximum(1.0 + self.width - t * m, 0.0), t

    def value(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """Quadratic within `w` of the corner, linear below."""
        short, _ = self._short(margin, y)
        near = np.minimum(short, 2.0 * self.width)
        return np.asarray(near * near / (4.0 * self.width) + (short - near))

    def derivative(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """``-y`` times the shortfall over ``2 w``, at most 1."""
        short, t = self._short(margin, y)
        return np.asarray(-t * np.minimum(short / (2.0 * self.width), 1.0))

    def curvature(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """``1 / (2 w)`` in the corner, zero outside."""
        short, _ = self._short(margin, y)
        inside = (short > 0) & (short <= 2.0 * self.width)
        return np.asarray(np.where(inside, self.smoothness, 0.0))

    def curvature_of_slope(self, s: ArrayLike) -> Array:
        """``1 / (2 w)``: the curvature does not fall as the slope grows."""
        return np.full(np.shape(s), self.smoothness)
