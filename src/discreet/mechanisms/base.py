"""What every mechanism shares: a source of words, refusal of noise that isn't, and the opening of sealed values."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.privacy import Bounded, PrivacyError, unseal
from discreet.randomness import Source, noise_disabled, system

__all__ = ["Additive", "Mechanism", "opened", "positive_noise", "round_down", "round_up"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def round_up(value: Fraction) -> float:
    """The smallest float64 that is at least `value`: noise scales are rounded this way.

    >>> round_up(Fraction(1, 10)) == 0.1, Fraction(round_up(Fraction(1, 3))) >= Fraction(1, 3)
    (True, True)
    """
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def round_down(value: Fraction) -> float:
    """The largest float64 that is at most `value`: noise multipliers in events are rounded this way.

    >>> Fraction(round_down(Fraction(1, 3))) <= Fraction(1, 3)
    True
    """
    near = float(value)
    return near if Fraction(near) <= value else math.nextafter(near, -math.inf)


def positive_noise(name: str, value: float) -> None:
    """Refuse a noise parameter that means no noise, endless noise, or nothing (unless privacy is switched off).

    >>> positive_noise("epsilon", float("nan"))
    Traceback (most recent call last):
    ...
    ValueError: epsilon=nan must be a positive finite number; only discreet.testing.without_privacy() lifts this
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name}={value!r} must be a number")
    if noise_disabled() and value >= 0:
        return
    if not (math.isfinite(value) and value > 0):
        raise ValueError(
            f"{name}={value!r} must be a positive finite number; only discreet.testing.without_privacy() lifts this"
        )


def opened(b: Bounded) -> Integers:
    """The integers in a sealed statistic; for mechanisms only."""
    value: NDArray[Any] = unseal(b)
    if value.dtype.kind != "f":
        return np.asarray(value, dtype=np.int64)
    whole = np.rint(value)
    if not np.array_equal(whole, value) or float(np.max(np.abs(whole), initial=0.0)) > 2.0**53:
        raise PrivacyError(
            "a sealed statistic isn't whole numbers below 2**53, so its bound can't be trusted; "
            "build it with integer sums on a public grid"
        )
    return np.asarray(whole, dtype=np.int64)


@dataclass(frozen=True)
class Mechanism(ABC):
    """The only thing that opens a sealed value: it adds noise, and states what the result costs.

    Parameters
    ----------
    source : Source
        Where random words come from; the operating system unless a test or a seed says otherwise.

    Notes
    -----
    *Privacy.* Guarantee: that of :attr:`event`.  Neighbours: those of the statistic.  Public: every field.
    Bounded by: the statistic's own sensitivity.  Proof: ``proofs/exact_noise.md`` and the page of each mechanism.

    Examples
    --------
    >>> from discreet.mechanisms.gaussian import Gaussian
    >>> isinstance(Gaussian(1.0), Mechanism)
    True
    """

    source: Source = field(default_factory=system, repr=False, compare=False, kw_only=True)

    def __post_init__(self) -> None:
        self.check()

    @abstractmethod
    def check(self) -> None:
        """Refuse parameters that promise nothing; called again before each use."""

    @property
    @abstractmethod
    def event(self) -> Any:
        """What one use costs, as a ``dp_accounting.DpEvent``."""


@dataclass(frozen=True)
class Additive(Mechanism):
    """A mechanism that adds independent whole-number noise to each coordinate of a statistic.

    Notes
    -----
    The sum is taken in 64-bit integers (wrapping around, which is post-processing; statistics stay below 2**53), and
    only the sum is turned into floats: what comes out is the double of ``unit * sum``, whatever the data.

    *Privacy.* Guarantee: that of :attr:`event`.  Neighbours: those of the statistic.  Public: every field.
    Bounded by: the statistic's own sensitivity.  Proof: ``proofs/exact_noise.md``.

    Examples
    --------
    >>> from discreet.mechanisms import Laplace
    >>> isinstance(Laplace(1.0), Additive)
    True
    """

    @abstractmethod
    def scale(self, b: Bounded) -> float:
        """The scale of the noise in grid units, rounded up from its exact value."""

    @abstractmethod
    def noise(self, scale: float, n: int) -> Integers:
        """`n` draws of whole-number noise at a scale in grid units."""

    @abstractmethod
    def noise_variance(self, scale: float) -> float:
        """The variance of one draw, in grid units squared, rounding included."""

    def variance(self, b: Bounded) -> float:
        """The variance of the noise in one released number (of a matrix: off the diagonal), from public values."""
        return self.noise_variance(self.scale(b)) * float(b.unit) ** 2

    def release(self, b: Bounded) -> Floats:
        """The statistic plus noise, in real units, in the statistic's shape (a packed triangle as a full matrix)."""
        self.check()
        if noise_disabled():
            return _real(opened(b), b)
        scale = positive_scale(self.scale(b), b)
        return _real(opened(b) + self._noise_like(scale, b), b)

    def _noise_like(self, scale: float, b: Bounded) -> Integers:
        return self.noise(scale, b.size).reshape(b.shape)


def positive_scale(scale: float, b: Bounded) -> float:
    """The scale, or an error for a statistic whose bounds allow no change: such a bound is nearly always a mistake."""
    if not scale > 0:
        raise PrivacyError(f"{b!r} claims that no row can change it, so no noise would be added; give its real bounds")
    return scale


def _real(whole: Integers, b: Bounded) -> Floats:
    real = whole.astype(np.float64) * float(b.unit)
    return unpacked(real, b.symmetric) if b.symmetric else real


def unpacked(triangle: Floats, order: int) -> Floats:
    """The symmetric matrix whose packed upper triangle (row by row, diagonal included) is given.

    >>> unpacked(np.array([1.0, 2.0, 3.0]), 2).tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    full = np.empty((order, order), dtype=np.float64)
    upper = np.triu_indices(order)
    full[upper] = triangle
    full.T[upper] = triangle
    return full
