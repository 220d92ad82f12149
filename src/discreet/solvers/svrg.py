"""SVRG: full gradients now and then, and in between batches that only correct them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.curator import Clip, Curator
from discreet.solvers.base import Ask, Problem, Solver, Weights
from discreet.solvers.queries import NoisySum, Query

__all__ = ["StochasticVarianceReduced"]


@dataclass(frozen=True)
class StochasticVarianceReduced(Solver):
    r"""DP-SVRG of Wang, Ye and Xu, with noise on corrections that shrinks as they do.

    At the anchor ``a`` a noisy full gradient is taken.  Each later step adds a batch's noisy correction: the sum of
    ``gradient_i(w) - gradient_i(a)``.  One row's correction is at most (smoothness times ``|w - a|``) long, so
    clipping it there changes nothing and the noise is in proportion to the distance gone.

    Parameters
    ----------
    rounds : int, default=5
        Anchors, each with a full gradient.
    steps : int or "auto"
        All steps together, over the rounds.
    batch : int or "auto"
        Expected rows of a batch.
    step_size : float, default=1
        In units of one over the smoothness of the sum of losses.
    corrections : float, default=0.3
        The part of the budget that goes to corrections.

    Notes
    -----
    *Privacy.* Guarantee: Gaussian releases and Poisson sampled Gaussian releases, composed.  Neighbours: those of the
    curator.  Public: steps, rate, step size, and the clips, which follow from released weights.  Bounded by: the
    difference of two slopes of one row, clipped.  Proof: ``proofs/svrg.md``.

    Examples
    --------
    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import LogisticLoss
    >>> from discreet.privacy import Budget
    >>> problem = Problem(LogisticLoss(), RowBounds(l2=1.0), 10, 10_000, Budget(1, 1e-6))
    >>> sorted(StochasticVarianceReduced(steps=20).plan(problem).mechanisms)
    ['anchor', 'correction']
    """

    name: ClassVar[str] = "svrg"
    reference: ClassVar[str] = "Wang, Ye, Xu 2017 (DP-SVRG), the comparison of the talk on coordinate descent"
    proof: ClassVar[str] = "proofs/svrg.md"
    composite: ClassVar[bool] = True
    many_outputs: ClassVar[bool] = True
    resumes: ClassVar[bool] = True

    rounds: int = 5
    steps: int | Literal["auto"] = "auto"
    batch: int | Literal["auto"] = "auto"
    step_size: float = 1.0
    corrections: float = 0.3

    def refuse(self, problem: Problem) -> str | None:
        """The correction is short because the loss is smooth."""
        if not math.isfinite(problem.loss.smoothness):
            return f"needs a smooth loss, which {problem.loss.name!r} isn't"
        return None

    def default_steps(self, problem: Problem) -> int:
        """As for full gradients."""
        return problem.descent_steps()

    def schedule(self, problem: Problem) -> Mapping[str, Any]:
        """Steps of a round, rate and step size."""
        steps = self.default_steps(problem) if self.steps == "auto" else self.steps
        inner = max(math.ceil(steps / self.rounds), 2)
        size = max(1024.0, problem.rows / 20) if self.batch == "auto" else float(self.batch)
        return {
            "steps": inner * self.rounds,
            "inner": inner,
            "rate": min(size / problem.rows, 1.0),
            "step": self.step_size / problem.smoothness,
        }

    def queries(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Query]:
        """A full gradient for each anchor; a correction for each step away from it."""
        del problem
        times = self.rounds * (schedule["inner"] - 1)
        return {
            "anchor": NoisySum(times=self.rounds, share=1 - self.corrections),
            "correction": NoisySum(times=times, share=self.corrections, rate=schedule["rate"]),
        }

    def run(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Weights:
        """``v = (batch's corrections) / q + (full gradient at the anchor)``, then a proximal step along v."""
        loss, eta, rate = problem.loss, schedule["step"], schedule["rate"]
        w = problem.start()
        for _ in range(self.rounds):
            anchor, total = w, np.zeros_like(w)
            full = ask.anchor(curator.gradient(loss, anchor, problem.clip("l2"))).reshape(w.shape)
            w = problem.prox(w - eta * full, eta)  # at the anchor itself there is nothing to correct
            total = np.array(w)
            for _ in range(schedule["inner"] - 1):
                clip = Clip(self.longest(problem, float(np.linalg.norm(w - anchor))))
                batch = ask.sample("correction", curator)
                away = ask.correction(batch.gradient(loss, w, clip, reference=anchor)).reshape(w.shape)
                w = problem.prox(w - eta * (full + away / rate), eta)
                total += w
            w = total / schedule["inner"]
        return w

    @staticmethod
    def longest(problem: Problem, distance: float) -> float:
        """How long one row's correction can be when the weights have gone that far."""
        smooth = problem.loss.smoothness * problem.radius * distance
        return max(min(smooth, 2 * problem.lipschitz) * problem.radius, 1e-12 * problem.lipschitz * problem.radius)
