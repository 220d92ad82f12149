"""Nearest class means from one noisy sum of rows by class: what few rows can pay for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from dp_accounting.dp_event import NoOpDpEvent
from numpy.typing import NDArray

from discreet.accounting.published import pure_part, strength
from discreet.curator import Curator
from discreet.curator.classes import centre_of, class_bound, class_sums, entry_moments, own_margins
from discreet.curator.grid import Grid
from discreet.privacy import Bounded
from discreet.solvers.base import Ask, Plan, Problem, Solver, Weights
from discreet.solvers.queries import NoisySum, Query, VectorSum

__all__ = ["ClassMeans"]

Floats = NDArray[np.float64]
EDGES = (-0.5, 0.0, 0.5)  # of margins, in units in which two class means lie one apart
PLACES = np.array([-0.75, -0.25, 0.25, 0.75])
STEEPEST = 4.0  # what the slope is drawn to where rows say little: classes two deviations apart
FEATURES, ROWS = 20, 10.0  # features, and rows times epsilon for each and class but one, from which a look pays
ENOUGH = 40.0  # rows times what the look costs, for noise of a twentieth of half a box: more isn't spent
INNER = 0.5  # one less the mean square, from which entries are taken to lie inside their box and not at its ends
MIDDLE = 0.9  # how far from the middle of their box entries are taken to be at most
LOOSE = 0.8  # how much less the slope is drawn to what is usual where the means' scatter is no noise


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
    look : float, default=0.08
        At most this part is spent, under pure privacy and with features enough, on where in their box entries lie.
        Where they lie inside it, and nearer to one end, they are cut at as far again from the other.  0: never.

    Notes
    -----
    *Privacy.* Guarantee: two noisy moments of entries, a noisy vector of sums and a noisy histogram.  Neighbours: those
    of the curator.  Public: `share`, `look`, the number of classes; bins and cuts follow from what was released.
    Bounded by: one row's moments, its norm (cut as released) in one block, and one row in one bin.  Proof:
    ``proofs/class_means.md``.

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
    look: float = 0.08

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise ValueError(f"share={self.share!r} must be in (0, 1)")
        if not 0 <= self.look < 1 - self.share:
            raise ValueError(f"look={self.look!r} must be at least 0, and below 1 together with share={self.share!r}")

    def refuse(self, problem: Problem) -> str | None:
        """Losses that aren't about classes."""
        if problem.loss.name not in ("logistic", "softmax", "smoothed_hinge"):
            return f"is for classes, not for loss {problem.loss.name!r}: take 'objective_perturbation'"
        return None

    def schedule(self, problem: Problem) -> Mapping[str, Any]:
        """The number of classes, the norm in which noise is cheaper, and what to spend on where entries lie."""
        grid, d, k = problem.grid, problem.n_features + 1, max(problem.loss.n_outputs, 2)
        cube = grid.feature_linf**2 * (d + 2) <= 3 * (grid.l2**2 - grid.constant**2 + grid.feature_linf**2)
        look = cube and self.look > 0 and problem.budget.is_pure and problem.n_features >= FEATURES
        size = problem.rows * strength(problem.budget)
        share = min(self.look, ENOUGH / size) if look and size >= ROWS * (k - 1) * problem.n_features else 0.0
        return {"steps": 1, "classes": k, "norm": "linf" if cube else "l2", "look": share}

    def queries(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Query]:
        """Where entries lie, the sums by class, and the histogram of margins."""
        del problem
        look = schedule["look"]
        sums = VectorSum(share=1 - self.share - look, norm=schedule["norm"], blocks=schedule["classes"])
        first = {"moments": NoisySum(share=look)} if look else {}
        return {**first, "sums": sums, "margins": NoisySum(share=self.share)}

    def plan(self, problem: Problem) -> Plan:
        """Gaussian noise, or where it is less the pure noise, which costs no delta."""
        found, budget = super().plan(problem), problem.budget
        if budget.is_pure or budget.kind != "dp" or not isinstance(problem.spent, NoOpDpEvent):
            return found
        pure = Solver.plan(replace(self, look=0.0), replace(problem, budget=pure_part(budget)))
        k, (bound, unit) = found.schedule["classes"], class_bound(problem.grid, found.schedule["classes"])
        blank = Bounded(np.zeros(k * (problem.n_features + 1)), bound, unit, budget.neighbors)
        noises: list[Any] = [plan.mechanisms["sums"] for plan in (pure, found)]
        return replace(pure, budget=budget) if noises[0].variance(blank) < noises[1].variance(blank) else found

    def run(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Weights:
        """Cuts, sums, means, margins, then a line through the histogram."""
        k, p, grid = schedule["classes"], problem.n_features, problem.grid
        looked = ask.moments(entry_moments(curator)) if schedule["look"] else [0.0, 0.0]
        box = self._box(np.asarray(looked) / problem.rows, grid)
        middle, half = (0, grid.feature_linf) if box is None else centre_of(grid, box)
        sealed = class_sums(curator, k, box)
        noise = ask.deviation("sums", sealed)
        sums = np.asarray(ask.sums(sealed)).reshape(k, p + 1)
        one = half * grid.size
        counts = np.maximum(sums[:, p] / one, min(2 * noise / one, problem.rows / (2 * k)))
        means = sums[:, :p] / counts[:, None]
        squares = (means**2).sum(axis=1) - p * (noise / counts) ** 2  # the noise's own part taken off
        means, keep, apart = self._separated(means, counts, noise)
        offsets = -(squares - squares.mean()) / (2 * apart) - middle * grid.size * means.sum(axis=1) / apart
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
    def _box(moments: Floats, grid: Grid) -> tuple[int, int] | None:
        """The widest box around the mean of the entries within theirs; None where many lie at the ends of theirs."""
        mean = float(np.clip(moments[0], -MIDDLE, MIDDLE))
        if moments[1] <= INNER:
            return None
        low, high = max(2 * mean - 1, -1.0), min(2 * mean + 1, 1.0)
        return round(low * grid.feature_linf), round(high * grid.feature_linf)

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
    n, w, ridge = found.ravel(), prior.copy(), jitter * np.array([1 - LOOSE * keep**2, 1.0])
    for _ in range(200):  # a concave problem of two weights, by damped Newton steps of a public number
        p = 1 / (1 + np.exp(np.clip(rows @ w, -500, 500)))
        slope = rows.T @ (n * p) - ridge * (w - prior)
        curve = (rows * (n * np.maximum(p * (1 - p), 1e-3))[:, None]).T @ rows + np.diag(ridge)
        step = np.linalg.solve(curve, slope)
        w = w + step / max(1.0, float(np.abs(step).max()))
    half = w[1] / 2 if k == 2 else 0.0
    return max(float(w[0]), 0.0), (np.array([-half, half]) if k == 2 else np.asarray(usual))
