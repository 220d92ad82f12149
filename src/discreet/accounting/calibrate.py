r"""What a tree of events costs, and how much noise a budget asks for: the one place where epsilon is worked out.

Each accountant is a valid upper bound where it applies, so the smallest of those that do is one, too.  ``"auto"``:
nothing but Gaussians, the closed form; selections, the value function (and the Renyi curve, which takes over when
there are very many); everything else loss distributions where all leaves have them, the Renyi curve where not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from dp_accounting import dp_event

from discreet.accounting import bounded_range, composition, gdp, pld, pure, rdp, zcdp
from discreet.accounting.events import BoundedRangeDpEvent, DominatedDpEvent, Run, leaves, positive, tally
from discreet.privacy import Budget, Neighbours, PrivacyError

__all__ = ["ACCOUNTANTS", "calibrate", "clip_shares", "delta", "epsilon", "spent", "steps_for", "to_standard"]

MakeEvent = Callable[[float], dp_event.DpEvent]


@dataclass(frozen=True)
class _Accountant:
    """Epsilon at a delta, delta at an epsilon (None: by inversion), and the trees it reads."""

    epsilon: Callable[[dp_event.DpEvent, float], float]
    delta: Callable[[dp_event.DpEvent, float], float] | None
    reads: Callable[[list[Run]], bool]


def _by_gdp(event: dp_event.DpEvent, delta: float) -> float:
    return gdp.epsilon(_mu(event), delta) if math.isfinite(_mu(event)) else math.inf


def _mu(event: dp_event.DpEvent) -> float:
    mu = pld.gaussian_mu(event)
    if mu is None:
        raise ValueError("the closed form covers trees of Gaussian mechanisms only")
    return mu


def _all_supported(runs: list[Run]) -> bool:
    return all(pld.supported(leaf) for leaf, _ in runs)


def _some_selection(runs: list[Run]) -> bool:
    return any(isinstance(leaf, BoundedRangeDpEvent) for leaf, _ in runs)


ACCOUNTANTS: dict[str, _Accountant] = {
    "gdp": _Accountant(
        _by_gdp, lambda e, x: gdp.delta(_mu(e), x), lambda r: all(pld.gaussian_multiplier(leaf) is not None for leaf, _ in r)
    ),
    "value_function": _Accountant(
        bounded_range.epsilon, bounded_range.delta, lambda r: _all_supported(r) and _some_selection(r)
    ),
    "pld": _Accountant(pld.epsilon, pld.delta, _all_supported),
    "rdp": _Accountant(rdp.epsilon, rdp.delta, lambda _: True),
    "moments": _Accountant(rdp.epsilon, rdp.delta, lambda _: True),
    "zcdp": _Accountant(
        lambda e, d: zcdp.epsilon(zcdp.rho_of(e), d), lambda e, x: zcdp.delta(zcdp.rho_of(e), x), lambda _: True
    ),
    "basic": _Accountant(composition.basic, None, lambda _: True),
    "advanced": _Accountant(composition.advanced, None, lambda _: True),
}


def _checked(event: dp_event.DpEvent, accountant: str) -> tuple[list[Run], list[str]]:
    """The tree's leaves, and the accountants to ask."""
    runs = tally(event)
    if accountant != "auto":
        if accountant not in ACCOUNTANTS:
            raise ValueError(f"accountant={accountant!r} is not one of 'auto', {', '.join(map(repr, ACCOUNTANTS))}")
        if not ACCOUNTANTS[accountant].reads(runs):
            raise ValueError(f"the {accountant!r} accountant can't read {event!r}; use accountant='auto'")
        return runs, [accountant]
    if ACCOUNTANTS["gdp"].reads(runs):
        return runs, ["gdp"]
    if ACCOUNTANTS["value_function"].reads(runs):
        return runs, ["value_function", "rdp", "zcdp", "basic"]
    if _all_supported(runs):
        return runs, ["pld", "basic"]
    return runs, ["rdp", "zcdp", "basic"]


def _lost(runs: list[Run]) -> bool:
    """Whether some leaf promises nothing at all."""
    return any(isinstance(leaf, dp_event.NonPrivateDpEvent) or _noiseless(leaf) for leaf, _ in runs)


def _noiseless(leaf: dp_event.DpEvent) -> bool:
    if isinstance(leaf, (dp_event.PoissonSampledDpEvent, dp_event.RepeatAndSelectDpEvent)):
        return getattr(leaf, "sampling_probability", 1) != 0 and _lost(tally(leaf.event))
    return 0 in (getattr(leaf, "noise_multiplier", 1), getattr(leaf, "noise_parameter", 1)) and not isinstance(
        leaf, DominatedDpEvent
    )


