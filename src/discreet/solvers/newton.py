"""Newton's method with noise on the gradient and on the Hessian, and steps that can't overshoot."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from discreet.curator import Curator
from discreet.losses import Loss
from discreet.mechanisms import Gaussian
from discreet.solvers.base import Ask, Plan, Problem, Solver, Weights
from discreet.solvers.composites import quadratic_of
from discreet.solvers.queries import NoisySum, Query
from discreet.solvers.released import goe_level, raised

__all__ = ["Newton"]


class Majorant:
    """The logistic loss with the curvature of a parabola that lies above it and touches it at the margin.

    ``c(m) = tanh(m / 2) / (2 m)`` (Jaakkola and Jordan): a Newton step with it can't overshoot.

    Examples
    --------
    >>> from discreet.losses import LogisticLoss
    >>> Majorant(LogisticLoss()).curvature(np.array([0.0, 1.0, -40.0]), np.ones(3)).round(4)
    array([0.25  , 0.2311, 0.0125])
    """

    def __init__(self, loss: Loss) -> None:
        self._loss = loss
        self.lipschitz, self.smoothness, self.n_outputs = loss.lipschitz, loss.smoothness, loss.n_outputs

    def value(self, margin: ArrayLike, y: ArrayLike) -> Any:
        """The loss."""
        return self._loss.value(margin, y)

    def derivative(self, margin: ArrayLike, y: ArrayLike) -> Any:
        """Its slope."""
        return self._loss.derivative(margin, y)

    def curvature(self, margin: ArrayLike, y: ArrayLike) -> Any:
        """The curvature of the parabola."""
        m = np.abs(np.asarray(margin, dtype=np.float64))
        far = m > 1e-4
        safe = np.where(far, m, 1.0)
        return np.where(far, np.tanh(safe / 2) / (2 * safe), 0.25 - m * m / 48)


@dataclass(frozen=True)
class Newton(Solver):
    r"""The double-noise Newton method of Ganesh, Haghifam, Steinke and Guha Thakurta (2023).

    Their second noise is put on the direction, and grows as the regularisation of the Hessian falls; here it is put on
    the Hessian itself (symmetric, GOE), so that its size is known and the eigenvalues are raised after the release.

    Parameters
    ----------
    steps : int, default=6
        Number of steps, each of one noisy gradient and one noisy Hessian.
    share : float, default=0.5
        The part of the budget for Hessians.
    floor : float, default=1
        Eigenvalues are raised to this many times the size ``s sqrt(p)`` of the Hessian's noise.
    curvature : {"auto", "majorant", "hessian"}
        The logistic loss has a parabola above it, with which full steps are safe; with the Hessian a step of length
        ``t`` (in margins) is shortened to ``log(1 + t) / t`` of itself.

    Notes
    -----
    *Privacy.* Guarantee: two Gaussian releases for each step, mu-GDP together.  Neighbours: those of the curator.
    Public: steps, shares, floor.  Bounded by: slope times row norm; curvature times the squared row norm.
    Proof: ``proofs/newton.md``.

    Examples
    --------
    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import LogisticLoss
    >>> from discreet.privacy import Budget
    >>> problem = Problem(LogisticLoss(), RowBounds(l2=1.0), 10, 1000, Budget(1, 1e-6))
    >>> plan = Newton(steps=2).plan(problem)
    >>> round(plan.mechanisms["gradient"].noise_multiplier, 2), round(plan.mechanisms["hessian"].noise_multiplier, 2)
    (8.45, 8.45)
    """

    name: ClassVar[str] = "newton"
    reference: ClassVar[str] = "Ganesh, Haghifam, Steinke, Guha Thakurta 2023"
    proof: ClassVar[str] = "proofs/newton.md"
    constraint: ClassVar[Literal["none", "optional", "required"]] = "none"
    composite: ClassVar[bool] = True
    resumes: ClassVar[bool] = True

    steps: int = 6
    share: float = 0.5
    floor: float = 1.0
    curvature: Literal["auto", "majorant", "hessian"] = "auto"

    def refuse(self, problem: Problem) -> str | None:
        """A Hessian needs a smooth loss; no penalty but a squared norm."""
        loss, penalty = problem.loss, problem.penalty
        if not math.isfinite(loss.smoothness):
            return f"needs a loss with a bounded second derivative, which {loss.name!r} hasn't: take its smoothed form"
        if penalty is not None and penalty.name != "l2":
            return f"takes the l2 penalty only, not {penalty.name!r}: take 'objective_perturbation'"
        if self.curvature == "majorant" and loss.name != "logistic":
            return f"knows a parabola above the logistic loss only, not above {loss.name!r}: take curvature='hessian'"
        return None

    def schedule(self, problem: Problem) -> Mapping[str, Any]:
        """Steps, and which curvature is asked for."""
        majorant = self.curvature == "majorant" or (self.curvature == "auto" and problem.loss.name == "logistic")
        return {"steps": self.steps, "majorant": majorant, "ridge": quadratic_of(problem) or 0.0, "floor": 0.0}

    def queries(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Query]:
        """A gradient and a Hessian for each step."""
        times = schedule["steps"]
        return {
            "gradient": NoisySum(times=times, share=1 - self.share),
            "hessian": NoisySum(times=times, share=self.share),
        }

    def plan(self, problem: Problem) -> Plan:
        """Price the queries, then set the floor of the eigenvalues by their noise."""
        plan = super().plan(problem)
        noise = plan.mechanisms["hessian"]
        assert isinstance(noise, Gaussian)
        level = goe_level(problem, noise.noise_multiplier, problem.loss.smoothness)
        schedule = {**plan.schedule, "floor": self.floor * level * math.sqrt(problem.n_weights)}
        return Plan(plan.event, plan.queries, plan.mechanisms, schedule, plan.budget)

    def run(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Weights:
        """``w <- w - eta H^-1 (g + noise)`` with the raised noisy Hessian."""
        w, ridge = problem.start(), schedule["ridge"]
        bent = Majorant(problem.loss) if schedule["majorant"] else problem.loss
        for _ in range(schedule["steps"]):
            g = ask.gradient(curator.gradient(problem.loss, w, problem.clip("l2"))) + ridge * w
            values, vectors = raised(ask.hessian(curator.second_moments(bent, w)), schedule["floor"], add=False)
            d = vectors @ ((vectors.T @ g) / (values + ridge))
            w = w - d * (1.0 if schedule["majorant"] else _safe(problem.radius * float(np.linalg.norm(d))))
        return w


def _safe(length: float) -> float:
    """Bach's damping for losses whose third derivative is bounded by the second."""
    return math.log1p(length) / length if length > 1e-8 else 1.0
