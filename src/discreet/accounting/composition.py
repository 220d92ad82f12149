r"""Composition as the source texts do it, as accountants to compare with.

Each leaf is known only by an :math:`\epsilon_i`; *basic* adds them up, *advanced* is
:math:`\sqrt{2\log(1/\delta)\sum\epsilon_i^2} + \sum \epsilon_i (e^{\epsilon_i}-1)/(e^{\epsilon_i}+1)` (Kairouz, Oh and
Viswanath, 2015, Theorem 3.5; Dwork, Rothblum and Vadhan, 2010, with :math:`e^\epsilon - 1` in the last term).  Both
are valid wherever they apply, and no better than the others here.  The moments accountant is :mod:`.rdp`.
"""

from __future__ import annotations

import math

from dp_accounting import dp_event

from discreet.accounting import pure
from discreet.accounting.events import tally

__all__ = ["advanced", "basic", "share_for_advanced"]


def basic(event: dp_event.DpEvent, delta: float = 0.0) -> float:
    """The sum of the leaves' pure epsilons (any delta will do, none is used).

    Notes
    -----
    *Privacy.* Guarantee: epsilon-DP.  Neighbours: those of the events.  Public: the events.
    Bounded by: the sum.  Proof: ``proofs/composition.md``.

    Examples
    --------
    >>> basic(dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(10.0), 5))
    0.5
    """
    return pure.epsilon_of(event)


def advanced(event: dp_event.DpEvent, delta: float) -> float:
    """Advanced composition of the leaves' pure epsilons, or the basic one where that is smaller.

    Notes
    -----
    *Privacy.* Guarantee: (epsilon, delta)-DP.  Neighbours: those of the events.  Public: the events, `delta`.
    Bounded by: Azuma's inequality on the losses.  Proof: ``proofs/composition.md``.

    Examples
    --------
    >>> round(advanced(dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(100.0), 100), 1e-6), 3)
    0.531
    """
    each = [(pure.epsilon_of(leaf), count) for leaf, count in tally(event)]
    total = math.fsum(e * n for e, n in each) if all(math.isfinite(e) for e, _ in each) else math.inf
    if not 0 < delta < 1 or not math.isfinite(total):
        return total
    squares = math.fsum(n * e * e for e, n in each)
    drift = math.fsum(n * e * math.tanh(e / 2) for e, n in each)
    return min(total, (math.sqrt(-2 * math.log(delta) * squares) + drift) * (1 + 1e-14))


def share_for_advanced(epsilon: float, delta: float, steps: int) -> float:
    r"""The step's epsilon that the lectures take from advanced composition: :math:`\epsilon/\sqrt{8 T\log(1/\delta)}`.

    A figure to compare with, not a calibration: nothing here checks that it suffices.

    >>> round(share_for_advanced(1.0, 1e-6, 100), 6)
    0.009512
    """
    if steps < 1 or not 0 < delta < 1:
        raise ValueError(f"steps={steps!r} must be at least 1 and delta={delta!r} strictly between 0 and 1")
    return epsilon / math.sqrt(8 * steps * math.log(1 / delta))
