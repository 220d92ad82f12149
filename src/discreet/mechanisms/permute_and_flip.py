"""Permute-and-flip on integer scores, exact: the best selection when one is made, under pure differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.mechanisms.base import Mechanism, positive_noise
from discreet.mechanisms.bernoulli import Coins
from discreet.mechanisms.buckets import Buckets, best_candidates, open_scores, selection_rate
from discreet.privacy import Bounded
from discreet.randomness import noise_disabled

if TYPE_CHECKING:
    from discreet.accounting.events import PureDpEvent

__all__ = ["PermuteAndFlip"]


@dataclass(frozen=True)
class PermuteAndFlip(Mechanism):
    r"""Visit the candidates in random order; keep one with probability ``exp(-epsilon * gap / range)``.

    The same distribution as adding exponential noise of scale ``range / epsilon`` and taking the largest.  Its expected
    error is never above that of the exponential mechanism at the same epsilon, and up to two times smaller; but it has
    no bounded range, so several selections compose as pure mechanisms do.  Rule: one selection, or delta = 0: this;
    otherwise :class:`~discreet.mechanisms.Exponential`.

    Parameters
    ----------
    epsilon : float
        The pure epsilon of one selection, taken at the exact binary value of the float.
    source : Source, optional
        Where random words come from; by default the operating system.

    Notes
    -----
    The first success in a random order is a uniform one of all successes, so every candidate's coin is flipped at once,
    in doubles where these are certain and digit by digit where they are not.

    *Privacy.* Guarantee: epsilon-DP.  Neighbours: the relation of the scores.  Public: epsilon, the number of
    candidates, the scores' bounds.  Bounded by: ``scores.sensitivity("range")``, an exact integer.
    Proof: ``proofs/selection.md``.

    References
    ----------
    McKenna and Sheldon, Permute-and-flip: a new mechanism for differentially private selection (2020); Ding, Kifer et
    al., The permute-and-flip mechanism is identical to report-noisy-max with exponential noise (2021).

    Examples
    --------
    >>> import numpy as np
    >>> from fractions import Fraction
    >>> from discreet.privacy import Bounded, Contribution, Neighbours
    >>> scores = Bounded(np.array([3, 500, 4]), Contribution(linf=1), Fraction(1), Neighbours.ZERO_OUT)
    >>> PermuteAndFlip(epsilon=1.0).select(scores)
    1
    """

    epsilon: float

    def check(self) -> None:
        """Refuse an epsilon that is zero, infinite or not a number."""
        positive_noise("epsilon", self.epsilon)

    def select(self, scores: Bounded, *, largest: bool = True) -> int:
        """The index of the chosen candidate; with ``largest=False`` small scores are the likely ones."""
        self.check()
        values = open_scores(scores)
        if noise_disabled():
            return int(best_candidates(values, 1, largest)[0])
        return Buckets(values, selection_rate(scores, self.epsilon), largest).survivor(Coins(self.source))

    def select_smallest(self, scores: Bounded) -> int:
        """The index of a candidate of small score."""
        return self.select(scores, largest=False)

    @property
    def event(self) -> PureDpEvent:
        """What one selection costs."""
        from discreet.accounting.events import PureDpEvent

        return PureDpEvent(self.epsilon)
