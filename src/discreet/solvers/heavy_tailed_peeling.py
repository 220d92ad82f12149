"""Heavy-tailed sparse regression: truncation, disjoint parts of the rows, Peeling, projection on a ball."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast

from discreet import theory
from discreet.accounting import published
from discreet.curator import Curator
from discreet.curator.blocks import half_step
from discreet.mechanisms import PublishedPeeling
from discreet.mechanisms.base import Mechanism
from discreet.penalties import Sparsity
from discreet.solvers.base import Ask, Problem, Solver, Weights
from discreet.solvers.iterative_hard_thresholding import needs_sparsity
from discreet.solvers.queries import Peel, Query

__all__ = ["HeavyTailedPeeling"]


@dataclass(frozen=True)
class HeavyTailedPeeling(Solver):
    r"""Lecture 16's Algorithm 6 for sparse linear regression with heavy-tailed features and noise.

    Features and targets are truncated at the public bounds of the problem (``RowBounds(linf=K, y=(-K, K))``), and each
    step looks at rows that no other step looks at; so every step may spend the whole budget.

    Parameters
    ----------
    steps : int or "auto"
        Number of parts, and of steps.
    step_size : float, default=0.5
        The eta_0 of the source, for features whose second moment is about 1.
    search : float, default=0.5
        The part of each step's budget that finds the entries; the rest reads them.
    accounting : {"tight", "as_published"}
        Exponential rounds and Gaussian noise, or Laplace noise as printed.

    Notes
    -----
    *Privacy.* Guarantee: that of one step, since a row is in one part only.  Neighbours: those of the curator; where
    the number of rows is private each row is assigned by its own coin.  Public: steps, step size, bounds, radius.
    Bounded by: ``K (K C sqrt(s) + K)`` for an entry of a row's gradient.
    Proof: ``proofs/iterative_hard_thresholding.md``, section 4.

    Examples
    --------
    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import SquaredLoss
    >>> from discreet.privacy import Budget
    >>> bounds = RowBounds(linf=3.0, y=(-3.0, 3.0))
    >>> problem = Problem(SquaredLoss(), bounds, 500, 10**5, Budget(1, 1e-6), penalty=Sparsity(5, radius=1.0))
    >>> plan = HeavyTailedPeeling(steps=8).plan(problem)
    >>> plan.queries["peel"].parts, plan.event == HeavyTailedPeeling(steps=2).plan(problem).event
    (8, True)
    """

    name: ClassVar[str] = "heavy_tailed_peeling"
    reference: ClassVar[str] = "lecture 16, Algorithm 6, Theorem 16.6; Hu, Ni, Xiao, Wang 2022"
    proof: ClassVar[str] = "proofs/iterative_hard_thresholding.md"
    constraint: ClassVar[Literal["none", "optional", "required"]] = "required"
    resumes: ClassVar[bool] = True

    steps: int | Literal["auto"] = "auto"
    step_size: float = 0.5
    search: float = 0.5
    accounting: Literal["tight", "as_published"] = "tight"

    def refuse(self, problem: Problem) -> str | None:
        """Everything that the sensitivity of the source leans on."""
        if problem.loss.name != "squared":
            return f"is for the squared loss, not {problem.loss.name!r}: choose 'peeling'"
        if problem.has_intercept:
            return "has no intercept: set fit_intercept=False, or choose 'peeling'"
        reason = needs_sparsity(problem)
        if reason:
            return reason
        if (cast(Sparsity, problem.penalty).radius or 0.0) < 1:
            return "needs penalty=Sparsity(k, radius=C) with C at least 1, on which its noise is built"
        if problem.bounds.y is None:
            return "truncates targets as well: give their range, bounds_y=(-K, K)"
        return None

    def default_steps(self, problem: Problem) -> int:
        """About log n (``theory.iht_steps``): every step costs rows."""
        return theory.iht_steps(problem.rows)

    def schedule(self, problem: Problem) -> Mapping[str, Any]:
        """Steps, rows of a part, and the largest residual of a model in the ball."""
        steps = self.default_steps(problem) if self.steps == "auto" else self.steps
        ball, (low, high) = cast(Sparsity, problem.penalty), cast(tuple[float, float], problem.bounds.y)
        cap = float(problem.grid.feature_linf * problem.grid.unit)
        residual = cap * cast(float, ball.radius) * math.sqrt(ball.k) + max(abs(low), abs(high))
        m = max(problem.rows // steps, 1)
        return {
            "steps": steps,
            "step": self.step_size / m,
            "slope": math.nextafter(residual * (1 + 2.0**-20), math.inf),
        }

    def queries(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Query]:
        """One Peeling of each part: the parts are disjoint, so one of them is what is paid for."""
        return {"peel": Peel(k=cast(Sparsity, problem.penalty).k, search=self.search, parts=schedule["steps"])}

    def published(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Mechanism] | None:
        """Laplace noise, with the whole epsilon and delta for each part."""
        if self.accounting == "tight":
            return None
        k = cast(Sparsity, problem.penalty).k
        return {"peel": PublishedPeeling(k, *published.lecture_peeling(problem.budget))}

    def run(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Weights:
        """``w <- project(Peeling(w - eta_0/m sum x (<x, w> - y)))``, each time on fresh rows."""
        w, eta = problem.start(), (schedule["step"],) * 2
        for part in ask.parts("peel", curator, schedule["steps"]):  # lines 1 and 2
            half, _ = half_step(part, problem.loss, w, eta, schedule["slope"])  # line 3
            w = problem.prox(ask.peel(half))  # lines 4 and 5
        return w
