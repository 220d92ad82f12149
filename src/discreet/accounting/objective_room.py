"""Whether a perturbed minimum can meet a budget at all: its determinant costs something at any noise."""

from __future__ import annotations

from discreet.accounting import gdp
from discreet.accounting.objective_calibration import Shape
from discreet.accounting.objective_perturbation import ObjectivePerturbationDpEvent
from discreet.privacy import Budget

__all__ = ["affordable"]

FAR = 1e-3  # of the mu that the whole budget buys


def affordable(budget: Budget, kappa: float, shape: Shape) -> bool:
    """Whether a thousand times the noise that the budget asks of a Gaussian would do for this `kappa`.

    Asked before a search for the least noise, which would otherwise run to where numbers lose their meaning.

    >>> affordable(Budget(1, 1e-6), 1.5, "logistic"), affordable(Budget(1, 1e-6), 100.0, "logistic")
    (True, False)
    """
    mu = FAR * gdp.mu_for(budget.epsilon, budget.delta)
    event = ObjectivePerturbationDpEvent(mu, kappa, shape, budget.neighbors.value)
    return event.delta(budget.epsilon) <= budget.delta
