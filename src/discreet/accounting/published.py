"""Noise as it is printed in the sources, and the strength of a budget that step rules need.

Each function turns a budget into the parameter of one mechanism by the formula of its source.  None of them promises
anything: whoever uses one prices the event of what it prescribes, and refuses what that price does not cover.
"""

from __future__ import annotations

import math

from discreet.accounting.gdp import epsilon as epsilon_of
from discreet.accounting.gdp import mu_for
from discreet.privacy import Budget

__all__ = [
    "cai_peeling",
    "hard_thresholding_noise",
    "lasso_selection",
    "lecture_peeling",
    "lecture_selection",
    "part_of",
    "pure_part",
    "strength",
]


def strength(budget: Budget) -> float:
    """What step rules call the size of a budget: the mu of one Gaussian release, or epsilon where delta is 0.

    >>> round(strength(Budget(1, 1e-6)), 4), strength(Budget(0.5))
    (0.2367, 0.5)
    """
    return budget.epsilon if budget.is_pure else mu_for(budget.epsilon, budget.delta)


def pure_part(budget: Budget) -> Budget:
    """The same promise without its delta, which is stronger.

    >>> pure_part(Budget(0.5, 1e-6)) == Budget(0.5)
    True
    """
    return Budget(budget.epsilon, neighbors=budget.neighbors)


def part_of(budget: Budget, share: float) -> Budget:
    """The budget of a part that is priced alone: `share` of mu squared at the same delta, or of a pure epsilon.

    >>> part_of(Budget(1.0), 0.25).epsilon, round(part_of(Budget(1, 1e-6), 0.25).epsilon, 2)
    (0.25, 0.48)
    """
    if budget.is_pure:
        return Budget(budget.epsilon * share, neighbors=budget.neighbors)
    part = epsilon_of(strength(budget) * math.sqrt(share), budget.delta)
    return Budget(part, budget.delta, neighbors=budget.neighbors)


def _log(budget: Budget) -> float:
    if budget.is_pure:
        raise ValueError(f"{budget} has delta = 0, for which the printed noise is infinite; give delta > 0")
    return math.log(1 / budget.delta)


def lasso_selection(budget: Budget, n_steps: int) -> float:
    """Epsilon of one noisy minimum at the Laplace scale of the LASSO paper's Algorithm 2, line 3.

    The scale ``L |C|_1 sqrt(8 T log(1/delta)) / epsilon`` (of a sum), over the range of one row's scores: ``2 L |C|_1``
    when a row is there or not, twice that when it is replaced.  Sound in the first case.  In the second, which is
    the paper's own, its cost is 1.2 to 1.9 times epsilon from ten steps on.

    >>> round(lasso_selection(Budget(1, 1e-6), 100), 5)
    0.01902
    """
    return 2 * budget.neighbors.moves * budget.epsilon / math.sqrt(8 * n_steps * _log(budget))


def lecture_selection(budget: Budget, n_steps: int) -> float:
    """Epsilon of one noisy minimum at the Laplace scale of lecture 16, Algorithm 2, line 3.

    Twice the scale of :func:`lasso_selection`: ``2 L |C|_1 sqrt(8 T log(1/delta)) / epsilon``.  Sound in both
    relations, although the printed proof is not.

    >>> lecture_selection(Budget(1, 1e-6), 100) == lasso_selection(Budget(1, 1e-6), 100) / 2
    True
    """
    return lasso_selection(budget, n_steps) / 2


def hard_thresholding_noise(budget: Budget, n_steps: int, constant: float) -> float:
    """Noise multiplier of one gradient by Theorem 16.4 of lecture 16: ``sqrt(c T log(1/delta)) L / epsilon``.

    The factor L is missing in print and the constant open; relative to the sensitivity, L or twice L.  For
    replaced rows ``c = 32`` is sound for usual budgets and 5.2 is the least at epsilon 1; ``c = 1`` never is there.

    >>> round(hard_thresholding_noise(Budget(1, 1e-6), 100, 32.0), 1)
    210.3
    """
    return math.sqrt(constant * n_steps * _log(budget)) / (budget.epsilon * budget.neighbors.moves)


def lecture_peeling(budget: Budget) -> tuple[float, float]:
    """Epsilon and delta of each Peeling in lecture 16's Algorithm 6: the whole, since the parts are disjoint.

    >>> lecture_peeling(Budget(1, 1e-6))
    (1.0, 1e-06)
    """
    _log(budget)
    return budget.epsilon, budget.delta


def cai_peeling(budget: Budget, n_steps: int) -> tuple[float, float]:
    """Epsilon and delta of each Peeling on all rows: a T-th part, as Cai, Wang and Zhang print (basic composition).

    >>> cai_peeling(Budget(1, 1e-6), 10)
    (0.1, 1e-07)
    """
    _log(budget)
    return budget.epsilon / n_steps, budget.delta / n_steps
