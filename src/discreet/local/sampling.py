"""Exact draws for the client half: whole-number weights, uniform whole numbers, unbiased rounding to a grid.

Every randomiser of this folder is a draw in proportion to whole-number weights, whose ratios are compared with
``e**epsilon`` in integers.  So its promise holds for the program that runs, not for a continuous idealisation of it.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.bernoulli import exp_bounds
from discreet.randomness import Source

__all__ = ["below", "coins", "odds", "to_grid"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
BITS = 61  # totals of weights stay below 2**61, so that they fit an int64


def odds(epsilon: Fraction, heavy: float = 1.0) -> tuple[int, int]:
    """Whole numbers ``a > b > 0`` with ``a / b <= e**epsilon``, as close to it as 61 bits allow.

    `heavy` is the largest total of weights the caller will form, in units of a.

    >>> a, b = odds(Fraction(1))
    >>> 0 <= 2.718281828459045 - a / b < 1e-12
    True
    """
    shift = BITS - max(1, int(np.ceil(np.log2(heavy + 1))))
    low, high = exp_bounds(epsilon, shift)
    if high >= 1 << shift or low < 1 << 8:
        raise ValueError(
            f"epsilon={float(epsilon)!r} can't be met to 8 bits on {shift}-bit weights; choose one from 1e-9 to 30"
        )
    return 1 << shift, high


def below(source: Source, total: int, n: int) -> Ints:
    """`n` independent uniform whole numbers in [0, total), by rejection from 64-bit words.

    >>> from discreet.randomness import SeededSource
    >>> sorted(set(below(SeededSource(1), 3, 100).tolist()))
    [0, 1, 2]
    """
    if not 0 < total <= 1 << 62:
        raise ValueError(f"total={total} must be in 1..2**62")
    shift = np.uint64(64 - max(1, (total - 1).bit_length()))
    out = (source.words(n) >> shift).astype(np.int64)
    wrong = np.flatnonzero(out >= total)
    while len(wrong):
        out[wrong] = (source.words(len(wrong)) >> shift).astype(np.int64)
        wrong = wrong[out[wrong] >= total]
    return out


def coins(source: Source, heads: int, total: int, n: int) -> NDArray[np.bool_]:
    """`n` independent coins that show heads with probability exactly ``heads / total``."""
    return np.asarray(below(source, total, n) < heads, dtype=np.bool_)


def to_grid(values: Floats, source: Source) -> Ints:
    """Each value rounded to one of its two neighbouring whole numbers, at random and without bias.

    The grid value is the randomiser's input; its promise holds for any input, so that these floats decide nothing
    about privacy.

    >>> import numpy as np
    >>> from discreet.randomness import SeededSource
    >>> to_grid(np.array([2.0, -7.0]), SeededSource(0)).tolist()
    [2, -7]
    """
    floor = np.floor(values)
    up = (source.words(values.size) >> np.uint64(11)).astype(np.float64).reshape(values.shape) * 2.0**-53
    return np.asarray(floor + (up < values - floor), dtype=np.int64)
