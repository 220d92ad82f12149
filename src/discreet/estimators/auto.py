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
from discreet.solvers.whitened_objective_perturbation import WIDEST, WhitenedObjectivePerturbation
from discreet.solvers.whitened_regression import WhitenedRegression

__all__ = ["RULES", "Rule", "binary", "decide", "regression"]

Rule = Callable[[Problem, bool], Solver | None]

DENSE = 2e8  # entries of a table whose rows may be mapped, if it is sparse
STRONG = 60.0  # rows times mu, per weight: from there on second moments are known well enough to whiten by


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


def regression(problem: Problem, sparse: bool) -> Solver | None:
    """Least squares, delta above 0, no penalty: whiten, find the size of residuals, minimise a robust loss of it.

    Rows are mapped, so a sparse table must be small enough to be held as a dense one.

    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import SquaredLoss
    >>> from discreet.privacy import Budget
    >>> regression(Problem(SquaredLoss(), RowBounds(l2=1.0, y=(-1, 1)), 10, 1000, Budget(1, 1e-6)), False).name
    'whitened_regression'
    """
    if problem.loss.name != "squared" or problem.penalty is not None or problem.bounds.y is None:
        return None
    if problem.budget.kind != "dp" or problem.budget.is_pure or problem.n_weights > WIDEST:
        return None
    if sparse and problem.rows * problem.n_weights > DENSE:
        return None
    return WhitenedRegression()


RULES: tuple[Rule, ...] = (
    binary,
    regression,
)  # fmt: skip


def decide(problem: Problem, sparse: bool) -> Solver | None:
    """The first rule's answer, or None."""
    for rule in RULES:
        found = rule(problem, sparse)
        if found is not None:
            return found
    return None