def epsilon(event: dp_event.DpEvent, delta: float, *, accountant: str = "auto") -> float:
    """An epsilon for which the tree is (epsilon, `delta`)-private: never below the exact one.

    Parameters
    ----------
    event : DpEvent
        A tree of events; their numbers are relative to sensitivities under the relation that is meant.
    delta : float
        Between 0 and 1; 0 asks for pure differential privacy.
    accountant : str, default="auto"
        ``"auto"``, or a key of ``ACCOUNTANTS``.

    Returns
    -------
    float
        Infinite where nothing is promised.

    Notes
    -----
    *Privacy.* Guarantee: (epsilon, delta)-DP of the composition, steps adaptive but their schedule fixed.
    Neighbours: those of the events.  Public: the events.  Bounded by: the smallest of the accountants that apply.
    Proof: ``proofs/accounting.md``.

    Examples
    --------
    >>> round(epsilon(dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(40.0), 100), 1e-6), 4)
    1.0607
    >>> epsilon(dp_event.LaplaceDpEvent(0.5), 0)
    2.0
    """
    d = float(delta)
    if not 0 <= d <= 1:
        raise ValueError(f"delta={delta!r} must be between 0 and 1")
    runs, names = _checked(event, accountant)
    if _lost(runs):
        return math.inf if d < 1 else 0.0
    if d == 0 and accountant == "auto":
        return pure.epsilon_of(event)
    return min(ACCOUNTANTS[name].epsilon(event, d) for name in names)


def delta(event: dp_event.DpEvent, epsilon: float, *, accountant: str = "auto") -> float:
    """A delta for which the tree is (`epsilon`, delta)-private: never below the exact one.

    Notes
    -----
    *Privacy.* Guarantee: (epsilon, delta)-DP of the composition.  Neighbours: those of the events.
    Public: the events.  Bounded by: as :func:`epsilon`.  Proof: ``proofs/accounting.md``.

    Examples
    --------
    >>> round(delta(dp_event.GaussianDpEvent(1.0), 1.0), 6)
    0.126937
    """
    eps = positive(epsilon, "epsilon", zero=True)
    runs, names = _checked(event, accountant)
    if _lost(runs):
        return 1.0
    if pure.epsilon_of(event) <= eps:
        return 0.0
    answers = [1.0]
    for name in names:
        one = ACCOUNTANTS[name]
        answers.append(one.delta(event, eps) if one.delta else _inverted(one.epsilon, event, eps))
    return min(answers)


def _inverted(price: Callable[[dp_event.DpEvent, float], float], event: dp_event.DpEvent, eps: float) -> float:
    low, high = -700.0, 0.0  # log delta
    if price(event, math.exp(low)) <= eps:
        return math.exp(low)
    if price(event, 1 - 1e-12) > eps:
        return 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (low, middle) if price(event, math.exp(middle)) <= eps else (middle, high)
    return math.exp(high)


def spent(event: dp_event.DpEvent, delta: float, *, neighbors: Neighbours | str = Neighbours.ZERO_OUT) -> Budget:
    """The price of a tree as a :class:`~discreet.privacy.Budget`.

    Notes
    -----
    *Privacy.* Guarantee: the budget returned.  Neighbours: `neighbors`, which the caller's sensitivities were for.
    Public: the events.  Bounded by: :func:`epsilon`.  Proof: ``proofs/accounting.md``.

    Examples
    --------
    >>> spent(dp_event.LaplaceDpEvent(2.0), 0)
    Budget(epsilon=0.5, neighbors='zero_out')
    """
    return Budget(epsilon=epsilon(event, delta), delta=delta, neighbors=neighbors)


def _excess(event: dp_event.DpEvent, budget: Budget, accountant: str) -> float:
    """Logarithm of price over budget: at most 0 when the event fits.  Smooth in the noise, so roots are found fast."""
    if budget.kind == "dp" and budget.delta > 0 and budget.epsilon > 0:
        if accountant == "auto" and ACCOUNTANTS["pld"].reads(tally(event)) and not _lost(tally(event)):
            names = _checked(event, accountant)[1]
            if names[0] == "pld" and pure.epsilon_of(event) > budget.epsilon:
                return math.log(pld.delta(event, budget.epsilon, expected=budget.delta) / budget.delta) / 10
        price, limit = epsilon(event, budget.delta, accountant=accountant), budget.epsilon
    elif budget.kind == "dp":
        price, limit = epsilon(event, budget.delta, accountant=accountant), budget.epsilon
    elif budget.kind == "zcdp":
        price, limit = zcdp.rho_of(event), budget.rho
    else:
        mu = pld.gaussian_mu(to_standard(event, "pld"))
        price, limit = math.inf if mu is None else mu, budget.mu
    if price <= limit:
        return math.log(price / limit) if price > 0 and limit > 0 else -50.0
    return math.log(price / limit) if limit > 0 and math.isfinite(price) else 50.0


