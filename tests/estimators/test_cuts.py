"""Predictions cut new rows as the fit cut its own, in whatever storage they come."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from discreet.curator import RowBounds
from discreet.estimators.cuts import TILE, clipped, margins
from discreet.linear_model import LinearRegression, LogisticRegression

RNG = np.random.default_rng(0)
ROWS = np.where(RNG.random((TILE + 7, 6)) < 0.5, RNG.normal(0, 3, (TILE + 7, 6)), 0.0)
BOUNDS = {
    "box": RowBounds(low=-1.0, high=2.0, centre=0.0, scale=np.arange(1.0, 7.0), l2=0.7),
    "middle of a box": RowBounds(low=-1.0, high=2.0, l2=0.7),
    "bought centre": RowBounds(low=-5.0, high=5.0, centre=np.arange(6.0) / 3, scale=2.0, l2=0.9),
    "away from zero": RowBounds(low=1.0, high=2.0, centre=0.0),
    "norm": RowBounds(l2=1.0),
}


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.csr_matrix])
def test_storage_makes_no_difference(name: str, form: type) -> None:
    w = RNG.normal(size=(6, 2))
    plain = clipped(BOUNDS[name], ROWS)
    found = clipped(BOUNDS[name], form(ROWS))
    np.testing.assert_allclose(found.toarray() if sp.issparse(found) else found, plain, atol=1e-12)
    np.testing.assert_allclose(margins(BOUNDS[name], form(ROWS), w), plain @ w, atol=1e-12)


def test_sparse_rows_stay_sparse_where_zeros_stay_zeros() -> None:
    assert sp.issparse(clipped(BOUNDS["box"], sp.csr_array(ROWS)))
    assert not sp.issparse(clipped(BOUNDS["bought centre"], sp.csr_array(ROWS)))


@pytest.mark.parametrize("model", [LinearRegression, LogisticRegression])
def test_a_model_of_dense_rows_predicts_sparse_ones_alike(model: type) -> None:
    y = (ROWS[:, 0] > 0).astype(int)
    fitted = model(epsilon=9, bounds=(-4, 4), random_state=0).fit(ROWS, y)
    np.testing.assert_allclose(fitted.predict(sp.csr_array(ROWS)), fitted.predict(ROWS), atol=1e-9)
