"""How much noise a perturbed minimum needs, and how much ridge it should have.

Everything here is a function of public numbers: the budget, the bounds, the loss.  What comes back is rounded to the
private side and priced again by the very event that is put into the plan.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.accounting import gdp
from discreet.accounting.events import positive
from discreet.accounting.objective_curvature import Curvature, curvature
from discreet.accounting.objective_perturbation import ObjectivePerturbationDpEvent
from discreet.losses import Loss
from discreet.privacy import Budget, Neighbours

__all__ = ["ObjectiveNoise", "calibrate_objective", "default_ridge", "free_kappa", "shape_of"]

Shape = str | Curvature


@dataclass(frozen=True)
class ObjectiveNoise:
    """What a perturbed minimum is run with.

    Attributes
    ----------
    sigma : float
        Standard deviation of each coordinate of the linear term b.
    lam : float
        The ridge lambda (of the sum, not of the mean).
    mu, kappa : float
        ``L R / sigma`` and ``scale * R^2 / lambda``.
    tau, sigma2, mu2 : float
        The gradient norm that the solver must reach, the standard deviation of the noise added to the coefficients,
        and ``2 tau / (lambda sigma2)``; all 0 when the minimum is exact.
    event : ObjectivePerturbationDpEvent
        What it costs.

    Examples
    --------
    >>> calibrate_objective(Budget(1, 1e-6), ridge=1.0, share=0.0).sigma < 4.23
    True
    """

    sigma: float
    lam: float
    mu: float
    kappa: float
    tau: float
    sigma2: float
    mu2: float
    event: ObjectivePerturbationDpEvent


def shape_of(loss: Loss) -> tuple[Shape, float]:
    """The curvature shape of a loss, and the factor by which its smoothness exceeds that of the shape.

    >>> from discreet.losses import HuberLoss, LogisticLoss, SmoothedHingeLoss
    >>> shape_of(LogisticLoss()), shape_of(SmoothedHingeLoss(width=0.5)), shape_of(HuberLoss())
    (('logistic', 1.0), ('logistic', 2.0), ('two_sided', 1.0))
    """
    if loss.name in ("logistic", "pseudo_huber", "softmax"):
        return loss.name, 1.0
    if loss.name == "smoothed_hinge":
        return "logistic", 4.0 * loss.smoothness
    if not math.isfinite(loss.lipschitz):
        raise ValueError(f"loss {loss.name!r} has unbounded slopes; objective perturbation needs a Lipschitz loss")
    if loss.name == "quantile":
        # |f'| = s L moves the sigmoid by at most L per unit of s, and v(1 - v) / w by at most that over w = 1/(4 beta)
        slope = 4.0 * loss.smoothness * loss.lipschitz
        return curvature(repr(loss), _Slopes(loss), sign_fixed=False, beta=loss.smoothness, slope=slope), 1.0
    return "one_sided" if loss.sign_fixed else "two_sided", float(loss.smoothness)


@dataclass(frozen=True)
class _Slopes:
    """The loss's curvature at a slope; equal losses have equal ones, so that their prices are worked out once."""

    loss: Loss

    def __call__(self, s: Any) -> Any:
        return np.minimum(np.asarray(self.loss.curvature_of_slope(s), dtype=float), self.loss.smoothness)


