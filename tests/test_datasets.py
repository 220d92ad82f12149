"""Data sets and designs: public bounds are true, designs have the shape that they are named for."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import datasets
from discreet.datasets import (
    load_adult,
    load_breast_cancer,
    make_coordinate_regression,
    make_heavy_tailed_regression,
    make_sparse_classification,
    make_sparse_regression,
)

MAKERS = [
    lambda seed: make_coordinate_regression("lognormal", n_rows=300, n_features=20, seed=seed),
    lambda seed: make_coordinate_regression("balanced", n_rows=300, n_features=20, seed=seed),
    lambda seed: make_coordinate_regression("first_big", n_rows=300, n_features=20, seed=seed),
    lambda seed: make_sparse_regression(n_rows=300, n_features=40, rho=0.5, pattern="block", seed=seed),
    lambda seed: make_sparse_classification(n_rows=300, n_features=40, rho=-0.5, seed=seed),
    lambda seed: make_heavy_tailed_regression(n_rows=300, n_features=40, seed=seed),
]


@pytest.mark.parametrize("load", [load_adult, load_breast_cancer, *(lambda m=m: m(3) for m in MAKERS)])
def test_every_value_is_inside_its_public_bounds(load):
    data = load()
    low, high = data.bounds
    assert data.X.shape[1] == len(low) == len(high) == len(data.feature_names) == len(set(data.feature_names))
    assert data.X.shape[0] == len(data.y)
    assert np.all(low < high)
    assert np.all(low <= data.X) and np.all(high >= data.X)
    assert np.all(np.isfinite(data.X)) and np.all(np.isfinite(data.y))
    if data.target_names:
        assert set(np.unique(data.y)) == {0, 1}
        assert data.bounds_y is None
    else:
        assert data.bounds_y[0] <= data.y.min() and data.y.max() <= data.bounds_y[1]


@pytest.mark.parametrize("make", MAKERS)
def test_the_seed_decides(make):
    assert np.array_equal(make(5).X, make(5).X) and np.array_equal(make(5).y, make(5).y)
    assert not np.array_equal(make(5).X, make(6).X)


def test_adult_is_the_published_set():
    data = load_adult()
    assert data.X.shape == (48842, 107)
    assert data.y.sum() == 11687
    X_train, X_test, y_train, y_test = data.split()
    assert (len(y_train), len(y_test), y_train.sum(), y_test.sum()) == (32561, 16281, 7841, 3846)
    assert len(X_train) + len(X_test) == 48842
    first = {n for n, v in zip(data.feature_names, data.X[0], strict=True) if v}
    assert {"age", "workclass=State-gov", "education=Bachelors", "sex=Male"} <= first
    one_hot = np.array(["=" in n for n in data.feature_names])
    assert np.all(data.X[:, one_hot].sum(axis=1) == 8)  # one level of each of the eight text columns


def test_scaling_uses_the_public_bounds_only():
    data = load_adult()
    low, high = data.bounds
    part = datasets.Dataset(data.X[:10], data.y[:10], data.bounds, data.feature_names)
    assert np.array_equal(part.scaled(), data.scaled()[:10])
    assert np.array_equal(data.scaled(), (data.X - low) / (high - low))
    with pytest.raises(ValueError, match="without bounds"):
        make_heavy_tailed_regression(n_rows=5, n_features=10).scaled()
    with pytest.raises(ValueError, match="without a split"):
        load_breast_cancer().split()


def test_coordinate_designs_are_as_uneven_as_they_say():
    def smoothness(kind):
        return (make_coordinate_regression(kind, n_rows=2000, n_features=50).X ** 2).mean(axis=0)

    assert smoothness("balanced").max() / smoothness("balanced").min() < 1.5
    assert smoothness("lognormal").max() / smoothness("lognormal").min() > 100
    big = smoothness("first_big")
    assert big[0] > 5000 * big[1:].max()
    coef = make_coordinate_regression("first_big").coef
    assert np.allclose(abs(coef[0]) * 100, np.abs(coef[1:]))


def test_patterns_place_the_coefficients():
    # 20000 rows: a correlation is known to 0.007 (one sigma); the gaps tested are above 0.1
    def marginal(pattern):
        data = make_sparse_regression(n_rows=20000, n_features=30, n_informative=4, rho=0.9, pattern=pattern)
        assert (data.coef != 0).sum() == 4 and np.isclose(np.linalg.norm(data.coef), 1)
        return np.abs(data.X.T @ data.y / len(data.y)).max(), data

    (block, data), (cancel, _) = marginal("block"), marginal("cancel")
    assert block > 1.5 and cancel < 0.5
    assert abs(np.corrcoef(data.X[:, 0], data.X[:, 1])[0, 1] - 0.9) < 0.03
    assert abs(np.corrcoef(data.X[:, 0], data.X[:, 3])[0, 1] - 0.9**3) < 0.03


def test_the_target_follows_the_coefficients():
    data = make_sparse_regression(n_rows=2000, n_features=10, n_informative=3, noise=0.1)
    fitted = np.linalg.lstsq(data.X, data.y, rcond=None)[0]
    assert np.abs(fitted - data.coef).max() < 0.02  # sd is 0.1 / sqrt(2000) = 0.0022
    labels = make_sparse_classification(n_rows=5000, n_features=10, n_informative=3, signal=5)
    assert np.mean((labels.X @ labels.coef > 0) == labels.y) > 0.8


def test_heavy_tails_are_heavy():
    X = make_heavy_tailed_regression(n_rows=20000, n_features=5, n_informative=2, degrees_of_freedom=3).X
    assert X.max() > 10  # a normal one stays below 5 in 10^5 draws but once in 17
    assert 0.8 < X.std() < 1.3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_coordinate_regression("steep"), "kind='steep'"),
        (lambda: make_sparse_regression(rho=1.0), "rho=1.0"),
        (lambda: make_sparse_regression(n_features=3, n_informative=4), "n_informative=4"),
        (lambda: make_sparse_regression(pattern="star"), "pattern='star'"),
        (lambda: make_heavy_tailed_regression(degrees_of_freedom=2), "degrees_of_freedom=2"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
