"""Pairs of data sets made to hurt: one extreme row, against backgrounds that make it matter most."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.privacy import Neighbours

__all__ = ["Pair", "worst_pairs"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Pair:
    """Two neighbouring data sets: rows, targets, weights (0 is a blank row), and where needed whose row each one is.

    Examples
    --------
    >>> pair = worst_pairs("add_remove", 2, np.zeros(2), np.ones(2), (-1.0, 1.0))[0]
    >>> len(pair.first[1]) - len(pair.second[1])
    1
    """

    name: str
    first: tuple[Floats, ...]
    second: tuple[Floats, ...]

    def __iter__(self) -> Iterator[tuple[Floats, ...]]:
        """Both data sets."""
        yield from (self.first, self.second)

    def of_one_person(self, rows: int) -> Pair:
        """The same with `rows` copies of the first row, all of one person; every other row is somebody else's.

        >>> pair = worst_pairs("zero_out", 2, np.zeros(2), np.ones(2), (-1.0, 1.0), n=3)[0].of_one_person(2)
        >>> pair.first[3].tolist()
        [0, 0, 1, 2, 3]
        """
        others = len(self.first[1]) - 1
        sides = []
        for side in self:
            there = len(side[1]) - others
            at = np.concatenate([np.zeros(rows * there, dtype=np.int64), there + np.arange(others)])
            groups = np.concatenate([np.zeros(rows * there, dtype=np.int64), 1 + np.arange(others)])
            sides.append((*(part[at] for part in side[:3]), groups))
        return Pair(self.name, *sides)


def worst_pairs(
    neighbors: str | Neighbours, n_features: int, low: Floats, high: Floats, targets: tuple[float, float], n: int = 24
) -> list[Pair]:
    """Backgrounds of blank rows, of opposed rows and of a crowd that saturates the loss, with one row that differs.

    Among the blank rows one of zeros counts, since models refuse tables in which no row does.

    >>> [p.name for p in worst_pairs("zero_out", 2, np.zeros(2), np.ones(2), (-1.0, 1.0))]
    ['alone', 'against a crowd', 'against its opposite']
    """
    relation = Neighbours.of(neighbors)
    extreme, bottom = np.asarray(high, dtype=float), np.asarray(low, dtype=float)
    down, up = targets
    blank = np.zeros((n, n_features))
    crowd = np.tile(extreme, (n, 1))
    opposed = np.tile(bottom, (n, 1))
    half = np.where(np.arange(n) % 2 == 0, up, down)
    one = (np.arange(n) == 0).astype(np.float64)
    designs = {
        "alone": (blank, half, one),
        "against a crowd": (crowd, np.full(n, down), np.ones(n)),
        "against its opposite": (opposed, np.full(n, up), np.ones(n)),
    }
    return [_pair(name, relation, extreme, up, down, *rows) for name, rows in designs.items()]


def _pair(
    name: str, relation: Neighbours, extreme: Floats, up: float, down: float, X: Floats, y: Floats, w: Floats
) -> Pair:
    row = extreme[None, :]

    def with_row(x: Floats, target: float, weight: float) -> tuple[Floats, Floats, Floats]:
        return np.vstack([x, X]), np.concatenate([[target], y]), np.concatenate([[weight], w])

    first = with_row(row, up, 1.0)
    if relation is Neighbours.ADD_REMOVE:
        return Pair(name, first, (X, y, w))
    if relation is Neighbours.ZERO_OUT:
        return Pair(name, first, with_row(row, up, 0.0))
    return Pair(name, first, with_row(row, down, 1.0))
