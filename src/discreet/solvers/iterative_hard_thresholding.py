"""Iterative hard thresholding by gradient noise: a noisy gradient step, then only the largest weights are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from discreet import theory
from discreet.accounting import published
from discreet.curator import Curator
from discreet.mechanisms import Gaussian
from discreet.mechanisms.base import Mechanism
from discreet.penalties import Sparsity
from discreet.solvers.base import Ask, Problem, Solver, Weights
from discreet.solvers.queries import NoisySum, Query

__all__ = ["IterativeHardThresholding", "needs_sparsity", "sparse_schedule"]


@dataclass(frozen=True)
class IterativeHardThresholding(Solver):
    r"""Lecture 16's Algorithm 4 (Algorithm 3 without noise): gradient, noise on every entry, hard threshold.

    The noise follows the Euclidean norm of a row's gradient.  Where rows are bounded entry by entry it grows with
    the root of the number of features; ``PeelingDescent`` then needs less.

    Parameters
    ----------
    steps : int or "auto"
        Number of gradients.
    step_size : float or "auto"
        In units of one over ``rows * curvature * X^2``, `X` bounding a feature; "auto" is safe for any rows, and
        smaller by up to the number of weights that two sparse models have together.
    accounting : {"tight", "as_published"}
        The least noise that is enough, or Theorem 16.4 with `constant`, where that is enough.
    constant : float, default=32
        The constant that Theorem 16.4 leaves open.

    Notes
    -----
    Inside ``discreet.testing.without_privacy()`` this is Algorithm 3.

    *Privacy.* Guarantee: ``steps`` Gaussian releases, exactly mu-GDP.  Neighbours: those of the curator.
    Public: steps, step size, sparsity, clip.  Bounded by: the l2 norm of one row's gradient.
    Proof: ``proofs/iterative_hard_thresholding.md``.

    Examples
    --------
    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import LogisticLoss
    >>> from discreet.privacy import Budget
    >>> problem = Problem(LogisticLoss(), RowBounds(l2=1.0), 100, 1000, Budget(1, 1e-6), penalty=Sparsity(5))
    >>> round(IterativeHardThresholding(steps=25).plan(problem).mechanisms["gradient"].noise_multiplier, 2)
    21.12
    """

    name: ClassVar[str] = "iterative_hard_thresholding"
    reference: ClassVar[str] = "lecture 16, Algorithms 3 and 4, Theorems 16.4 and 16.5; Wang and Gu 2019"
    proof: ClassVar[str] = "proofs/iterative_hard_thresholding.md"
    constraint: ClassVar[Literal["none", "optional", "required"]] = "required"
    resumes: ClassVar[bool] = True

    steps: int | Literal["auto"] = "auto"
    step_size: float | Literal["auto"] = "auto"
    accounting: Literal["tight", "as_published"] = "tight"
    constant: float = 32.0

    def refuse(self, problem: Problem) -> str | None:
        """Anything but sparsity."""
        return needs_sparsity(problem)

    def default_steps(self, problem: Problem) -> int:
        """A few times log n (``theory.iht_steps``)."""
        return theory.iht_steps(problem.rows, 3.0)

    def schedule(self, problem: Problem) -> Mapping[str, Any]:
        """Steps and step size."""
        steps = self.default_steps(problem) if self.steps == "auto" else self.steps
        return sparse_schedule(problem, steps, self.step_size)

    def queries(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Query]:
        """One noisy gradient for each step."""
        return {"gradient": NoisySum(times=schedule["steps"])}

    def published(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Mechanism] | None:
        """Gaussian noise of Theorem 16.4, with the factor L that it leaves out."""
        if self.accounting == "tight":
            return None
        return {
            "gradient": Gaussian(published.hard_thresholding_noise(problem.budget, schedule["steps"], self.constant))
        }

    def run(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Weights:
        """``w <- trunc(w - eta (g + Z))``."""
        clip, eta = problem.clip("l2"), np.full(problem.n_weights, schedule["step"])
        eta[problem.n_features :] = schedule["intercept_step"]
        w = problem.start()  # line 1
        for _ in range(schedule["steps"]):  # line 2
            half = w - eta * ask.gradient(curator.gradient(problem.loss, w, clip))  # line 3
            w = problem.prox(half)  # line 4; the intercept is not thresholded
        return w


def needs_sparsity(problem: Problem) -> str | None:
    """The reason why a problem isn't one of exact sparsity, or None.

    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import LogisticLoss
    >>> from discreet.privacy import Budget
    >>> needs_sparsity(Problem(LogisticLoss(), RowBounds(l2=1.0), 9, 100, Budget(1, 1e-6), penalty=Sparsity(10)))
    'keeps 10 weights, and there are 9 features: lower the sparsity'
    """
    if not isinstance(problem.penalty, Sparsity):
        return "keeps a public number of weights: give penalty=Sparsity(k), or choose 'frank_wolfe' for an l1 ball"
    if problem.penalty.k > problem.n_features:
        return f"keeps {problem.penalty.k} weights, and there are {problem.n_features} features: lower the sparsity"
    return None


def sparse_schedule(problem: Problem, steps: int, step_size: float | Literal["auto"]) -> dict[str, Any]:
    """Steps, and the step size in real units.

    On models with `k` weights a sum of losses is smooth with at most ``rows * curvature * min(2 k X^2, R^2)``, `X`
    bounding a feature and `R` a row.  The intercept has a step of its own; beside it "auto" halves both, since two
    blocks together are at most twice as smooth as each.

    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import SquaredLoss
    >>> from discreet.privacy import Budget
    >>> problem = Problem(SquaredLoss(), RowBounds(linf=1.0), 100, 10, Budget(1, 1e-6), penalty=Sparsity(5), slope=1.0)
    >>> sparse_schedule(problem, 3, "auto")["step"], sparse_schedule(problem, 3, 1.0)["step"]
    (0.01, 0.1)
    """
    assert isinstance(problem.penalty, Sparsity)
    grid, whole = problem.grid, problem.rows * problem.loss.smoothness
    entry, constant = (float(size * grid.unit) ** 2 for size in (grid.feature_linf, grid.constant))
    if step_size == "auto":
        row = max(problem.radius**2 - constant, entry)
        step = (0.5 if constant else 1.0) / (whole * min(2 * problem.penalty.k * entry, row))
    else:
        step = step_size / (whole * entry)
    own = 0.5 / (whole * constant) if constant else step
    return {"steps": steps, "step": step, "intercept_step": own, "slope": problem.lipschitz}
