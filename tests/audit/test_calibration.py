"""The last step of both regressions, attacked with an intercept: scarce rows, wide tables, whitened tables, counts.

The noise is seeded, so a test either always passes or always fails; were it not, a sound solver would be caught with
probability at most 5 % divided by the number of pairs in each test.
"""

from __future__ import annotations

import numpy as np
import pytest

from discreet import solvers
from discreet.audit.neighbours import worst_pairs
from discreet.audit.run import audit_solver
from discreet.curator import RowBounds, make_curator
from discreet.losses import PoissonLoss, SquaredLoss
from discreet.privacy import Budget
from discreet.randomness import SeededSource
from discreet.solvers.base import Problem

DELTA = 1e-4
CASES = {  # solver, rows, columns, epsilon, the releases that this regime has and others haven't
    "scarce": ("whitened_regression", 150, 2, 1.0, {"level", "moments"}),
    "scarce and dear": ("whitened_regression", 30, 6, 8.0, {"level"}),
    "wide": ("whitened_regression", 400, 60, 1.0, {"level"}),
    "whitened": ("whitened_regression", 1500, 2, 1.0, {"spread", "moments"}),
    "scarce counts": ("whitened_poisson", 30, 6, 8.0, {"level"}),
    "whitened counts": ("whitened_poisson", 1500, 2, 1.0, {"level", "moments"}),
}


def attacked(case, relation, runs, promised=1.0):
    """Audits of every pair at `promised` of what the plan spends."""
    name, n, p, epsilon, there = CASES[case]
    counted = name == "whitened_poisson"
    bounds = RowBounds(l2=1.0, linf=1.0, intercept=0.5, y=(0.0, 1.0) if counted else (-1.0, 1.0))
    budget = Budget(epsilon, DELTA, neighbors=relation)
    problem = Problem(PoissonLoss(1.0) if counted else SquaredLoss(), bounds, p, n, budget, slope=1.0)
    solver, found = solvers.by_name(name)(), []
    plan = solver.plan(problem)
    assert {n for n in ("level", "spread", "moments") if n in plan.mechanisms} == there
    for number, pair in enumerate(worst_pairs(relation, p, -np.ones(p), np.ones(p), bounds.y)):
        sides = [
            make_curator(X, y, bounds=bounds, neighbors=relation, sample_weight=w)
            for X, y, w in (pair.first, pair.second)
        ]
        source = SeededSource(number)

        def run(i, side, sides=sides, source=source):
            return solver.solve(problem, plan, sides[side], source.child(side, i))[[0, 1, -1]]

        attack = (lambda i, run=run: run(i, 0), lambda i, run=run: run(i, 1))
        found.append(audit_solver(*attack, epsilon * promised, DELTA, runs))
    return found


@pytest.mark.parametrize("case", CASES)
def test_no_regime_is_caught(case):
    for result in attacked(case, "zero_out", 150):
        assert not result.caught, result


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["zero_out", "replace_one", "add_remove"])
@pytest.mark.parametrize("case", CASES)
def test_no_regime_is_caught_under_any_relation(case, relation):
    for result in attacked(case, relation, 600):
        assert not result.caught, result


@pytest.mark.parametrize("case", ["scarce and dear"])
def test_the_attack_has_teeth(case):
    """At a promise a sixteenth of what the plan spends the alarm rings."""
    assert any(result.caught for result in attacked(case, "zero_out", 1000, promised=1 / 16))
