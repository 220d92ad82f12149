"""Ridge and noise of a perturbed minimum, as a solver asks for them: by budget, whatever its kind."""

from __future__ import annotations

import math

import attr
from dp_accounting.dp_event import DpEvent, NoOpDpEvent

from discreet.accounting.calibrate import calibrate
from discreet.accounting.calibrate import epsilon as epsilon_of
from discreet.accounting.events import compose
from discreet.accounting.gdp import mu_for
from discreet.accounting.objective_calibration import (
    ObjectiveNoise,
    Shape,
    calibrate_objective,
    default_ridge,
    free_kappa,
)
from discreet.accounting.objective_perturbation import ObjectivePerturbationDpEvent, largest_determinant
from discreet.accounting.objective_published import (
    PureObjectiveNoise,
    kifer_noise,
    lecture_noise,
    pure_objective_noise,
)
from discreet.accounting.plan_cache import cached
from discreet.privacy import Budget

__all__ = [
    "least_noise",
    "least_ridge",
    "printed_noise",
    "pure_noise",
    "pure_ridge",
    "remaining",
    "shared_ratio",
    "tail_of",
    "used_part",
]


def least_noise(spent: DpEvent, budget: Budget, event: ObjectivePerturbationDpEvent) -> float:
    """One over the largest mu at which `event`, after what was spent, stays within the budget.

    `event` gives everything else: kappa, the shape of the loss, and its tolerance as a share of mu.

    >>> event = ObjectivePerturbationDpEvent(1.0, 1.0, tolerance_mu=0.02)
    >>> round(least_noise(NoOpDpEvent(), Budget(1, 1e-6), event), 2)
    4.23
    """
    share = event.tolerance_mu / event.mu

    def at(z: float) -> ObjectivePerturbationDpEvent:
        evolved: ObjectivePerturbationDpEvent = attr.evolve(event, mu=1 / z, tolerance_mu=share / z)
        return evolved

    def compute() -> float:
        alone = calibrate_objective(  # nothing to compose with: fewer evaluations
            budget, event.shape, ridge=1.0, kappa=event.kappa, n_classes=event.n_classes, tau=1.0, share=share
        )
        noise = math.nextafter(1 / alone.event.mu, math.inf)
        if isinstance(spent, NoOpDpEvent):
            return noise
        # every price of a mixture takes a tenth of a second or more: begin beside the answer, stop at a 5000th of it
        return float(calibrate(lambda z: compose(spent, at(z)), budget, start=1.05 * noise, rtol=2e-4))

    names = f"{spent!r}, {budget!r}, {event!r}"
    if " at 0x" in names:  # functions of the caller's own have no name to remember them by
        return compute()
    return cached(("objective", names, event.shape), compute)


def shared_ratio(budget: Budget, shape: Shape, n_classes: int = 2) -> float:
    """The least ``ridge / R^2`` beside other events: twice what costs nothing alone.

    Alone, ``log(1 + kappa)`` may nearly fill epsilon; beside other events it must leave them room.  With 15 % of the
    budget spent before, the noise of a pseudo-Huber fit at epsilon 0.1 is 1,700 times that of a fit alone at the kappa
    that is free alone, 2.3 times at 1 / 1.25 of it, and 1.12 times, which is the price of the 15 %, at half of it.

    >>> round(shared_ratio(Budget(1, 1e-6), "logistic"), 2)
    1.13
    """
    if budget.kind != "dp" or budget.is_pure:
        return 0.0
    names = ("shared", repr(budget), repr(shape), n_classes)
    return 2 / cached(
        names,
        lambda: free_kappa(budget.epsilon, budget.delta, shape, budget.neighbors.value, n_classes=n_classes),
    )


def remaining(budget: Budget, spent: object) -> Budget:
    """What is left of a pure budget after an event.

    >>> from discreet.accounting.events import PureDpEvent
    >>> remaining(Budget(1.0), PureDpEvent(0.25)).epsilon
    0.75
    """
    return budget - Budget(epsilon_of(spent, 0.0), neighbors=budget.neighbors)


def used_part(budget: Budget, spent: object) -> float:
    """The part of mu squared that an event takes, as if it were one Gaussian release; 0 for pure budgets.

    >>> from dp_accounting.dp_event import GaussianDpEvent
    >>> budget = Budget(1, 1e-6)
    >>> round(used_part(budget, GaussianDpEvent(2 / mu_for(1, 1e-6))), 2)
    0.25
    """
    if budget.is_pure or isinstance(spent, NoOpDpEvent):
        return 0.0
    used = cached(("used", repr(spent), repr(budget)), lambda: epsilon_of(spent, budget.delta))
    return (mu_for(used, budget.delta) / mu_for(budget.epsilon, budget.delta)) ** 2 if used > 0 else 0.0


