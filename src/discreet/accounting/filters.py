r"""Budgets that are spent step by step, each step's cost chosen after seeing the earlier answers.

A *filter* says before each step whether it still fits; if it is asked first and obeyed, the whole adaptive run keeps
the promise.  zCDP, a Renyi curve and the Gaussian mu^2 have filters that cost nothing against a schedule fixed in
advance.  Sums are exact rational numbers: twenty twentieths of a budget fit, and not a hair more.  Loss distributions
and the value function have no such filter: they need the schedule fixed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from dp_accounting import dp_event

from discreet.accounting import gdp, rdp, zcdp
from discreet.accounting.events import BoundedRangeDpEvent, tally
from discreet.privacy import Budget, Number, PrivacyError, exact

__all__ = ["GaussianFilter", "RdpFilter", "ZCdpFilter"]


def _up(value: float) -> Fraction:
    """The exact value of a float that was rounded to nearest somewhere, moved to the safe side."""
    if not math.isfinite(value):
        raise PrivacyError("this step has no finite cost for this filter, so it can't be let through")
    return Fraction(math.nextafter(value, math.inf)) if value else Fraction(0)


class _Filter:
    """What the one-number filters share: an exact limit, an exact sum."""

    def __init__(self, limit: Fraction) -> None:
        if limit < 0:
            raise ValueError(f"a limit of {limit} must not be negative")
        self.limit, self.spent = limit, Fraction(0)

    @property
    def remaining(self) -> Fraction:
        """What is left, exactly."""
        return self.limit - self.spent

    def cost(self, step: Number | dp_event.DpEvent) -> Fraction:
        """The cost of a step: a number as it is, an event by its formula, rounded up where it must be rounded."""
        if isinstance(step, dp_event.DpEvent):
            return sum((count * self._leaf(leaf) for leaf, count in tally(step)), Fraction(0))
        value = exact(step, "cost")
        if value < 0:
            raise ValueError(f"cost={step!r} must not be negative")
        return value

    def _leaf(self, leaf: dp_event.DpEvent) -> Fraction:
        raise PrivacyError(f"this filter can't price {leaf!r}")

    def fits(self, step: Number | dp_event.DpEvent) -> bool:
        """Whether the step may be taken."""
        return self.spent + self.cost(step) <= self.limit

    def charge(self, step: Number | dp_event.DpEvent) -> Fraction:
        """Pay for a step *before* taking it; returns what is left, or raises and charges nothing."""
        cost = self.cost(step)
        if self.spent + cost > self.limit:
            raise PrivacyError(
                f"a step that costs {float(cost):.6g} does not fit what is left, {float(self.remaining):.6g}; "
                "stop here, the answers so far are within the budget"
            )
        self.spent += cost
        return self.remaining


class ZCdpFilter(_Filter):
    """The fully adaptive filter of zero-concentrated differential privacy.

    Parameters
    ----------
    rho : number or Budget
        The limit; a Budget of (epsilon, delta) is converted.

    Notes
    -----
    *Privacy.* Guarantee: rho-zCDP of everything let through, costs and the stopping time adaptive.
    Neighbours: those of the charges.  Public: the limit; the charges are functions of what was released.
    Bounded by: an exact sum checked before each step.  Proof: ``proofs/filters.md``.

    Examples
    --------
    >>> purse = ZCdpFilter(Budget(rho=0.5))
    >>> [purse.charge(Fraction(1, 40)) for _ in range(20)][-1]
    Fraction(0, 1)
    >>> purse.fits(1e-300)
    False
    """

    def __init__(self, rho: Number | Budget) -> None:
        if isinstance(rho, Budget):
            if rho.kind == "dp":
                limit = Fraction(zcdp.rho_for(rho.epsilon, rho.delta))
            elif rho.kind == "zcdp":
                limit = rho._need("zcdp", "rho")
            else:
                limit = rho._need("gdp", "mu") / 2
            super().__init__(limit)
        else:
            super().__init__(exact(rho, "rho"))

    def _leaf(self, leaf: dp_event.DpEvent) -> Fraction:
        multiplier = leaf.noise_multiplier if isinstance(leaf, dp_event.GaussianDpEvent) else 0
        if multiplier:
            return 1 / (2 * Fraction(float(multiplier)) ** 2)
        if isinstance(leaf, BoundedRangeDpEvent):
            return Fraction(float(leaf.eta)) ** 2 / 8
        return _up(zcdp.rho_of(leaf))


class GaussianFilter(_Filter):
    r"""The fully adaptive filter of Gaussian mechanisms: the sum of :math:`\mu_t^2` stays below the limit.

    Saves the few per cent that the conversion of zCDP wastes, but takes Gaussian steps only.

    Parameters
    ----------
    budget : Budget
        ``Budget(mu=...)``, or one of (epsilon, delta), which is converted exactly.

    Notes
    -----
    *Privacy.* Guarantee: mu-GDP of everything let through.  Neighbours: those of the charges.  Public: the limit.
    Bounded by: an exact sum of squares checked before each step.  Proof: ``proofs/filters.md``.

    Examples
    --------
    >>> purse = GaussianFilter(Budget(epsilon=1, delta=1e-6))
    >>> purse.fits(dp_event.GaussianDpEvent(4.2)), purse.fits(dp_event.GaussianDpEvent(4.23))
    (False, True)
    """

    def __init__(self, budget: Budget) -> None:
        if budget.kind == "gdp":
            limit = budget._need("gdp", "mu")
        elif budget.kind == "dp":
            limit = Fraction(gdp.mu_for(budget.epsilon, budget.delta)) ** 2
        else:
            raise ValueError(f"{budget} has no Gaussian meaning; use ZCdpFilter")
        super().__init__(limit)

    def _leaf(self, leaf: dp_event.DpEvent) -> Fraction:
        if not isinstance(leaf, dp_event.GaussianDpEvent) or not leaf.noise_multiplier:
            raise PrivacyError(f"the Gaussian filter takes Gaussian steps only, not {leaf!r}; use ZCdpFilter")
        return 1 / Fraction(float(leaf.noise_multiplier)) ** 2


class RdpFilter:
    """The fully adaptive filter of a Renyi curve: a limit at every order, none of which may be passed.

    With a single order this is the filter of Feldman and Zrnic; a *choice* of the best order afterwards would not be
    a filter, so the limit holds at all of them.

    Parameters
    ----------
    orders, limits : sequences of numbers
        Orders above 1, and how much each may reach.

    Notes
    -----
    *Privacy.* Guarantee: (order, limit)-RDP at every order.  Neighbours: those of the charges.
    Public: orders and limits.  Bounded by: exact sums checked before each step.  Proof: ``proofs/filters.md``.

    Examples
    --------
    >>> purse = RdpFilter.for_budget(Budget(epsilon=1, delta=1e-6))
    >>> purse.fits(dp_event.GaussianDpEvent(4.0)), purse.fits(dp_event.GaussianDpEvent(5.0))
    (False, True)
    """

    def __init__(self, orders: Sequence[float], limits: Sequence[Number]) -> None:
        if not orders or len(orders) != len(limits) or min(orders) <= 1:
            raise ValueError("give as many limits as orders, at least one, and orders above 1")
        self.orders = np.asarray(orders, dtype=float)
        self.limits = [exact(limit, "limit") for limit in limits]
        self.spent = [Fraction(0)] * len(self.limits)

    @classmethod
    def for_budget(cls, budget: Budget, order: float | None = None) -> RdpFilter:
        """One order, chosen in advance: the given one, or the one that suits a run of Gaussian steps best.

        >>> round(float(RdpFilter.for_budget(Budget(epsilon=1, delta=1e-6)).orders[0]), 1)
        21.9
        """
        if budget.kind != "dp" or not budget.delta:
            raise ValueError(f"{budget} has no delta; a Renyi limit for it is the limit itself")

        def room(a: float) -> float:  # what the conversion leaves at this order
            return budget.epsilon - math.log1p(-1 / a) + math.log(budget.delta * a) / (a - 1)

        tries = [order] if order else [1 + math.exp(0.02 * k) for k in range(-200, 500)]
        best = max(tries, key=lambda a: room(a) / a)
        if room(best) <= 0:
            raise ValueError(f"order {best:g} leaves nothing of {budget}; give a larger one")
        return cls([best], [Fraction(math.nextafter(room(best) * (1 - 1e-12), 0))])

    def cost(self, event: dp_event.DpEvent) -> list[Fraction]:
        """The event's curve at the filter's orders: exact for Gaussians, rounded up for the rest."""
        total = [Fraction(0)] * len(self.orders)
        for leaf, count in tally(event):
            if isinstance(leaf, dp_event.GaussianDpEvent) and leaf.noise_multiplier:
                each = [Fraction(float(a)) / (2 * Fraction(float(leaf.noise_multiplier)) ** 2) for a in self.orders]
            else:
                each = [_up(float(v)) for v in rdp.curve(leaf, self.orders)]
            total = [t + count * e for t, e in zip(total, each, strict=True)]
        return total

    def fits(self, event: dp_event.DpEvent) -> bool:
        """Whether the step may be taken."""
        return all(s + c <= m for s, c, m in zip(self.spent, self.cost(event), self.limits, strict=True))

    def charge(self, event: dp_event.DpEvent) -> None:
        """Pay for a step *before* taking it, or raise and charge nothing."""
        after = [s + c for s, c in zip(self.spent, self.cost(event), strict=True)]
        over = [float(a) for a, total, m in zip(self.orders, after, self.limits, strict=True) if total > m]
        if over:
            raise PrivacyError(f"this step would pass the limit at order {over[0]:g}; stop here")
        self.spent = after
