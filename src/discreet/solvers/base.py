"""What every solver declares, how a plan prices it before any look at data, and how it asks its questions.

A solver is three things: a *schedule* (public numbers: steps, step sizes), its *queries* (which questions, how
often, for what share of the budget), and a *run* that reads like the paper.  It holds no row, no generator and no
epsilon: statistics come from the curator as sealed values, and only ``ask.<query>`` opens them, with the mechanism
that the plan has priced.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from dp_accounting import dp_event
from numpy.typing import NDArray

from discreet import accounting, theory
from discreet.accounting.events import compose, repeat
from discreet.accounting.published import strength
from discreet.curator import Clip, Curator, Grid, RowBounds
from discreet.losses import Loss
from discreet.mechanisms.base import Mechanism
from discreet.penalties.base import Penalty
from discreet.privacy import Budget, Neighbours, PrivacyError
from discreet.randomness import Source
from discreet.solvers.ask import Ask
from discreet.solvers.queries import Query

__all__ = ["Ask", "Plan", "Problem", "Refusal", "Solver"]

Weights = NDArray[np.float64]


class Refusal(ValueError):
    """A solver, a loss and a penalty that don't go together; raised before any data is read.

    Examples
    --------
    >>> issubclass(Refusal, ValueError)
    True
    """


@dataclass(frozen=True)
class Problem:
    """The public facts of one fit: everything that a plan may depend on.

    Parameters
    ----------
    loss : Loss
        The loss of one row.
    bounds : RowBounds
        What is publicly known about a row; weights refer to the clipped and scaled row.
    n_features : int
        Columns of the table, before the constant column that `bounds` may add.
    n_rows : int or None
        The number of rows: public, or a paid noisy count.  Used for defaults, never for a sensitivity.
    budget : Budget
        What this solver may spend, relation included.
    penalty : Penalty, optional
        A set in which the weights must lie, or a term added to the *sum* of losses; the intercept is left out.
    count_error : int, default=0
        How far above `n_rows` the true number of rows may be, where `n_rows` is a noisy count.
    spent : DpEvent, optional
        What was already bought out of `budget` (bounds, counts); the solver is priced together with it.
    slope : float, optional
        Clip for the derivative of the loss; default: the loss's own Lipschitz constant.
    initial : array, optional
        Where solvers that go step by step start: weights that are public, or were released and are paid for.

    Examples
    --------
    >>> from discreet.losses import LogisticLoss
    >>> problem = Problem(LogisticLoss(), RowBounds(l2=1.0), 10, 1000, Budget(1, 1e-6))
    >>> problem.radius, problem.lipschitz, problem.n_weights
    (1.0, 1.0, 10)
    """

    loss: Loss
    bounds: RowBounds
    n_features: int
    n_rows: int | None
    budget: Budget
    penalty: Penalty | None = None
    count_error: int = 0
    spent: dp_event.DpEvent = field(default_factory=dp_event.NoOpDpEvent)
    slope: float | None = None
    initial: Weights | None = None
    grid: Grid = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "grid", self.bounds.grid(self.n_features))

    @property
    def n_weights(self) -> int:
        """Weights of one output: features, and the intercept where there is one."""
        return self.grid.n_weights

    @property
    def size(self) -> int:
        """All weights: one vector for each output of the loss."""
        return self.n_weights * self.loss.n_outputs

    @property
    def has_intercept(self) -> bool:
        """Whether the last weight of each output belongs to the constant column."""
        return self.grid.constant > 0

    @property
    def rows(self) -> int:
        """The public or paid number of rows, at least 1."""
        if self.n_rows is None:
            raise PrivacyError("the number of rows is private here: buy a count first, or declare it with n_rows")
        return max(int(self.n_rows), 1)

    @property
    def rows_at_most(self) -> int:
        """A number that the rows don't exceed, for bounds on rounding errors (see ``proofs/minimise.md``)."""
        return self.rows + self.count_error

    @property
    def radius(self) -> float:
        """The l2 norm that no row exceeds, intercept included."""
        return float(self.grid.l2 * self.grid.unit)

    @property
    def largest_entry(self) -> float:
        """The size that no entry of a row exceeds."""
        return float(self.grid.linf * self.grid.unit)

    @property
    def lipschitz(self) -> float:
        """The bound on the derivative of the loss that is in force: its own, or the clip."""
        own = self.loss.lipschitz
        bound = own if self.slope is None else min(own, self.slope)
        if not math.isfinite(bound):
            raise Refusal(
                f"the derivative of {self.loss.name!r} has no bound of its own: give public bounds for the target "
                "(bounds_y), from which its clip follows"
            )
        return bound

    @property
    def smoothness(self) -> float:
        """Smoothness of the sum of losses in the l2 norm: rows times curvature times the squared row norm."""
        return self.rows * self.loss.smoothness * self.radius**2

    @property
    def distance(self) -> float:
        """How far the optimum is guessed to be: where the longest row's margin leaves the loss's curved range."""
        curved = self.lipschitz / self.loss.smoothness if self.loss.smoothness > 0 else 1.0
        return curved / self.radius

    def descent_steps(self, least: int = 50, most: int = 500) -> int:
        """Gradient steps of one over the smoothness (``theory.gradient_descent_steps``), within reason."""
        mu = strength(self.budget)
        longest = self.lipschitz * self.radius
        best = theory.gradient_descent_steps(self.smoothness, self.distance, longest, mu, self.size)
        return min(max(best, least), most)

    def clip(self, norm: Literal["l2", "linf"] = "l2") -> Clip:
        """The clip of one row's gradient that follows from the bounds."""
        row = self.radius if norm == "l2" else self.largest_entry
        return Clip(self.lipschitz * row, norm)

    def start(self) -> Weights:
        """The initial weights, else zeros, moved into the constraint set where there is one."""
        first = np.zeros(self.shape) if self.initial is None else np.array(self.initial, dtype=np.float64)
        return self.prox(first) if self.constrained else first

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the weights: (weights,) or (outputs, weights)."""
        return (self.n_weights,) if self.loss.n_outputs == 1 else (self.loss.n_outputs, self.n_weights)

    @property
    def constrained(self) -> bool:
        """Whether the penalty is a set of allowed weights."""
        return self.penalty is not None and self.penalty.is_constraint

    @property
    def composite(self) -> bool:
        """Whether the penalty is a term added to the objective."""
        return self.penalty is not None and not self.penalty.is_constraint

    def prox(self, weights: Weights, step: float = 1.0) -> Weights:
        """The proximal step of the penalty (for a set, the projection); the intercept stays where it is."""
        if self.penalty is None:
            return weights
        moved = np.array(weights)
        features = moved[..., : self.n_weights - self.has_intercept]
        features[...] = self.penalty.prox(features.ravel(), step).reshape(features.shape)
        return moved


@dataclass(frozen=True)
class Plan:
    """Everything that will be asked of the data, priced, before any look at it.

    Attributes
    ----------
    event : DpEvent
        The event of the whole run, with what was spent before it.
    queries : mapping of str to Query
        What is asked and how often.
    mechanisms : mapping of str to Mechanism
        Who answers, with its noise.
    schedule : mapping
        Public numbers of the run: steps, step sizes, regularisation.
    budget : Budget
        What the event was calibrated to.

    Notes
    -----
    *Privacy.* Guarantee: a run that asks through :class:`Ask` has this event.  Neighbours: those of `budget`.
    Public: everything here.  Bounded by: the count of every query, enforced.  Proof: ``proofs/accounting.md``.

    Examples
    --------
    >>> Plan(dp_event.NoOpDpEvent(), {}, {}, {"steps": 3}, Budget(1)).n_steps
    3
    """

    event: dp_event.DpEvent
    queries: Mapping[str, Query]
    mechanisms: Mapping[str, Mechanism]
    schedule: Mapping[str, Any]
    budget: Budget

    @property
    def n_steps(self) -> int:
        """The planned number of iterations."""
        return int(self.schedule.get("steps", 1))


class Solver(ABC):
    """One algorithm of the literature.

    A subclass is a frozen dataclass whose fields are the algorithm's own options.  It gives :meth:`schedule`,
    :meth:`queries` and :meth:`run`, and declares below what it can be asked to solve.

    Attributes
    ----------
    name : str
        The string that estimators take.
    reference : str
        Where the algorithm comes from.
    proof : str
        The page under ``proofs/``.
    constraint : {"none", "optional", "required"}
        Whether it takes a constraint set.
    composite : bool
        Whether it takes a composite penalty (l1, elastic net).
    many_outputs : bool
        Whether it takes softmax.
    pure : bool
        Whether it runs under pure differential privacy (delta = 0).
    resumes : bool
        Whether its result depends on where it starts, so that it can go on from earlier weights.

    Examples
    --------
    >>> from discreet import solvers
    >>> 'gradient_descent' in solvers.names()
    True
    """

    name: ClassVar[str]
    reference: ClassVar[str]
    proof: ClassVar[str]
    constraint: ClassVar[Literal["none", "optional", "required"]] = "optional"
    composite: ClassVar[bool] = False
    many_outputs: ClassVar[bool] = False
    pure: ClassVar[bool] = False
    resumes: ClassVar[bool] = False

    @property
    def title(self) -> str:
        """What statements call it."""
        return self.name

    @abstractmethod
    def schedule(self, problem: Problem) -> Mapping[str, Any]:
        """Public numbers of the run (steps, step sizes), from public facts."""

    @abstractmethod
    def queries(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Query]:
        """What is asked of the data, how often, and for what share of the budget."""

    @abstractmethod
    def run(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Weights:
        """The algorithm, as in its paper; returns the weights."""

    def published(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Mechanism] | None:
        """The mechanisms with the noise as printed, where ``accounting="as_published"`` was asked for."""
        del problem, schedule
        return None

    def refuse(self, problem: Problem) -> str | None:
        """A further reason why this problem can't be solved here, or None."""
        del problem
        return None

    def check(self, problem: Problem) -> None:
        """Refuse what doesn't go together, with the reason, before any data is read."""
        reasons = [
            (
                self.constraint == "required" and not problem.constrained,
                "needs a set of allowed weights: give penalty=L1Ball(radius) or another set",
            ),
            (
                self.constraint == "none" and problem.constrained,
                "takes no set of allowed weights: choose 'gradient_descent' or 'frank_wolfe'",
            ),
            (
                problem.composite and not self.composite,
                "takes no penalty term: choose 'gradient_descent' or 'coordinate_descent'",
            ),
            (
                problem.loss.n_outputs > 1 and not self.many_outputs,
                "takes one output only: choose 'gradient_descent' or 'objective_perturbation' for softmax",
            ),
            (
                problem.budget.is_pure and not self.pure,
                "adds Gaussian noise, which is never pure: give delta > 0, or choose 'objective_perturbation'",
            ),
        ]
        for wrong, remedy in reasons:
            if wrong:
                raise Refusal(f"{self.name!r} {remedy}")
        if problem.constrained:
            try:
                problem.prox(np.zeros(problem.shape))
            except ValueError as error:  # a set with bounds or vertices for other coordinates than these
                size = problem.loss.n_outputs * (problem.n_weights - problem.has_intercept)
                raise Refusal(f"penalty={problem.penalty!r} is no set of {size} weights: {error}") from error
        further = self.refuse(problem)
        if further:
            raise Refusal(f"{self.name!r} {further}")

    def plan(self, problem: Problem) -> Plan:
        """Steps, noise and event from public facts alone."""
        self.check(problem)
        schedule = self.schedule(problem)
        queries = self.queries(problem, schedule)
        printed = self.published(problem, schedule)
        mechanisms = priced(queries, problem) if printed is None else printed
        event = compose(problem.spent, event_of(queries, mechanisms, problem.budget.neighbors))
        if printed is not None:
            certify(event, problem.budget, self.name)
        return Plan(event, queries, mechanisms, schedule, problem.budget)

    def solve(self, problem: Problem, plan: Plan, curator: Curator, source: Source | None = None) -> Weights:
        """Run the plan on the curator's rows."""
        return self.run(problem, plan.schedule, curator, Ask(plan, source))


