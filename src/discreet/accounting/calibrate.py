r"""What a tree of events costs, and how much noise a budget asks for: the one place where epsilon is worked out.

Each accountant is a valid upper bound where it applies, so the smallest of those that do is one, too.  ``"auto"``:
nothing but Gaussians, the closed form; selections, the value function (and the Renyi curve, which takes over when
there are very many); everything else loss distributions where all leaves have them, the Renyi curve where not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from dp_accounting import dp_event

from discreet.accounting import bounded_range, composition, gdp, pld, pure, rdp, zcdp
from discreet.accounting.events import BoundedRangeDpEvent, DominatedDpEvent, Run, positive, tally
from discreet.accounting.standard import to_standard
from discreet.privacy import Budget, Neighbours, PrivacyError

__all__ = ["ACCOUNTANTS", "calibrate", "delta", "epsilon", "spent", "steps_for"]

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
        _by_gdp,
        lambda e, x: gdp.delta(_mu(e), x),
        lambda runs: all(pld.gaussian_multiplier(leaf) is not None for leaf, _ in runs),
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


def _price(event: dp_event.DpEvent, budget: Budget, accountant: str) -> float:
    """What the event costs, over what the budget has: at most 1 when it fits."""
    if budget.kind == "dp":
        price, limit = epsilon(event, budget.delta, accountant=accountant), budget.epsilon
    elif budget.kind == "zcdp":
        price, limit = zcdp.rho_of(event), budget.rho
    else:
        mu = pld.gaussian_mu(to_standard(event, "pld"))
        price, limit = math.inf if mu is None else mu, budget.mu
    return 0.0 if price == 0 else price / limit if limit > 0 else math.inf


def _excess(event: dp_event.DpEvent, budget: Budget, accountant: str, rough: bool = False) -> float:
    """Logarithm of price over budget, at most 0 when the event fits.

    Where a price takes an inner search it compares deltas instead, and `rough` gives a cheap figure to start from.
    """
    if budget.kind == "dp" and budget.delta > 0 and 0 < budget.epsilon < pure.epsilon_of(event):
        runs, names = _checked(event, accountant)
        size = None
        if names[0] == "pld" and not _lost(runs):
            size = pld.delta(event, budget.epsilon, expected=budget.delta, coarser=6.0 if rough else 1.0)
        elif names[0] == "value_function" and not _lost(runs):
            size = min(
                rdp.delta(event, budget.epsilon), bounded_range.delta(event, budget.epsilon, cells=8 if rough else None)
            )
        if size is not None:
            return math.log(max(size, 1e-300) / budget.delta) / 10
    price = _price(event, budget, accountant)
    return math.log(price) if 0 < price < math.inf else 50.0 if price else -50.0


def calibrate(
    make_event: MakeEvent,
    budget: Budget,
    *,
    accountant: str = "auto",
    increasing: bool = False,
    start: float = 1.0,
    rtol: float = 1e-6,
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
    rtol : float, default=1e-6
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
    sign = -1.0 if increasing else 1.0
    x = sign * math.log(positive(start, "start"))  # more is more private

    def excess(x: float, rough: bool = False) -> float:
        return _excess(make_event(math.exp(sign * x)), budget, accountant, rough)

    slope = 0.0
    if rtol < 1e-3:  # rough prices first, so that few exact ones are needed
        x, slope = _root(lambda x: excess(x, True), x, slope, 3e-4, budget)
    x, _ = _root(excess, x, slope, rtol, budget)
    for _ in range(20):
        noise = math.exp(sign * x)
        if _price(make_event(noise), budget, accountant) <= 1:
            return noise
        x += rtol / 10
    raise PrivacyError(f"the price near {noise:g} does not settle within {budget}; ask for a larger rtol")


def _root(excess: Callable[[float], float], x: float, slope: float, rtol: float, budget: Budget) -> tuple[float, float]:
    """A point with excess at most 0 and within `rtol` of one that is positive: secants inside a bracket.

    Also returns the slope there, which the next search may begin with (0 if unknown).
    """
    points = [(x, excess(x))]
    reach = abs(points[0][1] / slope) * 1.001 + rtol / 3 if slope else 1.0
    while points[-1][1] <= 0 or len(points) == 1 or points[0][1] > 0:  # until the bracket has both signs
        far = points[-1][0] + math.copysign(reach, points[0][1] if points[0][1] else -1.0)
        points.append((far, excess(far)))
        if (points[-1][1] > 0) != (points[0][1] > 0):
            break
        reach *= 2
        if abs(far) > 80:
            raise PrivacyError(f"no number from e^-80 to e^80 makes the event cost {budget}; is it the right event?")
    (x0, f0), (x1, f1) = points[-2:]
    low, high = (x0, x1) if f0 > 0 else (x1, x0)
    for turn in range(200):
        if abs(high - low) <= rtol:
            break
        new = x1 - f1 * (x1 - x0) / (f1 - f0) if f1 != f0 else math.nan
        # aim past the root by a third of the tolerance, towards the far end, so that the bracket closes from both sides
        new += math.copysign(rtol / 3, (low + high) / 2 - new)
        if not low < new < high or turn % 8 == 7:
            new = (low + high) / 2
        (x0, f0), (x1, f1) = (x1, f1), (new, excess(new))
        low, high = (low, x1) if f1 <= 0 else (x1, high)
    return high, (f1 - f0) / (x1 - x0)


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
