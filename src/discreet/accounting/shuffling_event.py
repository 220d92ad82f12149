"""One shuffled batch of local reports as an event, so that several rounds compose."""

from __future__ import annotations

import functools

import attr
import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.accounting.events import Direction, DominatedDpEvent, positive
from discreet.accounting.shuffling import Variation, shuffled_delta

__all__ = ["ShuffledDpEvent"]

Array = NDArray[np.float64]
POINTS = 300  # where the profile is evaluated; fewer are looser, never wrong


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
    common : float, optional
        As in :class:`~discreet.accounting.shuffling.Variation`.

    Notes
    -----
    *Privacy.* Guarantee: the hockey-stick profile of the reduction to three counts; several rounds compose, adaptively
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
    common: float | None = None

    def __attrs_post_init__(self) -> None:
        positive(self.local_epsilon, "local_epsilon")
        _ = self.variation  # refuses a beta that no randomiser can have

    @property
    def variation(self) -> Variation:
        """The randomiser's parameters."""
        return Variation(float(self.local_epsilon), float(self.beta), self.common)

    def profile(self, direction: Direction, epsilon: Array) -> Array:
        """Chords of upper bounds at some points: the profile is convex in ``e^epsilon``, so no chord is below it."""
        at = np.abs(np.asarray(epsilon, dtype=np.float64))
        nodes, values = _table(self.variation, self.n)
        upper = np.interp(np.expm1(np.minimum(at, 50.0)), np.expm1(nodes), values, right=0.0)
        # H(-e) = 1 - exp(-e) + exp(-e) H(e), the pair being its own mirror image
        return np.asarray(np.where(np.asarray(epsilon) < 0, -np.expm1(-at) + np.exp(-at) * upper, upper))

    def loss_range(self, direction: Direction, tail: float) -> tuple[float, float]:
        nodes, values = _table(self.variation, self.n)
        # what is left above is charged as certain loss, so a floor under the tail costs 1e-25 and no more
        high = float(nodes[int(np.argmax(values <= max(tail, 1e-25)))])
        return -high, high

    def rdp(self, orders: ArrayLike) -> Array:
        """Renyi divergences from the profile: ``E(P/Q)^a = 1 + a(a-1) int (e^((a-1)t) + e^(-a t)) H(t) dt``."""
        from discreet.accounting.pure import rdp

        a = np.asarray(orders, dtype=float)
        worst = rdp(self.local_epsilon, a)
        grid, step = _table(self.variation, self.n)
        step = step[:-1]  # the profile falls, so its left end bounds each piece
        t = a[..., None]
        with np.errstate(over="ignore", invalid="ignore"):
            antiderivative = t * np.exp((t - 1) * grid) - (t - 1) * np.exp(-t * grid)
            moment = 1 + (np.diff(antiderivative, axis=-1) * step).sum(axis=-1)
            tight = np.log(moment) / (a - 1)
        return np.asarray(np.minimum(worst, np.where(np.isfinite(tight), tight, np.inf)), dtype=np.float64)

    def pure(self) -> float:
        return float(self.local_epsilon)

    def spread(self) -> float:
        return max(self.loss_range("remove", 1e-20)[1] / 9, 1e-9)


@functools.lru_cache(maxsize=64)
def _table(variation: Variation, n: int) -> tuple[Array, Array]:
    """Points from 0 to the local epsilon, closely spaced where delta is above 1e-25, and the profile's upper bounds."""
    low, high = 0.0, float(variation.epsilon)
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if shuffled_delta(variation, n, middle) <= 1e-25 else (middle, high)
    nodes = np.unique(np.append(np.linspace(0.0, high, POINTS), float(variation.epsilon)))
    values = np.array([shuffled_delta(variation, n, float(e)) for e in nodes])
    return nodes, np.minimum.accumulate(values)
