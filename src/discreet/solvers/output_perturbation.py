"""Output perturbation: the exact minimum of a strongly convex objective, plus noise for how far a row moves it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.curator import Curator
from discreet.curator.minimise import provable_tolerance
from discreet.solvers.base import Ask, Problem, Solver, Weights, priced
from discreet.solvers.composites import EXACT, Minimum, composite_of, quadratic_of, spread
from discreet.solvers.queries import Query

__all__ = ["OutputPerturbation"]


@dataclass(frozen=True)
class OutputPerturbation(Solver):
    r"""Chaudhuri, Monteleoni and Sarwate's output perturbation: minimise, then add noise.

    A row moves the minimiser of ``sum of losses + ridge/2 |w|^2 + penalty`` by at most ``L R / ridge``.  The noise has
    that scale in every direction; objective perturbation has it only where the objective is flat.

    Parameters
    ----------
    ridge : float or "auto"
        The l2 regularisation of the *sum* of losses; "auto" balances the noise, which falls with its square, against
        the shrinkage, for weights of norm about one over the row norm.

    Notes
    -----
    *Privacy.* Guarantee: one Gaussian release, exactly mu-GDP (pure: one K-norm release).
    Neighbours: those of the curator.  Public: ridge, tolerance.
    Bounded by: ``(L R + 2 tau) / ridge`` for a row there or not.  Proof: ``proofs/output_perturbation.md``.

    Examples
    --------
    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import LogisticLoss
    >>> from discreet.privacy import Budget
    >>> problem = Problem(LogisticLoss(), RowBounds(l2=1.0), 10, 1000, Budget(1, 1e-6))
    >>> round(OutputPerturbation().plan(problem).mechanisms["weights"].noise_multiplier, 2)
    4.22
    """

    name: ClassVar[str] = "output_perturbation"
    reference: ClassVar[str] = "Chaudhuri, Monteleoni, Sarwate 2011; lecture 16 builds on it"
    proof: ClassVar[str] = "proofs/output_perturbation.md"
    composite: ClassVar[bool] = True
    many_outputs: ClassVar[bool] = True
    pure: ClassVar[bool] = True

    ridge: float | Literal["auto"] = "auto"

    def refuse(self, problem: Problem) -> str | None:
        """Losses that are not smooth and Lipschitz, and sets without an exact projection."""
        loss, penalty = problem.loss, problem.penalty
        if not math.isfinite(loss.lipschitz) or not math.isfinite(loss.smoothness):
            return f"needs a smooth loss with a bounded slope, which {loss.name!r} isn't: take the pseudo-Huber loss"
        if penalty is not None and penalty.name not in (*EXACT, "l2"):
            return f"certifies minima for {', '.join(EXACT)} and l2, not for {penalty.name!r}: take 'gradient_descent'"
        return None

    def schedule(self, problem: Problem) -> Mapping[str, Any]:
        """The ridge and the tolerance."""
        asked = quadratic_of(problem)
        ridge = self.ridge
        if ridge == "auto" and asked is not None:
            ridge = asked
        elif ridge == "auto":
            ridge = self._balanced(problem)
        elif asked is not None:
            ridge += asked
        tau = 2 * provable_tolerance(
            problem.grid, problem.loss, ridge, problem.rows_at_most, 0.0, composite_of(problem)
        )
        return {"steps": 1, "ridge": float(ridge), "tau": tau}

    def _balanced(self, problem: Problem) -> float:
        # smoothness p (moves L R z / ridge)^2 / 2 falls, ridge |w|^2 / 2 with |w| = 1/R rises: equal where
        # ridge^3 = smoothness p (moves L R^2 z)^2, z the noise of one unit-share query
        noise = spread(priced({"weights": Minimum()}, problem)["weights"], problem.size)
        reach = problem.budget.neighbors.moves * problem.bounds.weight * problem.loss.lipschitz * problem.radius**2
        return float((problem.smoothness * problem.size * (reach * noise) ** 2) ** (1 / 3))

    def queries(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Query]:
        """One release of the minimiser."""
        del problem, schedule
        return {"weights": Minimum()}

    def run(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Weights:
        """Minimise inside the curator, add noise, go back into the set."""
        minimum = curator.minimise(
            problem.loss,
            schedule["ridge"],
            tau=schedule["tau"],
            n_rows=problem.rows_at_most,
            composite=composite_of(problem),
        )
        weights: Weights = np.asarray(ask.weights(minimum)).reshape(problem.shape)
        return problem.prox(weights) if problem.constrained else weights
