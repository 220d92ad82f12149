"""New rows cut as the rows of the fit were, for predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.curator import RowBounds

__all__ = ["clipped", "margins"]

Floats = NDArray[np.float64]
TILE = 1024  # rows that are held densely at a time


def clipped(bounds: RowBounds, X: Any) -> Any:
    """New rows cut to the bounds that training rows were cut to, in original units.

    A model that never saw a value beyond a bound has nothing to say about how it goes on there.  Sparse rows stay
    sparse where zeros stay zeros; where rows were shortened towards another point, they come back as an array.

    >>> clipped(RowBounds(low=0.0, high=10.0, l2=5.0), np.array([[3.0, 40.0]])).round(3)
    array([[3.143, 9.642]])
    """
    scale = np.broadcast_to(bounds.scale, (X.shape[1],))
    centre = np.zeros(1) if bounds.centre is None else np.broadcast_to(bounds.centre, (X.shape[1],))
    if hasattr(X, "tocsr") and _moves_zeros(bounds):
        X = X.toarray()
    if hasattr(X, "tocsr"):
        rows = X.tocsr().astype(np.float64, copy=True)
        rows.data = _cut(bounds, rows.data, rows.indices) / scale[rows.indices]
        norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
        rows.data *= np.repeat(_shrink(bounds, norms), np.diff(rows.indptr))
        rows.data *= scale[rows.indices]
        return rows
    z = (_cut(bounds, np.asarray(X, dtype=np.float64), slice(None)) - centre) / scale
    z *= _shrink(bounds, np.sqrt((z * z).sum(axis=1)))[:, None]
    return z * scale + centre


def margins(bounds: RowBounds, X: Any, weights: Floats) -> Floats:
    """Products of cut rows with weights ``(columns, outputs)``, a few rows at a time where rows become dense.

    >>> margins(RowBounds(low=0.0, high=10.0), np.array([[3.0], [40.0]]), np.array([[2.0]]))
    array([[ 6.],
           [20.]])
    """
    if not (hasattr(X, "tocsr") and _moves_zeros(bounds)):
        return np.asarray(clipped(bounds, X) @ weights)
    rows = X.tocsr()
    parts = [clipped(bounds, rows[a : a + TILE]) @ weights for a in range(0, max(rows.shape[0], 1), TILE)]
    return np.concatenate(parts)


def _moves_zeros(bounds: RowBounds) -> bool:
    """Whether a zero of a row, cut to the bounds, may become another number."""
    beyond = bounds.low is not None and bool(np.any(bounds.low > 0) or np.any(bounds.high < 0))
    return bounds.centred or beyond


def _cut(bounds: RowBounds, x: Floats, columns: Any) -> Floats:
    if bounds.low is not None:
        p = np.size(bounds.low)
        low, high = (v[columns] if p > 1 else v for v in (bounds.low, bounds.high))
        x = np.clip(x, low, high)
    if bounds.linf is not None:
        scale = bounds.scale[columns] if np.size(bounds.scale) > 1 else bounds.scale
        x = np.clip(x, -bounds.linf * scale, bounds.linf * scale)
    return x


def _shrink(bounds: RowBounds, norms: Floats) -> Floats:
    return np.ones_like(norms) if bounds.l2 is None else np.minimum(1.0, bounds.l2 / np.maximum(norms, 1e-300))
