"""Noise of gradient methods as it is printed in the sources, one function for each formula.

None of them promises anything: whoever uses one prices the event of what it prescribes, and refuses what that price
does not cover.  Sums over rows throughout; a noise multiplier is noise over the sensitivity of the sum.
"""

from __future__ import annotations

import math

from discreet.privacy import Budget, PrivacyError

__all__ = ["descent_noise", "sgd_noise", "zcdp_share"]


def _log(budget: Budget) -> float:
    if budget.is_pure:
        raise ValueError(f"{budget} has delta = 0, for which the printed noise is infinite; give delta > 0")
    return math.log(1 / budget.delta)


def descent_noise(budget: Budget, n_updates: int) -> float:
    """Noise multiplier of a full gradient or partial derivative, by the slides on private coordinate descent.

    ``sigma_j^2 = 8 Delta_j^2 T K log(1/delta) / (n epsilon)^2`` (of a mean) with ``Delta_j`` the sensitivity, whichever
    relation it is for.  Sound for full data as long as epsilon is below about ``9 log(1/delta)``, and 2.2 to 2.9 times
    more than needed.  *Not* sound for batches when few updates are made, for which the slides print it as well.

    >>> round(descent_noise(Budget(1, 1e-6), 100), 2)
    105.13
    """
    return math.sqrt(8 * n_updates * _log(budget)) / budget.epsilon


def sgd_noise(budget: Budget, n_steps: int, rate: float, theorem: str) -> float:
    """Noise multiplier of a batch's gradient by Theorems 3.1 and 3.2 of lecture 19, their constant taken as 1.

    ``sigma = L sqrt(T log(1/delta)) / (n epsilon)`` on a mean over ``m = q n`` rows is ``q sqrt(T log(1/delta)) /
    epsilon`` times the sensitivity of the sum; Theorem 3.2 has ``log(T/delta)`` under the root as well.  3.1 is false
    as printed ("for any m, T") where ``q sqrt(T)`` is small; 3.2 is loose, and needs it too not to be below the noise
    that one batch asks for.

    >>> round(sgd_noise(Budget(1, 1e-6), 1000, 0.1, "3.1"), 2), round(sgd_noise(Budget(1, 1e-6), 1000, 0.1, "3.2"), 2)
    (11.75, 53.51)
    """
    if theorem not in ("3.1", "3.2"):
        raise ValueError(f"theorem={theorem!r} is not one of '3.1', '3.2'")
    noise = rate * math.sqrt(n_steps * _log(budget)) / budget.epsilon
    return noise if theorem == "3.1" else noise * math.sqrt(math.log(n_steps / budget.delta))


def zcdp_share(budget: Budget) -> float:
    """The rho with ``rho + 2 sqrt(rho log(1/delta)) = epsilon``: Lemma 3.8 of the slides on adaptive descent.

    Sound; 12 to 45 per cent more noise than the tight conversion.  Its noisy maximum is printed for sums that a row
    can only add to, so replaced rows are refused.

    >>> round(zcdp_share(Budget(1, 1e-6)), 5)
    0.01747
    """
    if budget.neighbors.moves == 2:
        raise PrivacyError(
            "the published step selection adds noise for rows that are there or not; for replace_one it would need "
            "twice as much: use accounting='tight'"
        )
    log = _log(budget)
    root = budget.epsilon / (math.sqrt(log + budget.epsilon) + math.sqrt(log))
    return root * root * (1 - 1e-15)
