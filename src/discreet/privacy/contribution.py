"""How much one row can put into a statistic, and how far that moves two neighbours apart."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from discreet.privacy.neighbours import Neighbours

__all__ = ["Contribution", "Norm", "isqrt_up"]

Norm = Literal["l1", "l2", "linf", "range"]


@dataclass(frozen=True)
class Contribution:
    """The most that one row can put into a statistic, in whole grid units.

    `l1`, `l2`, `linf` bound the norms of the row's contribution.  `monotone` says that every contribution is
    non-negative in every coordinate (counts, clipped losses), which makes selections and replacements cheaper.
    `acute` says that no two contributions point away from each other: their inner product is never negative (outer
    products ``z z'``, and whatever is monotone).  `apart` says in how many equal blocks the statistic comes of which a
    row is in one only (sums by class).  What is missing is filled in from what is there.

    Examples
    --------
    >>> Contribution(linf=3).complete(4)
    Contribution(l1=12, l2=6, linf=3, monotone=False)
    """

    l1: int | None = None
    l2: int | None = None
    linf: int | None = None
    monotone: bool = False
    acute: bool = field(default=False, repr=False)
    apart: int = field(default=1, repr=False)

    def __post_init__(self) -> None:
        known = [b for b in (self.l1, self.l2, self.linf) if b is not None]
        if not known:
            raise ValueError("a contribution needs at least one of l1, l2, linf")
        for b in known:
            if isinstance(b, bool) or not isinstance(b, int) or b < 0:
                raise ValueError(f"contribution bounds are whole grid units, at least 0; got {b!r}")

    def known(self, name: str) -> int:
        """One of the three norms, which must have been given or worked out by :meth:`complete`."""
        value = getattr(self, name)
        if value is None:
            raise ValueError(f"the {name} bound is not worked out yet: call complete(size) first")
        return int(value)

    def complete(self, size: int) -> Contribution:
        """All three norms, each the smallest that the others imply for a vector of `size` coordinates."""
        big = [b for b in (self.l1, self.l2, self.linf) if b is not None]
        linf = min(big)
        l2 = min(b for b in (self.l2, self.l1, isqrt_up(size * linf * linf)) if b is not None)
        l1 = min(b for b in (self.l1, size * linf, isqrt_up(size * l2 * l2)) if b is not None)
        return Contribution(
            l1=l1, l2=min(l2, l1), linf=linf, monotone=self.monotone, acute=self.acute, apart=self.apart
        )

    def sensitivity(self, norm: Norm, neighbors: Neighbours) -> int:
        """How far two neighbours' statistics can be apart: the one place where this is worked out.

        One row is there or not: the contribution itself.  One row replaced: two contributions, in general twice
        the bound; ``|a - b|_2^2 <= a^2 + b^2`` when they are acute, and when they are non-negative also
        ``|a - b|_inf <= max(a, b)``.
        The *range* (largest minus smallest change over coordinates) is what a selection pays for.

        >>> c = Contribution(l1=4, l2=3, linf=2)
        >>> [c.sensitivity("range", n) for n in Neighbours]
        [4, 8, 4]
        >>> counts = Contribution(l1=1, l2=1, linf=1, monotone=True)
        >>> [counts.sensitivity("range", n) for n in Neighbours]
        [1, 2, 1]
        >>> [Contribution(l1=9, l2=5, linf=3, acute=True).sensitivity("l2", n) for n in Neighbours]
        [5, 8, 5]
        """
        l1, l2, linf = (self.known(n) for n in ("l1", "l2", "linf"))
        twice = neighbors.moves == 2
        if norm == "l1":
            return l1 * neighbors.moves
        if norm == "l2":
            return (isqrt_up(2 * l2 * l2) if self.monotone or self.acute else 2 * l2) if twice else l2
        if norm == "linf":
            return linf if self.monotone or not twice else 2 * linf
        if norm == "range":
            return linf * neighbors.moves * (1 if self.monotone else 2)
        raise ValueError(f"norm={norm!r} is not one of 'l1', 'l2', 'linf', 'range'")


def isqrt_up(square: int) -> int:
    """The smallest whole number whose square is at least `square`.

    >>> [isqrt_up(k) for k in (0, 1, 2, 4, 5)]
    [0, 1, 2, 2, 3]
    """
    root = math.isqrt(square)
    return root if root * root == square else root + 1
