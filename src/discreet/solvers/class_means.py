"""Nearest class means from one noisy sum of rows by class: what few rows can pay for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from dp_accounting.dp_event import NoOpDpEvent
from numpy.typing import NDArray

from discreet.accounting.published import pure_part, strength
from discreet.curator import Curator
from discreet.curator.classes import class_bound, class_sums, entry_moments, one_of, own_margins
from discreet.privacy import Bounded
from discreet.solvers.base import Ask, Plan, Problem, Solver, Weights
from discreet.solvers.margin_fit import EDGES, fitted, on_simplex
from discreet.solvers.queries import NoisySum, Query, VectorSum

__all__ = ["ClassMeans"]

Floats = NDArray[np.float64]
PAYS = (20, 10.0)  # features, and rows times epsilon for each and class but one, from which a look pays
PAYS_GAUSSIAN = (10, 5.0)  # with Gaussian noise, where rows are cut in any case
ENOUGH = 40.0  # rows times what the look costs, for noise of a twentieth: more isn't spent
GAUSSIAN = 5.0  # how many times its mu is the epsilon that buys a number with as little noise
TYPICAL = 3**-0.5  # the root of the mean square of entries, in half boxes, where they fill the box evenly
HALFWAY = 0.5  # where rows are cut around: that part of the way from the middle of their box to their mean
LEAST = 0.1  # what part of their length the scatter of rows is taken to be at least


@dataclass(frozen=True)
class ClassMeans(Solver):
    r"""Release the sum of each class, put the boundary midway between means, and fit slope and offset to a histogram.

    One vector of sums, in which a row is in the block of its class only, costs as much for many classes as for one.
    Under pure privacy its noise is that of the K-norm mechanism, for a cube where rows are at the corners of their box
    and for a ball where they lie inside, and are cut to one length: the sum then says in which direction rows lie, and
    long rows have no more weight than others.  Margins are those of whole rows.  Pure noise is taken for
    (epsilon, delta), too, where it is less than Gaussian noise.  With few rows this beats every method that looks more
    than once; with many, its straight midway boundary holds it back.

    Parameters
    ----------
    share : float, default=0.15
        The part of the budget that the histogram gets: how many rows of each class lie how far on their own side.
    look : float, default=0.08
        At most this part is spent, with features enough, on the mean and mean square of entries.  0: never.
    length : float, default=0.7
        What rows inside their box are cut at, in parts of their usual length; with Gaussian noise, all rows.

    Notes
    -----
    *Privacy.* Guarantee: two noisy moments of entries, a noisy vector of sums and a noisy histogram.  Neighbours: those
    of the curator.  Public: `share`, `look`, `length`, the number of classes; bins and cuts follow from what was
    released.  Bounded by: one row's moments, its norm (cut or not) in one block, and one row in one bin.  Proof:
    ``proofs/class_means.md``.

    Examples
    --------
    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import LogisticLoss
    >>> from discreet.privacy import Budget
    >>> problem = Problem(LogisticLoss(), RowBounds(low=0, high=1), 10, 300, Budget(1))
    >>> ClassMeans().plan(problem).mechanisms["sums"]
    KNorm(epsilon=0.85, norm='least', blocks=2)
    """

    name: ClassVar[str] = "class_means"
    reference: ClassVar[str] = "nearest class means; K-norm mechanism of Hardt and Talwar 2010"
    proof: ClassVar[str] = "proofs/class_means.md"
    constraint: ClassVar[Any] = "none"
    many_outputs: ClassVar[bool] = True
    pure: ClassVar[bool] = True

    share: float = 0.15
    look: float = 0.08
    length: float = 0.7

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise ValueError(f"share={self.share!r} must be in (0, 1)")
        if not 0 <= self.look < 1 - self.share:
            raise ValueError(f"look={self.look!r} must be at least 0, and below 1 together with share={self.share!r}")
        if not 0 < self.length <= 1:
            raise ValueError(f"length={self.length!r} must be in (0, 1]")

    def refuse(self, problem: Problem) -> str | None:
        """Losses that aren't about classes."""
        if problem.loss.name not in ("logistic", "softmax", "smoothed_hinge"):
            return f"is for classes, not for loss {problem.loss.name!r}: take 'objective_perturbation'"
        return None

    def schedule(self, problem: Problem) -> Mapping[str, Any]:
        """The number of classes, what to spend on where entries lie, and how long rows are where they are cut."""
        grid, p, k, pure = problem.grid, problem.n_features, max(problem.loss.n_outputs, 2), problem.budget.is_pure
        box = p * grid.feature_linf**2 <= 2 * (grid.l2**2 - grid.constant**2)
        features, rows = PAYS if pure else PAYS_GAUSSIAN
        size = problem.rows * strength(problem.budget) * (1.0 if pure else GAUSSIAN)
        look = box and self.look > 0 and p >= features and size >= rows * (k - 1) * p
        share = min(self.look, ENOUGH / size) if look else 0.0
        return {"steps": 1, "classes": k, "look": share, "always": box and not pure}

    def queries(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Query]:
        """Where entries lie, the sums by class, and the histogram of margins."""
        del problem
        look = schedule["look"]
        sums = VectorSum(share=1 - self.share - look, norm="least", blocks=schedule["classes"])
        first = {"moments": NoisySum(share=look)} if look else {}
        return {**first, "sums": sums, "margins": NoisySum(share=self.share)}

    def plan(self, problem: Problem) -> Plan:
        """Gaussian noise, or where it is less the pure noise, which costs no delta."""
        found, budget = super().plan(problem), problem.budget
        if budget.is_pure or budget.kind != "dp" or not isinstance(problem.spent, NoOpDpEvent):
            return found
        pure = Solver.plan(self, replace(problem, budget=pure_part(budget)))
        cut = self._length(problem, TYPICAL) if found.schedule["always"] else None
        least, gaussian = self._noise(pure, problem, None), self._noise(found, problem, cut)
        return replace(pure, budget=budget) if least < gaussian / (self.length if cut else 1.0) else found

    def _noise(self, plan: Plan, problem: Problem, length: int | None) -> float:
        """The deviation of the noise in sums of rows that are cut at `length` or not."""
        mechanism: Any = plan.mechanisms["sums"]
        return math.sqrt(mechanism.variance(self._blank(problem, length)))

    def _length(self, problem: Problem, usual: float) -> int:
        """What rows are cut at, in grid units, where the root of their entries' mean square is `usual` half boxes."""
        return max(int(self.length * usual * math.sqrt(problem.n_features) * problem.grid.feature_linf), 2)

    @staticmethod
    def _blank(problem: Problem, length: int | None) -> Bounded:
        """Sums of no rows, with the bounds of rows that are cut at `length` or not: what noise is measured by."""
        k = max(problem.loss.n_outputs, 2)
        bound, unit = class_bound(problem.grid, k, length)
        return Bounded(np.zeros(k * (problem.n_features + 1)), bound, unit, problem.budget.neighbors)

    def run(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Weights:
        """A look, sums, means, margins, then a line through the histogram."""
        k, p, grid = schedule["classes"], problem.n_features, problem.grid
        length, centre, whole = self._cut(problem, schedule, curator, ask)
        sealed = class_sums(curator, k, length, centre)
        noise, one = ask.deviation("sums", sealed), one_of(grid, length) * grid.size
        sums = np.asarray(ask.sums(sealed)).reshape(k, p + 1)
        counts = np.maximum(sums[:, p] / one, min(2 * noise / one, problem.rows / (2 * k)))
        means = sums[:, :p] / counts[:, None]
        squares = (means**2).sum(axis=1) - p * (noise / counts) ** 2  # the noise's own part taken off
        means, keep, apart, middle = self._separated(means, counts, noise)
        longer = 1.0 if length is None else max(whole / (length * grid.size), 1.0)  # than cut rows, whole ones are
        scatter = math.sqrt(max(whole**2 - longer**2 * middle, LEAST * whole**2))
        stray = scatter * noise * math.sqrt(float((1 / counts**2).sum()))  # what the noise of means adds to margins
        unit = math.hypot(longer * apart, stray)
        offsets = -longer * (squares - squares.mean()) / (2 * unit) - centre * grid.size * means.sum(axis=1) / unit
        cells = own_margins(curator, means / unit, offsets, EDGES)
        found = on_simplex(np.asarray(ask.margins(cells)).reshape(k, -1), float(counts.sum()))
        jitter, midway = ask.deviation("margins", cells), length is not None
        slope, shift = fitted(found, counts, keep, longer * apart / unit, jitter, midway)
        weights, offsets = slope * means / unit, slope * offsets + shift
        if problem.loss.n_outputs == 1:
            weights, offsets = weights[1] - weights[0], offsets[1] - offsets[0]
        if not problem.has_intercept:
            return np.asarray(weights, dtype=np.float64)
        constant = grid.constant * grid.size
        return np.concatenate([weights, np.asarray(offsets / constant)[..., None]], axis=-1)

    def _cut(
        self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask
    ) -> tuple[int | None, int, float]:
        """What rows are cut at and around, in grid units, and how long they usually are from there."""
        p, grid, mean, square, usual = problem.n_features, problem.grid, 0.0, TYPICAL**2, TYPICAL
        if schedule["look"]:
            looked = np.asarray(ask.moments(entry_moments(curator))) / problem.rows
            mean, square = float(np.clip(looked[0], -1, 1)), float(np.clip(1 - looked[1], 0, 1))
            usual = math.sqrt(max(square - (1 - (1 - HALFWAY) ** 2) * mean**2, LEAST * square, 1e-4))
        length, whole = self._length(problem, usual), ask.deviation("sums", self._blank(problem, None))
        lessened = schedule["look"] and ask.deviation("sums", self._blank(problem, length)) < self.length * whole
        if schedule["always"] or lessened:
            return length, round(HALFWAY * mean * grid.feature_linf), length / self.length * grid.size
        longest = math.sqrt(max(grid.l2**2 - grid.constant**2, 1))
        return None, 0, min(math.sqrt(p * square) * grid.feature_linf, longest) * grid.size

    @staticmethod
    def _separated(means: Floats, counts: Floats, noise: float) -> tuple[Floats, float, float, float]:
        """Means around their own, the part of their scatter that isn't noise, two's usual distance, and their own's.

        Distances are squared.
        """
        p, k, total = means.shape[1], len(means), float(counts.sum())
        centre = counts @ means / total
        around = means - centre
        scatter = max(float(counts @ (around**2).sum(axis=1)) / total, 1e-300)
        expected = p * noise**2 * (float((1 / counts).sum()) / total - k / total**2)
        keep = max(1 - expected / scatter, 0.0)
        pairs = 2 * scatter * total**2 / (total**2 - float(counts @ counts))
        return around, keep, max(keep, 0.05) * pairs, max(float(centre @ centre) - p * k * (noise / total) ** 2, 0.0)
