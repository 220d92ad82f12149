"""Which labels occur: those whose noisy count reaches a threshold that a label of one row hardly ever does."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.accounting.groups import each_of
from discreet.mechanisms.base import Mechanism, opened, positive_noise, round_up
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.privacy import Bounded, Budget, PrivacyError
from discreet.randomness import noise_disabled

__all__ = ["LabelSet"]

ROUNDING = 1 + 1e-9  # pays for logarithms in floats and for the scale of the noise, which is rounded up


@dataclass(frozen=True)
class LabelSet(Mechanism):
    """Release those labels, of all that occur, whose count with discrete Laplace noise is at least :meth:`threshold`.

    Labels may be anything: no list of possible ones is needed, since a label that nobody has is never released and one
    that a single row has is released with probability at most `delta`.

    Parameters
    ----------
    epsilon, delta : float
        The price; `delta` is positive, since pure differential privacy has no such release.
    source : Source
        Where random words come from.

    Notes
    -----
    *Privacy.* Guarantee: (epsilon, delta)-DP.  Neighbours: those of the counts; a replaced row is one taken out and one
    put in.  Public: both numbers.  Bounded by: a row is counted for one label.  Proof: ``proofs/label_set.md``.

    References
    ----------
    Korolova, Kenthapadi, Mishra and Ntoulas, Releasing search queries and clicks privately (2009).

    Examples
    --------
    >>> from fractions import Fraction
    >>> from discreet.privacy import Contribution, Neighbours
    >>> one = Contribution(l1=1, l2=1, linf=1, monotone=True)
    >>> counts = Bounded(np.array([900, 800, 1]), one, Fraction(1), Neighbours.ZERO_OUT)
    >>> LabelSet(1.0, 1e-9).release(counts, ["no", "yes", "Rumpelstiltskin"]).tolist()
    ['no', 'yes']
    """

    epsilon: float
    delta: float

    def check(self) -> None:
        """Refuse an epsilon that means no noise, and a delta that leaves nothing to a threshold."""
        positive_noise("epsilon", self.epsilon)
        if not 0 < self.delta < 1:
            raise ValueError(
                f"delta={self.delta!r} must be above 0 and below 1: under pure differential privacy a label that only "
                "one person has can never be told from one that nobody has, so list the labels instead"
            )

    @property
    def event(self) -> Any:
        """``ApproximateDpEvent(epsilon, delta)``."""
        from discreet.accounting.events import ApproximateDpEvent

        return ApproximateDpEvent(self.epsilon, self.delta)

    def threshold(self, moves: int = 1) -> int:
        """The smallest noisy count that is released, for neighbours that are so many single-row moves apart.

        >>> LabelSet(1.0, 1e-6).threshold(), LabelSet(0.05, 1e-7).threshold()
        (15, 310)
        """
        one = each_of(Budget(self.epsilon, self.delta), moves)
        # P(1 + Z >= t) = r**(t - 1) / (1 + r) with r = exp(-e), for t of 2 or more
        least = (-math.log(one.delta) - math.log1p(math.exp(-one.epsilon))) / one.epsilon
        return 1 + max(math.ceil(least * ROUNDING), 1)

    def release(self, counts: Bounded, labels: ArrayLike) -> NDArray[Any]:
        """The labels that are released, in the order in which they are given: one for each count."""
        self.check()
        if counts.contribution.l1 != 1 or counts.unit != 1:
            raise PrivacyError(f"{counts!r} doesn't count each row for one label, so a threshold promises nothing")
        names, values, moves = np.asarray(labels), opened(counts), counts.neighbors.moves
        if values.shape != names.shape:
            raise ValueError(f"labels of shape {names.shape} for counts of shape {values.shape}: give one for each")
        if noise_disabled():
            return np.asarray(names[values > 0])
        noise = DiscreteLaplace(each_of(Budget(self.epsilon, self.delta), moves).epsilon, source=self.source)
        noisy = values + noise.noise(round_up(1 / Fraction(noise.epsilon)), values.size)
        return np.asarray(names[(values > 0) & (noisy >= self.threshold(moves))])
