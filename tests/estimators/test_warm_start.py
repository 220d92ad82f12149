"""Going on from an earlier fit: where it starts, what it costs, and who refuses; weights above 1 under a public cap."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import discreet
from discreet import LinearRegression, LogisticRegression, PoissonRegressor, solvers
from discreet.curator import RowBounds, make_curator
from discreet.estimators.base import FittedEvent
from discreet.losses import LogisticLoss, PoissonLoss, SquaredLoss
from discreet.privacy import Budget, PrivacyError
from discreet.solvers import GradientDescent
from discreet.solvers.base import Problem, Refusal
from discreet.testing import without_privacy

SPARSE = discreet.Sparsity(2, 1.0)


def rows(n=2000, p=3, seed=0):
    X = np.random.default_rng(seed).uniform(-1, 3, (n, p))
    return X, (X @ np.array([1.0, -2.0, 0.5]) + 0.5 > np.random.default_rng(1).logistic(size=n)).astype(int)


def model(**more):
    parameters = {"bounds": (-1, 3), "delta": 1e-6, "warm_start": True, **more}
    return LogisticRegression(**{"solver": GradientDescent(steps=20, average="last", momentum=0.0), **parameters})


def test_two_halves_make_a_whole():
    X, y = rows()
    with without_privacy():
        halves = model().fit(X, y).fit(X, y)
        whole = model(solver=GradientDescent(steps=40, average="last", momentum=0.0)).fit(X, y)
        cold = model(warm_start=False).fit(X, y).fit(X, y)
    assert np.allclose(halves.coef_, whole.coef_, atol=1e-9)
    assert np.allclose(halves.intercept_, whole.intercept_, atol=1e-9)
    assert not np.allclose(cold.coef_, whole.coef_, atol=1e-3)


@pytest.mark.parametrize("neighbors", ["zero_out", "replace_one", "add_remove"])
def test_the_price_of_both_is_stated(neighbors):
    X, y = rows()
    once = model(neighbors=neighbors, bounds=(-1, 3) if neighbors != "zero_out" else RowBounds(l2=5.0)).fit(X, y)
    first = once.privacy_
    once.fit(X, y)
    both = once.privacy_
    assert both.budget == first.budget + first.budget
    assert first.epsilon < both.epsilon <= 2 * first.budget.epsilon
    assert both.delta == pytest.approx(2e-6)
    assert any(look.thing == "starting weights" for look in both.looks)
    assert once.dp_event_ == FittedEvent(both.event)
    if neighbors == "zero_out":  # all bounds public: events fixed before any look, which compose
        assert both.epsilon < 1.5 * first.epsilon
    if neighbors == "add_remove":  # plans that depend on bought numbers: promises add up
        assert both.epsilon == pytest.approx(2.0)


def test_a_fit_after_a_seeded_one_promises_nothing():
    X, y = rows()
    twice = model(random_state=0).fit(X, y)
    twice.random_state = None
    assert math.isinf(twice.fit(X, y).privacy_.epsilon)


def test_what_cannot_be_continued_is_refused(tmp_path):
    X, y = rows()
    fitted = model().fit(X, y)
    with pytest.raises(ValueError, match="features and classes"):
        fitted.fit(X[:, :2], y)
    with pytest.raises(ValueError, match="features and classes"):
        fitted.fit(X, y + 1)
    with pytest.raises(PrivacyError, match="keep the relation"):
        fitted.set_params(neighbors="replace_one").fit(X, y)
    for solver in ("auto", "objective_perturbation", "output_perturbation"):
        with pytest.raises(Refusal, match="warm_start"):
            model(solver=solver).fit(X, y)
    fitted.set_params(neighbors="zero_out").save(tmp_path / "m.json")
    loaded = discreet.load(tmp_path / "m.json")
    with pytest.raises(PrivacyError, match="keeps the text"):
        loaded.set_params(warm_start=True, solver="gradient_descent").fit(X, y)


@pytest.mark.parametrize("name", solvers.names())
def test_who_resumes_depends_on_the_start(name):
    """A solver says that it resumes exactly if other initial weights lead elsewhere."""
    rng = np.random.default_rng(2)
    X, start = rng.choice([-1.0, 1.0], (64, 3)) / 2, np.array([0.5, 0.0, 0.0])
    solver = solvers.by_name(name)()
    short = {"steps": 3} if hasattr(solver, "steps") else {}
    squared = SquaredLoss()
    for loss, penalty in (
        (LogisticLoss(), None), (squared, discreet.L1Ball(1.0)), (squared, SPARSE), (squared, None),
        (PoissonLoss(), None),
    ):  # fmt: skip
        limits, constant = {"real": ((-1, 1), 0.0), "count": ((0, 1), 0.5)}.get(loss.targets, (None, 0.0))
        bounds = RowBounds(linf=0.5, y=limits, intercept=constant)
        plain = Problem(loss, bounds, 3, 64, Budget(1, 1e-6), penalty=penalty, slope=2.0)
        try:
            plan = replace(solver, **short).plan(plain)
        except Refusal:
            continue
        found = []
        for problem in (plain, replace(plain, initial=np.resize(start, plain.n_weights))):
            with without_privacy():
                curator = make_curator(X, np.sign(X[:, 1]), bounds=bounds)
                found.append(replace(solver, **short).solve(problem, plan, curator))
        assert solver.resumes == (not np.allclose(*found, atol=1e-9))
        return
    raise AssertionError("no setting suits this solver: add one")


def test_units_are_those_of_the_new_fit():
    X, y = rows()
    target = 7 + X @ [1.0, -2.0, 0.5]
    for kind, t, limits in ((LinearRegression, target, (0, 20)), (PoissonRegressor, y, (0, 4))):
        with without_privacy():
            solver = GradientDescent(steps=30, average="last")
            first = kind(bounds=(-1, 3), bounds_y=limits, solver=solver, warm_start=True).fit(X, t)
            before = first.coef_.copy(), first.intercept_
            still = GradientDescent(steps=1, step_size=1e-9, average="last", momentum=0.0)
            first.set_params(solver=still, bounds=(-2, 4), bounds_y=(limits[0], limits[1] + 3)).fit(X, t)
        assert np.allclose(first.coef_, before[0], atol=1e-6)
        assert first.intercept_ == pytest.approx(before[1], abs=1e-6)


def test_start_goes_into_the_set():
    problem = Problem(LogisticLoss(), RowBounds(l2=1.0), 2, 9, Budget(1, 1e-6), penalty=discreet.L2Ball(1.0),
                      initial=np.array([3.0, 4.0]))  # fmt: skip
    assert np.allclose(problem.start(), [0.6, 0.8])


def test_weights_count_up_to_the_public_cap():
    X, y = rows()
    w = np.where(y > 0, 5.0, 1.0)
    solver = GradientDescent(steps=100, average="last")
    fits = []
    with without_privacy():
        for cap, weight in ((1.0, w), (4.0, w), (4.0, np.minimum(w, 4.0)), (8.0, w)):
            bounds = RowBounds(low=-1, high=3, weight=cap)
            fits.append(LogisticRegression(bounds=bounds, solver=solver).fit(X, y, sample_weight=weight).intercept_[0])
    assert fits[0] < fits[1] == fits[2] < fits[3]
    plain, heavy = (
        LogisticRegression(bounds=RowBounds(l2=2, weight=cap), solver="objective_perturbation").fit(X, y)
        for cap in (1.0, 4.0)
    )
    assert plain.privacy_.epsilon == pytest.approx(heavy.privacy_.epsilon, rel=0.02)
