"""Private (projected, proximal) gradient descent on the full data: noise on every gradient, then an average."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast

import numpy as np
from dp_accounting import dp_event

from discreet import accounting
from discreet.accounting.events import compose
from discreet.accounting.gridded_iteration import gridded_last_iterate_mu
from discreet.accounting.iteration import Conditions
from discreet.curator import Clip, Curator
from discreet.curator.clip import Residuals
from discreet.mechanisms import Gaussian
from discreet.penalties.base import ConstraintSet
from discreet.solvers.base import Ask, Plan, Problem, Solver, Weights
from discreet.solvers.queries import NoisySum, Query

__all__ = ["GradientDescent"]


@dataclass(frozen=True)
class GradientDescent(Solver):
    r"""Bassily, Smith and Thakurta's noisy gradient descent, with full gradients.

    Parameters
    ----------
    steps : int or "auto"
        Number of gradients.
    step_size : float or "auto"
        In units of one over the smoothness of the sum of losses.
    momentum : float or "auto"
        Heavy-ball momentum, on released values only; "auto" makes up for steps that a limit of 500 left out.
    average : {"tail", "all", "last"}
        What is returned: the mean of the last half of the iterates, of all, or the last one.
    hidden : bool, default=False
        Price the last iterate alone (amplification by iteration), where that is cheaper and allowed: a convex set,
        a public number of rows, no average, no momentum.

    Notes
    -----
    *Privacy.* Guarantee: ``steps`` Gaussian releases, exactly mu-GDP; of the last iterate alone if `hidden`.
    Neighbours: those of the curator.  Public: steps, step size, clip.  Bounded by: the l2 norm of one row's gradient.
    Proof: ``proofs/sgd.md``.

    Examples
    --------
    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import LogisticLoss
    >>> from discreet.privacy import Budget
    >>> problem = Problem(LogisticLoss(), RowBounds(l2=1.0), 10, 1000, Budget(1, 1e-6))
    >>> round(GradientDescent(steps=100).plan(problem).mechanisms["gradient"].noise_multiplier, 2)
    42.25
    """

    name: ClassVar[str] = "gradient_descent"
    reference: ClassVar[str] = "Bassily, Smith, Thakurta 2014; lecture 16's third family"
    proof: ClassVar[str] = "proofs/sgd.md"
    composite: ClassVar[bool] = True
    many_outputs: ClassVar[bool] = True
    resumes: ClassVar[bool] = True

    steps: int | Literal["auto"] = "auto"
    step_size: float | Literal["auto"] = "auto"
    momentum: float | Literal["auto"] = "auto"
    average: Literal["tail", "all", "last"] = "tail"
    hidden: bool = False

    def refuse(self, problem: Problem) -> str | None:
        """Losses without a smoothness have no step size; and the conditions of hidden steps."""
        if not math.isfinite(problem.loss.smoothness):
            return f"needs a smooth loss, which {problem.loss.name!r} isn't"
        if self.hidden and not (problem.constrained and problem.penalty is not None and problem.penalty.is_convex):
            return (
                "hides its steps only inside a convex set of allowed weights: give penalty=L2Ball(radius), or another"
            )
        if self.hidden and (problem.has_intercept or problem.loss.n_outputs > 1):
            return "hides its steps only where the set holds all weights: one output, fit_intercept=False"
        if self.hidden and not problem.budget.neighbors.public_n:
            return "hides its steps only where the number of rows, hence the smoothness, is public"
        if self.hidden and (self.average != "last" or self.momentum not in (0, "auto")):
            return "hides its steps only if nothing but the last iterate is returned: average='last', no momentum"
        return None

    def default_steps(self, problem: Problem) -> int:
        """What the bound for noisy descent asks for, from 50 to 500 (``theory.gradient_descent_steps``)."""
        return problem.descent_steps()

    def schedule(self, problem: Problem) -> Mapping[str, Any]:
        """Steps of one over the smoothness; momentum where more of them were wanted than are made."""
        steps = self.default_steps(problem) if self.steps == "auto" else self.steps
        size = 1.0 if self.step_size == "auto" else self.step_size
        missing = 0.0 if self.steps != "auto" or self.hidden else 1 - steps / problem.descent_steps(steps, 10 * steps)
        momentum = missing if self.momentum == "auto" else self.momentum
        return {"steps": steps, "step": size / problem.smoothness, "momentum": momentum}

    def queries(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Query]:
        """One noisy gradient for each step."""
        del problem
        return {"gradient": NoisySum(times=schedule["steps"])}

    def plan(self, problem: Problem) -> Plan:
        """As usual; with `hidden`, the event is that of the last iterate."""
        if not self.hidden:
            return super().plan(problem)
        self.check(problem)
        schedule = self.schedule(problem)
        noise = accounting.calibrate(lambda z: compose(problem.spent, self._last(problem, schedule, z)), problem.budget)
        whole = compose(problem.spent, self._last(problem, schedule, noise))
        mechanisms = {"gradient": Gaussian(noise)}
        return Plan(whole, self.queries(problem, schedule), mechanisms, schedule, problem.budget)

    def _last(self, problem: Problem, schedule: Mapping[str, Any], noise: float) -> dp_event.DpEvent:
        """The event of the last iterate: Bok, Su, Altschuler 2024, with the slack of the grid."""
        residuals = Residuals(problem.loss, problem.grid, self._clip(problem))
        p, unit = problem.size, float(residuals.gradient_unit)
        allowed = cast(ConstraintSet, problem.penalty)
        diameter, far = allowed.diameter("l2", p), allowed.radius_in("l2", p)
        rounding = problem.rows * problem.radius * float(residuals.unit)  # residuals, half a unit each on both sides
        rounding += 2 * math.sqrt(p) * unit  # the noisy sum, rounded to whole numbers
        rounding += 2.0**-40 * math.sqrt(p) * problem.smoothness * max(far, 1.0)  # weights, on the curator's grid
        mu = gridded_last_iterate_mu(
            schedule["steps"],
            noise,
            conditions=Conditions(True, True, True, True, True),  # each checked in `refuse`, or true of `run`
            step_size=schedule["step"],
            smoothness=problem.smoothness,
            sensitivity=problem.budget.neighbors.moves * problem.lipschitz * problem.radius,
            slack=rounding,
            diameter=diameter,
        )
        return dp_event.GaussianDpEvent(math.nextafter(1 / mu, 0.0))

    @staticmethod
    def _clip(problem: Problem) -> Clip:
        """The slope is what is clipped: the clipped loss is still convex, as hidden steps need and averages like."""
        return Clip(problem.lipschitz, "slope")

    def run(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Weights:
        """``w <- prox(w + momentum (w - w_before) - eta (g + noise))``."""
        eta, steps = schedule["step"], schedule["steps"]
        clip = self._clip(problem)
        w = before = problem.start()
        total, counted = np.zeros_like(w), 0
        first = {"tail": steps // 2, "all": 0, "last": steps - 1}[self.average]
        for t in range(steps):
            g = ask.gradient(curator.gradient(problem.loss, w, clip)).reshape(w.shape)
            before, w = w, problem.prox(w + schedule["momentum"] * (w - before) - eta * g, eta)
            if t >= first:
                total, counted = total + w, counted + 1
        return total / counted
