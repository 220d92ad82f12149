"""What objective perturbation loses: Theorem 16.9 with its constants, and its successors."""

from __future__ import annotations

import math

from discreet.theory.checks import approximate, at_least_one, positive

__all__ = ["objective_perturbation_bound", "output_perturbation_bound", "theorem_16_9", "theorem_16_9_noise"]


def objective_perturbation_bound(
    noise_sd: float, ridge: float, *, width: float, radius: float, p: int | None = None
) -> float:
    """Expected excess of the perturbed minimiser, in the sum convention, no hidden constant.

    ``noise_sd * width + ridge * radius^2 / 2``: the proof of Theorem 16.9 with constants, for any closed convex set of
    that Gaussian width and radius, any convex losses.  With `p` given also ``p noise_sd^2 / (2 ridge)`` in place of
    the first term, from strong convexity, where that is smaller (proof: ``proofs/theory.md``, section 6).

    Examples
    --------
    >>> objective_perturbation_bound(2.0, 4.0, width=3.0, radius=1.0)
    8.0
    >>> objective_perturbation_bound(2.0, 40.0, width=30.0, radius=1.0, p=10)
    20.5
    """
    positive(noise_sd=noise_sd, ridge=ridge)
    first = noise_sd * width
    if p is not None:
        at_least_one(p=p)
        first = min(first, p * noise_sd**2 / (2.0 * ridge))
    return first + ridge * radius**2 / 2.0


def output_perturbation_bound(sensitivity: float, mu: float, *, smoothness: float, ridge: float, p: int) -> float:
    """``smoothness p sd^2 / 2``, ``sd = sensitivity / (ridge mu)``: expected rise when the minimiser gets noise.

    `sensitivity` bounds one row's gradient, `smoothness` the whole regularised objective; sum convention.

    Examples
    --------
    >>> output_perturbation_bound(1.0, 1.0, smoothness=100.0, ridge=8.0, p=2)
    1.5625
    """
    at_least_one(p=p)
    positive(sensitivity=sensitivity, mu=mu, smoothness=smoothness, ridge=ridge)
    return smoothness * p * (sensitivity / (ridge * mu)) ** 2 / 2.0


def theorem_16_9_noise(epsilon: float, delta: float, *, lipschitz: float) -> float:
    """The noise standard deviation printed in Algorithm 7 of lecture 16: ``L sqrt(10 log(1/delta)) / epsilon``.

    Examples
    --------
    >>> round(theorem_16_9_noise(1.0, 1e-6, lipschitz=1.0), 3)
    11.754
    """
    return lipschitz * math.sqrt(10.0 * approximate(epsilon, delta)) / epsilon


def theorem_16_9(
    n: int, epsilon: float, delta: float, *, lipschitz: float, smoothness: float, width: float, radius: float
) -> float:
    """The rate of Theorem 16.9: ``(L G sqrt(log(1/delta)) + beta |C|^2) / (n epsilon)``, in the mean convention.

    Examples
    --------
    >>> round(theorem_16_9(1000, 1.0, 1e-6, lipschitz=1.0, smoothness=0.25, width=3.4, radius=1.0), 5)
    0.01289
    """
    log = approximate(epsilon, delta)
    at_least_one(n=n)
    return (lipschitz * width * math.sqrt(log) + smoothness * radius**2) / (n * epsilon)
