"""Objective perturbation: one exact minimum of a randomly tilted objective, at the noise of one Gaussian query."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from dp_accounting.dp_event import NoOpDpEvent

from discreet.accounting.events import compose
from discreet.accounting.objective_calibration import default_ridge, shape_of
from discreet.accounting.objective_choice import (
    least_noise,
    least_ridge,
    printed_noise,
    pure_noise,
    pure_ridge,
    remaining,
    shared_ratio,
    tail_of,
)
from discreet.accounting.objective_perturbation import ObjectivePerturbationDpEvent
from discreet.curator import Curator
from discreet.curator.minimise import provable_tolerance
from discreet.mechanisms import Gaussian, Perturbation, PurePerturbation
from discreet.mechanisms.base import Mechanism
from discreet.solvers.base import Ask, Plan, Problem, Solver, Weights, certify
from discreet.solvers.composites import EXACT, composite_of, in_ball, quadratic_of
from discreet.solvers.queries import LinearTerm, NoisySum, Query

__all__ = ["ObjectivePerturbation"]


@dataclass(frozen=True)
class ObjectivePerturbation(Solver):
    r"""Minimise ``sum of losses + ridge/2 |w|^2 + penalty(w) + <b, w>`` with one random ``b``, and release the minimum.

    For losses that are straight where they are steep (logistic, pseudo-Huber, softplus hinge) the whole fit costs
    what one noisy gradient would.  The minimum is certified to a public tolerance, which a little noise pays for.
    Under pure privacy the length of ``b`` is Gamma distributed.

    Parameters
    ----------
    ridge : float or "auto"
        The l2 regularisation of the *sum* of losses; "auto" is the smallest that makes the noise nearly free, or what
        the number of rows and features asks for; with ``penalty=L2(a)`` it is `a`, or the least that privacy allows.
    tolerance_share : float, default=0.02
        The part of mu (of a pure budget) that pays for the tolerance.
    accounting : {"tight", "as_published", "as_lectured"}
        The refined profile; or the noise and ridge of Kifer, Smith and Thakurta (2012), or of Theorem 16.8 of the
        lecture (which is false when a record is replaced, and refused there).

    Notes
    -----
    *Privacy.* Guarantee: the refined profile, priced together with everything bought before.
    Neighbours: those of the curator.  Public: ridge, tolerance.
    Bounded by: the row norm, the slope and the curvature of the loss.
    Proof: ``proofs/objective_perturbation.md``; with a set ``proofs/constrained_objective_perturbation.md``.

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
    composite: ClassVar[bool] = True
    many_outputs: ClassVar[bool] = True
    pure: ClassVar[bool] = True

    ridge: float | Literal["auto"] = "auto"
    tolerance_share: float = 0.02
    accounting: Literal["tight", "as_published", "as_lectured"] = "tight"

    def refuse(self, problem: Problem) -> str | None:
        """Losses without a bounded slope and a second derivative, and sets without an exact projection."""
        loss, penalty = problem.loss, problem.penalty
        if not math.isfinite(loss.lipschitz) or not math.isfinite(loss.smoothness):
            return (
                f"needs a smooth loss with a bounded slope, which {loss.name!r} isn't: take the pseudo-Huber "
                "loss for regression, or 'sufficient_statistics'"
            )
        if penalty is not None and penalty.name not in (*EXACT, "l2"):
            return f"certifies minima for {', '.join(EXACT)} and l2, not for {penalty.name!r}: take 'gradient_descent'"
        bought = not isinstance(problem.spent, NoOpDpEvent)
        if self.accounting != "tight" and (problem.budget.is_pure or loss.n_outputs > 1 or bought):
            return f"has no accounting={self.accounting!r} for pure privacy, softmax or bought bounds: leave it 'tight'"
        return None

    def ratio(self, problem: Problem) -> float:
        """The default ridge over the squared row norm, a function of the budget and of public sizes."""
        budget, shape, n_classes = problem.budget, shape_of(problem.loss)[0], max(problem.loss.n_outputs, 2)
        if self.ridge == "auto" and quadratic_of(problem) is not None:
            found = least_ridge(budget, shape, row_norm=1.0, scale=1.0, n_classes=n_classes)
        else:
            choose = pure_ridge if budget.is_pure else default_ridge
            found = choose(budget, problem.rows, problem.size, shape, n_classes=n_classes)
        return found if isinstance(problem.spent, NoOpDpEvent) else max(found, shared_ratio(budget, shape, n_classes))

    def schedule(self, problem: Problem) -> Mapping[str, Any]:
        """The ridge, and what one row can do."""
        shape, scale = shape_of(problem.loss)
        weight, asked, ratio = problem.bounds.weight, quadratic_of(problem), self.ratio(problem)
        square = scale * weight * problem.radius**2
        ridge, kappa = square * ratio * (1 + 2**-40), 1 / ratio
        wanted = (asked or 0.0) + (0.0 if self.ridge == "auto" else float(self.ridge))
        if isinstance(problem.spent, NoOpDpEvent) and (self.ridge != "auto" or wanted > ridge):
            ridge, kappa = wanted, math.nextafter(square / wanted, math.inf)
        slope = weight * (1.0 if shape == "softmax" and not problem.budget.is_pure else float(problem.loss.lipschitz))
        return {"steps": 1, "ridge": max(ridge, wanted), "kappa": kappa, "shape": shape, "slope": slope,
                "scale": scale * weight}  # fmt: skip

    def queries(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Query]:
        """One sealed linear term, one release."""
        del problem, schedule
        return {"tilt": LinearTerm(), "weights": NoisySum()}

    def plan(self, problem: Problem) -> Plan:
        """The least noise whose event, with everything bought before, stays within the budget."""
        self.check(problem)
        schedule = dict(self.schedule(problem))
        if self.accounting != "tight":
            schedule["ridge"], sigma = self._printed(problem, schedule)
            schedule["kappa"] = math.nextafter(schedule["scale"] * problem.radius**2 / schedule["ridge"], math.inf)
            mechanisms = self._gaussian(problem, schedule, sigma / (schedule["slope"] * problem.radius), sigma)
        elif problem.budget.is_pure:
            mechanisms = self._pure(problem, schedule)
        else:
            noise = least_noise(problem.spent, problem.budget, self._event(problem, schedule, 1.0))
            sigma = math.nextafter(schedule["slope"] * problem.radius * noise, math.inf) * (1 + 2**-50)
            mechanisms = self._gaussian(problem, schedule, noise, sigma)
        tilt: Any = mechanisms["tilt"]
        whole = compose(problem.spent, tilt.event)
        if self.accounting != "tight":
            certify(whole, problem.budget, self.name)
        schedule["slack"] = float(tilt.unit) * math.sqrt(problem.size) / 2
        length = tail_of(tilt.size, problem.size, gaussian=isinstance(tilt, Perturbation))
        schedule["tau"] = 2 * provable_tolerance(
            problem.grid, problem.loss, schedule["ridge"], problem.rows_at_most, length, composite_of(problem)
        )
        return Plan(whole, self.queries(problem, schedule), mechanisms, schedule, problem.budget)

    def _event(self, problem: Problem, schedule: Mapping[str, Any], mu: float) -> ObjectivePerturbationDpEvent:
        return ObjectivePerturbationDpEvent(
            mu, schedule["kappa"], schedule["shape"], problem.budget.neighbors.value, max(problem.loss.n_outputs, 2),
            tolerance_mu=self.tolerance_share * mu,
        )  # fmt: skip

    def _gaussian(self, problem: Problem, schedule: Mapping[str, Any], z: float, sigma: float) -> dict[str, Mechanism]:
        final = Gaussian(math.nextafter(z / self.tolerance_share, math.inf))
        return {"tilt": Perturbation(sigma, self._event(problem, schedule, 1 / z)), "weights": final}

    def _printed(self, problem: Problem, schedule: Mapping[str, Any]) -> tuple[float, float]:
        found = printed_noise(
            self.accounting, problem.budget, ridge=None if self.ridge == "auto" else self.ridge,
            row_norm=problem.radius, lipschitz=schedule["slope"],
            smoothness=problem.bounds.weight * problem.loss.smoothness,
        )  # fmt: skip
        return max(found.lam, 0.0 if self.ridge == "auto" else self.ridge, quadratic_of(problem) or 0.0), found.sigma

    def _pure(self, problem: Problem, schedule: Mapping[str, Any]) -> dict[str, Mechanism]:
        found, rest = pure_noise(
            remaining(problem.budget, problem.spent), schedule["shape"], ridge=schedule["ridge"],
            row_norm=problem.radius, lipschitz=schedule["slope"], scale=schedule["scale"],
            n_classes=max(problem.loss.n_outputs, 2), share=self.tolerance_share,
        )  # fmt: skip
        scale = math.nextafter(found.scale, math.inf) * (1 + 2**-50)
        return {"tilt": PurePerturbation(scale, found.event), "weights": in_ball(rest)}

    def run(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Weights:
        """Tilt, minimise inside the curator, release; then back into the set, if there is one."""
        tilt = ask.tilt(problem.shape)
        composite, slack = composite_of(problem), schedule["slack"]
        minimum = curator.minimise(
            problem.loss,
            schedule["ridge"],
            tilt,
            schedule["tau"],
            slack=slack,
            n_rows=problem.rows_at_most,
            composite=composite,
        )
        weights: Weights = np.asarray(ask.weights(minimum)).reshape(problem.shape)
        return problem.prox(weights) if problem.constrained else weights
