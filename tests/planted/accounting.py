"""Broken twins of the accounting (numbers refer to PITFALLS): each must raise an alarm in the tests."""

from __future__ import annotations

import math

from dp_accounting import dp_event

from discreet import accounting
from discreet.accounting import gdp
from discreet.accounting.events import BoundedRangeDpEvent, compose, leaves, repeat
from discreet.privacy import Budget, PrivacyError


def mu_as_multiplier(budget: Budget, steps: int) -> dp_event.DpEvent:
    """2: the mu of the budget is handed over as the noise multiplier, where ``sqrt(steps) / mu`` belongs."""
    return repeat(dp_event.GaussianDpEvent(gdp.mu_for(budget.epsilon, budget.delta)), steps)


def classical_gaussian(budget: Budget) -> dp_event.DpEvent:
    """19: ``sqrt(2 log(1.25 / delta)) / epsilon``, a theorem for epsilon below 1, at any epsilon."""
    return dp_event.GaussianDpEvent(math.sqrt(2 * math.log(1.25 / budget.delta)) / budget.epsilon)


def published_sgd(budget: Budget, q: float, steps: int) -> dp_event.DpEvent:
    """19: the printed ``q sqrt(T log(1/delta)) / epsilon`` "for any m, eta, T": false where q T is small."""
    multiplier = q * math.sqrt(steps * math.log(1 / budget.delta)) / budget.epsilon
    return repeat(dp_event.PoissonSampledDpEvent(q, dp_event.GaussianDpEvent(multiplier)), steps)


def priced_once(event: dp_event.DpEvent, delta: float) -> float:
    """20: repeated events are priced as single ones."""
    return accounting.epsilon(compose(*(leaf for leaf, _ in leaves(event))), delta)


def half_then_full(budget: Budget) -> dp_event.DpEvent:
    """21: half the budget for ten selections, then the whole budget again for the estimate."""
    half = budget.split(2)[0]
    eta = accounting.calibrate(
        lambda e: repeat(BoundedRangeDpEvent(e), 10), half, increasing=True, start=0.1, rtol=1e-3
    )
    sigma = accounting.calibrate(dp_event.GaussianDpEvent, budget)
    return compose(repeat(BoundedRangeDpEvent(eta), 10), dp_event.GaussianDpEvent(sigma))


def full_in_each_phase(budget: Budget, n: int) -> dp_event.DpEvent:
    """21: the full budget in each of log n phases."""
    sigma = accounting.calibrate(dp_event.GaussianDpEvent, budget)
    return repeat(dp_event.GaussianDpEvent(sigma), math.ceil(math.log2(n)))


class FloatFilter:
    """24: sums of floats, compared with a float."""

    def __init__(self, limit: float) -> None:
        self.limit, self.spent = limit, 0.0

    def charge(self, cost: float) -> None:
        """Pay, or refuse."""
        if self.spent + cost > self.limit:
            raise PrivacyError(f"{cost} does not fit")
        self.spent += cost
