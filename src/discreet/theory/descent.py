"""Gradient methods: error bounds with constants, step counts, and the rates of the lectures.

In the sum convention unless a function says otherwise; `mu` is the Gaussian-DP parameter of the whole run (``mu**2``
is twice its zCDP parameter).  Proofs of the constants: ``proofs/theory.md``, section 4.
"""

from __future__ import annotations

import math

from discreet.theory.checks import approximate, at_least_one, positive

__all__ = [
    "convex_rate",
    "gradient_descent_bound",
    "gradient_descent_steps",
    "noisy_descent_bound",
    "population_rate",
    "sgd_steps",
    "stochastic_gradient_bound",
    "strongly_convex_descent_bound",
    "strongly_convex_rate",
    "strongly_convex_steps",
]


def convex_rate(n: int, p: int, epsilon: float, delta: float) -> float:
    """``sqrt(p log(1/delta)) / (n epsilon)``: the rate for convex losses that lecture 16 opens with (means over rows).

    Examples
    --------
    >>> round(convex_rate(10_000, 100, 1.0, 1e-6), 5)
    0.00372
    """
    log = approximate(epsilon, delta)
    at_least_one(n=n, p=p)
    return math.sqrt(p * log) / (n * epsilon)


def strongly_convex_rate(n: int, p: int, epsilon: float, delta: float) -> float:
    """``p log(1/delta) / (n epsilon)^2``: the rate for strongly convex losses (means over rows).

    Examples
    --------
    >>> strongly_convex_rate(10_000, 100, 1.0, 1e-6) == convex_rate(10_000, 100, 1.0, 1e-6) ** 2
    True
    """
    return convex_rate(n, p, epsilon, delta) ** 2


def population_rate(n: int, p: int, epsilon: float, delta: float) -> float:
    """``max(1 / sqrt(n), sqrt(p log(1/delta)) / (n epsilon))``: the optimal excess population risk for L = R = 1.

    Bassily, Feldman, Talwar and Thakurta 2019, which lecture 19 cites; reached by noisy SGD.

    Examples
    --------
    >>> population_rate(10_000, 100, 1.0, 1e-6)
    0.01
    """
    return max(1.0 / math.sqrt(n), convex_rate(n, p, epsilon, delta))


def noisy_descent_bound(distance: float, step: float, noise_sd: float, p: int, n_steps: int) -> float:
    """``distance^2 / (2 step T) + step p noise_sd^2``: expected excess of the average of T noisy gradient steps.

    For a convex smooth function without constraints, steps of at most 1 over its smoothness, and Gaussian noise of
    that standard deviation on each of `p` coordinates of the gradient.

    Examples
    --------
    >>> noisy_descent_bound(1.0, step=0.1, noise_sd=0.5, p=10, n_steps=100)
    0.3
    """
    at_least_one(p=p, n_steps=n_steps)
    positive(step=step)
    return distance**2 / (2.0 * step * n_steps) + step * p * noise_sd**2


def gradient_descent_bound(distance: float, sensitivity: float, mu: float, p: int) -> float:
    """``distance * sensitivity * sqrt(2 p) / mu``: the bound above at the best step, whatever the number of steps.

    With ``noise_sd = sensitivity * sqrt(T) / mu`` the product of step and `T` is all that counts.  With
    ``mu ~ epsilon / sqrt(2 log(1/delta))`` and divided by `n` this is the convex rate of lecture 16.

    Examples
    --------
    >>> gradient_descent_bound(1.0, 1.0, mu=0.5, p=50)
    20.0
    """
    at_least_one(p=p)
    positive(sensitivity=sensitivity, mu=mu)
    return distance * sensitivity * math.sqrt(2.0 * p) / mu


def gradient_descent_steps(smoothness: float, distance: float, sensitivity: float, mu: float, p: int) -> int:
    """The fewest steps that reach :func:`gradient_descent_bound` with step ``1 / smoothness``.

    Examples
    --------
    >>> gradient_descent_steps(smoothness=1000.0, distance=1.0, sensitivity=1.0, mu=0.5, p=50)
    50
    """
    at_least_one(p=p)
    positive(smoothness=smoothness, distance=distance, sensitivity=sensitivity, mu=mu)
    return max(1, math.ceil(smoothness * distance * mu / (sensitivity * math.sqrt(2.0 * p)) - 1e-9))


def strongly_convex_descent_bound(
    initial_gap: float, smoothness: float, strong_convexity: float, noise_sd: float, p: int, n_steps: int
) -> float:
    """``(1 - m/b)^T gap + p noise_sd^2 / (2 m)``: expected excess of the last of T noisy steps of size 1/b.

    Examples
    --------
    >>> strongly_convex_descent_bound(8.0, 2.0, 1.0, noise_sd=0.1, p=10, n_steps=3)
    1.05
    """
    at_least_one(p=p, n_steps=n_steps)
    positive(smoothness=smoothness, strong_convexity=strong_convexity)
    if strong_convexity > smoothness:
        raise ValueError(f"strong_convexity={strong_convexity} can't exceed smoothness={smoothness}")
    shrunk = (1.0 - strong_convexity / smoothness) ** n_steps * initial_gap
    return shrunk + p * noise_sd**2 / (2.0 * strong_convexity)


def strongly_convex_steps(
    initial_gap: float, smoothness: float, strong_convexity: float, sensitivity: float, mu: float, p: int
) -> int:
    """Steps after which the first term of the bound above equals the noise that one single step would bring.

    Examples
    --------
    >>> strongly_convex_steps(1000.0, 100.0, 10.0, sensitivity=1.0, mu=1.0, p=20)
    70
    """
    at_least_one(p=p)
    positive(smoothness=smoothness, strong_convexity=strong_convexity, sensitivity=sensitivity, mu=mu)
    floor = p * sensitivity**2 / (2.0 * strong_convexity * mu**2)
    if initial_gap <= floor:
        return 1
    return max(1, math.ceil(smoothness / strong_convexity * math.log(initial_gap / floor)))


def stochastic_gradient_bound(distance: float, gradient_length: float, n_steps: int) -> float:
    """``distance * G / sqrt(T)``: expected excess of averaged projected SGD with step ``distance / (G sqrt(T))``.

    `gradient_length` is the root of the largest expected squared length of a stochastic gradient, noise included.

    Examples
    --------
    >>> stochastic_gradient_bound(2.0, 3.0, 36)
    1.0
    """
    at_least_one(n_steps=n_steps)
    return distance * gradient_length / math.sqrt(n_steps)


def sgd_steps(n: int, p: int, mu: float, *, population: bool = True) -> int:
    """Steps of noisy SGD beyond which privacy dominates: ``(n mu)^2 / p``, and at most `n` for population risk.

    In the mean convention the noise on a batch's mean gradient is about ``L sqrt(T) / (n mu)`` per coordinate, so the
    squared length of a stochastic gradient over `T` is ``L^2 (1/T + p / (n mu)^2)``; and sampling error stops
    mattering after `n` single-row steps.

    Examples
    --------
    >>> sgd_steps(1000, 100, mu=1.0), sgd_steps(1000, 100, mu=1.0, population=False)
    (1000, 10000)
    """
    at_least_one(n=n, p=p)
    positive(mu=mu)
    steps = max(1, math.ceil((n * mu) ** 2 / p))
    return min(n, steps) if population else steps
