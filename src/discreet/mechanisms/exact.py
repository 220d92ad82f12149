"""Exactly distributed whole-number noise from random words: rounded Gaussian, rounded Laplace, discrete Laplace.

Under the curve ``R * exp(-x**2 / 2)`` (or ``R * exp(-x)``), cut into columns of width 2**-5 and rows of height 1, lie
cells of equal area.  A word picks a cell (14 bits), a place across it (49 bits) and a sign.  In most cells every point
lies under the curve; in a *border* cell a second word is the height, and the point must lie under the curve; one
last cell stands for the tail.  The digits not looked at stay free, so a deviate is an interval that more words make
shorter, and its rounding to a whole number is decided by integers.  ``proofs/exact_noise.md`` has the proof.

The numba loop decides all but about one draw in a million; :meth:`Sampler.one`, in Python integers of any length,
*is* the definition of the map from words to draws, and the loop must agree with it.
"""

from __future__ import annotations

import functools
import itertools
import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.kernels_cells import FINE, GAUSSIAN, INDEX, LAPLACE, TAIL_BITS, WIDTH
from discreet.randomness import Source, Words

__all__ = [
    "Deviate",
    "Sampler",
    "Stream",
    "Table",
    "exp_bounds",
    "rounded_gaussian",
    "rounded_laplace",
    "sampler",
    "table",
]

Family = Literal["gaussian", "laplace"]
CHUNK = 1 << 15
FEW = 1 << 10  # so few draws are made in Python rather than loading the compiler for them (a device that reports once)
LARGEST = Fraction(2**52)  # at twice this scale the tail could leave 64 bits with a chance above 2**-1000
SMALLEST = Fraction(1, 2**20)


class WordReader(Protocol):
    """Whatever hands out one random word at a time, as a Python integer."""

    def next(self) -> int:
        """The next word."""


