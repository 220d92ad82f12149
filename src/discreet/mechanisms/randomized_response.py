"""Randomised response, binary and k-ary: what a person's own device says, exact, and how to read many answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.mechanisms.base import Mechanism, positive_noise
from discreet.mechanisms.bernoulli import Coins, LazyUniform, keep_bounds
from discreet.mechanisms.buckets import whole_between
from discreet.randomness import noise_disabled

if TYPE_CHECKING:
    from discreet.accounting.events import PureDpEvent

__all__ = ["Frequencies", "KRandomizedResponse", "RandomizedResponse"]


@dataclass(frozen=True)
class Frequencies:
    """Estimated shares of each answer, with their standard errors.

    Parameters
    ----------
    estimate : array
        Unbiased estimates; they may fall outside [0, 1], which unbiased estimates must.
    standard_error : array
        Estimated standard deviation of each, over the people drawn and the randomisation together.
    n : int
        How many answers there were.

    Examples
    --------
    >>> RandomizedResponse(epsilon=1.0).estimate([1, 0, 1, 1]).n
    4
    """

    estimate: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    n: int


@dataclass(frozen=True)
class KRandomizedResponse(Mechanism):
    r"""The truth with probability ``e^eps / (e^eps + k - 1)``, otherwise one of the other answers, uniformly.

    A *local* mechanism: it takes a person's own plain value, before anybody collects it.

    Parameters
    ----------
    epsilon : float
        The local epsilon, taken at the exact binary value of the float.
    k : int
        The number of answers, 0 to k - 1; public.
    source : Source, optional
        Where random words come from; by default the operating system.

    Notes
    -----
    *Privacy.* Guarantee: epsilon-local-DP, the two extreme answers' likelihood ratio being exactly e^epsilon.
    Neighbours: any value of the person changed for any other.  Public: epsilon, k.
    Bounded by: nothing to bound, values outside 0..k-1 are refused.  Proof: ``proofs/randomized_response.md``.

    References
    ----------
    Warner, Randomized response (1965); Kairouz, Bonawitz and Ramage, Discrete distribution estimation under local
    privacy (2016), for the k-ary form.

    Examples
    --------
    >>> mechanism = KRandomizedResponse(epsilon=2.0, k=5)
    >>> 0 <= mechanism.release(3) < 5
    True
    >>> mechanism.release([0, 1, 4]).shape
    (3,)
    >>> round(mechanism.truth_probability, 6)
    0.648786
    """

    epsilon: float
    k: int

    def check(self) -> None:
        """Refuse an epsilon that is zero, infinite or not a number, and a k that counts no answers."""
        positive_noise("epsilon", self.epsilon)
        if not whole_between(self.k, 2, 2**31):
            raise ValueError(f"k={self.k!r} must be a whole number from 2 to 2**31: how many answers there are")

    @overload
    def release(self, value: int) -> int: ...

    @overload
    def release(self, value: ArrayLike) -> NDArray[np.int64]: ...

    def release(self, value: Any) -> int | NDArray[np.int64]:
        """The randomised answer of one person, or of many, each from words of its own."""
        self.check()
        values = self._checked(value)
        flat = values.ravel() if noise_disabled() else self._randomised(values.ravel())
        return int(flat[0]) if values.ndim == 0 else flat.reshape(values.shape)

    def _checked(self, value: Any) -> NDArray[np.int64]:
        values = np.asarray(value)
        if values.dtype.kind not in "biu":
            raise TypeError(f"answers are whole numbers from 0 to {self.k - 1}, not {values.dtype}")
        if values.size and not (values.min() >= 0 and values.max() < self.k):
            raise ValueError(f"an answer is not among 0, ..., {self.k - 1}; code answers as these numbers")
        return values.astype(np.int64)

    def _randomised(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        coins, bounds = Coins(self.source), keep_bounds(Fraction(float(self.epsilon)), self.k)
        low, high = bounds(64)
        words = coins.words(values.size)
        truth = words < np.uint64(low)
        for at in np.flatnonzero((words >= np.uint64(low)) & (words <= np.uint64(high - 1))):  # 64 digits don't decide
            truth[at] = LazyUniform(coins, int(words[at]), 64).below(bounds)
        lies = np.flatnonzero(~truth)
        shift = 1 + _uniform(coins, self.k - 1, lies.size)
        answers = values.copy()
        answers[lies] = (values[lies] + shift) % self.k
        return answers

    @property
    def truth_probability(self) -> float:
        """The probability of a truthful answer (a float, for reading; the draw uses its exact value)."""
        return 1.0 / (1.0 + (self.k - 1) * math.exp(-self.epsilon))

    @property
    def event(self) -> PureDpEvent:
        """What one answer costs the person who gave it."""
        from discreet.accounting.events import PureDpEvent

        return PureDpEvent(self.epsilon)

    @property
    def variance(self) -> float:
        """Variance of one answer's contribution to a share's estimate, at worst (over the person's own answer)."""
        p, q = self._probabilities()
        return max(p * (1 - p), q * (1 - q)) / (p - q) ** 2

    def _probabilities(self) -> tuple[float, float]:
        p = self.truth_probability
        return p, math.exp(-self.epsilon) * p

    def estimate(self, answers: ArrayLike) -> Frequencies:
        """Unbiased shares of the k answers from randomised ones: ``(observed - q) / (p - q)``.

        >>> KRandomizedResponse(epsilon=50.0, k=3).estimate([0, 1, 1, 1]).estimate.round(6).tolist()
        [0.25, 0.75, -0.0]
        """
        values = self._checked(answers).ravel()
        n = int(values.size)
        if n < 2:
            raise ValueError(f"{n} answers are too few for a standard error; give at least 2")
        p, q = self._probabilities()
        observed = np.bincount(values, minlength=self.k) / n
        spread = -math.expm1(-self.epsilon) * p  # p - q, without cancellation
        error = np.sqrt(observed * (1 - observed) / (n - 1)) / spread
        return Frequencies((observed - q) / spread, error, n)


@dataclass(frozen=True)
class RandomizedResponse(KRandomizedResponse):
    r"""The true bit with probability ``e^eps / (e^eps + 1)``, otherwise the other one.

    Parameters
    ----------
    epsilon : float
        The local epsilon, taken at the exact binary value of the float.
    source : Source, optional
        Where random words come from; by default the operating system.

    Notes
    -----
    *Privacy.* Guarantee: epsilon-local-DP, with equality.  Neighbours: the person's bit changed.  Public: epsilon.
    Bounded by: nothing to bound, values other than 0 and 1 are refused.  Proof: ``proofs/randomized_response.md``.

    References
    ----------
    Warner, Randomized response: a survey technique for eliminating evasive answer bias (1965).

    Examples
    --------
    >>> RandomizedResponse(epsilon=1.0).release(True) in (0, 1)
    True
    >>> answers = RandomizedResponse(epsilon=30.0).release([1, 1, 0, 0, 0])
    >>> RandomizedResponse(epsilon=30.0).estimate(answers).estimate.round(6).tolist()
    [0.6, 0.4]
    """

    k: int = 2

    def check(self) -> None:
        """Refuse what the k-ary form refuses, and any k but 2."""
        super().check()
        if self.k != 2:
            raise ValueError(f"k={self.k} answers need KRandomizedResponse; this one is for two")


def _uniform(coins: Coins, n: int, size: int) -> NDArray[np.int64]:
    """`size` exactly uniform integers in ``[0, n)``: a word past the last multiple of n is thrown away."""
    out = np.zeros(size, dtype=np.int64)
    if n == 1:
        return out
    limit = 2**64 - 2**64 % n
    left = np.arange(size)
    while left.size:
        words = coins.words(left.size)
        good = words <= np.uint64(limit - 1)
        out[left[good]] = (words[good] % np.uint64(n)).astype(np.int64)
        left = left[~good]
    return out
