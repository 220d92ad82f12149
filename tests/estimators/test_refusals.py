"""What doesn't go together is refused by an estimator before a row is read: the table here raises when touched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet
from discreet import estimators, solvers
from discreet.penalties import L1, L2, L2Ball, Sparsity
from discreet.solvers.base import Refusal


class Poison:
    """A table whose shape is known and whose rows must not be read."""

    def __init__(self, *shape: int) -> None:
        self.shape = shape

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("a row was read")

    def __len__(self) -> int:
        raise AssertionError("the rows were counted by touching them")

    def __getitem__(self, _: Any) -> Any:
        raise AssertionError("a row was read")

    def __iter__(self) -> Any:
        raise AssertionError("a row was read")


X, Y = Poison(500, 4), Poison(500)
PENALTIES = [None, L1(0.1), L2(1.0), L2Ball(1.0), discreet.L1Ball(1.0), Sparsity(2)]
REFUSED = [  # estimator, solver, penalty, a word of the reason
    ("LogisticRegression", "sufficient_statistics", None, "squared loss"),
    ("LogisticRegression", "heavy_tailed_peeling", Sparsity(2, 1.0), "squared loss"),
    ("LogisticRegression", "frank_wolfe", None, "set of allowed weights"),
    ("LogisticRegression", "frank_wolfe", L1(0.1), "set of allowed weights"),
    ("LogisticRegression", "iterative_hard_thresholding", discreet.L1Ball(1.0), "Sparsity"),
    ("LogisticRegression", "iterative_hard_thresholding", Sparsity(9), "4 features"),
    ("LogisticRegression", "greedy_coordinate_descent", L2(1.0), "penalty term"),
    ("LogisticRegression", "coordinate_descent", discreet.L1Ball(1.0), "splits by coordinates"),
    ("LinearRegression", "objective_perturbation", None, "bounded slope"),
    ("LinearRegression", "whitened_objective_perturbation", None, "straight where it is steep"),
    ("PoissonRegressor", "sufficient_statistics", None, "squared loss"),
    ("QuantileRegressor", "newton", L1(0.1), "l2 penalty only"),
    ("HuberRegressor", "heavy_tailed_peeling", Sparsity(2, 1.0), "squared loss"),
    ("LinearSVC", "newton", L2Ball(1.0), "no set"),
]


@pytest.mark.parametrize(("name", "solver", "penalty", "reason"), REFUSED)
def test_the_reason_comes_before_the_data(name, solver, penalty, reason):
    with pytest.raises(Refusal, match=reason):
        getattr(estimators, name)(solver=solver, penalty=penalty).fit(X, Y)


def test_many_classes_are_refused_before_the_data_where_they_are_given():
    model = estimators.LogisticRegression(solver="newton", classes=["a", "b", "c"])
    with pytest.raises(Refusal, match="one output"):
        model.fit(X, Y)


FAST = ("LinearRegression", "LogisticRegression")


@pytest.mark.parametrize(
    "name", [n if n in FAST else pytest.param(n, marks=pytest.mark.slow) for n in estimators.__all__]
)
def test_an_estimator_refuses_all_that_its_solver_refuses(name):
    """Every pair of solver and penalty is either refused before the data, or goes on to read it."""
    refused = 0
    for solver in solvers.names():
        for penalty in PENALTIES:
            model = getattr(estimators, name)(solver=solver, penalty=penalty)
            with pytest.raises((Refusal, AssertionError)) as caught:
                model.fit(X, Y)
            if isinstance(caught.value, Refusal):
                refused += 1
                assert len(str(caught.value)) > 30
                continue
            rng = np.random.default_rng(0)
            table = rng.uniform(-1, 1, (500, 4))
            real = {} if hasattr(model, "classes") else {"bounds_y": (0, 1)}
            model.set_params(bounds=(-1, 1), epsilon=8.0, **real)
            if hasattr(solvers.by_name(solver)(), "steps"):
                model.set_params(max_iter=2)
            try:
                model.fit(table, (table[:, 0] > 0).astype(int))
            except Refusal as reason:
                assert "fit_intercept" in str(reason)  # the only thing that is neither loss, penalty nor solver
    assert 20 < refused < 90 * len(solvers.names()) / 21


@pytest.mark.parametrize("name", ["fit_intercept", "warm_start", "inference"])
@pytest.mark.parametrize("value", ["yes", None, 1])
def test_switches_are_true_or_false(name, value):
    with pytest.raises(TypeError, match=f"{name}={value!r} must be True or False"):
        estimators.LogisticRegression(**{name: value}).fit(X, Y)


@pytest.mark.parametrize("relation", ["zero_out", pytest.param("replace_one", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", estimators.__all__)
def test_enormous_budgets_fit(name, relation):
    """More than can be priced is not spent: a smaller epsilon keeps the promise of a larger one."""
    X = np.random.default_rng(0).uniform(-1, 1, (300, 2))
    y = np.round(np.exp(X[:, 0]))
    model = getattr(estimators, name)(epsilon=1e6, delta=1e-6, neighbors=relation, bounds=(-1, 1))
    model.fit(X, y > 1 if hasattr(model, "classes") else y)
    assert model.privacy_.epsilon <= 40
    assert np.isfinite(model.coef_).all()
