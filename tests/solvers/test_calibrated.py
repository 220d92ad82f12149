"""Calibrated probabilities: what the second minimum is, what it costs, what it puts right, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression as Reference

from discreet import accounting
from discreet.audit.run import audit_solver
from discreet.curator import RowBounds, make_curator
from discreet.curator.minimise import Minimiser
from discreet.estimators import auto
from discreet.linear_model import LogisticRegression
from discreet.losses import LogisticLoss, SmoothedHingeLoss, SquaredLoss
from discreet.mechanisms import Gaussian
from discreet.privacy import Budget
from discreet.randomness import SeededSource
from discreet.solvers import Calibrated, ClassMeans, ObjectivePerturbation, WhitenedObjectivePerturbation
from discreet.solvers.base import Problem, Refusal
from discreet.testing import without_privacy

BOUNDS = RowBounds(l2=1.0, intercept=0.1)


def problem(n: int = 20_000, p: int = 5, budget: Budget | None = None, **more: Any) -> Problem:
    return Problem(LogisticLoss(), more.pop("bounds", BOUNDS), p, n, budget or Budget(1, 1e-6), **more)


def rows(n: int, p: int, seed: int = 0, steep: float = 6.0, level: float = 0.5) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    chance = 1 / (1 + np.exp(-(steep * X[:, 0] + level)))
    return X, np.where(rng.random(n) < chance, 1.0, -1.0)


@pytest.mark.parametrize("constant", [0.0, 0.1])
def test_without_noise_it_is_the_minimum_over_slope_and_offset(constant: float) -> None:
    bounds = RowBounds(l2=1.0, intercept=constant)
    inner = ObjectivePerturbation(ridge=2000.0)  # far too much of it
    case, solver = problem(bounds=bounds), Calibrated(inner)
    X, y = rows(20_000, 5)
    curator = make_curator(X, y, bounds=bounds)
    with without_privacy():
        found = solver.solve(case, solver.plan(case), curator, SeededSource(0))
        first = inner.solve(case, inner.plan(case), curator, SeededSource(0))
    facts = solver.plan(case).schedule["second"]
    Z = np.hstack([X, np.full((len(X), 1), constant)])[:, : case.n_weights]
    cut = facts["bounds"].linf
    beside = [] if constant == 0 else [np.full(len(X), facts["bounds"].intercept)]
    M = np.column_stack([np.clip(Z @ first, -cut, cut), *beside])
    usual, ridge = np.eye(1, M.shape[1])[0], facts["ridge"]
    exact = minimize(
        lambda t: np.logaddexp(0, -y * (M @ t)).sum() + (ridge * (t - usual) ** 2).sum() / 2, usual, tol=1e-12
    ).x
    expected = exact[0] * first
    if constant:
        expected[-1] += exact[1] * facts["bounds"].intercept / constant
    assert exact[0] > 1.3
    np.testing.assert_allclose(found, expected, rtol=5e-3, atol=5e-3)


def test_a_centre_is_where_the_quadratic_is_least() -> None:
    X, y = rows(300, 3)
    curator = make_curator(X, y, bounds=RowBounds(l2=1.0))
    centre, ridge = np.array([1.0, -2.0, 0.5]), np.array([3.0, 5.0, 9.0])
    with without_privacy():
        sealed: Any = curator.minimise(LogisticLoss(), ridge, tau=1e-6, centre=centre)
        found = np.asarray(Gaussian(1e-9).release(sealed))
    exact = minimize(
        lambda t: np.logaddexp(0, -y * (X @ t)).sum() + (ridge * (t - centre) ** 2).sum() / 2, centre, tol=1e-12
    ).x
    np.testing.assert_allclose(found, exact, atol=1e-4)


@pytest.mark.parametrize("relation", ["zero_out", "replace_one", "add_remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("inner", [ObjectivePerturbation(), WhitenedObjectivePerturbation()])
def test_the_whole_keeps_to_the_budget(inner: Any, delta: float, relation: str) -> None:
    if delta == 0 and not inner.pure:
        return
    for epsilon in (1.0,) if relation == "replace_one" else (0.1, 4.0):  # two mixtures take seconds to price there
        budget = Budget(epsilon, delta, neighbors=relation)
        spent = Gaussian(30 / epsilon).event if delta else None
        case = problem(budget=budget, **({"spent": spent} if spent else {}))
        plan = Calibrated(inner).plan(case)
        assert accounting.epsilon(plan.event, delta) <= epsilon
        alone = inner.plan(case).mechanisms["tilt"]
        assert 1 < plan.mechanisms["tilt"].size / alone.size < 1.06  # type: ignore[attr-defined]


def test_it_puts_slopes_right_and_leaves_the_order() -> None:
    X, y = rows(30_000, 8, seed=1)
    inner = ObjectivePerturbation(ridge=400.0)
    wrong, right = (
        LogisticRegression(epsilon=1, delta=1e-9, bounds="unit", solver=s, random_state=0).fit(X, y)
        for s in (inner, Calibrated(inner))
    )
    T, s = rows(20_000, 8, seed=2)
    slopes = [Reference(C=1e6).fit(m.decision_function(T)[:, None], s).coef_[0, 0] for m in (wrong, right)]
    assert slopes[0] > 1.5
    assert 0.9 < slopes[1] < 1.15
    cosine = wrong.coef_ @ right.coef_.T / np.linalg.norm(wrong.coef_) / np.linalg.norm(right.coef_)
    assert cosine > 0.999
    assert right.privacy_.solver == "objective_perturbation, calibrated"


def test_where_it_is_bought() -> None:
    assert auto.decide(problem(n=60_000), False).title == "whitened_objective_perturbation, calibrated"  # type: ignore[union-attr]
    few = problem(n=1500, p=12, budget=Budget(0.5))
    assert auto.decide(few, False).title == "objective_perturbation"  # type: ignore[union-attr]
    assert Calibrated().worth(few) < 47 < Calibrated().worth(problem())
    assert isinstance(auto.right(ClassMeans(), problem()), ClassMeans)
    hinge = replace(problem(n=60_000), loss=SmoothedHingeLoss())
    assert auto.decide(hinge, False).title == "whitened_objective_perturbation"  # type: ignore[union-attr]
    share = [Calibrated().plan(problem(n=n)).schedule["second"]["share"] for n in (5000, 12_000, 10**6)]
    assert share[0] == 0.02 and 0.005 < share[1] < 0.02 and share[2] == 0.005


def test_inference_is_about_the_inner_solver() -> None:
    X, y = rows(20_000, 3)
    model = LogisticRegression(epsilon=2, delta=1e-6, bounds="unit", inference=True, random_state=0).fit(X, y)
    assert "calibrated" not in model.privacy_.solver
    assert np.isfinite(model.conf_int()).all()


def test_refusals() -> None:
    with pytest.raises(Refusal, match="log odds"):
        Calibrated().plan(replace(problem(bounds=RowBounds(l2=1.0, y=(-1, 1))), loss=SquaredLoss()))
    with pytest.raises(Refusal, match="calibrated once"):
        Calibrated(Calibrated()).plan(problem())
    with pytest.raises(Refusal, match="delta"):
        Calibrated(WhitenedObjectivePerturbation()).plan(problem(budget=Budget(1)))
    with pytest.raises(ValueError, match="share"):
        Calibrated(share=1.0)


def test_slope_and_offset_without_noise_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken twin: two numbers fitted to the rows without a perturbation, since they are only two."""
    n, budget = 40, Budget(1.0, 1e-4)
    case = Problem(LogisticLoss(), RowBounds(l2=1.0, intercept=1.0), 2, n, budget)
    solver = Calibrated(ObjectivePerturbation(ridge=30.0))
    plan = solver.plan(case)
    X, y = np.zeros((n, 2)), np.where(np.arange(n) % 2, 1.0, -1.0)
    X[0] = [1.0, 0.0]
    blank = np.ones(n)
    blank[0] = 0.0
    sides = [make_curator(X, y, bounds=case.bounds, sample_weight=w) for w in (np.ones(n), blank)]

    def caught() -> bool:
        source = SeededSource(5)
        runs = [lambda i, s=s: solver.solve(case, plan, sides[s], source.child(s, i)) for s in (0, 1)]  # type: ignore[misc]
        return bool(audit_solver(runs[0], runs[1], 1.0, 1e-4, 200).caught)

    assert not caught()
    whole = Minimiser.minimise

    def free(self: Any, loss: Any, penalty: Any, linear_term: Any = None, tau: Any = None, **more: Any) -> Any:
        if more.get("centre") is None:
            return whole(self, loss, penalty, linear_term, tau, **more)
        return whole(self, loss, 1e-3, None, None, n_rows=more["n_rows"], centre=more["centre"])

    quiet = dict(plan.mechanisms) | {"second": Gaussian(1e-6)}
    plan = replace(plan, mechanisms=quiet)
    monkeypatch.setattr(Minimiser, "minimise", free)
    assert caught()
