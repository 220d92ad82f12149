"""Noise and ridge of least squares from noisy second moments, as printed."""

from __future__ import annotations

import math

from discreet.privacy import Budget

__all__ = ["adassp_noise", "adassp_ridge"]


def adassp_noise(budget: Budget) -> float:
    """Standard deviation over sensitivity of each of AdaSSP's three releases: ``sqrt(log(6/delta)) / (epsilon/3)``.

    Wang (2018), Algorithm 2.  That each release is (epsilon/3, delta/3)-private is false (.352 for .333 at epsilon 1);
    the three together are private with room, which the caller has certified.

    >>> round(adassp_noise(Budget(1, 1e-6)), 2)
    11.85
    """
    if budget.delta == 0:
        raise ValueError(f"{budget} has delta = 0, for which the printed noise is infinite; give delta > 0")
    return 3 * math.sqrt(math.log(6 / budget.delta)) / budget.epsilon


def adassp_ridge(budget: Budget, p: int, failure: float = 0.05) -> tuple[float, float]:
    """How far AdaSSP lowers the noisy eigenvalue, and the ridge it wants, both in units of the squared row norm.

    >>> [round(v, 1) for v in adassp_ridge(Budget(1, 1e-6), 10)]
    [46.8, 107.9]
    """
    log = math.log(6 / budget.delta)
    return 3 * log / budget.epsilon, 3 * math.sqrt(p * log * math.log(2 * p * p / failure)) / budget.epsilon
