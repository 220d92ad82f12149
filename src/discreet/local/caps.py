"""PrivUnit: a random direction, kept in a cap around the person's own with a tuned chance.

Like the hemisphere, it draws directions that know nothing of the person; here the promise needs a lower bound on the
probability of a cap under their exact law (``proofs/local.md``, Lemma 6).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from discreet.accounting.shuffling import Variation
from discreet.local.base import Ints
from discreet.local.sampling import coins, odds
from discreet.local.vectors import COARSE, MEMORY, RAW, BallRandomizer, raw_directions
from discreet.randomness import Source

__all__ = ["PrivUnit", "PrivUnitG"]

MARGIN = 1e-9  # paid for floating-point evaluations of a cap's probability
LEAST = 0.05  # the smallest epsilon that covers the spread of caps' probabilities (proofs/local.md, Lemma 5)
RAREST = 1 / 4000  # the rarest cap that a client should wait for


@dataclass(frozen=True)
class PrivUnit(BallRandomizer):
    """A random point of the sphere, kept inside a cap around the person's direction with a tuned chance.

    Bhowmick et al. (2018), with the cap and the chance that give the least error for epsilon (Asi, Feldman and Talwar
    2022).  Points are drawn until one falls where the coin says; caps rarer than one in 4000 are not used.

    Parameters
    ----------
    epsilon : float
        The local promise.
    dim : int
        The number of coordinates.
    radius : float
        Public bound of the norm; longer vectors are shortened to it.

    Notes
    -----
    *Privacy.* Guarantee: epsilon-local differential privacy.  Neighbours: replace-one.  Public: all parameters.
    Bounded by: the coin's whole-number odds times (1 - q) / q, where q is a lower bound of the cap's probability under
    the exact law of the rounded point.  Proof: ``proofs/local.md``.

    Examples
    --------
    >>> from discreet.local import Hemisphere
    >>> PrivUnit(4.0, 50).worth < Hemisphere(4.0, 50).worth
    True
    """

    name: ClassVar[str] = "privunit"
    code: ClassVar[int] = 11

    def check(self) -> None:
        if self.epsilon < LEAST:
            raise ValueError(f"epsilon={self.epsilon!r}: caps are proved from {LEAST} on; below, use Hemisphere")
        super().check()

    def _cap(self, edge: float) -> tuple[float, float]:
        """Probability of the cap, and the mean along its axis times that probability, in message steps."""
        d = self.dim
        if edge >= 1:
            return 0.0, 0.0
        rest = 1 - edge * edge
        mass = 0.5 * float(special.betainc((d - 1) / 2, 0.5, rest))
        moment = math.exp((d - 1) / 2 * math.log(rest) - float(special.betaln(0.5, (d - 1) / 2))) / (d - 1)
        return mass, moment * COARSE * math.sqrt(d)

    def _edge(self, mass: float) -> float:
        return math.sqrt(max(0.0, 1 - float(special.betaincinv((self.dim - 1) / 2, 0.5, 2 * mass))))

    def _least(self, edge: float) -> float:
        """A lower bound of the cap's probability under the rounded law (proofs/local.md, Lemma 6)."""
        best = 0.0
        for short in (0.01, 0.1, 0.5, 0.9):  # times sqrt(dim): rounding turns a raw vector much only if it is shorter
            long_enough = float(special.gammaincc(self.dim / 2, short * short * self.dim / 2))
            best = max(best, self._cap(edge + (1 + edge) / (2 * RAW * short) + MARGIN)[0] * long_enough)
        return best

    @cached_property
    def tuning(self) -> tuple[float, float, int, int]:
        """``(edge, probability of the cap, coin's heads, coin's total)`` with the largest mean along the direction."""
        a, b = odds(self.budget, 4.0)
        best = max(np.geomspace(RAREST, 0.5, 400), key=lambda q: self._gain(float(q)))
        edge = self._edge(float(best))
        least = Fraction(self._least(edge) * (1 - MARGIN))
        ratio = Fraction(a, b) * least / (1 - least)  # heads : tails at most this keeps every ratio below a / b
        total = 1 << 60
        return edge, self._cap(edge)[0], math.floor(total * ratio / (1 + ratio)), total

    def _gain(self, mass: float) -> float:
        odds_ratio = math.expm1(float(self.epsilon))
        return self._cap(self._edge(mass))[1] * odds_ratio / (1 + mass * odds_ratio)

    @property
    def lean(self) -> float:
        edge, mass, heads, total = self.tuning
        p = heads / total
        return self._cap(edge)[1] * (p / mass - (1 - p) / (1 - mass))

    def _inside(self, raw: Ints, whole: Ints) -> NDArray[np.bool_]:
        """Whether each raw point is in the cap around each direction: exact products, one float comparison."""
        z, u = raw.astype(np.float64), whole.astype(np.float64)
        along = np.einsum("ij,ij->i", z, u)  # whole numbers below 2**53: exact
        lengths = np.sqrt(np.einsum("ij,ij->i", z, z)) * np.sqrt(np.einsum("ij,ij->i", u, u))
        return np.asarray(along >= self.tuning[0] * lengths, dtype=np.bool_)

    def message(self, raw: Ints) -> Ints:
        """The message for a raw point: public post-processing."""
        return self.sphere(raw)

    def from_directions(self, whole: Ints, source: Source) -> Ints:
        _, mass, heads, total = self.tuning
        n, d = whole.shape
        wanted = coins(source, heads, total, n)
        out = np.empty((n, d), dtype=np.int64)
        waiting = np.arange(n)
        while len(waiting):
            tries = max(1, min(int(2 / mass), MEMORY // max(1, len(waiting) * d)))
            who = np.repeat(waiting, tries)
            raw = raw_directions(source, len(who), d)
            good = (self._inside(raw, whole[who]) == wanted[who]).reshape(-1, tries)
            found = good.any(axis=1)
            first = np.arange(len(waiting)) * tries + good.argmax(axis=1)
            out[waiting[found]] = self.message(raw[first[found]])
            waiting = waiting[~found]
        return out

    @property
    def variation(self) -> Variation:
        _, mass, heads, total = self.tuning
        p = heads / total  # opposite caps: p against what the complement puts there
        generic = Variation.generic(float(self.epsilon))
        return replace(generic, beta=min(generic.beta, (p - (1 - p) / (1 - mass) * mass) * (1 + 1e-6)))


@dataclass(frozen=True)
class PrivUnitG(PrivUnit):
    """PrivUnit with a Gaussian vector in place of the sphere: cheaper, and as good for large d.

    From Asi, Feldman and Talwar (2022).

    Parameters
    ----------
    epsilon : float
        The local promise.
    dim : int
        The number of coordinates.
    radius : float
        Public bound of the norm; longer vectors are shortened to it.

    Notes
    -----
    *Privacy.* Guarantee: epsilon-local differential privacy.  Neighbours: replace-one.  Public: all parameters.
    Bounded by: the coin's whole-number odds times (1 - q) / q, where q is a lower bound of the half-space's probability
    under the exact law of the rounded vector.  Proof: ``proofs/local.md``.

    Examples
    --------
    >>> 0.9 < PrivUnitG(4.0, 500).worth / PrivUnit(4.0, 500).worth < 1.1
    True
    """

    name: ClassVar[str] = "privunit_g"
    code: ClassVar[int] = 12

    @property
    def alphabet(self) -> tuple[int, int, int]:
        return -12 * COARSE, 12 * COARSE, 1

    def _cap(self, edge: float) -> tuple[float, float]:
        return float(special.ndtr(-edge)), COARSE * math.exp(-edge * edge / 2) / math.sqrt(2 * math.pi)

    def _edge(self, mass: float) -> float:
        return -float(special.ndtri(mass))

    def _least(self, edge: float) -> float:
        return self._cap(edge + math.sqrt(self.dim) / (2 * RAW) + MARGIN)[0]

    def plausible(self, messages: Ints) -> NDArray[np.bool_]:
        z = messages.astype(np.float64) / COARSE
        longest = math.sqrt(self.dim) + math.sqrt(2 * 45) + 12 + 1  # exceeded with probability below exp(-45)
        return np.asarray(np.einsum("ij,ij->i", z, z) <= longest**2, dtype=np.bool_)

    def _inside(self, raw: Ints, whole: Ints) -> NDArray[np.bool_]:
        z, u = raw.astype(np.float64), whole.astype(np.float64)
        along = np.einsum("ij,ij->i", z, u)
        return np.asarray(along >= self.tuning[0] * RAW * np.sqrt(np.einsum("ij,ij->i", u, u)), dtype=np.bool_)

    def message(self, raw: Ints) -> Ints:
        half = RAW // COARSE // 2
        return np.asarray(np.clip((raw + half) // (RAW // COARSE), *self.alphabet[:2]), dtype=np.int64)
