"""The instance "orthogonal signs": a regression problem of any size whose excess risk is known in closed form.

Rows are those of a Hadamard matrix, `copies` times each; columns are some of its columns, every column that does not
matter repeated until there are `p`.  Targets are ``X w* + u`` with `u` orthogonal to all columns and ``|w*|_1`` equal
to the radius, so half the mean squared residual is ``|fold(w) - w*|^2 / 2`` plus a constant, where `fold` adds up the
weights of equal columns.  It is hard for Frank-Wolfe, whose models after T steps have T non-zero weights, and for
selections, which see `p` candidates that differ by little.

:class:`OrthogonalSigns` answers gradients as a curator of all ``n = rows * copies`` rows would, in whole numbers,
without storing them (``python -m benchmarks.orthogonal_signs`` checks it against one).
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.curator import Clip, RowBounds, make_curator
from discreet.curator.clip import Residuals
from discreet.losses import SquaredLoss
from discreet.privacy import Bounded, Budget, Neighbours, unseal
from discreet.solvers.base import Problem
from discreet.theory import hadamard

ROWS, SPARE = 128, 0.25  # the order of the Hadamard matrix, and the size of u


@dataclass(frozen=True)
class OrthogonalSigns:
    """`copies` times the 128 rows, `p` columns, `s` of which matter with equal weights of total size `radius`."""

    p: int
    copies: int
    s: int = 8
    radius: float = 1.0
    neighbors: Neighbours = Neighbours.ZERO_OUT
    signs: Any = field(init=False, repr=False)
    column: Any = field(init=False, repr=False)
    truth: Any = field(init=False, repr=False)
    y: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        h = hadamard(ROWS).astype(np.float64)
        used, spare = h[:, 1 : ROWS - 1], h[:, ROWS - 1]
        truth = np.zeros(ROWS - 2)
        truth[: self.s] = np.where(np.arange(self.s) % 2 == 0, 1.0, -1.0) * self.radius / self.s
        wide = np.arange(self.p)
        extra = self.s + (wide - self.s) % (ROWS - 2 - self.s)
        put = object.__setattr__
        put(self, "signs", used)
        put(self, "column", np.where(wide < self.s, wide, extra))
        put(self, "truth", truth)
        put(self, "y", used @ truth + SPARE * self.radius * spare)

    @property
    def n(self) -> int:
        """The number of rows."""
        return ROWS * self.copies

    @property
    def slope(self) -> float:
        """The largest residual of a model in the l1 ball."""
        return 2.25 * self.radius

    def problem(self, budget: Budget, penalty: Any, slope: float | None = None) -> Problem:
        """The public facts."""
        reach = 1.25 * self.radius
        bounds = RowBounds(linf=1.0, y=(-reach, reach))
        return Problem(SquaredLoss(), bounds, self.p, self.n, budget, penalty=penalty, slope=slope or self.slope)

    @property
    def grid(self) -> Any:
        """The public grid."""
        reach = 1.25 * self.radius
        return RowBounds(linf=1.0, y=(-reach, reach)).grid(self.p)

    def fold(self, w: Any) -> Any:
        """Weights of equal columns, added up."""
        return np.bincount(self.column, weights=w, minlength=ROWS - 2)

    def gradient(self, loss: Any, w: Any, clip: Clip | None = None) -> Bounded:
        """What a curator of all rows would seal."""
        plan, grid = Residuals(loss, self.grid, clip), self.grid
        margins = self.signs @ self.fold(w)
        norms = np.tile([float(grid.l1), float(grid.l2), float(grid.linf)], (ROWS, 1))
        r = plan.whole(loss.derivative(margins, self.y), norms if plan.needs_norms else None)
        g = np.rint(self.signs.T @ r).astype(np.int64) * (grid.linf * self.copies)
        return Bounded(g[self.column], plan.contribution, plan.gradient_unit, self.neighbors)

    def excess(self, w: Any) -> float:
        """Half the mean squared residual, above its least value on the ball."""
        return 0.5 * float(np.sum((self.fold(w) - self.truth) ** 2))

    def error(self, w: Any) -> float:
        """The squared distance to the truth, copies of columns told apart."""
        whole = np.zeros(self.p)
        whole[: self.s] = self.truth[: self.s]
        return float(np.sum((w - whole) ** 2))


def check() -> float:
    """The largest difference to a real curator's gradient, relative to one row's contribution."""
    worst = 0.0
    for p, clip in ((60, Clip(2.25, "slope")), (300, Clip(5.0, "l2"))):
        small = OrthogonalSigns(p, copies=3)
        X, y = np.tile(small.signs[:, small.column], (3, 1)), np.tile(small.y, 3)
        real = make_curator(X, y, bounds=small.problem(Budget(1, 1e-6), None).bounds)
        w = np.random.default_rng(p).normal(size=p) / math.sqrt(p)
        ours, theirs = small.gradient(SquaredLoss(), w, clip), real.gradient(SquaredLoss(), w, clip)
        assert ours.unit == theirs.unit and ours.contribution == theirs.contribution
        difference = np.abs(unseal(ours) - unseal(theirs)).max()
        worst = max(worst, float(difference / ours.sensitivity("linf")))
    return worst


if __name__ == "__main__":
    print(json.dumps({"largest_difference": check()}))
