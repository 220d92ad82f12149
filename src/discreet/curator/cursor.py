"""A cursor over a model's coordinates: margins are moved along, exactly, instead of being worked out anew."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.curator.base import slopes_of
from discreet.curator.clip import Clip, Residuals, SupportsMargins
from discreet.curator.rows import Rows
from discreet.privacy import Bounded

if TYPE_CHECKING:
    from discreet.curator.base import CuratorCore

__all__ = ["Cursor"]

Floats = NDArray[np.float64]

HEAD_ROOM = 10  # bits by which weights may grow before the grid is chosen anew


class Cursor:
    """Partial derivatives of a sum of losses, and moves of one weight at a time; made by ``curator.cursor``.

    Margins are whole numbers, so after any number of moves they are what they would be if computed from the start.
    For several outputs coordinate ``j`` is that of the flat weights, output by output.

    Notes
    -----
    *Privacy.* Guarantee: what it answers is sealed.  Neighbours: the curator's.  Public: the weights and every move.
    Bounded by: whole-number residuals times one column's bound.  Proof: ``proofs/sensitivity.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.losses import LogisticLoss
    >>> from discreet.curator import RowBounds, make_curator
    >>> curator = make_curator(np.eye(2), np.ones(2), bounds=RowBounds(linf=1))
    >>> curator.cursor(LogisticLoss(), np.zeros(2)).partial(0)
    <Bounded: shape (1,), Contribution(l1=536870912, l2=536870912, linf=536870912, monotone=False), contents withheld>
    """

    def __init__(self, curator: CuratorCore, loss: SupportsMargins, weights: ArrayLike) -> None:
        self._curator, self._loss = curator, loss
        self._outputs = int(loss.n_outputs)
        self._plans: dict[int, tuple[Any, Residuals]] = {}
        self._start(np.asarray(weights, dtype=np.float64))

    def _start(self, weights: Floats) -> None:
        cur = self._curator
        self._theta, self._unit = cur._on_grid(weights, self._outputs, HEAD_ROOM, least=1.0)
        self._margins: list[Floats] = []
        for rows in cur._segments():
            out = np.empty((rows.n, *self._theta.shape[1:]))
            for a, b in rows.tiles():
                out[a:b] = rows.margins(a, b, self._theta)
            self._margins.append(out)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._curator.__reduce_ex__(protocol)

    def __repr__(self) -> str:
        return f"<Cursor over {self._theta.size} weights, rows withheld>"

    @property
    def weights(self) -> Floats:
        """The model where the cursor stands, on the public grid."""
        return np.ascontiguousarray(self._theta.T) * float(self._unit)

    def _place(self, j: int) -> tuple[int, Any]:
        """The column of flat coordinate `j`, and how it indexes `theta`."""
        p = self._curator.n_weights
        if not 0 <= j < self._theta.size:
            raise IndexError(f"coordinate {j} is not in 0..{self._theta.size - 1}")
        return j % p, (j % p if self._outputs == 1 else (j % p, j // p))

    def move(self, j: int, delta: float) -> float:
        """Add `delta`, rounded to the grid, to weight `j`; returns what was added."""
        column, at = self._place(j)
        whole = float(np.rint(float(delta) / float(self._unit)))
        if not np.isfinite(whole):
            raise ValueError(f"delta={delta!r} must be finite")
        self._theta[at] += whole
        if float(np.linalg.norm(self._theta)) * self._curator.grid.l2 >= 2.0**51:
            self._start(self.weights)  # the weights outgrew the grid: a public event
            return whole * float(self._unit)
        output = j // self._curator.n_weights
        for rows, margins in zip(self._curator._segments(), self._margins, strict=True):
            where, entries = rows.column(column)
            if self._outputs == 1:
                margins[where] += whole * entries
            else:
                margins[where, output] += whole * entries
        return whole * float(self._unit)

    def partial(self, j: int, clip: Clip | None = None) -> Bounded:
        """The derivative of the sum of losses in weight `j`, a vector of one coordinate."""
        column, _ = self._place(j)
        plan = self._plan(clip)
        bound = plan.coordinate(column)
        assert bound.linf is not None
        total = 0
        for rows, margins in zip(self._curator._segments(), self._margins, strict=True):
            where, entries = rows.column(column)
            terms = self._residuals(plan, rows, margins, where, j // self._curator.n_weights) * entries
            if clip is not None and clip.norm == "per_coordinate":
                cap = float(plan.coordinate_caps[column])
                terms = np.where(np.abs(terms) > cap, 0.0, terms) if clip.mode == "drop" else np.clip(terms, -cap, cap)
            total += int(terms.astype(np.int64).sum())
        return self._curator._sealed(np.array([total]), bound, plan.gradient_unit)

    def _plan(self, clip: Clip | None) -> Residuals:
        key = id(clip)
        if key not in self._plans or self._plans[key][0] is not clip:
            self._plans[key] = (clip, Residuals(self._loss, self._curator.grid, clip))
        return self._plans[key][1]

    def _residuals(self, plan: Residuals, rows: Rows, margins: Floats, where: Any, output: int) -> Floats:
        if rows.y is None:
            raise ValueError("derivatives need targets: build the curator with y")
        m, y = margins[where], rows.y[where]
        w = None if rows.w is None else rows.w[where] * float(self._curator.grid.weight_unit)
        norms = rows.norms[where] if plan.needs_norms else None
        scale = float(Fraction(self._unit) * self._curator.grid.unit)
        out = np.empty(len(m))
        size = rows.tile_rows
        for a in range(0, len(m), size):
            at = slice(a, min(a + size, len(m)))
            d = slopes_of(self._loss.derivative, m[at] * scale, y[at], size)
            if w is not None:
                d = d * (w[at] if d.ndim == 1 else w[at][:, None])
            r = plan.whole(d, None if norms is None else norms[at])
            out[at] = r if r.ndim == 1 else r[:, output]
        return out
