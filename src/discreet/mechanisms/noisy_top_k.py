"""The k best of many: exponential rounds without replacement, and Peeling, which releases their values as well."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.base import Mechanism, positive_noise, positive_scale, round_up
from discreet.mechanisms.bernoulli import Coins
from discreet.mechanisms.buckets import Buckets, best_candidates, open_scores, selection_rate, whole_between
from discreet.mechanisms.exact import rounded_laplace
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.noisy_max import laplace_best
from discreet.privacy import Bounded, PrivacyError
from discreet.randomness import noise_disabled

if TYPE_CHECKING:
    from dp_accounting import dp_event

__all__ = ["NoisyTopK", "Peeled", "Peeling", "PublishedPeeling"]


@dataclass(frozen=True)
class NoisyTopK(Mechanism):
    r"""Choose k candidates, one after the other, each round by the exponential mechanism among those left.

    The same distribution, order included, as Gumbel noise of scale ``range / eta`` added once and the k largest taken.

    Parameters
    ----------
    k : int
        How many.
    eta : float
        The bounded range of each round; k rounds compose as k selections.
    source : Source, optional
        Where random words come from; by default the operating system.

    Notes
    -----
    *Privacy.* Guarantee: k-fold composition of eta-bounded-range selections.  Neighbours: the relation of the scores.
    Public: k, eta, the number of candidates, the scores' bounds.  Bounded by: ``scores.sensitivity("range")``.
    Proof: ``proofs/peeling.md``.

    References
    ----------
    Durfee and Rogers, Practical differentially private top-k selection with pay-what-you-get composition (2019).

    Examples
    --------
    >>> import numpy as np
    >>> from fractions import Fraction
    >>> from discreet.privacy import Bounded, Contribution, Neighbours
    >>> scores = Bounded(np.array([3, 900, 4, 500]), Contribution(linf=1), Fraction(1), Neighbours.ZERO_OUT)
    >>> NoisyTopK(k=2, eta=1.0).select(scores)
    array([1, 3])
    """

    k: int
    eta: float

    def check(self) -> None:
        """Refuse noise that is zero, infinite or not a number, and counts that aren't."""
        _check_k(self.k)
        positive_noise("eta", self.eta)

    def select(self, scores: Bounded, *, largest: bool = True) -> NDArray[np.int64]:
        """The k indices in the order of their rounds; with ``largest=False`` small scores are the likely ones."""
        _check_room(self.k, scores)
        self.check()
        values = open_scores(scores)
        if noise_disabled():
            return best_candidates(values, self.k, largest)
        buckets, coins = Buckets(values, selection_rate(scores, self.eta), largest), Coins(self.source)
        chosen = np.empty(self.k, dtype=np.int64)
        for round_ in range(self.k):
            chosen[round_] = buckets.draw(coins)
            buckets.remove(int(chosen[round_]))
        return chosen

    def select_smallest(self, scores: Bounded) -> NDArray[np.int64]:
        """The k indices, small scores being the likely ones."""
        return self.select(scores, largest=False)

    @property
    def event(self) -> dp_event.DpEvent:
        """What the k rounds cost."""
        from dp_accounting import dp_event

        from discreet.accounting.events import BoundedRangeDpEvent

        return dp_event.SelfComposedDpEvent(BoundedRangeDpEvent(self.eta), self.k)


@dataclass(frozen=True)
class Peeled:
    """Released entries of a long vector, whose other entries are taken as zero.

    Parameters
    ----------
    indices : array of int64
        Where, in the order in which they were chosen.
    values : array of float64
        The noisy values.
    size : int
        The length of the vector.

    Examples
    --------
    >>> Peeled(np.array([2, 0]), np.array([0.5, -1.0]), 4).dense()
    array([-1. ,  0. ,  0.5,  0. ])
    """

    indices: NDArray[np.int64]
    values: NDArray[np.float64]
    size: int

    def dense(self) -> NDArray[np.float64]:
        """The whole vector."""
        out = np.zeros(self.size)
        out[self.indices] = self.values
        return out


@dataclass(frozen=True)
class Peeling(Mechanism):
    r"""The k entries of largest absolute value, and their values with Gaussian noise: Peeling with tight noise.

    Parameters
    ----------
    k : int
        How many entries.
    eta : float
        The bounded range of each round of the choice, made on absolute values.
    noise_multiplier : float
        Standard deviation of the noise on the chosen entries, over the l2 sensitivity of *k entries* (the smaller of
        that of the whole vector and ``sqrt(k)`` times that of one entry).
    source : Source, optional
        Where random words come from; by default the operating system.

    Notes
    -----
    *Privacy.* Guarantee: k eta-bounded-range selections and one Gaussian mechanism.  Neighbours: the relation of the
    vector.  Public: k, eta, noise_multiplier, the vector's length and bounds.  Bounded by: the vector's linf bound for
    the choice; the smaller of its l2 bound and sqrt(k) times its linf bound for the values, in integers.
    Proof: ``proofs/peeling.md``.

    References
    ----------
    Dwork, Su and Zhang, Differentially private false discovery rate control (2021); Cai, Wang and Zhang, The cost of
    privacy (2021), for Peeling; with the exponential mechanism and Gaussian noise in place of Laplace noise.

    Examples
    --------
    >>> import numpy as np
    >>> from fractions import Fraction
    >>> from discreet.privacy import Bounded, Contribution, Neighbours
    >>> v = Bounded(np.array([3, -9000, 4, 5000]), Contribution(linf=1), Fraction(1, 10), Neighbours.ZERO_OUT)
    >>> Peeling(k=2, eta=0.5, noise_multiplier=4.0).release(v).indices
    array([1, 3])
    """

    k: int
    eta: float
    noise_multiplier: float

    def check(self) -> None:
        """Refuse noise that is zero, infinite or not a number, and counts that aren't."""
        _check_k(self.k)
        positive_noise("eta", self.eta)
        positive_noise("noise_multiplier", self.noise_multiplier)

    def release(self, v: Bounded) -> Peeled:
        """Choose entries, then release them with fresh noise."""
        indices = NoisyTopK(self.k, self.eta, source=self.source).select(v.absolute())
        values = Gaussian(self.noise_multiplier, source=self.source).release(_entries(v, indices))
        return Peeled(indices, values, v.size)

    @property
    def event(self) -> dp_event.DpEvent:
        """What the choice and the values cost together."""
        from dp_accounting import dp_event

        choice = NoisyTopK(self.k, self.eta, source=self.source).event
        return dp_event.ComposedDpEvent([choice, dp_event.GaussianDpEvent(self.noise_multiplier)])


