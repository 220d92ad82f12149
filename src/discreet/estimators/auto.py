"""The rule behind ``solver="auto"``: one function for each regime, asked in order, from public facts alone.

A rule is told the problem (loss, bounds, sizes, budget left, penalty) and whether the table is sparse.  It answers
with a solver that carries its options, or with None where the regime isn't its own.  Where all answer None, or the
answer doesn't go together with ``max_iter`` or ``inference``, the estimator's order of preference decides.
What the constants come from: ``docs/utility.md``.
"""

from __future__ import annotations

from collections.abc import Callable

from discreet.accounting.published import strength
from discreet.solvers.base import Problem, Solver
from discreet.solvers.steep_objective_perturbation import SteepObjectivePerturbation
from discreet.solvers.whitened_objective_perturbation import WIDEST, WhitenedObjectivePerturbation

__all__ = ["RULES", "Rule", "binary", "decide", "wide"]

Rule = Callable[[Problem, bool], Solver | None]

STRONG = 60.0  # rows times mu, per weight: from there on second moments are known well enough to whiten by

FEW = 10.0  # rows times mu, per weight: below, margins stay so small that the plain loss wastes half of its slope


def binary(problem: Problem, sparse: bool) -> Solver | None:
    """Two classes, delta above 0, no penalty: whiten where rows times mu affords the second moments.

    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import LogisticLoss
    >>> from discreet.privacy import Budget
    >>> binary(Problem(LogisticLoss(), RowBounds(l2=1.0), 10, 100_000, Budget(1, 1e-6)), False).name
    'whitened_objective_perturbation'
    """
    del sparse
    if problem.loss.name not in ("logistic", "smoothed_hinge") or problem.penalty is not None:
        return None
    if problem.budget.kind != "dp" or problem.budget.is_pure or problem.n_weights > WIDEST:
        return None
    if problem.rows * strength(problem.budget) < STRONG * problem.n_weights:
        return None
    return WhitenedObjectivePerturbation()


def wide(problem: Problem, sparse: bool) -> Solver | None:
    """Two classes, no penalty, few rows times mu per weight: start where the loss is steep, the more so the fewer.

    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import LogisticLoss
    >>> from discreet.privacy import Budget
    >>> wide(Problem(LogisticLoss(), RowBounds(l2=1.0), 50_000, 40_000, Budget(1, 1e-6)), True).name
    'steep_objective_perturbation'
    """
    del sparse
    if problem.loss.name != "logistic" or problem.penalty is not None:
        return None
    if problem.budget.kind != "dp" or problem.budget.is_pure:
        return None
    per_weight = problem.rows * strength(problem.budget) / problem.n_weights
    if per_weight >= FEW:
        return None
    return SteepObjectivePerturbation(lead=2.0 if per_weight < 1 else 1.0)


RULES: tuple[Rule, ...] = (
    binary,
    wide,
)  # fmt: skip


def decide(problem: Problem, sparse: bool) -> Solver | None:
    """The first rule's answer, or None."""
    for rule in RULES:
        found = rule(problem, sparse)
        if found is not None:
            return found
    return None
