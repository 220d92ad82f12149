"""Select, then refit: a few private Frank-Wolfe steps find features, objective perturbation fits those alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from discreet import accounting
from discreet.accounting.events import compose, repeat
from discreet.accounting.objective_calibration import default_ridge, shape_of
from discreet.accounting.objective_choice import shared_ratio, tail_of
from discreet.accounting.objective_perturbation import ObjectivePerturbationDpEvent
from discreet.accounting.plan_cache import cached
from discreet.curator import Curator, RowBounds
from discreet.curator.blocks import gradient_blocks
from discreet.curator.minimise import provable_tolerance
from discreet.losses import LogisticLoss
from discreet.mechanisms import Gaussian, Perturbation
from discreet.mechanisms.base import Mechanism
from discreet.penalties import L1Ball
from discreet.solvers.base import Ask, Plan, Problem, Solver, Weights
from discreet.solvers.queries import LinearTerm, NoisySum, Query, Selection

__all__ = ["SelectedObjectivePerturbation"]

LEAD = 2.0  # of the loss whose gradient selects: at small weights it is steep, and noise is the same
CONSTANT = 0.1  # of the norm of a selected row, for the intercept


@dataclass(frozen=True)
class SelectedObjectivePerturbation(Solver):
    r"""Private Frank-Wolfe over an l1 ball visits at most `steps` features; logistic regression on those, perturbed.

    For many features of which few matter: a selection costs the logarithm of their number, and the fit after it has
    rows of `steps` entries only.  What Frank-Wolfe says beyond the names of features is not used.

    Parameters
    ----------
    steps : int, default=20
        Selections; the refit has as many weights, of which those for repeated features stay unused.
    share : float, default=0.4
        The part of mu squared that selects.
    reach : float, default=8
        The radius of the l1 ball, over the largest entry of a row.
    tolerance_share : float, default=0.02
        The part of mu that pays for the tolerance of the minimum.

    Notes
    -----
    *Privacy.* Guarantee: adaptive selections of bounded range composed with the refined profile of one perturbed
    minimum, and with everything bought before.  Neighbours: those of the curator.  Public: all numbers of the plan.
    Bounded by: slope times the largest entry; then the norm of selected rows.
    Proof: ``proofs/selected_objective_perturbation.md``.

    Examples
    --------
    >>> from discreet.privacy import Budget
    >>> problem = Problem(LogisticLoss(), RowBounds(linf=1.0), 1000, 10_000, Budget(1, 1e-6))
    >>> plan = SelectedObjectivePerturbation().plan(problem)
    >>> plan.n_steps, round(plan.mechanisms["tilt"].sigma, 1)
    (20, 24.9)
    """

    name: ClassVar[str] = "selected_objective_perturbation"
    reference: ClassVar[str] = "our own: Talwar, Thakurta, Zhang 2015 as a search, then objective perturbation"
    proof: ClassVar[str] = "proofs/selected_objective_perturbation.md"
    constraint: ClassVar[Literal["none", "optional", "required"]] = "none"

    steps: int = 20
    share: float = 0.4
    reach: float = 8.0
    tolerance_share: float = 0.02

    def __post_init__(self) -> None:
        if not 0 < self.share < 1 or not 0 < self.tolerance_share < 1:
            raise ValueError(f"share={self.share!r} and tolerance_share={self.tolerance_share!r} must be in (0, 1)")
        if not 1 <= self.steps <= 1000 or not 0 < self.reach < math.inf:
            raise ValueError(f"steps={self.steps!r} must be from 1 to 1000, and reach={self.reach!r} positive")

    def refuse(self, problem: Problem) -> str | None:
        """Other losses than the logistic one, and budgets without a delta."""
        if problem.loss.name != "logistic":
            return f"fits the logistic loss, not {problem.loss.name!r}: take 'frank_wolfe' or 'objective_perturbation'"
        if problem.budget.kind != "dp":
            return f"is priced by epsilon and delta, not by {problem.budget}: take 'objective_perturbation'"
        return None

    def schedule(self, problem: Problem) -> Mapping[str, Any]:
        """The bounds of selected rows, and the ridge."""
        entry = float(problem.grid.feature_linf * problem.grid.unit)
        longest = min(problem.radius, math.sqrt(self.steps) * entry)
        constant = CONSTANT * longest if problem.has_intercept else 0.0
        bounds = RowBounds(l2=longest, intercept=constant, weight=problem.bounds.weight)
        grid = bounds.grid(self.steps)
        radius = float(grid.l2 * grid.unit)
        shape, _ = shape_of(problem.loss)
        ratio = default_ridge(problem.budget, problem.rows, grid.n_weights, shape)
        ratio = max(ratio, shared_ratio(problem.budget, shape))
        return {
            "steps": self.steps, "bounds": bounds, "radius": radius, "shape": shape, "kappa": 1 / ratio,
            "ridge": problem.bounds.weight * radius**2 * ratio * (1 + 2**-40),
            "slope": problem.bounds.weight * float(problem.loss.lipschitz) * radius, "ball": self.reach / entry,
            "constant": float(grid.constant * grid.unit),
        }  # fmt: skip

    def queries(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Query]:
        """Selections; one sealed linear term; one release."""
        del problem
        return {"vertex": Selection(schedule["steps"], self.share), "tilt": LinearTerm(), "weights": NoisySum()}

    def plan(self, problem: Problem) -> Plan:
        """The least noise at which selections and minimum, with everything bought before, stay within the budget."""
        self.check(problem)
        schedule = dict(self.schedule(problem))
        key = (self.name, repr(problem.spent), repr(problem.budget), schedule["kappa"], self.steps, self.share)
        noise = cached(
            (*key, self.tolerance_share),
            lambda: accounting.calibrate(
                lambda z: compose(problem.spent, *self._events(problem, schedule, z)), problem.budget
            ),
        )
        *bought, minimum = self._events(problem, schedule, noise)
        sigma = math.nextafter(schedule["slope"] / minimum.mu, math.inf) * (1 + 2**-50)
        tilt = Perturbation(sigma, minimum)
        mechanisms: dict[str, Mechanism] = {
            "vertex": Selection(self.steps, self.share).at(noise),
            "tilt": tilt,
            "weights": Gaussian(math.nextafter(1 / minimum.tolerance_mu, math.inf)),
        }
        grid = schedule["bounds"].grid(self.steps)
        schedule["slack"] = float(tilt.unit) * math.sqrt(grid.n_weights) / 2
        length = tail_of(sigma, grid.n_weights, gaussian=True)
        schedule["tau"] = 2 * provable_tolerance(grid, problem.loss, schedule["ridge"], problem.rows_at_most, length)
        whole = compose(problem.spent, *bought, minimum)
        return Plan(whole, self.queries(problem, schedule), mechanisms, schedule, problem.budget)

    def _events(self, problem: Problem, schedule: Mapping[str, Any], noise: float) -> tuple[Any, Any]:
        neighbors = problem.budget.neighbors
        mu = math.sqrt(1 - self.share) / (noise * neighbors.moves)  # of one record, whatever the relation
        minimum = ObjectivePerturbationDpEvent(
            mu, schedule["kappa"], schedule["shape"], neighbors.value, tolerance_mu=self.tolerance_share * mu
        )
        query = Selection(self.steps, self.share)
        return repeat(query.event(query.at(noise), neighbors), self.steps), minimum

    def run(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Weights:
        """Visit vertices, name their features, fit those, put the weights back in their places."""
        p, found = problem.n_features, self._visited(problem, schedule, curator, ask)
        chosen = np.zeros((self.steps, p))
        chosen[np.arange(found.size), found] = 1.0
        tilt = ask.tilt((schedule["bounds"].grid(self.steps).n_weights,))
        minimum = curator.transformed(chosen, schedule["bounds"]).minimise(
            problem.loss, schedule["ridge"], tilt, schedule["tau"], slack=schedule["slack"], n_rows=problem.rows_at_most
        )
        refit = np.asarray(ask.weights(minimum))
        w = np.zeros(problem.n_weights)
        w[found] = refit[: found.size]
        if problem.has_intercept:
            w[p] = refit[-1] * schedule["constant"] / float(problem.grid.constant * problem.grid.unit)
        return w

    def _visited(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Any:
        """The features whose vertices ``w <- (1 - t) w + t s`` went to."""
        p, loss, w = problem.n_features, LogisticLoss(LEAD), np.zeros(problem.n_weights)
        corners, seen = L1Ball(schedule["ball"]).vertex_map(p), []
        for t in range(self.steps):
            g, _ = gradient_blocks(curator, loss, w, float(loss.lipschitz))
            where, values = corners.sparse_point(ask.vertex(corners.scores(g), largest=False))
            w[:p] *= 1 - 2 / (t + 2)
            w[where] += 2 / (t + 2) * values
            seen.append(where)
        return np.unique(np.concatenate(seen))