class Stream:
    """Words of a source, one at a time or many; none is dropped, and no more are drawn than are used.

    >>> from discreet.randomness import SeededSource
    >>> stream, again = Stream(SeededSource(1)), SeededSource(1).words(3)
    >>> stream.next() == int(again[0]), bool((stream.ahead(2) == again[1:]).all())
    (True, True)
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._words: Words = np.empty(0, dtype=np.uint64)

    def next(self) -> int:
        """The next word, used up."""
        words = self.ahead(1)
        self.used(1)
        return int(words[0])

    def ahead(self, n: int) -> Words:
        """At least the next `n` words, not yet used up."""
        missing = n - len(self._words)
        if missing > 0:
            fresh = self._source.words(missing)
            self._words = fresh if len(self._words) == 0 else np.concatenate([self._words, fresh])
        return self._words

    def used(self, n: int) -> None:
        """Use up the first `n` words of what :meth:`ahead` returned."""
        self._words = self._words[n:]


def exp_bounds(number: int, point: int, digits: int) -> tuple[int, int]:
    """Whole numbers (low, high) with ``low <= 2**digits * exp(-number / 2**point) <= high``; ``number >= 0``.

    >>> low, high = exp_bounds(1, 0, 40)
    >>> low <= 2**40 * math.exp(-1) <= high, high - low <= 2
    (True, True)
    """
    if number == 0:
        return 1 << digits, 1 << digits
    if number >> point > digits:
        return 0, 1
    halvings = max(0, number.bit_length() - point + 8)  # e = number / 2**point / 2**halvings < 2**-8
    work = digits + halvings + 16
    move = work - point - halvings
    e = number << move if move >= 0 else number >> -move  # floor: too small by less than one unit of 2**-work
    total, term, k = 0, 1 << work, 0
    while term:
        total += -term if k & 1 else term
        k += 1
        term = (term * e >> work) // k
    error = 2 * k + 4  # each term is short by less than 2 units, the remainder and e by less than 2 each
    for _ in range(halvings):  # total / 2**work is at most 1, so a square doubles the error, and rounds once
        total = total * total >> work
        error = 2 * error + 2
    spare = work - digits
    return max(0, (total - error) >> spare), -((-total - error) >> spare)


@dataclass(frozen=True)
class Table:
    """The cells of one family; `rows` and `top` serve the border cells only."""

    family: Family
    height: int  # R, the number of rows
    reach: int  # where the tail begins
    columns: NDArray[np.int64]
    rows: NDArray[np.int64]
    top: NDArray[np.float64]  # R * f(left edge), to the nearest float
    n_inside: int
    n_cells: int  # the index of the tail's cell; larger ones are refused


def density_bounds(family: Family, number: int, point: int, digits: int) -> tuple[int, int]:
    """Bounds of ``2**digits * f(number / 2**point)`` for the family's f, with ``f(0) == 1``.

    >>> density_bounds("gaussian", 0, 0, 4)[1]
    16
    """
    if family == "gaussian":
        return exp_bounds(number * number, 2 * point + 1, digits)
    return exp_bounds(number, point, digits)


_SHAPE: dict[Family, tuple[int, int]] = {"gaussian": (400, 6), "laplace": (492, 16)}  # (height, reach)


@functools.cache
def table(family: Family) -> Table:
    """The cells of a family, worked out once per process from certified bounds of the density.

    >>> t = table("gaussian")
    >>> t.n_inside, t.n_cells < 2**14
    (15780, True)
    """
    height, reach = _SHAPE[family]
    bounds = [density_bounds(family, i, WIDTH, 128) for i in range((reach << WIDTH) + 1)]
    edges = [(height * low, height * high) for low, high in bounds]
    inside: list[int] = []
    border: list[tuple[int, int]] = []
    for column, ((_, left_high), (right_low, _)) in enumerate(itertools.pairwise(edges)):
        full, some = right_low >> 128, -(-left_high >> 128)  # rows wholly under the curve; rows with a part under it
        inside += [column] * full
        border += [(column, row) for row in range(full, some)]
    n_cells = len(inside) + len(border)
    if n_cells >= 1 << INDEX:
        raise AssertionError(f"{n_cells} cells and the tail do not fit {INDEX} bits")
    return Table(
        family,
        height,
        reach,
        np.array(inside + [c for c, _ in border], dtype=np.int64),
        np.array([r for _, r in border], dtype=np.int64),
        np.array([float(Fraction(low, 2**128)) for low, _ in edges[:-1]], dtype=np.float64),
        len(inside),
        n_cells,
    )


@dataclass
class Deviate:
    """A non-negative real number in ``[digits, digits + 1) / 2**point``, uniform there, and its sign."""

    digits: int
    point: int
    negative: bool = False

    def extend(self, words: WordReader) -> None:
        """64 further digits, which are uniform because nothing has looked at them yet."""
        self.digits = self.digits << 64 | words.next()
        self.point += 64


def _under(cells: Table, x: Deviate, y: Deviate, scale: Fraction, words: WordReader) -> bool:
    """Whether ``y < scale * f(x)``, reading digits of both until it is certain."""
    while True:
        digits = x.point + y.point + 128
        low = density_bounds(cells.family, x.digits + 1, x.point, digits)[0] * scale
        high = density_bounds(cells.family, x.digits, x.point, digits)[1] * scale
        if (y.digits + 1) << (digits - y.point) <= low:
            return True
        if y.digits << (digits - y.point) >= high:
            return False
        x.extend(words)
        y.extend(words)


def _tail(cells: Table, negative: bool, words: WordReader) -> Deviate | None:
    """A proposal beyond ``reach``: unit slices with chances 1/2, 1/4, ... under stairs that dominate the density."""
    piece = 0
    while (word := words.next()) == 0:
        piece += 64
    piece += 64 - word.bit_length()
    x = Deviate((cells.reach + piece) << 64 | words.next(), 64, negative)
    y = Deviate(words.next(), 64)
    # stair number `piece` is as high as the tail's area, 2**-TAIL_BITS of a cell, times its chance
    stair = Fraction(1, (cells.height << (WIDTH + TAIL_BITS)) * 2 ** (piece + 1))
    return x if _under(cells, x, y, 1 / stair, words) else None


def deviate(cells: Table, words: WordReader) -> Deviate:
    """A deviate with density proportional to ``f(|x|)``, with as many digits as its acceptance needed.

    >>> from discreet.randomness import SeededSource
    >>> deviate(table("laplace"), Stream(SeededSource(0))).point
    54
    """
    while True:
        word = words.next()
        cell, fine, negative = word >> (64 - INDEX), word >> 1 & (1 << FINE) - 1, bool(word & 1)
        if cell > cells.n_cells:
            continue
        if cell == cells.n_cells:
            found = None if fine >> (FINE - TAIL_BITS) else _tail(cells, negative, words)
            if found is not None:
                return found
            continue
        x = Deviate(int(cells.columns[cell]) << FINE | fine, FINE + WIDTH, negative)
        if cell < cells.n_inside:
            return x
        y = Deviate(int(cells.rows[cell - cells.n_inside]) << 64 | words.next(), 64)
        if _under(cells, x, y, Fraction(cells.height), words):
            return x


@dataclass(frozen=True)
class Sampler:
    """Whole-number noise of one family and scale.

    Parameters
    ----------
    cells : Table
        The family.
    scale : Fraction
        Standard deviation (Gaussian) or scale (Laplace) in grid units; a float64, exactly.
    discrete : bool
        Round to the nearest whole number (False), or toward zero with the negative zero refused (True): that is
        the discrete Laplace distribution, ``P(k)`` proportional to ``exp(-|k| / scale)``.

    Examples
    --------
    >>> from discreet.randomness import SeededSource
    >>> s = sampler("gaussian", 100.0)
    >>> many, stream = s.draw(SeededSource(5), 1000), Stream(SeededSource(5))
    >>> many.tolist() == [s.one(stream) for _ in range(1000)]
    True
    """

    cells: Table
    mantissa: int
    exponent: int  # scale == mantissa * 2**exponent
    discrete: bool

    def one(self, words: WordReader) -> int:
        """One draw in Python integers: slow, and the definition of what the numba loop must return."""
        while True:
            x = deviate(self.cells, words)
            while (whole := self._rounded(x)) is None:
                x.extend(words)
            if whole or not (self.discrete and x.negative):
                return -whole if x.negative else whole

    def _rounded(self, x: Deviate) -> int | None:
        shift = x.point - self.exponent  # positive: the scale is at most 2**52
        half = 0 if self.discrete else 1 << (shift - 1)
        low = self.mantissa * x.digits + half
        whole = low >> shift
        return whole if whole == (low + self.mantissa - 1) >> shift else None

    def draw(self, source: Source, n: int) -> NDArray[np.int64]:
        """`n` draws as int64.  The same words give the same draws, in one call or in many."""
        stream = Stream(source)
        if n <= FEW and "discreet.kernels_noise" not in sys.modules:
            return np.array([self.one(stream) for _ in range(n)], dtype=np.int64)
        from discreet.kernels_noise import fill

        out = np.empty(n, dtype=np.int64)
        done, cells = 0, self.cells
        shift = FINE + WIDTH - self.exponent
        half = 0 if self.discrete else 1 << (shift - 1)
        family = GAUSSIAN if cells.family == "gaussian" else LAPLACE
        numbers = np.array([self.mantissa, shift, half >> 64, half & (1 << 64) - 1], dtype=np.uint64)
        in_doubt = False
        while done < n:
            words = stream.ahead(min(n - done, CHUNK))  # a draw takes at least one word: never too many
            done, used, in_doubt = fill(
                words, out, done, cells.columns, cells.rows, cells.top, cells.n_inside, cells.n_cells, family,
                numbers, not self.discrete,
            )  # fmt: skip
            stream.used(used)
            if in_doubt:
                out[done] = self.one(stream)
                done += 1
            elif used < len(words):  # a border cell waits for its second word
                stream.ahead(2)
        return out


@functools.lru_cache(maxsize=256)
def sampler(family: Family, scale: float, discrete: bool = False) -> Sampler:
    """The sampler of a family at a scale, in grid units, between 2**-20 and 2**52.

    >>> sampler("laplace", 3.0).exponent
    -51
    >>> sampler("laplace", 0.0)
    Traceback (most recent call last):
    ...
    ValueError: noise of scale 0.0 grid units can't be drawn: the scale must lie between 2**-20 and 2**52
    """
    if not SMALLEST <= scale <= LARGEST:
        raise ValueError(
            f"noise of scale {scale!r} grid units can't be drawn: the scale must lie between 2**-20 and 2**52"
        )
    fraction, exponent = math.frexp(scale)
    return Sampler(table(family), int(fraction * 2**53), exponent - 53, discrete)


def rounded_gaussian(source: Source, scale: float, n: int) -> NDArray[np.int64]:
    """`n` independent ``round(N(0, scale**2))``, exactly distributed."""
    return sampler("gaussian", float(scale)).draw(source, n)


def rounded_laplace(source: Source, scale: float, n: int) -> NDArray[np.int64]:
    """`n` independent ``round(Laplace(scale))``, exactly distributed."""
    return sampler("laplace", float(scale)).draw(source, n)
