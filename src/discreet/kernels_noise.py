"""The numba loop that turns random words into exactly distributed whole-number noise.

It is the fast half of ``mechanisms/exact.py``, which holds the tables, the slow half and the meaning of every constant;
``proofs/exact_noise.md`` bounds each rounding error made here.  The loop answers only when it is certain, and otherwise
hands the draw back.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from discreet.kernels_cells import FINE, GAUSSIAN, INDEX, TAIL_BITS, WIDTH

__all__ = ["MARGIN", "fill"]

MARGIN = 2.0**-34  # more than every error of the acceptance test; exact_noise.md shows 2**-40

_U0 = np.uint64(0)
_U1 = np.uint64(1)
_U32 = np.uint64(32)
_U64 = np.uint64(64)
_LOW32 = np.uint64(0xFFFFFFFF)
_FINE_MASK = np.uint64((1 << FINE) - 1)
_FINE = np.uint64(FINE)
_TAIL_SHIFT = np.uint64(FINE - TAIL_BITS)
_INDEX_SHIFT = np.uint64(64 - INDEX)
_TO_WIDTH = 2.0 ** -(FINE + WIDTH)
_COLUMN = 2.0**-WIDTH
_UNIT = 2.0**-64


@njit(cache=True, inline="always")
def _below_density(
    family: int, column: int, fine: np.uint64, row: int, word: np.uint64, top: NDArray[np.float64]
) -> int:
    """1 when the point is certainly under the density, 0 when certainly above it, -1 when too close to say."""
    d = np.float64(fine) * _TO_WIDTH  # exact: 49 bits and a power of two
    e = d
    if family == GAUSSIAN:
        e = d * (np.float64(column) * _COLUMN + 0.5 * d)  # x**2 / 2 grows by e from the column's left edge
    # exp(-e) by Taylor's series; where e is large the curve is low, and 500 exp(-x**2 / 2) e**9 / 9! stays below 2**-46
    t = 1.0 - e / 8.0
    t = 1.0 - e / 7.0 * t
    t = 1.0 - e / 6.0 * t
    t = 1.0 - e / 5.0 * t
    t = 1.0 - e / 4.0 * t
    t = 1.0 - e / 3.0 * t
    t = 1.0 - e / 2.0 * t
    t = 1.0 - e * t
    gap = top[column] * t - (np.float64(row) + np.float64(word) * _UNIT)
    if gap > MARGIN:
        return 1
    if gap < -MARGIN:
        return 0
    return -1


@njit(cache=True, inline="always")
def _shifted(high: np.uint64, low: np.uint64, shift: np.uint64) -> np.uint64:
    """The floor of a 128-bit number over 2**shift, for 0 < shift < 128 (the caller sees that it fits 64 bits)."""
    if shift >= _U64:
        return high >> (shift - _U64)
    return (high << (_U64 - shift)) | (low >> shift)


@njit(cache=True, inline="always")
def _rounded(
    x: np.uint64, mantissa: np.uint64, shift: np.uint64, half_high: np.uint64, half_low: np.uint64
) -> tuple[np.uint64, bool]:
    """``floor((mantissa * (x + t) + half) / 2**shift)`` at t = 0, and whether all t in [0, 1) agree; in 128 bits."""
    m_high, m_low, x_high, x_low = mantissa >> _U32, mantissa & _LOW32, x >> _U32, x & _LOW32
    low_low = m_low * x_low
    middle = m_high * x_low + (low_low >> _U32)
    cross = m_low * x_high + (middle & _LOW32)
    low = (cross << _U32) | (low_low & _LOW32)
    start_low = low + half_low
    start_high = m_high * x_high + (middle >> _U32) + (cross >> _U32) + half_high + np.uint64(start_low < low)
    end_low = start_low + (mantissa - _U1)
    end_high = start_high + np.uint64(end_low < start_low)
    whole = _shifted(start_high, start_low, shift)
    return whole, whole == _shifted(end_high, end_low, shift)


@njit(cache=True, nogil=True)
def fill(
    words: NDArray[np.uint64],
    out: NDArray[np.int64],
    start: int,
    columns: NDArray[np.int64],
    rows: NDArray[np.int64],
    top: NDArray[np.float64],
    n_inside: int,
    n_cells: int,
    family: int,
    numbers: NDArray[np.uint64],
    keep_negative_zero: bool,
) -> tuple[int, int, bool]:
    """Fill ``out[start:]`` from `words`; return (place reached in out, words used, whether the next draw is in doubt).

    `numbers` holds mantissa, shift, and the high and low word of half.  A draw is
    ``floor((mantissa * x + half) / 2**shift)`` with a sign, where x is a deviate with `FINE` + `WIDTH` binary digits
    after the point that stands for the whole interval [x, x + 1): the draw is made only if every point of the interval
    gives the same answer.  The words of a draw in doubt are not counted as used.
    """
    mantissa, shift, half_high, half_low = numbers[0], numbers[1], numbers[2], numbers[3]
    at, i = 0, start
    while i < len(out) and at < len(words):
        word = words[at]
        cell = np.int64(word >> _INDEX_SHIFT)
        fine = (word >> _U1) & _FINE_MASK
        taken = 1
        if cell >= n_inside:
            if cell > n_cells or (cell == n_cells and (fine >> _TAIL_SHIFT) != _U0):
                at += 1  # no such cell, or the part of the tail's cell that is not used: propose again
                continue
            if cell == n_cells:
                return i, at, True
            if at + 1 >= len(words):
                return i, at, False
            verdict = _below_density(family, columns[cell], fine, rows[cell - n_inside], words[at + 1], top)
            if verdict < 0:
                return i, at, True
            taken = 2
            if verdict == 0:
                at += 2
                continue
        x = (np.uint64(columns[cell]) << _FINE) | fine
        whole, certain = _rounded(x, mantissa, shift, half_high, half_low)
        if not certain:
            return i, at, True
        at += taken
        negative = (word & _U1) != _U0
        if negative and whole == _U0 and not keep_negative_zero:
            continue
        out[i] = -np.int64(whole) if negative else np.int64(whole)
        i += 1
    return i, at, False
