"""What solvers share that buy a few noisy sums around one perturbed minimum: queries, prices and scales of the plan."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from discreet import accounting
from discreet.accounting.events import compose
from discreet.accounting.objective_choice import tail_of, used_part
from discreet.accounting.objective_perturbation import ObjectivePerturbationDpEvent
from discreet.accounting.plan_cache import cached
from discreet.accounting.published import strength
from discreet.curator.minimise import provable_tolerance
from discreet.mechanisms import Gaussian, Perturbation
from discreet.mechanisms.base import Mechanism
from discreet.solvers.base import Plan, Problem, Solver
from discreet.solvers.queries import LinearTerm, NoisySum, Query

__all__ = ["SPREAD", "PaidMinimum", "room", "whitens"]

UNWHITENED = 12.0  # rows times mu, per weight: below, second moments are too dear to whiten by
SPREAD = 1.5  # the length of the longest row that isn't whitened
TOLERANCE = 0.02  # of mu, for the tolerance of the minimum
AMPLE = 0.75  # of mu squared: with less left, the determinant needs a larger ridge, lest it double the noise


def whitens(problem: Problem) -> bool:
    """Whether rows times mu afford second moments.

    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import SquaredLoss
    >>> from discreet.privacy import Budget
    >>> [whitens(Problem(SquaredLoss(), RowBounds(l2=1.0), p, 2000, Budget(1, 1e-6))) for p in (10, 100)]
    [True, False]
    """
    return problem.rows * strength(problem.budget) >= UNWHITENED * problem.n_weights


def room(problem: Problem, shares: float) -> float:
    """How much larger the ridge is than beside little else, where `shares` of mu squared go to other releases.

    The determinant's part of epsilon is the same whatever the noise, so it is the dearer the less is left.

    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import SquaredLoss
    >>> from discreet.privacy import Budget
    >>> [room(Problem(SquaredLoss(), RowBounds(l2=1.0), 10, 2000, Budget(1, 1e-6)), s) for s in (0.2, 0.625)]
    [1.0, 2.0]
    """
    return max(AMPLE / max((1 - shares) * (1 - used_part(problem.budget, problem.spent)), 0.1), 1.0)


class PaidMinimum(Solver):
    """A solver of one perturbed minimum with Gaussian releases before and after it.

    Each release gets a part of mu squared, by name; what is left over is the minimum's.  All parts are numbers of the
    plan, so the composed event is.
    """

    shape: ClassVar[str]
    constraint: ClassVar[Literal["none", "optional", "required"]] = "none"

    @abstractmethod
    def bought(self, problem: Problem) -> Mapping[str, float]:
        """The part of mu squared that each Gaussian release gets."""

    @abstractmethod
    def noises(self, problem: Problem, schedule: Mapping[str, Any], multipliers: Mapping[str, float]) -> dict[str, Any]:
        """What of the plan depends on the noise multipliers of the releases."""

    def queries(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Query]:
        """The releases; one sealed linear term; the release of the minimum."""
        del schedule
        sums = {name: NoisySum(share=share) for name, share in self.bought(problem).items()}
        return {**sums, "tilt": LinearTerm(), "weights": NoisySum()}

    def plan(self, problem: Problem) -> Plan:
        """The least noise at which all releases, with everything bought before, stay within the budget."""
        self.check(problem)
        schedule, shares = dict(self.schedule(problem)), self.bought(problem)
        noise = cached(
            (repr(self), repr(dict(shares)), repr(problem.spent), repr(problem.budget), schedule["kappa"]),
            lambda: accounting.calibrate(lambda z: compose(problem.spent, *self._events(problem, schedule, z)),
                                         problem.budget),
        )  # fmt: skip
        *sums, minimum = self._events(problem, schedule, noise)
        sigma = math.nextafter(schedule["slope"] / minimum.mu, math.inf) * (1 + 2**-50)
        mechanisms: dict[str, Mechanism] = {
            name: Gaussian(event.noise_multiplier) for name, event in zip(shares, sums, strict=True)
        }
        tilt, final = Perturbation(sigma, minimum), Gaussian(math.nextafter(1 / minimum.tolerance_mu, math.inf))
        mechanisms |= {"tilt": tilt, "weights": final}
        grid = schedule["bounds"].grid(problem.n_weights - problem.has_intercept)
        length = tail_of(sigma, problem.size, gaussian=True)
        schedule["sigma"], schedule["slack"] = sigma, float(tilt.unit) * math.sqrt(problem.size) / 2
        facts = (grid, schedule["loss"], schedule["ridge"], problem.rows_at_most, length)
        schedule["tau"] = 2 * provable_tolerance(*facts)
        multipliers = {name: event.noise_multiplier for name, event in zip(shares, sums, strict=True)}
        schedule |= self.noises(problem, schedule, multipliers)
        event = compose(problem.spent, *sums, minimum)
        return Plan(event, self.queries(problem, schedule), mechanisms, schedule, problem.budget)

    def _events(self, problem: Problem, schedule: Mapping[str, Any], noise: float) -> list[Any]:
        """At overall noise `noise`: the events of what is bought, then the minimum's."""
        shares, near = self.bought(problem).values(), problem.budget.neighbors
        mu = math.sqrt(1 - sum(shares)) / (noise * near.moves)  # of one record, whatever the relation
        facts = (mu, schedule["kappa"], self.shape, near.value)
        minimum = ObjectivePerturbationDpEvent(*facts, tolerance_mu=TOLERANCE * mu)
        return [*(NoisySum(share=s).at(noise).event for s in shares), minimum]
