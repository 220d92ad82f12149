"""Probabilities put right after a fit: slope and offset of its margins from a second, small perturbed minimum."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from dp_accounting.dp_event import NoOpDpEvent

from discreet.accounting.events import compose
from discreet.accounting.objective_choice import least_ridge, tail_of
from discreet.accounting.published import part_of, strength
from discreet.curator import Curator, RowBounds
from discreet.curator.minimise import provable_tolerance
from discreet.mechanisms import Perturbation
from discreet.solvers.base import Ask, Plan, Problem, Solver, Weights
from discreet.solvers.objective_perturbation import ObjectivePerturbation
from discreet.solvers.queries import LinearTerm, NoisySum, Query

__all__ = ["Calibrated"]

ENOUGH = 300.0  # rows over the second minimum's noise: more than that isn't bought
LEAST_SHARE = 0.005
LEAST = 47.0  # rows over its noise, below which slope and offset are guesses
PRIOR, STIFF = 96.0, 20.0  # its ridge, in squared row norms and squared noises over the rows; how much more of offsets
CONSTANT = 0.5  # of where margins are cut, for the offset
FLATTEST, STEEPEST = 0.1, 16.0  # slopes: below, order would be lost in rounding; above, rows say nothing


@dataclass(frozen=True)
class Calibrated(Solver):
    r"""Fit by another solver, then refit two numbers, slope and offset of its margins, by objective perturbation.

    A ridge keeps margins too near zero, noise sends them too far.  How much of either happened depends on the rows'
    correlations, which few budgets can buy; but logistic regression on the released margin has two weights, so a
    small share of the budget finds slope and offset.  Its ridge draws them to 1 and 0, which is no correction.
    The order of rows stays as it was.

    Parameters
    ----------
    inner : Solver
        Who fits first; default: objective perturbation.
    share : float, default=0.02
        The most that the second minimum gets: of mu squared, or of epsilon under pure privacy.  Where rows are many
        it gets less.
    longest : float, default=4
        Where margins are cut for the second minimum, in log odds; up to twice that where noise is small.

    Notes
    -----
    *Privacy.* Guarantee: the inner solver's event composed with the refined profile of a second perturbed minimum, and
    with everything bought before.  Neighbours: those of the curator.  Public: all numbers of the plan; the map to
    margins is a function of the released weights.  Bounded by: what bounds the inner solver; then `longest` and the
    constant beside it.  Proof: ``proofs/calibrated.md``.

    Examples
    --------
    >>> from discreet.losses import LogisticLoss
    >>> from discreet.privacy import Budget
    >>> problem = Problem(LogisticLoss(), RowBounds(l2=1.0, intercept=0.1), 10, 20_000, Budget(1, 1e-6))
    >>> plan = Calibrated().plan(problem)
    >>> round(plan.schedule["second"]["share"], 3), sorted(plan.queries)
    (0.005, ['second', 'second_tilt', 'tilt', 'weights'])
    """

    name: ClassVar[str] = "calibrated"
    reference: ClassVar[str] = "our own: logistic recalibration (Cox 1958) by objective perturbation"
    proof: ClassVar[str] = "proofs/calibrated.md"
    constraint: ClassVar[Literal["none", "optional", "required"]] = "none"
    pure: ClassVar[bool] = True

    inner: Solver = field(default_factory=ObjectivePerturbation)
    share: float = 0.02
    longest: float = 4.0

    def __post_init__(self) -> None:
        if not LEAST_SHARE <= self.share < 1 or not 0 < self.longest < math.inf:
            raise ValueError(
                f"share={self.share!r} must be from {LEAST_SHARE} to 1 and longest={self.longest!r} positive"
            )

    @property
    def title(self) -> str:
        """The inner solver's name, and that its probabilities were calibrated."""
        return f"{self.inner.title}, calibrated"

    def refuse(self, problem: Problem) -> str | None:
        """Other losses than the logistic one, budgets without epsilon, and what the inner solver refuses."""
        if problem.loss.name != "logistic":
            return f"corrects log odds, which loss {problem.loss.name!r} doesn't fit: take the inner solver alone"
        if problem.budget.kind != "dp":
            return f"is priced by epsilon and delta, not by {problem.budget}: take the inner solver alone"
        if isinstance(self.inner, Calibrated):
            return "is calibrated once: give the inner solver itself"
        self.inner.check(problem)
        return None

    def worth(self, problem: Problem) -> float:
        """Rows over the noise of the second minimum, in units of its rows: a function of public sizes."""
        return problem.rows * self._part(problem)[1]

    def _part(self, problem: Problem) -> tuple[float, float]:
        """The share of the second minimum, and one over the noise in a coordinate of its linear term."""
        pure, moves = problem.budget.is_pure, problem.budget.neighbors.moves
        whole = strength(problem.budget) / (moves * math.sqrt(2 + problem.has_intercept) if pure else moves)
        power = 1 if pure else 2
        share = min(max((ENOUGH / (problem.rows * whole)) ** power, LEAST_SHARE), self.share)
        return share, float(whole * share ** (1 / power))

    def schedule(self, problem: Problem) -> Mapping[str, Any]:
        """The inner solver's, and the share, bounds and ridge of the second minimum."""
        share, small = self._part(problem)
        cut = self.longest * min(max(math.sqrt(problem.rows * small / ENOUGH), 1.0), 2.0)
        constant = CONSTANT * self.longest if problem.has_intercept else 0.0
        bounds = RowBounds(linf=cut, intercept=constant, weight=problem.bounds.weight)
        grid, budget = bounds.grid(1), part_of(problem.budget, share)
        norm, scale = float(grid.l2 * grid.unit), problem.bounds.weight
        least = least_ridge(budget, "logistic", row_norm=norm, scale=scale, n_classes=2)
        prior = PRIOR * scale * norm**2 / (small**2 * problem.rows)
        second = {"share": share, "budget": budget, "bounds": bounds, "ridge": max(least, prior)}
        return {**self.inner.schedule(problem), "second": second}

    def queries(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Query]:
        """What the inner solver asks; and one more sealed linear term, and one more release."""
        return {**self.inner.queries(problem, schedule), "second_tilt": LinearTerm(), "second": NoisySum()}

    def plan(self, problem: Problem) -> Plan:
        """The second minimum, priced within its part; then the inner solver, priced together with it."""
        self.check(problem)
        facts = self.schedule(problem)["second"]
        small = replace(
            problem, bounds=facts["bounds"], n_features=1, budget=facts["budget"], spent=NoOpDpEvent(), initial=None
        )
        second = ObjectivePerturbation(ridge=facts["ridge"]).plan(small)
        tilt: Any = second.mechanisms["tilt"]
        length = tail_of(tilt.size, small.size, gaussian=isinstance(tilt, Perturbation))
        ridge = np.array([1.0, STIFF])[: small.size] * second.schedule["ridge"]
        tau = 2 * provable_tolerance(small.grid, problem.loss, ridge, problem.rows_at_most, length + ridge[0])
        first = self.inner.plan(replace(problem, spent=compose(problem.spent, second.event)))
        schedule = {**first.schedule, "second": {**facts, **second.schedule, "tau": tau, "ridge": ridge}}
        more = {"second_tilt": tilt, "second": second.mechanisms["weights"]}
        queries = self.queries(problem, schedule)
        return Plan(first.event, queries, {**first.mechanisms, **more}, schedule, problem.budget)

    def run(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Weights:
        """The inner solver's weights; the rows' margins; slope and offset of those, near 1 and 0."""
        weights, facts = np.asarray(self.inner.run(problem, schedule, curator, ask)), schedule["second"]
        view = curator.transformed(weights[None, :], facts["bounds"])
        usual = np.zeros(view.n_weights)
        usual[0] = 1.0
        minimum = view.minimise(
            problem.loss, facts["ridge"], ask.second_tilt(usual.shape), facts["tau"], slack=facts["slack"],
            n_rows=problem.rows_at_most, centre=usual,
        )  # fmt: skip
        found = np.asarray(ask.second(minimum))
        moved = weights * min(max(float(found[0]), FLATTEST), STEEPEST)
        if problem.has_intercept:
            constant = float(view.grid.constant * view.grid.unit)
            moved[-1] += found[1] * constant / float(problem.grid.constant * problem.grid.unit)
        return moved
