"""A budget divided into shares, each of which buys one noisy release or one selection.

A pure budget is divided in epsilon and buys Laplace or K-norm noise.  Any other budget is read as Gaussian: rho of zCDP
is ``mu**2 / 2``, (epsilon, delta) the largest mu that keeps it; squares of mu add up, and all noise is Gaussian.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from dp_accounting import dp_event
from numpy.typing import NDArray

from discreet.accounting import bounded_range, events, gdp
from discreet.mechanisms.base import Additive
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.k_norm import KNorm
from discreet.mechanisms.laplace import Laplace
from discreet.moments.release import Promise
from discreet.privacy import Bounded, Budget, PrivacyError
from discreet.privacy.budget import Number
from discreet.randomness import RandomState, Source, source_for

__all__ = ["Purse", "Share", "purse_for"]

K_NORM_LIMIT = 5_000  # K-norm noise is drawn in Python integers: beyond this many numbers it takes too long


def purse_for(
    epsilon: Number | None,
    delta: Number,
    rho: Number | None,
    mu: Number | None,
    neighbors: Any,
    random_state: RandomState,
    pure_noise: str = "auto",
) -> Purse:
    """The purse for a function's budget arguments; epsilon=1 when none is given.

    >>> purse_for(None, 0, None, None, "zero_out", None).budget
    Budget(epsilon=1, neighbors='zero_out')
    """
    if epsilon is None and rho is None and mu is None:
        epsilon = 1
    return Purse(Budget(epsilon, delta, rho=rho, mu=mu, neighbors=neighbors), source_for(random_state), pure_noise)


class Purse:
    """A budget, and a record of what was bought with it.

    Parameters
    ----------
    budget : Budget
        Pure, approximate, zCDP or Gaussian.
    source : Source
        Where random words come from.
    pure_noise : {"auto", "laplace", "k_norm"}
        What a pure budget buys for a vector: the smaller of the two by default.

    Notes
    -----
    *Privacy.* Guarantee: `budget`, for the composition of everything its shares buy.  Neighbours: those of `budget`.
    Public: the budget and its division.  Bounded by: shares that add up to the whole, exactly.
    Proof: ``proofs/moments.md``.

    Examples
    --------
    >>> from discreet.randomness import system
    >>> [round(s.mu, 4) for s in Purse(Budget(rho=0.5), system()).shares([9, 16])]
    [0.6, 0.8]
    """

    def __init__(self, budget: Budget, source: Source, pure_noise: str = "auto") -> None:
        if pure_noise not in ("auto", "laplace", "k_norm"):
            raise ValueError(f"pure_noise={pure_noise!r} is not one of 'auto', 'laplace', 'k_norm'")
        self.pure_noise = pure_noise
        if (budget.kind == "dp" and budget.epsilon <= 0) or (budget.kind != "dp" and budget._first <= 0):
            raise PrivacyError(f"{budget} buys nothing; give a positive budget")
        self.budget = budget
        self.source = source
        self.bought: list[dp_event.DpEvent] = []
        self.pure = budget.is_pure
        if budget.kind == "gdp":
            self.mu = budget.mu
        elif budget.kind == "zcdp":
            self.mu = math.sqrt(2 * budget.rho)
        else:
            self.mu = math.nan if self.pure else gdp.mu_for(budget.epsilon, budget.delta)

    def shares(self, weights: Sequence[Number]) -> list[Share]:
        """The whole budget in parts proportional to `weights`."""
        total = sum(Fraction(w) for w in weights)
        return [Share(self, Fraction(w) / total) for w in weights]

    def promise(self, *notes: str) -> Promise:
        """What was promised, once everything is bought."""
        event = events.compose(*self.bought) if len(self.bought) > 1 else self.bought[0]
        return Promise(self.budget, event, notes, not self.source.private)


class Share:
    """A part of a purse; it can be spent once.

    Parameters
    ----------
    purse : Purse
        Where it comes from.
    part : Fraction
        Of epsilon, or of the square of mu.

    Notes
    -----
    *Privacy.* Guarantee: `part` of the purse's budget.  Neighbours: those of the budget.  Public: `part`.
    Bounded by: noise rounded up to the private side.  Proof: ``proofs/moments.md``.

    Examples
    --------
    >>> from discreet.randomness import system
    >>> share = Purse(Budget(epsilon=1), system()).shares([1, 3])[0]
    >>> share.epsilon
    0.25
    """

    def __init__(self, purse: Purse, part: Fraction) -> None:
        self.purse = purse
        self.part = part
        self.spent = False

    @property
    def epsilon(self) -> float:
        """The epsilon of a share of a pure budget, rounded down."""
        exact = self.purse.budget._first * self.part
        value = float(exact)
        return value if Fraction(value) <= exact else math.nextafter(value, 0)

    @property
    def mu(self) -> float:
        """The mu of a share of any other budget, a little below its exact value."""
        return self.purse.mu * math.sqrt(self.part) * (1 - 1e-15 if self.part < 1 else 1)

    def split(self, k: int) -> list[Share]:
        """`k` equal parts of this share."""
        self._spend()
        return [Share(self.purse, self.part / k) for _ in range(k)]

    def _spend(self) -> None:
        if self.spent:
            raise PrivacyError("this share of the budget is spent; plan another share for another release")
        self.spent = True

    def additive(self, b: Bounded, *, counts: bool = False) -> Additive:
        """The mechanism this share buys for a statistic, chosen from public sizes alone."""
        source = self.purse.source
        if not self.purse.pure:
            return Gaussian(1 / self.mu, source=source)
        if counts:
            return DiscreteLaplace(self.epsilon, source=source)
        laplace, ball = Laplace(self.epsilon, source=source), KNorm(self.epsilon, source=source)
        better = 1 < b.size <= K_NORM_LIMIT and ball.variance(b) < laplace.variance(b)
        return ball if self.purse.pure_noise == "k_norm" or (self.purse.pure_noise == "auto" and better) else laplace

    def release(self, b: Bounded, *, counts: bool = False) -> tuple[NDArray[np.float64], float]:
        """The noisy statistic and the standard deviation of its noise (off the diagonal, for a matrix)."""
        self._spend()
        mechanism = self.additive(b, counts=counts)
        self.purse.bought.append(mechanism.event)
        return mechanism.release(b), math.sqrt(mechanism.variance(b))

    def select(self, scores: Bounded, *, largest: bool = True) -> int:
        """The exponential mechanism's choice."""
        self._spend()
        mechanism = Exponential(self.eta(), source=self.purse.source)
        self.purse.bought.append(mechanism.event)
        return mechanism.select(scores, largest=largest)

    def eta(self) -> float:
        """The bounded range that this share buys: epsilon, ``sqrt(8 rho)``, or what a Gaussian of mu dominates."""
        if self.purse.pure:
            return self.epsilon
        if self.purse.budget.kind == "zcdp":
            return math.sqrt(8 * (self.mu**2 / 2)) * (1 - 1e-15)
        low, high = 0.0, 4 * self.mu + 1e-300
        while bounded_range.gaussian_mu(high) < self.mu and high < 60:
            high *= 2
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if bounded_range.gaussian_mu(middle) <= self.mu else (low, middle)
        return low
