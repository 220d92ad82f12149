"""Second moments, objectives of candidate models, and coordinates one at a time."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.curator.base import CuratorCore, slopes_of
from discreet.curator.clip import SupportsMargins
from discreet.curator.cursor import Cursor
from discreet.curator.grid import WEIGHT_STEPS, power_of_two
from discreet.curator.rows import Rows
from discreet.privacy import Bounded, Contribution

__all__ = ["Statistics"]

Floats = NDArray[np.float64]

VALUE_BITS = 26  # a row's loss has this many bits: fine enough to compare models whose objectives are close


class Statistics(CuratorCore):
    """The part of the curator that answers more than first-order sums."""

    def objective(self, loss: SupportsMargins, candidates: ArrayLike, clip: float) -> Bounded:
        """For each candidate model, the sum over rows of ``w * min(loss, clip)``.

        Parameters
        ----------
        loss : Loss
            Values below 0 count as 0.
        candidates : array of shape (k, n_weights) or (k, n_outputs, n_weights)
            Models to score.
        clip : float
            The most that one row's loss counts, before its weight.

        Notes
        -----
        *Privacy.* Guarantee: sealed.  Neighbours: the curator's.  Public: `candidates`, `clip`.  Bounded by: whole
        numbers from 0 to the clip, so contributions are monotone.  Proof: ``proofs/sensitivity.md``.

        Examples
        --------
        >>> import numpy as np
        >>> from discreet.losses import LogisticLoss
        >>> from discreet.curator import RowBounds, make_curator
        >>> curator = make_curator(np.eye(3), np.ones(3), bounds=RowBounds(l2=1))
        >>> scores = curator.objective(LogisticLoss(), np.zeros((5, 3)), clip=2.0)
        >>> scores.shape, float(scores.sensitivity("range") * scores.unit)
        ((5,), 2.0)
        """
        if not (math.isfinite(clip) and clip > 0):
            raise ValueError(f"clip={clip!r} must be positive and finite: it is what one row's loss can count at most")
        models = [self._on_grid(c, int(loss.n_outputs)) for c in np.asarray(candidates, dtype=np.float64)]
        unit = power_of_two(clip * self.bounds.weight) / 2**VALUE_BITS
        limit = int(Fraction(clip) * Fraction(self.bounds.weight) / unit)
        factor = float(1 / unit)

        def work(rows: Rows, a: int, b: int, acc: Floats) -> None:
            w, y = self._weight(rows, a, b), self._targets(rows, a, b)
            for i, (theta, step) in enumerate(models):
                value = slopes_of(loss.value, self._margins(rows, a, b, theta, step), y, rows.tile_rows)
                value = np.clip(np.where(np.isnan(value), clip, value), 0.0, clip)
                acc[i] += np.clip(np.rint((value if w is None else value * w) * factor), 0.0, limit).sum()

        total = self._sum((len(models),), limit, work)
        return self._sealed(total, Contribution(linf=limit, monotone=True), unit)

    def second_moments(self, loss: SupportsMargins | None = None, weights: ArrayLike | None = None) -> Bounded:
        """The sum over rows of ``w * z z'``, packed; with a loss and a model, of ``w * curvature * z z'``.

        Notes
        -----
        *Privacy.* Guarantee: sealed.  Neighbours: the curator's.  Public: `loss`, `weights`.  Bounded by: the squared
        row norm, in Frobenius norm (root two times that for a replaced row); a row is scaled by the root of its weight
        and truncated, which never lengthens it.  Proof: ``proofs/sensitivity.md``.

        Examples
        --------
        >>> import numpy as np
        >>> from discreet.curator import RowBounds, make_curator
        >>> moments = make_curator(np.eye(3), bounds=RowBounds(l2=2)).second_moments()
        >>> moments.symmetric, float(moments.sensitivity("l2") * moments.unit)
        (3, 4.0)
        """
        if (loss is None) != (weights is None):
            raise ValueError("a weighted second moment needs both a loss and the model whose curvature it takes")
        most = self.bounds.weight
        theta, step = np.zeros(0), Fraction(1)
        if loss is not None and weights is not None:
            if loss.n_outputs != 1 or not math.isfinite(loss.smoothness):
                raise ValueError("curvature weights need a smooth loss of one output")
            theta, step = self._on_grid(weights, 1)
            most *= float(loss.smoothness)

        def work(rows: Rows, a: int, b: int, acc: Floats) -> None:
            share = None if rows.w is None else rows.w[a:b] / WEIGHT_STEPS
            if loss is not None:
                margins, y = self._margins(rows, a, b, theta, step), self._targets(rows, a, b)
                bend = slopes_of(loss.curvature, margins, y, rows.tile_rows) / float(loss.smoothness)
                bend = np.clip(np.where(np.isnan(bend), 0.0, bend), 0.0, 1.0)
                share = bend if share is None else bend * share
            rows.gram(a, b, None if share is None else np.sqrt(share), acc)

        p, g = self.n_weights, self.grid
        total = self._sum((p, p), g.linf**2, work)
        bound = Contribution(l1=g.l1**2, l2=g.l2**2, linf=g.linf**2, acute=True)  # <zz', vv'> = (z.v)^2
        return self._sealed(total[np.triu_indices(p)], bound, g.unit**2 * Fraction(most), symmetric=p)

    def cursor(self, loss: SupportsMargins, weights: ArrayLike) -> Cursor:
        """A cursor for coordinate descent: partial derivatives and moves, one coordinate at a time.

        Examples
        --------
        >>> import numpy as np
        >>> from discreet.losses import LogisticLoss
        >>> from discreet.curator import RowBounds, make_curator
        >>> cursor = make_curator(np.eye(3), np.ones(3), bounds=RowBounds(l2=1)).cursor(LogisticLoss(), np.zeros(3))
        >>> cursor.move(1, 0.5)
        0.5
        >>> float(cursor.partial(1).sensitivity("l2") * cursor.partial(1).unit), cursor.weights
        (1.0, array([0. , 0.5, 0. ]))
        """
        return Cursor(self, loss, weights)

    def slope_histogram(self, loss: SupportsMargins, weights: ArrayLike, edges: ArrayLike) -> Bounded:
        """How many rows have ``|derivative| * |z|_2`` in each of the bins that public edges make.

        For choosing a clip: one bin below the first edge, one above the last.

        Notes
        -----
        *Privacy.* Guarantee: sealed.  Neighbours: the curator's.  Public: `weights`, `edges`.  Bounded by: a row is in
        one bin.  Proof: ``proofs/sensitivity.md``.

        Examples
        --------
        >>> import numpy as np
        >>> from discreet.losses import LogisticLoss
        >>> from discreet.curator import RowBounds, make_curator
        >>> curator = make_curator(np.eye(3), np.ones(3), bounds=RowBounds(l2=1))
        >>> curator.slope_histogram(LogisticLoss(), np.zeros(3), [0.1, 1.0]).shape
        (3,)
        """
        theta, step = self._on_grid(weights, int(loss.n_outputs))
        cuts = public_edges(edges)

        def work(rows: Rows, a: int, b: int, acc: Floats) -> None:
            d = slopes_of(
                loss.derivative, self._margins(rows, a, b, theta, step), self._targets(rows, a, b), rows.tile_rows
            )
            size = np.abs(d) if d.ndim == 1 else np.sqrt((d * d).sum(axis=1))
            bins = np.searchsorted(cuts, size * (rows.norms[a:b, 1] * float(self.grid.unit)), side="right")
            acc += np.bincount(bins[_live(rows, a, b)], minlength=len(cuts) + 1)

        return self._sealed(self._sum((len(cuts) + 1,), 1, work), ONE_BIN, Fraction(1))

    def norm_histogram(self, edges: ArrayLike, norm: str = "l2") -> Bounded:
        """How many rows, *after* clipping to the bounds, have a norm in each bin (see :class:`Survey` for raw rows).

        Examples
        --------
        >>> import numpy as np
        >>> from discreet.curator import RowBounds, make_curator
        >>> make_curator(np.eye(3), bounds=RowBounds(l2=1)).norm_histogram([0.5, 2.0]).sensitivity("l1")
        1
        """
        columns = {"l1": 0, "l2": 1, "linf": 2}
        if norm not in columns:
            raise ValueError(f"norm={norm!r} is not one of {sorted(columns)}")
        cuts = public_edges(edges)

        def work(rows: Rows, a: int, b: int, acc: Floats) -> None:
            bins = np.searchsorted(cuts, rows.norms[a:b, columns[norm]] * float(self.grid.unit), side="right")
            acc += np.bincount(bins[_live(rows, a, b)], minlength=len(cuts) + 1)

        return self._sealed(self._sum((len(cuts) + 1,), 1, work), ONE_BIN, Fraction(1))


ONE_BIN = Contribution(l1=1, l2=1, linf=1, monotone=True)


def _live(rows: Rows, a: int, b: int) -> Any:
    return slice(None) if rows.w is None else rows.w[a:b] > 0


def public_edges(edges: ArrayLike) -> Floats:
    """Bin edges, checked to be finite and rising.

    >>> public_edges([1, 2])
    array([1., 2.])
    """
    cuts = np.asarray(edges, dtype=np.float64)
    if cuts.ndim != 1 or not cuts.size or not np.isfinite(cuts).all() or not (np.diff(cuts) > 0).all():
        raise ValueError("bin edges must be a rising vector of finite public numbers")
    return cuts
