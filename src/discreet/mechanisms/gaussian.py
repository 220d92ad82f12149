"""The Gaussian mechanism on whole numbers: the noise is ``round(N(0, sigma**2))``, exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.mechanisms.base import Additive, Integers, positive_noise, round_up
from discreet.mechanisms.exact import rounded_gaussian
from discreet.privacy import Bounded, Sealed
from discreet.randomness import Source, noise_disabled, system

__all__ = ["Gaussian"]


@dataclass(frozen=True)
class Gaussian(Additive):
    r"""Add rounded Gaussian noise with standard deviation `noise_multiplier` times the l2 sensitivity.

    Integers plus rounded noise are the rounding of integers plus continuous noise, so every guarantee of the continuous
    Gaussian mechanism holds exactly: mu-GDP with ``mu = 1 / noise_multiplier``.

    A symmetric matrix gets symmetric noise (the Gaussian orthogonal ensemble): sigma on the diagonal and
    ``sigma / sqrt(2)`` off it, where each entry is released once but counts twice in the Frobenius norm.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation over l2 sensitivity.
    source : Source
        Where random words come from.

    Notes
    -----
    *Privacy.* Guarantee: 1/noise_multiplier-GDP, the event is ``GaussianDpEvent(noise_multiplier)``.
    Neighbours: those of the statistic.  Public: noise_multiplier, and the statistic's shape, unit and bounds.
    Bounded by: its l2 (Frobenius) sensitivity in whole grid units.  Proof: ``proofs/gaussian.md``.

    Examples
    --------
    >>> from discreet.privacy import Contribution, Neighbours
    >>> from discreet.randomness import SeededSource
    >>> total = Bounded(np.array([1000, -40]), Contribution(l2=16), Fraction(1, 8), Neighbours.ZERO_OUT)
    >>> Gaussian(0.5, source=SeededSource(0)).release(total) % 0.125
    array([0., 0.])
    >>> Gaussian(0.5).mu, round(Gaussian(0.5).variance(total), 4)
    (2.0, 1.0013)
    >>> Gaussian(0.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: noise_multiplier=0.0 must be a positive finite number; ...
    """

    noise_multiplier: float

    def check(self) -> None:
        """Refuse a noise multiplier that is zero, infinite or not a number."""
        positive_noise("noise_multiplier", self.noise_multiplier)

    @property
    def event(self) -> Any:
        """``GaussianDpEvent(noise_multiplier)``."""
        from dp_accounting import dp_event

        return dp_event.GaussianDpEvent(float(self.noise_multiplier))

    @property
    def mu(self) -> float:
        """The Gaussian-DP parameter, ``1 / noise_multiplier``."""
        return 1.0 / self.noise_multiplier if self.noise_multiplier else math.inf

    def scale(self, b: Bounded) -> float:
        """The standard deviation in grid units; of a symmetric matrix, that off the diagonal."""
        sigma = Fraction(float(self.noise_multiplier)) * b.sensitivity("l2")
        return over_root_two(sigma) if b.symmetric else round_up(sigma)

    def noise(self, scale: float, n: int) -> Integers:
        """`n` independent ``round(N(0, scale**2))``."""
        return rounded_gaussian(self.source, scale, n)

    def noise_variance(self, scale: float) -> float:
        """The variance of ``round(N(0, scale**2))``: ``scale**2 + 1/12`` to the last digit from scale 2 on."""
        if scale >= 2:
            return scale**2 + 1 / 12
        edges = (np.arange(100) + 0.5) / (scale * math.sqrt(2)) if scale else np.full(100, math.inf)
        # sum of k**2 P(|noise| = k) = sum of (2 k + 1) P(|noise| > k), summed by parts
        return float(sum((2 * k + 1) * math.erfc(edge) for k, edge in enumerate(edges)))

    def _noise_like(self, scale: float, b: Bounded) -> Integers:
        noise = super()._noise_like(scale, b)
        if b.symmetric:
            p = b.symmetric
            rows = np.arange(p)
            sigma = round_up(Fraction(float(self.noise_multiplier)) * b.sensitivity("l2"))
            noise[rows * p - rows * (rows - 1) // 2] = self.noise(sigma, p)  # the diagonal's places in the triangle
        return noise

    @staticmethod
    def sealed_noise(
        shape: int | tuple[int, ...], sigma_units: float, unit: Fraction, source: Source | None = None
    ) -> Sealed:
        """Noise ``round(N(0, sigma_units**2)) * unit`` that stays sealed, for perturbing an objective.

        Nothing is promised by it alone: the proof that uses it says what `sigma_units` must be.  Inside
        ``without_privacy()`` the noise is zero.

        >>> Gaussian.sealed_noise(3, 2.0**30, Fraction(1, 2**25))
        <Sealed: contents withheld>
        """
        positive_noise("sigma_units", sigma_units)
        shape = (shape,) if isinstance(shape, int) else shape
        n = math.prod(shape)
        whole = (
            np.zeros(n, dtype=np.int64)
            if noise_disabled()
            else rounded_gaussian(system() if source is None else source, float(sigma_units), n)
        )
        return Sealed((whole.astype(np.float64) * float(unit)).reshape(shape))


def over_root_two(sigma: Fraction) -> float:
    """The smallest float64 that is at least ``sigma / sqrt(2)``, compared by exact squares.

    >>> over_root_two(Fraction(1))
    0.7071067811865476
    """
    guess = float(sigma) / math.sqrt(2)
    while 2 * Fraction(guess) ** 2 < sigma * sigma:
        guess = math.nextafter(guess, math.inf)
    while 2 * Fraction(math.nextafter(guess, 0)) ** 2 >= sigma * sigma and guess > 0:
        guess = math.nextafter(guess, 0)
    return guess
