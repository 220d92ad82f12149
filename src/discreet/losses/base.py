"""What every loss is: a convex function of a margin and a target, with constants that are public."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Array", "Loss", "log1p_exp", "positive", "sigmoid"]

Array = NDArray[np.float64]
Targets = Literal["binary", "classes", "count", "real"]


@dataclass(frozen=True)
class Loss(ABC):
    """A loss ``f(margin, y)``: convex in the margin, at least 0, and ignorant of rows and features.

    Every method works entry by entry, so that what it gives for one row can't depend on the other rows, not even in
    the last bit.  Arguments broadcast.  Margins up to 1e300 in size are fine.

    Attributes
    ----------
    name : str
        The registry's name.
    targets : {"binary", "classes", "count", "real"}
        What `y` may hold: -1 or +1; whole numbers 0..K-1; numbers from 0 up; any number.
    n_outputs : int
        1, or the number of classes: then margins and derivatives have one more axis, of that length, at the end.
    sign_fixed : bool
        Whether the sign of the derivative follows from `y` alone.
    self_saturating : bool
        Whether the curvature vanishes wherever the slope is steepest (``curvature_of_slope(1) == 0``).
    probabilistic : bool
        Whether :meth:`predict_proba` has a meaning.

    Examples
    --------
    >>> from discreet.losses import LogisticLoss
    >>> loss = LogisticLoss()
    >>> float(loss.derivative(0.0, 1.0)), loss.lipschitz, loss.smoothness
    (-0.5, 1.0, 0.25)
    """

    name: ClassVar[str]
    targets: ClassVar[Targets]
    sign_fixed: ClassVar[bool] = False
    self_saturating: ClassVar[bool] = False
    probabilistic: ClassVar[bool] = False

    @property
    def n_outputs(self) -> int:
        """How many margins one row has."""
        return 1

    @property
    @abstractmethod
    def lipschitz(self) -> float:
        """A bound on the size of the derivative over all margins and targets (infinite where there is none)."""

    @property
    @abstractmethod
    def smoothness(self) -> float:
        """A bound on the second derivative over all margins and targets."""

    @abstractmethod
    def value(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """The loss itself, at least 0."""

    @abstractmethod
    def derivative(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """The derivative in the margin."""

    @abstractmethod
    def curvature(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """The second derivative in the margin."""

    def lipschitz_on(self, margin_bound: float = math.inf, target_bound: float = math.inf) -> float:
        """A bound on the derivative where ``|margin| <= margin_bound`` and ``|y| <= target_bound``."""
        del margin_bound, target_bound
        return self.lipschitz

    def smoothness_on(self, margin_bound: float = math.inf, target_bound: float = math.inf) -> float:
        """A bound on the second derivative where ``|margin| <= margin_bound`` and ``|y| <= target_bound``."""
        del margin_bound, target_bound
        return self.smoothness

    def curvature_of_slope(self, s: ArrayLike) -> Array | None:
        """The function h with ``curvature <= h(|derivative| / lipschitz)``; None where no scalar one exists."""
        del s
        return None

    def infimum(self, y: ArrayLike) -> Array:
        """The value at a perfect fit: the infimum over margins, for each target."""
        return np.zeros(np.shape(y))

    def encode(self, y: ArrayLike) -> Array:
        """The targets as the loss wants them, refused when they can't be such targets.

        The error names neither a row nor a value, since targets are private.
        """
        targets = np.asarray(y, dtype=np.float64)
        if not self._valid(targets):
            raise ValueError(f"the targets are not what {self.name!r} takes: {_RULES[self.targets]}")
        return targets

    def _valid(self, y: Array) -> bool:
        if not bool(np.all(np.isfinite(y))):
            return False
        if self.targets == "binary":
            return bool(np.all(np.abs(y) == 1))
        return self.targets != "count" or bool(np.all(y >= 0))

    def predict(self, margin: ArrayLike) -> Array:
        """The prediction in the units of the targets: the margin itself, its sign, its mean or the best class."""
        m = np.asarray(margin, dtype=np.float64)
        return np.where(m > 0, 1.0, -1.0) if self.targets == "binary" else m

    def predict_proba(self, margin: ArrayLike) -> Array:
        """Class probabilities, on one more axis at the end; only where `probabilistic` is true."""
        del margin
        raise TypeError(f"{self.name!r} is not a probability model; take LogisticLoss or SoftmaxLoss for probabilities")


_RULES: dict[str, str] = {
    "binary": "every target must be -1 or +1",
    "classes": "every target must be a whole number from 0 to n_classes - 1",
    "count": "every target must be a finite number, at least 0",
    "real": "every target must be a finite number",
}


def positive(value: float, what: str, most: float = 1e9, least: float = 1e-6) -> float:
    """`value` as a float, refused unless it is in [`least`, `most`].

    >>> positive(2, "delta")
    2.0
    """
    number = float(value)
    if not least <= number <= most:
        raise ValueError(f"{what}={value!r} must be a number between {least:g} and {most:g}")
    return number


def pair(margin: ArrayLike, y: ArrayLike) -> tuple[Any, Any]:
    """Both arguments as float64 arrays."""
    return np.asarray(margin, dtype=np.float64), np.asarray(y, dtype=np.float64)


def sigmoid(z: Array) -> Array:
    """The logistic function, to full relative precision at both ends.

    >>> float(sigmoid(np.array(-700.0))) > 0
    True
    """
    e = np.exp(-np.abs(z))
    return np.asarray(np.where(z >= 0, 1.0, e) / (1.0 + e))


def bell(z: Array) -> Array:
    """The derivative of the logistic function.

    >>> float(bell(np.array(0.0)))
    0.25
    """
    e = np.exp(-np.abs(z))
    return np.minimum(e / ((1.0 + e) * (1.0 + e)), 0.25)  # rounding must not lift it above its bound


def log1p_exp(z: Array) -> Array:
    """``log(1 + exp(z))`` without overflow.

    >>> float(log1p_exp(np.array(1e300)))
    1e+300
    """
    return np.asarray(np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z))))
