"""Wrong ways to price objective perturbation (PITFALLS 10, 11, 13, 17), each as an event that promises too much.

Every function takes the true public numbers and returns the event that the mistake would put into the plan.
"""

from __future__ import annotations

from discreet.accounting.objective_perturbation import ObjectivePerturbationDpEvent

Event = ObjectivePerturbationDpEvent


def intercept_outside_the_bound(row_norm: float, constant: float, sigma: float, ridge: float) -> Event:
    """Pitfall 10: the constant column is appended after the rows were clipped to `row_norm`."""
    return Event(row_norm / sigma, row_norm**2 / ridge)


def intercept_left_out_of_the_regulariser(
    row_norm: float, constant: float, sigma: float, ridge: float, intercept_ridge: float
) -> Event:
    """Pitfall 10: the norm counts the column, but kappa is that of a ridge which the intercept doesn't have."""
    square = row_norm**2 + constant**2
    return Event(square**0.5 / sigma, square / ridge)


def norm_not_squared(row_norm: float, sigma: float, ridge: float) -> Event:
    """Pitfall 11: R where the Hessian bound needs R^2."""
    return Event(row_norm / sigma, row_norm / ridge)


def softmax_without_the_root(row_norm: float, sigma: float, ridge: float) -> Event:
    """Pitfall 13: the softmax gradient taken to have norm R."""
    return Event(row_norm / sigma, row_norm**2 / ridge)


def softmax_as_a_scalar_loss(row_norm: float, sigma: float, ridge: float) -> Event:
    """Pitfall 13, the subtle half: with the right norm sqrt(2) R, but by the scalar theorem."""
    return Event(2**0.5 * row_norm / sigma, 2 * row_norm**2 / ridge)


def tolerance_ignored(row_norm: float, sigma: float, ridge: float, tau: float, sigma2: float) -> Event:
    """Pitfall 17: 'the optimiser said converged'; nothing pays for the distance to the minimum."""
    return Event(row_norm / sigma, row_norm**2 / ridge)


def tolerance_counted_once(row_norm: float, sigma: float, ridge: float, tau: float, sigma2: float) -> Event:
    """Pitfall 17: tau / lambda, when the errors on two data sets can point away from each other."""
    return Event(row_norm / sigma, row_norm**2 / ridge, tolerance_mu=tau / (ridge * sigma2))


def composed_as_a_gaussian(mu: float, k: int) -> float:
    """The mu of k fits, as if each were a Gaussian mechanism whatever its kappa."""
    return mu * k**0.5


def cap_squared(cap: float, largest_norm: float, sigma: float, ridge: float) -> Event:
    """Loss weights capped at cap / ||x||, with the curvature of a row that was *scaled* to norm `cap`."""
    return Event(cap / sigma, cap**2 / ridge)


def scalar_formula_for_soft_labels(row_norm: float, sigma: float, ridge: float) -> Event:
    """The hard-label curvature, sign fixed, with labels anywhere in [0, 1]."""
    return Event(row_norm / sigma, row_norm**2 / ridge, "logistic")
