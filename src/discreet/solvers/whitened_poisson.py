"""Poisson regression by one exact minimum, in paid coordinates and with counts in units of a paid mean."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from discreet import accounting
from discreet.accounting.events import compose
from discreet.accounting.objective_choice import shared_ratio, tail_of
from discreet.accounting.objective_geometry import weight_capped
from discreet.accounting.objective_perturbation import ObjectivePerturbationDpEvent
from discreet.accounting.plan_cache import cached
from discreet.accounting.published import strength
from discreet.curator import Clip, Curator, RowBounds
from discreet.curator.minimise import provable_tolerance
from discreet.losses import PoissonLoss, SquaredLoss
from discreet.mechanisms import Gaussian, Perturbation
from discreet.mechanisms.base import Mechanism
from discreet.solvers.base import Ask, Plan, Problem, Solver, Weights
from discreet.solvers.queries import LinearTerm, NoisySum, Query
from discreet.solvers.released import goe_level, whitening, without_ridge
from discreet.solvers.whitened_objective_perturbation import WIDEST

__all__ = ["WhitenedPoisson"]

BOUGHT = ("moments", "level", "total")
SHAPE = "two_sided"  # of the curvature: a small count can be steep and curved at once
FLOOR = 0.7  # what is added to the spectrum, in units of the spectral norm of the noise
TOLERANCE = 0.02  # of mu, for the tolerance of the minimum
PART = 0.3  # the constant's part of the mean squared norm


@dataclass(frozen=True)
class WhitenedPoisson(Solver):
    r"""Whiten the rows by paid second moments, buy the mean count, minimise the Poisson loss of counts in units of it.

    A log link makes slopes as large as the largest count, and a fit that starts at a mean of one would have to climb to
    the level of the counts first.  So counts are divided by a bought mean and cut at `top` of it (or at the end of
    their range, if that is less); the noise is in proportion to that cut.  From ``rows * mu / weights = growth`` on
    `top` and `cap` grow with the root of that ratio.  Slopes that are below the noise are shrunk to zero (James and
    Stein), after the release.

    Parameters
    ----------
    moments, level, total : float, default=0.12, 0.11, 0.02
        The parts of mu squared that buy second moments, the sum of the counts and that of sample weights.
    top : float, default=4
        Where counts, and the means that are modelled, are cut, in units of the mean count.
    longest : float, default=2
        Where whitened rows are cut, in units of their root mean square; beyond the cap they count less.
    growth : float, default=80
        From where on the top and the cap grow.

    Notes
    -----
    *Privacy.* Guarantee: three Gaussian releases composed with the refined profile of one perturbed minimum, and with
    everything bought before.  Neighbours: those of the curator.  Public: all numbers of the plan; the map, the unit of
    the counts and the shrinkage are functions of releases.  Bounded by: the squared row norm; the range of the counts;
    the cap times the top.  Proof: ``proofs/whitened_poisson.md``.

    Examples
    --------
    >>> from discreet.privacy import Budget
    >>> bounds = RowBounds(l2=1.0, intercept=0.1, y=(0, 100))
    >>> plan = WhitenedPoisson().plan(Problem(PoissonLoss(4.7), bounds, 10, 100_000, Budget(1, 1e-6)))
    >>> sorted(plan.mechanisms), plan.schedule["cap"] > 1
    (['level', 'moments', 'tilt', 'total', 'weights'], True)
    """

    name: ClassVar[str] = "whitened_poisson"
    reference: ClassVar[str] = "our own: objective perturbation with paid moments and a paid mean count"
    proof: ClassVar[str] = "proofs/whitened_poisson.md"
    constraint: ClassVar[Literal["none", "optional", "required"]] = "none"

    moments: float = 0.12
    level: float = 0.11
    total: float = 0.02
    top: float = 4.0
    longest: float = 2.0
    growth: float = 80.0

    def __post_init__(self) -> None:
        shares = [getattr(self, name) for name in BOUGHT]
        if min(shares) <= 0 or sum(shares) >= 1 or min(self.top, self.longest, self.growth) < 1:
            raise ValueError(f"{self}: shares must be positive and leave a part over, the others at least 1")

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
        weight, largest = problem.bounds.weight, max(abs(b) for b in problem.bounds.y)
        grown = max(math.sqrt(problem.rows * strength(problem.budget) / problem.n_weights / self.growth), 1.0)
        cap, loss = min(grown, self.longest), PoissonLoss(math.log(self.top * min(grown, 8.0)))
        bounds = RowBounds(l2=self.longest, intercept=math.sqrt(PART), weight=weight, y=(0.0, loss.top))
        grid = bounds.grid(problem.n_weights - 1)
        radius = float(grid.l2 * grid.unit)
        # the loss over its top has slope and curvature at most 1: so the ratio of the ridge is that of such a loss
        ridge = loss.top * shared_ratio(problem.budget, SHAPE) * weight * cap * radius
        (rows,) = weight_capped(cap, radius, ridge=ridge / loss.top * (1 - 2**-50))
        return {
            "steps": 1, "bounds": bounds, "loss": loss, "cap": cap, "ridge": ridge,
            "kappa": math.nextafter(weight * rows.kappa, math.inf), "slope": weight * rows.row_norm * loss.lipschitz,
            "largest": largest, "clip": weight * largest, "constant": float(grid.constant * grid.unit),
        }  # fmt: skip

    def queries(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Query]:
        """Moments, the sums of counts and weights; one sealed linear term; one release."""
        del problem, schedule
        bought = {name: NoisySum(share=getattr(self, name)) for name in BOUGHT}
        return {**bought, "tilt": LinearTerm(), "weights": NoisySum()}

    def plan(self, problem: Problem) -> Plan:
        """The least noise at which all releases, with everything bought before, stay within the budget."""
        self.check(problem)
        schedule = dict(self.schedule(problem))
        noise = cached(
            (repr(self), repr(problem.spent), repr(problem.budget), schedule["kappa"]),
            lambda: accounting.calibrate(lambda z: compose(problem.spent, *self._events(problem, schedule, z)),
                                         problem.budget),
        )  # fmt: skip
        *bought, minimum = self._events(problem, schedule, noise)
        sigma = math.nextafter(schedule["slope"] / minimum.mu, math.inf) * (1 + 2**-50)
        mechanisms: dict[str, Mechanism] = {
            name: Gaussian(event.noise_multiplier) for name, event in zip(BOUGHT, bought, strict=True)
        }
        tilt, final = Perturbation(sigma, minimum), Gaussian(math.nextafter(1 / minimum.tolerance_mu, math.inf))
        mechanisms |= {"tilt": tilt, "weights": final}
        length = tail_of(sigma, problem.size, gaussian=True)
        facts = (schedule["bounds"].grid(problem.n_weights - 1), schedule["loss"], schedule["ridge"])
        schedule["sigma"], schedule["slack"] = sigma, float(tilt.unit) * math.sqrt(problem.size) / 2
        schedule["tau"] = 2 * provable_tolerance(*facts, problem.rows_at_most, length)
        level = goe_level(problem, bought[0].noise_multiplier)
        schedule["floor"] = 2 * FLOOR * level * math.sqrt(problem.n_weights) / problem.rows
        each = problem.budget.neighbors.moves / problem.rows
        schedule["noise of mean"] = bought[1].noise_multiplier * each * schedule["clip"]
        schedule["noise of weight"] = bought[2].noise_multiplier * each * problem.bounds.weight
        event = compose(problem.spent, *bought, minimum)
        return Plan(event, self.queries(problem, schedule), mechanisms, schedule, problem.budget)

    def _events(self, problem: Problem, schedule: Mapping[str, Any], noise: float) -> list[Any]:
        """At overall noise `noise`: the events of what is bought, then the minimum's."""
        shares, near = [getattr(self, name) for name in BOUGHT], problem.budget.neighbors
        mu = math.sqrt(1 - sum(shares)) / (noise * near.moves)  # of one record, whatever the relation
        minimum = ObjectivePerturbationDpEvent(mu, schedule["kappa"], SHAPE, near.value, tolerance_mu=TOLERANCE * mu)
        return [*(NoisySum(share=s).at(noise).event for s in shares), minimum]

    def run(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Weights:
        """Find the level, whiten, minimise, undo the ridge, map back."""
        p, loss, constant = problem.n_weights - 1, schedule["loss"], schedule["constant"]
        weight, mean = self._means(problem, schedule, curator, ask)
        rows = problem.rows * weight
        noisy = np.asarray(ask.moments(curator.second_moments()))[:p, :p]
        towards = whitening(noisy / rows, schedule["floor"] / weight, 1 - PART)
        usual = max(mean, (1 + 3 * math.sqrt(mean)) / loss.top)  # of rare counts a one is far above the mean
        unit = min(usual, schedule["largest"] / loss.top)  # no part of the loss is for counts beyond their range
        ask.released["towards"], ask.released["unit"] = towards, unit
        scaled = curator.transformed(towards, schedule["bounds"], schedule["cap"], target_factor=1 / unit)
        tilt, facts = ask.tilt(problem.shape), {"slack": schedule["slack"], "n_rows": problem.rows_at_most}
        minimum = scaled.minimise(loss, schedule["ridge"], tilt, schedule["tau"], **facts)
        found = np.array(ask.weights(minimum), dtype=np.float64)
        noises, ridge = (schedule["sigma"] / rows, schedule["noise of mean"] / weight / mean), schedule["ridge"] / rows
        slopes, level = without_ridge(found[:p], found[p] * constant, mean / unit, ridge, noises, PART)
        level = (level + math.log(unit)) / float(problem.grid.constant * problem.grid.unit)
        return np.append(towards.T @ slopes, level)

    @staticmethod
    def _means(problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> tuple[float, float]:
        """The noisy mean weight of a row, 1 unless noise can't explain another, and the noisy mean of the counts."""
        assert problem.bounds.y is not None
        constant, none = np.zeros((1, problem.n_weights - 1)), RowBounds(l2=2.0**-8, intercept=1.0)
        none = replace(none, weight=problem.bounds.weight)
        alone = curator.transformed(constant, replace(none, y=problem.bounds.y))
        counted = alone.gradient(SquaredLoss(), np.zeros(2), Clip(schedule["clip"], "l2"))
        total = -float(np.asarray(ask.level(counted))[-1]) / problem.rows
        # residuals of a margin 1 from targets that are nothing: the weights themselves
        empty = curator.transformed(constant, replace(none, y=(0.0, 2.0**-30)), target_factor=2.0**-60)
        weighed = empty.gradient(SquaredLoss(), np.array([0.0, 1.0]), Clip(problem.bounds.weight, "l2"))
        weight = float(np.asarray(ask.total(weighed))[-1]) / problem.rows
        slack = 3 * schedule["noise of weight"]
        weight = 1.0 if abs(weight - 1) < slack else max(weight, slack, 1e-6)
        least = max(schedule["noise of mean"] / 2, schedule["largest"] * 2.0**-20)
        return weight, float(np.clip(total / weight, least, schedule["largest"]))
