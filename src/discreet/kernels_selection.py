"""Numba loops for selections: buckets of integer scores, and coins that are certain or else left undecided.

Scores come as the 64-bit patterns of int64 numbers; differences are taken modulo 2**64, which is exact for every pair
of int64 numbers.  Only additions, multiplications and comparisons of IEEE doubles are used, so that the error bounds
of ``proofs/selection.md``, section 4, need nothing from a mathematical library.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["FAIL", "SUCCESS", "UNDECIDED", "best_left", "bucket", "count_code", "find_nth", "flip", "half_word"]

FAIL, SUCCESS, UNDECIDED = 0, 1, 2
_BLOCK = 4096
_TAYLOR = tuple((-1.0) ** n / math.factorial(n) for n in range(14, -1, -1))


@njit(cache=True)
def bucket(
    scores: NDArray[np.uint64],
    best: np.uint64,
    largest: bool,
    shift: np.uint64,
    codes: NDArray[np.uint8],
    tail: int,
) -> NDArray[np.int64]:
    """Write each score's bucket, ``gap >> shift`` cut off at `tail`, into `codes`; return the bucket sizes.

    A candidate whose code is ``tail + 1`` already is gone, and stays so.
    """
    counts = np.zeros(tail + 2, dtype=np.int64)
    last, gone = np.uint64(tail), np.uint8(tail + 1)
    for i in range(scores.size):
        if codes[i] == gone:
            continue
        gap = best - scores[i] if largest else scores[i] - best
        code = gap >> shift
        if code > last:
            code = last
        codes[i] = code
        counts[code] += 1
    return counts


@njit(cache=True)
def best_left(scores: NDArray[np.int64], codes: NDArray[np.uint8], gone: int, largest: bool) -> int:
    """The position of the first best score among those whose code is not `gone` (-1 when none is left)."""
    out = np.uint8(gone)
    at = -1
    for i in range(scores.size):
        if codes[i] == out:
            continue
        if at < 0 or (scores[i] > scores[at] if largest else scores[i] < scores[at]):
            at = i
    return at


@njit(cache=True)
def count_code(codes: NDArray[np.uint8], code: int) -> int:
    """How many entries equal `code`."""
    wanted = np.uint8(code)
    n = 0
    for i in range(codes.size):
        n += codes[i] == wanted
    return n


@njit(cache=True)
def find_nth(codes: NDArray[np.uint8], code: int, n: int) -> int:
    """The position of the n-th (from 0) entry equal to `code`, or -1: blocks are counted first, then one is read."""
    wanted = np.uint8(code)
    start = 0
    while start < codes.size:
        stop = min(start + _BLOCK, codes.size)
        inside = 0
        for i in range(start, stop):
            inside += codes[i] == wanted
        if inside > n:
            for i in range(start, stop):
                if codes[i] == wanted:
                    if n == 0:
                        return i
                    n -= 1
        n -= inside
        start = stop
    return -1


@njit(cache=True)
def half_word(words: NDArray[np.uint64], at: int) -> np.uint64:
    """The 32-bit number at position `at` when every word is read as two, low half first."""
    half: np.uint64 = (words[at >> 1] >> np.uint64(32 * (at & 1))) & np.uint64(0xFFFFFFFF)
    return half


@njit(cache=True)
def flip(
    scores: NDArray[np.uint64],
    best: np.uint64,
    largest: bool,
    shift: np.uint64,
    codes: NDArray[np.uint8],
    tail: int,
    powers: NDArray[np.float64],
    rate: float,
    words: NDArray[np.uint64],
    used: int,
    begin: int,
) -> tuple[int, int]:
    """Flip a coin of probability ``exp(-gap * rate)`` for every candidate outside the tail bucket, from `begin` on.

    Half a random word is spent on each.  Codes are replaced by FAIL, SUCCESS or UNDECIDED: a 32-bit draw too close to
    its threshold for doubles to tell, behind which the loop stops so that the caller can draw more digits.  It stops
    as well when the words run out.  Returns the next position and the number of halves used.
    """
    one = np.uint64(1)
    halves = 2 * words.size
    for i in range(begin, scores.size):
        code = codes[i]
        if code >= tail:
            codes[i] = FAIL
            continue
        if used >= halves:
            return i, used
        gap = best - scores[i] if largest else scores[i] - best
        rest = gap - (np.uint64(code) << shift)
        draw = half_word(words, used)
        used += 1
        if gap == np.uint64(0):
            codes[i] = SUCCESS
            continue
        threshold = powers[code] * exp_minus(np.float64(rest) * rate) * 4294967296.0
        if np.float64(draw + one) <= threshold * (1.0 - 1e-12):
            codes[i] = SUCCESS
        elif np.float64(draw) >= threshold * (1.0 + 1e-12) + 1e-20:
            codes[i] = FAIL
        else:
            codes[i] = UNDECIDED
            return i + 1, used
    return scores.size, used


@njit(cache=True)
def exp_minus(x: float) -> float:
    """``exp(-x)`` for x in [0, 1/2], by 14 terms of Taylor's series: relative error below 1e-14."""
    total = _TAYLOR[0]
    for n in range(1, 15):
        total = total * x + _TAYLOR[n]
    return total
