"""The Laplace mechanism on whole numbers: the noise is ``round(Laplace(scale))``, exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.mechanisms.base import Additive, Integers, positive_noise, round_down, round_up
from discreet.mechanisms.exact import rounded_laplace
from discreet.privacy import Bounded

__all__ = ["Laplace"]


@dataclass(frozen=True)
class Laplace(Additive):
    """Add rounded Laplace noise with scale (l1 sensitivity) / `epsilon`.

    Integers plus rounded noise are the rounding of integers plus continuous noise, so every guarantee of the continuous
    Laplace mechanism holds exactly.

    Parameters
    ----------
    epsilon : float
        The pure-DP epsilon of one release.
    source : Source
        Where random words come from.

    Notes
    -----
    *Privacy.* Guarantee: epsilon-DP, the event is ``LaplaceDpEvent(1 / epsilon)``.  Neighbours: those of the
    statistic.  Public: epsilon, and the statistic's shape, unit and bounds.
    Bounded by: its l1 sensitivity in whole grid units.  Proof: ``proofs/laplace.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.privacy import Contribution, Neighbours
    >>> count = Bounded(np.array([120]), Contribution(l1=1), Fraction(1), Neighbours.ADD_REMOVE)
    >>> float(Laplace(0.5).release(count)[0]).is_integer()
    True
    >>> Laplace(0.5).scale(count)
    2.0
    """

    epsilon: float

    def check(self) -> None:
        """Refuse an epsilon that is zero, infinite or not a number."""
        positive_noise("epsilon", self.epsilon)

    @property
    def event(self) -> Any:
        """``LaplaceDpEvent(1 / epsilon)``, the multiplier rounded down (to the private side)."""
        from dp_accounting import dp_event

        return dp_event.LaplaceDpEvent(round_down(1 / Fraction(float(self.epsilon))))

    def scale(self, b: Bounded) -> float:
        """The Laplace scale in grid units."""
        return round_up(b.sensitivity("l1") / Fraction(float(self.epsilon)))

    def noise(self, scale: float, n: int) -> Integers:
        """`n` independent ``round(Laplace(scale))``."""
        return rounded_laplace(self.source, scale, n)

    def noise_variance(self, scale: float) -> float:
        """The variance of ``round(Laplace(scale))``.

        From ``P(|noise| > k) = exp(-(k + 1/2) / scale)``: the sum of ``(2 k + 1) exp(-(k + 1/2) / scale)``.

        >>> round(Laplace(1.0).noise_variance(1000.0) / 2e6, 6)
        1.0
        """
        r = math.exp(-1 / scale)
        return math.exp(-0.5 / scale) * (1 + r) / math.expm1(-1 / scale) ** 2
