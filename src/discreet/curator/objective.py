"""The perturbed objective on gridded rows: in floats for the minimiser, in whole numbers for its certificate."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from discreet.curator.base import slopes_of
from discreet.curator.rows import Rows

if TYPE_CHECKING:
    from discreet.curator.base import CuratorCore
    from discreet.curator.clip import SupportsMargins

__all__ = ["SLOPE_ERROR", "UNIT_ROUNDOFF", "Objective", "Quadratic"]

Floats = NDArray[np.float64]

UNIT_ROUNDOFF = 2.0**-53
# What the certificate takes for granted: a loss's derivative is computed within this much of |derivative| + L
SLOPE_ERROR = 8 * UNIT_ROUNDOFF


@dataclass(frozen=True, eq=False)
class Quadratic:
    """A public quadratic ``theta' Lambda theta / 2``: one number, one per weight, or a matrix.

    >>> import numpy as np
    >>> Quadratic.of(np.array([1.0, 4.0]), 2).weakest
    1.0
    """

    diagonal: Floats | None
    matrix: Any  # used where there is no diagonal
    weakest: float  # no eigenvalue is below
    strongest: float  # no eigenvalue is above

    @classmethod
    def of(cls, penalty: Any, size: int) -> Quadratic:
        """From a number, a vector, a matrix, or a penalty object that is a squared norm."""
        if hasattr(penalty, "strong_convexity"):
            if getattr(penalty, "name", "") != "l2":
                raise ValueError(
                    f"penalty={penalty!r} is not a quadratic: give its quadratic part here and the rest as composite="
                )
            penalty = penalty.strong_convexity
        given = np.asarray(penalty, dtype=np.float64)
        if not np.isfinite(given).all():
            raise ValueError("the quadratic penalty must be finite")
        if given.ndim == 2:
            if given.shape != (size, size) or not np.array_equal(given, given.T):
                raise ValueError(f"the penalty matrix must be symmetric of order {size}, got shape {given.shape}")
            values = np.linalg.eigvalsh(given)
            slack = 1e-12 * max(abs(values[0]), abs(values[-1]))
            low, high = float(values[0] - slack), float(values[-1] + slack)
            made = cls(None, given, low, high)
        else:
            diagonal = np.broadcast_to(given, (size,)).copy()
            made = cls(diagonal, None, float(diagonal.min(initial=math.inf)), float(diagonal.max(initial=0.0)))
        if not made.weakest > 0:
            raise ValueError(
                f"the penalty's weakest eigenvalue is {made.weakest:g}; without a positive one the minimiser is not "
                "stable and nothing about it can be promised"
            )
        return made

    @property
    def rounding(self) -> float:
        """How many unit roundoffs, times the norm of theta, :meth:`times` and a sum after it can be off."""
        if self.diagonal is not None:
            return 4 * self.strongest
        return (len(self.matrix) + 4) * float(np.linalg.norm(self.matrix))

    def times(self, theta: Floats) -> Floats:
        """``Lambda theta``."""
        return np.asarray(self.diagonal * theta if self.diagonal is not None else self.matrix @ theta)

    def add_to(self, hessian: Floats) -> None:
        """Add Lambda to a matrix in place."""
        if self.diagonal is not None:
            hessian[np.diag_indices_from(hessian)] += self.diagonal
        elif self.matrix is not None:
            hessian += self.matrix


class Objective:
    """``sum w f(<x, theta>, y) + theta' Lambda theta / 2 + <b, theta>`` for flat `theta`.

    Margins of all rows are kept beside `theta`, so that a line search never goes back to the rows.
    """

    def __init__(self, curator: CuratorCore, loss: SupportsMargins, quadratic: Quadratic, linear: Floats) -> None:
        self.curator, self.loss, self.quadratic, self.linear = curator, loss, quadratic, linear
        self.outputs = int(loss.n_outputs)
        self.size = curator.n_weights * self.outputs
        self.unit = float(curator.grid.unit)
        self.n = curator._count()
        self._smoothness: float | None = None
        self.y, self.w = self._side()

    def _side(self) -> tuple[Floats, Floats | None]:
        y, w = np.ones(self.n), np.ones(self.n)
        weighted, start = False, 0
        for rows in self.curator._segments():
            if rows.y is None:
                raise ValueError("minimising needs targets: build the curator with y")
            y[start : start + rows.n] = rows.y
            if rows.w is not None:
                weighted = True
                w[start : start + rows.n] = rows.w * float(self.curator.grid.weight_unit)
            start += rows.n
        return y, w if weighted else None

    def tiles(self) -> Iterator[tuple[Rows, int, int, slice]]:
        """Every tile with its place in the flat arrays."""
        start = 0
        for rows in self.curator._segments():
            for a, b in rows.tiles():
                yield rows, a, b, slice(start + a, start + b)
            start += rows.n

    def _matrix(self, theta: Floats) -> Floats:
        """Flat weights as the vector or (n_weights, outputs) matrix that rows are multiplied by, in grid units."""
        scaled = theta * self.unit
        return scaled if self.outputs == 1 else np.ascontiguousarray(scaled.reshape(self.outputs, -1).T)

    def _flat(self, back: Floats) -> Floats:
        return back if self.outputs == 1 else np.ascontiguousarray(back.T).reshape(-1)

    @property
    def smoothness(self) -> float:
        """A bound on the largest eigenvalue of the Hessian, from the rows' norms."""
        if self._smoothness is None:
            square = 0.0
            for rows, a, b, at in self.tiles():
                norms = rows.norms[a:b, 1] * self.unit
                square += float((norms * norms if self.w is None else norms * norms * self.w[at]).sum())
            self._smoothness = float(self.loss.smoothness) * square * 1.001 + self.quadratic.strongest
        return self._smoothness

    def margins(self, theta: Floats) -> Floats:
        """Margins of all rows, in floats."""
        out = np.empty((self.n,) if self.outputs == 1 else (self.n, self.outputs))
        matrix = self._matrix(theta)
        for rows, a, b, at in self.tiles():
            out[at] = rows.margins(a, b, matrix)
        return out

    def slopes(self, margins: Floats, at: slice = slice(None)) -> Floats:
        """``w f'`` of some rows, from their margins."""
        with np.errstate(all="ignore"):
            d = np.asarray(self.loss.derivative(margins, self.y[at]))
        return self._weighted(d, at)

    def _weighted(self, d: Floats, at: slice) -> Floats:
        return d if self.w is None else d * self.w[at].reshape((-1,) + (1,) * (d.ndim - 1))

    def smooth(self, theta: Floats) -> Floats:
        """The gradient of the public part: ``Lambda theta + b``."""
        return self.quadratic.times(theta) + self.linear

    def gradient(self, theta: Floats, margins: Floats | None = None, keep: Floats | None = None) -> Floats:
        """The gradient, in floats; margins that aren't given are worked out, and put into `keep`."""
        acc = np.zeros((self.curator.n_weights,) + ((self.outputs,) if self.outputs > 1 else ()))
        matrix = self._matrix(theta)
        for rows, a, b, at in self.tiles():
            m = rows.margins(a, b, matrix) if margins is None else margins[at]
            if keep is not None:
                keep[at] = m
            rows.back(a, b, self.slopes(m, at), acc)
        return self._flat(acc) * self.unit + self.smooth(theta)

    def hessian(self, margins: Floats) -> Floats:
        """The Hessian (one output)."""
        p = self.curator.n_weights
        hessian = np.zeros((p, p))
        for rows, a, b, at in self.tiles():
            with np.errstate(all="ignore"):
                h = self._weighted(np.asarray(self.loss.curvature(margins[at], self.y[at])), at)
            rows.gram(a, b, np.sqrt(np.maximum(h, 0.0)) * self.unit, hessian, whole=False)
        hessian = np.triu(hessian) + np.triu(hessian, 1).T
        self.quadratic.add_to(hessian)
        return hessian

    def curvatures(self, margins: Floats) -> Floats:
        """``w f''`` of every row: a number, or a matrix over outputs."""
        with np.errstate(all="ignore"):
            return self._weighted(np.asarray(self.loss.curvature(margins, self.y)), slice(None))

    def hessian_times(self, curvatures: Floats, v: Floats) -> Floats:
        """The Hessian times a vector, one pass."""
        acc = np.zeros((self.curator.n_weights,) + ((self.outputs,) if self.outputs > 1 else ()))
        matrix = self._matrix(v)
        for rows, a, b, at in self.tiles():
            m = rows.margins(a, b, matrix)
            h = curvatures[at]
            rows.back(a, b, h * m if self.outputs == 1 else np.einsum("ikl,il->ik", h, m), acc)
        return self._flat(acc) * self.unit + self.quadratic.times(v)

    def directional(self, margins: Floats, change: Floats, step: float) -> float:
        """The derivative of the loss part along a direction, at ``margins + step * change``: rows aren't needed."""
        d = self.slopes(margins + step * change)
        return float(np.vdot(d, change))

    def _split(self, theta: Floats) -> tuple[Floats, float, float, float]:
        """Weights as two whole-number parts side by side, what a unit of each is worth, and what they leave over.

        Margins of each part are exact, so that the margin of their sum has one rounding in all.
        """
        k = self.outputs
        shaped = theta.reshape(k, -1) if k > 1 else theta
        coarse, first = self.curator._on_grid(shaped, k)
        rest = shaped - coarse.T * float(first)  # exact: the nearest multiple of a power of two
        fine, second = self.curator._on_grid(rest, k)
        left = rest - fine.T * float(second)
        both = np.ascontiguousarray(np.column_stack([coarse, fine]))
        return both, float(first), float(second), float(np.linalg.norm(left))

    def certified(self, theta: Floats) -> tuple[Floats, float]:
        """The gradient at `theta` and a proved bound on its l2 error.

        Margins are rounded once; residuals are split into two whole numbers whose sums are exact within a tile; what
        is left is the error of the derivative itself, a few roundings per tile, and the public terms
        (proofs/minimise.md).
        """
        cur, k = self.curator, self.outputs
        both, first, second, left_over = self._split(theta)
        total = np.zeros((cur.n_weights,) + ((k,) if k > 1 else ()))
        carry = np.zeros_like(total)
        steepest = float(self.loss.lipschitz) * math.sqrt(k)
        reach, left = 0.0, 0.0  # sum of |w f'| |x| with the slack of the slope; what the two whole numbers leave over
        turned, bend = 0.0, 0.0  # sums of w |margin| |x| and of w |x|^2
        for rows, a, b, at in self.tiles():
            parts = rows.margins(a, b, both) * self.unit
            m = parts[:, :k] * first + parts[:, k:] * second
            m = m[:, 0] if k == 1 else m
            d = self._weighted(slopes_of(self.loss.derivative, m, self.y[at], rows.tile_rows), at)
            w = 1.0 if self.w is None else self.w[at]
            norms = rows.norms[a:b, 1] * self.unit
            reach += float((_lengths(d) + w * steepest) @ norms)
            turned += float((w * _lengths(m)) @ norms)
            bend += float((w * norms) @ norms)
            part, resolution = _in_parts(rows, a, b, d, cur.grid.linf)
            left += resolution * math.sqrt(k) * float(norms.sum())
            # Neumaier's compensated sum: tile sums add up with a couple of roundings in all
            grown = total + part
            carry += np.where(np.abs(total) >= np.abs(part), (total - grown) + part, (part - grown) + total)
            total = grown
        data = self._flat(total + carry) * self.unit
        public = self.smooth(theta)
        tiles = self.n + 1
        sums = reach * (SLOPE_ERROR + 8 * UNIT_ROUNDOFF + tiles * tiles * UNIT_ROUNDOFF**2)
        moved = float(self.loss.smoothness) * (2 * UNIT_ROUNDOFF * turned + bend * left_over)
        ends = 4 * float(np.linalg.norm(data)) + 4 * float(np.linalg.norm(self.linear))
        ends += self.quadratic.rounding * float(np.linalg.norm(theta))
        return data + public, 1.01 * (sums + left + moved + UNIT_ROUNDOFF * ends)

    @property
    def public_smoothness(self) -> float:
        """A bound on the largest eigenvalue of the Hessian, from the number of rows and their public bound alone."""
        row, weight = self.curator.row_norm, float(self.curator.bounds.weight)
        return 1.001 * self.n * weight * float(self.loss.smoothness) * row**2 + self.quadratic.strongest

    def solver(self, hessian: Floats) -> Callable[[Floats], Floats]:
        """What takes a gradient to the Newton direction; not a number where rounding made the Hessian singular."""
        try:
            factor = scipy.linalg.cho_factor(hessian, lower=True)
        except (scipy.linalg.LinAlgError, ValueError):
            return lambda gradient: np.full_like(gradient, math.nan)

        def solve(gradient: Floats) -> Floats:
            return np.asarray(-scipy.linalg.cho_solve(factor, gradient, check_finite=False))

        return solve


