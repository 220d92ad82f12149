"""Hard thresholding by gradient noise: the classical algorithm without noise, exact prices, refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet import accounting
from discreet.accounting import published
from discreet.accounting.events import leaves
from discreet.losses import SoftmaxLoss
from discreet.penalties import L1Ball, Sparsity
from discreet.privacy import Budget, PrivacyError
from discreet.solvers import HeavyTailedPeeling, IterativeHardThresholding, PeelingDescent
from discreet.solvers.base import Refusal
from tests.solvers.sparse_problems import objective, regression, solved, sparse_table, storages

X, Y = sparse_table()
N, P = X.shape
SUPPORT = [0, 3, 7]


def least_squares(table, y):
    w = np.zeros(table.shape[1])
    w[SUPPORT] = np.linalg.lstsq(table[:, SUPPORT], y, rcond=None)[0]
    return w


@pytest.mark.parametrize("solver", [IterativeHardThresholding, PeelingDescent])
@pytest.mark.parametrize(("options", "steps"), [({"step_size": 0.8}, 40), ({}, 120)])
def test_without_noise_it_reaches_least_squares_on_the_support(solver, options, steps):
    w = solved(solver(steps=steps, **options), regression(Sparsity(3), N, P), X, Y, seed=None)
    assert sorted(np.flatnonzero(w)) == SUPPORT
    best = objective(X, Y, least_squares(X, Y))
    assert objective(X, Y, w) == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("solver", [IterativeHardThresholding, PeelingDescent])
def test_the_intercept_is_fitted_and_never_thresholded(solver):
    problem = regression(Sparsity(3), N, P, intercept=3.0)
    shifted = np.clip(Y + 0.0625, -1, 1)
    w = solved(solver(steps=80, step_size=0.5), problem, X, shifted, seed=None)
    assert np.count_nonzero(w[:P]) == 3
    design = np.hstack([X[:, SUPPORT], np.ones((N, 1))])
    best = np.linalg.lstsq(design, shifted, rcond=None)[0]
    assert w[-1] * float(problem.grid.constant * problem.grid.unit) == pytest.approx(best[-1], abs=1e-4)
    assert w[SUPPORT] == pytest.approx(best[:-1], abs=1e-4)


def test_the_radius_is_kept():
    problem = regression(Sparsity(3, radius=0.25), N, P)
    w = solved(IterativeHardThresholding(steps=30, step_size=0.8), problem, X, Y, seed=1)
    assert np.linalg.norm(w) <= 0.25 + 1e-12 and np.count_nonzero(w) <= 3


@pytest.mark.parametrize("solver", [IterativeHardThresholding(steps=6), PeelingDescent(steps=6)])
@pytest.mark.parametrize("intercept", [0.0, 3.0])
def test_seeds_repeat_bit_for_bit_on_every_storage(solver, intercept):
    problem = regression(Sparsity(3), N, P, intercept=intercept)
    found = [solved(solver, problem, *table, seed=3) for table in storages(X, Y)]
    assert all(np.array_equal(found[0], other) for other in found[1:])
    assert not np.array_equal(found[0], solved(solver, problem, X, Y, seed=4))


def test_the_price_is_one_gaussian_whatever_the_number_of_steps():
    for steps in (1, 25, 400):
        plan = IterativeHardThresholding(steps=steps).plan(regression(Sparsity(3), N, P))
        ((leaf, times),) = leaves(plan.event)
        assert times == steps
        assert leaf.noise_multiplier == pytest.approx(np.sqrt(steps) / accounting.gdp.mu_for(1, 1e-6), rel=1e-6)
        assert accounting.epsilon(plan.event, 1e-6) <= 1.0


@pytest.mark.parametrize(("target", "least"), [(0.1, 3.8), (0.5, 4.7), (1.0, 5.2), (4.0, 6.6)])
def test_theorem_16_4_needs_its_constant(target, least):
    problem = regression(Sparsity(3), N, P, Budget(target, 1e-6, neighbors="replace_one"))
    for constant in (32.0, least + 0.1):
        solver = IterativeHardThresholding(steps=50, accounting="as_published", constant=constant)
        assert accounting.epsilon(solver.plan(problem).event, 1e-6) <= target
    for constant in (1.0, least - 0.1):
        with pytest.raises(PrivacyError, match="published noise"):
            IterativeHardThresholding(steps=50, accounting="as_published", constant=constant).plan(problem)


@pytest.mark.parametrize("target", [0.1, 0.5, 1.0, 4.0])
def test_printed_noise_is_more_than_twice_what_is_needed(target):
    problem = regression(Sparsity(3), N, P, Budget(target, 1e-6, neighbors="replace_one"))
    tight, printed = (
        IterativeHardThresholding(steps=50, accounting=a).plan(problem).mechanisms["gradient"].noise_multiplier
        for a in ("tight", "as_published")
    )
    assert 2.15 < printed / tight < 2.95


@pytest.mark.parametrize("solver", [IterativeHardThresholding(), PeelingDescent(), HeavyTailedPeeling()])
def test_what_does_not_go_together_is_refused_before_any_row(solver):
    good = regression(Sparsity(3, radius=1.0), N, P)
    for change, reason in (
        ({"penalty": None}, "needs a set"),
        ({"penalty": L1Ball(1.0)}, "Sparsity"),
        ({"penalty": Sparsity(P + 1, radius=1.0)}, "lower the sparsity"),
        ({"loss": SoftmaxLoss(3)}, "one output"),
        ({"budget": Budget(1.0)}, "never pure"),
    ):
        with pytest.raises(Refusal, match=reason):
            solver.plan(replace(good, **change))


def test_printed_formulas_refuse_pure_budgets():
    for formula in (
        lambda b: published.lasso_selection(b, 10),
        lambda b: published.lecture_selection(b, 10),
        lambda b: published.hard_thresholding_noise(b, 10, 32.0),
        published.lecture_peeling,
        lambda b: published.cai_peeling(b, 10),
    ):
        with pytest.raises(ValueError, match="delta = 0"):
            formula(Budget(1.0))
