"""Clipping of per-row gradients, and the public grid of residuals: how much of itself a row may put into a sum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet import kernels
from discreet.curator.grid import Grid, power_of_two
from discreet.privacy import Contribution, isqrt_up

__all__ = ["Clip", "Residuals", "SupportsMargins"]

Floats = NDArray[np.float64]
Norm = Literal["l1", "l2", "linf", "per_coordinate", "slope"]

RESIDUAL_BITS = 14
_COLUMN = {"l1": 0, "l2": 1, "linf": 2}


class SupportsMargins(Protocol):
    """What the curator asks of a loss: elementwise functions of (margin, target) that never see a row."""

    @property
    def lipschitz(self) -> float:
        """A bound on the absolute derivative (on its l2 norm, with several outputs); may be infinite."""

    @property
    def smoothness(self) -> float:
        """A bound on the second derivative."""

    @property
    def n_outputs(self) -> int:
        """Margins per row."""

    def value(self, margin: Any, y: Any) -> Any:
        """The loss."""

    def derivative(self, margin: Any, y: Any) -> Any:
        """Its derivative in the margin."""

    def curvature(self, margin: Any, y: Any) -> Any:
        """Its second derivative in the margin."""


@dataclass(frozen=True, eq=False)
class Clip:
    """A public bound on every row's gradient ``w * derivative * z``.

    Parameters
    ----------
    bound : float, or one per coordinate for ``norm="per_coordinate"``
        The bound, in real units.
    norm : {"l2", "linf", "l1", "per_coordinate", "slope"}
        Which norm of the row's gradient is bounded; ``"slope"`` bounds ``w * derivative`` alone, which keeps a
        convex loss convex (the squared loss becomes Huber's).
    mode : {"scale", "drop"}
        Shrink a row's gradient to the bound, or leave out what is beyond it.

    Notes
    -----
    *Privacy.* Guarantee: none by itself.  Neighbours: any.  Public: everything here.  Bounded by: whole-number caps
    on each row's residual.  Proof: ``proofs/sensitivity.md``.

    Examples
    --------
    >>> Clip(1.5, norm="l1").mode
    'scale'
    """

    bound: Any
    norm: Norm = "l2"
    mode: Literal["scale", "drop"] = "scale"

    def __post_init__(self) -> None:
        if self.norm not in ("l1", "l2", "linf", "per_coordinate", "slope"):
            raise ValueError(f"norm={self.norm!r} is not one of 'l1', 'l2', 'linf', 'per_coordinate', 'slope'")
        if self.mode not in ("scale", "drop"):
            raise ValueError(f"mode={self.mode!r} is neither 'scale' nor 'drop'")
        bound = np.atleast_1d(np.asarray(self.bound, dtype=np.float64))
        if self.norm != "per_coordinate" and bound.size != 1:
            raise ValueError(f"a clip in {self.norm} has one bound, not {bound.size}")
        if bound.ndim != 1 or not np.isfinite(bound).all() or not (bound > 0).all():
            raise ValueError(f"clip bound {self.bound!r} must be positive and finite")

    @property
    def largest(self) -> float:
        """The largest bound."""
        return float(np.max(self.bound))


class Residuals:
    """The public grid of residuals for a loss, row bounds and a clip, and the contribution that follows.

    A residual is a whole number ``r`` with ``|r| <= limit``; a row adds ``r * k`` (`k` its whole-number row), and
    ``norm(r * k) <= cap`` when there is a clip.  All three are integers worked out from public numbers.

    Examples
    --------
    >>> from discreet.curator import RowBounds
    >>> class Absolute:
    ...     lipschitz, n_outputs = 1.0, 1
    >>> plain = Residuals(Absolute(), Grid(RowBounds(l2=1), 3), None)
    >>> plain.limit, plain.contribution.l2 == 2**14 * 2**16
    (16384, True)
    """

    def __init__(self, loss: Any, grid: Grid, clip: Clip | None) -> None:
        self.grid, self.clip, self.outputs = grid, clip, int(loss.n_outputs)
        steepest = float(loss.lipschitz) * grid.bounds.weight
        if clip is not None and clip.norm == "slope":
            steepest = min(steepest, clip.largest)
        bounding = clip is not None and clip.norm != "slope"
        if not bounding and not math.isfinite(steepest):
            raise ValueError("this loss has no bound on its derivative, so a row's gradient has none: give a Clip")
        if clip is not None and clip.norm == "per_coordinate":
            self._check_coordinates(clip)
        # a residual of `scale` takes RESIDUAL_BITS bits: the steepest, or what a full-sized row may have when clipped
        row = float(
            (grid.linf if clip is not None and clip.norm in ("linf", "per_coordinate") else grid.l2) * grid.unit
        )
        scale = min(steepest, clip.largest / row) if clip is not None and bounding else steepest
        self.unit: Fraction = power_of_two(scale) / 2**RESIDUAL_BITS
        limit = Fraction(steepest) / self.unit if math.isfinite(steepest) else None
        self.cap: int | None = self._units(clip.largest) if clip is not None and bounding else None
        most = 2**26 if self.outputs > 1 else 2**40  # what the whole-number clipping of several outputs can hold
        if clip is not None and clip.norm == "slope":
            self._steepest = (
                float(int(Fraction(float(loss.lipschitz) * grid.bounds.weight) / self.unit))
                if (math.isfinite(loss.lipschitz))
                else 2.0**40
            )
        else:
            self._steepest = float(int(limit)) if limit is not None else 2.0**40
        self.limit: int = min(int(limit) if limit is not None else most, most if self.cap is None else self.cap, most)
        self._factor = float(1 / self.unit)
        self.contribution = self._contribution()

    def _check_coordinates(self, clip: Clip) -> None:
        size = np.atleast_1d(clip.bound).size
        if self.outputs > 1:
            raise ValueError("per_coordinate clipping is for losses of one output; use an l2 or slope clip")
        if size not in (1, self.grid.n_weights):
            raise ValueError(f"{size} per-coordinate bounds for {self.grid.n_weights} weights; give one, or one each")

    def _units(self, bound: float) -> int:
        return int(Fraction(float(bound)) / (self.unit * self.grid.unit))

    @property
    def coordinate_caps(self) -> Floats:
        """The caps of a per-coordinate clip in units, one per weight."""
        assert self.clip is not None
        caps = np.array([self._units(b) for b in np.atleast_1d(self.clip.bound)], dtype=np.float64)
        return np.broadcast_to(caps, (self.grid.n_weights,)).copy()

    @property
    def gradient_unit(self) -> Fraction:
        """What one unit of a gradient is worth."""
        return self.unit * self.grid.unit

    def _contribution(self) -> Contribution:
        g, size = self.grid, self.grid.n_weights * self.outputs
        limit = self.limit
        known = {"l1": isqrt_up(self.outputs) * limit * g.l1, "l2": limit * g.l2, "linf": limit * g.linf}
        if self.clip is not None and self.clip.norm == "per_coordinate":
            caps = [int(c) for c in self.coordinate_caps]
            known["linf"] = min(known["linf"], max(caps, default=0))
            known["l2"] = min(known["l2"], isqrt_up(sum(c * c for c in caps)))
            known["l1"] = min(known["l1"], sum(caps))
        elif self.cap is not None and self.clip is not None:
            known[self.clip.norm] = min(known[self.clip.norm], self.cap)
        return Contribution(l1=known["l1"], l2=known["l2"], linf=known["linf"]).complete(max(size, 1))

    def coordinate(self, j: int) -> Contribution:
        """What one row contributes to coordinate `j` alone."""
        limit = self.limit * self.grid.column(j)
        if self.clip is not None and self.clip.norm == "per_coordinate":
            limit = min(limit, int(self.coordinate_caps[j]))
        elif self.cap is not None:
            limit = min(limit, self.cap)
        return Contribution(linf=limit).complete(1)

    @property
    def needs_norms(self) -> bool:
        """Whether :meth:`whole` must be told the norms of the rows."""
        return self.clip is not None and self.clip.norm in _COLUMN

    def whole(self, slopes: Floats, norms: Floats | None) -> Floats:
        """Real slopes to whole-number residuals within every bound; `norms` of the rows are needed for a clip.

        Each residual depends on its own slope and its own row's norms alone.
        """
        r = slopes * self._factor
        np.rint(r, out=r)
        if np.isnan(r.sum()):
            r[np.isnan(r)] = 0.0
        drop = self.clip is not None and self.clip.mode == "drop"
        if self.outputs == 1 and not drop and not self.needs_norms:
            return np.clip(r, -float(self.limit), float(self.limit), out=r)
        allowed = self._allowed(norms, len(r))
        if self.outputs > 1:
            return self._whole_rows(r, allowed, drop)
        if drop:
            np.clip(r, -self._steepest, self._steepest, out=r)
            r[np.abs(r) > allowed] = 0.0
            return r
        return np.clip(r, -allowed, allowed, out=r)

    def _allowed(self, norms: Floats | None, n: int) -> Floats:
        """The largest residual of each row: ``limit``, and ``floor(cap / norm)`` under a clip."""
        if self.clip is None or self.cap is None or self.clip.norm not in _COLUMN:
            return np.broadcast_to(np.float64(self.limit), (n,))
        if norms is None:
            raise ValueError(f"a clip in {self.clip.norm} needs the norms of the rows")
        # a quotient of whole numbers below 2**53 that isn't whole is never rounded up to the next whole number:
        # it is at least 1/norm away from it, more than half a unit in its last place (proofs/sensitivity.md)
        caps = np.floor(self.cap / np.maximum(norms[:, _COLUMN[self.clip.norm]], 1.0))
        return np.minimum(caps, float(self.limit))

    def _whole_rows(self, r: Floats, allowed: Floats, drop: bool) -> Floats:
        """The same for several outputs: it is the norm of the row of residuals that is bounded."""
        np.clip(r, -(2.0**30), 2.0**30, out=r)
        n, norm = len(r), self.clip.norm if self.clip is not None else "slope"
        if drop:
            kernels.shrink_rows(r, np.full(n, min(self._steepest, 2.0**26)), 2)
            size = np.sqrt((r * r).sum(axis=1)) * (1 + 2.0**-50)
            if norm == "linf":
                size = np.abs(r).max(axis=1)
            elif norm == "l1":
                size = np.abs(r).sum(axis=1)
            r[size > allowed] = 0.0
            return r
        kernels.shrink_rows(r, np.full(n, float(self.limit)), 2)
        if norm == "linf":
            np.clip(r, -allowed[:, None], allowed[:, None], out=r)
        elif self.needs_norms:
            kernels.shrink_rows(r, np.ascontiguousarray(allowed), 1 if norm == "l1" else 2)
        return r
