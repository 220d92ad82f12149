"""Means of vectors: Duchi's signs for the cube, the random hemisphere for the ball.

Both draw a direction that knows nothing of the person and then turn it by the sign of a whole number: the only place
where the person's vector enters.  The proof in ``proofs/local.md`` holds for *any* law of that direction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.local.base import (
    Floats,
    Ints,
    Randomizer,
    Totals,
    column_squares,
    column_sums,
    mean_and_error,
    real_numbers,
)
from discreet.local.sampling import coins, odds, to_grid
from discreet.randomness import Source

__all__ = ["BallRandomizer", "DuchiVector", "Hemisphere", "VectorRandomizer", "raw_directions"]

COARSE = 1 << 8  # grid of the messages: one standard deviation of a coordinate is 256 steps
RAW = 1 << 20  # grid of the raw direction
DIRECTION = 1 << 20  # grid of the person's direction
MEMORY = 1 << 22  # numbers drawn at a time


@dataclass(frozen=True)
class VectorRandomizer(Randomizer):
    """Shared by the vector randomisers: the estimate is the mean, coordinate by coordinate."""

    dim: int

    def check(self) -> None:
        if isinstance(self.dim, bool) or not isinstance(self.dim, int) or not 1 <= self.dim <= 1 << 20:
            raise ValueError(f"dim={self.dim!r} must be a whole number from 1 to 2**20")

    @property
    def width(self) -> int:
        return self.dim

    @property
    def worth(self) -> float:
        """What one unit of a message is worth, so that its mean is the vector."""
        raise TypeError(f"{type(self).__name__} gives no worth")

    def _rows(self, values: ArrayLike) -> Floats:
        rows = real_numbers(values, 2)
        if rows.shape[1] != self.dim:
            raise ValueError(f"vectors of {rows.shape[1]} numbers where dim={self.dim} was declared")
        return rows

    def tally(self, messages: Ints) -> Totals:
        reach = max(abs(self.alphabet[0]), abs(self.alphabet[1]))
        return column_sums(messages, reach) + column_squares(messages, reach)

    def estimate(self, totals: Totals, n: int) -> tuple[Any, Any]:
        pairs = zip(totals[: self.dim], totals[self.dim :], strict=True)
        both = [mean_and_error(total, squares, n, self.worth) for total, squares in pairs]
        return np.array([v for v, _ in both]), np.array([e for _, e in both])

    @property
    def influence(self) -> float:
        return (self.alphabet[1] - self.alphabet[0]) * self.worth


@dataclass(frozen=True)
class DuchiVector(VectorRandomizer):
    """d signs that lean toward the person's vector, for the cube (Duchi, Jordan and Wainwright 2018).

    The vector is first rounded to a corner v of the cube, without bias.  Then a uniform corner z is drawn and turned
    to ``z . v > 0`` with chance ``e^epsilon / (e^epsilon + 1)``, to ``z . v < 0`` otherwise; a tie stays as it is
    (which for even d is a little better than the published choice).

    Parameters
    ----------
    epsilon : float
        The local promise.
    dim : int
        The number of coordinates.
    bounds : (float, float)
        Public bounds of every coordinate; values outside are moved to the nearer one.

    Notes
    -----
    *Privacy.* Guarantee: epsilon-local differential privacy, exact in whole numbers.  Neighbours: replace-one.
    Public: all parameters.  Bounded by: the odds a to b of one coin, ``a / b <= e^epsilon``.
    Proof: ``proofs/local.md``.

    Examples
    --------
    >>> from discreet.randomness import SeededSource
    >>> DuchiVector(1.0, 3).randomize([[0.5, -1.0, 0.0]], SeededSource(3)).shape
    (1, 3)
    """

    bounds: tuple[float, float] = (-1.0, 1.0)

    name: ClassVar[str] = "duchi_vector"
    code: ClassVar[int] = 9

    def check(self) -> None:
        super().check()
        low, high = self.bounds
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ValueError(f"bounds={self.bounds!r} must be two finite numbers, the lower one first")

    @cached_property
    def odds(self) -> tuple[int, int]:
        """Whole-number odds of turning toward the person's corner."""
        return odds(self.budget, 4.0)

    @property
    def alphabet(self) -> tuple[int, int, int]:
        return -1, 1, 2

    def law(self, corner: tuple[int, ...]) -> dict[tuple[int, ...], int]:
        """The whole-number weight of every message, for a corner of the cube (small d only)."""
        a, b = self.odds
        weights = {}
        for code in range(1 << self.dim):
            z = tuple(1 - 2 * (code >> j & 1) for j in range(self.dim))
            lean = sum(x * y for x, y in zip(z, corner, strict=True))
            weights[z] = 2 * a if lean > 0 else 2 * b if lean < 0 else a + b
        return weights

    def randomize(self, values: ArrayLike, source: Source | None = None) -> Ints:
        words = source or self.source
        low, high = self.bounds
        rows = np.clip(self._rows(values), low, high)
        corners = 2 * np.clip(to_grid((rows - low) / (high - low), words), 0, 1) - 1
        return self.from_corners(corners, words)

    def from_corners(self, corners: Ints, source: Source) -> Ints:
        """Messages for corners of the cube: the part that makes the promise."""
        n, d = corners.shape
        bits = np.unpackbits(source.words(-(-n * d // 64)).view(np.uint8), count=n * d)
        z = 1 - 2 * bits.astype(np.int64).reshape(n, d)
        lean = np.einsum("ij,ij->i", z, corners)
        a, b = self.odds
        toward = np.where(coins(source, a, a + b, n), 1, -1)
        return np.asarray(z * (np.where(lean < 0, -1, 1) * toward)[:, None], dtype=np.int64)

    @property
    def worth(self) -> float:
        a, b = self.odds
        d, half = self.dim - 1, (self.bounds[1] - self.bounds[0]) / 2
        # E |sum of d signs| / d is the central binomial probability of one sign fewer
        centre = math.exp(math.lgamma(d + 1) - math.lgamma(d // 2 + 1) - math.lgamma(d - d // 2 + 1)
                          - d * math.log(2))  # fmt: skip
        return (a + b) / (a - b) / centre * half

    def estimate(self, totals: Totals, n: int) -> tuple[Any, Any]:
        value, error = super().estimate(totals, n)
        return value + sum(self.bounds) / 2, error


@dataclass(frozen=True)
class BallRandomizer(VectorRandomizer):
    """Shared by the randomisers of the l2 ball: a vector becomes a direction, a message has a known length."""

    radius: float = 1.0

    def check(self) -> None:
        super().check()
        if self.dim < 2:
            raise ValueError("dim=1: a ball of one dimension is an interval; use Duchi or Hybrid")
        if not (math.isfinite(self.radius) and self.radius > 0):
            raise ValueError(f"radius={self.radius!r} must be a positive finite number")
        _ = self.lean  # the tuning is worked out, and an impossible epsilon refused, before any value is seen

    @property
    def lean(self) -> float:
        """The mean of a message along the person's direction, in message steps."""
        raise TypeError(f"{type(self).__name__} gives no lean")

    @property
    def worth(self) -> float:
        return self.radius / self.lean

    @property
    def alphabet(self) -> tuple[int, int, int]:
        reach = math.ceil(COARSE * math.sqrt(self.dim)) + 1
        return -reach, reach, 1

    def directions(self, values: ArrayLike, source: Source) -> Ints:
        """Whole-number directions: x/|x| with chance (1 + |x|/radius)/2, else its opposite, so the mean is x/radius."""
        rows = self._rows(values)
        largest = np.abs(rows).max(axis=1, initial=0.0)
        rows = rows / np.where(largest > 0, largest, 1.0)[:, None]  # so that no square leaves the range of floats
        norm = np.linalg.norm(rows, axis=1)
        unit = np.where(norm[:, None] > 0, rows / np.where(norm > 0, norm, 1.0)[:, None], np.eye(1, self.dim))
        length = norm * np.minimum(largest / self.radius, 1.0)  # in radii, right up to one
        toward = to_grid((1 + np.minimum(length, 1)) / 2, source)
        whole = np.rint(unit * DIRECTION).astype(np.int64)
        return np.asarray(whole * (2 * np.clip(toward, 0, 1) - 1)[:, None], dtype=np.int64)

    def randomize(self, values: ArrayLike, source: Source | None = None) -> Ints:
        words = source or self.source
        whole = self.directions(values, words)
        step = max(1, MEMORY // self.dim)
        parts = [self.from_directions(whole[i : i + step], words) for i in range(0, len(whole), step)]
        return np.concatenate(parts) if parts else np.zeros((0, self.dim), dtype=np.int64)

    def from_directions(self, whole: Ints, source: Source) -> Ints:
        """Messages for whole-number directions: the part that makes the promise."""
        raise TypeError(f"{type(self).__name__} gives no from_directions")

    def plausible(self, messages: Ints) -> NDArray[np.bool_]:
        z = messages.astype(np.float64)
        off = np.sqrt(np.einsum("ij,ij->i", z, z)) - COARSE * math.sqrt(self.dim)
        return np.asarray(np.abs(off) <= math.sqrt(self.dim) / 2 + 1, dtype=np.bool_)  # the sphere, rounded

    def sphere(self, raw: Ints) -> Ints:
        """Points of the message grid near the sphere of radius COARSE sqrt(d), in the raw points' directions."""
        z = raw.astype(np.float64)
        norm = np.sqrt(np.einsum("ij,ij->i", z, z))
        return np.asarray(np.rint(z * (COARSE * math.sqrt(self.dim) / np.maximum(norm, 1.0))[:, None]), dtype=np.int64)


def raw_directions(source: Source, n: int, d: int) -> Ints:
    """Rounded Gaussian vectors, exactly distributed, RAW grid steps to a standard deviation."""
    from discreet.mechanisms.exact import sampler

    return sampler("gaussian", float(RAW)).draw(source, n * d).reshape(n, d)


@dataclass(frozen=True)
class Hemisphere(BallRandomizer):
    """A random point of the sphere, turned toward the person's direction with chance ``e^epsilon / (e^epsilon + 1)``.

    The l2 randomiser of Duchi, Jordan and Wainwright (2018).

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
    *Privacy.* Guarantee: epsilon-local differential privacy, exact in whole numbers, whatever the law of the random
    point.  Neighbours: replace-one.  Public: all parameters.  Bounded by: the odds a to b of one coin,
    ``a / b <= e^epsilon``.  Proof: ``proofs/local.md``.

    Examples
    --------
    >>> round(Hemisphere(1.0, 10).worth * 256 * 10**0.5, 2)  # the length of a report, in units of the radius
    8.37
    """

    name: ClassVar[str] = "hemisphere"
    code: ClassVar[int] = 10

    @cached_property
    def odds(self) -> tuple[int, int]:
        """Whole-number odds of turning toward the person's direction."""
        return odds(self.budget, 4.0)

    @property
    def lean(self) -> float:
        a, b = self.odds
        d = self.dim
        along = math.exp(math.lgamma(d / 2) - math.lgamma((d + 1) / 2)) / math.sqrt(math.pi)
        return COARSE * math.sqrt(d) * along * (a - b) / (a + b)

    def from_directions(self, whole: Ints, source: Source) -> Ints:
        points = self.sphere(raw_directions(source, *whole.shape))
        side = np.einsum("ij,ij->i", points, whole)
        a, b = self.odds
        toward = np.where(coins(source, a, a + b, len(whole)), 1, -1)
        return np.asarray(points * (np.where(side < 0, -1, 1) * toward)[:, None], dtype=np.int64)
