"""The rule behind ``solver="auto"``: one function for each regime, asked in order, from public facts alone.

A rule is told the problem (loss, bounds, sizes, budget left, penalty) and whether the table is sparse.  It answers
with a solver that carries its options, or with None where the regime isn't its own.  Where all answer None, or the
answer doesn't go together with ``max_iter`` or ``inference``, the estimator's order of preference decides.
What the constants come from: ``docs/utility.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from discreet.accounting.published import strength
from discreet.losses import Loss
from discreet.privacy import Budget
from discreet.solvers.base import Problem, Solver
from discreet.solvers.calibrated import LEAST, Calibrated
from discreet.solvers.class_means import ClassMeans
from discreet.solvers.objective_perturbation import ObjectivePerturbation
from discreet.solvers.steep_objective_perturbation import SteepObjectivePerturbation
from discreet.solvers.whitened_objective_perturbation import WIDEST, WhitenedObjectivePerturbation
from discreet.solvers.whitened_poisson import WhitenedPoisson
from discreet.solvers.whitened_regression import WhitenedRegression

__all__ = [
    "RULES",
    "Rule",
    "binary",
    "constant",
    "counts",
    "decide",
    "few_rows",
    "plain",
    "regression",
    "right",
    "unpaid_length",
    "wide",
]

Rule = Callable[[Problem, bool], Solver | None]

DENSE = 2e8  # entries of a table whose rows may be mapped, if it is sparse
FEW_PURE = 35.0  # rows times epsilon, per feature, and per class but one: below it class means are best
FEW = 5.0  # rows times mu, per feature
MANY, LOW = 60, 0.4  # columns of dense tables that are told by more than their means; the ridge is then kept that low
VAGUE = 0.3  # rows times mu, per feature: from here to one means are so vague that a steep loss says more
SMALL, UNKNOWN = 2000, 400.0  # rows, and rows times mu, below which a quantile of norms isn't bought
STRONG = 60.0  # rows times mu, per weight: from there on second moments are known well enough to whiten by
CONSTANT = 0.1  # the constant column, relative to the norm of a row; twice that where classes are looked for
LEVEL = 60.0  # and more below 300 rows times mu: this over them, at most five times
SCARCE = 10.0  # rows times mu, per weight: below, margins stay so small that the plain loss wastes half of its slope


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


def few_rows(problem: Problem, sparse: bool) -> Solver | None:
    """Classes, and too few rows for more than their means.

    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import LogisticLoss
    >>> few_rows(Problem(LogisticLoss(), RowBounds(low=0, high=1), 30, 455, Budget(1)), False).name
    'class_means'
    """
    dense = not sparse and problem.n_features <= problem.rows
    if (
        problem.penalty is not None
        or not dense
        or not _few(problem.loss, problem.budget, problem.rows, problem.n_features)
    ):
        return None
    return ClassMeans()


def _few(loss: Loss, budget: Budget, rows: int, p: int) -> bool:
    if loss.name not in ("logistic", "softmax") or budget.kind != "dp":
        return False
    k = max(loss.n_outputs, 2)
    least = FEW_PURE * (k - 1) if budget.is_pure else FEW + (k - 2) / 2
    size = rows * strength(budget) / p
    if not budget.is_pure and k == 2 and (VAGUE <= size < 1 or (size >= 1 and p >= MANY and rows >= SMALL)):
        return False
    return size < least


def unpaid_length(loss: Loss, budget: Budget, rows: int, p: int, sparse: bool) -> float | None:
    """Where rows in a public box are cut without a look at them, in half widths of the box; None to pay for a quantile.

    A quantile of row norms takes rows to pay for.  With few of them, and under pure privacy, rows are centred in the
    middle of their box and cut at a public part of its diagonal: rows of zeros and ones all have the same length there,
    and continuous ones, that rarely come near a corner, keep what they have up to it.

    >>> from discreet.losses import LogisticLoss
    >>> unpaid_length(LogisticLoss(), Budget(1), 10_000, 16, False)
    1.0
    >>> unpaid_length(LogisticLoss(), Budget(1, 1e-6), 10_000, 16, False) is None
    True
    """
    if loss.name not in ("logistic", "softmax") or budget.kind != "dp" or sparse or p > rows:
        return None
    few = _few(loss, budget, rows, p)
    if not (few or budget.is_pure or rows < SMALL or rows * strength(budget) < UNKNOWN):
        return None
    if few:
        return math.sqrt(p)
    return max(0.25 * math.sqrt(p), 1.0)  # with few columns the length of a row says much


def constant(loss: Loss, budget: Budget, rows: int, p: int, sparse: bool) -> float:
    """The constant column that gives the intercept, relative to the norm of a row.

    The noise of an intercept is in inverse proportion to it, and so is what the ridge takes off where classes are of
    unequal size; rows get longer by it, and noise with them.  The fewer rows times mu, the larger it is.

    >>> from discreet.losses import LogisticLoss
    >>> [round(constant(LogisticLoss(), Budget(1, 1e-6), n, 10, False), 2) for n in (500, 1000, 10_000)]
    [0.5, 0.25, 0.2]
    >>> constant(LogisticLoss(), Budget(1, 1e-6), 500, 10, True)
    0.1
    """
    if loss.name not in ("logistic", "softmax", "smoothed_hinge") or budget.kind != "dp" or sparse:
        return CONSTANT
    size = rows * strength(budget) / (3 * math.sqrt(p + 2) if budget.is_pure else 1.0)
    return min(max(LEVEL / size, 2 * CONSTANT), 5 * CONSTANT)


def wide(problem: Problem, sparse: bool) -> Solver | None:
    """Two classes, no penalty, few rows times mu per weight: start where the loss is steep, the more so the fewer.

    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import LogisticLoss
    >>> from discreet.privacy import Budget
    >>> wide(Problem(LogisticLoss(), RowBounds(l2=1.0), 50_000, 40_000, Budget(1, 1e-6)), True).name
    'steep_objective_perturbation'
    """
    if problem.loss.name != "logistic" or problem.penalty is not None:
        return None
    if problem.budget.kind != "dp" or problem.budget.is_pure:
        return None
    per_weight = problem.rows * strength(problem.budget) / problem.n_weights
    if per_weight >= SCARCE:
        return None
    lead, dense = 2.0 if per_weight < 1 else 1.0, not sparse and problem.n_features <= problem.rows
    low = dense and per_weight < FEW and (per_weight < 1 or problem.rows >= SMALL)
    return SteepObjectivePerturbation(lead=lead, most=LOW) if low else SteepObjectivePerturbation(lead=lead)


def plain(problem: Problem, sparse: bool) -> Solver | None:
    """Two classes and probabilities, no penalty, between the others: the order of preference, but to be calibrated.

    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import LogisticLoss
    >>> plain(Problem(LogisticLoss(), RowBounds(l2=1.0), 30, 1000, Budget(1)), False).name
    'objective_perturbation'
    """
    ours = problem.loss.name == "logistic" and problem.penalty is None and problem.budget.kind == "dp"
    return ObjectivePerturbation() if ours else None


def right(solver: Solver, problem: Problem) -> Solver:
    """The solver, its probabilities put right afterwards where rows are many enough to tell what is wrong with them.

    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import LogisticLoss
    >>> facts = LogisticLoss(), RowBounds(l2=1.0), 30
    >>> [right(ObjectivePerturbation(), Problem(*facts, n, Budget(1))).title for n in (1000, 5000)]
    ['objective_perturbation', 'objective_perturbation, calibrated']
    """
    if problem.loss.name != "logistic" or isinstance(solver, ClassMeans):  # class means buy slope and offset themselves
        return solver
    found = Calibrated(solver)
    return found if found.worth(problem) >= LEAST else solver


def regression(problem: Problem, sparse: bool) -> Solver | None:
    """Least squares, delta above 0, no penalty: whiten, find the size of residuals, minimise a robust loss of it.

    Rows are mapped, so a sparse table must be small enough to be held as a dense one.

    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import SquaredLoss
    >>> from discreet.privacy import Budget
    >>> regression(Problem(SquaredLoss(), RowBounds(l2=1.0, y=(-1, 1)), 10, 1000, Budget(1, 1e-6)), False).name
    'whitened_regression'
    """
    return WhitenedRegression() if problem.loss.name == "squared" and _mapped(problem, sparse) else None


def counts(problem: Problem, sparse: bool) -> Solver | None:
    """Poisson, delta above 0, no penalty, an intercept: whiten, buy the mean count, minimise in units of it.

    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import PoissonLoss
    >>> from discreet.privacy import Budget
    >>> bounds = RowBounds(l2=1.0, intercept=0.1, y=(0, 20))
    >>> counts(Problem(PoissonLoss(3.0), bounds, 10, 1000, Budget(1, 1e-6)), False).name
    'whitened_poisson'
    """
    level = problem.loss.name == "poisson" and problem.has_intercept
    return WhitenedPoisson() if level and _mapped(problem, sparse) else None


def _mapped(problem: Problem, sparse: bool) -> bool:
    """Whether rows can be whitened for targets of a known range: the rows of a sparse table become dense."""
    if problem.penalty is not None or problem.bounds.y is None:
        return False
    if problem.budget.kind != "dp" or problem.budget.is_pure or problem.n_weights > WIDEST:
        return False
    return not sparse or problem.rows * problem.n_weights <= DENSE


RULES: tuple[Rule, ...] = (
    few_rows,
    binary,
    wide,
    plain,
    regression,
    counts,
)  # fmt: skip


def decide(problem: Problem, sparse: bool) -> Solver | None:
    """The first rule's answer, its probabilities put right, or None."""
    for rule in RULES:
        found = rule(problem, sparse)
        if found is not None:
            return right(found, problem)
    return None
