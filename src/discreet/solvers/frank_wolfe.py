"""Private Frank-Wolfe: over a polytope by private selection of a vertex, over any convex set by a noisy gradient."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast

import numpy as np

from discreet import theory
from discreet.accounting import published
from discreet.curator import Clip, Curator
from discreet.curator.blocks import gradient_blocks
from discreet.mechanisms import NoisyMax
from discreet.mechanisms.base import Mechanism
from discreet.penalties.base import ConstraintSet
from discreet.solvers.base import Ask, Problem, Refusal, Solver, Weights
from discreet.solvers.queries import NoisySum, Query, Selection

__all__ = ["FrankWolfe"]

TYPICAL_CURVATURE = 0.1  # of the bound: real rows bend a loss far less than the worst allowed ones


@dataclass(frozen=True)
class FrankWolfe(Solver):
    r"""Talwar, Thakurta and Zhang's private Frank-Wolfe; with an l1 ball and the squared loss, the private LASSO.

    Parameters
    ----------
    steps : int, "auto" or "theory"
        Number of steps; "theory" is best for the worst data within the bounds, "auto" for data ten times as flat.
    oracle : {"auto", "vertices", "gradient"}
        Choose a vertex by the exponential mechanism (permute-and-flip when delta is 0), or minimise over the set along
        a gradient with Gaussian noise; "auto" does the first where there are vertices.
    residuals : {"clipped", "exact"}
        Whether derivatives are clipped where the problem says so (the squared loss becomes Huber's, with less noise),
        or may be as large as the set allows.
    accounting : {"tight", "as_published", "lecture_16"}
        The least noise that is enough, or the Laplace scale of the paper, or of the lecture, where it is enough.
    intercept_share : float, default=0.1
        The part of the budget for the intercept, which no set bounds: gradient steps beside the selections.

    Notes
    -----
    Inside ``discreet.testing.without_privacy()`` this is the classical algorithm, exactly.

    *Privacy.* Guarantee: adaptive selections of bounded range, or Gaussian releases.  Neighbours: those of the curator.
    Public: the set, steps, bounds.  Bounded by: slope times the largest feature, in whole numbers.
    Proof: ``proofs/frank_wolfe.md``.

    Examples
    --------
    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import LogisticLoss
    >>> from discreet.penalties import L1Ball
    >>> from discreet.privacy import Budget
    >>> problem = Problem(LogisticLoss(), RowBounds(linf=1.0), 1000, 10**4, Budget(1, 1e-6), penalty=L1Ball(5.0))
    >>> FrankWolfe().default_steps(problem), FrankWolfe(steps="theory").default_steps(problem)
    (94, 300)
    """

    name: ClassVar[str] = "frank_wolfe"
    reference: ClassVar[str] = "lecture 16, Algorithms 1 and 2; Talwar, Thakurta, Zhang 2015, Algorithm 2, Theorem 2.6"
    proof: ClassVar[str] = "proofs/frank_wolfe.md"
    constraint: ClassVar[Literal["none", "optional", "required"]] = "required"
    pure: ClassVar[bool] = True

    steps: int | Literal["auto", "theory"] = "auto"
    oracle: Literal["auto", "vertices", "gradient"] = "auto"
    residuals: Literal["clipped", "exact"] = "clipped"
    accounting: Literal["tight", "as_published", "lecture_16"] = "tight"
    intercept_share: float = 0.1

    # what the set says ------------------------------------------------------------------------------------------------
    def refuse(self, problem: Problem) -> str | None:
        """Sets that are not convex or without end; printed noise where the source has none."""
        region = _region(problem)
        if not region.is_convex or not math.isfinite(region.radius_in("l2", problem.n_features)):
            return "needs a bounded convex set: give penalty=L1Ball(radius), or choose 'peeling' for exact sparsity"
        if self.accounting != "tight" and (not self._vertices(problem) or problem.has_intercept):
            return (
                "is published for a set with vertices and no intercept: set fit_intercept=False or accounting='tight'"
            )
        return None

    def _vertices(self, problem: Problem) -> bool:
        region, p = _region(problem), problem.n_features
        if self.oracle == "gradient" or (self.oracle == "auto" and region.n_vertices(p) is None):
            return False
        try:
            return len(region.vertex_map(p)) > 0
        except (TypeError, ValueError) as error:  # it may have corners, and too many for exact scores
            if self.oracle == "auto":
                return False
            raise Refusal(f"{self.name!r} can't choose among vertices here: {error}") from error

    def _slope(self, problem: Problem) -> float:
        """The largest derivative: the clip, or what the loss can have on the set."""
        loss, clip = problem.loss, problem.slope
        if (clip is not None and self.residuals == "clipped") or math.isfinite(loss.lipschitz):
            return problem.lipschitz
        y = problem.bounds.y
        if problem.has_intercept or y is None:
            raise Refusal(f"{self.name!r} needs bounds_y and fit_intercept=False for exact residuals of {loss.name!r}")
        largest = loss.lipschitz_on(self._reach(problem), max(abs(y[0]), abs(y[1])))
        if not math.isfinite(largest):
            raise Refusal(f"{self.name!r} can't bound the slope of {loss.name!r}: give a clip (residuals='clipped')")
        return math.nextafter(largest * (1 + 2.0**-20), math.inf)  # weights and targets lie on grids of 2^-20 and finer

    def _reach(self, problem: Problem, how: Literal["radius_in", "diameter"] = "radius_in") -> float:
        """The largest margin on the set, or the largest distance between two."""
        size, p, grid = getattr(_region(problem), how), problem.n_features, problem.grid
        entry = float(grid.feature_linf * grid.unit)
        return float(min(entry * size("l1", p), problem.radius * size("l2", p)))

    # the plan ---------------------------------------------------------------------------------------------------------
    def default_steps(self, problem: Problem, most: int = 300) -> int:
        """The step count with the smallest error bound (``theory.private_frank_wolfe_steps`` and its kin)."""
        region, p, slope = _region(problem), problem.n_features, self._slope(problem)
        size = published.strength(problem.budget)
        flat = 1.0 if self.steps == "theory" else TYPICAL_CURVATURE
        curvature = flat * problem.rows * problem.loss.smoothness * self._reach(problem, "diameter") ** 2
        moves = problem.budget.neighbors.moves
        if not self._vertices(problem):
            shift = moves * slope * problem.radius
            return theory.gaussian_frank_wolfe_steps(curvature, region.gaussian_width(p), shift, size, most=most)
        k, spread = len(region.vertex_map(p)), 2 * moves * slope * self._reach(problem)
        if problem.budget.is_pure:
            loss = theory.expected_selection_error(k, spread / size, "exponential")
            return min(range(1, most + 1), key=lambda t: 2 * curvature / (t + 2) + loss * t)
        return theory.private_frank_wolfe_steps(curvature, spread, k, size**2 / 2, most=most)

    def schedule(self, problem: Problem) -> Mapping[str, Any]:
        """Steps, the slope bound, and the step of the intercept: one over its own smoothness."""
        steps = self.steps if isinstance(self.steps, int) else self.default_steps(problem)
        constant = float(problem.grid.constant * problem.grid.unit)
        own = problem.rows * problem.loss.smoothness * constant**2
        return {
            "steps": steps,
            "slope": self._slope(problem),
            "vertices": self._vertices(problem),
            "first": 0 if self.accounting == "tight" else 1,  # in print t starts at 1, and the start is never forgotten
            "intercept_step": 1 / own if own else 0.0,
        }

    def queries(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Query]:
        """One selection or one noisy gradient for each step."""
        steps = schedule["steps"]
        if not schedule["vertices"]:
            return {"gradient": NoisySum(times=steps)}
        if not problem.has_intercept:
            return {"vertex": Selection(times=steps)}
        share = self.intercept_share
        return {"vertex": Selection(steps, 1 - share), "intercept": NoisySum(steps, share)}

    def published(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Mechanism] | None:
        """Report-noisy-min with Laplace noise at a printed scale."""
        if self.accounting == "tight":
            return None
        printed = published.lasso_selection if self.accounting == "as_published" else published.lecture_selection
        return {"vertex": NoisyMax(printed(problem.budget, schedule["steps"]))}

    # the run ----------------------------------------------------------------------------------------------------------
    def run(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Weights:
        """``w <- (1 - mu_t) w + mu_t s`` with ``mu_t = 2 / (t + 2)`` and a private ``s``."""
        move = self._towards_vertex if schedule["vertices"] else self._along_gradient
        w = problem.start()  # line 1
        for t in range(schedule["first"], schedule["first"] + schedule["steps"]):  # line 2
            w = move(problem, schedule, curator, ask, w, 2 / (t + 2))
        return w

    def _towards_vertex(
        self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask, w: Weights, mu: float
    ) -> Weights:
        corners, p = _region(problem).vertex_map(problem.n_features), problem.n_features
        g, g_b = gradient_blocks(curator, problem.loss, w, schedule["slope"])
        s = ask.vertex(corners.scores(g), largest=False)  # Talwar et al., Alg. 2 lines 3 and 4
        where, values = corners.sparse_point(s)
        w = w.copy()
        w[:p] *= 1 - mu  # line 5
        w[where] += mu * values
        if g_b is not None:
            w[p:] -= schedule["intercept_step"] * ask.intercept(g_b)
        return w

    def _along_gradient(
        self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask, w: Weights, mu: float
    ) -> Weights:
        p = problem.n_features
        g = ask.gradient(curator.gradient(problem.loss, w, Clip(schedule["slope"], "slope")))  # Theorem 2.6
        moved = (1 - mu) * w[:p] + mu * _region(problem).linear_oracle(g[:p])
        return np.concatenate([moved, w[p:] - schedule["intercept_step"] * g[p:]])


def _region(problem: Problem) -> ConstraintSet:
    return cast(ConstraintSet, problem.penalty)
