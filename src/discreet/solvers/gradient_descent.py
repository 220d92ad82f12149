"""Private (projected, proximal) gradient descent on the full data: noise on every gradient, then an average."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.curator import Curator
from discreet.solvers.base import Ask, Problem, Solver, Weights
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
    momentum : float, default=0
        Heavy-ball momentum, on released values only.
    average : {"tail", "all", "last"}
        What is returned: the mean of the last half of the iterates, of all, or the last one.

    Notes
    -----
    *Privacy.* Guarantee: ``steps`` Gaussian releases, exactly mu-GDP.  Neighbours: those of the curator.
    Public: steps, step size, clip.  Bounded by: the l2 norm of one row's gradient.  Proof: ``proofs/gdp.md``.

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
    proof: ClassVar[str] = "proofs/gdp.md"
    composite: ClassVar[bool] = True
    many_outputs: ClassVar[bool] = True

    steps: int | Literal["auto"] = "auto"
    step_size: float | Literal["auto"] = "auto"
    momentum: float = 0.0
    average: Literal["tail", "all", "last"] = "tail"

    def schedule(self, problem: Problem) -> Mapping[str, Any]:
        """A hundred steps of one over the smoothness, unless told otherwise."""
        steps = 100 if self.steps == "auto" else self.steps
        size = 1.0 if self.step_size == "auto" else self.step_size
        return {"steps": steps, "step": size / problem.smoothness}

    def queries(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Query]:
        """One noisy gradient for each step."""
        return {"gradient": NoisySum(times=schedule["steps"])}

    def run(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Weights:
        """``w <- prox(w - eta (g + noise))``."""
        eta, steps = schedule["step"], schedule["steps"]
        clip = problem.clip("l2")
        w = problem.start()
        velocity = np.zeros_like(w)
        total, counted = np.zeros_like(w), 0
        first = {"tail": math.ceil(steps / 2), "all": 0, "last": steps - 1}[self.average]
        for t in range(steps):
            g = ask.gradient(curator.gradient(problem.loss, w, clip)).reshape(w.shape)
            velocity = self.momentum * velocity - eta * g
            w = problem.prox(w + velocity, eta)
            if t >= first:
                total, counted = total + w, counted + 1
        return total / counted
