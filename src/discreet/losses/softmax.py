"""The softmax (multinomial logistic) loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.losses.base import Array, Loss, Targets

__all__ = ["SoftmaxLoss"]


@dataclass(frozen=True)
class SoftmaxLoss(Loss):
    """``log(sum_k exp(m_k)) - m_y`` for `n_classes` margins per row, on the last axis, and `y` in 0..K-1.

    The derivative ``pi - e_y`` is a vector whose Euclidean norm is at most ``sqrt(2)``.  Its direction moves with the
    margins, so there is no scalar curvature-of-slope function: objective perturbation has a theorem of its own for it.

    Parameters
    ----------
    n_classes : int, default=3
        The number of classes `K`, at least 2; a public number.

    Examples
    --------
    >>> loss = SoftmaxLoss(n_classes=3)
    >>> loss.derivative([[0.0, 0.0, 0.0]], [2]).round(3)
    array([[ 0.333,  0.333, -0.667]])
    >>> round(loss.lipschitz, 4), loss.smoothness, loss.curvature_of_slope(0.5) is None
    (1.4142, 0.5, True)
    """

    n_classes: int = 3

    name: ClassVar[str] = "softmax"
    targets: ClassVar[Targets] = "classes"
    probabilistic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.n_classes, bool) or int(self.n_classes) != self.n_classes or self.n_classes < 2:
            raise ValueError(f"n_classes={self.n_classes!r} must be a whole number, at least 2")
        object.__setattr__(self, "n_classes", int(self.n_classes))

    @property
    def n_outputs(self) -> int:
        """The number of classes."""
        return self.n_classes

    @property
    def lipschitz(self) -> float:
        """``sqrt(2)``, in the Euclidean norm over classes (1 in the largest coordinate), rounded up."""
        return float(np.nextafter(math.sqrt(2.0), 2.0))

    @property
    def smoothness(self) -> float:
        """One half, the largest eigenvalue that ``diag(pi) - pi pi^T`` can have."""
        return 0.5

    def _checked(self, margin: ArrayLike) -> Array:
        m = np.asarray(margin, dtype=np.float64)
        if m.ndim == 0 or m.shape[-1] != self.n_classes:
            raise ValueError(f"softmax margins need {self.n_classes} entries on the last axis, not shape {m.shape}")
        return m

    def _exponentials(self, margin: ArrayLike) -> tuple[Array, Array, Array]:
        """The largest margin, exponentials relative to it, and their sum, added class by class in a fixed order."""
        m = self._checked(margin)
        largest = m[..., 0]
        for k in range(1, self.n_classes):
            largest = np.maximum(largest, m[..., k])
        e = np.exp(np.maximum(m - largest[..., None], -1e4))
        total = e[..., 0]
        for k in range(1, self.n_classes):
            total = total + e[..., k]
        return largest, e, total

    def _one_hot(self, y: ArrayLike) -> Array:
        return np.asarray(np.asarray(y)[..., None] == np.arange(self.n_classes), dtype=np.float64)

    def value(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """The negative log-likelihood of the class."""
        m = self._checked(margin)
        largest, _, total = self._exponentials(m)
        classes = np.asarray(y).astype(np.int64)
        shape = np.broadcast_shapes(largest.shape, classes.shape)
        wide = np.broadcast_to(m, (*shape, self.n_classes))
        own = np.take_along_axis(wide, np.broadcast_to(classes, shape)[..., None], axis=-1)[..., 0]
        return np.asarray(np.log(total) + (largest - own))

    def derivative(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """``pi - e_y``, one entry per class."""
        return np.asarray(self.predict_proba(margin) - self._one_hot(y))

    def curvature(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """The matrices ``diag(pi) - pi pi^T``, on two axes at the end; `y` only broadcasts."""
        pi = self.predict_proba(margin)
        pi = np.broadcast_to(pi, (*np.broadcast_shapes(pi.shape[:-1], np.shape(y)), self.n_classes))
        return np.asarray(pi[..., :, None] * (np.eye(self.n_classes) - pi[..., None, :]))

    def _valid(self, y: Array) -> bool:
        return bool(np.all(np.isfinite(y)) and np.all(y == np.rint(y)) and np.all((y >= 0) & (y < self.n_classes)))

    def predict(self, margin: ArrayLike) -> Array:
        """The class with the largest margin."""
        return np.asarray(np.argmax(self._checked(margin), axis=-1), dtype=np.float64)

    def predict_proba(self, margin: ArrayLike) -> Array:
        """Class probabilities, on the last axis."""
        _, e, total = self._exponentials(margin)
        return np.asarray(e / total[..., None])
