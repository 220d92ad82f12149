r"""Zero-concentrated differential privacy: rho adds up, and converts by the tight formula.

The conversion is that of Canonne, Kamath and Steinke (2020, Corollary 13):
:math:`\delta = \min_{a>1} e^{(a-1)(a\rho-\epsilon)} (1-1/a)^{a-1} / a`.  Every order gives a valid bound, so the
search for the best one needs no certificate.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from dp_accounting import dp_event

from discreet.accounting import pure
from discreet.accounting.events import BoundedRangeDpEvent, DominatedDpEvent, positive, tally
from discreet.accounting.pld import gaussian_multiplier

__all__ = ["delta", "epsilon", "rho_for", "rho_of"]


def _best(objective: Callable[[float], float], low: float = -40.0, high: float = 40.0) -> float:
    """Least value of `objective` over ``log(order - 1)``, by golden section; it has one valley."""
    ratio = (math.sqrt(5) - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    fa, fb = objective(a), objective(b)
    while high - low > 1e-7:
        if fa <= fb:
            high, b, fb = b, a, fa
            a = high - ratio * (high - low)
            fa = objective(a)
        else:
            low, a, fa = a, b, fb
            b = low + ratio * (high - low)
            fb = objective(b)
    return min(fa, fb)


def delta(rho: float, epsilon: float) -> float:
    """A delta such that rho-zCDP implies (epsilon, delta)-DP.

    Notes
    -----
    *Privacy.* Guarantee: (epsilon, delta)-DP.  Neighbours: those of `rho`.  Public: both numbers.
    Bounded by: Canonne, Kamath and Steinke (2020), Corollary 13.  Proof: ``proofs/accounting.md``.

    Examples
    --------
    >>> round(delta(0.1, 2.0), 8)
    4.33e-06
    """
    if math.isinf(rho):
        return 1.0
    rho, eps = positive(rho, "rho", zero=True), float(epsilon)
    if rho == 0:
        return 0.0

    def log_delta(x: float) -> float:
        above = math.exp(x)  # order - 1
        return above * ((1 + above) * rho - eps) - above * math.log1p(1 / above) - math.log1p(above)

    return min(1.0, math.exp(min(_best(log_delta), 0.0)) * (1 + 1e-12))


def epsilon(rho: float, delta: float) -> float:
    """An epsilon such that rho-zCDP implies (epsilon, delta)-DP.

    Notes
    -----
    *Privacy.* Guarantee: (epsilon, delta)-DP.  Neighbours: those of `rho`.  Public: both numbers.
    Bounded by: Canonne, Kamath and Steinke (2020), Corollary 13.  Proof: ``proofs/accounting.md``.

    Examples
    --------
    >>> round(epsilon(0.02436, 1e-6), 3)
    1.0
    """
    if math.isinf(rho):
        return math.inf
    rho = positive(rho, "rho", zero=True)
    if rho == 0 or delta >= 1:
        return 0.0
    if delta <= 0:
        return math.inf
    log_delta = math.log(delta)

    def value(x: float) -> float:
        above = math.exp(x)
        return (1 + above) * rho - math.log1p(1 / above) - (log_delta + math.log1p(above)) / above

    return max(0.0, _best(value)) * (1 + 1e-12)


_epsilon = epsilon  # under a name that parameters do not hide


def rho_for(epsilon: float, delta: float) -> float:
    """The largest rho whose :func:`epsilon` stays within the budget, rounded down.

    >>> round(rho_for(1.0, 1e-6), 5)
    0.02436
    """
    target, d = positive(epsilon, "epsilon"), positive(delta, "delta")
    low, high = 0.0, max(target, 1.0)

    def fits(rho: float) -> bool:
        return _epsilon(rho, d) <= target

    while fits(high):
        low, high = high, 2 * high
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def rho_of(event: dp_event.DpEvent) -> float:
    """The rho of the tree: a sum over its leaves; infinite where a leaf has none.

    Notes
    -----
    *Privacy.* Guarantee: rho-zCDP.  Neighbours: those of the events.  Public: the events.
    Bounded by: additivity (Bun and Steinke, 2016).  Proof: ``proofs/composition.md``.

    Examples
    --------
    >>> rho_of(dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(2.0), 8))
    1.0
    """
    return math.fsum(_rho(leaf) * count for leaf, count in tally(event))


def _rho(leaf: dp_event.DpEvent) -> float:
    multiplier = gaussian_multiplier(leaf)
    if multiplier is not None:
        return 0.5 / multiplier**2 if multiplier else math.inf
    if isinstance(leaf, dp_event.ZCDpEvent):
        return float(leaf.rho) if leaf.xi == 0 else math.inf
    if isinstance(leaf, BoundedRangeDpEvent):
        return min(leaf.eta**2 / 8, pure.to_zcdp(leaf.eta))
    best = pure.epsilon_of(leaf)
    rho = pure.to_zcdp(best) if math.isfinite(best) else math.inf
    if isinstance(leaf, DominatedDpEvent):
        try:
            standard = leaf.standard("rdp")
        except ValueError:
            return rho
        return min(rho, rho_of(standard))
    return rho
