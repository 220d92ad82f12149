"""``discreet.audit(model)``: as a user calls it, on every estimator; the model itself stays as it was."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import discreet
from discreet import LinearRegression, LogisticRegression, linear_model
from discreet.audit.models import _made_for, _width, harmless
from discreet.curator import RowBounds
from discreet.penalties import L1Ball
from discreet.privacy import Neighbours

RELATIONS = ["zero_out", "replace_one", "add_remove"]
QUICK = ["HuberRegressor", "LinearRegression", "LinearSVC", "LogisticRegression", "PoissonRegressor"]


def made(name, bounds, **options):
    cls = getattr(linear_model, name)
    if "bounds_y" in cls().get_params():
        options["bounds_y"] = "private" if bounds == "private" else (0.0, 1.0)
    return cls(bounds=bounds, random_state=0, **options)


@pytest.mark.parametrize("bounds", [(-1.0, 1.0), "private", "unit"], ids=str)
@pytest.mark.parametrize("name", QUICK)
def test_every_estimator_can_be_attacked_and_stays_as_it_was(name, bounds):
    model = made(name, bounds)
    before = repr(model.get_params())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = discreet.audit(model, runs=60, n_jobs=1)
    assert repr(model.get_params()) == before and not hasattr(model, "coef_")
    assert found.promised == 1.0 and not found.caught and found.runs == 60


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", sorted(linear_model.__all__))
def test_no_estimator_is_caught(name, relation):
    """Given bounds, the default solver; a sound model is caught with probability at most 5 %."""
    model = made(name, (-1.0, 1.0), neighbors=relation, delta=1e-4, epsilon=2.0)
    found = discreet.audit(model, runs=1200)
    assert not found.caught, found


def test_a_fitted_model_keeps_its_fit():
    rng = np.random.default_rng(0)
    model = LogisticRegression(bounds="unit", classes=["no", "yes"], random_state=1)
    model.fit(rng.normal(size=(40, 3)), np.array(["no", "yes"] * 20))
    coef = model.coef_.copy()
    assert _width(model, None) == 3
    discreet.audit(model, runs=60, n_jobs=1)
    assert (
        np.array_equal(model.coef_, coef) and model.classes == ["no", "yes"] and list(model.classes_) == ["no", "yes"]
    )


def test_copies_are_unseeded():
    """With its seed every run would be the same run, and two data sets would look perfectly different."""
    model = LogisticRegression(bounds="unit", random_state=7, class_weight={0: 2.0}, classes=[0, 1])
    copy = harmless(model)
    assert copy.random_state is None and copy.class_weight == {0.0: 2.0}
    assert not discreet.audit(model, runs=200, n_jobs=1).caught


@pytest.mark.parametrize(
    ("bounds", "p", "corner"),
    [
        ((-2.0, 3.0), 2, [3.0, 3.0]),
        ((np.zeros(3), np.array([1.0, 2.0, 3.0])), 3, [1.0, 2.0, 3.0]),
        ("private", 2, [1.0, 1.0]),
        (RowBounds(l2=2.0), 2, [2.0, 2.0]),
        (RowBounds(low=np.zeros(2), high=np.array([4.0, 5.0])), 2, [4.0, 5.0]),
    ],
    ids=repr,
)
def test_rows_are_made_at_the_corner_of_the_bounds(bounds, p, corner):
    model = LinearRegression(bounds=bounds, bounds_y=(-3.0, 9.0))
    assert _width(model, None) == p
    for pair in _made_for(harmless(model), p):
        X, y, _ = pair.first
        assert X[0].tolist() == corner and set(y) <= {-3.0, 9.0}


@pytest.mark.parametrize("relation", RELATIONS)
def test_pairs_suit_the_relation_of_the_model(relation):
    for pair in _made_for(LogisticRegression(neighbors=relation), 2):
        lengths = {len(side[1]) for side in pair}
        assert len(lengths) == (2 if Neighbours.of(relation) is Neighbours.ADD_REMOVE else 1)


def test_given_neighbours_and_a_promise_of_ones_own():
    """A model asked about a smaller epsilon than its own is caught: the alarm can ring."""
    X, y = np.ones((12, 2)), np.repeat([0, 1], 6)
    other = X.copy()
    other[0] = 0.0
    model = LogisticRegression(epsilon=40.0, delta=1e-3, bounds="unit", fit_intercept=False)
    found = discreet.audit(model, ((X, y), (other, y)), epsilon=0.1, runs=600, n_jobs=1)
    assert found.caught and "CAUGHT" in str(found) and found.promised == 0.1
    assert not discreet.audit(model, ((X, y), (other, y)), runs=600, n_jobs=1).caught


def test_a_constrained_model_with_another_solver():
    model = LinearRegression(
        penalty=L1Ball(1.0), solver="frank_wolfe", max_iter=2, bounds=(-1.0, 1.0), bounds_y=(0.0, 1.0)
    )
    assert not discreet.audit(model, runs=42, n_jobs=1).caught


def test_too_few_runs_are_refused():
    with pytest.raises(ValueError, match="too few"):
        discreet.audit(LogisticRegression(), runs=10)
