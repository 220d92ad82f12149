r"""A private run repeated a random number of times, of which only the best is released; and runs on disjoint rows.

The number of repetitions follows a truncated negative binomial law (Papernot and Steinke, 2022): the weight of k is
proportional to ``(1 - gamma)**k`` times a binomial coefficient that `shape` sets; 1 is geometric, 0 logarithmic.
"""

from __future__ import annotations

import math

import attr
import numpy as np
from dp_accounting import dp_event
from numpy.typing import ArrayLike, NDArray

from discreet.accounting import gdp
from discreet.accounting.events import ApproximateDpEvent, Direction, DominatedDpEvent, PureDpEvent
from discreet.accounting.pld import gaussian_mu
from discreet.accounting.pmf import LossPmf
from discreet.privacy import Budget, PrivacyError

__all__ = ["ParallelDpEvent", "RepeatedDpEvent", "base_promise", "curve", "gamma_for", "mean_of", "promise_of"]

Floats = NDArray[np.float64]
INNER: Floats = np.unique(np.concatenate([1 + np.geomspace(0.02, 1, 12), np.geomspace(2.2, 1e6, 120)]))


def mean_of(gamma: float, shape: float) -> float:
    """The mean number of repetitions, rounded up.

    >>> round(mean_of(0.25, 1.0), 6), round(mean_of(0.25, 0.0), 4), round(mean_of(0.25, -0.5), 6)
    (4.0, 2.164, 1.5)
    """
    _check(gamma, shape)
    if gamma == 1:
        return 1.0
    log = math.log(gamma)
    below = -log if shape == 0 else -math.expm1(shape * log) / shape  # (1 - gamma**shape) / shape
    # 1 - gamma over gamma, over that: the limit at shape 0 is the logarithmic law's
    return (1 - gamma) / gamma / below * (1 + 1e-12)


def gamma_for(mean: float, shape: float) -> float:
    """The gamma whose mean is at least `mean`, found by bisection.

    >>> round(gamma_for(4.0, 1.0), 9)
    0.25
    """
    if not (math.isfinite(mean) and mean >= 1):
        raise ValueError(f"the mean number of repetitions {mean!r} must be finite and at least 1")
    _check(1.0, shape)
    low, high = -690.0, 0.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if mean_of(math.exp(middle), shape) >= mean else (low, middle)
    return math.exp(low)


def _check(gamma: float, shape: float) -> None:
    if not 0 < gamma <= 1:
        raise ValueError(f"gamma={gamma!r} must be above 0 and at most 1")
    if not (math.isfinite(shape) and shape > -1):
        raise ValueError(f"shape={shape!r} must be finite and above -1: 1 is the geometric law, 0 the logarithmic one")


def curve(
    orders: ArrayLike, values: ArrayLike, inner: ArrayLike, base: ArrayLike, gamma: float, shape: float
) -> Floats:
    """Renyi divergences of the best of the repetitions (Papernot and Steinke, 2022, Theorem 2).

    `values` are the divergences of one run at `orders`; `base` those at the orders `inner` among which the second
    order of the theorem is chosen.

    >>> curve([2.0], [0.1], [2.0], [0.1], 1.0, 0.0).round(3).tolist()
    [0.15]
    """
    a, r, b, s = (np.asarray(v, dtype=float) for v in (orders, values, inner, base))
    extra = (1 + shape) * np.min((1 - 1 / b) * s - math.log(gamma) / b)
    return np.asarray(r + extra + math.log(mean_of(gamma, shape)) / (a - 1))


def promise_of(event: dp_event.DpEvent) -> tuple[float, float] | None:
    """The (epsilon, delta) of an event that is known by its promise alone, else None.

    >>> promise_of(PureDpEvent(0.5)), promise_of(dp_event.GaussianDpEvent(1.0))
    ((0.5, 0.0), None)
    """
    if isinstance(event, (ParallelDpEvent, RepeatedDpEvent)):
        return event.promise()
    if isinstance(event, ApproximateDpEvent):
        return float(event.epsilon), float(event.delta_at_epsilon)
    return (float(event.epsilon), 0.0) if isinstance(event, PureDpEvent) else None


