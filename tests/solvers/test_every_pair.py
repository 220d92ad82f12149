"""Every solver with every convex loss and penalty: the minimum without noise, or a refusal before the data."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import sklearn
from packaging.version import parse
from sklearn.linear_model import ElasticNet as SklearnElasticNet
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, PoissonRegressor, Ridge

from discreet import losses, penalties, solvers, theory
from discreet.penalties import Box, Polytope
from discreet.solvers.base import Refusal
from discreet.solvers.frank_wolfe import FrankWolfe
from discreet.solvers.gradient_descent import GradientDescent
from tests.solvers.convex_pairs import (
    AT_A_RATE,
    LOSSES,
    NOT_CONVEX,
    OF_THEIR_OWN,
    PENALTIES,
    SOLVERS,
    N,
    Objective,
    P,
    Whitened,
    fitted,
    pair,
    settings,
    table,
)

SAMPLE = {"objective_perturbation", "output_perturbation", "newton", "sufficient_statistics", "frank_wolfe"}
ALLOWED = {  # how many of the 9 x 11 pairs each solver takes; a change is to be noticed
    "gradient_descent": 98,
    "adaptive_gradient_descent": 71,
    "coordinate_descent": 40,
    "greedy_coordinate_descent": 8,
    "sgd": 98,
    "svrg": 98,
    "frank_wolfe": 56,
    "objective_perturbation": 72,
    "output_perturbation": 72,
    "newton": 16,
    "sufficient_statistics": 11,
    "whitened_gradient_descent": 9,
    "whitened_objective_perturbation": 3,
}


@cache
def reference(loss: str, penalty: str, ridge: float) -> float:
    """The least objective."""
    return Objective(pair(loss, penalty), ridge).best()[1]


def gap(name: str, loss: str, penalty: str) -> float | None:
    """How far above the least objective the solver's weights are, as a part of it; None where it refuses the pair."""
    task = pair(loss, penalty)
    solver = settings(name, task)
    try:
        plan = solver.plan(task)
    except Refusal as reason:
        assert len(str(reason)) > 30
        return None
    w = np.asarray(fitted(task, solver, plan)).reshape(task.shape)
    if name == "whitened_objective_perturbation":
        whitened = Whitened(task, solver, plan)
        return whitened(w) / whitened.best()[1] - 1
    ridge = float(plan.schedule["ridge"]) if name.endswith("_perturbation") else 0.0
    if penalty == "l2":
        ridge = max(ridge - PENALTIES["l2"].a, 0.0)  # which the schedule's ridge includes
    best = reference(loss, penalty, ridge)
    return Objective(task, ridge)(w) / best - 1


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", [n if n in SAMPLE else pytest.param(n, marks=pytest.mark.slow) for n in SOLVERS])
def test_what_is_allowed_reaches_the_minimum(name: str, loss: str) -> None:
    """Within 1e-6 of the objective on rows that lie on the grid; Frank-Wolfe within its bound."""
    for penalty in PENALTIES:
        found = gap(name, loss, penalty)
        if found is None:
            continue
        task = pair(loss, penalty)
        above = 1e-6
        if name in AT_A_RATE:
            reach = task.penalty.diameter("l1", P)  # entries are at most 1: the largest distance of two margins
            above = theory.frank_wolfe_bound(N * task.loss.smoothness * reach**2, 200) / reference(loss, penalty, 0.0)
        assert -1e-9 <= found <= above, f"{name}, {loss}, {penalty}: {found:.1e}"


def test_no_solver_loss_or_penalty_is_left_out() -> None:
    assert set(SOLVERS) | NOT_CONVEX | OF_THEIR_OWN == set(solvers.names())
    assert {type(loss).__name__ for loss in LOSSES.values()} >= {n for n in losses.__all__ if n.endswith("Loss")} - {
        "Loss"
    }
    named = {type(p).__name__ for p in PENALTIES.values() if p is not None}
    assert named | {"Sparsity"} >= {n for n in penalties.__all__ if n[0].isupper()} - {"Penalty", "ConstraintSet"}


def count(name: str) -> int:
    allowed = 0
    for loss in LOSSES:
        for penalty in PENALTIES:
            try:
                SOLVERS[name].check(pair(loss, penalty))
            except Refusal:
                continue
            allowed += 1
    return allowed


@pytest.mark.parametrize("name", SOLVERS)
def test_pairs_are_not_refused_for_convenience(name: str) -> None:
    assert count(name) == ALLOWED[name]


def classical() -> list[tuple[str, str, Any]]:
    """Pairs that scikit-learn solves, with its weights."""
    (X, y), (_, labels), (_, counts) = (table(t) for t in ("real", "binary", "count"))
    plain = {"fit_intercept": False, "tol": 1e-12}
    logistic = {"fit_intercept": False, "tol": 1e-11, "max_iter": 10_000}
    by_price: dict[str, Any] = {"solver": "saga"}
    if parse(sklearn.__version__) < parse("1.8"):  # where the ratio alone is not enough
        by_price["penalty"] = "elasticnet"
    return [
        ("squared", "none", LinearRegression(fit_intercept=False).fit(X, y)),
        ("squared", "l2", Ridge(alpha=20.0, fit_intercept=False).fit(X, y)),
        ("squared", "l1", Lasso(alpha=12.0 / N, **plain).fit(X, y)),
        ("squared", "elastic_net", SklearnElasticNet(alpha=20.0 / N, l1_ratio=0.5, **plain).fit(X, y)),
        ("logistic", "l2", LogisticRegression(C=1 / 20.0, **logistic).fit(X, labels)),
        (
            "logistic",
            "l1",
            LogisticRegression(C=1 / 12.0, l1_ratio=1.0, **by_price, **logistic).fit(X, labels),
        ),
        ("poisson", "none", PoissonRegressor(alpha=0.0, fit_intercept=False, tol=1e-10).fit(X, counts)),
    ]


def test_the_reference_is_scikit_learns() -> None:
    for loss, penalty, model in classical():
        objective = Objective(pair(loss, penalty))
        theirs = objective(model.coef_.ravel())
        assert abs(theirs / reference(loss, penalty, 0.0) - 1) <= 1e-6, (loss, penalty)


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_sets_of_other_coordinates_are_refused_before_the_data(loss: str) -> None:
    size = P * (3 if loss == "softmax" else 1)
    for wrong in (Polytope(np.eye(size + 1)), Box(np.zeros(size + 1), np.ones(size + 1))):
        for solver in (GradientDescent(steps=3), FrankWolfe(steps=3)):
            if loss == "softmax" and isinstance(solver, FrankWolfe):
                continue
            task = pair(loss, "none")
            task = type(task)(task.loss, task.bounds, P, N, task.budget, penalty=wrong)
            with pytest.raises(Refusal, match=f"no set of {size} weights"):
                solver.plan(task)