@dataclass(frozen=True)
class PublishedPeeling(Mechanism):
    r"""Peeling as printed: Laplace noise of scale ``2 lambda sqrt(3 k log(1/delta)) / epsilon`` each time.

    Here for comparison: :class:`Peeling` needs less than half of this noise for the same guarantee.

    Parameters
    ----------
    k : int
        How many entries (s in the papers).
    epsilon, delta : float
        The promise of the printed theorem, which fixes the noise.  The accountant prices :attr:`event` instead.
    source : Source, optional
        Where random words come from; by default the operating system.

    Notes
    -----
    *Privacy.* Guarantee: k selections by report-noisy-max with Laplace noise and k Laplace mechanisms.  Neighbours: the
    relation of the vector.  Public: k, epsilon, delta, the vector's length and bounds.  Bounded by: the vector's linf
    bound (lambda).  Proof: ``proofs/peeling.md``.

    References
    ----------
    Dwork, Su and Zhang (2021), Cai, Wang and Zhang (2021): Algorithm "Peeling".

    Examples
    --------
    >>> import numpy as np
    >>> from fractions import Fraction
    >>> from discreet.privacy import Bounded, Contribution, Neighbours
    >>> v = Bounded(np.array([3, -9000, 4, 5000]), Contribution(linf=1), Fraction(1), Neighbours.ZERO_OUT)
    >>> PublishedPeeling(k=2, epsilon=1.0, delta=1e-6).release(v).indices
    array([1, 3])
    >>> round(PublishedPeeling(k=10, epsilon=0.1, delta=1e-6).noise_multiplier, 1)
    407.2
    """

    k: int
    epsilon: float
    delta: float

    def check(self) -> None:
        """Refuse noise that is zero, infinite or not a number, and counts that aren't."""
        _check_k(self.k)
        positive_noise("epsilon", self.epsilon)
        if not 0 < self.delta < 1:
            raise PrivacyError(
                f"delta={self.delta!r} must lie between 0 and 1; the printed noise has log(1/delta) in it"
            )

    @property
    def noise_multiplier(self) -> float:
        """The scale of the Laplace noise over lambda; epsilon stands outside of the square root."""
        return 2 * math.sqrt(3 * self.k * math.log(1 / self.delta)) / self.epsilon

    def release(self, v: Bounded) -> Peeled:
        """Choose entries with Laplace noise drawn anew in each round, then release them with fresh Laplace noise."""
        self.check()
        _check_room(self.k, v)
        magnitudes, picked = open_scores(v.absolute()), np.empty(self.k, dtype=np.int64)
        unit = float(v.unit)

        def real(whole: NDArray[np.int64]) -> NDArray[np.float64]:
            return whole.astype(np.float64) * unit

        if noise_disabled():
            picked = best_candidates(magnitudes, self.k, True)
            return Peeled(picked, real(open_scores(v)[picked]), v.size)
        scale = positive_scale(round_up(Fraction(self.noise_multiplier) * v.sensitivity("linf")), v)
        left = np.arange(v.size)
        for round_ in range(self.k):
            at = laplace_best(self.source, magnitudes[left], scale)
            picked[round_], left = left[at], np.delete(left, at)
        noisy = open_scores(v)[picked] + rounded_laplace(self.source, scale, self.k)
        return Peeled(picked, real(noisy), v.size)

    @property
    def event(self) -> dp_event.DpEvent:
        """The rounds, each pure with twice the inverse noise multiplier (rounded up), and the k noisy values."""
        from dp_accounting import dp_event

        from discreet.accounting.events import PureDpEvent

        round_ = dp_event.SelfComposedDpEvent(PureDpEvent(round_up(2 / Fraction(self.noise_multiplier))), self.k)
        values = dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(self.noise_multiplier), self.k)
        return dp_event.ComposedDpEvent([round_, values])


def _check_k(k: int) -> None:
    if not whole_between(k, 1, 2**62):
        raise ValueError(f"k={k!r} must be a whole number, at least 1")


def _check_room(k: int, scores: Bounded) -> None:
    if k > scores.size:
        raise ValueError(f"k={k} of {scores.size} candidates can't be chosen; k may be at most their number")


def _entries(v: Bounded, indices: NDArray[np.int64]) -> Bounded:
    """The entries at public places: the bounds are the old ones, made smaller by the number of entries alone."""
    value: NDArray[Any] = open_scores(v)[indices]
    return Bounded(value, v.contribution, v.unit, v.neighbors, rate=v.rate, part=v.part)
