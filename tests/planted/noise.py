"""Broken twins of the additive mechanisms (numbers refer to PITFALLS): each must raise an alarm in the tests."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from discreet.mechanisms import Gaussian, Laplace
from discreet.mechanisms.base import Integers, round_up
from discreet.privacy import Bounded, unseal
from discreet.randomness import SeededSource, Source, Words, system


class OneByteSource(Source):
    """1: the generator is seeded anew from one random byte before each draw."""

    private = True

    def words(self, n: int) -> Words:
        return SeededSource(int(system().words(1)[0]) & 255).words(n)

    def child(self, *labels: int | str) -> Source:
        return self


class ReseededGaussian(Gaussian):
    """1, as a mechanism."""

    def noise(self, scale: float, n: int) -> Integers:
        return Gaussian(self.noise_multiplier, source=OneByteSource()).noise(scale, n)


@dataclass(frozen=True)
class MuIsTheMultiplier(Gaussian):
    """2: made for a GDP parameter, which is used as the noise multiplier; noise grows with what may be spent."""

    steps: int = 100

    @classmethod
    def for_mu(cls, mu: float, steps: int) -> MuIsTheMultiplier:
        return cls(mu, steps=steps)


class ConstantSource(Source):
    """5: every generator starts from the same constant."""

    private = True

    def __init__(self) -> None:
        self._inner = SeededSource(42)

    def words(self, n: int) -> Words:
        return self._inner.words(n)

    def child(self, *labels: int | str) -> Source:
        return ConstantSource()


class SharedConstantGaussian(Gaussian):
    """5: each new mechanism (each fit) begins the same constant stream."""

    def noise(self, scale: float, n: int) -> Integers:
        return Gaussian(self.noise_multiplier, source=ConstantSource()).noise(scale, n)


class CopiedSource(Source):
    """5: workers that receive a copy of the generator's state, position and all."""

    private = True

    def __init__(self, seed: int = 1) -> None:
        self.bits = np.random.PCG64(seed)

    def words(self, n: int) -> Words:
        return np.asarray(self.bits.random_raw(n), dtype=np.uint64)

    def child(self, *labels: int | str) -> Source:
        return self


class WrongPrecedenceLaplace(Laplace):
    """6: ``/ eps * sqrt(n)`` where ``/ (eps * sqrt(n))`` was meant: here, ``epsilon`` multiplies."""

    def scale(self, b: Bounded) -> float:
        return round_up(Fraction(1) / b.sensitivity("l1") * Fraction(float(self.epsilon)))


@dataclass(frozen=True)
class NoiseDrawnOnce(Gaussian):
    """7: one noise vector, drawn at the first release and used in every later one."""

    kept: dict[tuple[float, int], Integers] = field(default_factory=dict, compare=False)

    def noise(self, scale: float, n: int) -> Integers:
        return self.kept.setdefault((scale, n), super().noise(scale, n))


class FloatLaplace(Laplace):
    """8: float noise is added to a float; which floats can come out depends on the statistic."""

    def release(self, b: Bounded) -> np.ndarray:
        uniform = (self.source.words(b.size) >> np.uint64(11)).astype(float) * 2.0**-53
        sign = np.where(self.source.words(b.size) & np.uint64(1), -1.0, 1.0)
        noise = -np.log1p(-uniform) * sign * self.scale(b) * float(b.unit)
        return unseal(b) * float(b.unit) + noise


class FloatGaussian(Gaussian):
    """8: the same with a Gaussian by Box and Muller."""

    def release(self, b: Bounded) -> np.ndarray:
        u, v = ((self.source.words(b.size) >> np.uint64(11)).astype(float) * 2.0**-53 for _ in range(2))
        noise = np.sqrt(-2 * np.log1p(-u)) * np.cos(2 * math.pi * v) * self.scale(b) * float(b.unit)
        return unseal(b) * float(b.unit) + noise


class RoundedFloatLaplace(Laplace):
    """8, halfway: whole numbers, but from 24-bit uniforms: at large scales most whole numbers can't come out."""

    def noise(self, scale: float, n: int) -> Integers:
        words = self.source.words(n)
        sign = np.where(words & np.uint64(1), -1.0, 1.0)
        return np.rint(-np.log1p(-(words >> np.uint64(40)).astype(float) * 2.0**-24) * sign * scale).astype(np.int64)