def calibrate_objective(
    budget: Budget,
    shape: Shape = "logistic",
    *,
    ridge: float,
    row_norm: float = 1.0,
    lipschitz: float = 1.0,
    scale: float = 1.0,
    kappa: float | None = None,
    apart: bool = False,
    n_classes: int = 2,
    tau: float = 0.0,
    share: float = 0.02,
) -> ObjectiveNoise:
    r"""The least noise for which a perturbed minimum keeps to `budget`.

    Parameters
    ----------
    budget : Budget
        (epsilon, delta) with delta above 0; or mu or rho where the release is Gaussian (``ridge >= 2 (R/mu)^2``).
    shape : str or Curvature
        See :class:`~discreet.accounting.objective_perturbation.ObjectivePerturbationDpEvent`; ``shape_of(loss)``.
    ridge : float
        lambda: what multiplies ``||theta||^2 / 2`` in the *sum* of losses.  Must not depend on the rows.
    row_norm : float
        R, a bound on the norm of every row *with* its constant column; times the largest weight, see `lipschitz`.
    lipschitz : float
        L, of the weighted loss (softmax: the largest weight).
    scale : float
        The smoothness of the (weighted) loss over that of the shape.
    kappa : float, optional
        In place of ``scale R^2 / ridge``, where :func:`objective_geometry` gives a sharper or a safer one.
    tau : float
        The gradient norm that the solver is sure to reach.  0: the minimum is exact.
    share : float
        Which part of mu goes to the noise that pays for `tau` (used with ``tau > 0`` only); its square adds up.

    Returns
    -------
    ObjectiveNoise

    Notes
    -----
    *Privacy.* Guarantee: `budget`.  Neighbours: those of the budget.  Public: every argument.
    Bounded by: Theorems 5, 7 and 8.  Proof: ``proofs/objective_perturbation.md``.

    Examples
    --------
    >>> budgets = [(0.1, 20.0), (0.5, 2.0), (1.0, 1.0), (4.0, 0.25)]
    >>> [round(calibrate_objective(Budget(e, 1e-6), ridge=r).sigma, 3) for e, r in budgets]
    [36.305, 8.058, 4.225, 1.194]
    """
    ridge, radius = positive(ridge, "ridge"), positive(row_norm, "row_norm")
    slope, scale = positive(lipschitz, "lipschitz"), positive(scale, "scale")
    tau, share = positive(tau, "tau", zero=True), positive(share, "share", zero=True) if tau else 0.0
    if tau and not 0 < share < 1:
        raise ValueError(f"share={share!r} must be between 0 and 1, to pay for tau={tau!r}")
    k = math.nextafter(scale * radius * radius / ridge, math.inf) if kappa is None else positive(kappa, "kappa")

    def event(mu: float, part: float = share) -> ObjectivePerturbationDpEvent:
        return ObjectivePerturbationDpEvent(mu, k, shape, budget.neighbors.value, n_classes, apart, part * mu)

    if budget.kind == "dp":
        mu = _largest_mu(budget, lambda m: event(m, 0.0))
        mu = _lowered(budget, event, mu, share) if share else mu
    else:
        mu = _closed_mu(budget, event, share)
    sigma = math.nextafter(slope * radius / mu, math.inf)
    used = math.nextafter(slope * radius / sigma, math.inf)
    sigma2 = math.nextafter(2 * tau / (ridge * share * mu), math.inf) if tau else 0.0
    return ObjectiveNoise(sigma, ridge, used, k, tau, sigma2, share * mu, event(max(mu, used)))


def _closed_mu(budget: Budget, event: Callable[[float], ObjectivePerturbationDpEvent], share: float) -> float:
    """The mu for a Gaussian budget: only where the release composes as a Gaussian."""
    total = budget.mu if budget.kind == "gdp" else math.sqrt(2 * budget.rho)
    mu = total / math.sqrt(budget.neighbors.moves**2 + share * share) * (1 - 1e-12)
    if event(mu).gaussian_mu is None:
        raise ValueError(
            f"a perturbed minimum with kappa={event(mu).kappa:.4g} and mu={mu:.4g} is not Gaussian, so {budget} can't "
            "buy it: use the logistic loss with ridge >= 2 (R / mu)^2, or a budget of epsilon and delta"
        )
    return mu


def _largest_mu(budget: Budget, event: Callable[[float], ObjectivePerturbationDpEvent]) -> float:
    """The largest mu whose event has at most delta at epsilon, by bisection, rounded down."""
    eps, delta = budget.epsilon, budget.delta
    if delta == 0:
        raise ValueError(f"{budget} is pure; Gaussian noise needs delta > 0: use pure_objective_noise")
    high = low = gdp.mu_for(eps, delta)  # nothing is more private than the Gaussian release that it contains
    while event(low).delta(eps) > delta:
        high, low = low, low / 2
        if low < 1e-12:
            raise ValueError(f"no noise meets {budget} with this ridge: the log determinant alone is too large")
    close = 1e-5 if event(low).shape == "softmax" else 1e-7
    while high / low > 1 + close:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if event(middle).delta(eps) <= delta else (low, middle)
    return low * (1 - 1e-12)