def _lengths(rows: Floats) -> Floats:
    """Sizes of numbers, or norms of rows."""
    return np.abs(rows) if rows.ndim == 1 else np.sqrt(np.einsum("ik,ik->i", rows, rows))


def _in_parts(rows: Rows, a: int, b: int, d: Floats, linf: int) -> tuple[Floats, float]:
    """``rows[a:b].T @ d`` with `d` as a sum of whole-number parts, and how much of an entry of `d` they leave over.

    A part is the rest so far, rounded to a power of two; differences and quotients here are exact.
    """
    largest = float(np.abs(d).max(initial=0.0))
    shape = (rows.p, *d.shape[1:])
    if not math.isfinite(largest):
        return np.zeros(shape), math.inf
    if largest < 2.0**-500:  # far below any rounding; its parts would leave the range of floats
        return np.zeros(shape), largest
    bits = 52 - math.ceil(math.log2(max((b - a) * linf, 1)))  # every partial sum stays below 2**53
    unit, rest, parts, units = 2.0 ** (math.ceil(math.log2(largest)) - bits), d.reshape(b - a, -1), [], []
    for _ in range(math.ceil(54 / bits)):
        parts.append(np.rint(rest / unit))
        rest = rest - parts[-1] * unit
        units.append(unit)
        unit *= 2.0**-bits
    acc = np.zeros((rows.p, len(parts) * rest.shape[1]))
    rows.back(a, b, np.hstack(parts), acc)
    k = rest.shape[1]
    out = np.zeros((rows.p, k))
    for i in reversed(range(len(parts))):  # the smallest first
        out += acc[:, i * k : (i + 1) * k] * units[i]
    return out.reshape(shape), units[-1]
