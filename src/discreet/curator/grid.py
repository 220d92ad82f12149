"""Public bounds on a row, and the public grid of whole numbers that follows from them.

The grid is a power of two, so scaling to it is exact, real values of whole numbers are exact doubles, and everything
here is worked out from public sizes alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.privacy import Contribution, isqrt_up

__all__ = ["Grid", "RowBounds", "power_of_two"]

WEIGHT_STEPS = 1024  # sample weights lie on this many equal steps below their public cap
TARGET_BITS = 20  # real targets lie on a grid of about 2**20 steps


def power_of_two(value: float | Fraction) -> Fraction:
    """The smallest power of two that is at least `value`, exactly.

    >>> [str(power_of_two(v)) for v in (1, 3, 0.3)]
    ['1', '4', '1/2']
    """
    v = Fraction(value)
    if v <= 0:
        raise ValueError(f"no power of two is the least one above {value!r}; give a positive number")
    e = v.numerator.bit_length() - v.denominator.bit_length() - 1
    while Fraction(2) ** e < v:
        e += 1
    return Fraction(2) ** e


def _vector(value: ArrayLike | None, name: str) -> NDArray[np.float64] | None:
    if value is None:
        return None
    out = np.atleast_1d(np.asarray(value, dtype=np.float64)).copy()
    if out.ndim != 1 or not np.isfinite(out).all():
        raise ValueError(f"{name} must be a finite number or a vector of finite numbers, one per feature")
    out.setflags(write=False)
    return out


@dataclass(frozen=True, eq=False)
class RowBounds:
    r"""What is publicly known about a row: every row is clipped to it, and every sensitivity follows from it.

    A row ``x`` becomes ``z = (clip(x, low, high) - centre) / scale`` and ``z`` is clipped to the norms given.  All
    model weights refer to ``z``; :meth:`to_original` takes them back.

    Parameters
    ----------
    l2, linf, l1 : float, optional
        Bounds on the norms of ``z``: rows beyond `l2` or `l1` are scaled down, entries beyond `linf` are cut off.
    low, high : float or array, optional
        Bounds of each feature; both or neither.
    centre : float or array, optional
        Public offset of each feature.  Default: the middle of `low` and `high`, or none.  Dense rows only.
    scale : float or array, default=1
        Public unit of each feature.
    intercept : float, default=0
        When positive, each row gets a last column of this constant, *inside* the bounds of the row.
    y : (float, float), optional
        Public range of a real target less `y_centre`, which is clipped to it.  Class codes need none.
    y_centre : float, default=0
        What is subtracted from a real target first.
    weight : float, default=1
        Public cap of the sample weights.
    bits : int, default=16
        The l2 bound of a row is about ``2**bits`` grid units.

    Notes
    -----
    *Privacy.* Guarantee: none by itself; it must be chosen without looking at the rows, or be paid for.  Neighbours:
    any.  Public: everything here.  Bounded by: whole-number clipping, see :class:`Grid`.  Proof: ``proofs/curator.md``.

    Examples
    --------
    >>> grid = RowBounds(l2=1, intercept=0.5).grid(3)
    >>> grid.n_weights, round(float(grid.l2 * grid.unit), 4)
    (4, 1.118)
    >>> grid = RowBounds(low=0, high=10).grid(2)
    >>> float(grid.linf * grid.unit)
    5.0
    """

    l2: float | None = None
    linf: float | None = None
    l1: float | None = None
    low: Any = None
    high: Any = None
    centre: Any = None
    scale: Any = 1.0
    intercept: float = 0.0
    y: tuple[float, float] | None = None
    y_centre: float = 0.0
    weight: float = 1.0
    bits: int = 16

    def __post_init__(self) -> None:
        for name in ("l2", "linf", "l1", "weight"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise ValueError(f"{name}={value!r} must be a positive finite number")
        if not (math.isfinite(self.intercept) and self.intercept >= 0):
            raise ValueError(f"intercept={self.intercept!r} must be 0 (none) or a positive constant")
        if not 4 <= self.bits <= 20:
            raise ValueError(f"bits={self.bits!r} must lie between 4 and 20, so that every partial sum is exact")
        low, high = _vector(self.low, "low"), _vector(self.high, "high")
        if (low is None) != (high is None):
            raise ValueError("give both low and high, or neither")
        centre, scale = _vector(self.centre, "centre"), _vector(self.scale, "scale")
        if low is not None and high is not None:
            if not (low < high).all():
                raise ValueError("every low must be below its high; a feature of one value has nothing to bound")
            centre = (low / 2 + high / 2) if centre is None else centre
        if scale is None or not (scale > 0).all():
            raise ValueError("every scale must be positive")
        if low is None and self.l2 is None and self.linf is None and self.l1 is None:
            raise ValueError("a row needs a bound: give l2, linf, l1, or low and high")
        if self.y is not None and not (np.isfinite(self.y).all() and self.y[0] < self.y[1]):
            raise ValueError(f"y={self.y!r} must be a finite public range (low, high) with low below high")
        for name, item in (("low", low), ("high", high), ("centre", centre), ("scale", scale)):
            object.__setattr__(self, name, item)

    def grid(self, n_features: int) -> Grid:
        """The grid for rows of that many features."""
        return Grid(self, n_features)

    @property
    def centred(self) -> bool:
        """Whether some feature has an offset (so that zeros don't stay zeros)."""
        return self.centre is not None and bool(np.any(self.centre != 0))

    def to_original(self, weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Coefficients and intercept for the features as they came, from weights for ``z`` (last axis: features).

        >>> import numpy as np
        >>> coef, intercept = RowBounds(low=0, high=10, scale=5, intercept=0.5).to_original(np.array([1.0, 4.0]))
        >>> coef, intercept
        (array([0.2]), array(1.))
        """
        w = np.asarray(weights, dtype=np.float64)
        features = w[..., :-1] if self.intercept else w
        coef = features / self.scale
        intercept = w[..., -1] * self.intercept if self.intercept else np.zeros(w.shape[:-1])
        if self.centre is not None:
            intercept = intercept - np.sum(coef * self.centre, axis=-1)
        return coef, np.asarray(intercept)

    def from_original(self, coef: NDArray[np.float64], intercept: NDArray[np.float64]) -> NDArray[np.float64]:
        """The weights for ``z`` that :meth:`to_original` takes to these; without a constant no intercept is kept.

        >>> import numpy as np
        >>> RowBounds(low=0, high=10, scale=5, intercept=0.5).from_original(np.array([0.2]), np.array(1.0))
        array([1., 4.])
        """
        coef = np.asarray(coef, dtype=np.float64)
        features = coef * self.scale
        if not self.intercept:
            return np.asarray(features)
        moved = np.asarray(intercept, dtype=np.float64)
        if self.centre is not None:
            moved = moved + np.sum(coef * self.centre, axis=-1)
        return np.concatenate([features, moved[..., None] / self.intercept], axis=-1)


def _floor(value: float, unit: Fraction) -> int:
    return int(Fraction(value) / unit)


@dataclass(frozen=True, eq=False)
class Grid:
    """Row bounds in whole grid units, worked out from public sizes.

    Attributes
    ----------
    unit : Fraction
        One grid unit of a feature, a power of two.
    caps : array
        The bound of each feature in units, when each has its own, or empty.
    linf, l1, l2 : int
        What the *whole* row, intercept included, can have at most.
    contribution : Contribution
        The same three, as one row's contribution to a sum of rows.

    Examples
    --------
    >>> grid = Grid(RowBounds(l2=1.0), n_features=10)
    >>> grid.unit, grid.l2, grid.l1 == isqrt_up(10 * 65536**2)
    (Fraction(1, 65536), 65536, True)
    """

    bounds: RowBounds
    n_features: int
    unit: Fraction = field(init=False)
    caps: NDArray[np.float64] = field(init=False)
    constant: int = field(init=False)
    row_linf: float = field(init=False)  # of the features alone, infinity when not given: what the kernels clip to
    row_l1: float = field(init=False)
    row_l2: float = field(init=False)
    linf: int = field(init=False)
    l1: int = field(init=False)
    l2: int = field(init=False)
    feature_linf: int = field(init=False)
    _size: float = field(init=False)

    def __post_init__(self) -> None:
        b, p = self.bounds, self.n_features
        half = self._half_widths()
        real = [v for v in (b.l2, b.l1) if v is not None]
        if half is not None:
            real.append(math.sqrt(float(half @ half)))
        if b.linf is not None:
            real.append(b.linf * math.sqrt(max(p, 1)))
        longest = power_of_two(math.hypot(min(real), b.intercept))
        unit = longest / 2**b.bits
        entry = b.linf if b.linf is not None else (float(half.max()) if half is not None and half.size else None)
        if entry is not None:  # many features, each bounded apart: keep 10 bits for each where there is room
            unit = min(unit, max(power_of_two(entry) / 2**10, longest / 2**24))
        caps = np.zeros(0) if half is None else np.array([max(_floor(h, unit), 1) for h in half], dtype=np.float64)
        clip = {n: math.inf if getattr(b, n) is None else max(_floor(getattr(b, n), unit), 1) for n in _NORMS}
        constant = max(round(Fraction(b.intercept) / unit), 1) if b.intercept else 0
        known = Contribution(
            l1=_least(clip["l1"], int(caps.sum()) if half is not None else math.inf),
            l2=_least(clip["l2"], isqrt_up(sum(int(c) ** 2 for c in caps)) if half is not None else math.inf),
            linf=_least(clip["linf"], int(caps.max(initial=1)) if half is not None else math.inf),
        ).complete(max(p, 1))
        assert known.l1 is not None and known.l2 is not None and known.linf is not None
        if isqrt_up(known.l2**2 + constant**2) >= 2**26:
            raise ValueError(
                f"rows of {p} features and these bounds can have a norm of {known.l2} grid units, above 2**26; "
                "give a smaller l2 bound"
            )
        values = {
            "unit": unit,
            "_size": float(unit),
            "caps": caps,
            "constant": constant,
            "row_linf": float(clip["linf"]),
            "row_l1": float(clip["l1"]),
            "row_l2": float(clip["l2"]),
            "feature_linf": known.linf,
            "linf": max(known.linf, constant),
            "l1": known.l1 + constant,
            "l2": isqrt_up(known.l2**2 + constant**2),
        }
        for name, item in values.items():
            object.__setattr__(self, name, item)

    def _half_widths(self) -> NDArray[np.float64] | None:
        b, p = self.bounds, self.n_features
        for name in ("low", "high", "centre", "scale"):
            v = getattr(b, name)
            if v is not None and v.size not in (1, p):
                raise ValueError(f"{name} has {v.size} entries for {p} features; give one, or one per feature")
        if b.low is None:
            return None
        centre = b.centre if b.centre is not None else np.zeros(1)
        return np.broadcast_to(np.maximum(b.high - centre, centre - b.low) / b.scale, (p,)).astype(np.float64)

    @property
    def n_weights(self) -> int:
        """The number of model weights: features, and the intercept when there is one."""
        return self.n_features + (1 if self.constant else 0)

    @property
    def contribution(self) -> Contribution:
        """What one row of features contributes to a plain sum of rows."""
        return Contribution(l1=self.l1, l2=self.l2, linf=self.linf)

    def column(self, j: int) -> int:
        """The bound of column `j` in units."""
        if self.constant and j == self.n_features:
            return self.constant
        return min(self.feature_linf, int(self.caps[j])) if self.caps.size else self.feature_linf

    @property
    def weight_unit(self) -> Fraction:
        """What one step of a sample weight is worth."""
        return Fraction(self.bounds.weight) / WEIGHT_STEPS

    @property
    def size(self) -> float:
        """What one grid unit is worth, as a float (a power of two)."""
        return self._size

    @property
    def factor(self) -> float:
        """Grid units per real unit (a power of two)."""
        return float(1 / self.unit)


_NORMS = ("l1", "l2", "linf")


def _least(*values: float) -> int | None:
    least = min(values)
    return None if math.isinf(least) else int(least)