def pure_ridge(
    budget: Budget,
    n_rows: float,
    n_features: int,
    shape: Shape = "logistic",
    *,
    row_norm: float = 1.0,
    scale: float = 1.0,
    n_classes: int = 2,
) -> float:
    r"""The default lambda under pure privacy: where the determinant costs little, and what the data ask for.

    ``R^2 max(1 / kappa, clip(2 p s^2 / n, 0.1 s, 3 s))`` as in ``default_ridge``, with s the root mean square of a
    coordinate of the noise, ``sqrt(p + 1) / epsilon``, and kappa such that the determinant costs at most a tenth of
    epsilon (nothing, for the logistic shape: ``kappa <= epsilon``).

    Examples
    --------
    >>> round(pure_ridge(Budget(1.0), 40_000, 100), 3)
    1.005
    """
    eps, moves = budget.epsilon, budget.neighbors.moves
    kappa = eps / moves
    while shape != "logistic" and largest_determinant(kappa, shape, n_classes) > 0.1 * eps:
        kappa /= 1.1
    noise = moves * math.sqrt(n_features + 1) / eps
    wanted = min(max(2 * n_features * noise**2 / n_rows, 0.1 * noise), 3 * noise)
    return float(row_norm) ** 2 * scale * max(1 / kappa, wanted)


def least_ridge(budget: Budget, shape: Shape, *, row_norm: float, scale: float, n_classes: int) -> float:
    """The smallest lambda at which the determinant costs little: what a penalty of the caller's is raised to.

    >>> round(least_ridge(Budget(1, 1e-6), "logistic", row_norm=2.0, scale=1.0, n_classes=2), 2)
    2.26
    """
    choose = pure_ridge if budget.is_pure else default_ridge
    tiny = choose(budget, math.inf, 1, shape, row_norm=row_norm, scale=scale, n_classes=n_classes)
    return float(tiny)


def pure_noise(
    budget: Budget,
    shape: Shape,
    *,
    ridge: float,
    row_norm: float,
    lipschitz: float,
    scale: float,
    n_classes: int,
    share: float,
) -> tuple[PureObjectiveNoise, Budget]:
    """The pure noise, with `share` of the budget set aside for the solver's tolerance, and that part.

    >>> noise, rest = pure_noise(Budget(1.0), "logistic", ridge=2.0, row_norm=1.0, lipschitz=1.0, scale=1.0,
    ...                          n_classes=2, share=0.25)
    >>> round(noise.scale, 6), round(rest.epsilon, 12)
    (1.333333, 0.25)
    """
    found = pure_objective_noise(
        budget, shape, ridge=ridge, row_norm=row_norm, lipschitz=lipschitz, scale=scale, n_classes=n_classes,
        tau=ridge, share=share,
    )  # fmt: skip
    return found, Budget(budget.epsilon * share * (1 - 2.0**-50), neighbors=budget.neighbors)


def printed_noise(
    source: str, budget: Budget, *, ridge: float | None, row_norm: float, lipschitz: float, smoothness: float
) -> ObjectiveNoise:
    """The noise and ridge as printed in `source`; certified, or refused with the reason, by the two functions behind.

    >>> facts = dict(ridge=None, row_norm=1.0, lipschitz=1.0, smoothness=0.25)
    >>> round(printed_noise("as_published", Budget(1, 1e-6), **facts).sigma, 2)
    10.96
    """
    if source == "as_lectured":
        least = 2 * smoothness * row_norm**2 / math.expm1(budget.epsilon / 2)
        chosen = max(least, ridge or 0.0) * (1 + 1e-12)
        return lecture_noise(budget, chosen, row_norm=row_norm, lipschitz=lipschitz, smoothness=smoothness)
    found = kifer_noise(budget, row_norm=row_norm, lipschitz=lipschitz, smoothness=smoothness)
    if ridge is not None and ridge < found.lam:
        raise ValueError(
            f"ridge={ridge:g} is below {found.lam:g}, the least that the printed theorem allows; leave it 'auto'"
        )
    return found


def tail_of(scale: float, size: int, *, gaussian: bool) -> float:
    """A number that the norm of the linear term exceeds with probability below ``exp(-700)``.

    >>> tail_of(1.0, 100, gaussian=True), tail_of(1.0, 100, gaussian=False) > 100 + 700
    (50.0, True)
    """
    if gaussian:
        return scale * (math.sqrt(size) + 40.0)
    return scale * (size + math.sqrt(1400.0 * size) + 700.0)
