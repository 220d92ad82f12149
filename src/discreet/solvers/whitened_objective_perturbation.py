"""Objective perturbation after a paid whitening: noise of the shape that the curvature of the objective has."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet import accounting
from discreet.accounting.events import compose
from discreet.accounting.objective_calibration import default_ridge, shape_of
from discreet.accounting.objective_choice import least_ridge, tail_of
from discreet.accounting.objective_geometry import weight_capped
from discreet.accounting.objective_perturbation import ObjectivePerturbationDpEvent
from discreet.accounting.objective_room import affordable
from discreet.accounting.plan_cache import cached
from discreet.curator import Curator, RowBounds
from discreet.curator.minimise import provable_tolerance
from discreet.mechanisms import Gaussian, Perturbation
from discreet.mechanisms.base import Mechanism
from discreet.solvers.base import Ask, Plan, Problem, Refusal, Solver, Weights
from discreet.solvers.queries import LinearTerm, NoisySum, Query

__all__ = ["WhitenedObjectivePerturbation"]

SATURATING = ("logistic", "pseudo_huber")  # shapes that are straight where they are steep, with h(s)/s nonincreasing
WIDEST = 2000  # weights: a p x p matrix is released and decomposed
CAP = 1.0  # whitened rows have mean squared norm near 1; longer ones count less


@dataclass(frozen=True)
class WhitenedObjectivePerturbation(Solver):
    r"""Release the second moments ``G`` of the rows, whiten the rows by ``(G + floor I)^exponent``, then perturb there.

    Isotropic noise on the slopes costs the trace of the curvature's inverse; after whitening all directions are
    alike.  Whitened rows are scaled to mean squared norm near 1 by a public rule applied to the released ``G``, cut at
    norm `longest`, and a row of norm r above 1 has weight 1 / r.

    Parameters
    ----------
    share : float, default=0.1
        The part of mu squared that buys the second moments.
    exponent : float, default=-0.5
        From -1/2 (whitened) to 0 (as it was).
    longest : float, default=2
        The norm at which whitened rows are cut; what the determinant costs is proportional to it.
    ridge : float or "auto"
        In whitened coordinates, of the *sum* of losses.
    floor : float, default=0.25
        What is added to the spectrum, in units of the spectral norm of the noise.
    tolerance_share : float, default=0.02
        The part of mu that pays for the tolerance of the minimum.

    Notes
    -----
    *Privacy.* Guarantee: a Gaussian release of second moments composed with the refined profile of one perturbed
    minimum, and with everything bought before.  Neighbours: those of the curator.  Public: all numbers of the plan;
    the map is a function of the release.  Bounded by: the squared row norm; then the cap on weighted rows and
    `longest`.  Proof: ``proofs/whitened_objective_perturbation.md``.

    Examples
    --------
    >>> from discreet.losses import LogisticLoss
    >>> from discreet.privacy import Budget
    >>> problem = Problem(LogisticLoss(), RowBounds(l2=1.0), 10, 100_000, Budget(1, 1e-6))
    >>> plan = WhitenedObjectivePerturbation().plan(problem)
    >>> round(plan.mechanisms["tilt"].sigma, 1), round(plan.mechanisms["moments"].noise_multiplier, 1)
    (4.8, 14.4)
    """

    name: ClassVar[str] = "whitened_objective_perturbation"
    reference: ClassVar[str] = "our own: objective perturbation in the metric of paid second moments"
    proof: ClassVar[str] = "proofs/whitened_objective_perturbation.md"
    constraint: ClassVar[Literal["none", "optional", "required"]] = "none"

    share: float = 0.1
    exponent: float = -0.5
    longest: float = 2.0
    ridge: float | Literal["auto"] = "auto"
    floor: float = 0.25
    tolerance_share: float = 0.02

    def __post_init__(self) -> None:
        if not 0 < self.share < 1 or not 0 < self.tolerance_share < 1:
            raise ValueError(f"share={self.share!r} and tolerance_share={self.tolerance_share!r} must be in (0, 1)")
        if not -0.5 <= self.exponent <= 0:
            raise ValueError(f"exponent={self.exponent!r} must be between -1/2 and 0")
        if not (1 <= self.longest < math.inf and 0 < self.floor < math.inf):
            raise ValueError(f"longest={self.longest!r} must be at least 1 and floor={self.floor!r} positive")

    def refuse(self, problem: Problem) -> str | None:
        """Losses that are curved where they are steep, and tables too wide for a released matrix."""
        loss = problem.loss
        if not math.isfinite(loss.lipschitz) or not math.isfinite(loss.smoothness) or (
            shape_of(loss)[0] not in SATURATING
        ):  # fmt: skip
            return (
                f"needs a loss that is straight where it is steep (logistic, smoothed hinge, pseudo-Huber), not "
                f"{loss.name!r}: take 'objective_perturbation', or for squared losses 'sufficient_statistics'"
            )
        if problem.budget.kind != "dp":
            return f"is priced by epsilon and delta, not by {problem.budget}: take 'objective_perturbation'"
        if problem.n_weights > WIDEST:
            return (
                f"releases a matrix of {problem.n_weights} x {problem.n_weights} second moments, more than {WIDEST}: "
                "take 'objective_perturbation'"
            )
        return None

    def schedule(self, problem: Problem) -> Mapping[str, Any]:
        """The whitened rows' bounds, the ridge and the exponent."""
        shape, scale = shape_of(problem.loss)
        weight, budget, n, p = problem.bounds.weight, problem.budget, problem.rows, problem.n_weights
        bounds = RowBounds(l2=self.longest, y=problem.bounds.y, weight=weight)
        grid = bounds.grid(p)
        radius = float(grid.l2 * grid.unit)
        facts: dict[str, Any] = {"scale": scale * weight}
        if self.ridge != "auto":
            ridge = float(self.ridge)
        else:  # kappa is CAP * radius / ridge, so the determinant asks for more ridge than the data do
            least = least_ridge(budget, shape, row_norm=math.sqrt(CAP * radius), n_classes=2, **facts)
            ridge = max(least, default_ridge(budget, n, p, shape, row_norm=CAP, **facts))
        (rows,) = weight_capped(CAP, radius, ridge=ridge)
        kappa = math.nextafter(scale * weight * rows.kappa, math.inf)
        if not affordable(budget, kappa, shape):
            raise Refusal(f"ridge={ridge:g} with longest={self.longest:g} is too small for {budget} at any noise")
        return {
            "steps": 1, "bounds": bounds, "ridge": ridge, "kappa": kappa, "shape": shape,
            "slope": weight * float(problem.loss.lipschitz) * rows.row_norm, "exponent": self.exponent,
        }  # fmt: skip

    def queries(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Query]:
        """The second moments; one sealed linear term; one release."""
        del problem, schedule
        return {"moments": NoisySum(share=self.share), "tilt": LinearTerm(), "weights": NoisySum()}

    def plan(self, problem: Problem) -> Plan:
        """The least noise at which moments and minimum, with everything bought before, stay within the budget."""
        self.check(problem)
        schedule = dict(self.schedule(problem))
        key = (self.name, repr(problem.spent), repr(problem.budget), schedule["kappa"], repr(schedule["shape"]))
        noise = cached(
            (*key, self.share, self.tolerance_share),
            lambda: accounting.calibrate(
                lambda z: compose(problem.spent, *self._events(problem, schedule, z)), problem.budget
            ),
        )
        bought, minimum = self._events(problem, schedule, noise)
        sigma = math.nextafter(schedule["slope"] / minimum.mu, math.inf) * (1 + 2**-50)
        mechanisms: dict[str, Mechanism] = {
            "moments": Gaussian(bought.noise_multiplier),
            "tilt": Perturbation(sigma, minimum),
            "weights": Gaussian(math.nextafter(1 / minimum.tolerance_mu, math.inf)),
        }
        grid, unit = schedule["bounds"].grid(problem.n_weights), mechanisms["tilt"].unit  # type: ignore[attr-defined]
        schedule["slack"] = float(unit) * math.sqrt(problem.size) / 2
        length = tail_of(sigma, problem.size, gaussian=True)
        schedule["tau"] = 2 * provable_tolerance(grid, problem.loss, schedule["ridge"], problem.rows_at_most, length)
        schedule["noise_multiplier"] = bought.noise_multiplier
        whole = compose(problem.spent, bought, minimum)
        return Plan(whole, self.queries(problem, schedule), mechanisms, schedule, problem.budget)

    def _events(self, problem: Problem, schedule: Mapping[str, Any], noise: float) -> tuple[Any, Any]:
        """At overall noise `noise`: the second moments' event and the minimum's."""
        neighbors = problem.budget.neighbors
        mu = math.sqrt(1 - self.share) / (noise * neighbors.moves)  # of one record, whatever the relation
        minimum = ObjectivePerturbationDpEvent(
            mu, schedule["kappa"], schedule["shape"], neighbors.value, tolerance_mu=self.tolerance_share * mu
        )
        return NoisySum(share=self.share).at(noise).event, minimum

    def run(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Weights:
        """Buy the second moments, map the rows, tilt, minimise, release, map back."""
        sealed = curator.second_moments()
        deviation = schedule["noise_multiplier"] * float(sealed.sensitivity("l2") * sealed.unit)
        noisy = np.asarray(ask.moments(sealed))
        towards = ask.released["towards"] = self._whitening(noisy, deviation, problem.rows, schedule["exponent"])
        tilt = ask.tilt(problem.shape)
        minimum = curator.transformed(towards, schedule["bounds"], weight_norm=CAP).minimise(
            problem.loss, schedule["ridge"], tilt, schedule["tau"], slack=schedule["slack"], n_rows=problem.rows_at_most
        )
        weights = np.asarray(ask.weights(minimum))
        return np.asarray(towards.T @ weights, dtype=np.float64)

    def _whitening(
        self, noisy: NDArray[np.float64], deviation: float, n_rows: int, exponent: float
    ) -> NDArray[np.float64]:
        """``(G + floor I)^exponent``, over the root mean square norm of rows with second moments ``G`` after it."""
        spectrum, axes = np.linalg.eigh(noisy / n_rows)
        spread = max(self.floor * deviation * math.sqrt(2 * len(noisy)) / n_rows, 1e-9 * float(np.abs(spectrum).max()))
        positive = np.maximum(spectrum, 0.0)
        stretch = np.maximum(positive + spread, 1e-300) ** exponent
        square = max(float(positive @ stretch**2), float(spread * stretch.max() ** 2), 1e-300)
        return np.asarray((axes * (stretch / math.sqrt(square))) @ axes.T, dtype=np.float64)
