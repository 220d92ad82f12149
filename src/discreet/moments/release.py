"""What the functions of this folder give back: numbers, their errors, and what was promised."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from dp_accounting import dp_event
from numpy.typing import NDArray

from discreet.privacy import Budget

__all__ = ["Promise", "Release"]

_MEANING = {
    "zero_out": "one person's row is there or blank; the number of rows is public",
    "replace_one": "one person's row becomes any other; the number of rows is public",
    "add_remove": "one person's row is there or gone; the number of rows is private and was paid for",
}


@dataclass(frozen=True)
class Promise:
    """What was promised and how it was spent.

    Attributes
    ----------
    budget : Budget
        What was promised, with its neighbouring relation.
    event : DpEvent
        Exactly what was run.
    notes : tuple of str
        What was declared public and what was paid for.
    seeded : bool
        Whether the noise came from a seed, so that it promises nothing.

    Notes
    -----
    *Privacy.* Guarantee: `budget`, within which `event` was planned.  Neighbours: ``budget.neighbors``.
    Public: all of it.  Bounded by: the plan.  Proof: ``proofs/moments.md``.

    Examples
    --------
    >>> print(Promise(Budget(epsilon=1), dp_event.LaplaceDpEvent(1.0), ("bounds: public",)))
    Budget(epsilon=1, neighbors='zero_out'): one person's row is there or blank; the number of rows is public.
    bounds: public
    """

    budget: Budget
    event: dp_event.DpEvent
    notes: tuple[str, ...] = ()
    seeded: bool = False

    @property
    def epsilon(self) -> float:
        """The epsilon of the promise (infinite when seeded); a zCDP or Gaussian budget has :meth:`epsilon_at`."""
        return math.inf if self.seeded else self.budget.epsilon

    @property
    def delta(self) -> float:
        """The delta of the promise."""
        return self.budget.delta

    @property
    def neighbors(self) -> str:
        """The neighbouring relation of the promise."""
        return self.budget.neighbors.value

    def epsilon_at(self, delta: float) -> float:
        """What the event costs at a delta of one's own choice (infinite when seeded)."""
        from discreet import accounting

        return math.inf if self.seeded else accounting.epsilon(self.event, delta)

    def __str__(self) -> str:
        lines = [f"{self.budget}: {_MEANING[self.neighbors]}.", *self.notes]
        if self.seeded:
            lines.append("NOT PRIVATE: seeded.")
        return "\n".join(lines)


@dataclass(frozen=True)
class Release:
    """A released statistic.

    Attributes
    ----------
    value : float or ndarray
        The statistic.
    standard_error : float or ndarray
        See `covers`.
    noise : float or ndarray
        The standard deviation of the privacy noise alone.
    n : float
        The number of rows: public, or as released.
    covers : str
        What the standard error counts: ``"noise"`` (the statistic of these very rows), or ``"noise and sampling"``.
    bounds : object
        The public or paid bounds that rows were clipped to.
    privacy : Promise
        What was promised.

    Notes
    -----
    *Privacy.* Guarantee: that of `privacy`; reading a release costs nothing more.  Neighbours: those of `privacy`.
    Public: all of it.  Bounded by: the purse that paid for it.  Proof: ``proofs/moments.md``.

    Examples
    --------
    >>> r = Release(0.5, 0.1, 0.1, 10, "noise", None, Promise(Budget(epsilon=1), dp_event.NoOpDpEvent()))
    >>> [round(end, 3) for end in r.interval(0.95)]
    [0.304, 0.696]
    """

    value: Any
    standard_error: Any
    noise: Any
    n: float
    covers: str
    bounds: Any
    privacy: Promise

    def interval(self, confidence: float = 0.95) -> tuple[Any, Any]:
        """A normal confidence interval for what `covers` names."""
        from scipy.special import ndtri

        if not 0 < confidence < 1:
            raise ValueError(f"confidence={confidence!r} must be between 0 and 1")
        half = float(ndtri((1 + confidence) / 2)) * np.asarray(self.standard_error)
        low, high = np.asarray(self.value) - half, np.asarray(self.value) + half
        return (float(low), float(high)) if np.ndim(self.value) == 0 else (low, high)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return np.array(self.value, dtype=dtype)

    def __float__(self) -> float:
        return float(self.value)
