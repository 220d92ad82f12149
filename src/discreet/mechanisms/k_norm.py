"""The l2 K-norm mechanism: noise whose density falls with the Euclidean norm, rounded to whole numbers, exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.mechanisms.base import Additive, Integers, positive_noise, round_up
from discreet.mechanisms.exact import Deviate, Sampler, Stream, WordReader, deviate, sampler, table
from discreet.privacy import Bounded, Sealed
from discreet.randomness import Source, noise_disabled, system

__all__ = ["KNorm"]


@dataclass(frozen=True)
class KNorm(Additive):
    r"""Add a rounded vector z of density proportional to ``exp(-||z||_2 / scale)``, scale = l2 sensitivity / `epsilon`.

    Pure differential privacy for a vector with an l2 bound (Hardt and Talwar, 2010, with a ball for K; the noise of
    Chaudhuri, Monteleoni and Sarwate, 2011).  The root mean square noise of a coordinate is
    ``scale * sqrt(size + 1)``, against ``scale * sqrt(2 * size)`` of Laplace noise when ``l1 = sqrt(size) * l2``.
    Drawn in Python integers, some twenty thousand coordinates a second.

    Parameters
    ----------
    epsilon : float
        The pure-DP epsilon of one release.
    source : Source
        Where random words come from.

    Notes
    -----
    *Privacy.* Guarantee: epsilon-DP, the event is ``PureDpEvent(epsilon)``.  Neighbours: those of the statistic.
    Public: epsilon, and the statistic's shape, unit and bounds.  Bounded by: its l2 sensitivity in whole grid units
    (of a symmetric matrix, the Frobenius one, which is no smaller than that of its triangle).
    Proof: ``proofs/k_norm.md``.

    Examples
    --------
    >>> from discreet.privacy import Contribution, Neighbours
    >>> total = Bounded(np.array([1000, -40]), Contribution(l2=16), Fraction(1, 8), Neighbours.ZERO_OUT)
    >>> (KNorm(1.0).release(total) % 0.125).tolist()
    [0.0, 0.0]
    >>> round(KNorm(1.0).variance(total), 3)
    12.001
    """

    epsilon: float

    def check(self) -> None:
        """Refuse an epsilon that is zero, infinite or not a number."""
        positive_noise("epsilon", self.epsilon)

    @property
    def event(self) -> Any:
        """``PureDpEvent(epsilon)``."""
        from discreet.accounting.events import PureDpEvent

        return PureDpEvent(float(self.epsilon))

    def scale(self, b: Bounded) -> float:
        """The scale in grid units."""
        return round_up(b.sensitivity("l2") / Fraction(float(self.epsilon)))

    def noise(self, scale: float, n: int) -> Integers:
        """One rounded vector of length `n`; its coordinates are not independent."""
        return _vector(sampler("gaussian", float(scale)), Stream(self.source), n)

    def noise_variance(self, scale: float) -> float:
        """The variance of a vector of one coordinate, which is Laplace's, up to rounding."""
        return 2 * scale**2 + 1 / 12

    def variance(self, b: Bounded) -> float:
        """The variance of the noise in one released number: ``scale**2 * (size + 1)``, and 1/12 for the rounding.

        The last term is an approximation, good to the last digit from scale 2 on.
        """
        return (self.scale(b) ** 2 * (b.size + 1) + 1 / 12) * float(b.unit) ** 2

    @staticmethod
    def sealed_noise(
        shape: int | tuple[int, ...], scale_units: float, unit: Fraction, source: Source | None = None
    ) -> Sealed:
        """A rounded vector of scale `scale_units`, times `unit`, that stays sealed: for perturbing an objective.

        Nothing is promised by it alone: the proof that uses it says what `scale_units` must be.  Inside
        ``without_privacy()`` the noise is zero.

        >>> KNorm.sealed_noise(3, 2.0**30, Fraction(1, 2**25))
        <Sealed: contents withheld>
        """
        positive_noise("scale_units", scale_units)
        shape = (shape,) if isinstance(shape, int) else shape
        n = math.prod(shape)
        if noise_disabled():
            return Sealed(np.zeros(shape))
        stream = Stream(system() if source is None else source)
        whole = _vector(sampler("gaussian", float(scale_units)), stream, n)
        return Sealed((whole.astype(np.float64) * float(unit)).reshape(shape))


def _vector(scale: Sampler, words: WordReader, n: int) -> Integers:
    """``round(scale * r * g / ||g||)``, r Gamma(n) and g a normal vector, digits being added until it is certain.

    A Gamma(n) number is the sum of n exponential ones; g / ||g|| is uniform on the sphere.
    """
    directions = [deviate(table("gaussian"), words) for _ in range(n)]
    radii = [deviate(table("laplace"), words) for _ in range(n)]
    while True:
        for x in (*directions, *radii):  # 54 digits are rarely enough: begin with 64 more
            x.extend(words)
        whole = _rounded(scale, directions, radii)
        if whole is not None:
            signs = np.array([-1 if x.negative else 1 for x in directions], dtype=np.int64)
            return signs * np.array(whole, dtype=np.int64)


def _rounded(scale: Sampler, directions: list[Deviate], radii: list[Deviate]) -> list[int] | None:
    """The rounded sizes of the coordinates, or None when the digits so far leave one of them open."""
    if not directions:
        return []
    point = min(x.point for x in (*directions, *radii))
    g = [x.digits >> (x.point - point) for x in directions]  # each number lies in [g, g + 1] / 2**point
    r_low = sum(x.digits >> (x.point - point) for x in radii)
    r_high = r_low + len(radii)
    norm_low = math.isqrt(sum(v * v for v in g))
    norm_high = math.isqrt(sum((v + 1) ** 2 for v in g)) + 1
    if norm_low == 0:
        return None
    move = point - scale.exponent  # scale * r * g / norm = mantissa * r * g / norm / 2**move, with whole r, g, norm
    low_part, high_part = 2 * norm_high << move, 2 * norm_low << move
    whole = []
    for v in g:
        low = (2 * scale.mantissa * r_low * v + (norm_high << move)) // low_part
        high = (2 * scale.mantissa * r_high * (v + 1) + (norm_low << move)) // high_part
        if low != high:
            return None
        whole.append(low)
    return whole
