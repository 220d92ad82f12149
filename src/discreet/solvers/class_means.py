"""Nearest class means from one noisy sum of rows by class: what few rows can pay for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from dp_accounting.dp_event import NoOpDpEvent
from numpy.typing import NDArray

from discreet.accounting.published import pure_part
from discreet.curator import Curator
from discreet.curator.classes import class_bound, class_sums, own_margins
from discreet.privacy import Bounded
from discreet.solvers.base import Ask, Plan, Problem, Solver, Weights
from discreet.solvers.queries import NoisySum, Query, VectorSum

__all__ = ["ClassMeans"]

Floats = NDArray[np.float64]
EDGES = (-0.5, 0.0, 0.5)  # of margins, in units in which two class means lie one apart
PLACES = np.array([-0.75, -0.25, 0.25, 0.75])
STEEPEST = 4.0  # what the slope is drawn to where rows say little: classes two deviations apart


@dataclass(frozen=True)
class ClassMeans(Solver):
    r"""Release the sum of each class, put the boundary midway between means, and fit slope and offset to a histogram.

    One vector of sums, in which a row is in the block of its class only, costs as much for many classes as for one.
    Under pure privacy its noise is that of the K-norm mechanism, for a cube where the rows' bounds are a box: the least
    that is known for such rows.  It is taken for (epsilon, delta), too, where it is less than Gaussian noise.  With few
    rows this beats every method that looks more than once; with many, its straight midway boundary holds it back.

    Parameters
    ----------
    share : float, default=0.15
        The part of the budget that the histogram gets: how many rows of each class lie how far on their own side.

    Notes
    -----
    *Privacy.* Guarantee: a noisy vector of sums and a noisy histogram.  Neighbours: those of the curator.
    Public: `share`, the number of classes; bins follow from the sums.  Bounded by: one row's norm in one block, and one
    row in one bin.  Proof: ``proofs/class_means.md``.

    Examples
    --------
    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import LogisticLoss
    >>> from discreet.privacy import Budget
    >>> problem = Problem(LogisticLoss(), RowBounds(low=0, high=1), 10, 300, Budget(1))
    >>> ClassMeans().plan(problem).mechanisms["sums"]
    KNorm(epsilon=0.85, norm='linf', blocks=2)
    """

    name: ClassVar[str] = "class_means"
    reference: ClassVar[str] = "nearest class means; K-norm mechanism of Hardt and Talwar 2010"
    proof: ClassVar[str] = "proofs/class_means.md"
    constraint: ClassVar[Any] = "none"
    many_outputs: ClassVar[bool] = True
    pure: ClassVar[bool] = True

    share: float = 0.15

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise ValueError(f"share={self.share!r} must be in (0, 1)")

    def refuse(self, problem: Problem) -> str | None:
        """Losses that aren't about classes."""
        if problem.loss.name not in ("logistic", "softmax", "smoothed_hinge"):
            return f"is for classes, not for loss {problem.loss.name!r}: take 'objective_perturbation'"
        return None

    def schedule(self, problem: Problem) -> Mapping[str, Any]:
        """The number of classes, and the norm in which noise is cheaper."""
        grid, d = problem.grid, problem.n_features + 1
        cube = grid.feature_linf**2 * (d + 2) <= 3 * (grid.l2**2 - grid.constant**2 + grid.feature_linf**2)
        return {"steps": 1, "classes": max(problem.loss.n_outputs, 2), "norm": "linf" if cube else "l2"}

    def queries(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Query]:
        """The sums by class, and the histogram of margins."""
        del problem
        sums = VectorSum(share=1 - self.share, norm=schedule["norm"], blocks=schedule["classes"])
        return {"sums": sums, "margins": NoisySum(share=self.share)}

    def plan(self, problem: Problem) -> Plan:
        """Gaussian noise, or where it is less the pure noise, which costs no delta."""
        found, budget = super().plan(problem), problem.budget
        if budget.is_pure or budget.kind != "dp" or not isinstance(problem.spent, NoOpDpEvent):
            return found
        pure = super().plan(replace(problem, budget=pure_part(budget)))
        k, (bound, unit) = found.schedule["classes"], class_bound(problem.grid, found.schedule["classes"])
        blank = Bounded(np.zeros(k * (problem.n_features + 1)), bound, unit, budget.neighbors)
        noises: list[Any] = [plan.mechanisms["sums"] for plan in (pure, found)]
        return replace(pure, budget=budget) if noises[0].variance(blank) < noises[1].variance(blank) else found

    def run(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Weights:
        """Sums, means, margins, then a line through the histogram."""
        k, p, sealed = schedule["classes"], problem.n_features, class_sums(curator, schedule["classes"])
        noise = ask.deviation("sums", sealed)
        sums = np.asarray(ask.sums(sealed)).reshape(k, p + 1)
        one = problem.grid.feature_linf * problem.grid.size
        counts = np.maximum(sums[:, p] / one, min(2 * noise / one, problem.rows / (2 * k)))
        means = sums[:, :p] / counts[:, None]
        squares = (means**2).sum(axis=1) - p * (noise / counts) ** 2  # the noise's own part taken off
        means, keep, apart = self._separated(means, counts, noise)
        offsets = -(squares - squares.mean()) / (2 * apart)
        cells = own_margins(curator, means / apart, offsets, EDGES)
        found = _on_simplex(np.asarray(ask.margins(cells)).reshape(k, -1), float(counts.sum()))
        slope, shift = fitted(found, counts, keep, ask.deviation("margins", cells))
        weights, offsets = slope * means / apart, slope * offsets + shift
        if problem.loss.n_outputs == 1:
            weights, offsets = weights[1] - weights[0], offsets[1] - offsets[0]
        if not problem.has_intercept:
            return np.asarray(weights, dtype=np.float64)
        constant = problem.grid.constant * problem.grid.size
        return np.concatenate([weights, np.asarray(offsets / constant)[..., None]], axis=-1)

    @staticmethod
    def _separated(means: Floats, counts: Floats, noise: float) -> tuple[Floats, float, float]:
        """Means around their centre, which part of their scatter isn't noise, and the usual squared distance of two."""
        p, k, total = means.shape[1], len(means), float(counts.sum())
        around = means - counts @ means / total
        scatter = max(float(counts @ (around**2).sum(axis=1)) / total, 1e-300)
        expected = p * noise**2 * (float((1 / counts).sum()) / total - k / total**2)
        keep = max(1 - expected / scatter, 0.0)
        pairs = 2 * scatter * total**2 / (total**2 - float(counts @ counts))
        return around, keep, max(keep, 0.05) * pairs


def _on_simplex(counts: Floats, total: float) -> Floats:
    """The nearest counts that are at least 0 and add up to `total`.

    >>> _on_simplex(np.array([5.0, -1.0, 2.0]), 6.0)
    array([4.5, 0. , 1.5])
    """
    falling = np.sort(counts.ravel())[::-1]
    over = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    least = float(over[np.flatnonzero(falling > over)[-1]])
    return np.asarray(np.maximum(counts - least, 0.0))


def fitted(found: Floats, counts: Floats, keep: float, jitter: float) -> tuple[float, Floats]:
    """Slope of the margins and offset of each class: logistic regression on a noisy histogram, drawn to what is usual.

    >>> slope, shift = fitted(np.array([[0, 10, 10, 80.0], [0, 10, 10, 80.0]]), np.full(2, 100.0), 1.0, 1.0)
    >>> bool(3 < slope < 8), bool(np.abs(shift).max() < 1e-6)
    (True, True)
    """
    k = len(counts)
    usual = np.log(counts / counts.sum()) * (1 - keep / 2)
    jitter += 8 * jitter**2 / float(counts.sum())
    side = np.array([-1.0, 1.0]) if k == 2 else np.zeros(k)
    rows = np.column_stack([np.tile(PLACES, k), np.repeat(side, PLACES.size)])
    prior = np.array([STEEPEST * keep, (usual[1] - usual[0]) if k == 2 else 0.0])
    n, w = found.ravel(), prior.copy()
    for _ in range(200):  # a concave problem of two weights, by damped Newton steps of a public number
        p = 1 / (1 + np.exp(np.clip(rows @ w, -500, 500)))
        slope = rows.T @ (n * p) - jitter * (w - prior)
        curve = (rows * (n * np.maximum(p * (1 - p), 1e-3))[:, None]).T @ rows + jitter * np.eye(2)
        step = np.linalg.solve(curve, slope)
        w = w + step / max(1.0, float(np.abs(step).max()))
    half = w[1] / 2 if k == 2 else 0.0
    return max(float(w[0]), 0.0), (np.array([-half, half]) if k == 2 else np.asarray(usual))
