"""Gradient descent on rows that were whitened by their own noisy second moments, bought once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.curator import Clip, Curator, RowBounds
from discreet.mechanisms import Gaussian
from discreet.solvers.base import Ask, Plan, Problem, Solver, Weights
from discreet.solvers.queries import NoisySum, Query
from discreet.solvers.released import goe_level, raised

__all__ = ["WhitenedGradientDescent"]


@dataclass(frozen=True)
class WhitenedGradientDescent(Solver):
    r"""Noisy second moments once, then noisy gradients in the coordinates in which they are the identity.

    A few steps of size one suffice there, and the noise has the shape of the inverse Hessian.  The mean squared norm of
    whitened rows is at most the number of weights, a public number, at which their gradients are clipped.

    Parameters
    ----------
    steps : int, default=20
        Number of gradients.
    share : float, default=0.2
        The part of the budget for second moments.
    radius : float, default=1
        Clip of a whitened row's norm in units of the root of the number of weights.
    floor : float, default=2
        What is added to the eigenvalues, in units of ``s sqrt(p)``; 2 is the spectral norm of the noise.
    momentum : float, default=0
        Heavy-ball momentum, on released values only.

    Notes
    -----
    *Privacy.* Guarantee: ``1 + steps`` Gaussian releases, mu-GDP together.  Neighbours: those of the curator.
    Public: steps, shares, clip.  Bounded by: the squared row norm in Frobenius norm; the clip of a whitened gradient.
    Proof: ``proofs/whitened_gradient_descent.md``.

    Examples
    --------
    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import LogisticLoss
    >>> from discreet.privacy import Budget
    >>> problem = Problem(LogisticLoss(), RowBounds(l2=1.0), 16, 1000, Budget(1, 1e-6))
    >>> plan = WhitenedGradientDescent(steps=16).plan(problem)
    >>> plan.schedule["clip"], round(plan.mechanisms["gradient"].noise_multiplier, 1)
    (4.0, 18.9)
    """

    name: ClassVar[str] = "whitened_gradient_descent"
    reference: ClassVar[str] = "our own; noisy preconditioners are folklore"
    proof: ClassVar[str] = "proofs/whitened_gradient_descent.md"
    constraint: ClassVar[Literal["none", "optional", "required"]] = "none"
    many_outputs: ClassVar[bool] = True

    steps: int = 20
    share: float = 0.2
    radius: float = 1.0
    floor: float = 2.0
    momentum: float = 0.0

    def refuse(self, problem: Problem) -> str | None:
        """Steps of size one need a smooth loss."""
        if not math.isfinite(problem.loss.smoothness):
            return f"needs a smooth loss, which {problem.loss.name!r} isn't: take its smoothed form"
        return None

    def schedule(self, problem: Problem) -> Mapping[str, Any]:
        """Step size, and the clip of a whitened row's gradient."""
        whitened = self.radius * math.sqrt(problem.n_weights)
        return {
            "steps": self.steps,
            "step": 1.0 / (problem.rows * problem.loss.smoothness * problem.bounds.weight),
            "clip": problem.bounds.weight * problem.lipschitz * whitened,
            "floor": 0.0,
        }

    def queries(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Query]:
        """Second moments once, then a gradient for each step."""
        return {
            "moments": NoisySum(share=self.share),
            "gradient": NoisySum(times=schedule["steps"], share=1 - self.share),
        }

    def plan(self, problem: Problem) -> Plan:
        """Price the queries, then set what is added to the eigenvalues by their noise."""
        plan = super().plan(problem)
        noise = plan.mechanisms["moments"]
        assert isinstance(noise, Gaussian)
        level = goe_level(problem, noise.noise_multiplier) * math.sqrt(problem.n_weights)
        schedule = {**plan.schedule, "floor": self.floor * level}
        return Plan(plan.event, plan.queries, plan.mechanisms, schedule, plan.budget)

    def run(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Weights:
        """Whiten, descend, map back."""
        values, vectors = raised(ask.moments(curator.second_moments()), schedule["floor"] or 1e-9 * problem.rows)
        # P (G / rows) P' is at most the identity where the added floor exceeds the noise
        P = (vectors * np.sqrt(problem.rows / values)) @ vectors.T
        longest = float(np.sqrt(problem.rows / values[0])) * problem.radius
        bounds = RowBounds(l2=longest * (1 + 1e-6), y=problem.bounds.y, weight=curator.bounds.weight)
        whitened = curator.transformed(P, bounds)
        clip = Clip(schedule["clip"], "l2")
        u = np.zeros(problem.shape)
        velocity, total, first = np.zeros_like(u), np.zeros_like(u), schedule["steps"] // 2
        for t in range(schedule["steps"]):
            g = ask.gradient(whitened.gradient(problem.loss, u, clip)).reshape(u.shape)
            velocity = self.momentum * velocity - schedule["step"] * g
            u = u + velocity
            total = total + u if t >= first else total
        found: Weights = total / (schedule["steps"] - first) @ P
        return found
