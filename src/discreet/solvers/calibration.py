"""The last step of a private regression: how far along its direction, and at what level, by two clipped means.

A minimum that is mostly noise points somewhere, and a robust one finds a median where a mean is asked for.  Two weights
are cheap to learn however wide the table: the margins along the direction that was released, and a constant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.published import strength
from discreet.curator import Clip, Curator, RowBounds
from discreet.losses import SquaredLoss
from discreet.solvers.base import Ask, Problem
from discreet.solvers.released import edge_at, shrinkage

__all__ = ["best_clip", "calibrated", "calibration_bounds", "calibration_shares"]

Floats = NDArray[np.float64]
SCARCE = 300.0  # rows times mu: below, most of the budget goes to the mean, and its clip is the range
FEWEST = 120.0  # rows times mu: below, a mean is hardly known to a tenth of the deviation of targets
MARGIN_BINS, RESIDUAL_BINS = 8, 16  # each twice the one before
QUANTILE = 0.75  # of margins, whose 1.5-fold becomes one
UNSEEN = 2.0  # how far beyond the best clip of what noisy counts show


def calibration_shares(problem: Problem, *, near: bool) -> dict[str, float]:
    """The parts of mu squared for the releases of this step; `near` says whether a fit comes near to least squares.

    A mean misses by its clip over rows times mu and the root of the share; a tenth of the deviation is 1 % of the error.

    >>> from discreet.privacy import Budget
    >>> many = Problem(SquaredLoss(), RowBounds(l2=1.0, y=(-1, 1)), 10, 100_000, Budget(1, 1e-6))
    >>> {name: round(share, 2) for name, share in calibration_shares(many, near=True).items()}
    {'margins': 0.02, 'pair': 0.02, 'spread': 0.04, 'last': 0.04}
    >>> sorted(calibration_shares(many, near=False))
    ['last', 'level', 'margins', 'pair']
    """
    signal = problem.rows * strength(problem.budget)
    if near and signal >= SCARCE:
        return {"margins": 0.02, "pair": 0.02, "spread": 0.04, "last": 0.04 + 0.1 * (SCARCE / signal) ** 2}
    dear = min(1.0, (FEWEST / signal) ** 2)
    found = {"margins": 0.03 + 0.02 * dear, "pair": 0.03 + 0.01 * dear, "last": 0.1 + 0.1 * dear}
    return found | ({"level": 0.05 + 0.35 * dear} if problem.has_intercept else {})


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
    0.5
    """
    above = np.cumsum(counts[::-1])[::-1][1:] / n_rows
    slack = 2 * noise * np.sqrt(np.arange(edges.size, 0, -1.0)) / n_rows
    seen = np.where(above > slack, above, 0.0)
    lost = np.cumsum((seen * np.diff(edges, append=edges[-1]))[::-1])[::-1]
    return min(UNSEEN * float(edges[(lost**2 + (price * edges) ** 2).argmin()]), float(edges[-1]))


def calibrated(
    problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask, slopes: Floats, level: float
) -> tuple[Floats, float]:
    """Slopes times a factor, and the level, both of least squares on the margins alone.

    `slopes` and `level` are released; residuals from them are cut at a released clip.  A factor that is below its noise
    is 0; the level is drawn to the middle of the range by as much as its noise is comparable with that range.
    """
    size, bounds = float(np.linalg.norm(slopes)), schedule["view"]
    way = slopes / size if size > 0 and math.isfinite(size) else np.eye(slopes.size)[0]
    size = size if math.isfinite(size) else 0.0
    # squared margins: residuals from targets that are nothing, times the length of a row of one entry
    whole = RowBounds(l2=problem.radius, weight=bounds.weight, y=(0.0, 2.0**-30))
    margins = curator.transformed(way[None, :], whole, target_factor=2.0**-60)
    edges = problem.radius**2 * 4.0 ** np.arange(1.0 - MARGIN_BINS, 1.0)
    counts = np.asarray(ask.margins(margins.slope_histogram(SquaredLoss(), np.ones(1), edges)))
    unit = 1.5 * math.sqrt(edge_at(counts, edges, QUANTILE, schedule["count of margins"], problem.rows))
    view = curator.transformed(way[None, :] / unit, bounds)
    lean, square = _pair(problem, view, ask)
    largest, constant = schedule["largest"], float(schedule["constant of view"])
    theta, clip, noise = np.zeros(view.n_weights), schedule["part of range"] * largest, math.inf
    if "count of residuals" in schedule:
        theta[0] = min(size * unit, 2 * largest)
        theta[1:] = np.clip(level, -largest, largest) / constant
        edges = 8 * largest * 2.0 ** np.arange(1.0 - RESIDUAL_BINS, 1.0)
        counts = np.asarray(ask.spread(view.slope_histogram(SquaredLoss(), theta, edges)))
        clip = best_clip(counts, edges, schedule["count of residuals"], schedule["price"], problem.rows)
    elif problem.has_intercept:
        theta[1:], noise = _level(problem, bounds, curator, ask, largest)
    ask.released["way"], ask.released["unit"], ask.released["clip"] = way, unit, clip
    sealed = view.gradient(SquaredLoss(), theta, Clip(clip * bounds.weight, "l2"))
    off = -np.asarray(ask.last(sealed)).ravel() / problem.rows
    own = ask.deviation("last", sealed) / problem.rows
    first = float(off[0]) - (lean * float(off[1]) if problem.has_intercept else 0.0)
    length = max(float(theta[0]) + first / square, 0.0)
    length *= shrinkage(np.array([length]), own * math.hypot(1.0, lean) / square)
    if not problem.has_intercept:
        return length / unit * way, 0.0
    level = float(theta[1])
    if noise == math.inf:
        level, noise = level + float(off[1]), own
    level -= lean * (length - float(theta[0]))
    level *= constant * largest**2 / (largest**2 + 4 * noise**2)
    return length / unit * way, float(np.clip(level, -largest, largest))


def _pair(problem: Problem, view: Curator, ask: Ask) -> tuple[float, float]:
    """The noisy mean of margins, 0 if noise explains it, and their variance, no less than its noise."""
    sealed = view.second_moments()
    found, noise = np.atleast_2d(ask.pair(sealed)) / problem.rows, ask.deviation("pair", sealed) / problem.rows
    lean = float(found[0, 1]) if problem.has_intercept else 0.0
    lean *= shrinkage(np.array([lean]), noise)
    return lean, max(float(found[0, 0]) - lean**2, noise, 0.25)


def _level(problem: Problem, bounds: RowBounds, curator: Curator, ask: Ask, largest: float) -> tuple[float, float]:
    """The noisy mean of the targets around the middle of their range, and the deviation of its noise."""
    constant = RowBounds(l2=2.0**-8, intercept=1.0, weight=bounds.weight, y=bounds.y)
    alone = curator.transformed(np.zeros((1, problem.n_weights - problem.has_intercept)), constant)
    sealed = alone.gradient(SquaredLoss(), np.zeros(2), Clip(bounds.weight * largest, "l2"))
    return -float(np.asarray(ask.level(sealed))[-1]) / problem.rows, ask.deviation("level", sealed) / problem.rows
