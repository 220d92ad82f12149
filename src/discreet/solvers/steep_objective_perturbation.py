"""Objective perturbation that starts where the loss is steep: for few rows per weight, most signal for the noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from discreet.accounting.published import strength
from discreet.curator import Curator
from discreet.losses import LogisticLoss
from discreet.solvers.base import Ask, Plan, Problem, Solver, Weights
from discreet.solvers.objective_perturbation import ObjectivePerturbation
from discreet.solvers.queries import Query

__all__ = ["SteepObjectivePerturbation"]

MANY = 10**15  # rows, for which the usual default is what privacy alone asks for


@dataclass(frozen=True)
class _Ridged(ObjectivePerturbation):
    """Objective perturbation with another default for the ridge."""

    most: float = 1.5

    def ratio(self, problem: Problem) -> float:
        """At most `most` over mu, and at least what privacy asks for."""
        most = max(super().ratio(replace(problem, n_rows=MANY)), self.most / strength(problem.budget))
        return min(super().ratio(problem), most)


@dataclass(frozen=True)
class SteepObjectivePerturbation(Solver):
    r"""Objective perturbation with the logistic loss moved by a lead: ``log(1 + exp(lead - y * margin))``.

    Noise is made for a slope of 1, which the logistic loss has for rows that are far on the wrong side.  Where weights
    are many and the ridge keeps margins small, rows have half of it, so half of the signal is given away.  Moved by 2
    they have 0.88.  The price is the same: curvature as a function of slope does not change.  The weights aren't log
    odds any more (:meth:`LogisticLoss.predict_proba` knows them); where weights are few there is nothing to gain.

    Parameters
    ----------
    lead : float, default=2
        How far the loss is moved.
    ridge : float or "auto"
        Of the *sum* of losses; "auto" is that of objective perturbation, but at most `most` times the squared row
        norm over mu unless privacy asks for more.
    most : float, default=1.5
        That limit of the ridge.
    tolerance_share : float, default=0.02
        The part of mu (of a pure budget) that pays for the tolerance.

    Notes
    -----
    *Privacy.* Guarantee: the refined profile of objective perturbation, priced together with everything bought before.
    Neighbours: those of the curator.  Public: lead, ridge and its limit, tolerance.
    Bounded by: the row norm, the slope and the curvature of the loss.  Proof: ``proofs/objective_perturbation.md``.

    Examples
    --------
    >>> from discreet.curator import RowBounds
    >>> from discreet.privacy import Budget
    >>> problem = Problem(LogisticLoss(), RowBounds(l2=1.0), 5000, 1000, Budget(1, 1e-6))
    >>> plan = SteepObjectivePerturbation().plan(problem)
    >>> round(plan.mechanisms["tilt"].sigma, 2), round(plan.schedule["ridge"], 2)
    (4.23, 6.34)
    """

    name: ClassVar[str] = "steep_objective_perturbation"
    reference: ClassVar[str] = "our own: objective perturbation of a logistic loss that is steep at margin 0"
    proof: ClassVar[str] = "proofs/objective_perturbation.md"
    constraint: ClassVar[Literal["none", "optional", "required"]] = "none"
    pure: ClassVar[bool] = True

    lead: float = 2.0
    ridge: float | Literal["auto"] = "auto"
    tolerance_share: float = 0.02
    most: float = 1.5

    def __post_init__(self) -> None:
        if not (math.isfinite(self.most) and self.most > 0):
            raise ValueError(f"most={self.most!r} must be a positive finite number")

    def _moved(self, problem: Problem) -> tuple[ObjectivePerturbation, Problem]:
        """The same problem with the moved loss, and who solves it."""
        return _Ridged(self.ridge, self.tolerance_share, most=self.most), replace(problem, loss=LogisticLoss(self.lead))

    def refuse(self, problem: Problem) -> str | None:
        """Losses that can't be moved."""
        if problem.loss.name != "logistic":
            return (
                f"moves the logistic loss, not {problem.loss.name!r}: take 'objective_perturbation' (a smoothed hinge "
                "starts steep as it is)"
            )
        return None

    def schedule(self, problem: Problem) -> Mapping[str, Any]:
        """The ridge, and what one row can do."""
        solver, moved = self._moved(problem)
        return solver.schedule(moved)

    def queries(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Query]:
        """One sealed linear term, one release."""
        solver, moved = self._moved(problem)
        return solver.queries(moved, schedule)

    def plan(self, problem: Problem) -> Plan:
        """That of objective perturbation for the moved loss."""
        self.check(problem)
        solver, moved = self._moved(problem)
        return solver.plan(moved)

    def run(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Weights:
        """Tilt, minimise inside the curator, release."""
        solver, moved = self._moved(problem)
        return solver.run(moved, schedule, curator, ask)
