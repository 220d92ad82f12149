"""Objective perturbation as published, and with pure differential privacy.

The printed calibrations are kept for comparison.  They are offered only where they are sound, which is checked by
pricing the noise that they prescribe; where they are not, they are refused with the reason.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.accounting.events import PureDpEvent, positive
from discreet.accounting.objective_calibration import ObjectiveNoise, Shape
from discreet.accounting.objective_curvature import Curvature
from discreet.accounting.objective_perturbation import ObjectivePerturbationDpEvent, _shape
from discreet.accounting.objective_profile import at_nodes, nodes_for
from discreet.accounting.softmax_profile import log_determinant
from discreet.privacy import Budget, Neighbours, PrivacyError

__all__ = ["PureObjectiveNoise", "kifer_noise", "lecture_noise", "pure_cost", "pure_objective_noise"]


@dataclass(frozen=True)
class PureObjectiveNoise:
    """A linear term with density proportional to ``exp(-||b|| / scale)``: uniform direction, Gamma(p, scale) length.

    Attributes
    ----------
    scale : float
        The scale of the Gamma law of ``||b||`` (its shape is the number of coefficients).
    lam : float
        The ridge of the sum.
    tau, scale2 : float
        The gradient norm that the solver must reach, and the scale of the noise of the same kind that is added to the
        coefficients to pay for it; 0 when the minimum is exact.
    event : PureDpEvent
        What it all costs.

    Examples
    --------
    >>> pure_objective_noise(Budget(1.0), ridge=1.0).scale  # no dearer than the linear term alone
    1.0
    """

    scale: float
    lam: float
    tau: float
    scale2: float
    event: PureDpEvent


def kifer_noise(
    budget: Budget, *, row_norm: float = 1.0, lipschitz: float = 1.0, smoothness: float = 0.25
) -> ObjectiveNoise:
    r"""The calibration of Kifer, Smith and Thakurta (2012): Gaussian b, lambda = 2 beta R^2 / epsilon.

    ``sigma = L R sqrt(8 log(2 / delta) + 4 epsilon) / epsilon``.

    Notes
    -----
    *Privacy.* Guarantee: the budget; for replace-one only where the refined profile confirms it.  Neighbours: those
    of the budget.  Public: every argument.  Bounded by: row norm, Lipschitz constant, smoothness.
    Proof: ``proofs/objective_perturbation.md``, section 11.

    Examples
    --------
    >>> noise = kifer_noise(Budget(1, 1e-6))
    >>> round(noise.sigma, 2), noise.lam, noise.event.delta(1.0) < 1e-6
    (10.96, 0.5, True)
    """
    eps, delta = budget.epsilon, budget.delta
    if delta == 0 or eps == 0:
        raise ValueError(f"{budget} needs epsilon > 0 and delta > 0; for pure privacy use pure_objective_noise")
    radius, slope = positive(row_norm, "row_norm"), positive(lipschitz, "lipschitz")
    sigma = slope * radius * math.sqrt(8 * math.log(2 / delta) + 4 * eps) / eps
    ridge = 2 * positive(smoothness, "smoothness") * radius**2 / eps
    return _certified(budget, sigma, ridge, slope * radius, smoothness * radius**2, (eps, delta))


def lecture_noise(
    budget: Budget,
    ridge: float,
    *,
    row_norm: float = 1.0,
    lipschitz: float = 1.0,
    smoothness: float = 0.25,
) -> ObjectiveNoise:
    r"""Theorem 16.8 of the lecture as printed: variance ``10 L^2 log(1/delta) / epsilon^2``.

    It promises ``(epsilon / 2 + log(1 + 2 beta R^2 / lambda), delta)``.  That is so when a record is added or removed;
    when one is replaced the Gaussian part alone is .701 > .5 at epsilon 1, and the theorem is false as printed.

    Notes
    -----
    *Privacy.* Guarantee: the printed one, at ``budget``'s epsilon and delta; replace-one is refused.
    Neighbours: zero-out, add/remove.  Public: every argument.  Bounded by: row norm, Lipschitz constant, smoothness.
    Proof: ``proofs/objective_perturbation.md``, section 11.

    Examples
    --------
    >>> round(lecture_noise(Budget(1, 1e-6), ridge=1.0).sigma, 2)
    11.75
    >>> lecture_noise(Budget(1, 1e-6, neighbors="replace_one"), ridge=1.0)
    Traceback (most recent call last):
    ...
    discreet.privacy.neighbours.PrivacyError: Theorem 16.8 is false when a record is replaced (the noise is ...
    """
    if budget.neighbors is Neighbours.REPLACE_ONE:
        raise PrivacyError(
            "Theorem 16.8 is false when a record is replaced (the noise is that of add/remove): use "
            "calibrate_objective, or a budget with neighbors='zero_out'"
        )
    eps, delta = budget.epsilon, budget.delta
    if delta == 0 or eps == 0:
        raise ValueError(f"{budget} needs epsilon > 0 and delta > 0; for pure privacy use pure_objective_noise")
    radius, slope = positive(row_norm, "row_norm"), positive(lipschitz, "lipschitz")
    beta, ridge = positive(smoothness, "smoothness"), positive(ridge, "ridge")
    sigma = slope * radius * math.sqrt(10 * math.log(1 / delta)) / eps
    promised = (eps / 2 + math.log1p(2 * beta * radius**2 / ridge), delta)
    return _certified(budget, sigma, ridge, slope * radius, beta * radius**2, promised)


def _certified(
    budget: Budget, sigma: float, ridge: float, reach: float, bend: float, promised: tuple[float, float]
) -> ObjectiveNoise:
    """The printed noise, if a loss of which only smoothness is known keeps the printed promise with it."""
    mu, kappa = reach / sigma, bend / ridge
    event = ObjectivePerturbationDpEvent(mu, kappa, "two_sided", budget.neighbors.value)
    if event.delta(promised[0]) > promised[1]:
        raise PrivacyError(
            f"the printed noise sigma={sigma:.4g} is not confirmed for {budget}: the best bound known here at "
            f"epsilon={promised[0]:.4g} is delta={event.delta(promised[0]):.3g}, above the printed {promised[1]:.3g}; "
            "use calibrate_objective"
        )
    return ObjectiveNoise(sigma, ridge, mu, kappa, 0.0, 0.0, 0.0, event)


def pure_cost(
    slope_cost: float, kappa: float, shape: Shape = "logistic", *, neighbors: str = "zero_out", n_classes: int = 2
) -> float:
    r"""The epsilon of a perturbed minimum whose linear term has density ``exp(-||b|| / scale)``.

    Parameters
    ----------
    slope_cost : float
        ``L R / scale`` (``2 L R / scale`` for replace-one): what the linear term costs by itself.
    kappa : float
        ``R^2 / lambda`` times the smoothness relative to that of `shape`.
    shape, neighbors, n_classes
        As in :class:`~discreet.accounting.objective_perturbation.ObjectivePerturbationDpEvent`.

    Notes
    -----
    *Privacy.* Guarantee: ``max_s { s e + log(1 + kappa h(s)) }``, with half of e at s = 1 for replace-one; never more
    than ``e + log(1 + beta R^2 / lambda)``.  Neighbours: `neighbors`.  Public: every argument.
    Bounded by: the row norm, the Lipschitz constant, the curvature.
    Proof: ``proofs/objective_perturbation.md``, section 10.

    Examples
    --------
    >>> pure_cost(1.0, 1.0), pure_cost(1.0, 0.5, neighbors="replace_one")
    (1.0, 1.0)
    >>> round(pure_cost(1.0, 1.0, "two_sided"), 4)
    1.6931
    """
    moves = Neighbours.of(neighbors).moves
    first = positive(slope_cost, "slope_cost") / moves
    kappa = positive(kappa, "kappa")
    nodes = nodes_for(kappa)
    if shape == "softmax":
        middle, half = (nodes[:-1] + nodes[1:]) / 2, np.diff(nodes) / 2
        value, slope = log_determinant(middle, kappa, n_classes)
        part = at_nodes(value - slope * half, value + slope * half)
        return slope_cost - first + float(np.max(nodes * first + part)) * (1 + 1e-12)
    if shape == "logistic" and kappa <= first:  # e s + kappa s (1 - s) <= e, as e >= kappa s
        return float(slope_cost)
    curved: Curvature = _shape(shape, False).for_short_rows()
    part = at_nodes(*curved.log_determinant(kappa, nodes))
    return slope_cost - first + float(np.max(nodes * first + part)) * (1 + 1e-12)


def pure_objective_noise(
    budget: Budget,
    shape: Shape = "logistic",
    *,
    ridge: float,
    row_norm: float = 1.0,
    lipschitz: float = 1.0,
    scale: float = 1.0,
    n_classes: int = 2,
    tau: float = 0.0,
    share: float = 0.01,
) -> PureObjectiveNoise:
    r"""The least noise for a perturbed minimum under pure differential privacy.

    Parameters are those of :func:`~discreet.accounting.objective_calibration.calibrate_objective` (softmax: the
    Lipschitz constant is ``sqrt(2)``); `share` of epsilon pays for `tau`.

    Notes
    -----
    *Privacy.* Guarantee: `budget`, which must be pure.  Neighbours: those of the budget.  Public: every argument.
    Bounded by: :func:`pure_cost`.  Proof: ``proofs/objective_perturbation.md``, section 10.

    Examples
    --------
    >>> pure_objective_noise(Budget(1.0, neighbors="replace_one"), ridge=2.0).scale
    2.0
    """
    if budget.kind != "dp" or budget.delta != 0:
        raise ValueError(f"{budget} is not pure; use calibrate_objective")
    radius, slope = positive(row_norm, "row_norm"), positive(lipschitz, "lipschitz")
    ridge, tau = positive(ridge, "ridge"), positive(tau, "tau", zero=True)
    kappa = positive(scale, "scale") * radius**2 / ridge
    second = budget.epsilon * share if tau else 0.0
    whole, moves = budget.epsilon - second, budget.neighbors.moves

    def cost(e: float) -> float:
        return pure_cost(e, kappa, shape, neighbors=budget.neighbors.value, n_classes=n_classes)

    low = high = positive(whole, "epsilon")
    while cost(low) > whole:
        high, low = low, low / 2
        if low < 1e-9 * whole:
            raise ValueError(f"no noise meets {budget}: the log determinant alone exceeds it; raise ridge={ridge!r}")
    while high / low > 1 + 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if cost(middle) <= whole else (low, middle)
    scale2 = math.nextafter(2 * tau / (ridge * second), math.inf) if tau else 0.0
    length = moves * slope * radius / low
    return PureObjectiveNoise(length, ridge, tau, scale2, PureDpEvent(budget.epsilon))
