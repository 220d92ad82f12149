"""The curator: the only code that touches rows.  What it answers is sealed, whole, and carries its own bound."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.curator.clip import Clip, Residuals, SupportsMargins
from discreet.curator.grid import WEIGHT_STEPS, Grid, power_of_two
from discreet.curator.rows import Rows
from discreet.privacy import Bounded, Contribution, Neighbours, PrivacyError

__all__ = ["CuratorCore", "Tile", "slopes_of"]

Floats = NDArray[np.float64]
Tile = Callable[[Rows, int, int, Floats], None]

MAX_ROWS = 2**26  # sums of whole numbers are kept below 2**62 for up to this many rows; a public constant


class _Total:
    """A sum of tiles: exact in float64 for a public number of rows at a time, then in int64."""

    def __init__(self, shape: tuple[int, ...], entry: int) -> None:
        self.acc = np.zeros(shape)
        self._whole: NDArray[np.int64] | None = None
        self._limit, self._used = 2**53 // max(entry, 1), 0

    def room(self, rows: int) -> Floats:
        """The accumulator, with room for that many more rows."""
        if self._used + rows > self._limit:
            self._flush()
        self._used += rows
        return self.acc

    def _flush(self) -> None:
        part = self.acc.astype(np.int64)
        self._whole = part if self._whole is None else self._whole + part
        self.acc[...] = 0.0
        self._used = 0

    def finish(self) -> NDArray[np.int64]:
        """The whole sum."""
        self._flush()
        assert self._whole is not None
        return self._whole


def slopes_of(method: Callable[[Any, Any], Any], margin: Floats, y: Floats | None, size: int) -> Floats:
    """A loss's elementwise method on fixed-size, zero-padded, contiguous arrays.

    The last, shorter tile is padded to the size of the others, so that no row is ever handled by the scalar tail of
    a vectorised loop because of how many rows there are beside it (PITFALLS 9).
    """
    n = len(margin)
    if y is None:
        raise ValueError("this statistic needs targets: build the curator with y")
    with np.errstate(all="ignore"):
        if n == size:
            return np.asarray(method(margin, y), dtype=np.float64)
        full = np.zeros((size, *margin.shape[1:]))
        full[:n] = margin
        target = np.ones(size)  # 1 is a valid target of every loss: a class, a sign, a count, a real number
        target[:n] = y
        return np.asarray(method(full, target), dtype=np.float64)[:n]


class Once:
    """A ticket for one statistic: a random batch, and all views of it, share one.

    Two statistics of one batch would be one joint release about one random sample, which no event of separate samples
    prices.
    """

    def __init__(self) -> None:
        self._used = False

    def take(self) -> None:
        """Use the ticket, or refuse."""
        if self._used:
            raise PrivacyError(
                "a random batch answers one question: a second about the same rows would be priced as if its rows "
                "were drawn anew; draw a fresh batch"
            )
        self._used = True


class Differences:
    """A loss as the curator sees it when slopes at two models are subtracted: its steepest slope doubles."""

    def __init__(self, loss: SupportsMargins) -> None:
        self.lipschitz, self.n_outputs = 2.0 * float(loss.lipschitz), int(loss.n_outputs)


class CuratorCore(ABC):
    """Storage, grids and exact sums; :class:`Curator` adds the statistics on top."""

    part: object | None = None  # which of several disjoint parts these rows are, if they are one
    _once: Once | None = None

    def __init__(
        self,
        grid: Grid,
        neighbors: Neighbours | str,
        *,
        n_threads: int = 1,
        private_n: bool = False,
        rate: float = 1.0,
    ) -> None:
        if n_threads < 1:
            raise ValueError(f"n_threads={n_threads!r} must be at least 1")
        self.grid = grid
        self.neighbors = Neighbours.of(neighbors)
        self.n_threads = n_threads
        self._private_n = private_n or not self.neighbors.public_n
        self._rate = rate

    @abstractmethod
    def _segments(self) -> Iterator[Rows]:
        """The rows on the grid, in one or more pieces, in order."""

    @abstractmethod
    def _count(self) -> int:
        """How many rows there are, for use inside."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.n_features} features, neighbors={self.neighbors.value!r}, rows withheld>"

    def __reduce_ex__(self, _: object) -> Any:
        raise PrivacyError("a curator holds private rows and can't be pickled or copied")

    @property
    def n_features(self) -> int:
        """The number of features, without the intercept's column."""
        return self.grid.n_features

    @property
    def n_weights(self) -> int:
        """The number of model weights per output: features, and the intercept when there is one."""
        return self.grid.n_weights

    @property
    def bounds(self) -> Any:
        """The public :class:`RowBounds`."""
        return self.grid.bounds

    @property
    def row_norm(self) -> float:
        """The public bound on a row's l2 norm, intercept included, rounded up."""
        return math.nextafter(float(self.grid.l2 * self.grid.unit), math.inf)

    @property
    def n_rows(self) -> int:
        """The number of rows, where it is public."""
        if self._private_n:
            raise PrivacyError(
                "the number of rows is private here (neighbors='add_remove', or a random batch); buy a noisy count()"
            )
        return self._count()

    # -- sums ---------------------------------------------------------------------------------------------------

    def _sum(self, shape: tuple[int, ...], entry: int, work: Tile) -> NDArray[np.int64]:
        """Add up `work` over all tiles; one row adds at most `entry` to a coordinate, in absolute value."""
        if entry * MAX_ROWS >= 2**62:
            raise OverflowError(f"rows may add {entry} units each, too much for {MAX_ROWS} rows: use fewer bits")
        totals = [_Total(shape, entry) for _ in range(self.n_threads)]

        def run(rows: Rows, tiles: list[tuple[int, int]], total: _Total) -> None:
            for a, b in tiles:
                work(rows, a, b, total.room(b - a))

        for rows in self._segments():
            tiles = list(rows.tiles())
            if self.n_threads == 1 or len(tiles) == 1:
                run(rows, tiles, totals[0])
                continue
            step = math.ceil(len(tiles) / self.n_threads)
            with ThreadPoolExecutor(self.n_threads) as pool:
                jobs = [pool.submit(run, rows, tiles[i * step : (i + 1) * step], t) for i, t in enumerate(totals)]
                for job in jobs:
                    job.result()
        return sum((t.finish() for t in totals[1:]), totals[0].finish())

    def _sealed(self, value: NDArray[np.int64], contribution: Contribution, unit: Fraction, **more: Any) -> Bounded:
        if self._once is not None:
            self._once.take()
        return Bounded(value, contribution, unit, self.neighbors, rate=self._rate, part=self.part, **more)

    # -- model weights ------------------------------------------------------------------------------------------

    def _on_grid(
        self, weights: ArrayLike, outputs: int, head_room: int = 0, least: float = 2.0**-60
    ) -> tuple[Floats, Fraction]:
        """Weights as whole numbers ``(n_weights,)`` or ``(n_weights, outputs)``, and what one of them is worth.

        The grid is a power of two chosen from the (public) weights so that every margin, and every part of the sum
        that makes it, is a whole number below 2**52 (Cauchy-Schwarz against the row's l2 bound).
        """
        theta = np.asarray(weights, dtype=np.float64)
        shape = (self.n_weights,) if outputs == 1 else (outputs, self.n_weights)
        if theta.shape != shape:
            raise ValueError(f"weights have shape {theta.shape}; this curator and loss need {shape}")
        if not np.isfinite(theta).all():
            raise ValueError("weights must be finite")
        largest = float(np.abs(theta).max(initial=0.0))
        norm = max(float(largest * np.linalg.norm(theta / largest)) if largest > 0 else 0.0, least)
        unit = power_of_two(norm) * power_of_two(self.grid.l2) / 2 ** (50 - head_room)
        whole = np.rint(theta / float(unit))
        return np.ascontiguousarray(whole.T) if outputs > 1 else whole, unit

    def quantise(self, weights: ArrayLike) -> Floats:
        """The weights that the curator works with in place of `weights`: the nearest on its public grid.

        >>> import numpy as np
        >>> from discreet.curator import RowBounds, make_curator
        >>> curator = make_curator(np.eye(2), bounds=RowBounds(l2=1))
        >>> bool(abs(curator.quantise([0.1, 0.2]) - [0.1, 0.2]).max() < 1e-9)
        True
        """
        theta = np.asarray(weights, dtype=np.float64)
        outputs = 1 if theta.ndim == 1 else theta.shape[0]
        whole, unit = self._on_grid(theta if outputs > 1 else theta.reshape(-1), outputs)
        return (whole.T if outputs > 1 else whole).reshape(theta.shape) * float(unit)

    def _margins(self, rows: Rows, a: int, b: int, theta: Floats, unit: Fraction) -> Floats:
        """Exact real margins: a whole number below 2**53 times a power of two."""
        out = rows.margins(a, b, theta)
        out *= float(unit) * self.grid.size
        return out

    def _weight(self, rows: Rows, a: int, b: int) -> Floats | None:
        return None if rows.w is None else rows.w[a:b] * float(self.grid.weight_unit)

    def _targets(self, rows: Rows, a: int, b: int) -> Floats | None:
        return None if rows.y is None else rows.y[a:b]

    # -- first-order statistics ---------------------------------------------------------------------------------

    def count(self) -> Bounded:
        """The number of rows of positive weight.

        Notes
        -----
        *Privacy.* Guarantee: sealed.  Neighbours: the curator's.  Public: nothing.  Bounded by: a row adds 0 or 1.
        Proof: ``proofs/sensitivity.md``.

        Examples
        --------
        >>> import numpy as np
        >>> from discreet.curator import RowBounds, make_curator
        >>> make_curator(np.eye(3), bounds=RowBounds(l2=1)).count().sensitivity("l1")
        1
        """

        def work(rows: Rows, a: int, b: int, acc: Floats) -> None:
            acc += b - a if rows.w is None else np.count_nonzero(rows.w[a:b])

        value = self._sum((1,), 1, work)
        return self._sealed(value, Contribution(l1=1, l2=1, linf=1, monotone=True), Fraction(1))

    def gradient(
        self,
        loss: SupportsMargins,
        weights: ArrayLike,
        clip: Clip | None = None,
        *,
        reference: ArrayLike | None = None,
    ) -> Bounded:
        """The sum over rows of ``w * derivative(margin, y) * z``, each row's term clipped.

        Parameters
        ----------
        loss : Loss
            Gives derivatives; never sees a row.
        weights : array of shape (n_weights,) or (n_outputs, n_weights)
            The model.  A matrix of weights gives its gradient flattened in the same order.
        clip : Clip, optional
            Needed when the loss's derivative has no bound.
        reference : array like `weights`, optional
            A second model whose gradient is subtracted, row by row: the row's term is ``w * (derivative at weights -
            derivative at reference) * z``, so that clipping remains a matter of one number per row and output.

        Notes
        -----
        *Privacy.* Guarantee: sealed.  Neighbours: the curator's.  Public: `loss`, `weights`, `clip`.  Bounded by:
        whole-number residuals times whole-number rows.  Proof: ``proofs/sensitivity.md``.

        Examples
        --------
        >>> import numpy as np
        >>> from discreet.curator import Clip, RowBounds, make_curator
        >>> class Squared:
        ...     lipschitz, n_outputs = float("inf"), 1
        ...     def derivative(self, margin, y):
        ...         return margin - y
        >>> curator = make_curator(np.eye(3), np.ones(3), bounds=RowBounds(l2=1))
        >>> g = curator.gradient(Squared(), np.zeros(3), Clip(0.5))
        >>> float(g.sensitivity("l2") * g.unit)
        0.5
        """
        plan = Residuals(loss if reference is None else Differences(loss), self.grid, clip)
        theta, unit = self._on_grid(weights, plan.outputs)
        other = None if reference is None else self._on_grid(reference, plan.outputs)
        caps = plan.coordinate_caps if clip is not None and clip.norm == "per_coordinate" else None
        drop = clip is not None and clip.mode == "drop"

        def work(rows: Rows, a: int, b: int, acc: Floats) -> None:
            away = None if other is None else self._margins(rows, a, b, *other)
            r = self._residuals(loss, plan, rows, a, b, self._margins(rows, a, b, theta, unit), away)
            if caps is None:
                rows.back(a, b, r, acc)
            else:
                rows.clipped_back(a, b, r, caps, drop, acc)

        assert plan.contribution.linf is not None
        value = self._sum(theta.shape, plan.contribution.linf, work)
        flat = np.ascontiguousarray(value.T).reshape(-1)
        return self._sealed(flat, plan.contribution, plan.gradient_unit)

    def _residuals(
        self,
        loss: SupportsMargins,
        plan: Residuals,
        rows: Rows,
        a: int,
        b: int,
        margins: Floats,
        reference: Floats | None,
    ) -> Floats:
        d = slopes_of(loss.derivative, margins, self._targets(rows, a, b), rows.tile_rows)
        if reference is not None:
            with np.errstate(invalid="ignore"):
                d = d - slopes_of(loss.derivative, reference, self._targets(rows, a, b), rows.tile_rows)
        w = self._weight(rows, a, b)
        if w is not None:
            d = d * (w if d.ndim == 1 else w[:, None])
        return plan.whole(d, rows.norms[a:b] if plan.needs_norms else None)

    def sum_rows(self, clip: Clip | None = None) -> Bounded:
        """The (weighted) sum of the rows, each clipped to its bounds, and to `clip` where that is tighter.

        Notes
        -----
        *Privacy.* Guarantee: sealed.  Neighbours: the curator's.  Public: the bounds.  Bounded by: whole-number
        rows.  Proof: ``proofs/sensitivity.md``.

        Examples
        --------
        >>> import numpy as np
        >>> from discreet.curator import RowBounds, make_curator
        >>> total = make_curator(np.eye(3), bounds=RowBounds(l2=1), neighbors="replace_one").sum_rows()
        >>> float(total.sensitivity("l2") * total.unit)
        2.0
        """
        plan = Residuals(_Ones, self.grid, clip)
        caps = plan.coordinate_caps if clip is not None and clip.norm == "per_coordinate" else None
        drop = clip is not None and clip.mode == "drop"

        def work(rows: Rows, a: int, b: int, acc: Floats) -> None:
            w = np.ones(b - a) if rows.w is None else rows.w[a:b] * (self.grid.bounds.weight / WEIGHT_STEPS)
            r = plan.whole(w, rows.norms[a:b] if plan.needs_norms else None)
            if caps is None:
                rows.back(a, b, r, acc)
            else:
                rows.clipped_back(a, b, r, caps, drop, acc)

        assert plan.contribution.linf is not None
        value = self._sum((self.n_weights,), plan.contribution.linf, work)
        return self._sealed(value, plan.contribution, plan.gradient_unit)


class _Ones:
    """The derivative of a loss that is the margin itself, for sums of rows."""

    lipschitz = 1.0
    n_outputs = 1
