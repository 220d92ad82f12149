"""Exact coins: events whose probability is a real number, decided with no rounding at all.

A uniform real U is never written down.  Its binary digits are drawn as they are needed, the probability is enclosed
between two integers over the same power of two, and both are refined until one is certainly below the other.  What
comes out therefore has *exactly* the stated probability.  See ``proofs/selection.md``, section 1.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from discreet.randomness import Source

__all__ = ["Coins", "LazyUniform", "exp_bounds", "keep_bounds", "pick_geometric", "power_bounds"]

# Maps a number of bits b to integers (low, high) with low <= p * 2**b <= high.
Bounds = Callable[[int], tuple[int, int]]

_WORD = 64


class Coins:
    """Random words of a source, one at a time (drawn a few at once, for speed; the rest is thrown away).

    Examples
    --------
    >>> from discreet.randomness import SeededSource
    >>> coins = Coins(SeededSource(1))
    >>> 0 <= coins.below(6) < 6
    True
    """

    def __init__(self, source: Source, block: int = 16) -> None:
        self._source, self._block = source, block
        self._words: list[int] = []

    def word(self) -> int:
        """A fresh uniform integer of 64 bits."""
        if not self._words:
            self._words = [int(w) for w in self._source.words(self._block)][::-1]
        return self._words.pop()

    def words(self, n: int) -> NDArray[np.uint64]:
        """An array of `n` fresh words, for loops that spend many."""
        return self._source.words(n)

    def below(self, n: int) -> int:
        """An exactly uniform integer in ``[0, n)``: the top bits, drawn again when they are too large."""
        if n < 1:
            raise ValueError(f"n={n} must be at least 1: there is nothing to choose from")
        length = (n - 1).bit_length()
        n_words = -(-length // _WORD)
        while True:
            value = 0
            for _ in range(n_words):
                value = value << _WORD | self.word()
            value >>= n_words * _WORD - length
            if value < n:
                return value

    def bernoulli(self, bounds: Bounds) -> bool:
        """True with exactly the enclosed probability."""
        return LazyUniform(self).below(bounds)

    def bernoulli_exp(self, x: Fraction) -> bool:
        """True with probability exactly ``exp(-x)``, for a rational ``x >= 0``."""
        return x == 0 or self.bernoulli(partial(exp_bounds, x))


class LazyUniform:
    """A uniform real in [0, 1) of which only the digits that were needed are known.

    Parameters
    ----------
    coins : Coins
        Where further digits come from.
    value, bits : int
        Digits known already: the real lies in ``[value, value + 1) / 2**bits``.
    """

    def __init__(self, coins: Coins, value: int = 0, bits: int = 0) -> None:
        self._coins, self.value, self.bits = coins, value, bits

    def refine(self) -> None:
        """Draw 64 more digits."""
        self.value = self.value << _WORD | self._coins.word()
        self.bits += _WORD

    def below(self, bounds: Bounds) -> bool:
        """Whether the real is below the enclosed number; digits are drawn until that is certain."""
        if self.bits == 0:
            self.refine()
        while True:
            low, high = bounds(self.bits)
            if self.value + 1 <= low:
                return True
            if self.value >= high:
                return False
            self.refine()


def exp_bounds(x: Fraction, bits: int) -> tuple[int, int]:
    """Integers with ``low <= exp(-x) * 2**bits <= high`` and ``high - low <= 2``, for a rational ``x >= 0``.

    >>> exp_bounds(Fraction(1), 20)
    (385749, 385750)
    >>> exp_bounds(Fraction(10**30), 64)
    (0, 1)
    """
    if x < 0:
        raise ValueError(f"x={x} must not be negative: exp(-x) is a probability")
    if x == 0:
        return 1 << bits, 1 << bits
    if x >= bits:  # exp(-x) <= exp(-bits) < 2**-bits
        return 0, 1
    halvings = (x.numerator // x.denominator).bit_length() + 4  # t = x / 2**halvings is at most 1/16
    work = bits + halvings + 12
    scaled = (x.numerator << work) // (x.denominator << halvings)
    one = 1 << 2 * work
    low, high = one // _exp_above(scaled + 1, work), -(-one // _exp_below(scaled, work))
    for _ in range(halvings):
        low, high = low * low >> work, -((-high * high) >> work)
    return low >> (work - bits), -(-high >> (work - bits))


def _exp_below(t: int, work: int) -> int:
    """A lower bound of ``exp(t / 2**work) * 2**work``: every term rounded down, the rest left out."""
    term = total = 1 << work
    n = 0
    while term:
        n += 1
        term = (term * t >> work) // n
        total += term
    return total


def _exp_above(t: int, work: int) -> int:
    """An upper bound: every term rounded up; once a term is 1 the rest is a geometric series of ratio below 1/2."""
    term = total = 1 << work
    n = 0
    while term > 1:
        n += 1
        term = -((-term * t) // (n << work))
        total += term
    return total + 2


def power_bounds(low: int, high: int, bits: int, exponent: int) -> tuple[int, int]:
    """Bounds of ``p**exponent`` from bounds of p in [0, 1], all over ``2**bits``, by repeated squaring.

    >>> power_bounds(1 << 9, 1 << 9, 10, 3)
    (128, 128)
    """
    result_low = result_high = 1 << bits
    while exponent:
        if exponent & 1:
            result_low, result_high = result_low * low >> bits, -((-result_high * high) >> bits)
        low, high = low * low >> bits, -((-high * high) >> bits)
        exponent >>= 1
    return result_low, result_high


def keep_bounds(epsilon: Fraction, k: int) -> Bounds:
    """Bounds of ``e**epsilon / (e**epsilon + k - 1)``, the probability of a truthful answer among k.

    >>> low, high = keep_bounds(Fraction(1), 2)(30)
    >>> low / 2**30 <= 0.7310585786300049 <= high / 2**30
    True
    """

    def bounds(bits: int) -> tuple[int, int]:
        work = bits + k.bit_length() + 4
        e_low, e_high = exp_bounds(epsilon, work)
        one = 1 << work
        return (one << bits) // (one + (k - 1) * e_high), -((-one << bits) // (one + (k - 1) * e_low))

    return bounds


def pick_geometric(coins: Coins, counts: list[int], ratio: Fraction) -> int:
    """An index k with probability exactly proportional to ``counts[k] * exp(-k * ratio)``.

    The cumulative weights are enclosed in integers; the uniform point among them is refined until the interval that
    holds it is certain.

    >>> from discreet.randomness import SeededSource
    >>> pick_geometric(Coins(SeededSource(1)), [0, 3, 0], Fraction(1))
    1
    """
    if not any(counts):
        raise ValueError("all counts are zero: there is nothing to choose from")
    last = max(k for k, n in enumerate(counts) if n)
    uniform = LazyUniform(coins)
    while True:
        uniform.refine()
        work = uniform.bits + sum(counts).bit_length() + 16
        low, high = _cumulative(counts[: last + 1], ratio, work)
        point_low = uniform.value * low[-1]  # over 2**(work + uniform.bits)
        point_high = (uniform.value + 1) * high[-1]
        found = 0
        while found < last and low[found] << uniform.bits < point_high:
            found += 1
        if found == 0 or high[found - 1] << uniform.bits <= point_low:
            return found


def _cumulative(counts: list[int], ratio: Fraction, work: int) -> tuple[list[int], list[int]]:
    powers_low, powers_high = geometric_powers(ratio, len(counts), work)
    low, high = [0] * len(counts), [0] * len(counts)
    total_low = total_high = 0
    for k, n in enumerate(counts):
        if n:
            total_low += n * powers_low[k]
            total_high += n * powers_high[k]
        low[k], high[k] = total_low, total_high
    return low, high


@lru_cache(maxsize=16)
def geometric_powers(ratio: Fraction, size: int, work: int) -> tuple[list[int], list[int]]:
    """Bounds of ``exp(-k * ratio)`` for k = 0, ..., size - 1, over ``2**work``.

    >>> low, high = geometric_powers(Fraction(1, 2), 3, 30)
    >>> low[2] <= 2**30 * 0.36787944117144233 <= high[2]
    True
    """
    step_low, step_high = exp_bounds(ratio, work)
    low, high = [1 << work], [1 << work]
    for _ in range(size - 1):
        low.append(low[-1] * step_low >> work)
        high.append(-((-high[-1] * step_high) >> work))
    return low, high
