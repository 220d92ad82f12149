"""Means of one number per person: Duchi's two points, piecewise, hybrid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.local.base import (
    Ints,
    Randomizer,
    Totals,
    column_squares,
    column_sums,
    mean_and_error,
    real_numbers,
)
from discreet.local.sampling import below, coins, odds, to_grid
from discreet.privacy.budget import exact
from discreet.randomness import Source

if TYPE_CHECKING:
    from discreet.accounting.shuffling import Variation

__all__ = ["Duchi", "Hybrid", "Piecewise", "ScalarRandomizer"]

GRID = 1 << 13  # the value's grid: its rounding adds less than 2**-28 of the range squared to a report's variance
THRESHOLD = 0.61  # below this epsilon two points beat a piecewise law (Wang et al. 2019, Section III-C)


@dataclass(frozen=True)
class ScalarRandomizer(Randomizer):
    """What the randomisers of one number share: public bounds, a grid, and the mean as the estimate.

    Parameters
    ----------
    epsilon : float
        The local promise.
    bounds : (float, float)
        Public bounds; a value outside is moved to the nearer one.
    grid : int
        Half the number of grid steps between the bounds.
    """

    bounds: tuple[float, float] = (-1.0, 1.0)
    grid: int = GRID

    def check(self) -> None:
        low, high = self.bounds
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ValueError(f"bounds={self.bounds!r} must be two finite numbers, the lower one first")
        if not 1 <= self.grid <= 1 << 20:
            raise ValueError(f"grid={self.grid!r} must be from 1 to 2**20")

    @property
    def half(self) -> float:
        """Half the length of the bounds."""
        return (self.bounds[1] - self.bounds[0]) / 2

    @property
    def middle(self) -> float:
        """The centre of the bounds."""
        return (self.bounds[1] + self.bounds[0]) / 2

    def on_grid(self, values: ArrayLike, source: Source) -> Ints:
        """Values moved into the bounds and onto the grid -grid..grid, at random and without bias."""
        scaled = (real_numbers(values, 1) - self.middle) / self.half
        return np.clip(to_grid(np.clip(scaled, -1, 1) * self.grid, source), -self.grid, self.grid)

    def parameters(self) -> dict[str, str]:
        low, high = (exact(float(b), "bounds") for b in self.bounds)
        return {"epsilon": str(self.budget), "low": str(low), "high": str(high), "grid": str(self.grid)}

    def randomize(self, values: ArrayLike, source: Source | None = None) -> Ints:
        words = source or self.source
        return self.from_grid(self.on_grid(values, words), words)

    def from_grid(self, whole: Ints, source: Source) -> Ints:
        """Messages for grid values: the part that makes the promise."""
        raise TypeError(f"{type(self).__name__} gives no from_grid")

    @property
    def worth(self) -> float:
        """What one unit of a message is worth, so that its mean is the value."""
        raise TypeError(f"{type(self).__name__} gives no worth")

    def tally(self, messages: Ints) -> Totals:
        reach = max(abs(self.alphabet[0]), abs(self.alphabet[1]))
        return column_sums(messages, reach) + column_squares(messages, reach)

    def estimate(self, totals: Totals, n: int) -> tuple[Any, Any]:
        value, error = mean_and_error(totals[0], totals[1], n, self.worth)
        return value + self.middle, error

    @property
    def influence(self) -> float:
        return (self.alphabet[1] - self.alphabet[0]) * self.worth


@dataclass(frozen=True)
class Duchi(ScalarRandomizer):
    """One of two points, the likelier the nearer (Duchi, Jordan and Wainwright 2013; Warner's coin for a number).

    Parameters
    ----------
    epsilon : float
        The local promise.
    bounds : (float, float)
        Public bounds.

    Notes
    -----
    *Privacy.* Guarantee: epsilon-local differential privacy, exact in whole numbers.  Neighbours: replace-one.
    Public: all parameters.  Bounded by: chances between b and a in a + b, ``a / b <= e^epsilon``.
    Proof: ``proofs/local.md``.

    Examples
    --------
    >>> Duchi(1.0).law(Duchi(1.0).grid)[(1,)] > Duchi(1.0).law(0)[(1,)]
    True
    """

    name: ClassVar[str] = "duchi"
    code: ClassVar[int] = 6

    @cached_property
    def chances(self) -> tuple[int, int]:
        """``(tilt, total)``: +1 has chance ``(total/2 + tilt * value) / total`` at a grid value."""
        a, b = odds(self.budget, 4.0)
        # the chance runs from b to a over the 2 grid steps; a whole tilt per step, rounded toward the fair coin
        tilt = (a - b) // (2 * self.grid)
        return tilt, 2 * (b + tilt * self.grid)

    @property
    def alphabet(self) -> tuple[int, int, int]:
        return -1, 1, 2

    def law(self, value: int) -> dict[tuple[int, ...], int]:
        """The whole-number weight of every message, for one grid value."""
        tilt, total = self.chances
        up = total // 2 + tilt * value
        return {(1,): up, (-1,): total - up}

    def from_grid(self, whole: Ints, source: Source) -> Ints:
        tilt, total = self.chances
        up = below(source, total, len(whole)) < total // 2 + tilt * whole
        return np.where(up, 1, -1).astype(np.int64)[:, None]

    @property
    def worth(self) -> float:
        tilt, total = self.chances
        return total / (2 * tilt * self.grid) * self.half

    @property
    def variation(self) -> Variation:
        tilt, total = self.chances
        return self.known_variation(2 * tilt * self.grid / total)


@dataclass(frozen=True)
class Piecewise(ScalarRandomizer):
    """A high step around the value, a low one elsewhere (Wang et al. 2019), on whole numbers.

    Messages are the whole numbers -K..K.  A window of ``2 h + 1`` of them around the value has weight a, the rest b;
    ``K = grid + h`` and ``h = grid e^(-epsilon/2)``, which is the best width.

    Parameters
    ----------
    epsilon : float
        The local promise.
    bounds : (float, float)
        Public bounds.

    Notes
    -----
    *Privacy.* Guarantee: epsilon-local differential privacy, exact in whole numbers.  Neighbours: replace-one.
    Public: all parameters.  Bounded by: ``a / b <= e^epsilon``, and a total that does not depend on the value.
    Proof: ``proofs/local.md``.

    Examples
    --------
    >>> p = Piecewise(1.0, grid=4)
    >>> sorted(set(p.law(0).values())) == sorted(set(p.law(4).values()))
    True
    """

    name: ClassVar[str] = "piecewise"
    code: ClassVar[int] = 7

    @cached_property
    def shape(self) -> tuple[int, int, int, int]:
        """``(a, b, h, K)``."""
        h = round(self.grid * math.exp(-float(self.epsilon) / 2))
        a, b = odds(self.budget, 2.0 * (self.grid + h) + 1)
        return a, b, h, self.grid + h

    @property
    def _total(self) -> int:
        a, b, h, k = self.shape
        return (2 * h + 1) * a + 2 * (k - h) * b

    @property
    def alphabet(self) -> tuple[int, int, int]:
        return -self.shape[3], self.shape[3], 1

    def law(self, value: int) -> dict[tuple[int, ...], int]:
        """The whole-number weight of every message, for one grid value."""
        a, b, h, k = self.shape
        return {(y,): a if abs(y - value) <= h else b for y in range(-k, k + 1)}

    def from_grid(self, whole: Ints, source: Source) -> Ints:
        a, b, h, k = self.shape
        draw = below(source, self._total, len(whole))
        rest = draw - (2 * h + 1) * a
        outside = -k + np.maximum(rest, 0) // b  # the numbers outside the window, in order
        outside += np.where(outside >= whole - h, 2 * h + 1, 0)
        return np.where(rest < 0, whole - h + draw // a, outside)[:, None]

    @property
    def worth(self) -> float:
        # the whole range sums to zero, so the mean of a message is (a - b)(2h + 1) value / total
        a, b, h, _ = self.shape
        return self._total / ((a - b) * (2 * h + 1) * self.grid) * self.half

    @property
    def variation(self) -> Variation:
        a, b, h, _ = self.shape
        apart = min(2 * h + 1, 2 * self.grid)  # how much of one extreme window the other does not cover
        return self.known_variation((a - b) * apart / self._total)


@dataclass(frozen=True)
class Hybrid(ScalarRandomizer):
    """Piecewise with probability ``1 - e^(-epsilon/2)``, else Duchi's two points: the best of the four.

    From Wang et al. (2019).

    Parameters
    ----------
    epsilon : float
        The local promise.
    bounds : (float, float)
        Public bounds.

    Notes
    -----
    *Privacy.* Guarantee: epsilon-local differential privacy: the choice of the branch does not depend on the value and
    is told, and each branch keeps the promise.  Neighbours: replace-one.  Public: all parameters.
    Bounded by: the two branches.  Proof: ``proofs/local.md``.

    Examples
    --------
    >>> Hybrid(0.5).share == 0, 0.39 < Hybrid(1.0).share / 2**53 < 0.4
    (True, True)
    """

    name: ClassVar[str] = "hybrid"
    code: ClassVar[int] = 8

    @cached_property
    def branches(self) -> tuple[Piecewise, Duchi]:
        """The two randomisers."""
        own = (self.epsilon, self.bounds, self.grid)
        return Piecewise(*own, source=self.source), Duchi(*own, source=self.source)

    @cached_property
    def share(self) -> int:
        """How many of 2**53 draws take the piecewise branch."""
        return 0 if self.epsilon <= THRESHOLD else int(-math.expm1(-float(self.epsilon) / 2) * 2**53)

    @property
    def alphabet(self) -> tuple[int, int, int]:
        k = self.branches[0].shape[3]
        return -k - 1, k + 1, 1  # the two end points are Duchi's

    def law(self, value: int) -> dict[tuple[int, ...], int]:
        """The whole-number weight of every message, for one grid value."""
        piecewise, duchi = self.branches
        first, second, end = piecewise.law(value), duchi.law(value), self.alphabet[1]
        one, two = sum(first.values()), sum(second.values())
        weights = {y: w * two * self.share for y, w in first.items()} if self.share else {}
        return {**weights, **{(y[0] * end,): w * one * (2**53 - self.share) for y, w in second.items()}}

    def from_grid(self, whole: Ints, source: Source) -> Ints:
        piecewise, duchi = self.branches
        first = coins(source, self.share, 2**53, len(whole))
        out = duchi.from_grid(whole, source) * self.alphabet[1]
        out[first] = piecewise.from_grid(whole[first], source)
        return out

    def tally(self, messages: Ints) -> Totals:
        two_point = np.abs(messages[:, 0]) == self.alphabet[1]
        ups = int(np.sum(np.sign(messages[two_point, 0])))
        inner = self.branches[0].tally(messages[~two_point])
        return [*inner, ups, int(two_point.sum())]

    def estimate(self, totals: Totals, n: int) -> tuple[Any, Any]:
        if n == 0:
            return math.nan, math.inf
        one, two = (b.worth for b in self.branches)
        value = (totals[0] * one + totals[2] * two) / n
        squares = totals[1] * one * one + totals[3] * two * two
        error = math.sqrt(max(squares / n - value * value, 0) / (n - 1)) if n > 1 else math.inf
        return value + self.middle, error

    @property
    def worth(self) -> float:
        return self.influence / (self.alphabet[1] - self.alphabet[0])

    @property
    def influence(self) -> float:
        return max(b.influence for b in self.branches[not self.share :])

    @property
    def variation(self) -> Variation:
        # the branch is told, so the total variation is the mixture of the branches'
        one, two = (b.variation.beta for b in self.branches)
        part = self.share / 2**53
        return self.known_variation(part * one + (1 - part) * two)
