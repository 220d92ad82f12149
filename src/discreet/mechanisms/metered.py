"""Releases and selections whose price is chosen on the way, paid out of one purse that a filter guards."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.filters import ZCdpFilter
from discreet.mechanisms.base import Mechanism, positive_noise
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.noisy_max import NoisyMax
from discreet.privacy import Bounded, exact

__all__ = ["Metered"]


@dataclass(frozen=True)
class Metered(Mechanism):
    r"""A purse of zero-concentrated differential privacy: each answer names its price and is paid for beforehand.

    Parameters
    ----------
    rho : float
        What is in the purse.
    noise : {"gumbel", "laplace"}
        How selections are made: the exponential mechanism, at ``eta = sqrt(8 rho)``, or noisy max with Laplace noise
        as most texts print it, at ``epsilon = sqrt(2 rho)``.

    Notes
    -----
    *Privacy.* Guarantee: rho-zCDP of all answers together, however prices and the number of answers depend on earlier
    answers.  Neighbours: those of the statistics.  Public: rho, and every price.  Bounded by: a filter that is asked
    before a statistic is opened.  Proof: ``proofs/adaptive_gradient_descent.md``.

    Examples
    --------
    >>> from discreet.privacy import Contribution, Neighbours
    >>> total = Bounded(np.array([1000, -40]), Contribution(l2=16), Fraction(1, 8), Neighbours.ZERO_OUT)
    >>> purse = Metered(0.5)
    >>> purse.release(total, 0.25).shape, purse.fits(0.25), purse.fits(0.25, 0.001)
    ((2,), True, False)
    """

    rho: float
    noise: Literal["gumbel", "laplace"] = "gumbel"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "_filter", ZCdpFilter(Fraction(float(self.rho))))

    def check(self) -> None:
        """Refuse a purse that is empty or endless."""
        positive_noise("rho", self.rho)
        if self.noise not in ("gumbel", "laplace"):
            raise ValueError(f"noise={self.noise!r} is neither 'gumbel' nor 'laplace'")

    @property
    def purse(self) -> ZCdpFilter:
        """The filter."""
        found: ZCdpFilter = self.__dict__["_filter"]
        return found

    @property
    def event(self) -> Any:
        """``ZCDpEvent(rho)``: the whole purse, spent or not."""
        from dp_accounting import dp_event

        return dp_event.ZCDpEvent(float(self.rho))

    def fits(self, *prices: float) -> bool:
        """Whether the purse holds all of these prices together."""
        return self.purse.fits(sum((exact(price, "price") for price in prices), Fraction(0)))

    def release(self, b: Bounded, price: float) -> NDArray[np.float64]:
        """The statistic with Gaussian noise that costs at most `price`."""
        limit = exact(price, "price")
        multiplier = _rounded(1 / math.sqrt(2 * price), lambda z: 1 / (2 * Fraction(z) ** 2) <= limit, math.inf)
        mechanism = Gaussian(multiplier, source=self.source)
        self.purse.charge(mechanism.event)
        return mechanism.release(b)

    def select(self, scores: Bounded, price: float, *, largest: bool = True) -> int:
        """The index of a large score (of a small one with ``largest=False``), for at most `price`."""
        limit = exact(price, "price")
        mechanism: Exponential | NoisyMax
        if self.noise == "gumbel":
            mechanism = Exponential(
                _rounded(math.sqrt(8 * price), lambda e: Fraction(e) ** 2 / 8 <= limit, 0.0), source=self.source
            )
        else:
            mechanism = NoisyMax(
                _rounded(math.sqrt(2 * price), lambda e: Fraction(e) ** 2 / 2 <= limit, 0.0), source=self.source
            )
        self.purse.charge(mechanism.event)
        return mechanism.select(scores, largest=largest)


def _rounded(guess: float, private: Callable[[float], bool], towards: float) -> float:
    """The first float from `guess` in the private direction whose exact cost is within the price."""
    while not private(guess):
        guess = math.nextafter(guess, towards)
    return guess
