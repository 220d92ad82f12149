"""What a column is, said by those who know it without looking: its range, its categories, its missing values."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Categorical", "Hashed", "Numeric", "Paid"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


def _missing_refused(name: Any, remedy: str) -> ValueError:
    return ValueError(
        f"column {name!r} holds missing values (which rows is withheld: it would depend on private data); say how to "
        f"read them: {remedy}"
    )


@dataclass(frozen=True)
class Paid:
    """A constant for missing values that is bought from the data, out of the schema's budget.

    Parameters
    ----------
    what : {"median", "mean"}
        Of the values that aren't missing.

    Examples
    --------
    >>> Numeric(0, 120, missing=Paid("median")).missing
    Paid(what='median')
    """

    what: Literal["median", "mean"] = "median"

    def __post_init__(self) -> None:
        if self.what not in ("median", "mean"):
            raise ValueError(f"what={self.what!r} can't be bought for missing values; choose 'median' or 'mean'")


@dataclass(frozen=True)
class Numeric:
    """A number within public bounds; beyond them it counts as the bound.

    Parameters
    ----------
    low, high : float
        Public bounds.
    log : bool, default=False
        Whether to take ``log(1 + x - low)``, for amounts that range over several powers of ten.
    missing : float or Paid, optional
        What stands for a missing value: a public number, or one that is bought.  By default missing values are refused.
    indicator : bool, default=False
        Whether a second column says where values were missing.

    Examples
    --------
    >>> Numeric(0, 99, log=True).limits().round(3).tolist()
    [[0.0], [4.605]]
    """

    low: float
    high: float
    log: bool = False
    missing: float | Paid | None = None
    indicator: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ValueError(f"bounds ({self.low!r}, {self.high!r}) must be finite, the lower one first")
        inside = self.missing is None or isinstance(self.missing, Paid) or self.low <= self.missing <= self.high
        if not inside:
            raise ValueError(
                f"missing={self.missing!r} must be within {self.low!r} and {self.high!r}, or Paid('median')"
            )

    def names(self, name: str) -> list[str]:
        """The names of what comes out."""
        return [name, f"{name}_missing"] if self.indicator else [name]

    def limits(self) -> Floats:
        """Lower and upper bounds of what comes out."""
        ends = self.scaled(np.array([[self.low], [self.high]]))
        return np.hstack([ends, [[0.0], [1.0]]]) if self.indicator else ends

    def scaled(self, x: Floats) -> Floats:
        """Cut to the bounds, on the scale of what comes out."""
        cut = np.clip(x, self.low, self.high)
        return np.asarray(np.log1p(cut - self.low) if self.log else cut)

    def unscaled(self, x: float) -> float:
        """The number itself, from one on the scale of what comes out."""
        return float(np.clip(math.expm1(x) + self.low if self.log else x, self.low, self.high))

    def encoded(self, values: Floats, constant: float | None, name: Any) -> Floats:
        """What comes out, one column or two."""
        absent = np.isnan(values)
        if constant is None and absent.any():
            raise _missing_refused(name, "Numeric(..., missing=a public number), or missing=Paid('median')")
        x = self.scaled(np.where(absent, self.low if constant is None else constant, values))
        return np.column_stack([x, absent]) if self.indicator else x[:, None]


class _OneHot:
    """One column for each level; a row has a one in at most one of them."""

    missing: str | None

    def limits(self) -> Floats:
        """Lower and upper bounds of what comes out."""
        width = len(self.names(""))
        return np.vstack([np.zeros(width), np.ones(width)])

    def names(self, name: str) -> list[str]:
        """The names of what comes out."""
        raise TypeError(f"{type(self).__name__} names no columns for {name!r}")

    def check_missing(self) -> None:
        """Refuse a rule for missing values that isn't one."""
        if self.missing not in (None, "own", "none"):
            raise ValueError(
                f"missing={self.missing!r} must be 'own' (a level of its own), 'none' (zeros) or None (refused)"
            )

    def gap(self, name: Any, own: int) -> int:
        """The code of a missing value."""
        if self.missing is None:
            raise _missing_refused(name, "missing='own' for a level of its own, or missing='none' for zeros")
        return own if self.missing == "own" else -1


@dataclass(frozen=True)
class Categorical(_OneHot):
    """One of several public categories: a column of zeros and ones for each.

    Parameters
    ----------
    categories : sequence
        The categories, known without looking at the rows.
    unknown : {"own", "none"}
        What other values are: a level of their own, or zeros in all columns.
    missing : {"own", "none"}, optional
        The same for missing values.  By default they are refused.

    Examples
    --------
    >>> Categorical(["f", "m"], missing="own").names("sex")
    ['sex_f', 'sex_m', 'sex_other', 'sex_missing']
    """

    categories: Sequence[Any]
    unknown: Literal["own", "none"] = "own"
    missing: Literal["own", "none"] | None = None

    def __post_init__(self) -> None:
        known = tuple(self.categories) if not isinstance(self.categories, (str, bytes)) else ()
        if not known or len(set(known)) != len(known):
            raise ValueError(f"categories={self.categories!r} must list one category or more, each once")
        if self.unknown not in ("own", "none"):
            raise ValueError(f"unknown={self.unknown!r} must be 'own' (a level of its own) or 'none' (zeros)")
        object.__setattr__(self, "categories", known)
        self.check_missing()

    def names(self, name: str) -> list[str]:
        """The names of what comes out."""
        known = [f"{name}_{c}" for c in self.categories]
        other = [f"{name}_other"] if self.unknown == "own" else []
        return known + other + ([f"{name}_missing"] if self.missing == "own" else [])

    def encoded(self, values: list[Any], name: Any) -> Codes:
        """The place of each row's one, -1 for none."""
        place = {c: i for i, c in enumerate(self.categories)}
        other = len(place) if self.unknown == "own" else -1
        gap = self.gap(name, len(self.names("")) - 1) if None in values else -1
        return np.array([gap if v is None else place.get(v, other) for v in values], dtype=np.int64)


@dataclass(frozen=True)
class Hashed(_OneHot):
    """One of an open vocabulary: each value goes to one of `buckets` columns by a public hash of its text.

    Parameters
    ----------
    buckets : int
        The number of columns; values that share one are taken for the same.
    missing : {"own", "none"}, optional
        What missing values are: a level of their own, or zeros.  By default they are refused.

    Examples
    --------
    >>> Hashed(4).encoded(["Paris", "Oslo", "Paris"], "city").tolist()
    [3, 1, 3]
    """

    buckets: int
    missing: Literal["own", "none"] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.buckets, bool) or int(self.buckets) != self.buckets or self.buckets < 1:
            raise ValueError(f"buckets={self.buckets!r} must be a whole number, at least 1")
        self.check_missing()

    def names(self, name: str) -> list[str]:
        """The names of what comes out."""
        own = [f"{name}_missing"] if self.missing == "own" else []
        return [f"{name}_{i}" for i in range(self.buckets)] + own

    def encoded(self, values: list[Any], name: Any) -> Codes:
        """The place of each row's one, -1 for none."""
        place = {v: _bucket(v, self.buckets) for v in set(values) if v is not None}
        if None in values:
            place[None] = self.gap(name, self.buckets)
        return np.array([place[v] for v in values], dtype=np.int64)


def _bucket(value: Any, buckets: int) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # a column of whole numbers becomes floats where one is missing
    digest = hashlib.blake2b(str(value).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") % buckets
