"""A second, independent reading of proofs/exact_noise.md in 200-bit (and longer) mpmath numbers; slow on purpose.

Nothing of ``discreet`` is imported: cells, densities, intervals and roundings are worked out anew.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import accumulate

from mpmath import MPContext

mp = MPContext()  # its own, so that nobody else's precision changes
mp.prec = 200
mpf = mp.mpf
ROWS = {"gaussian": 400, "laplace": 492}
REACH = {"gaussian": 6, "laplace": 16}


def density(family: str, x: mpf) -> mpf:
    return mp.exp(-x * x / 2) if family == "gaussian" else mp.exp(-x)


@cache
def layout(family: str) -> tuple[list[int], list[int], list[int], list[int]]:
    """Per column: rows wholly below the curve, rows touched by it, and where its inside and border cells begin."""
    edges = [ROWS[family] * density(family, mpf(i) / 32) for i in range(32 * REACH[family] + 1)]
    full = [int(mp.floor(e)) for e in edges[1:]]
    some = [int(mp.ceil(e)) for e in edges[:-1]]
    inside = [0, *accumulate(full)]
    border = [inside[-1], *accumulate((b - a for a, b in zip(full, some, strict=True)), initial=inside[-1])][1:]
    return full, some, inside, border


def n_cells(family: str) -> int:
    return layout(family)[3][-1]


def cell_of(family: str, column: int, row: int) -> int:
    """The cell's index, or -1 when it lies above the curve."""
    full, some, inside, border = layout(family)
    if row < full[column]:
        return inside[column] + row
    return border[column] + row - full[column] if row < some[column] else -1


class Number:
    """A real number known to lie in [n, n + 1) / 2**p."""

    def __init__(self, n: int, p: int) -> None:
        self.n, self.p = n, p

    def low(self) -> mpf:
        return mp.ldexp(mpf(self.n), -self.p)

    def high(self) -> mpf:
        return mp.ldexp(mpf(self.n + 1), -self.p)

    def refine(self, words: Iterator[int]) -> None:
        self.n, self.p = (self.n << 64) + next(words), self.p + 64


def below(family: str, x: Number, y: Number, factor: mpf, words: Iterator[int]) -> bool:
    while True:
        mp.prec = 200 + x.p + y.p
        if y.high() <= factor * density(family, x.high()):
            return True
        if y.low() >= factor * density(family, x.low()):
            return False
        x.refine(words)
        y.refine(words)


def propose(family: str, words: Iterator[int]) -> tuple[Number, int] | None:
    word = next(words)
    cell, fine, sign = word // 2**50, word // 2 % 2**49, -1 if word % 2 else 1
    _, _, inside, border = layout(family)
    if cell > n_cells(family):
        return None
    if cell == n_cells(family):
        if fine >= 2**41:
            return None
        zeros = 0
        while (w := next(words)) == 0:
            zeros += 64
        while w < 2**63:
            w, zeros = 2 * w, zeros + 1
        x, y = Number((REACH[family] + zeros) * 2**64 + next(words), 64), Number(next(words), 64)
        area = mpf(1) / (ROWS[family] * 32 * 256)
        return (x, sign) if below(family, x, y, 2 ** (mpf(zeros) + 1) / area, words) else None
    if cell < inside[-1]:
        return Number((bisect_right(inside, cell) - 1) * 2**49 + fine, 54), sign
    column = bisect_right(border, cell) - 1
    x = Number(column * 2**49 + fine, 54)
    y = Number((cell - border[column] + layout(family)[0][column]) * 2**64 + next(words), 64)
    return (x, sign) if below(family, x, y, mpf(ROWS[family]), words) else None


def rounding(x: Number, scale: Fraction, shift: mpf, words: Iterator[int]) -> int:
    """The floor of scale * x + shift, with as many digits of x as that takes; the interval is open on the right."""
    while True:
        mp.prec = 200 + x.p + 64
        factor = mpf(scale.numerator) / scale.denominator
        low, high = mp.floor(factor * x.low() + shift), mp.ceil(factor * x.high() + shift) - 1
        if low == high:
            return int(low)
        x.refine(words)


def draw(family: str, scale: float, discrete: bool, words: Iterator[int]) -> int:
    exact = Fraction(scale)
    while True:
        proposal = propose(family, words)
        if proposal is None:
            continue
        x, sign = proposal
        whole = rounding(x, exact, mpf(0 if discrete else 1) / 2, words)
        if not (discrete and whole == 0 and sign < 0):
            return sign * whole
