"""One shuffled batch of local reports as an event, so that several rounds compose."""

from __future__ import annotations

import functools
import math

import attr
import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.accounting.events import Direction, DominatedDpEvent, positive
from discreet.accounting.shuffling import Variation, shuffled_delta

__all__ = ["ShuffledDpEvent"]

Array = NDArray[np.float64]
POINTS = 160  # where the profile is evaluated for Renyi divergences; fewer are looser, never wrong


@attr.s(frozen=True, slots=True, auto_attribs=True)
class ShuffledDpEvent(DominatedDpEvent):
    """`n` reports of one randomiser, shuffled.

    Parameters
    ----------
    local_epsilon : float
        What each report promises by itself.
    beta : float
        The randomiser's total variation (:class:`~discreet.accounting.shuffling.Variation`).
    n : int
        How many reports were shuffled together.

    Notes
    -----
    *Privacy.* Guarantee: the hockey-stick profile of the variation-ratio reduction; several rounds compose, adaptively
    too.  Neighbours: replace-one (one person's value), by nature; nothing is to be doubled.  Public: all fields.
    Bounded by: `local_epsilon` and `beta`, which the randomiser proves.  Proof: ``proofs/shuffling.md``.

    Examples
    --------
    >>> event = ShuffledDpEvent(1.0, 0.4621, 10_000)
    >>> event.delta(0.05) < 1e-6 < event.delta(0.03)
    True
    """

    local_epsilon: float
    beta: float
    n: int

    def __attrs_post_init__(self) -> None:
        positive(self.local_epsilon, "local_epsilon")
        Variation(float(self.local_epsilon), float(self.beta))  # refuses a beta that no randomiser can have

    @property
    def variation(self) -> Variation:
        """The randomiser's parameters."""
        return Variation(float(self.local_epsilon), float(self.beta))

    def profile(self, direction: Direction, epsilon: Array) -> Array:
        values = [_delta(self.variation, self.n, float(e)) for e in np.ravel(epsilon)]
        return np.reshape(values, np.shape(epsilon))

    def loss_range(self, direction: Direction, tail: float) -> tuple[float, float]:
        low, high = 0.0, float(self.local_epsilon)
        for _ in range(20):
            middle = (low + high) / 2
            low, high = (low, middle) if _delta(self.variation, self.n, middle) <= tail else (middle, high)
        return -high, high

    def rdp(self, orders: ArrayLike) -> Array:
        """Renyi divergences from the profile: ``E(P/Q)^a = 1 + a(a-1) int (e^((a-1)t) + e^(-a t)) H(t) dt``."""
        from discreet.accounting.pure import rdp

        a = np.asarray(orders, dtype=float)
        worst = rdp(self.local_epsilon, a)
        reach = self.loss_range("remove", 1e-25)[1]
        grid = np.append(np.linspace(0.0, reach, POINTS), float(self.local_epsilon))
        step = self.profile("remove", grid[:-1])  # the profile falls, so its left end bounds each piece
        t = a[..., None]
        with np.errstate(over="ignore"):
            antiderivative = t * np.exp((t - 1) * grid) - (t - 1) * np.exp(-t * grid)
            moment = 1 + (np.diff(antiderivative, axis=-1) * step).sum(axis=-1)
            tight = np.log(moment) / (a - 1)
        return np.asarray(np.minimum(worst, np.where(np.isfinite(tight), tight, np.inf)), dtype=np.float64)

    def pure(self) -> float:
        return float(self.local_epsilon)

    def spread(self) -> float:
        return self.loss_range("remove", 1e-3)[1] / 3 or 1e-6


@functools.lru_cache(maxsize=4096)
def _delta(variation: Variation, n: int, epsilon: float) -> float:
    return shuffled_delta(variation, n, epsilon) if math.isfinite(epsilon) else 0.0