def _lowered(
    budget: Budget, event: Callable[[float], ObjectivePerturbationDpEvent], high: float, share: float
) -> float:
    """From the mu of the exact minimum to that of the approximate one, slightly lower: few evaluations."""
    gap = share * share
    while event(high * (1 - gap)).delta(budget.epsilon) > budget.delta:
        gap *= 2
        if gap >= 1:
            raise ValueError(f"share={share!r} is too large a part of {budget} for the solver's tolerance")
    low = high * (1 - gap)
    for _ in range(6):
        middle = (low + high) / 2
        low, high = (middle, high) if event(middle).delta(budget.epsilon) <= budget.delta else (low, middle)
    return low


@lru_cache(maxsize=256)
def free_kappa(
    epsilon: float,
    delta: float,
    shape: Shape = "logistic",
    neighbors: str = "zero_out",
    *,
    n_classes: int = 2,
    inflation: float = 1.05,
) -> float:
    """The largest kappa at which the noise is at most `inflation` times what it is with an infinite ridge.

    >>> [round(free_kappa(e, 1e-6), 2) for e in (0.1, 0.5, 1.0, 4.0)]
    [0.16, 0.83, 1.77, 9.84]
    """
    twice = Neighbours.of(neighbors) is Neighbours.REPLACE_ONE
    budget = Budget(epsilon, delta, neighbors=neighbors)
    mu = calibrate_objective(budget, shape, ridge=1e9, n_classes=n_classes).mu / inflation

    def fits(kappa: float) -> bool:
        return ObjectivePerturbationDpEvent(mu, kappa, shape, neighbors, n_classes).delta(epsilon) <= delta

    low, high = 1e-4 * epsilon, max(4 * epsilon, 1e-6) / (2 if twice else 1)
    while fits(high) and high < 1e6:
        low, high = high, 2 * high
    while high / low > (1.02 if shape == "softmax" else 1.001):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def default_ridge(
    budget: Budget,
    n_rows: float,
    n_features: int,
    shape: Shape = "logistic",
    *,
    row_norm: float = 1.0,
    scale: float = 1.0,
    n_classes: int = 2,
) -> float:
    r"""The default lambda: enough for the noise of one Gaussian query, and not too much for the data.

    ``R^2 max(1 / kappa*, clip(4 p s^2 / n, 0.1 s, 3 s))`` with s the Gaussian noise multiplier of the budget and
    kappa* from :func:`free_kappa`.

    Parameters
    ----------
    budget : Budget
        With epsilon and delta; another kind is read through its mu.
    n_rows : float
        The number of rows, public or noisy.
    n_features : int
    shape : str or Curvature
    row_norm, scale, n_classes
        As in :func:`calibrate_objective`.

    Notes
    -----
    *Privacy.* Guarantee: none needed, a function of public numbers.  Neighbours: those of the budget.
    Public: every argument; under add/remove `n_rows` must be a noisy count.  Bounded by: nothing private.
    Proof: ``proofs/objective_perturbation.md``, section 0.

    Examples
    --------
    >>> round(default_ridge(Budget(1, 1e-6), 40_000, 100), 3)
    0.566
    """
    if not n_rows > 0 or n_features < 1:
        raise ValueError(f"n_rows={n_rows!r} and n_features={n_features!r} must be positive")
    if budget.kind == "dp":
        multiplier = 1 / gdp.mu_for(budget.epsilon, budget.delta)
        floor = 1 / free_kappa(budget.epsilon, budget.delta, shape, budget.neighbors.value, n_classes=n_classes)
    else:
        mu = budget.mu if budget.kind == "gdp" else math.sqrt(2 * budget.rho)
        multiplier = 1 / mu
        floor = (2.0 if budget.neighbors.moves == 1 else 8.0) / mu**2 * 1.01
    wanted = min(max(4 * n_features * multiplier**2 / n_rows, 0.1 * multiplier), 3 * multiplier)
    return float(row_norm) ** 2 * scale * max(floor, wanted)
