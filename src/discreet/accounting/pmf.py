r"""Distributions of the privacy loss on a grid, rounded to the private side, and their composition.

For an ordered pair of data sets let P and Q be the output's laws.  A :class:`LossPmf` holds, for losses
:math:`\ell` on a grid, masses under P; the mass under Q is :math:`e^{-\ell}` times that.  Its profile
:math:`\sum m(\ell)(1 - e^{\epsilon - \ell})_+ + m(\infty)` bounds :math:`H_{e^\epsilon}(P\|Q)` from above *for every
real epsilon*, which is what composition needs.  Mass between two grid losses is split between them so that P and Q
both keep theirs ("connect the dots", Doroshenko et al., 2022): a spread that can only raise the profile.

Composition convolves tilted masses :math:`m(\ell) e^{\lambda\ell}`, with the tilt chosen at the epsilon asked about,
so that deltas of 1e-12 and of 1e-200 come out with the same relative accuracy; what the window, the wrap-around and
the rounding of the Fourier transform can hide is bounded and added.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from discreet.kernels_accounting import lower_hull

if TYPE_CHECKING:
    from dp_accounting.pld.pld_pmf import PLDPmf

__all__ = ["Composition", "GridTooLarge", "LossPmf"]

Floats = NDArray[np.float64]
_U = 2.0**-53
_WINDOW = 1e-15  # tilted mass that may fall outside the window; its worst effect is added
_LARGEST = 1 << 23


class GridTooLarge(ValueError):
    """A grid of losses has more points than are tabulated; with a wider step it has fewer, and the price is looser.

    >>> issubclass(GridTooLarge, ValueError)
    True
    """


@dataclass(frozen=True)
class LossPmf:
    """Masses under P of the losses ``(lowest + i) * step``, and of an infinite loss; one ordered direction.

    The masses may add up to a little more than one: every rounding is upwards.

    Notes
    -----
    *Privacy.* Guarantee: its profile bounds that of the mechanism it was built for.  Neighbours: one ordered pair.
    Public: all of it.  Bounded by: a mean-preserving spread onto the grid.  Proof: ``proofs/accounting.md``.

    Examples
    --------
    >>> coin = LossPmf.from_atoms(np.array([-1.0, 1.0]), np.array([1, np.e]) / (1 + np.e), 0.5)
    >>> round(coin.delta(0.0), 6)  # tanh(1/2)
    0.462117
    """

    step: float
    lowest: int
    mass: Floats
    infinity: float

    @property
    def losses(self) -> Floats:
        """The grid."""
        return (self.lowest + np.arange(self.mass.size, dtype=np.float64)) * self.step

    def delta(self, epsilon: float) -> float:
        """The profile at one epsilon."""
        gain = -np.expm1(np.minimum(epsilon - self.losses, 0.0))
        return float(min(1.0, (self.infinity + float(np.dot(gain, self.mass))) * (1 + 1e-12)))

    @classmethod
    def from_cells(cls, p: Floats, q: Floats, step: float, lowest: int, infinity: float) -> LossPmf:
        """From upper bounds `p` and lower bounds `q` on the masses whose loss is in each cell of the grid."""
        left = (lowest + np.arange(p.size)) * step
        # p_left + p_right = p and p_left + p_right e^-step = q e^left; at most p, and what rounding may hide, go right
        with np.errstate(over="ignore", invalid="ignore"):
            moved = np.where(q > 0, q * np.exp(left), 0.0)
        right = np.clip((p - moved * (1 - 4 * _U)) / -math.expm1(-step), 0.0, p)
        mass = np.zeros(p.size + 1)
        mass[:-1] += p - right
        mass[1:] += right
        return cls(step, lowest, mass * (1 + 8 * _U), infinity)

    @classmethod
    def from_atoms(cls, losses: Floats, p: Floats, step: float, infinity: float = 0.0) -> LossPmf:
        """From losses anywhere, with their masses under P."""
        cell = np.floor(losses / step).astype(np.int64)
        lowest, size = int(cell.min()), int(cell.max() - cell.min()) + 2
        if size > _LARGEST:
            raise GridTooLarge(f"losses from {losses.min():g} to {losses.max():g} at a step of {step:g}: {size} points")
        above = np.clip(losses - cell * step + 4 * _U * np.abs(losses), 0.0, step)
        right = np.minimum(p * (np.expm1(-above) / math.expm1(-step)) * (1 + 8 * _U), p)
        where = cell - lowest
        mass = np.zeros(size)
        mass += np.bincount(where, p - right, size)
        mass += np.bincount(where + 1, right, size)
        return cls(step, lowest, mass * (1 + 8 * _U), infinity)

    @classmethod
    def from_profile(cls, profile: Callable[[Floats], Floats], step: float, low: float, high: float) -> LossPmf:
        """From upper bounds on the divergences themselves: the lower convex hull, in ``e^epsilon``, of their values.

        The true profile is convex and 1 at minus infinity, so the hull of upper bounds is still above it; it is
        the profile of a distribution on the grid (Doroshenko et al., 2022).
        """
        first, last = math.floor(low / step), max(math.ceil(high / step), math.floor(low / step) + 1)
        if last - first > _LARGEST:
            raise GridTooLarge(f"losses from {low:g} to {high:g} on a grid of {step:g} need {last - first} points")
        grid = np.arange(first, last + 1, dtype=np.float64) * step
        alpha = np.exp(grid)
        value = np.minimum(np.asarray(profile(grid), dtype=float) * (1 + 1e-14), 1.0)
        value = np.minimum.accumulate(np.maximum(value, -np.expm1(np.minimum(grid, 0.0))))
        x, y = np.concatenate([[0.0], alpha]), np.concatenate([[1.0], value])
        keep = lower_hull(x, y)
        keep = keep if keep[-1] == grid.size else np.append(keep, grid.size)
        slopes = np.append(np.diff(y[keep]) / np.diff(x[keep]), 0.0)
        jumps = np.maximum(np.diff(slopes), 0.0)  # the Q-mass at each kept alpha but the first, alpha = 0
        mass = np.zeros(grid.size)
        mass[keep[1:] - 1] = jumps * x[keep[1:]]
        return cls(step, first, mass * (1 + 1e-13), float(value[-1]))

    def thinned(self, infinity: float) -> LossPmf:
        """The same with probability ``1 - infinity``, and everything revealed otherwise."""
        return LossPmf(self.step, self.lowest, self.mass * (1 - infinity), infinity + (1 - infinity) * self.infinity)

    @cached_property
    def _logs(self) -> tuple[Floats, Floats]:
        keep = self.mass > 0
        return np.log(self.mass[keep]), self.losses[keep]

    def log_mgf(self, tilt: float) -> float:
        """Logarithm of the sum of mass times ``e^(tilt * loss)``, over finite losses."""
        return _log_sum(*self._logs, tilt)

    def coarse(self, points: int = 1000) -> tuple[Floats, Floats]:
        """Log masses and mean losses of blocks of the grid: for choosing a tilt, they promise nothing."""
        k = max(1, self.mass.size // points)
        filler = np.zeros(-self.mass.size % k)
        blocks = np.concatenate([self.mass, filler]).reshape(-1, k)
        total = blocks.sum(axis=1)
        moment = np.concatenate([self.mass * self.losses, filler]).reshape(-1, k).sum(axis=1)
        keep = total > 0
        return np.log(total[keep]), moment[keep] / total[keep]

    def to_dp_accounting(self) -> PLDPmf:
        """The same distribution as a pessimistic ``PLDPmf``."""
        from dp_accounting.pld import pld_pmf

        table = {self.lowest + int(i): float(self.mass[i]) for i in np.flatnonzero(self.mass)}
        return pld_pmf.create_pmf(table or {self.lowest: 0.0}, self.step, self.infinity, True)


def _log_sum(log_mass: Floats, losses: Floats, tilt: float) -> float:
    if not log_mass.size:
        return -math.inf
    terms = log_mass + tilt * losses
    top = float(terms.max())
    return top + math.log(float(np.exp(terms - top).sum()))


def _log_peak(tilt: float) -> float:
    """Logarithm of the largest value over b of ``e^(-tilt b) (1 - e^-b)``, which is at ``b = log(1 + 1/tilt)``."""
    return -tilt * math.log1p(1 / tilt) - math.log1p(tilt)


class Composition:
    """Several loss distributions of one direction, each taken a number of times.

    Notes
    -----
    *Privacy.* Guarantee: :meth:`delta` and :meth:`epsilon` bound those of the adaptive composition.  Neighbours: one
    ordered pair.  Public: all of it.  Bounded by: product pairs dominate adaptive composition (Zhu, Dong and Wang,
    2022, Theorem 10), and added terms for truncation and rounding.  Proof: ``proofs/accounting.md``.

    Examples
    --------
    >>> coin = LossPmf.from_atoms(np.array([-1.0, 1.0]), np.array([1, np.e]) / (1 + np.e), 0.25)
    >>> two = Composition([(coin, 2)])
    >>> round(two.delta(1.0), 6), round(float((np.e / (1 + np.e)) ** 2 * (1 - np.exp(-1))), 6)
    (0.337835, 0.337835)
    """

    def __init__(self, parts: Sequence[tuple[LossPmf, int]]) -> None:
        if len({pmf.step for pmf, _ in parts}) > 1:
            raise ValueError("loss distributions compose only on one grid")
        self.parts = [(pmf, count) for pmf, count in parts if count]
        self.step = self.parts[0][0].step if self.parts else 1.0
        # 1 - prod (1 - p)^count
        self.infinity = -math.expm1(math.fsum(n * math.log1p(-min(p.infinity, 1 - _U)) for p, n in self.parts)) * (
            1 + 1e-12
        )
        self._rough = [(pmf.coarse(), count) for pmf, count in self.parts]
        self._tilted: _Tilted | None = None

    def log_mgf(self, tilt: float) -> float:
        """Sum of the parts' :meth:`LossPmf.log_mgf`."""
        return math.fsum(n * pmf.log_mgf(tilt) for pmf, n in self.parts)

    def _rough_mgf(self, tilt: float) -> float:
        return math.fsum(n * _log_sum(*rough, tilt) for rough, n in self._rough)

    def _best_tilt(self, objective: Callable[[float, float], float]) -> float:
        """The tilt among a geometric range that minimises ``objective(tilt, log mgf)``, roughly."""
        grid = [math.exp(0.5 * k) for k in range(-8, 20)]
        scores: list[float] = []
        for tilt in grid:
            scores.append(objective(tilt, self._rough_mgf(tilt)))
            if len(scores) > 4 and scores[-1] > scores[-2] > scores[-3] > scores[-4]:
                break
        best = int(np.nanargmin(scores))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        for _ in range(8):
            a, b = low * (high / low) ** 0.4, low * (high / low) ** 0.6
            if objective(a, self._rough_mgf(a)) < objective(b, self._rough_mgf(b)):
                high = b
            else:
                low = a
        return math.sqrt(low * high)

    def delta(self, epsilon: float) -> float:
        """An upper bound on the composition's delta at `epsilon`."""
        if not self.parts:
            return max(0.0, -math.expm1(epsilon))
        tilt = self._best_tilt(lambda t, k: k - t * epsilon + _log_peak(t))
        if self._tilted is None or abs(math.log(self._tilted.tilt / tilt)) > 0.2:
            self._tilted = _Tilted(self, tilt)
        return self._finish(self._tilted.log_excess(epsilon)[0])

    def chernoff(self, epsilon: float) -> float:
        """A cheap, looser bound on delta, from the moment of one order."""
        if not self.parts:
            return max(0.0, -math.expm1(epsilon))
        tilt = self._best_tilt(lambda t, k: k - t * epsilon + _log_peak(t))
        return self._finish(self.log_mgf(tilt) - tilt * epsilon + _log_peak(tilt) + 1e-12)

    def flattened(self) -> LossPmf:
        """The composition as one loss distribution, for sampling it as a whole; tails below 1e-12 become infinite."""
        if not self.parts:
            return LossPmf(self.step, 0, np.ones(1), 0.0)
        if len(self.parts) == 1 and self.parts[0][1] == 1:
            return self.parts[0][0]
        plain = _Tilted(self, 1e-9)
        mass = plain.table * math.exp(plain.log_mgf) * np.exp(-plain.tilt * plain.low) * (1 + 1e-6 * self.step)
        hidden = plain.noise * math.sqrt(plain.table.size) + 4 * _WINDOW
        return LossPmf(self.step, round(plain.low / self.step), mass, min(1.0, self.infinity + hidden))

    def ahead_of(
        self, then: Callable[[Floats], Floats], log_moment: Callable[[float], float], epsilon: float
    ) -> Callable[[float], float]:
        """Delta as a function of epsilon when what follows has delta `then`: the mean of ``then(epsilon - loss)``.

        ``log_moment(t)`` bounds the logarithm of the supremum of ``e^(t u) then(u)``.  Best near `epsilon`.
        """
        tilt = self._best_tilt(lambda t, k: k + log_moment(t) - t * epsilon + _log_peak(t))
        table = _Tilted(self, tilt)
        losses = table.low + np.arange(table.table.size, dtype=np.float64) * self.step
        most = log_moment(tilt)  # of e^(tilt u) then(u): what follows is relative to it

        def delta(eps: float) -> float:
            with np.errstate(divide="ignore"):
                weight = np.exp(np.minimum(tilt * (eps - losses) + np.log(then(eps - losses)) - most, 0.0))
            total = float(np.dot(weight, table.table)) * (1 + 1e-12) + 2 * _WINDOW
            total += table.noise * float(np.linalg.norm(weight))
            scale = table.log_mgf - tilt * eps + most + 1e-12
            return min(1.0, (math.exp(min(scale + math.log(total), 0.0)) + self.infinity) * (1 + 1e-11))

        return delta

    def _finish(self, log_excess: float) -> float:
        return min(1.0, (self.infinity + math.exp(min(log_excess, 0.0))) * (1 + 1e-11))

    def epsilon(self, delta: float) -> float:
        """An upper bound on the smallest epsilon, at least 0, at which the composition has at most this delta."""
        if not self.parts or delta >= 1:
            return 0.0
        room = delta / (1 + 2e-11) - self.infinity
        if room <= 0:
            return math.inf
        goal = math.log(room)
        tilt = self._best_tilt(lambda t, k: (k - goal + _log_peak(t)) / t)
        table = self._tilted = _Tilted(self, tilt)
        return _root(table.log_excess, goal, max((table.log_mgf - goal + _log_peak(tilt)) / tilt, 1e-12))


