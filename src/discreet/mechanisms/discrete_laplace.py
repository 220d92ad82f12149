"""The discrete Laplace (two-sided geometric) mechanism on whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.mechanisms.base import Additive, Integers, positive_noise, round_up
from discreet.mechanisms.exact import sampler
from discreet.privacy import Bounded

__all__ = ["DiscreteLaplace"]


@dataclass(frozen=True)
class DiscreteLaplace(Additive):
    """Add noise k with chance proportional to ``exp(-|k| / scale)``, where scale = (l1 sensitivity) / `epsilon`.

    For sensitivity 1 it is the best epsilon-DP noise for counts (Ghosh, Roughgarden and Sundararajan, 2009).  For
    large scales it is :class:`Laplace` in all but its privacy curve.

    Parameters
    ----------
    epsilon : float
        The pure-DP epsilon of one release.
    source : Source
        Where random words come from.

    Notes
    -----
    *Privacy.* Guarantee: epsilon-DP; the event ``DiscreteLaplaceDpEvent(epsilon, 1)`` is exact at sensitivity 1 and an
    upper bound beyond.  Neighbours: those of the statistic.  Public: epsilon, and the statistic's shape, unit and
    bounds.  Bounded by: its l1 sensitivity in whole grid units.  Proof: ``proofs/laplace.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.privacy import Contribution, Neighbours
    >>> count = Bounded(np.array([120]), Contribution(l1=1), Fraction(1), Neighbours.ADD_REMOVE)
    >>> float(DiscreteLaplace(0.5).release(count)[0]).is_integer()
    True
    >>> round(DiscreteLaplace(1.0).variance(count), 6)
    1.841347
    """

    epsilon: float

    def check(self) -> None:
        """Refuse an epsilon that is zero, infinite or not a number."""
        positive_noise("epsilon", self.epsilon)

    @property
    def event(self) -> Any:
        """``DiscreteLaplaceDpEvent(epsilon, 1)``: exact at sensitivity 1, an upper bound beyond."""
        from dp_accounting import dp_event

        return dp_event.DiscreteLaplaceDpEvent(float(self.epsilon), 1)

    def scale(self, b: Bounded) -> float:
        """The scale in grid units."""
        return round_up(b.sensitivity("l1") / Fraction(float(self.epsilon)))

    def noise(self, scale: float, n: int) -> Integers:
        """`n` independent draws with ``P(k)`` proportional to ``exp(-|k| / scale)``."""
        return sampler("laplace", scale, discrete=True).draw(self.source, n)

    def noise_variance(self, scale: float) -> float:
        """``2 r / (1 - r)**2`` with ``r = exp(-1 / scale)``."""
        return 2 * math.exp(-1 / scale) / math.expm1(-1 / scale) ** 2
