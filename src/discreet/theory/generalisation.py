"""Privacy for free: the sample size from which the privacy error is below the generalisation error."""

from __future__ import annotations

import math
from collections.abc import Callable

from discreet.penalties import L1Ball
from discreet.theory.checks import at_least_one, positive
from discreet.theory.frank_wolfe import private_frank_wolfe_bound, private_frank_wolfe_steps

__all__ = ["free_sample_size", "lasso_free_sample_size", "lasso_privacy_error", "rademacher_bound"]


def rademacher_bound(n: int, p: int, *, lipschitz: float, radius: float, feature_bound: float) -> float:
    """``2 L r X sqrt(2 log(2 p) / n)``: expected generalisation error over an l1 ball, in the mean convention.

    Symmetrisation, contraction by the loss's Lipschitz constant, and the largest of ``2 p`` sub-Gaussian sums
    (Bartlett and Mendelson 2003).

    Examples
    --------
    >>> round(rademacher_bound(10_000, 1000, lipschitz=1.0, radius=1.0, feature_bound=1.0), 5)
    0.07798
    """
    at_least_one(n=n, p=p)
    return 2.0 * lipschitz * radius * feature_bound * math.sqrt(2.0 * math.log(2.0 * p) / n)


def free_sample_size(
    privacy_error: Callable[[int], float], generalisation_error: Callable[[int], float], *, most: int = 10**15
) -> int:
    """The smallest `n` from which on the first is below the second, looking down from `most` in steps of a tenth.

    Examples
    --------
    >>> free_sample_size(lambda n: 50 / n, lambda n: 1 / n**0.5)
    2500
    """
    if privacy_error(most) > generalisation_error(most):
        raise ValueError(f"the privacy error is still above the generalisation error at n={most}")
    high = most
    while high > 1 and privacy_error(high * 9 // 10) <= generalisation_error(high * 9 // 10):
        high = high * 9 // 10
    low = min(max(1, high * 9 // 10), high)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if privacy_error(middle) <= generalisation_error(middle) else (middle + 1, high)
    return low


def lasso_privacy_error(
    n: int, p: int, rho: float, *, lipschitz: float, radius: float, feature_bound: float, smoothness: float = 1.0
) -> float:
    """The explicit bound of private Frank-Wolfe on the l1 ball at its best step count, in the mean convention.

    Zero-out neighbours: one row moves a score by at most ``r L X``, with both signs.

    Examples
    --------
    >>> round(lasso_privacy_error(10**6, 1000, 0.5, lipschitz=1.0, radius=1.0, feature_bound=1.0), 6)
    0.001104
    """
    at_least_one(n=n, p=p)
    positive(rho=rho, lipschitz=lipschitz, radius=radius, feature_bound=feature_bound, smoothness=smoothness)
    curvature = n * smoothness * (feature_bound * L1Ball(radius).diameter("l1", p)) ** 2
    score_range = 2.0 * radius * lipschitz * feature_bound
    steps = private_frank_wolfe_steps(curvature, score_range, 2 * p, rho, most=10**9)
    return private_frank_wolfe_bound(curvature, score_range, 2 * p, steps, rho) / n


def lasso_free_sample_size(
    p: int,
    rho: float,
    *,
    lipschitz: float = 1.0,
    radius: float = 1.0,
    feature_bound: float = 1.0,
    smoothness: float = 1.0,
) -> int:
    """From how many rows on private Frank-Wolfe loses less than generalisation does.

    The LASSO paper says ``n = omega(log^3 p)`` up to its logarithms in `n`; with the exponential mechanism's exact
    error, which has none, ``(log p)^(2/3) / n^(2/3) < (log p)^(1/2) / n^(1/2)`` asks only for ``n`` of order ``log p``.

    Examples
    --------
    >>> [lasso_free_sample_size(p, rho=0.02) for p in (100, 10_000, 1_000_000)]
    [2294, 8475, 17463]
    """
    at_least_one(p=p)
    bounds = {"lipschitz": lipschitz, "radius": radius, "feature_bound": feature_bound}
    return free_sample_size(
        lambda n: lasso_privacy_error(n, p, rho, smoothness=smoothness, **bounds),
        lambda n: rademacher_bound(n, p, **bounds),
        most=10**12,
    )