def _root(function: Callable[[float], tuple[float, float]], goal: float, high: float) -> float:
    """The smallest epsilon >= 0 with function(epsilon)[0] <= goal, for a decreasing function; never below it.

    Newton steps kept inside a bracket; the end of the bracket that satisfies the inequality is what comes back.
    """
    if function(0.0)[0] <= goal:
        return 0.0
    low, at = 0.0, high
    value, slope = function(at)
    while value > goal:  # only if rounding terms exceed what is left
        low, at = at, at * 1.5 + 1e-12
        if at > 1e6:
            return math.inf
        value, slope = function(at)
    high = at
    for _ in range(200):
        # aim a hair to the right of the root, so that the last step lands on the safe side
        new = at + (goal - value) / slope + 2e-12 * high if slope else math.nan
        at = new if low < new < high else (low + high) / 2
        value, slope = function(at)
        low, high = (low, at) if value <= goal else (at, high)
        if high - low <= 1e-11 * high or (at == high and goal - value <= -4e-12 * high * slope):
            break
    return high * (1 + 1e-13)


class _Tilted:
    """The composition under one exponential tilt, tabulated on a window; any tilt gives a valid bound."""

    def __init__(self, whole: Composition, tilt: float) -> None:
        self.tilt, step = tilt, whole.step
        self.log_mgf = whole.log_mgf(tilt)
        low, high = self._window(whole)
        size = fft.next_fast_len(high - low + 1, real=True)
        if size > _LARGEST:
            raise GridTooLarge(f"this composition needs a grid of {size} points; use a wider step")
        product, norm = np.ones(size // 2 + 1, dtype=complex), 0.0
        for pmf, count in whole.parts:
            log_mass, losses = pmf._logs
            at = (pmf.lowest + np.flatnonzero(pmf.mass > 0)) % size
            wrapped = np.bincount(at, np.exp(log_mass + tilt * losses - pmf.log_mgf(tilt)), size)
            product *= _power(fft.rfft(wrapped), count)
            norm += (count + 2) * float(np.linalg.norm(wrapped))
        table = np.roll(fft.irfft(product, size), -(low % size))
        self.low = low * step
        self.table = np.maximum(table, 0.0)
        self.step = step
        # In the 2-norm, transforms and powers are off by at most 8 u log2 N |F_i| for each factor, and all |F_i| <= 1.
        self.noise = 8 * _U * (math.log2(size) + 2) * norm
        # delta = e^(K - t eps) sum table w(loss - eps), where w(b) = e^(-t b) - e^(-(t+1) b), largest at log(1 + 1/t)
        steps = np.arange(self.table.size) * step
        self._decay, self._decay_next = np.exp(-tilt * steps), np.exp(-(tilt + 1) * steps)
        largest = math.exp(_log_peak(tilt))
        weight = float(np.linalg.norm(self._decay - self._decay_next)) + 2 * largest
        self._hidden = self.noise * weight + 2 * _WINDOW * largest

    def _window(self, whole: Composition) -> tuple[int, int]:
        """Grid indices outside of which the tilted composition has mass at most ``2 * _WINDOW`` (Chernoff)."""
        rough, width, need = whole._rough_mgf, 0.05 * self.tilt, -math.log(_WINDOW)
        centre = rough(self.tilt)
        curve = (rough(self.tilt + width) - 2 * centre + rough(self.tilt - width)) / width**2
        natural = math.sqrt(2 * need / max(curve, whole.step**2))
        edges: list[float] = []
        for sign in (-1.0, 1.0):
            tries = natural * np.geomspace(0.05, 1.5, 12)
            s = float(min(tries, key=lambda x: (rough(self.tilt + sign * x) - centre + need) / x))
            edges.append(sign * (whole.log_mgf(self.tilt + sign * s) - self.log_mgf + need) / s)
        lowest = sum(p.lowest * n for p, n in whole.parts)
        highest = sum((p.lowest + p.mass.size - 1) * n for p, n in whole.parts)
        low, high = math.floor(edges[0] / whole.step), math.ceil(edges[1] / whole.step)
        return max(lowest, min(low, highest)), min(highest, max(high, lowest))

    def log_excess(self, epsilon: float) -> tuple[float, float]:
        """Logarithm of an upper bound on the part of delta that comes from finite losses, and its slope."""
        t, size = self.tilt, self.table.size
        first = min(max(0, math.ceil((epsilon - self.low) / self.step)), size)
        over = max(self.low + first * self.step - epsilon, 0.0)
        far, near = self._decay[: size - first], self._decay_next[: size - first]
        upper = math.exp(-t * over) * float(np.dot(far, self.table[first:]))
        lower = math.exp(-(t + 1) * over) * float(np.dot(near, self.table[first:]))
        total = upper * (1 + 1e-13) - lower * (1 - 1e-13) + self._hidden
        return self.log_mgf - t * epsilon + math.log(total) + 1e-12, -lower / total


def _power(base: NDArray[np.complex128], count: int) -> NDArray[np.complex128]:
    """`base` to a whole power by repeated squaring, whose rounding is easy to bound."""
    result: NDArray[np.complex128] | None = None
    while count:
        if count & 1:
            result = base if result is None else result * base
        count >>= 1
        if count:
            base = base * base
    return np.ones_like(base) if result is None else result
