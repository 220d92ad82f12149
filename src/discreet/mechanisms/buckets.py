"""Integer scores sorted into buckets of nearly equal weight: the structure behind every exact selection here.

The weight of a candidate is ``exp(-rate * gap)``, gap being its distance from the best score, a whole number.  Bucket k
holds the gaps in ``[k w, (k + 1) w)`` with ``w = 2**shift`` and ``rate * w <= 1/2`` where that is possible; all that is
further away shares the last bucket, the tail.  Nothing in a bucket weighs more than ``exp(-k w rate)``, so a bucket is
proposed by that bound and the candidate accepted by what is missing: rejection sampling, exact whatever the buckets.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discreet import kernels_selection as kernels
from discreet.mechanisms.base import opened
from discreet.mechanisms.bernoulli import (
    Coins,
    LazyUniform,
    exp_bounds,
    geometric_powers,
    pick_geometric,
    power_bounds,
)
from discreet.privacy import Bounded, PrivacyError, unseal

__all__ = ["Buckets", "best_candidates", "open_scores", "selection_rate", "whole_between"]

_TAIL = 254
_GONE = _TAIL + 1
_WORDS_AT_ONCE = 1 << 16
_POWER_BITS = 160


def whole_between(value: object, low: int, high: int) -> bool:
    """Whether `value` is a whole number (not a truth value) from `low` to `high`.

    >>> whole_between(3, 1, 5), whole_between(True, 0, 1), whole_between(2.0, 1, 5)
    (True, False, False)
    """
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and low <= int(value) <= high


def best_candidates(scores: NDArray[np.int64], k: int, largest: bool) -> NDArray[np.int64]:
    """The k best in order, first come first on ties: what a selection without noise would return.

    >>> best_candidates(np.array([1, 5, 5, 7]), 2, True)
    array([3, 1])
    """
    bits = scores.view(np.uint64)
    gaps = bits[np.argmax(scores)] - bits if largest else bits - bits[np.argmin(scores)]
    return np.argsort(gaps, kind="stable")[:k].astype(np.int64)


def open_scores(scores: Bounded) -> NDArray[np.int64]:
    """The sealed scores as int64; refused when they are not a vector of whole numbers (without saying which one)."""
    if not isinstance(scores, Bounded):
        raise TypeError(f"scores must be a Bounded (a sealed statistic with its bounds), not {type(scores).__name__}")
    if len(scores.shape) != 1 or scores.symmetric or scores.size == 0:
        raise ValueError(f"scores of shape {scores.shape} are not a vector of candidates; give one score for each")
    values = opened(scores)
    if unseal(scores).dtype == np.uint64 and values.min() < 0:
        raise PrivacyError("a score is not below 2**63; use a coarser grid")
    return np.ascontiguousarray(values)


def selection_rate(scores: Bounded, eta: float) -> Fraction:
    """``eta / range`` as an exact rational; a range of zero is refused, since a bound of zero is most often a bug."""
    span = scores.sensitivity("range")
    if span <= 0:
        raise PrivacyError(
            f"the scores' range is {span}: a row could change nothing, so no noise would be added; "
            "check the bounds that the statistic was computed with"
        )
    return Fraction(float(eta)) / span


class Buckets:
    """Scores in buckets: draw by the exponential mechanism, remove, draw again; or flip every candidate's coin.

    Parameters
    ----------
    scores : array of int64
        One score for each candidate.
    rate : Fraction
        A candidate weighs ``exp(-rate * gap)``.
    largest : bool
        Whether the best score is the largest one or the smallest.
    """

    def __init__(self, scores: NDArray[np.int64], rate: Fraction, largest: bool) -> None:
        self._scores, self._bits, self._largest = scores, scores.view(np.uint64), largest
        self._rate = rate
        half = Fraction(1, 2) / rate
        self._shift = min(63, max(0, (half.numerator // half.denominator).bit_length() - 1))
        self._step = rate * (1 << self._shift)
        self._codes: NDArray[np.uint8] = np.zeros(scores.size, dtype=np.uint8)
        self._fill()

    def _fill(self) -> None:
        at = kernels.best_left(self._scores, self._codes, _GONE, self._largest)
        self._best = int(self._scores[at])
        self._counts = [
            int(n)
            for n in kernels.bucket(
                self._bits, self._bits[at], self._largest, np.uint64(self._shift), self._codes, _TAIL
            )[: _TAIL + 1]
        ]

    def _rest(self, index: int, code: int) -> Fraction:
        """What the candidate lacks of its bucket's weight, as the exponent of a coin."""
        gap = abs(self._best - int(self._scores[index]))
        return (gap - (code << self._shift)) * self._rate

    def draw(self, coins: Coins) -> int:
        """A candidate with probability exactly proportional to its weight, among those not removed."""
        while True:
            code = pick_geometric(coins, self._counts, self._step)
            index = int(kernels.find_nth(self._codes, code, coins.below(self._counts[code])))
            if coins.bernoulli_exp(self._rest(index, code)):
                return index

    def remove(self, index: int) -> None:
        """Take a candidate out.  When the near buckets have run empty, the rest is sorted into buckets anew."""
        self._counts[int(self._codes[index])] -= 1
        self._codes[index] = _GONE
        if any(self._counts) and not any(self._counts[: _TAIL // 2]):
            self._fill()

    def survivor(self, coins: Coins) -> int:
        """Flip every candidate's own coin, of probability ``exp(-rate * gap)``; a uniform one of the successes.

        Uses the buckets up: nothing may be drawn afterwards.
        """
        far = self._far_successes(coins)
        self._flip_near(coins)
        near = int(kernels.count_code(self._codes, kernels.SUCCESS))
        chosen = coins.below(near + len(far))
        return far[chosen - near] if chosen >= near else int(kernels.find_nth(self._codes, kernels.SUCCESS, chosen))

    def _far_successes(self, coins: Coins) -> list[int]:
        """The successes in the tail bucket, by jumping from one coin below the bucket's bound to the next."""
        n, start, found = self._counts[_TAIL], 0, list[int]()
        while n and (jump := _first_success(coins, _TAIL * self._step, n - start)) is not None:
            index = int(kernels.find_nth(self._codes, _TAIL, start + jump))
            if coins.bernoulli_exp(self._rest(index, _TAIL)):
                found.append(index)
            start += jump + 1
        return found

    def _flip_near(self, coins: Coins) -> None:
        """Turn the near candidates' codes into SUCCESS or FAIL, digit by digit where doubles can't decide."""
        low, _ = geometric_powers(self._step, _TAIL, _POWER_BITS)
        powers = np.array([w / (1 << _POWER_BITS) for w in low])
        best, shift, rate = np.int64(self._best).view(np.uint64), np.uint64(self._shift), float(self._rate)
        begin, size = 0, self._scores.size
        while begin < size:
            words = coins.words(min(_WORDS_AT_ONCE, (size - begin + 1) // 2))
            used = 0
            while begin < size and used < 2 * words.size:
                begin, used = kernels.flip(
                    self._bits, best, self._largest, shift, self._codes, _TAIL, powers, rate, words, used, begin
                )
                if self._codes[begin - 1] == kernels.UNDECIDED:
                    uniform = LazyUniform(coins, int(kernels.half_word(words, used - 1)), 32)
                    exponent = self._rest(begin - 1, 0)
                    success = uniform.below(partial(exp_bounds, exponent))
                    self._codes[begin - 1] = kernels.SUCCESS if success else kernels.FAIL


def _first_success(coins: Coins, exponent: Fraction, n: int) -> int | None:
    """How many of `n` coins of probability ``exp(-exponent)`` fail before the first success; None when all do.

    The number is at least j exactly when a uniform real is below ``(1 - exp(-exponent))**j``.
    """
    uniform = LazyUniform(coins)

    def at_least(j: int) -> bool:
        def bounds(bits: int) -> tuple[int, int]:
            work = bits + 2 * n.bit_length() + 16
            low, high = exp_bounds(exponent, work)
            below, above = power_bounds((1 << work) - high, (1 << work) - low, work, j)
            return below >> (work - bits), -(-above >> (work - bits))

        return uniform.below(bounds)

    if at_least(n):
        return None
    start, stop = 0, n
    while stop - start > 1:
        middle = (start + stop) // 2
        start, stop = (middle, stop) if at_least(middle) else (start, middle)
    return start
