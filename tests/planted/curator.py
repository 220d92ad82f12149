"""Broken twins of the curator (numbers refer to PITFALLS): each must raise an alarm in the laws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.curator import DenseCurator, RowBounds
from discreet.curator.grid import Grid
from discreet.curator.rows import DenseRows, Rows, to_grid
from discreet.curator.tables import make_block
from discreet.privacy import Bounded, Contribution, Neighbours

__all__ = [
    "FloatSums",
    "LateConstant",
    "NoFactorTwo",
    "RadiusOne",
    "ShrunkOnce",
    "UnclippedRows",
    "UnclippedTargets",
    "build",
]


class FloatSums(DenseCurator):
    """9: rows and residuals in floats, summed by BLAS, put on a (very fine) grid only at the end."""

    def gradient(self, loss: Any, weights: Any, clip: Any = None) -> Bounded:
        (rows,) = self._pieces
        assert isinstance(rows, DenseRows)
        X = rows.K * (float(self.grid.unit) / 3)  # rows that are not on a grid
        total = X.T @ loss.derivative(X @ np.asarray(weights), rows.y)
        limit = int(self.row_norm * 2.0**50)
        return Bounded(np.rint(total * 2.0**50), Contribution(l2=limit), Fraction(1, 2**50), self.neighbors)


class NoFactorTwo(DenseCurator):
    """12: replace-one priced as zero-out."""

    def _sealed(self, value: Any, contribution: Contribution, unit: Fraction, **more: Any) -> Bounded:
        return Bounded(value, contribution, unit, Neighbours.ZERO_OUT, **more)


class RadiusOne(DenseCurator):
    """12: a sensitivity that is fixed to a row norm of one, whatever the bound."""

    def _sealed(self, value: Any, contribution: Contribution, unit: Fraction, **more: Any) -> Bounded:
        l2 = int((contribution.l2 or 0) / Fraction(self.row_norm))
        return super()._sealed(value, Contribution(l2=l2), unit, **more)


class UnclippedRows(DenseCurator):
    """14: rows clipped, then the unclipped array used."""

    def _segments(self) -> Iterator[Rows]:
        for rows in super()._segments():
            raw = np.clip(np.rint(self._raw * self.grid.factor), -(2.0**30), 2.0**30)
            yield DenseRows(raw, rows.y, rows.w)

    _raw: Any


class UnclippedTargets(DenseCurator):
    """14: clipped targets worked out and never used; the loss is linear, so its slope is the target."""

    def _segments(self) -> Iterator[Rows]:
        for rows in super()._segments():
            assert isinstance(rows, DenseRows)
            assert rows.y is not None
            yield DenseRows(rows.K * self._raw_y[:, None], rows.y, rows.w)

    _raw_y: Any


class LateConstant(DenseCurator):
    """10: the constant column appended after the rows were clipped, outside their bound."""

    def _sealed(self, value: Any, contribution: Contribution, unit: Fraction, **more: Any) -> Bounded:
        features = Grid(replace(self.bounds, intercept=0.0), self.n_features)
        share = Fraction(features.l2) * features.unit / (Fraction(self.grid.l2) * self.grid.unit)
        return super()._sealed(value, Contribution(l2=int((contribution.l2 or 0) * share)), unit, **more)


class ShrunkOnce(DenseCurator):
    """Clipping in whole numbers by rounding to the nearest: rows end up a little beyond their bound."""

    def _segments(self) -> Iterator[Rows]:
        for rows in super()._segments():
            size = np.sqrt((self._raw**2).sum(axis=1, keepdims=True)) * self.grid.factor
            scaled = self._raw * self.grid.factor * np.minimum(1.0, self.grid.l2 / np.maximum(size, 1e-300))
            yield DenseRows(np.rint(scaled), rows.y, rows.w)

    _raw: Any


def build(kind: type[DenseCurator], data: Any, bounds: RowBounds, neighbors: Neighbours) -> DenseCurator:
    """A (broken) dense curator of ``(X, y, weight)``."""
    X, y, w = data
    grid = Grid(bounds, X.shape[1])
    made = kind([to_grid(make_block(X, y, w), grid)], grid, neighbors)
    made.__dict__.update(_raw=np.asarray(X, dtype=np.float64), _raw_y=np.asarray(y, dtype=np.float64))
    return made
