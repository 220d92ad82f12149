"""Poisson deviance with a log link, made Lipschitz by a public range of margins."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.losses.base import Array, Loss, Targets, pair, positive

__all__ = ["PoissonLoss"]


@dataclass(frozen=True)
class PoissonLoss(Loss):
    """Half the Poisson deviance of the mean ``exp(margin)``, continued linearly beyond a public margin.

    For ``margin <= M``: ``exp(margin) - y * margin - (y - y * log(y))``.  Above `M` the exponential continues along
    its tangent; targets above ``exp(M)`` count as ``exp(M)``.  So the loss is convex, at least 0 (0 at the margin
    ``log(y)``) and ``exp(M)``-Lipschitz with no bound on the targets.  Below ``-M`` the exponential itself is already
    flat, and a tangent there would drag empty counts to minus infinity, so it stays.

    Parameters
    ----------
    margin_range : float, default=5.0
        `M`: means up to ``exp(M)`` are modelled (148 by default); a public number, at most 18.

    Examples
    --------
    >>> loss = PoissonLoss(margin_range=2.0)
    >>> float(loss.value(0.0, 1.0)), round(loss.lipschitz, 6)
    (0.0, 7.389056)
    >>> loss.predict([-50.0, 0.0, 50.0]).round(4)
    array([0.1353, 1.    , 7.3891])
    """

    margin_range: float = 5.0

    name: ClassVar[str] = "poisson"
    targets: ClassVar[Targets] = "count"

    def __post_init__(self) -> None:
        object.__setattr__(self, "margin_range", positive(self.margin_range, "margin_range", most=18.0))

    @property
    def top(self) -> float:
        """``exp(M)``, the largest mean, with the last bit rounded up."""
        return float(np.nextafter(math.exp(self.margin_range), math.inf))

    @property
    def lipschitz(self) -> float:
        """``exp(M)``: slope and target both lie in ``[0, exp(M)]``."""
        return self.top

    @property
    def smoothness(self) -> float:
        """``exp(M)``."""
        return self.top

    def lipschitz_on(self, margin_bound: float = math.inf, target_bound: float = math.inf) -> float:
        """The larger of the largest mean and the largest target."""
        return max(self.smoothness_on(margin_bound), min(float(target_bound), self.top))

    def smoothness_on(self, margin_bound: float = math.inf, target_bound: float = math.inf) -> float:
        """The largest mean."""
        del target_bound
        bound = float(np.nextafter(math.exp(min(float(margin_bound), self.margin_range)), math.inf))
        return min(bound, self.top)

    def _pair(self, margin: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
        m, t = pair(margin, y)
        return m, np.minimum(t, math.exp(self.margin_range))

    def value(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """Half the deviance, zero at the margin ``log(y)``."""
        m, t = self._pair(margin, y)
        inner = np.minimum(m, self.margin_range)
        safe = np.where(t > 0, t, 1.0)
        u = inner - np.log(safe)
        # y (e^u - 1 - u) with u = m - log y: no cancellation between large terms; e^u <= e^M / y, so it stays finite
        counted = np.maximum(np.exp(inner) - safe - safe * u, 0.0)
        near = np.abs(u) < 1e-3
        small = np.where(near, u, 0.0)
        counted = np.where(near, safe * small * small * (0.5 + small * (1 / 6 + small / 24)), counted)
        beyond = (math.exp(self.margin_range) - t) * (m - inner)
        return np.asarray(np.where(t > 0, counted, np.exp(inner)) + beyond)

    def derivative(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """``exp(min(margin, M)) - min(y, exp(M))``."""
        m, t = self._pair(margin, y)
        return np.asarray(np.exp(np.minimum(m, self.margin_range)) - t)

    def curvature(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """``exp(margin)`` up to `M`, zero beyond."""
        m, t = self._pair(margin, y)
        inside = np.exp(np.minimum(m, self.margin_range))
        return np.asarray(np.where(m <= self.margin_range, inside, 0.0) + 0.0 * t)

    def curvature_of_slope(self, s: ArrayLike) -> Array:
        """``exp(M)``: a small count can have a steep slope and a large curvature at once."""
        return np.full(np.shape(s), self.smoothness)

    def predict(self, margin: ArrayLike) -> Array:
        """The mean ``exp(margin)``, with the margin clipped to ``[-M, M]``."""
        m = np.asarray(margin, dtype=np.float64)
        return np.asarray(np.exp(np.clip(m, -self.margin_range, self.margin_range)))
