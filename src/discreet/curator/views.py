"""Other views of a curator's rows: random batches, disjoint parts, rows after a public linear map."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.curator.base import CuratorCore, Once
from discreet.curator.grid import WEIGHT_STEPS, Grid, RowBounds, power_of_two
from discreet.curator.rows import DenseRows, Rows, fill_dense, place_targets
from discreet.privacy import PrivacyError

if TYPE_CHECKING:
    from discreet.curator.curator import Curator

__all__ = ["Views", "Words", "bernoulli", "uniform_below"]

Floats = NDArray[np.float64]


class Words(Protocol):
    """A source of random 64-bit words."""

    def words(self, n: int) -> NDArray[np.uint64]:
        """Fresh words."""


def bernoulli(rate: Fraction, n: int, source: Words) -> NDArray[np.bool_]:
    """`n` independent coins that are true with probability `rate`, exactly: digits are drawn until they decide.

    >>> from discreet.randomness import SeededSource
    >>> int(bernoulli(Fraction(1, 4), 10_000, SeededSource(0)).sum()) in range(2300, 2700)
    True
    """
    out = np.zeros(n, dtype=np.bool_)
    if rate >= 1:
        return ~out
    undecided = np.arange(n)
    while undecided.size and rate > 0:
        scaled = rate * 2**64
        digit = scaled.numerator // scaled.denominator
        words = source.words(undecided.size)
        out[undecided[words < np.uint64(digit)]] = True
        undecided, rate = undecided[words == np.uint64(digit)], scaled - digit
    return out


def uniform_below(k: int, n: int, source: Words) -> NDArray[np.int64]:
    """`n` independent uniform numbers from 0 to ``k - 1``, exactly, by rejection.

    >>> from discreet.randomness import SeededSource
    >>> sorted(set(uniform_below(3, 100, SeededSource(0)).tolist()))
    [0, 1, 2]
    """
    out, todo = np.zeros(n, dtype=np.int64), np.arange(n)
    last = np.uint64(2**64 // k * k - 1)  # words beyond the last whole multiple of k are drawn again
    while todo.size:
        words = source.words(todo.size)
        good = words <= last
        out[todo[good]] = (words[good] % np.uint64(k)).astype(np.int64)
        todo = todo[~good]
    return out


class Views(CuratorCore):
    """The part of the curator that hands out curators of some, or of changed, rows."""

    def batch(self, rate: float, source: Words) -> Curator:
        """A Poisson batch: every row joins by an exact coin of its own with probability `rate`.

        The batch's statistics carry the rate; its number of rows is private.  A batch answers one question only.

        Notes
        -----
        *Privacy.* Guarantee: sealed answers about the batch, whose make-up must stay secret for amplification.
        Neighbours: the curator's.  Public: `rate`.  Bounded by: as for the whole.  Proof: ``proofs/curator.md``.

        Examples
        --------
        >>> import numpy as np
        >>> from discreet.curator import RowBounds, make_curator
        >>> from discreet.randomness import system
        >>> batch = make_curator(np.eye(3), bounds=RowBounds(l2=1)).batch(0.5, system())
        >>> batch.n_rows  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        discreet.privacy.neighbours.PrivacyError: the number of rows is private here ...
        """
        if not 0 < rate <= 1:
            raise ValueError(f"rate={rate!r} must be above 0 and at most 1")
        exact = Fraction(rate)
        batch = self._pick(lambda n: np.flatnonzero(bernoulli(exact, n, source)), rate=self._rate * rate)
        batch._once = self._once or Once()
        batch.part = self.part or batch._once  # by which its answer is known wherever it goes
        return batch

    def fixed_batch(self, size: int, source: Words) -> Curator:
        """A uniformly random batch of exactly `size` rows, without replacement; needs a public number of rows.

        Its statistics carry no sampling rate: whoever claims amplification must price this kind of sampling.

        Examples
        --------
        >>> import numpy as np
        >>> from discreet.curator import RowBounds, make_curator
        >>> from discreet.randomness import system
        >>> make_curator(np.eye(3), bounds=RowBounds(l2=1)).fixed_batch(2, system()).n_rows
        2
        """
        n = self.n_rows
        if not 0 < size <= n:
            raise ValueError(f"a batch of {size} rows can't be drawn from {n}")
        words = source.words(n)
        while np.unique(words).size < n:  # only words that differ order the rows without a bias
            words = source.words(n)
        chosen = np.zeros(n, dtype=np.bool_)
        chosen[np.argsort(words)[:size]] = True
        starts = iter(np.split(chosen, np.cumsum([rows.n for rows in self._segments()])[:-1]))
        return self._pick(lambda _: np.flatnonzero(next(starts)), rate=self._rate, private_n=self._private_n)

    def parts(self, k: int, source: Words | None = None) -> list[Curator]:
        """`k` disjoint parts: by position where the number of rows is public, else by a coin per row from `source`.

        One row is in one part only, so the parts' costs don't add up (parallel composition).

        Examples
        --------
        >>> import numpy as np
        >>> from discreet.curator import RowBounds, make_curator
        >>> [part.n_rows for part in make_curator(np.eye(5), bounds=RowBounds(l2=1)).parts(2)]
        [3, 2]
        """
        if k < 1:
            raise ValueError(f"k={k!r} must be at least 1")
        if source is None and self._private_n:
            raise PrivacyError(
                "where the number of rows is private, one row more would move the others between parts: "
                "give a source, and each row is assigned by a coin of its own"
            )
        start, labels = 0, []
        for rows in self._segments():
            positions = (np.arange(start, start + rows.n) % k) if source is None else uniform_below(k, rows.n, source)
            labels.append(positions)
            start += rows.n
        out = []
        for part in range(k):
            here = iter(labels)
            out.append(
                self._pick(
                    partial(_next_part, here, part),
                    rate=self._rate,
                    private_n=self._private_n or source is not None,
                )
            )
            out[-1].part = object()  # answers say which part they are about
        return out

    def _pick(self, choose: Callable[[int], NDArray[np.int64]], *, rate: float, private_n: bool = True) -> Curator:
        from discreet.curator.storage import ViewCurator

        pieces = [rows.take(choose(rows.n)) for rows in self._segments()]
        view = ViewCurator(pieces, self.grid, self.neighbors, n_threads=self.n_threads, private_n=private_n, rate=rate)
        view._once, view.part = self._once, self.part
        return view

    def transformed(
        self, matrix: ArrayLike, bounds: RowBounds, weight_norm: float | None = None, target_factor: float | None = None
    ) -> Curator:
        """A curator of the rows ``matrix @ z``, put on a new grid and clipped row by row to new `bounds`.

        The product is exact (the matrix is rounded to a public grid first), so a new row depends on its old row alone.
        Sparse rows become dense.  Used for whitening and for rotations.

        Parameters
        ----------
        matrix : array of shape (q, n_features) or (q, n_weights)
            A public map, of the features or of the whole row with its constant.  `bounds` may add a constant column.
        bounds : RowBounds
            Bounds of the new rows.
        weight_norm : float, optional
            When given, a row's weight is multiplied by ``min(1, weight_norm / |new row|_2)``: long rows keep their
            direction and length but count less.
        target_factor : float, optional
            When given, targets are multiplied by this public number and clipped to ``bounds.y``.

        Notes
        -----
        *Privacy.* Guarantee: sealed answers about the new rows.  Neighbours: the curator's.  Public: `matrix`, which
        must be public or released.  Bounded by: clipping in whole numbers after the map.  Proof: ``proofs/curator.md``.

        Examples
        --------
        >>> import numpy as np
        >>> from discreet.curator import RowBounds, make_curator
        >>> curator = make_curator(np.eye(3), bounds=RowBounds(l2=1))
        >>> curator.transformed(np.ones((2, 3)), RowBounds(l2=2)).n_features
        2
        """
        from discreet.curator.storage import MappedCurator

        a = np.asarray(matrix, dtype=np.float64)
        if a.ndim != 2 or a.shape[1] not in (self.n_features, self.n_weights) or not np.isfinite(a).all():
            raise ValueError(
                f"the matrix must be finite with {self.n_features} columns, one per feature; got shape {a.shape}"
            )
        if a.shape[1] < self.n_weights:
            a = np.hstack([a, np.zeros((len(a), 1))])
        largest = float(np.abs(a).max(initial=0.0)) or 1.0
        longest = Fraction(largest) * Fraction(float(np.sqrt(((a / largest) ** 2).sum(axis=1)).max(initial=0.0)) or 1.0)
        unit = power_of_two(longest) * power_of_two(self.grid.l2) / 2**50
        if not 2.0**-1000 < unit * self.grid.unit < 2.0**960:
            raise ValueError(
                f"a map with entries up to {largest:g} of rows up to {self.row_norm:g} long leaves the range of "
                "floating-point numbers; scale the map, and the new bounds, to numbers nearer to one"
            )
        whole = np.ascontiguousarray(np.rint(a / float(unit)).T)
        grid, scale = Grid(bounds, len(a)), float(unit * self.grid.unit)
        if target_factor is not None and not (math.isfinite(target_factor) and target_factor > 0 and bounds.y):
            raise ValueError(
                f"target_factor={target_factor!r} must be positive and finite, with bounds.y for its range"
            )
        make = _Map(whole, scale, grid, weight_norm, target_factor)
        return MappedCurator(self, make, grid)


def _next_part(labels: Iterator[NDArray[np.int64]], part: int, _: int) -> NDArray[np.int64]:
    """The places of one part in the next piece."""
    return np.flatnonzero(next(labels) == part)


class _Map:
    """Rows to mapped rows, one piece at a time."""

    def __init__(
        self, whole: Floats, scale: float, grid: Grid, weight_norm: float | None, target_factor: float | None
    ) -> None:
        self._whole, self._scale, self._grid, self._factor = whole, scale, grid, target_factor
        self._longest = None if weight_norm is None else int(Fraction(weight_norm) / grid.unit)

    def __call__(self, rows: Rows) -> Rows:
        grid = self._grid
        z = rows.mapped(self._whole) * self._scale  # exact: whole numbers below 2**53 times a power of two
        K = np.empty((rows.n, grid.n_weights))
        fill_dense(z, grid, K)
        y = rows.y
        if y is not None and self._factor is not None:
            y = place_targets(y * self._factor, grid)
        out = DenseRows(K, y, rows.w)
        if self._longest is not None:
            w = np.full(rows.n, float(WEIGHT_STEPS)) if rows.w is None else rows.w
            # floor(w * longest / norm) steps: w' * norm <= w * longest, in whole numbers
            out.w = np.minimum(w, np.floor(w * self._longest / np.maximum(out.norms[:, 1], 1.0)))
        return out
