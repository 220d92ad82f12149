"""The two matrices of a sandwich: squared slopes and curvatures of the rows, sealed together for the price of one."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.curator.base import CuratorCore, slopes_of
from discreet.curator.clip import SupportsMargins
from discreet.curator.grid import WEIGHT_STEPS
from discreet.curator.rows import Rows
from discreet.privacy import Bounded, Contribution

__all__ = ["Scores"]

Floats = NDArray[np.float64]
BELOW_ONE = 1.0 - 2.0**-40  # leaves room for the roundings of a square root and a product


class Scores(CuratorCore):
    """The part of the curator that says how slopes vary from row to row."""

    def sandwich(
        self,
        loss: SupportsMargins,
        weights: ArrayLike,
        shares: tuple[float, float],
        slope: float | None = None,
    ) -> Bounded:
        """Sums of ``(w f' / L)^2 z z'`` and of ``w f'' / beta z z'``, side by side as blocks of one symmetric matrix.

        The first is scaled by ``shares[0]``, the second by ``shares[1]``, and a row whose two factors have a root sum
        of squares above 1 is scaled down to 1.  So one row adds at most its squared norm, in Frobenius norm, to both
        together: where a loss is straight where it is steep, two matrices cost what one does.

        Parameters
        ----------
        loss : Loss
            Smooth, of one output.
        weights : array of shape (n_weights,)
            The released model.
        shares : (float, float)
            Factors between 0 and 1.  Without the second the curvatures are left out, and the matrix has half the order.
        slope : float, optional
            What slopes are cut to; default: the loss's own Lipschitz constant.

        Notes
        -----
        *Privacy.* Guarantee: sealed.  Neighbours: the curator's.  Public: `loss`, `weights`, `shares`, `slope`.
        Bounded by: the squared row norm, in Frobenius norm, for both blocks together.  Proof: ``proofs/inference.md``.

        Examples
        --------
        >>> import numpy as np
        >>> from discreet.losses import LogisticLoss
        >>> from discreet.curator import RowBounds, make_curator
        >>> curator = make_curator(np.eye(3), np.ones(3), bounds=RowBounds(l2=2))
        >>> both = curator.sandwich(LogisticLoss(), np.zeros(3), (1.0, 0.95))
        >>> both.symmetric, float(both.sensitivity("l2") * both.unit)
        (6, 4.0)
        """
        steepest = float(loss.lipschitz) if slope is None else min(float(loss.lipschitz), float(slope))
        if loss.n_outputs != 1 or not math.isfinite(loss.smoothness) or not 0 < steepest < math.inf:
            raise ValueError("slopes and curvatures need a smooth loss of one output, and a bound on its slope")
        if not (0 < shares[0] <= 1 and 0 <= shares[1] <= 1):
            raise ValueError(f"shares={shares!r} must be between 0 and 1, the first above 0")
        theta, step = self._on_grid(weights, 1)
        blocks = 2 if shares[1] > 0 else 1

        def work(rows: Rows, a: int, b: int, acc: Floats) -> None:
            margins, y = self._margins(rows, a, b, theta, step), self._targets(rows, a, b)
            w = 1.0 if rows.w is None else rows.w[a:b] / WEIGHT_STEPS
            steep = slopes_of(loss.derivative, margins, y, rows.tile_rows) / steepest
            steep = np.clip(np.where(np.isnan(steep), 0.0, np.abs(steep)), 0.0, 1.0) * w
            parts = [shares[0] * steep * steep]
            if blocks == 2:
                bend = slopes_of(loss.curvature, margins, y, rows.tile_rows) / float(loss.smoothness)
                parts.append(shares[1] * np.clip(np.where(np.isnan(bend), 0.0, bend), 0.0, 1.0) * w)
            whole = np.sqrt(sum(part * part for part in parts))
            fit = BELOW_ONE / np.maximum(whole, 1.0)
            for part, out in zip(parts, acc, strict=True):
                rows.gram(a, b, np.sqrt(part * fit), out)

        p, g = self.n_weights, self.grid
        total = self._sum((blocks, p, p), g.linf**2, work)
        matrix = np.zeros((blocks * p, blocks * p), dtype=np.int64)
        for i in range(blocks):
            matrix[i * p : (i + 1) * p, i * p : (i + 1) * p] = total[i]
        bound = Contribution(l1=blocks * g.l1**2, l2=g.l2**2, linf=g.linf**2, acute=True)
        return self._sealed(matrix[np.triu_indices(blocks * p)], bound, g.unit**2, symmetric=blocks * p)
