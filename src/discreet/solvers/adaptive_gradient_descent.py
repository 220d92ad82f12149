"""Gradient descent that chooses on the way how much each step may cost: Lee and Kifer's DP-AGD, in full."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from dp_accounting import dp_event

from discreet import accounting
from discreet.accounting import published_descent
from discreet.accounting.events import compose
from discreet.curator import Curator
from discreet.mechanisms.metered import Metered
from discreet.solvers.base import Ask, Plan, Problem, Solver, Weights, certify
from discreet.solvers.queries import Purse, Query

__all__ = ["AdaptiveGradientDescent"]


@dataclass(frozen=True)
class AdaptiveGradientDescent(Solver):
    r"""Each step buys a noisy gradient and a noisy choice among step sizes; step size 0 says "noise, buy more".

    Then the same gradient is measured again, the two are averaged, and later steps get the larger share.  The run
    ends when the purse is empty, so no number of steps has to be guessed.

    Parameters
    ----------
    steps : int or "auto"
        For how many steps the purse would last if no share ever grew; "auto" is 40.
    growth : float, default=0.5
        Gamma: by how much a share grows when step size 0 was chosen; the source has 0.1.
    n_candidates : int, default=10
        Step sizes above 0 to choose from.
    spacing : {"geometric", "even"}
        How they lie below the largest: each 0.7 of the one above, or evenly as in the source.
    largest_step : float, default=2
        The largest of them at the start: how far the weights may move at once.
    search : float, default=0.5
        The part of a step's price that goes to the choice of its size.
    window : int, default=10
        After that many steps the largest becomes ``1 + growth`` times the largest that was chosen in them.
    average : {"tail", "last"}
        The mean of the last half of the iterates, or the last one as in the source.
    objective_clip : float or "auto"
        The most that one row's loss counts in a choice.
    accounting : {"tight", "as_published"}
        Exponential mechanism and tight conversion, or Laplace noise and the loose conversion of the source.

    Notes
    -----
    *Privacy.* Guarantee: rho-zCDP, with rho the inverse of the conversion to the budget.  Neighbours: those of the
    curator.  Public: the shares' start and growth, candidates, clips.  Bounded by: a zCDP filter that is asked before
    every answer.  Proof: ``proofs/adaptive_gradient_descent.md``.

    Examples
    --------
    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import LogisticLoss
    >>> from discreet.privacy import Budget
    >>> problem = Problem(LogisticLoss(), RowBounds(l2=1.0), 10, 1000, Budget(1, 1e-6))
    >>> plan = AdaptiveGradientDescent(steps=60).plan(problem)
    >>> plan.n_steps, round(plan.mechanisms["purse"].rho, 5)
    (60, 0.02436)
    """

    name: ClassVar[str] = "adaptive_gradient_descent"
    reference: ClassVar[str] = "Lee, Kifer 2018 (DP-AGD)"
    proof: ClassVar[str] = "proofs/adaptive_gradient_descent.md"
    many_outputs: ClassVar[bool] = True
    resumes: ClassVar[bool] = True

    steps: int | Literal["auto"] = "auto"
    growth: float = 0.5
    n_candidates: int = 10
    spacing: Literal["geometric", "even"] = "geometric"
    largest_step: float = 2.0
    search: float = 0.5
    window: int = 10
    average: Literal["tail", "last"] = "tail"
    objective_clip: float | Literal["auto"] = "auto"
    accounting: Literal["tight", "as_published"] = "tight"

    def default_steps(self, problem: Problem) -> int:
        """Forty (the source has 60): the purse is shared out on the way, so little hangs on it."""
        del problem
        return 40

    def refuse(self, problem: Problem) -> str | None:
        """Only smooth losses: the direction of a gradient must be one of descent."""
        if not math.isfinite(problem.loss.smoothness):
            return f"needs a smooth loss, which {problem.loss.name!r} isn't"
        return None

    def schedule(self, problem: Problem) -> Mapping[str, Any]:
        """The price of a step is one of `steps` parts."""
        steps = self.default_steps(problem) if self.steps == "auto" else self.steps
        clip = most_usual_loss(problem) if self.objective_clip == "auto" else self.objective_clip
        return {"steps": steps, "part": 0.5 / steps, "objective_clip": clip}

    def queries(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Query]:
        """One purse; the count is what it could pay for if every answer had the least price there is."""
        del problem
        return {
            "purse": Purse(
                times=math.ceil(1 / (schedule["part"] * min(self.growth, 1.0) * min(self.search, 1 - self.search))) + 2
            )
        }

    def plan(self, problem: Problem) -> Plan:
        """The largest purse that, with everything bought before, stays within the budget."""
        self.check(problem)
        schedule = dict(self.schedule(problem))

        def event(noise: float) -> dp_event.DpEvent:
            return compose(problem.spent, dp_event.ZCDpEvent(0.5 / noise**2))

        if self.accounting == "as_published":
            rho = published_descent.zcdp_share(problem.budget)
        else:
            rho = 0.5 / accounting.calibrate(event, problem.budget) ** 2
        purse = Metered(rho, "gumbel" if self.accounting == "tight" else "laplace")
        whole = compose(problem.spent, purse.event)
        certify(whole, problem.budget, self.name)
        schedule["share"] = rho * schedule["part"]
        return Plan(whole, self.queries(problem, schedule), {"purse": purse}, schedule, problem.budget)

    def run(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Weights:
        """The source's algorithm, with every price asked of the filter before it is paid."""
        loss, clip, most = problem.loss, problem.clip("l2"), schedule["objective_clip"]
        rho_ng, rho_nmax = 2 * (1 - self.search) * schedule["share"], 2 * self.search * schedule["share"]
        up = np.arange(1, self.n_candidates + 1)
        above = up / self.n_candidates if self.spacing == "even" else 0.7 ** (self.n_candidates - up)
        w, largest, chosen = problem.start(), self.largest_step, [0.0]
        path = [w]
        while ask.room("purse", rho_ng, rho_nmax):  # while rho > 0
            sealed = curator.gradient(loss, w, clip)  # g_t <- sum of clipped gradients
            g = ask.purse(sealed, price=rho_ng).reshape(w.shape)  # g~_t <- g_t + N(0, C^2 / 2 rho_ng)
            i = 0
            while i == 0:
                direction = g / max(float(np.linalg.norm(g)), 1e-300)  # the vector kept for averaging stays as it is
                sizes = largest * np.array([0.0, *above])  # Phi
                candidates = np.stack([problem.prox(w - size * direction) for size in sizes])
                scores = curator.objective(loss, candidates, most)  # Omega, clipped sums
                i = ask.purse(scores, price=rho_nmax, select="smallest")  # NoisyMax(-Omega, C_obj, rho_nmax)
                if i > 0:
                    w = candidates[i]
                    chosen.append(float(sizes[i]))
                    path.append(w)
                else:
                    more = self.growth * rho_ng
                    if not ask.room("purse", more, rho_nmax):
                        return self._returned(problem, path)
                    again = ask.purse(sealed, price=more).reshape(w.shape)  # GradAvg
                    g = (rho_ng * g + more * again) / (rho_ng + more)
                    rho_ng = rho_ng + more
            if len(chosen) > self.window:  # alpha_max <- (1 + gamma) max(alpha_t, ..., alpha_{t - tau + 1})
                largest, chosen = (1 + self.growth) * max(chosen[1:]), [0.0]
        return self._returned(problem, path)

    def _returned(self, problem: Problem, path: list[Weights]) -> Weights:
        """The last iterate, or the mean of the later ones: released values, so the mean is free."""
        return path[-1] if self.average == "last" else problem.prox(np.mean(path[len(path) // 2 :], axis=0))


def most_usual_loss(problem: Problem) -> float:
    """A public clip for one row's loss: that of the worst target at margin 0, and of the slope over a row's norm."""
    loss, outputs = problem.loss, problem.loss.n_outputs
    targets = np.asarray(problem.bounds.y if problem.bounds.y is not None else (1.0,), dtype=np.float64)
    margin = np.zeros(targets.shape if outputs == 1 else (*targets.shape, outputs))
    slope = problem.lipschitz * problem.radius
    return float(min(np.max(loss.value(margin, targets)), problem.lipschitz**2 * 8 + 1.0)) + slope
