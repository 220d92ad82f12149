"""Every solver of the registry, attacked on neighbours made to hurt it, at three budgets and under every relation.

The noise is seeded, so a test either always passes or always fails; were it not, a sound solver would be caught with
probability at most 5 % divided by the number of pairs in each test.
"""

from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np
import pytest

from discreet import solvers
from discreet.audit.neighbours import worst_pairs
from discreet.audit.run import audit_solver
from discreet.curator import RowBounds, make_curator
from discreet.losses import LogisticLoss, PoissonLoss, SquaredLoss
from discreet.penalties import L1Ball, Sparsity
from discreet.privacy import Budget
from discreet.randomness import SeededSource
from discreet.solvers.base import Problem, Refusal

DELTA = 1e-4
LOW, HIGH = -np.ones(2), np.ones(2)
SETTINGS = [
    (LogisticLoss(), None, None),
    (LogisticLoss(), L1Ball(1.0), None),
    (SquaredLoss(), None, 1.0),
    (SquaredLoss(), L1Ball(1.0), 1.0),
    (SquaredLoss(), Sparsity(1, 1.0), 1.0),
    (PoissonLoss(3.0), None, None),
]
ROWS = {
    "binary": RowBounds(l2=1.0, linf=1.0),
    "real": RowBounds(l2=1.0, linf=1.0, y=(-1.0, 1.0)),
    "count": RowBounds(l2=1.0, linf=1.0, intercept=1.0, y=(0.0, 4.0)),
}


def planned(name, budget):
    """The solver of that name with few steps, on the first setting that it takes."""
    solver = solvers.by_name(name)()
    names = {f.name for f in fields(solver)}
    for option in ("steps", "epochs", "passes"):
        if option in names:
            solver = replace(solver, **{option: 4})
    for loss, penalty, slope in SETTINGS:
        problem = Problem(loss, ROWS[loss.targets], 2, 25, budget, penalty=penalty, slope=slope)
        try:
            return solver, problem, solver.plan(problem)
        except Refusal:
            continue
    raise AssertionError(f"no setting of the audit suits {name!r}: add one")


def attacked(name, epsilon, relation, runs):
    budget = Budget(epsilon, DELTA, neighbors=relation)
    solver, problem, plan = planned(name, budget)
    found = []
    for number, pair in enumerate(worst_pairs(relation, 2, LOW, HIGH, problem.bounds.y or (-1.0, 1.0))):
        sides = [
            make_curator(X, y, bounds=problem.bounds, neighbors=relation, sample_weight=w)
            for X, y, w in (pair.first, pair.second)
        ]
        source = SeededSource(number)

        def run(i, side, sides=sides, source=source):
            return solver.solve(problem, plan, sides[side], source.child(side, i))

        found.append(audit_solver(lambda i, run=run: run(i, 0), lambda i, run=run: run(i, 1), epsilon, DELTA, runs))
    return found


@pytest.mark.parametrize("name", solvers.names())
def test_every_solver_has_a_setting(name):
    """What runs below under a marker must not fail there for want of a setting; nothing is calibrated here."""
    refused = 0
    for loss, penalty, slope in SETTINGS:
        try:
            solvers.by_name(name)().check(
                Problem(loss, ROWS[loss.targets], 2, 25, Budget(1.0, DELTA), penalty=penalty, slope=slope)
            )
        except Refusal:
            refused += 1
    assert refused < len(SETTINGS)


@pytest.mark.parametrize(
    "name", ["objective_perturbation", "frank_wolfe", "sgd", "class_means", "whitened_poisson", "calibrated"]
)
def test_no_solver_is_caught(name):
    for result in attacked(name, 1.0, "zero_out", 200):
        assert not result.caught, result


def look_attacked(relation, epsilon, runs, loose=1.0):
    """Class means that look where entries lie: a row that moves the moments, and with them cuts and noise."""
    p, budget = 20, Budget(epsilon * loose, neighbors=relation)
    problem = Problem(LogisticLoss(), RowBounds(linf=1.0), p, math.ceil(210 / epsilon), budget)
    solver = solvers.by_name("class_means")(look=0.4)
    plan = solver.plan(problem)
    assert "moments" in plan.mechanisms
    found = []
    for number, pair in enumerate(worst_pairs(relation, p, -np.ones(p), np.ones(p), (-1.0, 1.0))):
        sides = [
            make_curator(X, y, bounds=problem.bounds, neighbors=relation, sample_weight=w)
            for X, y, w in (pair.first, pair.second)
        ]
        source = SeededSource(number)

        def run(i, side, sides=sides, source=source):
            return solver.solve(problem, plan, sides[side], source.child(side, i))

        found.append(audit_solver(lambda i, run=run: run(i, 0), lambda i, run=run: run(i, 1), epsilon, 0.0, runs))
    return found


@pytest.mark.parametrize("relation", ["zero_out", "replace_one", "add_remove"])
def test_class_means_that_look_are_not_caught(relation):
    for result in look_attacked(relation, 0.3, 200):
        assert not result.caught, result
    assert any(result.caught for result in look_attacked(relation, 0.3, 200, loose=100.0))  # the attack has teeth


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("name", solvers.names())
def test_no_solver_is_caught_at_any_budget(name, epsilon):
    for result in attacked(name, epsilon, "zero_out", 1200):
        assert not result.caught, result


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
@pytest.mark.parametrize("name", solvers.names())
def test_no_solver_is_caught_under_other_relations(name, relation):
    for result in attacked(name, 1.0, relation, 600):
        assert not result.caught, result


@pytest.mark.parametrize("name", ["gradient_descent", "objective_perturbation"])
def test_the_attack_is_sharp_enough_to_matter(name):
    """At a promise a third of what the plan spends, the alarm rings: so silence above says something."""
    budget = Budget(4.0, DELTA)
    solver, problem, plan = planned(name, budget)
    pair = worst_pairs("zero_out", 2, LOW, HIGH, (-1.0, 1.0))[1]
    sides = [make_curator(X, y, bounds=problem.bounds, sample_weight=w) for X, y, w in (pair.first, pair.second)]
    source = SeededSource(0)
    result = audit_solver(
        lambda i: solver.solve(problem, plan, sides[0], source.child(0, i)),
        lambda i: solver.solve(problem, plan, sides[1], source.child(1, i)),
        0.5,
        DELTA,
        1000,
    )
    assert result.caught, result
