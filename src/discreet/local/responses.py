"""Frequencies: randomised response, binary and k-ary, and unary (RAPPOR-like) encodings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.local.base import Ints, Randomizer, Totals, column_sums, whole_answers
from discreet.local.sampling import below, coins, odds
from discreet.randomness import Source

if TYPE_CHECKING:
    from discreet.accounting.shuffling import Variation

__all__ = ["BinaryResponse", "KaryResponse", "OptimizedUnary", "SymmetricUnary"]

Floats = NDArray[np.float64]


def frequencies(counts: Totals, n: int, keep: float, slip: float) -> tuple[Floats, Floats]:
    """Shares from counts of messages: a holder's message counts with probability `keep`, another's with `slip`."""
    if n == 0:
        return np.full(len(counts), math.nan), np.full(len(counts), math.inf)
    seen = np.array([c / n for c in counts])
    error = np.sqrt(np.maximum(seen * (1 - seen), 1 / n) / max(n - 1, 1))
    return (seen - slip) / (keep - slip), error / (keep - slip)


@dataclass(frozen=True)
class KaryResponse(Randomizer):
    """The truth with probability ``e^epsilon / (e^epsilon + k - 1)``, else another answer, all alike.

    Parameters
    ----------
    epsilon : float
        The local promise.
    k : int
        The number of answers, which are 0 to k-1.

    Notes
    -----
    *Privacy.* Guarantee: epsilon-local differential privacy, exact in whole numbers.  Neighbours: replace-one.
    Public: epsilon, k.  Bounded by: weights a (truth) and b (each other answer) with ``a / b <= e^epsilon``.
    Proof: ``proofs/local.md``.

    Examples
    --------
    >>> from discreet.randomness import SeededSource
    >>> answers = KaryResponse(3.0, 4).randomize([0, 1, 2, 3], SeededSource(2))
    >>> answers.shape, bool(answers.max() < 4)
    ((4, 1), True)
    """

    k: int

    name: ClassVar[str] = "krr"
    code: ClassVar[int] = 1

    def check(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or not 2 <= self.k <= 1 << 24:
            raise ValueError(f"k={self.k!r} answers: give a whole number from 2 to 2**24")
        _ = self.weights  # computed here, so that an impossible epsilon is refused at once

    @cached_property
    def weights(self) -> tuple[int, int]:
        """The whole-number weights (truth, each other answer)."""
        return odds(self.budget, 1 + (self.k - 1) * math.exp(-float(self.epsilon)))

    @property
    def _total(self) -> int:
        a, b = self.weights
        return a + (self.k - 1) * b

    @property
    def alphabet(self) -> tuple[int, int, int]:
        return 0, self.k - 1, 1

    def law(self, value: int) -> dict[tuple[int, ...], int]:
        """The whole-number weight of every message, for one value."""
        a, b = self.weights
        return {(y,): a if y == value else b for y in range(self.k)}

    def randomize(self, values: ArrayLike, source: Source | None = None) -> Ints:
        truth = whole_answers(values, self.k)
        a, b = self.weights
        draw = below(source or self.source, self._total, len(truth)) - a
        other = draw // b  # 0..k-2: the other answers in order, the truth left out
        other += other >= truth
        return np.where(draw < 0, truth, other)[:, None]

    @property
    def tally_range(self) -> tuple[int, int]:
        return 0, 1

    def tally(self, messages: Ints) -> Totals:
        return [int(c) for c in np.bincount(messages[:, 0], minlength=self.k)]

    def estimate(self, totals: Totals, n: int) -> tuple[Any, Any]:
        a, b = self.weights
        return frequencies(totals, n, a / self._total, b / self._total)

    @property
    def influence(self) -> float:
        a, b = self.weights
        return self._total / (a - b)

    @property
    def variation(self) -> Variation:
        from discreet.accounting.shuffling import Variation

        return Variation.k_ary(float(self.epsilon), self.k)


@dataclass(frozen=True)
class BinaryResponse(KaryResponse):
    """Warner's randomised response to a yes-or-no question; the estimate is the share of ones.

    Parameters
    ----------
    epsilon : float
        The local promise.

    Notes
    -----
    *Privacy.* Guarantee: epsilon-local differential privacy, exact in whole numbers.  Neighbours: replace-one.
    Public: epsilon.  Bounded by: weights a and b with ``a / b <= e^epsilon``.  Proof: ``proofs/local.md``.

    Examples
    --------
    >>> share, error = BinaryResponse(1.0).estimate([400, 600], 1000)
    >>> round(share, 3), round(error, 3)
    (0.716, 0.034)
    """

    k: int = 2

    name: ClassVar[str] = "rr"
    code: ClassVar[int] = 2

    def check(self) -> None:
        if self.k != 2:
            raise ValueError(f"k={self.k!r}: a binary response has 2 answers; use KaryResponse for more")
        super().check()

    def estimate(self, totals: Totals, n: int) -> tuple[Any, Any]:
        value, error = super().estimate(totals, n)
        return float(value[1]), float(error[1])


@dataclass(frozen=True)
class SymmetricUnary(Randomizer):
    """One bit per answer, each bit flipped with the same probability (basic one-time RAPPOR).

    Parameters
    ----------
    epsilon : float
        The local promise.
    k : int
        The number of answers, which are 0 to k-1; a report has k bits.

    Notes
    -----
    *Privacy.* Guarantee: epsilon-local differential privacy, exact in whole numbers.  Neighbours: replace-one.
    Public: epsilon, k.  Bounded by: two bits differ between two values, each with odds of at most ``e^(epsilon/2)``.
    Proof: ``proofs/local.md``.

    Examples
    --------
    >>> SymmetricUnary(2.0, 5).report(3)[:17]
    '{"v":1,"m":"sue",'
    """

    k: int

    name: ClassVar[str] = "sue"
    code: ClassVar[int] = 3

    def check(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or not 2 <= self.k <= 1 << 20:
            raise ValueError(f"k={self.k!r} answers: give a whole number from 2 to 2**20")
        _ = self.chances

    @cached_property
    def chances(self) -> tuple[int, int, int]:
        """A bit is 1 with chance ``own / total`` at the person's answer, ``other / total`` elsewhere."""
        a, b = odds(self.budget / 2)
        return a, b, a + b

    @property
    def alphabet(self) -> tuple[int, int, int]:
        return 0, 1, 1

    @property
    def width(self) -> int:
        return self.k

    def law(self, value: int) -> dict[tuple[int, ...], int]:
        """The whole-number weight of every message, for one value (small k only)."""
        own, other, total = self.chances
        weights = {}
        for code in range(1 << self.k):
            bits = tuple(code >> j & 1 for j in range(self.k))
            ones = [own if j == value else other for j in range(self.k)]
            weights[bits] = math.prod(w if bit else total - w for w, bit in zip(ones, bits, strict=True))
        return weights

    def randomize(self, values: ArrayLike, source: Source | None = None) -> Ints:
        truth = whole_answers(values, self.k)
        own, other, total = self.chances
        words = source or self.source
        bits = coins(words, other, total, len(truth) * self.k).reshape(len(truth), self.k)
        bits[np.arange(len(truth)), truth] = coins(words, own, total, len(truth))
        return bits.astype(np.int64)

    @property
    def tally_range(self) -> tuple[int, int]:
        return 0, 1

    def tally(self, messages: Ints) -> Totals:
        return column_sums(messages, 1)

    def estimate(self, totals: Totals, n: int) -> tuple[Any, Any]:
        own, other, total = self.chances
        return frequencies(totals, n, own / total, other / total)

    @property
    def influence(self) -> float:
        own, other, total = self.chances
        return total / (own - other)

    @property
    def variation(self) -> Variation:
        # only the two bits matter: (1,0) has p(1-q) against q(1-p), so the total variation is p - q
        own, other, total = self.chances
        return self.known_variation((own - other) / total)


@dataclass(frozen=True)
class OptimizedUnary(SymmetricUnary):
    """One bit per answer: the person's own is a fair coin, the others are 1 with chance ``1 / (e^epsilon + 1)``.

    The variance no longer depends on the share being estimated: the choice of Wang, Blocki, Li and Jha (2017).

    Parameters
    ----------
    epsilon : float
        The local promise.
    k : int
        The number of answers, which are 0 to k-1; a report has k bits.

    Notes
    -----
    *Privacy.* Guarantee: epsilon-local differential privacy, exact in whole numbers.  Neighbours: replace-one.
    Public: epsilon, k.  Bounded by: ``(1/2)(1-q) / (q/2) = a / b <= e^epsilon``.  Proof: ``proofs/local.md``.

    Examples
    --------
    >>> OptimizedUnary(1.0, 50).influence < SymmetricUnary(1.0, 50).influence * 1.1
    True
    """

    name: ClassVar[str] = "oue"
    code: ClassVar[int] = 4

    @cached_property
    def chances(self) -> tuple[int, int, int]:
        a, b = odds(self.budget)
        total = a + b + (a + b) % 2
        if total != a + b:  # an even total, so that a fair coin is a whole number of chances
            b += 1
        return total // 2, b, total