def event_of(
    queries: Mapping[str, Query], mechanisms: Mapping[str, Mechanism], neighbors: Neighbours
) -> dp_event.DpEvent:
    """The composition of all queries, each as often as it is asked."""
    return compose(*(repeat(q.event(mechanisms[name], neighbors), q.times) for name, q in queries.items()))


def priced(queries: Mapping[str, Query], problem: Problem) -> dict[str, Mechanism]:
    """The least noise for which all queries, and what was spent before them, stay within the budget."""
    budget = problem.budget
    if budget.is_pure:
        left = budget - Budget(accounting.epsilon(problem.spent, 0.0), neighbors=budget.neighbors)
        parts = left.split([query.share for query in queries.values()])
        return {
            name: query.pure(part.split(query.times)[0].epsilon)
            for (name, query), part in zip(queries.items(), parts, strict=True)
        }

    def at(noise: float) -> dict[str, Mechanism]:
        return {name: query.at(noise) for name, query in queries.items()}

    def event(noise: float) -> dp_event.DpEvent:
        return compose(problem.spent, event_of(queries, at(noise), budget.neighbors))

    return at(accounting.calibrate(event, budget))


def certify(event: dp_event.DpEvent, budget: Budget, name: str) -> None:
    """Refuse noise as printed where the tight accountant can't certify it for the budget."""
    spent = accounting.epsilon(event, budget.delta)
    if spent > budget.epsilon:
        raise PrivacyError(
            f"the published noise of {name!r} costs epsilon={spent:.4g} at this setting, above the promised "
            f"{budget.epsilon:g}; use accounting='tight', or see the errata page"
        )
