"""Least squares from noisy second moments: AdaSSP, and its successor that needs no eigenvalue query."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.accounting import published_regression as published
from discreet.curator import Clip, Curator
from discreet.curator.eigenvalue import smallest_eigenvalue
from discreet.mechanisms import Gaussian
from discreet.mechanisms.base import Mechanism
from discreet.solvers.base import Ask, Plan, Problem, Solver, Weights
from discreet.solvers.queries import NoisySum, Query
from discreet.solvers.released import goe_level, minimise_quadratic, raised

__all__ = ["SufficientStatistics"]


@dataclass(frozen=True)
class SufficientStatistics(Solver):
    r"""Release ``X'X`` and ``X'y`` with Gaussian noise; everything after that is free.

    The noise on ``X'X`` is symmetric (GOE), its negative eigenvalues are cut off, and a ridge of its size is added:
    ``ridge_factor * s * sqrt(p)``, s being the noise off the diagonal.  Sets and penalties are applied to the released
    quadratic, exactly.

    Parameters
    ----------
    share : float, default=0.5
        The part of the budget that goes to ``X'X``.
    ridge_factor : float, default=1
        The ridge in units of the noise.
    accounting : {"tight", "as_published"}
        "as_published" is Wang's AdaSSP (2018): a third for the smallest eigenvalue, and the printed noise and ridge.

    Notes
    -----
    *Privacy.* Guarantee: two (AdaSSP: three) Gaussian releases, mu-GDP together.  Neighbours: those of the curator.
    Public: shares, the range of the target.  Bounded by: the squared row norm in Frobenius norm; row norm times the
    range of the target.  Proof: ``proofs/sufficient_statistics.md``.

    Examples
    --------
    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import SquaredLoss
    >>> from discreet.privacy import Budget
    >>> problem = Problem(SquaredLoss(), RowBounds(l2=1.0, y=(-1, 1)), 10, 1000, Budget(1, 1e-6))
    >>> plan = SufficientStatistics().plan(problem)
    >>> round(plan.mechanisms["gram"].noise_multiplier, 3), round(plan.schedule["ridge"], 2)
    (5.975, 13.36)
    """

    name: ClassVar[str] = "sufficient_statistics"
    reference: ClassVar[str] = "Wang 2018 (AdaSSP); Dwork, Talwar, Thakurta, Zhang 2014"
    proof: ClassVar[str] = "proofs/sufficient_statistics.md"
    composite: ClassVar[bool] = True

    share: float = 0.5
    ridge_factor: float = 1.0
    accounting: Literal["tight", "as_published"] = "tight"

    def refuse(self, problem: Problem) -> str | None:
        """Other losses have no sufficient statistics of this size; targets need a range."""
        if problem.loss.name != "squared":
            return f"is for the squared loss, not {problem.loss.name!r}: take 'objective_perturbation'"
        if problem.bounds.y is None:
            return "needs the public range of the target: give bounds_y"
        if problem.penalty is not None and not problem.penalty.is_convex:
            return f"minimises a convex quadratic; {problem.penalty.name!r} isn't convex: take 'peeling'"
        return None

    def schedule(self, problem: Problem) -> Mapping[str, Any]:
        """The largest target; the ridge follows from the noise, in :meth:`plan`."""
        assert problem.bounds.y is not None
        return {"steps": 1, "largest": max(abs(b) for b in problem.bounds.y), "ridge": 0.0}

    def queries(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Query]:
        """Second moments and products with the target; AdaSSP asks for an eigenvalue, too."""
        if self.accounting == "as_published":
            return {name: NoisySum(share=1 / 3) for name in ("eigenvalue", "gram", "cross")}
        return {"gram": NoisySum(share=self.share), "cross": NoisySum(share=1 - self.share)}

    def published(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Mechanism] | None:
        """AdaSSP's three Gaussians."""
        if self.accounting == "tight":
            return None
        noise = published.adassp_noise(problem.budget)
        return {name: Gaussian(noise) for name in ("eigenvalue", "gram", "cross")}

    def plan(self, problem: Problem) -> Plan:
        """Price the queries, then set the ridge by their noise."""
        plan = super().plan(problem)
        gram = plan.mechanisms["gram"]
        assert isinstance(gram, Gaussian)
        level, p = goe_level(problem, gram.noise_multiplier), problem.n_weights
        ridge = self.ridge_factor * level * math.sqrt(p)
        return replace(plan, schedule={**plan.schedule, "ridge": ridge})

    def run(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Weights:
        """Ask, make it positive definite, solve."""
        gram = ask.gram(curator.second_moments())
        zero = np.zeros(problem.n_weights)
        cross = -ask.cross(curator.gradient(problem.loss, zero, Clip(schedule["largest"], "slope")))
        ridge = schedule["ridge"]
        if self.accounting == "as_published":
            ridge = self._adaptive(problem, float(ask.eigenvalue(smallest_eigenvalue(curator))[0]))
        values, vectors = raised(gram, ridge)
        return minimise_quadratic(problem, values, vectors, cross)

    def _adaptive(self, problem: Problem, eigenvalue: float) -> float:
        # Wang 2018, Alg. 2: lower the eigenvalue to where it surely is, and make up for what is missing
        one = problem.budget.neighbors.moves * problem.bounds.weight * problem.radius**2
        lower, wanted = published.adassp_ridge(problem.budget, problem.n_weights)
        return max(0.0, wanted * one - max(eigenvalue - lower * one, 0.0)) + 1e-9 * one
