"""Hard thresholding and Peeling: rates of lecture 16, explicit errors of one step, step and sparsity rules."""

from __future__ import annotations

import math

from discreet.theory.checks import approximate, at_least_one, positive
from discreet.theory.selection import expected_selection_error

__all__ = [
    "iht_sparsity",
    "iht_steps",
    "noisy_threshold_error",
    "peeling_error",
    "peeling_sensitivity",
    "theorem_16_4_noise",
    "theorem_16_5",
    "theorem_16_6",
]


def theorem_16_4_noise(
    n: int, epsilon: float, delta: float, *, lipschitz: float, n_steps: int, constant: float = 32.0
) -> float:
    """The noise standard deviation of (16.4), with the two factors that are not printed there.

    ``sigma^2 = c L^2 T log(1/delta) / (n epsilon)^2`` in the mean convention; ``L^2`` is missing in print and `c` left
    open.  Under replace-one ``c = 32`` (``8 Delta^2`` with ``Delta = 2 L``) is safe for epsilon up to 100 at delta
    1e-6; the least that will do is 3.8, 4.7, 5.2 and 6.6 at epsilon 0.1, 0.5, 1 and 4.

    Examples
    --------
    >>> round(theorem_16_4_noise(1000, 1.0, 1e-6, lipschitz=1.0, n_steps=100), 4)
    0.2103
    """
    log = approximate(epsilon, delta)
    at_least_one(n=n, n_steps=n_steps)
    positive(lipschitz=lipschitz, constant=constant)
    return math.sqrt(constant * n_steps * log) * lipschitz / (n * epsilon)


def theorem_16_5(n: int, d: int, epsilon: float, *, true_sparsity: int, sparsity: int) -> float:
    """The rate of Theorem 16.5, ``s* log d / n + (s log d)^2 / (n epsilon)^2``, for the squared distance to the truth.

    The lecture states the same rate for gradient noise (16.5) and for Peeling (16.6).  For gradient noise it needs
    rows of bounded *Euclidean* length; with entries of bounded size the noise covers all `d` coordinates and a
    factor ``d / s`` enters the second term.

    Examples
    --------
    >>> round(theorem_16_5(10_000, 1000, 1.0, true_sparsity=5, sparsity=10), 6)
    0.003502
    """
    at_least_one(n=n, d=d, true_sparsity=true_sparsity, sparsity=sparsity)
    positive(epsilon=epsilon)
    log = math.log(d)
    return true_sparsity * log / n + (sparsity * log / (n * epsilon)) ** 2


def theorem_16_6(n: int, d: int, epsilon: float, *, true_sparsity: int, sparsity: int) -> float:
    """The rate of Theorem 16.6 (heavy-tailed regression by Peeling); the same expression as Theorem 16.5.

    Examples
    --------
    >>> theorem_16_6(100, 50, 1.0, true_sparsity=2, sparsity=4) == theorem_16_5(
    ...     100, 50, 1.0, true_sparsity=2, sparsity=4)
    True
    """
    return theorem_16_5(n, d, epsilon, true_sparsity=true_sparsity, sparsity=sparsity)


def peeling_sensitivity(cap: float, radius: float, step: float, sparsity: int, rows_per_step: int) -> float:
    """``2 K^2 C eta (sqrt(s) + 1) / m``: how much one replaced row moves an entry of Algorithm 6's half step.

    Needs ``C >= 1``, a start with at most `s` non-zero weights, and targets cut off at `K` like the features: then
    ``|x_j (<x, w> - y)| <= K (K C sqrt(s) + K)``.

    Examples
    --------
    >>> peeling_sensitivity(cap=2.0, radius=1.0, step=0.5, sparsity=9, rows_per_step=100)
    0.16
    """
    at_least_one(sparsity=sparsity, rows_per_step=rows_per_step)
    positive(cap=cap, step=step)
    if radius < 1:
        raise ValueError(f"radius={radius} must be at least 1 for this bound; put max(radius, 1) into it")
    return 2.0 * cap**2 * radius * step * (math.sqrt(sparsity) + 1.0) / rows_per_step


def peeling_error(d: int, s: int, selection_scale: float, release_sd: float) -> tuple[float, float]:
    """What Peeling loses in expectation: total size of missed entries, and the squared error of released ones.

    First ``sum |top s entries| - sum |chosen entries|``, at most the sum of `s` selection errors from `d`, d-1, ..
    candidates; then ``s * release_sd^2``.  Both grow with ``s log d`` and not with `d`.

    Examples
    --------
    >>> missed, released = peeling_error(10_000, 5, selection_scale=1.0, release_sd=2.0)
    >>> round(missed, 2), released
    (31.8, 20.0)
    """
    at_least_one(d=d, s=s)
    if s > d:
        raise ValueError(f"s={s} can't exceed d={d}")
    missed = math.fsum(expected_selection_error(d - i, selection_scale) for i in range(s))
    return missed, s * release_sd**2


def noisy_threshold_error(d: int, s: int, noise_sd: float) -> float:
    """``2 s noise_sd^2 (log(d) + 1)``: expected squared noise that survives keeping any `s` of `d` noisy entries.

    The largest of `d` squared normal variables has mean at most ``2 (log d + 1)``.  This is the sense in which
    lecture 16's noise depends on ``s log d``; `noise_sd` itself follows the l2 sensitivity of the *whole* gradient.

    Examples
    --------
    >>> round(noisy_threshold_error(10_000, 5, noise_sd=1.0), 2)
    102.1
    """
    at_least_one(d=d, s=s)
    return min(2.0 * s * (math.log(d) + 1.0), float(d)) * noise_sd**2


def iht_steps(n: int, condition: float = 1.0) -> int:
    """``ceil(condition * log n)`` steps: each shrinks the distance by a constant factor, down to the noise at 1/n.

    Examples
    --------
    >>> iht_steps(10_000), iht_steps(10_000, condition=3.0)
    (10, 28)
    """
    at_least_one(n=n)
    positive(condition=condition)
    return max(1, math.ceil(condition * math.log(n)))


def iht_sparsity(true_sparsity: int, condition: float = 1.0) -> int:
    """How many weights to keep: ``ceil(4 condition^2)`` times the true number (at least twice it).

    Hard thresholding is a contraction once the kept set is a multiple, of the order of the squared restricted
    condition number, of the true support (Jain, Tewari and Kar 2014, who prove it for the constant 32; smaller ones
    do in practice).

    Examples
    --------
    >>> iht_sparsity(5)
    20
    """
    at_least_one(true_sparsity=true_sparsity)
    positive(condition=condition)
    return max(2 * true_sparsity, math.ceil(4.0 * condition**2) * true_sparsity)
