"""The K-norm mechanism: noise whose density falls with a norm of the vector, rounded to whole numbers, exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from discreet.mechanisms.base import Additive, Integers, positive_noise, round_up
from discreet.mechanisms.exact import Deviate, Sampler, Stream, WordReader, deviate, sampler, table
from discreet.privacy import Bounded, PrivacyError, Sealed
from discreet.randomness import Source, noise_disabled, system

__all__ = ["KNorm"]


@dataclass(frozen=True)
class KNorm(Additive):
    r"""Add a rounded vector z of density proportional to ``exp(-||z|| / scale)``, scale = sensitivity / `epsilon`.

    Pure differential privacy for a vector with an l2 bound (Hardt and Talwar, 2010, with a ball for K; the noise of
    Chaudhuri, Monteleoni and Sarwate, 2011), or with a bound on its largest entry (a cube for K).  The root mean square
    noise of a coordinate is ``scale * sqrt(size + 1)`` for the ball, about ``scale * size / sqrt(3)`` for the cube,
    against ``scale * size * sqrt(2)`` of Laplace noise where rows fill a cube.  Drawn in Python integers, some twenty
    thousand coordinates a second.

    Parameters
    ----------
    epsilon : float
        The pure-DP epsilon of one release.
    norm : {"l2", "linf", "least"}
        Which sensitivity the noise is made for; "least": the one that gives a statistic's bounds the smaller variance.
    blocks : int, default=1
        When above 1, the statistic is that many equal blocks and a row is in one of them only (``apart`` of its
        contribution): each block gets a vector of noise of its own.
    source : Source
        Where random words come from.

    Notes
    -----
    *Privacy.* Guarantee: epsilon-DP, the event is ``PureDpEvent(epsilon)``.  Neighbours: those of the statistic.
    Public: epsilon, and the statistic's shape, unit and bounds.  Bounded by: its l2 (or linf) sensitivity in whole grid
    units (of a symmetric matrix, the Frobenius one, which is no smaller than that of its triangle).
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
    norm: Literal["l2", "linf", "least"] = "l2"
    blocks: int = 1

    def check(self) -> None:
        """Refuse an epsilon that is zero, infinite or not a number, and shapes of noise that don't exist."""
        positive_noise("epsilon", self.epsilon)
        if self.norm not in ("l2", "linf", "least") or self.blocks < 1:
            raise ValueError(
                f"norm={self.norm!r} must be 'l2', 'linf' or 'least', and blocks={self.blocks!r} at least 1"
            )

    @property
    def event(self) -> Any:
        """``PureDpEvent(epsilon)``."""
        from discreet.accounting.events import PureDpEvent

        return PureDpEvent(float(self.epsilon))

    def scale(self, b: Bounded) -> float:
        """The scale in grid units."""
        if self.blocks > 1 and (b.contribution.apart != self.blocks or b.size % self.blocks or b.symmetric):
            raise PrivacyError(
                f"noise in {self.blocks} blocks is for statistics in which a row is in one of as many blocks; "
                f"{b!r} doesn't say so: take blocks=1"
            )
        if self.norm == "least":
            return self.made_for(b).scale(b)
        if self.blocks == 1:
            return round_up(b.sensitivity(self.norm) / Fraction(float(self.epsilon)))
        # norms of blocks are added: a row that moves to another block moves two of them, whatever its sign
        return round_up(b.contribution.known(self.norm) * b.neighbors.moves / Fraction(float(self.epsilon)))

    def made_for(self, b: Bounded) -> KNorm:
        """The mechanism with the norm that it takes for a statistic, which its public bounds decide.

        >>> from discreet.privacy import Contribution, Neighbours
        >>> full = Bounded(np.zeros(9), Contribution(l2=30, linf=10), Fraction(1), Neighbours.ZERO_OUT)
        >>> KNorm(1.0, "least").made_for(full)
        KNorm(epsilon=1.0, norm='linf', blocks=1)
        """
        if self.norm != "least":
            return self
        return min((replace(self, norm="l2"), replace(self, norm="linf")), key=lambda one: one.variance(b))

    def _noise_like(self, scale: float, b: Bounded) -> Integers:
        return self.made_for(b).noise(scale, b.size).reshape(b.shape)

    def noise(self, scale: float, n: int) -> Integers:
        """One rounded vector of length `n` (for each block one); its coordinates are not independent."""
        if self.norm == "least":
            raise PrivacyError("which norm is the least is decided for a statistic: call release")
        stream, each = Stream(self.source), n // self.blocks
        one = sampler("gaussian", float(scale))
        draw = _vector if self.norm == "l2" else _cube
        return np.concatenate([draw(one, stream, each) for _ in range(self.blocks)])

    def noise_variance(self, scale: float) -> float:
        """The variance of a vector of one coordinate, which is Laplace's, up to rounding."""
        return 2 * scale**2 + 1 / 12

    def variance(self, b: Bounded) -> float:
        """The variance of the noise in one released number, and 1/12 for the rounding.

        With d numbers in a block: ``scale**2 * (d + 1)``, or ``scale**2 * (d + 1) * (d + 2) / 3`` for the cube.  The
        last term is an approximation, good to the last digit from scale 2 on.

        >>> from discreet.privacy import Contribution, Neighbours
        >>> b = Bounded(np.zeros(8), Contribution(linf=30), Fraction(1), Neighbours.ZERO_OUT)
        >>> round(KNorm(1.0, "linf").variance(b)), round(KNorm(1.0).variance(b))
        (27000, 65025)
        """
        if self.norm == "least":
            return self.made_for(b).variance(b)
        d = b.size // self.blocks
        shape = d + 1 if self.norm == "l2" else (d + 1) * (d + 2) / 3
        return (self.scale(b) ** 2 * shape + 1 / 12) * float(b.unit) ** 2

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


def _cube(scale: Sampler, words: WordReader, n: int) -> Integers:
    """``round(scale * r * u)``, r Gamma(n + 1) and u uniform from -1 to 1, digits being added until it is certain.

    The norm of such a vector is Gamma(n), and given its norm it is uniform on the surface of a cube.
    """
    if not n:
        return np.zeros(0, dtype=np.int64)
    firsts = [words.next() for _ in range(n)]  # the sign, then 63 digits; more below
    sides = [Deviate(word >> 1, 63) for word in firsts]
    radii = [deviate(table("laplace"), words) for _ in range(n + 1)]
    while True:
        whole = _scaled(scale, sides, radii)
        if whole is not None:
            signs = np.array([-1 if word & 1 else 1 for word in firsts], dtype=np.int64)
            return signs * np.array(whole, dtype=np.int64)
        for x in (*sides, *radii):
            x.extend(words)


def _scaled(scale: Sampler, sides: list[Deviate], radii: list[Deviate]) -> list[int] | None:
    """The rounded sizes of ``scale * r * u``, or None when the digits so far leave one of them open."""
    point = min(x.point for x in (*sides, *radii))
    r_low = sum(x.digits >> (x.point - point) for x in radii)
    r_high = r_low + len(radii)
    move = 2 * point - scale.exponent  # scale * r * u = mantissa * r * u / 2**move, with whole r and u
    whole = []
    for x in sides:
        u = x.digits >> (x.point - point)
        low = ((scale.mantissa * r_low * u << 1) + (1 << move)) >> (move + 1)
        high = ((scale.mantissa * r_high * (u + 1) << 1) + (1 << move)) >> (move + 1)
        if low != high:
            return None
        whole.append(low)
    return whole
