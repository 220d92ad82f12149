"""Greedy coordinate descent: a private choice of the steepest coordinate, then its noisy derivative."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.accounting.published import strength
from discreet.curator import Clip, Curator
from discreet.solvers.base import Ask, Problem, Solver, Weights
from discreet.solvers.queries import NoisySum, Query, Selection

__all__ = ["GreedyCoordinateDescent"]


@dataclass(frozen=True)
class GreedyCoordinateDescent(Solver):
    r"""Mangold, Bellet, Salmon and Tommasi's DP-GCD: good where the solution has few large coordinates.

    The coordinate with the largest ``|g_j| / sqrt(M_j)`` is chosen by the exponential mechanism, and its derivative
    gets Gaussian noise (Laplace noise for both, as published, costs about twice as much; see the errata page).
    Objectives without a penalty: at the minimum of a composite one the steepest coordinate may have nowhere to go.

    Parameters
    ----------
    steps : int or "auto"
        Number of updates; each touches one coordinate.
    search : float, default=0.5
        The part of the budget that chooses coordinates.
    step_size : float, default=1
        In units of one over the smoothness along the coordinate.

    Notes
    -----
    *Privacy.* Guarantee: one selection of bounded range and one Gaussian release per step.  Neighbours: those of the
    curator.  Public: steps, scales, clips.  Bounded by: each coordinate's own bound over the root of its smoothness.
    Proof: ``proofs/coordinate_descent.md``.

    Examples
    --------
    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import LogisticLoss
    >>> from discreet.privacy import Budget
    >>> problem = Problem(LogisticLoss(), RowBounds(linf=1.0), 50, 1000, Budget(1, 1e-6))
    >>> sorted(GreedyCoordinateDescent(steps=4).plan(problem).mechanisms)
    ['choice', 'value']
    """

    name: ClassVar[str] = "greedy_coordinate_descent"
    reference: ClassVar[str] = "Mangold, Bellet, Salmon, Tommasi 2023 (DP-GCD)"
    proof: ClassVar[str] = "proofs/coordinate_descent.md"
    constraint: ClassVar[Literal["none", "optional", "required"]] = "none"
    pure: ClassVar[bool] = True
    resumes: ClassVar[bool] = True

    steps: int | Literal["auto"] = "auto"
    search: float = 0.5
    step_size: float = 1.0

    def refuse(self, problem: Problem) -> str | None:
        """Only smooth losses have coordinates with a step size."""
        if not math.isfinite(problem.loss.smoothness):
            return f"needs a smooth loss, which {problem.loss.name!r} isn't"
        return None

    def default_steps(self, problem: Problem) -> int:
        """As many coordinates as the budget can tell from noise, ``(n mu / log p)^(2/3) / 4``, from 5 to 100."""
        size = problem.rows * strength(problem.budget) / math.log(2 + problem.size)
        return round(min(max(0.25 * float(size ** (2 / 3)), 5.0), 100.0))

    def schedule(self, problem: Problem) -> Mapping[str, Any]:
        """Steps, the public smoothness of each coordinate, and its clip."""
        grid = problem.grid
        columns = np.array([max(float(grid.column(j) * grid.unit), float(grid.unit)) for j in range(problem.n_weights)])
        return {
            "steps": self.default_steps(problem) if self.steps == "auto" else self.steps,
            "smoothness": problem.rows * problem.loss.smoothness * columns**2,
            "clip": problem.lipschitz * columns,
        }

    def queries(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Query]:
        """A choice and a value in each step."""
        del problem
        times = schedule["steps"]
        return {
            "choice": Selection(times=times, share=self.search),
            "value": NoisySum(times=times, share=1 - self.search),
        }

    def run(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Weights:
        """``j <- argmax |g_j| / sqrt(M_j) + noise``, then ``w_j <- prox(w_j - (g_j + noise) / M_j)``."""
        smooth = schedule["smoothness"]
        clip = Clip(schedule["clip"], norm="per_coordinate")
        w = problem.start()
        cursor = curator.cursor(problem.loss, w)
        for _ in range(schedule["steps"]):
            j = ask.choice(curator.steepness(problem.loss, w, 1 / np.sqrt(smooth), clip))
            step = self.step_size / float(smooth[j])
            w[j] += cursor.move(j, -step * float(ask.value(cursor.partial(j, clip))[0]))
        return w