@attr.s(frozen=True, slots=True, auto_attribs=True)
class ParallelDpEvent(DominatedDpEvent):
    """Mechanisms with known promises on disjoint rows, each free to depend on what the others released.

    A row is in one part: by its place where the number of rows is public, by a coin of its own where it isn't.

    Notes
    -----
    *Privacy.* Guarantee: the largest epsilon and the largest delta.  Neighbours: those of the parts.  Public: all of
    it.  Bounded by: a row's being in one part only.  Proof: ``proofs/model_selection.md``.

    Examples
    --------
    >>> ParallelDpEvent((ApproximateDpEvent(0.5, 1e-9), PureDpEvent(1.0))).promise()
    (1.0, 1e-09)
    """

    events: tuple[dp_event.DpEvent, ...]

    def __attrs_post_init__(self) -> None:
        self.promise()

    def promise(self) -> tuple[float, float]:
        """The largest epsilon and the largest delta of the parts."""
        known = [promise_of(e) for e in self.events]
        if not known or None in known:
            raise ValueError(f"the parts {self.events!r} must be events known by an epsilon and a delta, at least one")
        return max(k[0] for k in known if k), max(k[1] for k in known if k)

    def profile(self, direction: Direction, epsilon: Floats) -> Floats:
        return ApproximateDpEvent(*self.promise()).profile(direction, epsilon)

    def pmf(self, direction: Direction, step: float, tail: float) -> LossPmf:
        return ApproximateDpEvent(*self.promise()).pmf(direction, step, tail)

    def rdp(self, orders: ArrayLike) -> Floats:
        e, d = self.promise()
        return PureDpEvent(e).rdp(orders) if d == 0 else super().rdp(orders)

    def pure(self) -> float:
        return ApproximateDpEvent(*self.promise()).pure()


