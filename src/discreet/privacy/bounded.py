"""A statistic in whole grid units, with the exact amount by which one row can change it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.budget import Number, exact
from discreet.privacy.contribution import Contribution, Norm, isqrt_up
from discreet.privacy.neighbours import Neighbours
from discreet.privacy.sealed import Sealed, unseal

__all__ = ["Bounded"]


class Bounded(Sealed):
    """A statistic in whole grid units, with the exact amount by which one row can change it.

    Parameters
    ----------
    value : array of whole numbers
        Integers, in an integer or in a float64 array (whole numbers below 2**53).
    contribution : Contribution
        What one row can add, at most, in grid units.
    unit : Fraction
        What one grid unit is worth: the real statistic is ``value * unit``.
    neighbors : Neighbours
        The relation under which :meth:`sensitivity` is computed.
    symmetric : int, default=0
        When positive, the value is the packed upper triangle (row by row, diagonal included) of a symmetric matrix
        of that order, and the norms of the contribution are those of the whole matrix (l2 is Frobenius).
    rate : float, default=1
        The Poisson sampling rate of the rows behind the statistic; what opens it must have been priced for that rate.
    part : object, optional
        Which of several disjoint parts of the rows it is about; what opens it may then be priced in parallel.

    Notes
    -----
    *Privacy.* Guarantee: none until a mechanism opens it.  Neighbours: `neighbors`.  Public: shape, unit, bounds.
    Bounded by: `contribution`, in integers.  Proof: ``proofs/sensitivity.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from fractions import Fraction
    >>> g = Bounded(np.array([5, -2]), Contribution(linf=4), Fraction(1, 8), Neighbours.REPLACE_ONE)
    >>> g.sensitivity("linf"), g.sensitivity("l1"), g.sensitivity("range")
    (8, 16, 16)
    >>> g.linear(np.array([[1, 0], [0, -3]])).sensitivity("linf")
    24
    """

    __slots__ = ("contribution", "neighbors", "part", "rate", "shape", "symmetric", "unit")

    contribution: Contribution
    neighbors: Neighbours
    part: object | None
    rate: float
    shape: tuple[int, ...]
    symmetric: int
    unit: Fraction

    def __init__(
        self,
        value: NDArray[Any],
        contribution: Contribution,
        unit: Fraction,
        neighbors: Neighbours,
        *,
        symmetric: int = 0,
        rate: float = 1.0,
        part: object | None = None,
    ) -> None:
        value = np.asarray(value)
        if value.dtype.kind not in "iuf":
            raise TypeError(f"a Bounded holds whole numbers, not {value.dtype}")
        if unit <= 0:
            raise ValueError(f"unit={unit} must be positive")
        if symmetric and value.shape != (symmetric * (symmetric + 1) // 2,):
            raise ValueError(f"a packed triangle of order {symmetric} can't have shape {value.shape}")
        super().__init__(value)
        size = symmetric * symmetric if symmetric else int(value.size)
        for name, item in (
            ("contribution", contribution.complete(max(size, 1))),
            ("neighbors", neighbors),
            ("rate", float(rate)),
            ("part", part),
            ("shape", value.shape),
            ("symmetric", symmetric),
            ("unit", Fraction(unit)),
        ):
            object.__setattr__(self, name, item)

    def __repr__(self) -> str:
        return f"<Bounded: shape {self.shape}, {self.contribution}, contents withheld>"

    @property
    def size(self) -> int:
        """The number of (packed) coordinates, which is public."""
        return math.prod(self.shape)

    def sensitivity(self, norm: Norm) -> int:
        """How far the statistics of two neighbours can be apart, in whole grid units."""
        return self.contribution.sensitivity(norm, self.neighbors)

    def scaled(self, factor: Number) -> Bounded:
        """The same integers with a unit `factor` times as large (for ``factor > 0``)."""
        return _rebuilt(self, lambda v: v, self.contribution, self.unit * exact(factor, "factor"), self.symmetric)

    def linear(self, matrix: NDArray[Any] | Any, unit: Fraction = Fraction(1)) -> Bounded:
        """The linear map ``matrix @ value`` (whole-number entries, dense or scipy.sparse), bounds multiplied.

        One entry of `matrix` is worth `unit`.  The new bounds are those that the operator norms of the matrix imply:
        every one of the standard ones is tried and the smallest kept.

        >>> import numpy as np
        >>> rotated = Bounded(np.array([1, 2]), Contribution(l2=5), Fraction(1), Neighbours.ZERO_OUT).linear(
        ...     np.array([[3, 4], [-4, 3]]), Fraction(1, 5))
        >>> rotated.sensitivity("l2") * rotated.unit
        Fraction(5, 1)
        """
        if self.symmetric or len(self.shape) != 1:
            raise ValueError("linear maps act on vectors; this statistic is a matrix")
        if matrix.shape[1] != self.shape[0]:
            raise ValueError(f"a matrix of shape {matrix.shape} can't act on a vector of {self.shape[0]}")
        whole, bound = _whole_matrix(matrix), _mapped(self.contribution, matrix)

        def apply(value: NDArray[Any]) -> NDArray[Any]:
            largest = int(np.max(np.abs(value), initial=0))
            if largest * bound.row_l1 >= 2**62:
                raise OverflowError("this linear map leaves 64-bit integers; use a coarser unit for the matrix")
            return np.asarray(whole @ value.astype(np.int64), dtype=np.int64)

        return _rebuilt(self, apply, bound.contribution, self.unit * unit, 0)

    def signed_pair(self) -> Bounded:
        """The vector followed by its negative: the scores of the vertices of an l1 ball, in one pass.

        >>> import numpy as np
        >>> Bounded(np.array([5, -2]), Contribution(linf=4), Fraction(1), Neighbours.ZERO_OUT).signed_pair().shape
        (4,)
        """
        c = self.contribution
        doubled = Contribution(l1=2 * c.known("l1"), l2=isqrt_up(2 * c.known("l2") ** 2), linf=c.linf, monotone=False)
        return _rebuilt(self, lambda v: np.concatenate([v, -v]), doubled, self.unit, 0)

    def absolute(self) -> Bounded:
        """Absolute values: ``||a| - |b|| <= |a - b|`` coordinate by coordinate, so the bounds stay."""
        return _rebuilt(self, np.abs, replace(self.contribution, monotone=False, acute=False), self.unit, 0)


@dataclass(frozen=True)
class _Image:
    contribution: Contribution
    row_l1: int


def _whole_matrix(matrix: Any) -> Any:
    entries = matrix.data if hasattr(matrix, "tocsr") else matrix
    whole = np.rint(entries)
    if not np.array_equal(whole, entries) or np.max(np.abs(whole), initial=0) >= 2**53:
        raise ValueError("a linear map on a Bounded needs whole-number entries below 2**53; put it on a grid first")
    return matrix.astype(np.int64)


def _mapped(c: Contribution, matrix: Any) -> _Image:
    """Bounds of ``matrix @ contribution`` from exact row and column sums of the matrix."""
    rows, cols, row_sq, largest = _sizes(abs(_whole_matrix(matrix)))
    l1, l2, linf = (c.known(n) for n in ("l1", "l2", "linf"))
    row_l1, col_l1, row_l2 = max(rows, default=0), max(cols, default=0), isqrt_up(max(row_sq, default=0))
    operator = min(isqrt_up(sum(row_sq)), isqrt_up(row_l1 * col_l1), _gram_bound(matrix))
    return _Image(
        Contribution(l1=l1 * col_l1, l2=l2 * operator, linf=min(row_l1 * linf, row_l2 * l2, largest * l1)), row_l1
    )


def _sizes(a: Any) -> tuple[list[int], list[int], list[int], int]:
    """Row sums, column sums, row sums of squares and the largest of entries >= 0, in integers that never wrap."""
    largest = int(a.max()) if 0 not in a.shape else 0
    if not hasattr(a, "tocsr"):
        a = a.astype(object)
        squares = a * a
    elif largest**2 * max(int(a.nnz), 1) < 2**62:
        squares = a.multiply(a)
    else:  # scipy.sparse sums in 64 bits, which sums of squares of such entries would leave
        entries = a.tocoo()
        values = entries.data.astype(object)
        return (
            _added(entries.row, values, a.shape[0]),
            _added(entries.col, values, a.shape[1]),
            _added(entries.row, values * values, a.shape[0]),
            largest,
        )
    sums = (a.sum(axis=1), a.sum(axis=0), squares.sum(axis=1))
    rows, cols, row_sq = ([int(v) for v in np.asarray(part).ravel()] for part in sums)
    return rows, cols, row_sq, largest


def _added(index: NDArray[Any], values: NDArray[Any], n: int) -> list[int]:
    out = np.zeros(n, dtype=object)
    np.add.at(out, index, values)
    return [int(v) for v in out]


def _gram_bound(matrix: Any) -> int:
    """``||A||_2^2 <= ||A A^T||_inf`` in exact integers, for matrices small enough that this costs nothing."""
    if hasattr(matrix, "tocsr") or max(matrix.shape) > 128:
        return isqrt_up(int(matrix.shape[0]) * int(matrix.shape[1])) * max(int(abs(matrix).max()), 1)
    a = np.asarray(matrix).astype(np.int64).astype(object)
    gram = a @ a.T if a.shape[0] <= a.shape[1] else a.T @ a
    return isqrt_up(max((int(v) for v in np.abs(gram).sum(axis=1)), default=0))


def _rebuilt(
    source: Bounded,
    change: Callable[[NDArray[Any]], NDArray[Any]],
    contribution: Contribution,
    unit: Fraction,
    symmetric: int,
) -> Bounded:
    value, rate, part = change(unseal(source)), source.rate, source.part
    return Bounded(value, contribution, unit, source.neighbors, symmetric=symmetric, rate=rate, part=part)
