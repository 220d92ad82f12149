"""Poisson regression by one exact minimum, in paid coordinates and with counts in units of a paid mean."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.objective_choice import shared_ratio
from discreet.accounting.objective_geometry import weight_capped
from discreet.accounting.published import strength
from discreet.curator import Clip, Curator, RowBounds
from discreet.losses import PoissonLoss, SquaredLoss
from discreet.solvers.base import Ask, Problem, Weights
from discreet.solvers.calibration import SCARCE, Direction, calibration_bounds, calibration_shares, direction, level_sum
from discreet.solvers.paid_minimum import SPREAD, PaidMinimum, room, whitens
from discreet.solvers.released import goe_level, whitening, without_ridge
from discreet.solvers.whitened_objective_perturbation import WIDEST

__all__ = ["WhitenedPoisson"]

Floats = NDArray[np.float64]
SHAPE = "two_sided"  # of the curvature: a small count can be steep and curved at once
FLOOR = 0.7  # what is added to the spectrum, in units of the spectral norm of the noise
PART = 0.3  # the constant's part of the mean squared norm


@dataclass(frozen=True)
class WhitenedPoisson(PaidMinimum):
    r"""Whiten the rows by paid second moments, buy the mean count, minimise the Poisson loss of counts in units of it.

    A log link makes slopes as large as the largest count, and a fit that starts at a mean of one would have to climb to
    the level of the counts first.  So counts are divided by a bought mean and cut at `top` of it (or at the end of
    their range, if that is less); the noise is in proportion to that cut.  From ``rows * mu / weights = growth`` on
    `top` and `cap` grow with the root of that ratio.  Slopes that are below the noise are shrunk to zero (James and
    Stein), after the release.

    Parameters
    ----------
    moments, total : float, default=0.12, 0.02
        The parts of mu squared that buy second moments and the sum of sample weights.
    top : float, default=4
        Where counts, and the means that are modelled, are cut, in units of the mean count.
    longest : float, default=2
        Where whitened rows are cut, in units of their root mean square; beyond the cap they count less.
    growth : float, default=80
        From where on the top and the cap grow.

    Notes
    -----
    *Privacy.* Guarantee: Gaussian releases composed with the refined profile of one perturbed minimum, and with
    everything bought before.  Neighbours: those of the curator.  Public: all numbers of the plan; the map, the unit of
    the counts and the shrinkage are functions of releases.  Bounded by: the squared row norm; the range of the counts;
    the cap times the top; clips.  Proof: ``proofs/whitened_poisson.md``, and of the last step
    ``proofs/calibration.md``.

    Examples
    --------
    >>> from discreet.privacy import Budget
    >>> bounds = RowBounds(l2=1.0, intercept=0.1, y=(0, 100))
    >>> plan = WhitenedPoisson().plan(Problem(PoissonLoss(4.7), bounds, 10, 100_000, Budget(1, 1e-6)))
    >>> sorted(plan.mechanisms)
    ['last', 'level', 'margins', 'moments', 'pair', 'tilt', 'total', 'weights']
    """

    name: ClassVar[str] = "whitened_poisson"
    reference: ClassVar[str] = "our own: objective perturbation with paid moments and a paid mean count"
    proof: ClassVar[str] = "proofs/whitened_poisson.md"
    shape: ClassVar[str] = SHAPE

    moments: float = 0.12
    total: float = 0.02
    top: float = 4.0
    longest: float = 2.0
    growth: float = 80.0

    def __post_init__(self) -> None:
        shares = (self.moments, self.total)
        if min(shares) <= 0 or sum(shares) >= 0.3 or min(self.top, self.longest, self.growth) < 1:
            raise ValueError(f"{self}: shares must be positive and leave 0.7 over, the others at least 1")

    def refuse(self, problem: Problem) -> str | None:
        """Other losses, counts without a range, no level to start from, tables too wide for a released matrix."""
        if problem.loss.name != "poisson" or problem.bounds.y is None:
            return f"is for the Poisson loss, not {problem.loss.name!r}, and needs a range of the counts: give bounds_y"
        if not problem.has_intercept:
            return "puts the mean count into the intercept: take 'gradient_descent' for fit_intercept=False"
        if problem.budget.kind != "dp":
            return f"is priced by epsilon and delta, not by {problem.budget}: take 'gradient_descent'"
        if problem.n_weights > WIDEST:
            return f"releases a matrix of {problem.n_weights} weights squared, above {WIDEST}: take 'gradient_descent'"
        return None

    def schedule(self, problem: Problem) -> Mapping[str, Any]:
        """The whitened rows' bounds, the loss, the cap and the ridge."""
        assert problem.bounds.y is not None
        (low, high), weight, largest = problem.bounds.y, problem.bounds.weight, max(abs(b) for b in problem.bounds.y)
        signal, view = problem.rows * strength(problem.budget), calibration_bounds(problem)
        grown = max(math.sqrt(signal / problem.n_weights / self.growth), 1.0)
        cap, loss = min(grown, self.longest), PoissonLoss(math.log(self.top * min(grown, 8.0)))
        bounds = RowBounds(l2=self.longest, intercept=math.sqrt(PART), weight=weight, y=(0.0, loss.top))
        grid = bounds.grid(problem.n_weights - 1)
        radius = float(grid.l2 * grid.unit)
        # the loss over its top has slope and curvature at most 1: so the ratio of the ridge is that of such a loss
        ridge = room(problem, sum(self.bought(problem).values())) * shared_ratio(problem.budget, SHAPE)
        ridge *= loss.top * weight * cap * radius
        (rows,) = weight_capped(cap, radius, ridge=ridge / loss.top * (1 - 2**-50))
        return {
            "steps": 1, "bounds": bounds, "loss": loss, "cap": cap, "ridge": ridge,
            "kappa": math.nextafter(weight * rows.kappa, math.inf), "slope": weight * rows.row_norm * loss.lipschitz,
            "largest": largest, "middle": (low + high) / 2, "reach": (high - low) / 2,
            "clip": weight * (high - low) / 2,
            "constant": float(grid.constant * grid.unit), "view": view,
            "part of range": min(max(signal / 200, 0.5), 1.5),
            "scarce": signal < SCARCE or not whitens(problem),
            "constant of view": float(view.grid(1).constant * view.grid(1).unit),
        }  # fmt: skip

    def bought(self, problem: Problem) -> Mapping[str, float]:
        """Moments where rows are whitened; the sums of counts and weights, and what says whether slopes are noise."""
        moments = {"moments": self.moments} if whitens(problem) else {}
        return {**moments, "total": self.total, **calibration_shares(problem, near=False, level=0.35)}

    def noises(self, problem: Problem, schedule: Mapping[str, Any], multipliers: Mapping[str, float]) -> dict[str, Any]:
        """The floor of the spectrum, and the noise of the mean count, the mean weight and of margins."""
        each, found = problem.budget.neighbors.moves / problem.rows, {}
        if "moments" in multipliers:
            level = goe_level(problem, multipliers["moments"])
            found["floor"] = 2 * FLOOR * level * math.sqrt(problem.n_weights) / problem.rows
        found["count of margins"] = multipliers["margins"] * each * problem.rows
        found["noise of weight"] = multipliers["total"] * each * problem.bounds.weight
        return {**found, "noise of mean": multipliers["level"] * each * schedule["clip"]}

    def run(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Weights:
        """Find the level, whiten, minimise, undo the ridge, map back."""
        p, loss, constant = problem.n_weights - 1, schedule["loss"], schedule["constant"]
        weight, mean = self._means(problem, schedule, curator, ask)
        rows = problem.rows * weight
        towards = np.eye(p) * (SPREAD / problem.radius)
        if "floor" in schedule:
            noisy = np.asarray(ask.moments(curator.second_moments()))[:p, :p]
            towards = whitening(noisy / rows, schedule["floor"] / weight, 1 - PART)
        usual = max(mean, (1 + 3 * math.sqrt(mean)) / loss.top)  # of rare counts a one is far above the mean
        unit = min(usual, schedule["largest"] / loss.top)  # no part of the loss is for counts beyond their range
        ask.released["towards"], ask.released["unit"] = towards, unit
        scaled = curator.transformed(towards, schedule["bounds"], schedule["cap"], target_factor=1 / unit)
        tilt, facts = ask.tilt(problem.shape), {"slack": schedule["slack"], "n_rows": problem.rows_at_most}
        minimum = scaled.minimise(loss, schedule["ridge"], tilt, schedule["tau"], **facts)
        found = np.array(ask.weights(minimum), dtype=np.float64)
        seen = direction(problem, schedule, curator, ask, towards.T @ found[:p])
        change = self._change(problem, schedule, ask, seen, mean)
        if schedule["scarce"] or change == 0:
            slopes = seen.slopes(change)
            level = math.log(mean) - change * seen.lean - change**2 * seen.square / 2  # as if margins were normal
        else:
            noises = (schedule["sigma"] / rows, schedule["noise of mean"] / weight / mean)
            ridge = schedule["ridge"] / rows
            slopes, level = without_ridge(found[:p], found[p] * constant, mean / unit, ridge, noises, PART)
            slopes, level = towards.T @ slopes, level + math.log(unit)
        return np.append(slopes, level / float(problem.grid.constant * problem.grid.unit))

    @staticmethod
    def _change(problem: Problem, schedule: Mapping[str, Any], ask: Ask, seen: Direction, mean: float) -> float:
        """The relative change of the mean count for one unit of margins, by least squares; 0 where it may be noise."""
        theta = np.array([0.0, mean / schedule["constant of view"]])
        clip = schedule["part of range"] * schedule["reach"] * problem.bounds.weight
        sealed = seen.view.gradient(SquaredLoss(), theta, Clip(clip, "l2"))
        off, noise = -np.asarray(ask.last(sealed)).ravel() / problem.rows, ask.deviation("last", sealed) / problem.rows
        return min(seen.length(0.0, off, noise) / mean, 1.0)

    @staticmethod
    def _means(problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> tuple[float, float]:
        """The noisy mean weight of a row, 1 unless noise can't explain another, and the noisy mean of the counts."""
        assert problem.bounds.y is not None
        constant, none = np.zeros((1, problem.n_weights - 1)), RowBounds(l2=2.0**-8, intercept=1.0)
        none = replace(none, weight=problem.bounds.weight)
        low, high = problem.bounds.y
        counted = level_sum(problem, none, curator, schedule["middle"], schedule["reach"])
        total = -float(np.asarray(ask.level(counted))[-1]) / problem.rows
        # residuals of a margin 1 from targets that are nothing: the weights themselves
        empty = curator.transformed(constant, replace(none, y=(0.0, 2.0**-30)), target_factor=2.0**-60)
        weighed = empty.gradient(SquaredLoss(), np.array([0.0, 1.0]), Clip(problem.bounds.weight, "l2"))
        weight = float(np.asarray(ask.total(weighed))[-1]) / problem.rows
        slack = 3 * schedule["noise of weight"]
        weight = 1.0 if abs(weight - 1) < slack else max(weight, slack, 1e-6)
        mean = total / weight + schedule["middle"]
        least = max(low, schedule["noise of mean"] / 2, schedule["largest"] * 2.0**-20)
        return weight, float(np.clip(mean, min(least, high), high))
