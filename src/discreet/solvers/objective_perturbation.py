"""Objective perturbation: one exact minimum of a randomly tilted objective, at the noise of one Gaussian query."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from discreet import accounting
from discreet.accounting.events import compose
from discreet.accounting.objective_calibration import default_ridge, shape_of
from discreet.accounting.objective_perturbation import ObjectivePerturbationDpEvent
from discreet.curator import Curator
from discreet.curator.minimise import provable_tolerance
from discreet.mechanisms import Gaussian
from discreet.mechanisms.perturbation import Perturbation
from discreet.solvers.base import Ask, Plan, Problem, Solver, Weights
from discreet.solvers.queries import LinearTerm, NoisySum, Query

__all__ = ["ObjectivePerturbation"]


@dataclass(frozen=True)
class ObjectivePerturbation(Solver):
    r"""Minimise ``sum of losses + ridge/2 |w|^2 + <b, w>`` with one normal vector ``b``, and release the minimum.

    For losses that are straight where they are steep (logistic, pseudo-Huber, softplus hinge) the whole fit costs
    what one noisy gradient would.  The minimum is certified to a public tolerance, which a little noise pays for.

    Parameters
    ----------
    ridge : float or "auto"
        The l2 regularisation of the *sum* of losses; "auto" is the smallest that makes the noise nearly free, or what
        the number of rows and features asks for.
    tolerance_share : float, default=0.02
        The part of mu that pays for the tolerance.

    Notes
    -----
    *Privacy.* Guarantee: the refined profile, priced together with everything bought before.
    Neighbours: those of the curator.  Public: ridge, tolerance.
    Bounded by: the row norm, the slope and the curvature of the loss.  Proof: ``proofs/objective_perturbation.md``.

    Examples
    --------
    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import LogisticLoss
    >>> from discreet.privacy import Budget
    >>> problem = Problem(LogisticLoss(), RowBounds(l2=1.0), 10, 1000, Budget(1, 1e-6))
    >>> round(ObjectivePerturbation(ridge=1.0).plan(problem).mechanisms["tilt"].sigma, 2)
    4.23
    """

    name: ClassVar[str] = "objective_perturbation"
    reference: ClassVar[str] = "lecture 16, Algorithm 7; Kifer, Smith, Thakurta 2012; refined profile: our own proof"
    proof: ClassVar[str] = "proofs/objective_perturbation.md"
    constraint: ClassVar[Literal["none", "optional", "required"]] = "none"
    many_outputs: ClassVar[bool] = True

    ridge: float | Literal["auto"] = "auto"
    tolerance_share: float = 0.02

    def refuse(self, problem: Problem) -> str | None:
        """Losses without a bounded slope and a second derivative have no such theorem."""
        if not math.isfinite(problem.loss.lipschitz) or not math.isfinite(problem.loss.smoothness):
            return (
                f"needs a smooth loss with a bounded slope, which {problem.loss.name!r} isn't: take the pseudo-Huber "
                "loss for regression, or 'sufficient_statistics'"
            )
        return None

    def schedule(self, problem: Problem) -> Mapping[str, Any]:
        """Ridge and tolerance."""
        shape, scale = shape_of(problem.loss)
        ridge = self.ridge
        if ridge == "auto":
            ridge = default_ridge(
                problem.budget, problem.rows, problem.size, shape, row_norm=problem.radius, scale=scale
            )
        tau = 2 * provable_tolerance(problem.grid, problem.loss, ridge, problem.rows)
        weight = problem.bounds.weight
        return {
            "steps": 1,
            "ridge": float(ridge),
            "tau": tau,
            "shape": shape,
            "slope": weight * (1.0 if shape == "softmax" else problem.loss.lipschitz),
            "kappa": math.nextafter(weight * scale * problem.radius**2 / float(ridge), math.inf),
        }

    def queries(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Query]:
        """One sealed linear term, one release."""
        del problem, schedule
        return {"tilt": LinearTerm(), "weights": NoisySum()}

    def plan(self, problem: Problem) -> Plan:
        """The least noise whose event, with everything bought before, stays within the budget."""
        self.check(problem)
        schedule = dict(self.schedule(problem))

        def event(noise: float) -> ObjectivePerturbationDpEvent:
            mu = 1 / noise
            return ObjectivePerturbationDpEvent(
                mu,
                schedule["kappa"],
                schedule["shape"],
                problem.budget.neighbors.value,
                problem.loss.n_outputs,
                tolerance_mu=self.tolerance_share * mu,
            )

        noise = accounting.calibrate(lambda z: compose(problem.spent, event(z)), problem.budget)
        sigma = math.nextafter(schedule["slope"] * problem.radius * noise, math.inf) * (1 + 2**-50)
        tilt = Perturbation(sigma, event(noise))
        schedule = {**schedule, "slack": float(tilt.unit) * math.sqrt(problem.size) / 2}
        mechanisms = {
            "tilt": tilt,
            "weights": Gaussian(math.nextafter(noise / self.tolerance_share, math.inf)),
        }
        whole = compose(problem.spent, event(noise))
        return Plan(whole, self.queries(problem, schedule), mechanisms, schedule, problem.budget)

    def run(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Weights:
        """Tilt, minimise inside the curator, release."""
        tilt = ask.tilt(problem.shape)
        minimum = curator.minimise(
            problem.loss, schedule["ridge"], tilt, schedule["tau"], slack=schedule["slack"], n_rows=problem.rows
        )
        weights: Weights = ask.weights(minimum)
        return weights.reshape(problem.shape)
