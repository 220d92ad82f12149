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

__all__ = ["class_bound", "class_sums", "entry_moments", "own_margins"]

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


def centre_of(grid: Grid, box: tuple[int, int]) -> tuple[int, int]:
    """The middle of a box in grid units, and how far an entry in it may be from there."""
    low, high = box
    if not -grid.feature_linf <= low < high <= grid.feature_linf:
        raise ValueError(f"box={box!r} must be two rising whole numbers within {grid.feature_linf} units of 0")
    middle = (low + high) // 2
    return middle, max(high - middle, middle - low)


def class_bound(grid: Grid, n_classes: int, box: tuple[int, int] | None = None) -> tuple[Contribution, Fraction]:
    """What one row puts into :func:`class_sums`, and the unit, from public bounds alone.

    >>> from discreet.curator import RowBounds
    >>> bound, unit = class_bound(RowBounds(linf=1, intercept=8.0).grid(4), 2)
    >>> float(bound.linf * unit), round(float(bound.l2 * unit), 2)
    (1.0, 2.24)
    """
    plan, count = Residuals(_Ones, grid, None), grid.feature_linf
    square, limit = max(grid.l2**2 - grid.constant**2, 1) + count**2, plan.limit
    l1 = limit * (grid.l1 - grid.constant + count)
    if box is not None:
        count = centre_of(grid, box)[1]
        square, l1 = (grid.n_features + 1) * count**2, limit * (grid.n_features + 1) * count
    bound = Contribution(l1=l1, l2=limit * isqrt_up(square), linf=limit * count, apart=n_classes)
    return bound, plan.gradient_unit


def class_sums(curator: CuratorCore, n_classes: int, box: tuple[int, int] | None = None) -> Bounded:
    """For each class the (weighted) sum of its rows, and its count times the largest size of a feature.

    The constant column of an intercept is left out: the count stands in for it, at the scale of a feature, so that the
    largest entry of a row's contribution is that of its features.

    Parameters
    ----------
    curator : Curator
        Holds the rows; targets are codes from 0, or numbers of either sign for two classes.
    n_classes : int
        The public number of classes.
    box : (int, int), optional
        Public ends, in grid units, that every entry is cut at before its distance from their middle is added up; half
        the box then stands for the largest size of a feature.

    Notes
    -----
    *Privacy.* Guarantee: sealed.  Neighbours: the curator's.  Public: `n_classes`, `box`.  Bounded by: the bounds of
    one row, or half the box for every entry, in one block of `n_classes`.  Proof: ``proofs/class_means.md``, section 1.

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
    middle, count = (0, grid.feature_linf) if box is None else centre_of(grid, box)

    def work(rows: Rows, a: int, b: int, acc: Floats) -> None:
        w = np.ones(b - a) if rows.w is None else rows.w[a:b] * (grid.bounds.weight / WEIGHT_STEPS)
        residuals = np.zeros((b - a, n_classes))
        residuals[np.arange(b - a), _codes(rows, a, b, n_classes)] = plan.whole(w, None)
        if box is None:
            part = np.zeros((grid.n_weights, n_classes))
            rows.back(a, b, residuals, part)
            acc[:p] += part[:p]
        else:
            acc[:p] += (np.clip(_entries(rows, a, b, p), *box) - middle).T @ residuals
        acc[p] += residuals.sum(axis=0) * count

    value = curator._sum((p + 1, n_classes), limit * count, work)
    bound, unit = class_bound(grid, n_classes, box)
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
