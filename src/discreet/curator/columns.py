"""Statistics about columns: how large each one is, and how steep a sum of losses is along it."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.curator.base import CuratorCore
from discreet.curator.clip import Clip, Residuals, SupportsMargins
from discreet.curator.grid import WEIGHT_STEPS
from discreet.privacy import Bounded, Contribution, isqrt_up, unseal

__all__ = ["Columns"]

SQUARE_STEPS = 2**14  # squares of entries lie on this many steps below the square of their column's bound
COARSE_BITS = 8  # bits of a gradient that its steepness leaves out, to make room for the weights
SCALE_BITS = 8  # the weights of coordinates have this many bits


class Columns(CuratorCore):
    """The part of the curator that looks at columns."""

    def column_squares(self) -> Bounded:
        """For each weight, the sum over rows of ``w * (z_j / bound_j)**2``, with the public bound of its column.

        Times ``bound_j**2`` and the smoothness of the loss it is the smoothness of the sum along that coordinate.

        Notes
        -----
        *Privacy.* Guarantee: sealed.  Neighbours: the curator's.  Public: the bounds.  Bounded by: whole numbers from
        0 to a constant in each coordinate, so contributions are monotone.  Proof: ``proofs/coordinate_descent.md``.

        Examples
        --------
        >>> import numpy as np
        >>> from discreet.curator import RowBounds, make_curator
        >>> squares = make_curator(np.eye(4), bounds=RowBounds(linf=1)).column_squares()
        >>> float(squares.sensitivity("l2") * squares.unit)
        2.0
        """
        p = self.n_weights
        total = np.zeros(p, dtype=np.int64)
        for rows in self._segments():
            for j in range(p):
                where, entries = rows.column(j)
                square = (entries / max(self.grid.column(j), 1)) ** 2
                if rows.w is not None:
                    square = square * (rows.w[where] / WEIGHT_STEPS)
                total[j] += int(np.clip(np.rint(square * SQUARE_STEPS), 0, SQUARE_STEPS).astype(np.int64).sum())
        bound = Contribution(linf=SQUARE_STEPS, l2=isqrt_up(p * SQUARE_STEPS**2), monotone=True)
        return self._sealed(total, bound, Fraction(self.bounds.weight) / SQUARE_STEPS)

    def steepness(
        self, loss: SupportsMargins, weights: ArrayLike, scale: ArrayLike, clip: Clip | None = None
    ) -> Bounded:
        """``scale_j * |gradient_j|``: along which coordinate the sum of losses falls most, for a greedy choice.

        Parameters
        ----------
        loss, weights, clip
            As for :meth:`gradient`; losses of one output.
        scale : array, one positive number per weight
            Public weights of the coordinates; used to eight bits.

        Notes
        -----
        *Privacy.* Guarantee: sealed.  Neighbours: the curator's.  Public: all arguments.  Bounded by: each
        coordinate's own bound, times its weight, rounded up in whole numbers.  Proof: ``proofs/coordinate_descent.md``.

        Examples
        --------
        >>> import numpy as np
        >>> from discreet.losses import LogisticLoss
        >>> from discreet.curator import RowBounds, make_curator
        >>> bounds = RowBounds(low=-1, high=[1, 100], centre=0)
        >>> curator = make_curator(np.eye(2), np.ones(2), bounds=bounds)
        >>> steep = curator.steepness(LogisticLoss(), np.zeros(2), [1, 0.01], Clip([1, 100], norm="per_coordinate"))
        >>> round(float(steep.sensitivity("linf") * steep.unit), 2)
        1.0
        """
        factor = np.broadcast_to(np.asarray(scale, dtype=np.float64), (self.n_weights,))
        if loss.n_outputs != 1 or not (np.isfinite(factor).all() and (factor > 0).all()):
            raise ValueError("steepness takes a loss of one output, and one positive finite scale per weight")
        sealed = self.gradient(loss, weights, clip)
        plan = Residuals(loss, self.grid, clip)
        caps = [plan.coordinate(j).known("linf") for j in range(self.n_weights)]
        # scale_j = a_j 2**-e_j with whole a_j of eight bits; the largest scale has e = 0
        top = math.frexp(float(factor.max()))[1]
        mantissa, exponent = np.frexp(factor)
        a = np.maximum(np.rint(mantissa * 2**SCALE_BITS), 1).astype(np.int64)
        e = np.minimum(top - exponent, 60).astype(np.int64)
        # |floor(x) - floor(y)| <= ceil(|x - y|) for the two shifts; a whole factor multiplies the bound
        bounds = [_shift_up(_shift_up(c, COARSE_BITS) * int(aj), int(ej)) for c, aj, ej in zip(caps, a, e, strict=True)]
        coarse = np.abs(unseal(sealed)) >> COARSE_BITS
        value: NDArray[np.int64] = (coarse * a) >> e
        unit = sealed.unit * 2**COARSE_BITS * Fraction(2) ** (top - SCALE_BITS)
        return Bounded(
            value,
            replace(Contribution(linf=max(bounds)), monotone=False),
            unit,
            self.neighbors,
            rate=sealed.rate,
            part=sealed.part,
        )


def _shift_up(value: int, bits: int) -> int:
    """``ceil(value / 2**bits)``."""
    return -(-value >> bits)
