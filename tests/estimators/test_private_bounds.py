"""Bounds that are bought: any magnitude, heavy tails, constant and binary columns, sparse rows; and what they cost."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet.accounting import epsilon
from discreet.curator import RowBounds
from discreet.curator.places import Places
from discreet.curator.survey import make_survey
from discreet.estimators.bounds import MAGNITUDES, BoundsBuyer
from discreet.linear_model import LinearRegression, LogisticRegression
from discreet.privacy import Budget
from discreet.randomness import SeededSource

N = 20_000


def buyer(X: object, budget: Budget | None = None) -> BoundsBuyer:
    n = X.shape[0]  # type: ignore[attr-defined]
    return BoundsBuyer(make_survey(X), budget or Budget(1, 1e-9), n, SeededSource(3))


def labelled(unit: float, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(N, 4))
    y = (Z @ [1.0, -1.0, 0.5, 0.0] + 0.3 * rng.normal(size=N) > 0).astype(int)
    return Z * unit, y


@pytest.mark.parametrize("unit", [1e-12, 1e-6, 1.0, 1e6, 1e12])
def test_every_magnitude_gives_as_good_a_model(unit: float) -> None:
    X, y = labelled(unit)
    assert LogisticRegression(random_state=0).fit(X, y).score(X, y) > 0.88


def test_columns_of_very_different_magnitudes() -> None:
    X, y = labelled(1.0)
    X = X * [1e-9, 1e9, 1.0, 1e3]
    assert LogisticRegression(random_state=0).fit(X, y).score(X, y) > 0.88


def test_columns_far_from_zero() -> None:
    X, y = labelled(1.0)
    X += np.array([100.0, -50.0, 0.0, 20.0])
    assert LogisticRegression(random_state=0).fit(X, y).score(X, y) > 0.86


def test_heavy_tails_don_t_set_the_scale() -> None:
    X, y = labelled(1.0)
    X[np.random.default_rng(1).random(X.shape) < 0.001] = 1e11
    model = LogisticRegression(random_state=0).fit(X, y)
    assert model.score(X, y) > 0.88
    assert np.all(model.bounds_.high < 100)


def test_constant_and_binary_columns() -> None:
    X, y = labelled(1.0)
    X = np.column_stack([X, np.zeros(N), np.full(N, 7.0), (X[:, 0] > 0).astype(float), np.arange(N) % 100 == 0])
    model = LogisticRegression(random_state=0).fit(X, y)
    assert model.score(X, y) > 0.88
    assert np.isfinite(model.coef_).all()


def test_sparse_rows_keep_their_zeros() -> None:
    rng = np.random.default_rng(0)
    dense = rng.random((N, 30)) * (rng.random((N, 30)) < 0.2)
    y = (dense[:, 0] + dense[:, 1] > dense[:, 2] + dense[:, 3]).astype(int)
    model = LogisticRegression(random_state=0).fit(sp.csr_array(dense), y)
    assert not model.bounds_.centred
    assert model.score(sp.csr_array(dense), y) > model.score(sp.csr_array(dense), 1 - y)


def test_targets_of_every_magnitude() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (N, 3))
    for unit in (1e-12, 1.0, 1e12):
        y = unit * (X @ [1.0, -0.5, 0.2] + 3)
        assert LinearRegression(random_state=0).fit(X, y).score(X, y) > 0.9, unit


def test_few_entries_per_row_are_cheaper_to_count() -> None:
    one_hot = np.eye(100)[np.random.default_rng(0).integers(100, size=N)]
    full = np.random.default_rng(0).normal(size=(N, 100))
    few, many = buyer(one_hot), buyer(full)
    few.features(RowBounds(l2=1.0)), many.features(RowBounds(l2=1.0))
    assert repr(few.event) == repr(many.event)  # what is spent doesn't depend on rows
    assert few._cap(Places(few.survey, MAGNITUDES), 100) <= 2
    assert many._cap(Places(many.survey, MAGNITUDES), 100) == 100


def test_wide_public_bounds_are_narrowed_where_rows_are_few() -> None:
    X, y = labelled(1.0)
    wide = (np.full(4, -1000.0), np.full(4, 1000.0))
    model = LogisticRegression(epsilon=0.3, bounds=wide, delta=1e-9, random_state=0).fit(X, y)
    assert np.all(model.bounds_.high - model.bounds_.low <= 2000 / 8)
    assert "where rows lie within the bounds: paid" in str(model.privacy_)


def test_narrowed_bounds_stay_within_those_given() -> None:
    X = np.random.default_rng(0).exponential(size=(N, 5)) * 10
    given = RowBounds(low=np.zeros(5), high=np.full(5, 50.0))
    found = buyer(X).within(given)
    assert np.all(found.low >= 0) and np.all(found.high <= 50) and np.all(found.low < found.high)
    assert np.all(found.high >= np.quantile(X, 0.8, axis=0))  # most rows are where they were


def test_ample_rows_and_pure_budgets_keep_public_bounds() -> None:
    X = np.random.default_rng(0).normal(size=(N, 2))
    assert not buyer(X).narrow  # rows times mu are more than six hundred per column
    assert buyer(X, Budget(0.1, 1e-9)).narrow
    assert not buyer(X, Budget(0.1)).narrow
    assert not buyer(sp.csr_array(X), Budget(0.1, 1e-9)).narrow


@pytest.mark.parametrize("relation", ["zero_out", "replace_one", "add_remove"])
def test_what_is_bought_is_within_its_share(relation: str) -> None:
    X, y = labelled(1.0)
    budget = Budget(1, 1e-9, neighbors=relation)
    bought = buyer(X, budget)
    bought.norms(bought.features(RowBounds(l2=1.0)), 0.5)
    assert epsilon(bought.event, 1e-9) < 0.35  # 8 % of mu squared
    model = LogisticRegression(neighbors=relation, delta=1e-9).fit(X, y)
    assert model.privacy_.epsilon <= 1.0


def test_tiny_tables_and_budgets_fit() -> None:
    for n in (1, 2, 5, 50):
        for eps in (1e-3, 1.0):
            X, y = np.arange(2.0 * n).reshape(n, 2), np.arange(n) % 2
            model = LogisticRegression(epsilon=eps, classes=[0, 1], random_state=0).fit(X, y)
            assert np.isfinite(model.coef_).all()
