"""The exponential mechanism on integer scores, exact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.mechanisms.base import Mechanism, positive_noise
from discreet.mechanisms.bernoulli import Coins
from discreet.mechanisms.buckets import Buckets, best_candidates, open_scores, selection_rate
from discreet.privacy import Bounded
from discreet.randomness import noise_disabled

if TYPE_CHECKING:
    from discreet.accounting.events import BoundedRangeDpEvent

__all__ = ["Exponential"]


@dataclass(frozen=True)
class Exponential(Mechanism):
    r"""Choose a candidate with probability proportional to ``exp(eta * score / range)``.

    The same distribution as adding Gumbel noise of scale ``range / eta`` and taking the largest.  `eta` is the bounded
    range of the selection: log-likelihood ratios of neighbours lie in an interval of that length.  This is *eta*-DP and
    eta^2/8-zCDP; for two selections and more its own composition law is the tightest
    (:class:`~discreet.accounting.events.BoundedRangeDpEvent`).

    Parameters
    ----------
    eta : float
        The bounded range, taken at the exact binary value of the float.
    source : Source, optional
        Where random words come from; by default the operating system.

    Notes
    -----
    No float is rounded: candidates are proposed by buckets of scores with exactly known weights, and accepted by an
    exact coin.  Time is two cheap passes over the scores.

    *Privacy.* Guarantee: eta-bounded range.  Neighbours: the relation of the scores.  Public: eta, the number of
    candidates, the scores' bounds.  Bounded by: ``scores.sensitivity("range")``, an exact integer.
    Proof: ``proofs/selection.md``.

    References
    ----------
    McSherry and Talwar, Mechanism design via differential privacy (2007); Durfee and Rogers, Practical differentially
    private top-k selection with pay-what-you-get composition (2019), for the bounded range.

    Examples
    --------
    >>> import numpy as np
    >>> from fractions import Fraction
    >>> from discreet.privacy import Bounded, Contribution, Neighbours
    >>> scores = Bounded(np.array([3, 500, 4]), Contribution(linf=1), Fraction(1), Neighbours.ZERO_OUT)
    >>> Exponential(eta=1.0).select(scores)
    1
    >>> Exponential(eta=1.0).select(scores, largest=False) in (0, 2)
    True
    """

    eta: float

    def check(self) -> None:
        """Refuse an eta that is zero, infinite or not a number."""
        positive_noise("eta", self.eta)

    def select(self, scores: Bounded, *, largest: bool = True) -> int:
        """The index of the chosen candidate; with ``largest=False`` small scores are the likely ones."""
        self.check()
        values = open_scores(scores)
        if noise_disabled():
            return int(best_candidates(values, 1, largest)[0])
        return Buckets(values, selection_rate(scores, self.eta), largest).draw(Coins(self.source))

    def select_smallest(self, scores: Bounded) -> int:
        """The index of a candidate of small score (only the scores turn round; there is no noise that could)."""
        return self.select(scores, largest=False)

    @property
    def event(self) -> BoundedRangeDpEvent:
        """What one selection costs."""
        from discreet.accounting.events import BoundedRangeDpEvent

        return BoundedRangeDpEvent(self.eta)
