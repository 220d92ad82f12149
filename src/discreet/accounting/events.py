"""What was run, as trees of events: our own leaves beside those of ``dp_accounting``.

An event says *what happened*, in numbers that are already relative to the sensitivity under the caller's
neighbouring relation: ``GaussianDpEvent(2.0)`` is noise of twice the l2 sensitivity, whichever relation that
sensitivity was worked out for.  So the accountants always ask for add/remove, and ``replace_one`` never reaches them.
The one thing that does depend on the relation beyond the sensitivity is subsampling: see :mod:`.subsampling`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

import attr
import numpy as np
from dp_accounting import dp_event
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    from discreet.accounting.pmf import LossPmf

__all__ = [
    "ApproximateDpEvent",
    "BoundedRangeDpEvent",
    "DominatedDpEvent",
    "PureDpEvent",
    "ReplaceOneSampledDpEvent",
    "compose",
    "leaves",
    "repeat",
]

Direction = Literal["remove", "add"]
DIRECTIONS: tuple[Direction, Direction] = ("remove", "add")
PmfBuilder = Callable[[float, float], "LossPmf"]


def positive(value: float, name: str, *, zero: bool = False) -> float:
    """`value` as a finite float that is positive (or zero, when `zero`), or an error that names it.

    >>> positive(2, "noise_multiplier")
    2.0
    """
    number = float(value)
    if not math.isfinite(number) or number < 0 or (number == 0 and not zero):
        raise ValueError(f"{name}={value!r} must be finite and {'at least 0' if zero else 'positive'}")
    return number


def _check(value: float, name: str, *, zero: bool = False) -> None:
    positive(value, name, zero=zero)


def _unit(value: float, name: str) -> None:
    if not 0 <= float(value) <= 1:
        raise ValueError(f"{name}={value!r} must be between 0 and 1")


@attr.s(frozen=True, slots=True)
class DominatedDpEvent(dp_event.DpEvent):
    r"""An event that carries its own dominating pair of distributions, one for each ordered direction.

    ``"remove"`` compares a data set with the same one less a row, ``"add"`` the other way round.  A subclass gives
    :meth:`profile` (or overrides :meth:`pmf`), and :meth:`rdp` where it has something finite to say.

    Notes
    -----
    *Privacy.* Guarantee: that of the subclass.  Neighbours: the relation of the sensitivities in its numbers.
    Public: all of its fields.  Bounded by: its profile, an upper bound for every real epsilon.
    Proof: ``proofs/accounting.md``.

    Examples
    --------
    >>> issubclass(BoundedRangeDpEvent, DominatedDpEvent)
    True
    """

    def profile(self, direction: Direction, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
        r"""An upper bound on the hockey-stick divergence :math:`H_{e^\epsilon}`, for every *real* epsilon."""
        raise TypeError(f"{type(self).__name__} must give a profile, or a pmf of its own")

    def loss_range(self, direction: Direction, tail: float) -> tuple[float, float]:
        """Losses between which the profile is worth tabulating; at most `tail` of delta is left above."""
        raise TypeError(f"{type(self).__name__} must give a loss_range, or a pmf of its own")

    def pmf(self, direction: Direction, step: float, tail: float) -> LossPmf:
        """A loss distribution on multiples of `step` whose profile is nowhere below :meth:`profile`."""
        from discreet.accounting.pmf import LossPmf

        low, high = self.loss_range(direction, tail)
        return LossPmf.from_profile(lambda e: self.profile(direction, e), step, low, high)

    def rdp(self, orders: ArrayLike) -> NDArray[np.float64]:
        """Renyi divergences of the given orders (above 1) that bound both directions; infinite where unknown."""
        return np.full(np.shape(np.asarray(orders, dtype=float)), np.inf)

    def pure(self) -> float:
        """The smallest epsilon for which the event is known to be purely private (infinite if none is)."""
        return math.inf

    def spread(self) -> float:
        """Roughly the standard deviation of one loss: chooses a grid, promises nothing."""
        order_two = float(self.rdp(np.array([2.0]))[0])
        return min(math.sqrt(order_two) if math.isfinite(order_two) else 1.0, 10.0)

    def delta(self, epsilon: float) -> float:
        """The delta at `epsilon` of this event on its own."""
        at = np.array([float(epsilon)])
        return float(min(1.0, max(self.profile(d, at)[0] for d in DIRECTIONS)))

    def pairs(self) -> list[tuple[Direction, PmfBuilder]]:
        """Each ordered direction with a function of (step, tail) that builds its loss distribution."""

        def builder(direction: Direction) -> PmfBuilder:
            return lambda step, tail: self.pmf(direction, step, tail)

        return [(d, builder(d)) for d in DIRECTIONS]

    def pld(self, step: float = 1e-4, tail: float = 1e-15) -> PrivacyLossDistribution:
        """The same pair as an object of ``dp_accounting.pld``, rounded to the private side."""
        from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

        return PrivacyLossDistribution(*(build(step, tail).to_dp_accounting() for _, build in self.pairs()))

    def standard(self, kind: Literal["pld", "rdp"]) -> dp_event.DpEvent:
        """An event of ``dp_accounting`` that is no more private than this one."""
        if kind == "rdp":
            orders = np.concatenate([1 + np.geomspace(1e-6, 1, 60), np.geomspace(2.1, 1e6, 120)])
            # Renyi divergence grows with the order, so the value at the next order covers the gap.
            slope = float(np.max(self.rdp(orders[1:]) / orders[:-1]))
            limit = self.pure()
            if math.isfinite(slope) and math.isfinite(limit):
                return dp_event.ZCDpEvent(rho=max(slope, limit / orders[-1]) * (1 + 3e-6))  # orders below the first
        raise ValueError(
            f"{self!r} has no standard event that the {kind!r} accountant reads; price it with accounting.epsilon"
        )


@attr.s(frozen=True, slots=True, auto_attribs=True)
class PureDpEvent(DominatedDpEvent):
    r"""Any mechanism that is purely `epsilon`-private; the worst one is randomised response.

    Notes
    -----
    *Privacy.* Guarantee: epsilon-DP.  Neighbours: those under which that holds.  Public: `epsilon`.
    Bounded by: the two-point pair with losses plus and minus epsilon.  Proof: ``proofs/accounting.md``.

    Examples
    --------
    >>> round(PureDpEvent(1.0).delta(0.5), 6)
    0.287649
    """

    epsilon: float

    def __attrs_post_init__(self) -> None:
        _check(self.epsilon, "epsilon", zero=True)

    def profile(self, direction: Direction, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
        high = 1 / (1 + math.exp(-self.epsilon))
        gain = np.maximum(0.0, -np.expm1(epsilon - self.epsilon)) * high
        return gain + np.maximum(0.0, -np.expm1(epsilon + self.epsilon)) * (1 - high)

    def pmf(self, direction: Direction, step: float, tail: float) -> LossPmf:
        from discreet.accounting.pmf import LossPmf

        high = 1 / (1 + math.exp(-self.epsilon))
        low = math.exp(-self.epsilon) * high
        return LossPmf.from_atoms(np.array([-self.epsilon, self.epsilon]), np.array([low, high]), step)

    def rdp(self, orders: ArrayLike) -> NDArray[np.float64]:
        from discreet.accounting.pure import rdp

        return rdp(self.epsilon, orders)

    def pure(self) -> float:
        return float(self.epsilon)

    def standard(self, kind: Literal["pld", "rdp"]) -> dp_event.DpEvent:
        from discreet.accounting.pure import to_zcdp

        if self.epsilon == 0:
            return dp_event.NoOpDpEvent()
        if kind == "rdp":
            return dp_event.ZCDpEvent(rho=to_zcdp(self.epsilon))
        return dp_event.DiscreteLaplaceDpEvent(float(self.epsilon), 1)  # its losses are exactly +-epsilon


@attr.s(frozen=True, slots=True, auto_attribs=True)
class ApproximateDpEvent(DominatedDpEvent):
    r"""Any mechanism of which no more is known than that it is (`epsilon`, `delta`)-private.

    Notes
    -----
    *Privacy.* Guarantee: (epsilon, delta)-DP.  Neighbours: those under which that holds.  Public: both numbers.
    Bounded by: the four-point pair of Kairouz, Oh and Viswanath (2015).  Proof: ``proofs/accounting.md``.

    Examples
    --------
    >>> ApproximateDpEvent(1.0, 0.01).delta(1.0)
    0.01
    """

    epsilon: float
    delta_at_epsilon: float

    def __attrs_post_init__(self) -> None:
        _check(self.epsilon, "epsilon", zero=True)
        _unit(self.delta_at_epsilon, "delta")

    def profile(self, direction: Direction, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
        d = self.delta_at_epsilon
        inner = PureDpEvent(self.epsilon).profile(direction, epsilon)
        return d + (1 - d) * inner

    def pmf(self, direction: Direction, step: float, tail: float) -> LossPmf:
        inner = PureDpEvent(self.epsilon).pmf(direction, step, tail)
        return inner.thinned(self.delta_at_epsilon)

    def pure(self) -> float:
        return float(self.epsilon) if self.delta_at_epsilon == 0 else math.inf

    def spread(self) -> float:
        return float(self.epsilon)


@attr.s(frozen=True, slots=True, auto_attribs=True)
class BoundedRangeDpEvent(DominatedDpEvent):
    r"""One exponential-mechanism (or Gumbel report-noisy-max) selection of range `eta`.

    Every log-likelihood ratio lies in an interval :math:`[t - \eta, t]`.  With scores of range `R` and weights
    ``exp(score / b)``, ``eta = R / b``.

    Notes
    -----
    *Privacy.* Guarantee: eta-bounded range, so eta-DP and eta^2/8-zCDP.  Neighbours: those of the range.
    Public: `eta`.  Bounded by: the profile ``(1 - exp((epsilon - eta)/2))^2 / (1 - exp(-eta))``; runs of selections by
    the value-function accountant.  Proof: ``proofs/bounded_range.md``.

    Examples
    --------
    >>> round(BoundedRangeDpEvent(1.0).delta(0.0), 6)
    0.244919
    """

    eta: float

    def __attrs_post_init__(self) -> None:
        _check(self.eta, "eta", zero=True)

    def profile(self, direction: Direction, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
        from discreet.accounting.bounded_range import profile

        return profile(self.eta, epsilon)

    def loss_range(self, direction: Direction, tail: float) -> tuple[float, float]:
        return -self.eta, self.eta

    def rdp(self, orders: ArrayLike) -> NDArray[np.float64]:
        from discreet.accounting.bounded_range import rdp

        return rdp(self.eta, orders)

    def pure(self) -> float:
        return float(self.eta)

    def spread(self) -> float:
        return float(self.eta) / 2

    def standard(self, kind: Literal["pld", "rdp"]) -> dp_event.DpEvent:
        from discreet.accounting.bounded_range import gaussian_mu

        if self.eta == 0:
            return dp_event.NoOpDpEvent()
        if kind == "rdp":
            return dp_event.ZCDpEvent(rho=math.nextafter(self.eta**2 / 8, math.inf))
        return dp_event.GaussianDpEvent(math.nextafter(1 / gaussian_mu(self.eta), 0))


@attr.s(frozen=True, slots=True, auto_attribs=True)
class ReplaceOneSampledDpEvent(DominatedDpEvent):
    r"""A sampled mechanism when neighbours differ by *replacing* a row.

    Each row takes part with the given probability: independently (Poisson), or as one of a batch of fixed size.
    `event` describes the mechanism on the sample, its numbers relative to the **replace-one** sensitivity (twice the
    bound on a row).  The amplification for add/remove is another theorem and another pair, so it has another event,
    ``dp_event.PoissonSampledDpEvent``.

    Notes
    -----
    *Privacy.* Guarantee: :math:`\delta(\log(1 + q(e^\epsilon - 1))) \le q\,\delta_0(\epsilon)` for epsilon at least
    0, and its mirror image below.  Neighbours: replace one.  Public: the probability, the sampled event.
    Bounded by: the pair of the sampled event.  Proof: ``proofs/subsampling.md``.

    Examples
    --------
    >>> event = ReplaceOneSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0))
    >>> event.delta(0.0) < 0.01
    True
    """

    sampling_probability: float
    event: dp_event.DpEvent

    def __attrs_post_init__(self) -> None:
        _unit(self.sampling_probability, "sampling_probability")

    def profile(self, direction: Direction, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
        from discreet.accounting.subsampling import replace_one_profile

        return replace_one_profile(self.sampling_probability, self.event, epsilon)

    def loss_range(self, direction: Direction, tail: float) -> tuple[float, float]:
        from discreet.accounting.subsampling import replace_one_range

        return replace_one_range(self.sampling_probability, self.event, tail)

    def rdp(self, orders: ArrayLike) -> NDArray[np.float64]:
        from discreet.accounting.subsampling import replace_one_rdp

        return replace_one_rdp(self.sampling_probability, self.event, orders)

    def pure(self) -> float:
        from discreet.accounting.pure import epsilon_of
        from discreet.accounting.subsampling import amplify

        return amplify(epsilon_of(self.event), 0.0, self.sampling_probability)[0]

    def spread(self) -> float:
        from discreet.accounting.subsampling import replace_one_spread

        return replace_one_spread(self.sampling_probability, self.event)


def compose(*events: dp_event.DpEvent) -> dp_event.DpEvent:
    """The events one after the other, each free to depend on what the earlier ones released.

    >>> compose(PureDpEvent(1.0)), compose()
    (PureDpEvent(epsilon=1.0), NoOpDpEvent())
    """
    if not events:
        return dp_event.NoOpDpEvent()
    return events[0] if len(events) == 1 else dp_event.ComposedDpEvent(list(events))


def repeat(event: dp_event.DpEvent, count: int) -> dp_event.DpEvent:
    """The same event `count` times.

    >>> repeat(PureDpEvent(1.0), 3)
    SelfComposedDpEvent(event=PureDpEvent(epsilon=1.0), count=3)
    """
    if isinstance(count, bool) or count != int(count) or count < 0:
        raise ValueError(f"count={count!r} must be a whole number, at least 0")
    return dp_event.NoOpDpEvent() if count == 0 else dp_event.SelfComposedDpEvent(event, int(count))


Run = tuple[dp_event.DpEvent, int]
_MAX_RUNS = 200_000


def leaves(event: dp_event.DpEvent) -> list[Run]:
    """The leaves of the tree in the order they were run, neighbouring equal ones counted together.

    Counts are worked out here and nowhere else, so no accountant can price a repeated event as a single one.

    >>> step = compose(PureDpEvent(1.0), BoundedRangeDpEvent(0.1))
    >>> [(type(e).__name__, n) for e, n in leaves(repeat(step, 2))]
    [('PureDpEvent', 1), ('BoundedRangeDpEvent', 1), ('PureDpEvent', 1), ('BoundedRangeDpEvent', 1)]
    >>> leaves(repeat(repeat(PureDpEvent(1.0), 3), 4))
    [(PureDpEvent(epsilon=1.0), 12)]
    """
    runs: list[Run] = []
    for leaf, count in _walk(event):
        if runs and runs[-1][0] == leaf:
            runs[-1] = (leaf, runs[-1][1] + count)
        else:
            runs.append((leaf, count))
            if len(runs) > _MAX_RUNS:
                raise ValueError(f"more than {_MAX_RUNS} different steps in a row; count equal steps with repeat()")
    return runs


def tally(event: dp_event.DpEvent) -> list[Run]:
    """Distinct leaves with how often each occurs, in order of first appearance.

    >>> step = compose(PureDpEvent(1.0), BoundedRangeDpEvent(0.1))
    >>> [n for _, n in tally(repeat(step, 500_000))]
    [500000, 500000]
    """
    counts: dict[Any, list[Any]] = {}
    for leaf, count in _bag(event):
        key = leaf if type(leaf).__hash__ else repr(leaf)
        entry = counts.setdefault((type(leaf), repr(key)), [leaf, 0])
        entry[1] += count
    return [(leaf, count) for leaf, count in counts.values()]


def _children(event: dp_event.DpEvent) -> tuple[list[dp_event.DpEvent], int] | None:
    if isinstance(event, dp_event.ComposedDpEvent):
        return list(event.events), 1
    if isinstance(event, dp_event.SelfComposedDpEvent):
        if event.count < 0:
            raise ValueError(f"count={event.count} of a repeated event must not be negative")
        return [event.event], int(event.count)
    return None


def _walk(event: dp_event.DpEvent) -> Iterator[Run]:
    if isinstance(event, dp_event.NoOpDpEvent):
        return
    family = _children(event)
    if family is None:
        yield event, 1
        return
    children, count = family
    inner = [run for child in children for run in leaves(child)]
    if len(inner) == 1:
        yield inner[0][0], inner[0][1] * count
        return
    for _ in range(count if inner else 0):
        yield from inner


def _bag(event: dp_event.DpEvent) -> Iterator[Run]:
    if isinstance(event, dp_event.NoOpDpEvent):
        return
    family = _children(event)
    if family is None:
        yield event, 1
        return
    for child in family[0]:
        for leaf, count in _bag(child):
            if count * family[1]:
                yield leaf, count * family[1]
