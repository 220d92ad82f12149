"""What was run, as trees of events: our own leaves beside those of ``dp_accounting``.

An event says *what happened*, in numbers that are already relative to the sensitivity under the caller's
neighbouring relation: ``GaussianDpEvent(2.0)`` is noise of twice the l2 sensitivity, whichever relation that
sensitivity was worked out for.  So the accountants always ask for add/remove, and ``replace_one`` never reaches them.
The one thing that does depend on the relation beyond the sensitivity is subsampling: see :mod:`.subsampling`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import attr
import numpy as np
from dp_accounting import dp_event
from numpy.typing import ArrayLike, NDArray

from discreet.accounting.trees import Run, compose, leaves, repeat, tally

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    from discreet.accounting.pmf import LossPmf

__all__ = [
    "ApproximateDpEvent",
    "BoundedRangeDpEvent",
    "DominatedDpEvent",
    "PureDpEvent",
    "ReplaceOneSampledDpEvent",
    "Run",
    "compose",
    "leaves",
    "repeat",
    "tally",
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

    Each row takes part with the given probability: independently (Poisson), or as one of a batch of fixed size
    (`fixed_size`).  `event` describes the mechanism on the sample, its numbers relative to the **replace-one**
    sensitivity, which must cover a missing row as well.  `missing` is how far a missing row can move the statistic, as
    a part of that sensitivity: one half where it is twice the bound on a row, as it is but for l2 sensitivities of
    monotone statistics (there, ``sqrt(1/2)``).  The amplification for add/remove is another theorem and another pair,
    so it has another event, ``dp_event.PoissonSampledDpEvent``.

    Notes
    -----
    *Privacy.* Guarantee: Poisson Gaussian, ``(1-q) N(0,1) + q N(missing mu,1)`` against its mirror image; otherwise
    ``delta(log(1 + q(e^eps - 1))) <= q delta_0(eps)``.  Neighbours: replace one.  Public: all fields.
    Bounded by: the pair of the sampled event.  Proof: ``proofs/subsampling.md``.

    Examples
    --------
    >>> event = ReplaceOneSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0))
    >>> event.delta(0.0) < 0.01
    True
    """

    sampling_probability: float
    event: dp_event.DpEvent
    fixed_size: bool = False
    missing: float = 0.5

    def __attrs_post_init__(self) -> None:
        _unit(self.sampling_probability, "sampling_probability")
        if not 0.5 <= self.missing <= 1:
            raise ValueError(
                f"missing={self.missing!r} must be between 1/2 and 1: two missing rows make a replaced one"
            )

    def profile(self, direction: Direction, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
        from discreet.accounting.subsampling import replace_one_profile

        return replace_one_profile(self, epsilon)

    def loss_range(self, direction: Direction, tail: float) -> tuple[float, float]:
        from discreet.accounting.subsampling import replace_one_range

        return replace_one_range(self, tail)

    def pmf(self, direction: Direction, step: float, tail: float) -> LossPmf:
        from discreet.accounting.leaf_losses import replaced_gaussian
        from discreet.accounting.pld import gaussian_mu

        mu = gaussian_mu(self.event)
        if mu and self.sampling_probability and not self.fixed_size:
            return replaced_gaussian(self.sampling_probability, self.missing * mu, step, tail)
        return super().pmf(direction, step, tail)

    def rdp(self, orders: ArrayLike) -> NDArray[np.float64]:
        from discreet.accounting.subsampling import replace_one_rdp

        return replace_one_rdp(self, orders)

    def pure(self) -> float:
        from discreet.accounting.pure import epsilon_of
        from discreet.accounting.subsampling import amplify

        return amplify(epsilon_of(self.event), 0.0, self.sampling_probability)[0]

    def spread(self) -> float:
        from discreet.accounting.subsampling import replace_one_spread

        return replace_one_spread(self)