@attr.s(frozen=True, slots=True, auto_attribs=True)
class RepeatedDpEvent(DominatedDpEvent):
    r"""The best of a random number of runs, each with the given event.

    With ``(e, d)`` any point of the profile of one run, ``r = e**e + d (1 - gamma) / gamma`` and m the mean number of
    runs, ``delta(epsilon + (1 + shape) log r) <= m delta_run(epsilon)``.

    Notes
    -----
    *Privacy.* Guarantee: the profile above.  Neighbours: those of the run's event.  Public: all of it, but never how
    many runs there were.  Bounded by: the law of the number of runs.  Proof: ``proofs/model_selection.md``.

    Examples
    --------
    >>> RepeatedDpEvent(PureDpEvent(0.5), gamma=0.01, shape=1.0).pure()
    1.5
    """

    event: dp_event.DpEvent
    gamma: float
    shape: float = 0.0

    def __attrs_post_init__(self) -> None:
        _check(self.gamma, self.shape)
        if promise_of(self.event) is None and gaussian_mu(self.event) is None:
            raise ValueError(f"{self.event!r} must be Gaussian, or an event known by an epsilon and a delta")

    @property
    def mean(self) -> float:
        """The mean number of runs, rounded up."""
        return mean_of(self.gamma, self.shape)

    def _one(self, epsilon: float) -> float:
        """The delta of one run at any real epsilon."""
        known = promise_of(self.event)
        at = np.array([epsilon])
        if known is not None:
            return float(ApproximateDpEvent(*known).profile("remove", at)[0])
        mu = gaussian_mu(self.event)
        assert mu is not None
        return float(gdp.delta(mu, epsilon)) if epsilon >= 0 else 1.0

    def surplus(self) -> float:
        """What is added to the epsilon of one run: ``(1 + shape) log r`` at the best point of its profile."""
        odds = (1 - self.gamma) / self.gamma

        def size(e: float) -> float:
            return math.log(math.exp(e) + self._one(e) * odds)

        known = promise_of(self.event)
        if known is not None:
            best = size(known[0])
        else:
            best = min(size(float(e)) for e in np.concatenate([[0.0], np.geomspace(1e-4, 50.0, 400)]))
        return (1 + self.shape) * best * (1 + 1e-12)

    def promise(self) -> tuple[float, float] | None:
        """The epsilon and delta that follow from those of one run, where these are all that is known of it."""
        known = promise_of(self.event)
        return None if known is None else (known[0] + self.surplus(), min(self.mean * known[1], 1.0))

    def profile(self, direction: Direction, epsilon: Floats) -> Floats:
        more, mean = self.surplus(), self.mean
        at = np.atleast_1d(np.asarray(epsilon, dtype=float))
        return np.array([min(1.0, mean * self._one(float(x) - more)) for x in at])

    def loss_range(self, direction: Direction, tail: float) -> tuple[float, float]:
        mu = gaussian_mu(self.event)
        assert mu is not None
        far = gdp.epsilon(mu, max(tail / self.mean, 1e-300)) + self.surplus()
        return -far, far

    def pmf(self, direction: Direction, step: float, tail: float) -> LossPmf:
        known = self.promise()
        if known is None:
            return super().pmf(direction, step, tail)
        return ApproximateDpEvent(*known).pmf(direction, step, tail)

    def rdp(self, orders: ArrayLike) -> Floats:
        from discreet.accounting import rdp

        a = np.asarray(orders, dtype=float)
        known = curve(INNER, rdp.curve(self.event, INNER), INNER, rdp.curve(self.event, INNER), self.gamma, self.shape)
        own = curve(a, rdp.curve(self.event, a), INNER, rdp.curve(self.event, INNER), self.gamma, self.shape)
        later = np.append(np.minimum.accumulate(known[::-1])[::-1], math.inf)  # divergences grow with the order
        return np.asarray(np.minimum(own, later[np.searchsorted(INNER, a)]))

    def pure(self) -> float:
        from discreet.accounting.pure import epsilon_of

        return (2 + self.shape) * epsilon_of(self.event)

    def standard(self, kind: str) -> dp_event.DpEvent:
        from discreet.accounting.standard import to_standard

        if kind != "rdp" or self.shape < 0:
            raise ValueError(f"{self!r} is read by the 'rdp' accountant alone, and for a shape of 0 or more")
        return dp_event.RepeatAndSelectDpEvent(to_standard(self.event, "rdp"), self.mean, self.shape)


def base_promise(budget: Budget, gamma: float, shape: float) -> Budget:
    """What one run may promise so that the best of a random number of runs keeps the budget.

    Notes
    -----
    *Privacy.* Guarantee: `budget`, for the best of the runs.  Neighbours: those of `budget`.  Public: everything.
    Bounded by: :class:`RepeatedDpEvent` at the numbers returned.  Proof: ``proofs/model_selection.md``.

    Examples
    --------
    >>> base_promise(Budget(epsilon=1), 0.1, 0.0).epsilon
    0.5
    """
    whole, allowed = budget.epsilon, budget.delta
    d = math.nextafter(allowed / mean_of(gamma, shape), 0.0) * (1 - 1e-12) if allowed else 0.0

    def fits(e: float) -> bool:
        known = RepeatedDpEvent(ApproximateDpEvent(e, d) if d else PureDpEvent(e), gamma, shape).promise()
        assert known is not None
        return known[0] <= whole * (1 + 1e-11) and known[1] <= allowed

    high = whole / (2 + shape)
    if d == 0 and allowed == 0:  # e + (1 + shape) e
        return Budget(high if high * (2 + shape) <= whole else math.nextafter(high, 0.0), neighbors=budget.neighbors)
    low = 0.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    if not (low > 0 and fits(low)):
        raise PrivacyError(f"{budget} is too small for that many repetitions; ask for fewer, or for a larger epsilon")
    return Budget(low * (1 - 1e-10), d, neighbors=budget.neighbors)
