"""Iterative hard thresholding with Peeling: the largest weights are *chosen* privately, and only they get noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast

import numpy as np

from discreet import theory
from discreet.accounting import published
from discreet.curator import Curator
from discreet.curator.blocks import half_step
from discreet.mechanisms import PublishedPeeling
from discreet.mechanisms.base import Mechanism
from discreet.penalties import Sparsity
from discreet.solvers.base import Ask, Problem, Solver, Weights
from discreet.solvers.iterative_hard_thresholding import needs_sparsity, sparse_schedule
from discreet.solvers.queries import NoisySum, Peel, Query

__all__ = ["PeelingDescent"]


@dataclass(frozen=True)
class PeelingDescent(Solver):
    r"""Hard thresholding made private by Peeling (Cai, Wang and Zhang), on all rows in each step.

    The noise follows the largest *entry* of a row's gradient and the number of weights kept, not the number of
    features, of which only the logarithm remains.

    Parameters
    ----------
    steps : int or "auto"
        Number of gradients.
    step_size : float or "auto"
        As in ``IterativeHardThresholding``.
    search : float, default=0.5
        The part of each step's budget that finds the entries; the rest reads them.
    accounting : {"tight", "as_published"}
        Exponential rounds and Gaussian noise, or Laplace noise as printed with a T-th of epsilon and delta for
        each step.
    intercept_share : float, default=0.1
        The part of the budget for the intercept, which is never thresholded.

    Notes
    -----
    *Privacy.* Guarantee: ``steps`` times k selections of bounded range and one Gaussian release of k entries.
    Neighbours: those of the curator.  Public: steps, step size, sparsity, slope.
    Bounded by: slope times the largest feature, in whole numbers.  Proof: ``proofs/peeling.md`` and
    ``proofs/iterative_hard_thresholding.md``.

    Examples
    --------
    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import LogisticLoss
    >>> from discreet.privacy import Budget
    >>> problem = Problem(LogisticLoss(), RowBounds(linf=1.0), 1000, 10**4, Budget(1, 1e-6), penalty=Sparsity(5))
    >>> plan = PeelingDescent(steps=10).plan(problem)
    >>> plan.mechanisms["peel"].k, bool(18 < plan.mechanisms["peel"].noise_multiplier < 19)
    (5, True)
    """

    name: ClassVar[str] = "peeling"
    reference: ClassVar[str] = "lecture 16, Algorithm 5; Cai, Wang, Zhang 2021; Dwork, Su, Zhang 2021"
    proof: ClassVar[str] = "proofs/peeling.md"
    constraint: ClassVar[Literal["none", "optional", "required"]] = "required"
    resumes: ClassVar[bool] = True

    steps: int | Literal["auto"] = "auto"
    step_size: float | Literal["auto"] = "auto"
    search: float = 0.5
    accounting: Literal["tight", "as_published"] = "tight"
    intercept_share: float = 0.1

    def refuse(self, problem: Problem) -> str | None:
        """Anything but sparsity; printed noise beside an intercept."""
        if self.accounting == "as_published" and problem.has_intercept:
            return "is published without an intercept: set fit_intercept=False or accounting='tight'"
        return needs_sparsity(problem)

    def default_steps(self, problem: Problem) -> int:
        """A few times log n (``theory.iht_steps``)."""
        return theory.iht_steps(problem.rows, 3.0)

    def schedule(self, problem: Problem) -> Mapping[str, Any]:
        """Steps and step size."""
        steps = self.default_steps(problem) if self.steps == "auto" else self.steps
        return sparse_schedule(problem, steps, self.step_size)

    def queries(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Query]:
        """One Peeling for each step, and one number for the intercept."""
        steps, k = schedule["steps"], cast(Sparsity, problem.penalty).k
        if not problem.has_intercept:
            return {"peel": Peel(steps, k=k, search=self.search)}
        share = self.intercept_share
        return {"peel": Peel(steps, 1 - share, k=k, search=self.search), "intercept": NoisySum(steps, share)}

    def published(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Mechanism] | None:
        """Laplace noise, epsilon and delta divided by the number of steps."""
        if self.accounting == "tight":
            return None
        return {
            "peel": PublishedPeeling(
                cast(Sparsity, problem.penalty).k, *published.cai_peeling(problem.budget, schedule["steps"])
            )
        }

    def run(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Weights:
        """``w <- Peeling(w - eta g)``, then into the ball where there is one."""
        w, steps = problem.start(), (schedule["step"], schedule["intercept_step"])
        for _ in range(schedule["steps"]):
            half, own = half_step(curator, problem.loss, w, steps, schedule["slope"])
            kept = ask.peel(half)  # Cai et al.: NoisyHT of the half step
            w = problem.prox(kept if own is None else np.concatenate([kept, ask.intercept(own)]))
        return w
