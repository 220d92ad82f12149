"""Noisy stochastic gradient descent: Poisson batches for the empirical risk, disjoint parts for the population's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.accounting import published_descent
from discreet.accounting.published import strength
from discreet.curator import Clip, Curator
from discreet.mechanisms import Gaussian
from discreet.mechanisms.base import Mechanism
from discreet.solvers.base import Ask, Problem, Solver, Weights
from discreet.solvers.queries import NoisySum, Query

__all__ = ["StochasticGradientDescent"]


@dataclass(frozen=True)
class StochasticGradientDescent(Solver):
    r"""Lecture 19's SGD(m, eta, sigma, T, L), and its one-pass and phased forms.

    Parameters
    ----------
    steps : int or "auto"
        Number of gradients (for ``passes="phased"`` rounded to one less than a power of two).
    batch : int or "auto"
        The *expected* number of rows in a batch; every row joins by a coin of its own.  Not used by the other forms.
    passes : {"poisson", "one", "phased"}
        Poisson batches, with amplification by sampling; or every row in one gradient only, in one pass of even step
        size, or in phases that each have half the rows and a quarter of the step size of the one before.
    step_size : float or "auto"
        Of the step along the gradient of the *sum* of losses; "auto" balances progress against noise.
    clip : {"scale", "drop"}
        What happens to a row whose gradient is too long: shortened, or left out as the lecture prints.
    bound : float or "auto"
        L, the longest gradient of a row; "auto" is the longest there can be, so that nothing is clipped.
    average : {"tail", "all", "last"}
        What is returned of the iterates (for phases: of each phase).
    accounting : {"pld", "as_published"}
        The loss distribution of Poisson sampling, or the noise of `theorem`, refused where it does not hold.
    theorem : {"3.1", "3.2"}
        Which of the lecture's theorems ``"as_published"`` means.

    Notes
    -----
    *Privacy.* Guarantee: Poisson sampled Gaussians, composed; or one Gaussian, in parallel over disjoint parts.
    Neighbours: those of the curator.  Public: steps, rate, step size, clip; not which rows a batch has.  Bounded by:
    the l2 norm of one row's gradient; a batch answers once.  Proof: ``proofs/sgd.md``.

    Examples
    --------
    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import LogisticLoss
    >>> from discreet.privacy import Budget
    >>> problem = Problem(LogisticLoss(), RowBounds(l2=1.0), 10, 10_000, Budget(1, 1e-6))
    >>> round(StochasticGradientDescent(steps=1000, batch=100).plan(problem).mechanisms["gradient"].noise_multiplier, 2)
    1.56
    >>> round(StochasticGradientDescent(passes="one").plan(problem).mechanisms["gradient"].noise_multiplier, 2)
    4.22
    """

    name: ClassVar[str] = "sgd"
    reference: ClassVar[str] = "lecture 19, section 3, Theorems 3.1, 3.2; Bassily et al. 2019; Feldman et al. 2020"
    proof: ClassVar[str] = "proofs/sgd.md"
    composite: ClassVar[bool] = True
    many_outputs: ClassVar[bool] = True
    resumes: ClassVar[bool] = True

    steps: int | Literal["auto"] = "auto"
    batch: int | Literal["auto"] = "auto"
    passes: Literal["poisson", "one", "phased"] = "poisson"
    step_size: float | Literal["auto"] = "auto"
    clip: Literal["scale", "drop"] = "scale"
    bound: float | Literal["auto"] = "auto"
    average: Literal["tail", "all", "last"] = "tail"
    accounting: Literal["pld", "as_published"] = "pld"
    theorem: Literal["3.1", "3.2"] = "3.1"

    def refuse(self, problem: Problem) -> str | None:
        """The printed theorems are about Poisson batches."""
        if self.accounting == "as_published" and self.passes != "poisson":
            return "has published noise for Poisson batches only: set passes='poisson' or accounting='pld'"
        return None

    def rate(self, problem: Problem) -> float:
        """The probability with which a row joins a batch: for twenty passes, and at least 1024 rows."""
        steps = self.default_steps(problem) if self.steps == "auto" else self.steps
        size = max(1024.0, 20 * problem.rows / steps) if self.batch == "auto" else float(self.batch)
        return min(size / problem.rows, 1.0)

    def default_steps(self, problem: Problem) -> int:
        """As for full gradients; of parts fewer, as noise grows with their number (``proofs/sgd.md``, section 4)."""
        if self.passes == "poisson":
            return problem.descent_steps()
        parts = math.pow(problem.descent_steps(50, 10_000), 2 / 3)
        return round(min(parts, max(problem.rows / 4, 1.0)))

    def schedule(self, problem: Problem) -> Mapping[str, Any]:
        """Steps, rate, and the step size that the bound of averaged SGD asks for."""
        steps = self.default_steps(problem) if self.steps == "auto" else self.steps
        rate = self.rate(problem) if self.passes == "poisson" else 1.0
        if self.passes != "poisson":
            steps = 2 ** max(round(math.log2(steps + 1)), 1) - 1 if self.passes == "phased" else steps
            rate = 1 / steps
        longest = problem.lipschitz * problem.radius
        bound = longest if self.bound == "auto" else min(float(self.bound), longest)
        step = self._step(problem, steps, rate, bound) if self.step_size == "auto" else float(self.step_size)
        return {"steps": steps, "rate": rate, "step": step, "bound": bound}

    def _step(self, problem: Problem, steps: int, rate: float, bound: float) -> float:
        """``D / sqrt(2 T V)`` with V the variance of a gradient, from its rows and its noise; at most 1/smoothness."""
        n, mu = problem.rows, strength(problem.budget)
        noise = steps if self.passes == "poisson" else 1 / rate**2  # variance over (bound / mu)^2, per coordinate
        variance = bound**2 * (0.1 * n / rate + problem.size * noise / mu**2)
        return min(problem.distance / math.sqrt(2 * steps * variance), 1 / problem.smoothness)

    def queries(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Query]:
        """A gradient for each batch, or one for each part."""
        del problem
        if self.passes == "poisson":
            return {"gradient": NoisySum(times=schedule["steps"], rate=schedule["rate"])}
        return {"gradient": NoisySum(parts=schedule["steps"])}

    def published(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Mechanism] | None:
        """Theorem 3.1 or 3.2 with constant 1, to be certified by the tight accountant or refused."""
        if self.accounting == "pld":
            return None
        noise = published_descent.sgd_noise(problem.budget, schedule["steps"], schedule["rate"], self.theorem)
        return {"gradient": Gaussian(noise)}

    def run(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Weights:
        """``w <- project(w - eta (sum over the batch + noise) / q)``."""
        w, clip = problem.start(), Clip(schedule["bound"], "l2", self.clip)
        steps, scale = schedule["steps"], 1 / schedule["rate"]
        if self.passes == "poisson":
            batches = (ask.sample("gradient", curator) for _ in range(steps))  # line 1: drawn literally
        else:
            batches = (part for part in ask.parts("gradient", curator, steps))
        eta, left = schedule["step"], steps
        while left:
            phase = (left + 1) // 2 if self.passes == "phased" else left
            first = {"tail": phase // 2, "all": 0, "last": phase - 1}[self.average]
            total = np.zeros_like(w)
            for t in range(phase):
                g = scale * ask.gradient(next(batches).gradient(problem.loss, w, clip)).reshape(w.shape)
                w = problem.prox(w - eta * g, eta)  # line 2
                if t >= first:
                    total += w
            w = total / (phase - first)
            left, eta = left - phase, eta / 4
        return w
