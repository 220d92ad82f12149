"""Least squares by one exact minimum of a robust loss, in paid coordinates and at a paid residual scale."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.objective_choice import shared_ratio
from discreet.accounting.objective_geometry import weight_capped
from discreet.accounting.published import strength
from discreet.curator import Clip, Curator, RowBounds
from discreet.losses import PseudoHuberLoss
from discreet.solvers.base import Ask, Problem, Weights
from discreet.solvers.calibration import calibrated, calibration_bounds, calibration_shares
from discreet.solvers.paid_minimum import SPREAD, PaidMinimum, room, whitens
from discreet.solvers.released import edge_at, goe_level, shrinkage, whitening
from discreet.solvers.whitened_objective_perturbation import WIDEST

__all__ = ["WhitenedRegression"]

Floats = NDArray[np.float64]
BINS = 24  # of residual sizes, each a root of two below the one before, down to 2**-12 of the range
LOSS = PseudoHuberLoss(1.0)  # of targets in units of the threshold
BEND = 0.5  # what is left at least of a square's curvature where a quarter of the rows are beyond the threshold
FLOOR = 0.7  # what is added to the spectrum, in units of the spectral norm of the noise
BLIND = 0.25  # the threshold without a look at residuals, relative to the largest target
WEAK = 20.0  # rows times mu, per weight: below, long rows are cut sooner
WHOLE = 0.8  # what is left of it usually


@dataclass(frozen=True)
class WhitenedRegression(PaidMinimum):
    r"""Whiten the rows by paid second moments, find how large residuals are, minimise a pseudo-Huber loss of that size.

    Rows are mapped to mean squared norm 1 and cut at norm `longest`; beyond `cap` they count less.  A rough first fit
    (paid products with the target) leaves residuals whose `quantile` is read off a noisy histogram.  From
    ``rows * mu / weights = growth`` on, threshold and cap grow with the root of that ratio, so that the minimum
    becomes that of least squares.  Slopes that are below the noise are shrunk to zero (James and Stein), after the
    release.  Where rows times mu are below 12 per weight, rows stay as they are and the threshold is a quarter of the
    range.  Last, length and level are paid for again: least squares of two weights, on the margins.

    Parameters
    ----------
    moments, cross, sizes : float, default=0.12, 0.1, 0.03
        The parts of mu squared that buy second moments, products with the target, and the histogram.
    quantile : float, default=0.75
        The share of rows whose residual, times the length of the row, is below the threshold.
    longest : float, default=4
        Where whitened rows are cut, in units of their root mean square; at most 2 below 20 rows times mu per weight.
    growth : float, default=200
        From where on threshold and cap grow.

    Notes
    -----
    *Privacy.* Guarantee: Gaussian releases composed with the refined profile of one perturbed minimum, and with
    everything bought before.  Neighbours: those of the curator.  Public: all numbers of the plan; maps, thresholds and
    shrinkage are functions of releases.  Bounded by: the squared row norm; the cap on weighted rows times the range of
    the target; one bin for each row; released clips.  Proof: ``proofs/whitened_regression.md``, and of the last step
    ``proofs/calibration.md``.

    Examples
    --------
    >>> from discreet.losses import SquaredLoss
    >>> from discreet.privacy import Budget
    >>> problem = Problem(SquaredLoss(), RowBounds(l2=1.0, y=(-1, 1)), 10, 100_000, Budget(1, 1e-6))
    >>> plan = WhitenedRegression().plan(problem)
    >>> sorted(plan.mechanisms)
    ['cross', 'last', 'margins', 'moments', 'pair', 'sizes', 'spread', 'tilt', 'weights']
    """

    name: ClassVar[str] = "whitened_regression"
    reference: ClassVar[str] = "our own: objective perturbation with paid moments and a paid residual scale"
    proof: ClassVar[str] = "proofs/whitened_regression.md"
    shape: ClassVar[str] = LOSS.name

    moments: float = 0.12
    cross: float = 0.1
    sizes: float = 0.03
    quantile: float = 0.75
    longest: float = 4.0
    growth: float = 200.0

    def __post_init__(self) -> None:
        shares = (self.moments, self.cross, self.sizes)
        if min(shares) <= 0 or sum(shares) >= 0.3 or not 0 < self.quantile < 1 or min(self.longest, self.growth) < 1:
            raise ValueError(f"{self}: shares must be positive and leave 0.7 over, longest, growth at least 1")

    def refuse(self, problem: Problem) -> str | None:
        """Other losses, targets without a range, tables too wide for a released matrix."""
        if problem.loss.name != "squared" or problem.bounds.y is None:
            return f"is for the squared loss, not {problem.loss.name!r}, and needs a range of the target: give bounds_y"
        if problem.budget.kind != "dp":
            return f"is priced by epsilon and delta, not by {problem.budget}: take 'sufficient_statistics'"
        if problem.n_weights > WIDEST:
            return f"releases a matrix of {problem.n_weights} weights squared, above {WIDEST}: take 'gradient_descent'"
        return None

    def schedule(self, problem: Problem) -> Mapping[str, Any]:
        """The whitened rows' bounds, the cap, the ridge and how far the threshold exceeds the quantile."""
        assert problem.bounds.y is not None
        weight, budget = problem.bounds.weight, problem.budget
        signal = problem.rows * strength(budget) / problem.n_weights
        grown = max(math.sqrt(signal / self.growth), 1.0)
        longest = self.longest if signal >= WEAK else min(self.longest, 2.0)  # the ridge is in proportion to it
        cap, largest = min(grown, longest), max(abs(b) for b in problem.bounds.y)
        # the constant's part of the mean squared norm: a half where little more than the level can be learnt
        part = 0.0 if not problem.has_intercept else 0.5 if signal < 5 else 0.2
        bounds = RowBounds(l2=longest, intercept=math.sqrt(part), weight=weight, y=(-(2.0**12), 2.0**12))
        grid = bounds.grid(problem.n_weights - problem.has_intercept)
        radius = float(grid.l2 * grid.unit)
        ridge = room(problem, sum(self.bought(problem).values())) * shared_ratio(budget, LOSS.name)
        ridge *= weight * cap * radius
        (rows,) = weight_capped(cap, radius, ridge=ridge)
        view = calibration_bounds(problem)
        kappa = math.nextafter(weight * rows.kappa, math.inf)
        return {
            "steps": 1, "bounds": bounds, "cap": cap, "ridge": ridge, "kappa": kappa, "part": part,
            "grown": min(grown, 20.0), "slope": weight * rows.row_norm, "largest": largest,
            "clip": weight * cap * largest, "constant": float(grid.constant * grid.unit), "loss": LOSS,
            "view": view, "part of range": min(max(problem.rows * strength(budget) / 200, 0.7), 1.5),
            "constant of view": float(view.grid(1).constant * view.grid(1).unit),
        }  # fmt: skip

    def bought(self, problem: Problem) -> Mapping[str, float]:
        """Moments where rows are whitened; products, a histogram, and what the last step takes."""
        whiten = whitens(problem)
        first = {"moments": self.moments, "cross": self.cross, "sizes": self.sizes} if whiten else {}
        return {**first, **calibration_shares(problem, near=whiten)}

    def noises(self, problem: Problem, schedule: Mapping[str, Any], multipliers: Mapping[str, float]) -> dict[str, Any]:
        """The floor of the spectrum, and the noise of products, counts and the last mean."""
        moves, found = problem.budget.neighbors.moves, {}
        if "moments" in multipliers:
            level = goe_level(problem, multipliers["moments"])
            found["floor"] = 2 * FLOOR * level * math.sqrt(problem.n_weights) / problem.rows
        names = {"count": "sizes", "count of margins": "margins", "count of residuals": "spread"}
        found |= {name: multipliers[key] * moves for name, key in names.items() if key in multipliers}
        found["price"] = multipliers["last"] * moves / problem.rows
        return {**found, "noise of products": multipliers.get("cross", 0.0) * moves * schedule["clip"]}

    def run(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Weights:
        """Whiten, fit roughly, find the threshold, minimise at it, shrink, map back, calibrate."""
        p, whiten = problem.n_weights - problem.has_intercept, "floor" in schedule
        towards, threshold = np.eye(p) * (SPREAD / problem.radius), BLIND * schedule["largest"]
        if whiten:
            towards, threshold = self._whitened(problem, schedule, curator, ask)
        ask.released["towards"], ask.released["threshold"] = towards, threshold
        scaled = curator.transformed(towards, schedule["bounds"], schedule["cap"], target_factor=1 / threshold)
        tilt, facts = ask.tilt(problem.shape), {"slack": schedule["slack"], "n_rows": problem.rows_at_most}
        minimum = scaled.minimise(LOSS, schedule["ridge"], tilt, schedule["tau"], **facts)
        found = threshold * np.asarray(ask.weights(minimum), dtype=np.float64)
        each = problem.rows * (1 - schedule["part"]) / max(p, 1)
        found[:p] *= 1 + schedule["ridge"] / (WHOLE * each)  # the ridge is there for privacy: its bias is public
        found[p:] *= 1 + schedule["ridge"] / (WHOLE * problem.rows * max(schedule["part"], 1e-9))
        if whiten:
            found[:p] *= shrinkage(found[:p], threshold * schedule["sigma"] / (BEND * each))
        level = float(found[p:].sum()) * schedule["constant"]
        usual = threshold / schedule["grown"] if whiten else threshold / 2
        slopes, level = calibrated(problem, schedule, curator, ask, (towards.T @ found[:p], level, usual))
        constant = float(max(problem.grid.constant, 1) * problem.grid.unit)
        return np.append(slopes, level / constant) if problem.has_intercept else slopes

    def _whitened(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> tuple[Any, float]:
        """The map that whitens rows, and the threshold from residuals of a rough fit."""
        p = problem.n_weights - problem.has_intercept
        noisy = np.asarray(ask.moments(curator.second_moments()))[:p, :p]
        towards = whitening(noisy / problem.rows, schedule["floor"], 1 - schedule["part"])
        view = curator.transformed(towards, schedule["bounds"], weight_norm=schedule["cap"])
        products = view.gradient(problem.loss, np.zeros(problem.n_weights), Clip(schedule["clip"], "l2"))
        rough = self._rough(-np.asarray(ask.cross(products)), schedule, problem)
        edges = schedule["largest"] * 2.0 ** (np.arange(1 - BINS, 1) / 2)
        counts = np.asarray(ask.sizes(view.slope_histogram(problem.loss, rough, edges)))
        usual = edge_at(counts, edges, self.quantile, schedule["count"], problem.rows)
        return towards, usual * schedule["grown"]

    def _rough(self, cross: Floats, schedule: Mapping[str, Any], problem: Problem) -> Floats:
        """The fit if whitened rows had second moments as planned, its slopes shrunk."""
        p, part = problem.n_weights - problem.has_intercept, schedule["part"]
        each = problem.rows * (1 - part) / max(p, 1)
        slopes, level = cross[:p] / each, cross[p:] / max(problem.rows * part, 1e-300)
        return np.concatenate([slopes * shrinkage(slopes, schedule["noise of products"] / each), level])
