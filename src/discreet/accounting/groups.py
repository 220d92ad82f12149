"""From rows to groups of rows: what each of k rows may spend so that all of them together keep a budget.

The one place where k rows of a person become one promise; every estimator with ``rows_per_person`` above one reads it.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dp_accounting import dp_event

from discreet.accounting.calibrate import epsilon as row_epsilon
from discreet.privacy import Budget

__all__ = ["each_of", "group_epsilon", "growth"]

ROUNDING = 1 + 1e-12  # above the relative error of a float sum of exponentials


def growth(epsilon: float, k: int) -> float:
    """By what delta grows on the way from one row to `k`, each at `epsilon`: ``sum of exp(i epsilon), i < k``; up.

    >>> growth(0.0, 3) >= 3, growth(0.5, 1)
    (True, 1.0)
    """
    return 1.0 if k == 1 else math.fsum(math.exp(i * epsilon) for i in range(k)) * ROUNDING


def each_of(budget: Budget, k: int) -> Budget:
    """The budget of one row of which any `k` together keep `budget`.

    Parameters
    ----------
    budget : Budget
        An (epsilon, delta) budget for a group.
    k : int
        The number of rows in a group.

    Notes
    -----
    *Privacy.* Guarantee: what keeps the result for one row keeps `budget` for `k` rows.  Neighbours: those of the
    budget, one row at a time.  Public: `k`.  Bounded by: both numbers rounded down.  Proof: ``proofs/people.md``.

    Examples
    --------
    >>> each_of(Budget(1), 4)
    Budget(epsilon=0.25, neighbors='zero_out')
    >>> one = each_of(Budget(1, 1e-6), 2)
    >>> one.epsilon, one.delta * (1 + math.exp(0.5)) <= 1e-6
    (0.5, True)
    """
    if isinstance(k, bool) or int(k) != k or k < 1:
        raise ValueError(f"k={k!r} rows must be a whole number, at least 1")
    if k == 1:
        return budget
    whole, delta = Fraction(repr(budget.epsilon)), budget.delta
    share = _down(whole / int(k))
    if delta == 0:
        return Budget(share, neighbors=budget.neighbors)
    return Budget(share, _down(Fraction(repr(delta)) / Fraction(growth(share, int(k)))), neighbors=budget.neighbors)


def _down(exact: Fraction) -> float:
    """The float below, as a budget will read it: at its shortest decimal."""
    near = float(exact)
    while Fraction(repr(near)) > exact:
        near = math.nextafter(near, 0.0)
    return near


def group_epsilon(event: dp_event.DpEvent, budget: Budget, k: int) -> float:
    """The epsilon of `k` rows together, at the delta of `budget`, for an event that prices one row.

    It is at most the budget's where the event keeps :func:`each_of` it.

    >>> from discreet.accounting import gdp
    >>> whole = Budget(1, 1e-6)
    >>> one = each_of(whole, 3)
    >>> event = dp_event.GaussianDpEvent(1 / gdp.mu_for(one.epsilon, one.delta))
    >>> round(group_epsilon(event, whole, 3), 6)
    1.0
    """
    return int(k) * row_epsilon(event, each_of(budget, k).delta)
