"""Scalers that are paid for: what they find, what they hand on, what they cost, and scikit-learn's own checks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from discreet import LogisticRegression
from discreet.preprocessing import PrivateMinMaxScaler, PrivateStandardScaler
from discreet.privacy import Neighbours

RELATIONS = [n.value for n in Neighbours]


def rows(n=20_000, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.normal(50, 10, n), rng.exponential(1e4, n), rng.integers(0, 2, n)])


@parametrize_with_checks([PrivateMinMaxScaler(), PrivateStandardScaler(), PrivateStandardScaler(bounds=(-5, 5))])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("delta", [0.0, "auto"])
def test_ranges_hold_nearly_all_and_are_reusable(relation, delta):
    X = rows()
    scaler = PrivateMinMaxScaler(epsilon=2.0, delta=delta, neighbors=relation).fit(X)
    inside = scaler.transform(X)
    assert inside.min() >= 0 and inside.max() <= 1
    assert ((scaler.data_min_ <= X) & (scaler.data_max_ >= X)).mean() > 0.97
    assert (scaler.data_max_ - scaler.data_min_ < [400, 1e6, 10]).all()
    told = scaler.privacy_
    assert told.epsilon == 2.0 and told.epsilon_at(max(told.delta, 1e-9)) <= 2.0 + 1e-6
    model = LogisticRegression(bounds=scaler.bounds_).fit(inside, X[:, 0] > 50)
    assert model.score(inside, X[:, 0] > 50) > 0.85


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("bounds", ["private", ([0.0, 0.0, 0.0], [100.0, 1e5, 1.0])], ids=["private", "given"])
@pytest.mark.parametrize("delta", [0.0, "auto"])
def test_means_and_deviations(bounds, relation, delta):
    X = rows(40_000)
    scaler = PrivateStandardScaler(epsilon=4.0, delta=delta, neighbors=relation, bounds=bounds).fit(X)
    out = scaler.transform(X)
    assert np.abs(out.mean(axis=0)).max() < 0.3 and np.abs(out.std(axis=0) - 1).max() < 0.4
    low, high = scaler.bounds_
    assert (out >= low - 1e-9).all() and (out <= high + 1e-9).all()
    told = scaler.privacy_
    assert told.epsilon_at(max(told.delta, 1e-9)) <= 4.0 + 1e-6
    assert ("paid" if bounds == "private" else "given") in told.notes[0]


def test_persons_and_seeds():
    X = rows(3000)
    groups = np.repeat(np.arange(1000), 3)
    assert PrivateMinMaxScaler().fit(X, groups=groups).data_min_.shape == (3,)
    assert math.isinf(PrivateStandardScaler(random_state=0).fit(X).privacy_.epsilon)
    with pytest.raises(ValueError, match="must be 'private'"):
        PrivateStandardScaler(bounds="public").fit(X)
    with pytest.raises(ValueError, match=r"preprocessing\.Schema"):
        PrivateMinMaxScaler().fit([[math.nan]])
