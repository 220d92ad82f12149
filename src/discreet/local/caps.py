"""PrivUnit: a random direction, kept in a cap around the person's own with a tuned chance.

Like the hemisphere, it draws directions that know nothing of the person; here the promise needs a lower bound on the
probability of a cap under their exact law (``proofs/local.md``, Lemma 6).
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.local.base import Ints
from discreet.local.sampling import coins, odds
from discreet.local.vectors import COARSE, MEMORY, RAW, BallRandomizer, raw_directions
from discreet.randomness import Source

if TYPE_CHECKING:
    from discreet.accounting.shuffling import Variation

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

    def _mass(self, edge: float) -> float:
        """Probability of the cap of the sphere beyond `edge`."""
        from scipy import special

        half = 0.5 * float(special.betainc((self.dim - 1) / 2, 0.5, max(0.0, 1 - edge * edge)))
        return half if edge >= 0 else 1 - half

    def _moment(self, edge: float) -> float:
        """The mean along the cap's axis times its probability, in message steps."""
        d, rest = self.dim, 1 - edge * edge
        beta = math.lgamma(0.5) + math.lgamma((d - 1) / 2) - math.lgamma(d / 2)
        return math.exp((d - 1) / 2 * math.log(rest) - beta) / (d - 1) * COARSE * math.sqrt(d) if rest > 0 else 0.0

    def _edge(self, mass: float) -> float:
        from scipy import special

        return math.sqrt(max(0.0, 1 - float(special.betaincinv((self.dim - 1) / 2, 0.5, 2 * mass))))

    def limits(self, edge: float) -> tuple[float, float]:
        """Between what the cap's probability lies under the rounded law, for any direction (Lemma 6)."""
        from scipy import special

        least, most = 0.0, 1.0
        for short in (0.01, 0.1, 0.5, 0.9):  # times sqrt(dim): rounding turns a raw vector much only if it is shorter
            long_enough = float(special.gammaincc(self.dim / 2, short * short * self.dim / 2))
            shift = (1 + edge) / (2 * RAW * short) + MARGIN
            least = max(least, self._mass(edge + shift) * long_enough)
            most = min(most, self._mass(edge - shift) + 1 - long_enough)
        return least * (1 - MARGIN), most * (1 + MARGIN)

    def _heads(self, edge: float) -> Fraction:
        """The largest chance of drawing inside the cap that keeps every ratio below ``e^epsilon`` (Lemma 5), or 0."""
        a, b = odds(self.budget, 4.0)
        least, most = (Fraction(q) for q in self.limits(edge))
        ratio = Fraction(a, b) * least / (1 - least)
        level = most * (1 - least) * b <= least * (1 - most) * a  # caps differ by less than the odds do
        return ratio / (1 + ratio) if least > 0 and level else Fraction(0)

    @cached_property
    def tuning(self) -> tuple[float, float, int, int]:
        """``(edge, probability of the cap, coin's heads, coin's total)`` with the largest mean along the direction."""
        edge = max((self._edge(float(q)) for q in np.geomspace(RAREST, 0.5, 400)), key=self._gain)
        total = 1 << 60
        heads = math.floor(total * self._heads(edge))
        if self._gain(edge) <= 0:
            raise ValueError(f"no cap in dim={self.dim} keeps epsilon={self.epsilon!r}; use Hemisphere")
        return edge, self._mass(edge), heads, total

    def _gain(self, edge: float) -> float:
        """The mean of a message along the person's direction, in message steps."""
        p, mass = float(self._heads(edge)), self._mass(edge)
        return self._moment(edge) * (p / mass - (1 - p) / (1 - mass))

    @property
    def lean(self) -> float:
        return self._gain(self.tuning[0])

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
        # opposite caps: p against what the complement puts there; caps' probabilities differ a little (Lemma 7)
        edge, _, heads, total = self.tuning
        p, (least, most) = heads / total, self.limits(edge)
        return self.known_variation(p - (1 - p) * (2 * least - most) / (1 - least) + MARGIN)


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

    def _mass(self, edge: float) -> float:
        return math.erfc(edge / math.sqrt(2)) / 2

    def _moment(self, edge: float) -> float:
        return COARSE * math.exp(-edge * edge / 2) / math.sqrt(2 * math.pi)

    def _edge(self, mass: float) -> float:
        return -statistics.NormalDist().inv_cdf(mass)

    def limits(self, edge: float) -> tuple[float, float]:
        shift = math.sqrt(self.dim) / (2 * RAW) + MARGIN
        return self._mass(edge + shift) * (1 - MARGIN), self._mass(edge - shift) * (1 + MARGIN)

    def plausible(self, messages: Ints) -> NDArray[np.bool_]:
        z = messages.astype(np.float64) / COARSE
        longest = math.sqrt(self.dim) + math.sqrt(2 * 45) + 12 + 1  # exceeded with probability below exp(-45)
        return np.asarray(np.einsum("ij,ij->i", z, z) <= longest**2, dtype=np.bool_)

    def _inside(self, raw: Ints, whole: Ints) -> NDArray[np.bool_]:
        z, u = raw.astype(np.float64), whole.astype(np.float64)
        along = np.einsum("ij,ij->i", z, u)
        return np.asarray(along >= self.tuning[0] * RAW * np.sqrt(np.einsum("ij,ij->i", u, u)), dtype=np.bool_)

    def message(self, raw: Ints) -> Ints:
        # to the nearest step, halves to even: an odd map, so that the rounding is as likely up as down
        return np.asarray(np.clip(np.rint(raw / (RAW // COARSE)), *self.alphabet[:2]), dtype=np.int64)
