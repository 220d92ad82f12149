"""Report-noisy-max: add noise to every integer score, say which is largest, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.base import Mechanism, positive_noise, round_up
from discreet.mechanisms.buckets import best_candidates, open_scores, selection_rate
from discreet.mechanisms.exact import rounded_laplace
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.privacy import Bounded
from discreet.randomness import Source, noise_disabled

if TYPE_CHECKING:
    from discreet.accounting.events import BoundedRangeDpEvent, PureDpEvent

__all__ = ["NoisyMax", "laplace_best"]

_ROOM = 2**62


@dataclass(frozen=True)
class NoisyMax(Mechanism):
    r"""The candidate whose score is largest once noise of scale ``range / epsilon`` has been added to each.

    Parameters
    ----------
    epsilon : float
        The pure epsilon of one selection, taken at the exact binary value of the float.
    noise : {"laplace", "exponential", "gumbel"}, default="laplace"
        ``"laplace"`` as published in most texts: rounded Laplace noise, exactly distributed.  ``"exponential"`` is
        permute-and-flip and ``"gumbel"`` the exponential mechanism, identically distributed and drawn that way; both
        are more accurate at the same epsilon (the first for one selection, the second for many).
    source : Source, optional
        Where random words come from; by default the operating system.

    Notes
    -----
    *Privacy.* Guarantee: epsilon-DP, and epsilon-bounded range for ``"gumbel"``.  Neighbours: the relation of the
    scores.  Public: epsilon, the number of candidates, the scores' bounds.  Bounded by:
    ``scores.sensitivity("range")``: twice the largest change of one score in general, that change for monotone scores.
    Proof: ``proofs/selection.md``; rounding the noise keeps the guarantee because ties go to the first candidate.

    References
    ----------
    Dwork and Roth, The algorithmic foundations of differential privacy (2014), section 3.3.

    Examples
    --------
    >>> import numpy as np
    >>> from fractions import Fraction
    >>> from discreet.privacy import Bounded, Contribution, Neighbours
    >>> losses = Bounded(np.array([700, 90, 800]), Contribution(linf=2), Fraction(1), Neighbours.ZERO_OUT)
    >>> NoisyMax(epsilon=1.0).select_smallest(losses)
    1
    """

    epsilon: float
    noise: Literal["laplace", "exponential", "gumbel"] = "laplace"

    def check(self) -> None:
        """Refuse an epsilon that is zero, infinite or not a number, and a noise that has no name."""
        positive_noise("epsilon", self.epsilon)
        if self.noise not in ("laplace", "exponential", "gumbel"):
            raise ValueError(f"noise={self.noise!r} is not one of 'laplace', 'exponential', 'gumbel'")

    def select(self, scores: Bounded, *, largest: bool = True) -> int:
        """The index of the chosen candidate; with ``largest=False`` small scores are the likely ones."""
        if self.noise == "gumbel":
            return Exponential(self.epsilon, source=self.source).select(scores, largest=largest)
        if self.noise == "exponential":
            return PermuteAndFlip(self.epsilon, source=self.source).select(scores, largest=largest)
        self.check()
        values = open_scores(scores)
        if noise_disabled():
            return int(best_candidates(values, 1, largest)[0])
        return laplace_best(self.source, values, self.scale(scores), largest)

    def select_smallest(self, scores: Bounded) -> int:
        """The index of a candidate of small score: the scores are negated, and the noise is drawn as ever."""
        return self.select(scores, largest=False)

    def scale(self, scores: Bounded) -> float:
        """The scale of the noise on each score, in grid units, for scores of these bounds.

        >>> from fractions import Fraction
        >>> from discreet.privacy import Contribution, Neighbours
        >>> counts = Bounded(np.array([7, 9]), Contribution(linf=1, monotone=True), Fraction(1), Neighbours.ZERO_OUT)
        >>> NoisyMax(epsilon=0.5).scale(counts)
        2.0
        """
        return round_up(1 / selection_rate(scores, self.epsilon))

    @property
    def event(self) -> BoundedRangeDpEvent | PureDpEvent:
        """What one selection costs."""
        from discreet.accounting.events import BoundedRangeDpEvent, PureDpEvent

        return BoundedRangeDpEvent(self.epsilon) if self.noise == "gumbel" else PureDpEvent(self.epsilon)


def laplace_best(source: Source, scores: NDArray[np.int64], scale: float, largest: bool = True) -> int:
    """The first index at which ``score + round(Laplace(scale))`` is largest (``-score`` when small scores are wanted).

    >>> from discreet.randomness import SeededSource
    >>> laplace_best(SeededSource(0), np.array([0, 10**6]), 3.0)
    1
    """
    noise = rounded_laplace(source, scale, scores.size)
    if max(int(scores.max()), -int(scores.min()), int(noise.max()), -int(noise.min())) >= _ROOM:
        # Sums may leave 64 bits.  A refusal, a wrap or a cap would each tell something: add without limit instead.
        exact = scores.astype(object)
        return int(np.argmax(exact + noise if largest else noise - exact))
    return int(np.argmax(scores + noise if largest else noise - scores))