def calibrate(
    make_event: MakeEvent,
    budget: Budget,
    *,
    accountant: str = "auto",
    increasing: bool = False,
    start: float = 1.0,
    rtol: float = 1e-7,
) -> float:
    """The least noise whose event fits the budget, rounded to the private side and checked once more.

    Parameters
    ----------
    make_event : callable
        From the noise (any positive number) to its event; more noise must cost less.
    budget : Budget
        Of any kind.
    accountant : str, default="auto"
        As in :func:`epsilon`.
    increasing : bool, default=False
        True when the number is not a noise but a cost (an epsilon, an eta): the largest that fits is returned.
    start : float, default=1.0
        Where to begin looking.
    rtol : float, default=1e-7
        How far from the exact answer, relatively, the result may be; always on the private side.

    Returns
    -------
    float
        A number whose event has been priced and fits.

    Notes
    -----
    *Privacy.* Guarantee: `budget` for the event of the returned number.  Neighbours: those of `budget`.
    Public: everything.  Bounded by: a price within the budget at exactly that number.  Proof: ``proofs/accounting.md``.

    Examples
    --------
    >>> sigma = calibrate(dp_event.GaussianDpEvent, Budget(epsilon=1, delta=1e-6))
    >>> round(sigma, 4)
    4.2247
    >>> epsilon(dp_event.GaussianDpEvent(sigma), 1e-6) <= 1
    True
    """
    start = positive(start, "start")
    sign = -1.0 if increasing else 1.0

    def excess(x: float) -> float:
        return _excess(make_event(math.exp(sign * x)), budget, accountant)

    x = sign * math.log(start)  # more is more private
    value = excess(x)
    step = math.copysign(min(max(abs(value), 1e-3), 1.0), value if value else -1.0)
    other, at_other = x, value
    while (value > 0) == (at_other > 0):
        x, value = other, at_other
        other = x + step
        at_other = excess(other)
        step *= 2
        if abs(other) > 80:
            raise PrivacyError(f"no noise between e^-80 and e^80 makes the event cost {budget}; is it the right event?")
    low, f_low, high, f_high = (x, value, other, at_other) if value > 0 else (other, at_other, x, value)
    return math.exp(sign * _bracketed(excess, low, f_low, high, f_high, rtol))


def _bracketed(
    excess: Callable[[float], float], low: float, f_low: float, high: float, f_high: float, rtol: float
) -> float:
    """The end of the bracket that fits, once the bracket is narrow: secants aimed a little to the private side."""
    for turn in range(200):
        if high - low <= rtol:
            break
        if turn % 5 == 4 or not (math.isfinite(f_low) and math.isfinite(f_high)):
            x = (low + high) / 2
        else:
            x = low + (high - low) * f_low / (f_low - f_high)
            x = min(max(x + rtol / 3 * (1 if turn % 2 == 0 else -1), low + rtol / 4), high - rtol / 4)
        value = excess(x)
        if value <= 0:
            high, f_high = x, value
        else:
            low, f_low = x, value
    return high


