"""The last step of a private regression: how far along its direction, and at what level, by two clipped means.

A minimum that is mostly noise points somewhere, and a robust one finds a median where a mean is asked for.  Two weights
are cheap to learn however wide the table: the margins along the direction that was released, and a constant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.published import strength
from discreet.curator import Clip, Curator, RowBounds
from discreet.losses import SquaredLoss
from discreet.solvers.base import Ask, Problem
from discreet.solvers.released import edge_at

__all__ = [
    "SCARCE",
    "Direction",
    "best_clip",
    "calibrated",
    "calibration_bounds",
    "calibration_shares",
    "direction",
    "level_sum",
]

Floats = NDArray[np.float64]
SCARCE = 300.0  # rows times mu: below, the mean is bought first, and clips are parts of the range
FEWEST = 120.0  # rows times mu: below, a mean is hardly known to a tenth of the deviation of targets
MARGIN_BINS, RESIDUAL_BINS = 8, 16  # each twice the one before
QUANTILE = 0.75  # of margins, whose 1.5-fold becomes one
LEAST = 0.25  # variance of margins in their unit: a third where they are normal
MOST = 0.5  # no variance of margins is larger, unless their unit came out too small
OVERFIT = 0.8  # of the part of James and Stein's factor that is due to the rows
PULL = 0.4  # of what cut residuals say of the level, where another release has said it: their cut is one-sided
LEAST_SURE = 1.96  # deviations of a length: below, it is nothing
FARTHEST = 3.0  # how much longer a minimum's slopes may be: signal is cut from residuals from a constant
UNSEEN = 2.0  # how far beyond the best clip of what noisy counts show


def calibration_shares(problem: Problem, *, near: bool, level: float = 0.13) -> dict[str, float]:
    """The parts of mu squared for the releases of this step; `near` says whether a fit comes near to least squares.

    A mean misses by its clip over rows times mu and the root of the share; a tenth of the deviation is 1 % of error.
    Where rows are scarcest, `level` more goes to it.

    >>> from discreet.privacy import Budget
    >>> bounds = RowBounds(l2=1.0, intercept=0.1, y=(-1, 1))
    >>> many = Problem(SquaredLoss(), bounds, 10, 100_000, Budget(1, 1e-6))
    >>> {name: round(share, 2) for name, share in calibration_shares(many, near=True).items()}
    {'margins': 0.02, 'pair': 0.02, 'spread': 0.04, 'last': 0.04}
    >>> sorted(calibration_shares(many, near=False))
    ['last', 'level', 'margins', 'pair']
    """
    signal = problem.rows * strength(problem.budget)
    if near and signal >= SCARCE:
        return {"margins": 0.02, "pair": 0.02, "spread": 0.04, "last": 0.04 + 0.1 * (SCARCE / signal) ** 2}
    dear = min(1.0, (FEWEST / signal) ** 2)
    found = {"margins": 0.03 + 0.02 * dear, "pair": 0.03 + 0.02 * dear, "last": 0.12 + 0.1 * dear}
    return found | ({"level": 0.05 + level * dear} if problem.has_intercept else {})


def calibration_bounds(problem: Problem) -> RowBounds:
    """Rows of one margin, and a constant where there is an intercept.

    >>> from discreet.privacy import Budget
    >>> calibration_bounds(Problem(SquaredLoss(), RowBounds(l2=1.0, y=(-1, 1)), 10, 1000, Budget(1, 1e-6))).l2
    1.25
    """
    constant = 1.0 if problem.has_intercept else 0.0
    few = problem.rows * strength(problem.budget) < SCARCE
    longest = 1.25 if few else 2.5  # long margins cost noise; without them slopes come out too large
    return RowBounds(l2=longest, intercept=constant, weight=problem.bounds.weight, y=problem.bounds.y)


def best_clip(counts: Floats, edges: Floats, noise: float, price: float, n_rows: int) -> float:
    """Where to cut residuals: what is lost beyond, squared, against what the noise costs, `price` times the clip.

    >>> edges = 2.0 ** np.arange(-3.0, 4.0)
    >>> best_clip(np.array([0, 0, 0, 500.0, 400.0, 100.0, 0, 0]), edges, 0.1, 1e-4, 1000)
    8.0
    >>> best_clip(np.array([0, 0, 0, 500.0, 400.0, 100.0, 0, 0]), edges, 0.1, 1.0, 1000)
    2.0
    """
    above = np.cumsum(counts[::-1])[::-1][1:] / n_rows
    slack = 2 * noise * np.sqrt(np.arange(edges.size, 0, -1.0)) / n_rows
    seen = np.where(above > slack, above, 0.0)
    lost = np.cumsum((seen * np.diff(edges, append=edges[-1]))[::-1])[::-1]
    return min(UNSEEN * float(edges[(lost**2 + (price * edges) ** 2).argmin()]), float(edges[-1]))


@dataclass(frozen=True)
class Direction:
    """Rows seen along one direction: margins in a released unit, with their mean weight, mean and variance.

    Examples
    --------
    >>> Direction(np.array([1.0]), 2.0, None, 1.0, 0.0, 0.5).slopes(3.0)
    array([1.5])
    """

    way: Floats
    unit: float
    view: Any
    weight: float
    lean: float
    square: float

    def slopes(self, length: float) -> Floats:
        """Those that change by `length` for each unit of the margins."""
        return length / self.unit * self.way

    def length(self, start: float, off: Floats, noise: float, guess: float = 0.0) -> float:
        """The least-squares slope on margins, beyond `start`, or a longer `guess` within limits; 0 if maybe noise."""
        first = float(off[0]) - (self.lean * float(off[1]) if off.size > 1 else 0.0)
        moved = first / (self.weight * self.square) * min(MOST / self.square, 1.0)  # if long ones are cut
        found = max(start + moved, 0.0)
        deviation = noise * math.hypot(1.0, self.lean) / (self.weight * self.square)
        sure = found / deviation - LEAST_SURE if deviation > 0 else math.inf
        if sure <= 0:
            return 0.0
        return min(max(guess, found), min(1.0 + 2 * sure, FARTHEST) * found)


def direction(problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask, slopes: Floats) -> Direction:
    """Buy the usual size of margins along released slopes, and their second moments with the constant."""
    size, bounds = float(np.linalg.norm(slopes)), schedule["view"]
    way = slopes / size if size > 0 and math.isfinite(size) else np.eye(slopes.size)[0]
    # squared margins: residuals from targets that are nothing, times the length of a row of one entry
    whole = RowBounds(l2=problem.radius, weight=bounds.weight, y=(0.0, 2.0**-30))
    margins = curator.transformed(way[None, :], whole, target_factor=2.0**-60)
    edges = problem.radius**2 * 4.0 ** np.arange(1.0 - MARGIN_BINS, 1.0)
    counts = np.asarray(ask.margins(margins.slope_histogram(SquaredLoss(), np.ones(1), edges)))
    unit = 1.5 * math.sqrt(edge_at(counts, edges, QUANTILE, schedule["count of margins"], problem.rows))
    view = curator.transformed(way[None, :] / unit, bounds)
    sealed = view.second_moments()
    pair, noise = np.atleast_2d(ask.pair(sealed)) / problem.rows, ask.deviation("pair", sealed) / problem.rows
    weight, lean = 1.0, 0.0
    if problem.has_intercept:
        weight = 1.0 if abs(pair[1, 1] - 1) < 5 * noise else max(float(pair[1, 1]), noise, 1e-3)
        lean = float(pair[0, 1]) / weight
    square = max(float(pair[0, 0]) / weight - lean**2, noise / weight, LEAST)
    ask.released["way"], ask.released["unit"] = way, unit
    return Direction(way, unit, view, weight, lean, square)


def level_sum(problem: Problem, bounds: RowBounds, curator: Curator, middle: float, reach: float) -> Any:
    """The sealed sum of what targets, that lie within `reach` of the middle of their range, lie above it."""
    constant = RowBounds(l2=2.0**-8, intercept=1.0, weight=bounds.weight, y=problem.bounds.y)
    alone = curator.transformed(np.zeros((1, problem.n_weights - problem.has_intercept)), constant)
    return alone.gradient(SquaredLoss(), np.array([0.0, middle]), Clip(bounds.weight * reach, "l2"))


def calibrated(
    problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask, fit: tuple[Floats, float, float]
) -> tuple[Floats, float]:
    """Slopes times a factor, and the level, both of least squares on the margins alone.

    `fit` has released slopes and level, and the usual size of residuals.  Residuals (where rows are few, from the mean
    alone) are cut at a released clip.  A length below its noise is 0; the level is drawn to the middle of the range by
    as much as its noise is comparable with that range.
    """
    slopes, level, usual = fit
    size, bounds, largest = float(np.linalg.norm(slopes)), schedule["view"], schedule["largest"]
    seen = direction(problem, schedule, curator, ask, slopes)
    theta, clip, noise = np.zeros(seen.view.n_weights), schedule["part of range"] * largest, math.inf
    guess = size * seen.unit if math.isfinite(size) else 0.0
    if "count of residuals" in schedule:
        theta[0], guess = min(guess, 2 * largest), 0.0
        theta[1:] = np.clip(level, -largest, largest) / max(schedule["constant of view"], 0.5)
        edges = 8 * largest * 2.0 ** np.arange(1.0 - RESIDUAL_BINS, 1.0)
        counts = np.asarray(ask.spread(seen.view.slope_histogram(SquaredLoss(), theta, edges)))
        clip = best_clip(counts, edges, schedule["count of residuals"], schedule["price"], problem.rows)
    elif problem.has_intercept:
        sealed = level_sum(problem, bounds, curator, 0.0, largest)
        noise = ask.deviation("level", sealed) / (problem.rows * seen.weight)
        theta[1:] = -float(np.asarray(ask.level(sealed))[-1]) / (problem.rows * seen.weight)
        theta[1:] = np.clip(theta[1:], -largest, largest)
    ask.released["clip"] = clip
    sealed = seen.view.gradient(SquaredLoss(), theta, Clip(clip * bounds.weight, "l2"))
    off, own = -np.asarray(ask.last(sealed)).ravel() / problem.rows, ask.deviation("last", sealed) / problem.rows
    length = seen.length(float(theta[0]), off, own, guess)
    square = length**2 * seen.square * problem.rows  # slopes of few rows fit their noise, and margins don't tell
    length *= max(0.0, 1.0 - OVERFIT * usual**2 * max(slopes.size - 2, 0) / square) if square > 0 else 0.0
    if not problem.has_intercept:
        return seen.slopes(length), 0.0
    level = float(theta[1])
    trust = PULL * noise**2 / (noise**2 + (own / seen.weight) ** 2) if noise < math.inf else 1.0
    level, noise = level + trust * float(off[1]) / seen.weight, min(own / seen.weight, noise)
    level -= seen.lean * (length - float(theta[0]))
    level *= schedule["constant of view"] * largest**2 / (largest**2 + 4 * noise**2)
    return seen.slopes(length), float(np.clip(level, -largest, largest))
