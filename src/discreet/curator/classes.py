"""Sums of rows by class, and how far rows lie on the right side: statistics in which a row is in one block only."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.curator.base import CuratorCore, _Ones
from discreet.curator.clip import Residuals
from discreet.curator.grid import WEIGHT_STEPS, Grid
from discreet.curator.rows import DenseRows, Rows
from discreet.curator.statistics import public_edges
from discreet.privacy import Bounded, Contribution, isqrt_up

__all__ = ["class_bound", "class_sums", "entry_moments", "one_of", "own_margins", "shortened"]

Floats = NDArray[np.float64]
MOMENT = 2**12  # what a mean of one is written as


def _codes(rows: Rows, a: int, b: int, n_classes: int) -> NDArray[np.int64]:
    """The class of each row: its code, or for two classes whether its target is positive."""
    if rows.y is None:
        raise ValueError("this statistic needs targets: build the curator with y")
    y = rows.y[a:b]
    codes = (y > 0) if n_classes == 2 else np.clip(y, 0, n_classes - 1)
    return np.asarray(codes, dtype=np.int64)


def _entries(rows: Rows, a: int, b: int, p: int) -> Floats:
    """The features of rows ``[a, b)`` on the grid, dense."""
    if isinstance(rows, DenseRows):
        return rows.K[a:b, :p]
    return rows.take(np.arange(a, b)).mapped(np.eye(rows.p))[:, :p]


def class_bound(grid: Grid, n_classes: int, length: int | None = None) -> tuple[Contribution, Fraction]:
    """What one row puts into :func:`class_sums`, and the unit, from public bounds alone.

    >>> from discreet.curator import RowBounds
    >>> bound, unit = class_bound(RowBounds(linf=1, intercept=8.0).grid(4), 2)
    >>> float(bound.linf * unit), round(float(bound.l2 * unit), 2)
    (1.0, 2.24)
    """
    plan, count = Residuals(_Ones, grid, None), one_of(grid, length)
    rows, limit = max(grid.l2**2 - grid.constant**2, 1), plan.limit
    l1, linf = grid.l1 - grid.constant, grid.feature_linf
    if length is not None:
        rows, l1, linf = length**2, isqrt_up(grid.n_features * length**2), length
    bound = Contribution(
        l1=limit * (l1 + count), l2=limit * isqrt_up(rows + count**2), linf=limit * max(linf, count), apart=n_classes
    )
    return bound, plan.gradient_unit


def one_of(grid: Grid, length: int | None) -> int:
    """What one row adds to the count of its class, in grid units: the largest feature, or half of `length`."""
    if length is None:
        return grid.feature_linf
    if not 2 <= length <= isqrt_up(max(grid.l2**2 - grid.constant**2, 4)):
        raise ValueError(f"length={length!r} must be a whole number of grid units, from 2 to the bound of a row")
    return length // 2


def shortened(rows: Floats, length: int) -> Floats:
    """Whole-numbered rows, those longer than `length` scaled down to it, towards 0.

    >>> shortened(np.array([[3.0, 4.0], [30.0, 40.0]]), 10)
    array([[3., 4.],
           [6., 8.]])
    """
    squares = np.maximum((rows * rows).sum(axis=1), 1.0)
    return np.where((squares > length**2)[:, None], np.trunc(rows * (length / np.sqrt(squares))[:, None]), rows)


def class_sums(curator: CuratorCore, n_classes: int, length: int | None = None, centre: int = 0) -> Bounded:
    """For each class the (weighted) sum of its rows, and its count times a public number (:func:`one_of`).

    The constant column of an intercept is left out: the count stands in for it.

    Parameters
    ----------
    curator : Curator
        Holds the rows; targets are codes from 0, or numbers of either sign for two classes.
    n_classes : int
        The public number of classes.
    length : int, optional
        What rows are cut at before they are added, in grid units; by default they aren't cut further.
    centre : int, default=0
        Public number of grid units that is first subtracted from every entry of rows that are cut.

    Notes
    -----
    *Privacy.* Guarantee: sealed.  Neighbours: the curator's.  Public: `n_classes`, `length`, `centre`.  Bounded by:
    the bounds of one row, or `length`, in one block of `n_classes`.  Proof: ``proofs/class_means.md``, section 1.

    Examples
    --------
    >>> from discreet.curator import RowBounds, make_curator
    >>> curator = make_curator(np.eye(4), np.array([1.0, 1, -1, -1]), bounds=RowBounds(linf=1, intercept=8.0))
    >>> sums = class_sums(curator, 2)
    >>> sums.shape, float(sums.sensitivity("linf") * sums.unit), sums.contribution.apart
    ((10,), 1.0, 2)
    """
    if n_classes < 2:
        raise ValueError(f"n_classes={n_classes!r} must be at least 2")
    grid, plan = curator.grid, Residuals(_Ones, curator.grid, None)
    p, limit = grid.n_features, plan.limit
    count = one_of(grid, length)
    if abs(centre) > grid.feature_linf or (centre and length is None):
        raise ValueError(f"centre={centre!r} must lie within {grid.feature_linf} units of 0, and goes with a length")

    def work(rows: Rows, a: int, b: int, acc: Floats) -> None:
        w = np.ones(b - a) if rows.w is None else rows.w[a:b] * (grid.bounds.weight / WEIGHT_STEPS)
        residuals = np.zeros((b - a, n_classes))
        residuals[np.arange(b - a), _codes(rows, a, b, n_classes)] = plan.whole(w, None)
        if length is None:
            part = np.zeros((grid.n_weights, n_classes))
            rows.back(a, b, residuals, part)
            acc[:p] += part[:p]
        else:
            acc[:p] += shortened(_entries(rows, a, b, p) - centre, length).T @ residuals
        acc[p] += residuals.sum(axis=0) * count

    value = curator._sum((p + 1, n_classes), limit * max(count, grid.feature_linf, length or 0), work)
    bound, unit = class_bound(grid, n_classes, length)
    return curator._sealed(np.ascontiguousarray(value.T).reshape(-1), bound, unit)


def entry_moments(curator: CuratorCore) -> Bounded:
    """The (weighted) sum over rows of the mean of a row's entries, and of one less the mean of their squares.

    Entries are measured in the largest size of a feature, so both lie within one, and their sizes add up to 5 / 4 at
    most.

    Notes
    -----
    *Privacy.* Guarantee: sealed.  Neighbours: the curator's.  Public: nothing else.  Bounded by: both numbers of a row
    are cut, after they were rounded, so that their sizes don't exceed 5 / 4 together.  Proof:
    ``proofs/class_means.md``, section 1.

    Examples
    --------
    >>> from discreet.curator import RowBounds, make_curator
    >>> sealed = entry_moments(make_curator(np.eye(4), bounds=RowBounds(linf=1)))
    >>> sealed.shape, float(sealed.sensitivity("l1") * sealed.unit)
    ((2,), 1.25)
    """
    grid, p = curator.grid, curator.grid.n_features
    largest, most = float(grid.feature_linf), 5 * MOMENT // 4

    def work(rows: Rows, a: int, b: int, acc: Floats) -> None:
        z = _entries(rows, a, b, p)  # whole numbers, and so are both sums
        mean, square = z.sum(axis=1) / (p * largest), (z * z).sum(axis=1) / (p * largest * largest)
        first = np.clip(np.rint(mean * MOMENT), -MOMENT, MOMENT)
        second = np.clip(np.rint((1 - square) * MOMENT), 0, np.minimum(MOMENT, most - np.abs(first)))
        w = np.full(b - a, float(WEIGHT_STEPS)) if rows.w is None else rows.w[a:b]
        acc += np.array([w @ first, w @ second])

    value = curator._sum((2,), WEIGHT_STEPS * MOMENT, work)
    bound = Contribution(l1=WEIGHT_STEPS * most, linf=WEIGHT_STEPS * MOMENT).complete(2)
    return curator._sealed(value, bound, Fraction(curator.grid.weight_unit) / MOMENT)


def own_margins(curator: CuratorCore, weights: ArrayLike, offsets: ArrayLike, edges: ArrayLike) -> Bounded:
    """For each class the (weighted) number of its rows whose own margin less the largest other lies in each bin.

    Parameters
    ----------
    curator : Curator
        Holds the rows.
    weights : array of shape (n_classes, n_features)
        Public directions, one for each class.
    offsets : array of shape (n_classes,)
        Public numbers that are added to the margins.
    edges : array
        Public bin edges, rising; one bin lies below the first and one above the last.

    Notes
    -----
    *Privacy.* Guarantee: sealed.  Neighbours: the curator's.  Public: all but the rows.  Bounded by: a row is in one
    bin of one class, for at most its weight.  Proof: ``proofs/class_means.md``, section 1.

    Examples
    --------
    >>> from discreet.curator import RowBounds, make_curator
    >>> curator = make_curator(np.eye(2), np.array([1.0, -1.0]), bounds=RowBounds(linf=1))
    >>> own_margins(curator, np.eye(2), np.zeros(2), [-1.0, 0.0, 1.0]).shape
    (8,)
    """
    theta, shift = np.asarray(weights, dtype=np.float64), np.asarray(offsets, dtype=np.float64)
    cuts, k = public_edges(edges), len(theta)
    if theta.shape != (k, curator.n_features) or shift.shape != (k,) or not np.isfinite(shift).all() or k < 2:
        raise ValueError(
            f"weights of shape {theta.shape} and offsets of shape {shift.shape} don't fit: give a row of "
            f"{curator.n_features} weights and a finite offset for each class"
        )
    whole, step = curator._on_grid(np.pad(theta, ((0, 0), (0, curator.n_weights - curator.n_features))), k)
    cells = cuts.size + 1

    def work(rows: Rows, a: int, b: int, acc: Floats) -> None:
        margins: Any = curator._margins(rows, a, b, whole, step) + shift
        codes, at = _codes(rows, a, b, k), np.arange(b - a)
        own = margins[at, codes]
        margins[at, codes] = -np.inf
        place = np.searchsorted(cuts, own - margins.max(axis=1), side="right")
        w = np.full(b - a, float(WEIGHT_STEPS)) if rows.w is None else rows.w[a:b]
        acc += np.bincount(codes * cells + place, weights=w, minlength=k * cells)

    value = curator._sum((k * cells,), WEIGHT_STEPS, work)
    most = Contribution(l1=WEIGHT_STEPS, l2=WEIGHT_STEPS, linf=WEIGHT_STEPS, monotone=True, apart=k)
    return curator._sealed(value, most, Fraction(curator.grid.weight_unit))