def steps_for(make_event: Callable[[int], dp_event.DpEvent], budget: Budget, *, accountant: str = "auto") -> int:
    """The most steps whose event fits the budget (0 if not even one does).

    Notes
    -----
    *Privacy.* Guarantee: `budget` for the event of that many steps.  Neighbours: those of `budget`.
    Public: everything.  Bounded by: a price within the budget.  Proof: ``proofs/accounting.md``.

    Examples
    --------
    >>> step = dp_event.GaussianDpEvent(50.0)
    >>> steps_for(lambda n: dp_event.SelfComposedDpEvent(step, n), Budget(epsilon=1, delta=1e-6))
    140
    """

    def fits(count: int) -> bool:
        return _excess(make_event(count), budget, accountant) <= 0

    if not fits(1):
        return 0
    low, high = 1, 2
    while fits(high):
        low, high = high, 2 * high
        if high > 2**60:
            raise PrivacyError(f"any number of steps fits {budget}: the event seems to cost nothing")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def clip_shares(bounds: list[float], curvature: list[float] | None = None) -> list[float]:
    r"""How to share one Gaussian release among parts with their own sensitivities.

    Part j gets noise of standard deviation ``share_j`` times the noise multiplier of the whole, so that
    :math:`\sum_j (\Delta_j / \text{share}_j)^2 = 1`: together they cost exactly what one release of sensitivity 1
    costs.  With curvatures M, :math:`\text{share}_j^2 \propto \Delta_j\sqrt{M_j}`, which minimises
    :math:`\sum \sigma_j^2 / M_j`.

    Notes
    -----
    *Privacy.* Guarantee: the parts together are one Gaussian event.  Neighbours: those of `bounds`.
    Public: both lists.  Bounded by: additivity of mu squared.  Proof: ``proofs/gdp.md``.

    Examples
    --------
    >>> shares = clip_shares([3.0, 1.0])
    >>> round(sum((b / s) ** 2 for b, s in zip([3.0, 1.0], shares)), 12)
    1.0
    """
    delta = [positive(b, "bound") for b in bounds]
    m = [1.0] * len(delta) if curvature is None else [positive(c, "curvature") for c in curvature]
    if not delta or len(m) != len(delta):
        raise ValueError(f"{len(m)} curvatures for {len(delta)} bounds; give one each, at least one")
    raw = [math.sqrt(d * math.sqrt(c)) for d, c in zip(delta, m, strict=True)]
    cost = math.sqrt(math.fsum((d / r) ** 2 for d, r in zip(delta, raw, strict=True)))
    return [r * cost * (1 + 1e-15) for r in raw]


def to_standard(event: dp_event.DpEvent, kind: Literal["pld", "rdp"]) -> dp_event.DpEvent:
    """A tree of ``dp_accounting``'s own events, no more private than `event`, that its accountants read.

    Notes
    -----
    *Privacy.* Guarantee: every bound on the result is one on `event`.  Neighbours: add/remove for the reader, whatever
    the relation.  Public: the events.  Bounded by: leaf-by-leaf domination.  Proof: ``proofs/accounting.md``.

    Examples
    --------
    >>> to_standard(BoundedRangeDpEvent(0.2), "rdp")
    ZCDpEvent(rho=0.005000000000000002, xi=0.0)
    """
    if kind not in ("pld", "rdp"):
        raise ValueError(f"kind={kind!r} must be 'pld' or 'rdp'")
    parts = [_standard_run(leaf, count, kind) for leaf, count in leaves(event)]
    if not parts:
        return dp_event.NoOpDpEvent()
    return parts[0] if len(parts) == 1 else dp_event.ComposedDpEvent(parts)


def _standard_run(leaf: dp_event.DpEvent, count: int, kind: Literal["pld", "rdp"]) -> dp_event.DpEvent:
    multiplier = pld.gaussian_multiplier(leaf)
    if multiplier is not None:
        leaf = dp_event.GaussianDpEvent(multiplier)
    elif isinstance(leaf, DominatedDpEvent):
        leaf = leaf.standard(kind)
    elif isinstance(leaf, dp_event.PoissonSampledDpEvent):
        mu = pld.gaussian_mu(leaf.event)
        inner = dp_event.GaussianDpEvent(1 / mu) if mu else to_standard(leaf.event, kind)
        leaf = dp_event.PoissonSampledDpEvent(leaf.sampling_probability, inner)
        if kind == "rdp" and not mu:
            leaf = _as_zcdp(leaf)
    elif isinstance(leaf, (dp_event.DiscreteLaplaceDpEvent, dp_event.RandomizedResponseDpEvent)) and kind == "rdp":
        leaf = _as_zcdp(leaf)
    elif isinstance(leaf, dp_event.RandomizedResponseDpEvent):
        leaf = dp_event.DiscreteLaplaceDpEvent(pure.epsilon_of(leaf), 1)
    elif isinstance(leaf, dp_event.ZCDpEvent) and kind == "pld":
        raise ValueError(f"{leaf!r} is known by its Renyi curve only; use to_standard(event, 'rdp')")
    return dp_event.SelfComposedDpEvent(leaf, count) if count > 1 else leaf


def _as_zcdp(leaf: dp_event.DpEvent) -> dp_event.DpEvent:
    rho = zcdp.rho_of(leaf)
    if not math.isfinite(rho):
        raise ValueError(f"{leaf!r} has no finite rho, so no event that the 'rdp' accountant reads dominates it")
    return dp_event.ZCDpEvent(rho)
