"""What a model says about each row, worked out from that row alone.

A product of matrices may add up a row's terms in another order when other rows come or go, and the last bit of one
score decides which bin it is in.  So our own models are evaluated column by column, on arrays of a fixed size; others
on tiles of a fixed size, and one row at a time where the number of rows is private.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, validate_data

from discreet.estimators.base import PrivateLinearModel
from discreet.estimators.cuts import clipped
from discreet.privacy import Neighbours

__all__ = ["answers", "is_model"]

TILE = 1024


def is_model(first: Any) -> bool:
    """Whether that is a model, and not an array of predictions or scores.

    >>> is_model([0, 1, 1])
    False
    """
    return hasattr(first, "predict")


def answers(model: Any, X: Any, method: str, neighbors: Neighbours) -> NDArray[Any]:
    """``model.method(X)``, each row's answer a function of that row alone.

    >>> from discreet import LinearRegression
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> model = LinearRegression(bounds=(-1, 1), bounds_y=(-1, 1)).fit(X, X[:, 0])
    >>> bool(np.allclose(answers(model, X, "predict", Neighbours.ADD_REMOVE), model.predict(X)))
    True
    """
    model = getattr(model, "best_estimator_", model)
    if isinstance(model, Pipeline) and isinstance(model[-1], PrivateLinearModel):
        X = model[:-1].transform(X) if len(model) > 1 else X
        model = model[-1]
    if isinstance(model, PrivateLinearModel):
        return _ours(model, X, method)
    n, size = _length(X), TILE if neighbors.public_n else 1
    parts = []
    for a in range(0, n, size):
        places = np.full(size, a)
        places[: min(size, n - a)] = np.arange(a, min(a + size, n))
        rows = X.iloc[places] if hasattr(X, "iloc") else X[places] if hasattr(X, "shape") else np.asarray(X)[places]
        parts.append(np.asarray(getattr(model, method)(rows))[: n - a])
    return np.concatenate(parts)


def _length(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _ours(model: Any, X: Any, method: str) -> NDArray[Any]:
    check_is_fitted(model)
    X = validate_data(model, X, accept_sparse=["csr", "csc"], dtype=np.float64, reset=False)
    weights = np.ascontiguousarray(np.atleast_2d(model.coef_).T)
    parts = []
    for a in range(0, X.shape[0], TILE):
        tile = X[a : a + TILE]
        padded = np.zeros((TILE, weights.shape[1]))
        padded[: tile.shape[0]] = _products(clipped(model.bounds_, _plain(tile)), weights)
        padded += model.intercept_
        twin = copy.copy(model)
        twin._margins = lambda _, known=padded: known  # what follows a margin works entry by entry
        parts.append(np.asarray(getattr(twin, method)(tile))[: tile.shape[0]])
    return np.concatenate(parts)


def _plain(tile: Any) -> Any:
    return tile if hasattr(tile, "tocsr") else np.ascontiguousarray(tile)


def _products(rows: Any, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows times weights, every row's terms added in the order of the columns."""
    if hasattr(rows, "tocsr"):
        rows = rows.tocsr()
        rows.sort_indices()
        return np.asarray(rows @ weights)  # scipy goes along each row
    columns = np.ascontiguousarray(rows.T)
    out = np.zeros((rows.shape[0], weights.shape[1]))
    for column, w in zip(columns, weights, strict=True):
        out += column[:, None] * w
    return out
