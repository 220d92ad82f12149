"""Frank-Wolfe, with and without privacy: error bounds with constants, and step counts.

Functions named after a theorem take and return what the theorem does (means over rows; ``O(.)`` read with constant 1).
The others are in the sum convention and every constant is proved (``proofs/theory.md``, section 3).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from discreet.theory.checks import approximate, at_least_one, positive, probability
from discreet.theory.selection import expected_selection_error, selection_error

__all__ = [
    "corollary_2_7",
    "frank_wolfe_bound",
    "frank_wolfe_steps",
    "gaussian_frank_wolfe_bound",
    "gaussian_frank_wolfe_steps",
    "lecture_noise_scale",
    "private_frank_wolfe_bound",
    "private_frank_wolfe_steps",
    "selection_scale",
    "theorem_1_1",
    "theorem_2_2",
    "theorem_2_5",
    "theorem_2_6",
    "theorem_16_3",
    "theorem_16_3_printed",
]

_TWO_THIRDS = 2.0 / 3.0


def frank_wolfe_bound(curvature: float, n_steps: int, selection_error: float = 0.0, *, sharp: bool = False) -> float:
    """``2 * curvature / (n_steps + 2) + selection_error``: excess after steps 2/(t+2) for t = 0, 1, ...

    Parameters
    ----------
    curvature : float
        The curvature constant of the objective, in the objective's own convention.
    n_steps : int
        The number of steps, the first of which has size 1.
    selection_error : float
        A bound on the (expected) shortfall of every linear minimisation.
    sharp : bool
        Whether to keep the exact sum, ``2 * curvature * (T + 1 - H_{T+1}) / (T (T + 1))``, which is a little smaller.

    Examples
    --------
    >>> frank_wolfe_bound(10.0, 18), round(frank_wolfe_bound(10.0, 18, sharp=True), 4)
    (1.0, 0.9036)
    """
    at_least_one(n_steps=n_steps)
    t = n_steps
    if sharp:
        harmonic = math.fsum(1.0 / i for i in range(1, t + 2))
        return 2.0 * curvature * (t + 1.0 - harmonic) / (t * (t + 1.0)) + selection_error
    return 2.0 * curvature / (t + 2.0) + selection_error


def theorem_2_2(curvature: float, n_steps: int, initial_gap: float = 0.0) -> float:
    """Theorem 2.2 of the LASSO paper with constants, for the printed loop that starts at t = 1 (first step 2/3).

    The start is then never quite forgotten: ``2 * curvature / (T + 2) + 2 * initial_gap / ((T + 1) (T + 2))`` after
    `n_steps` steps.  Starting at t = 0 (first step 1) removes the second term: :func:`frank_wolfe_bound`.

    Examples
    --------
    >>> theorem_2_2(10.0, 18), round(theorem_2_2(10.0, 18, initial_gap=19.0), 6)
    (1.0, 1.1)
    """
    at_least_one(n_steps=n_steps)
    t = n_steps
    return 2.0 * curvature / (t + 2.0) + 2.0 * initial_gap / ((t + 1.0) * (t + 2.0))


def selection_scale(score_range: float, n_steps: int, rho: float) -> float:
    """The Gumbel scale of `n_steps` exponential mechanisms within `rho`-zCDP: ``range * sqrt(T / (8 rho))``.

    Each selection has bounded range ``range / scale``, hence costs an eighth of its square.  `score_range` is the
    range of one row's change over the candidates (twice the largest change for l1 balls), doubled for replace-one.

    Examples
    --------
    >>> selection_scale(2.0, n_steps=100, rho=0.5)
    10.0
    """
    at_least_one(n_steps=n_steps)
    positive(score_range=score_range, rho=rho)
    return score_range * math.sqrt(n_steps / (8.0 * rho))


def private_frank_wolfe_bound(
    curvature: float, score_range: float, n_vertices: int, n_steps: int, rho: float, *, factor: float = 1.0
) -> float:
    """Expected excess of private Frank-Wolfe by the exponential mechanism, in the sum convention, no hidden constant.

    ``2 * curvature / (T + 2) + scale * W((k - 1) / e)``: the optimisation error, and the exact worst expected
    shortfall of a selection from `k` candidates.  With candidates that reach only a `factor` of the optimum (a cover
    of an lq ball) the excess is over the best point of the set shrunk by that factor.

    Examples
    --------
    >>> round(private_frank_wolfe_bound(100.0, 2.0, 2000, n_steps=30, rho=0.5), 3)
    33.595
    """
    if not 0 < factor <= 1:
        raise ValueError(f"factor={factor!r} must be above 0 and at most 1")
    scale = selection_scale(score_range, n_steps, rho)
    return frank_wolfe_bound(curvature, n_steps, expected_selection_error(n_vertices, scale))


def private_frank_wolfe_steps(
    curvature: float, score_range: float, n_vertices: int, rho: float, *, most: int = 1000
) -> int:
    """The step count, at most `most`, with the smallest :func:`private_frank_wolfe_bound`.

    Examples
    --------
    >>> private_frank_wolfe_steps(1000.0, 2.0, 2000, rho=0.5)
    84
    """
    at_least_one(most=most, n_vertices=n_vertices)

    def bound(t: int) -> float:
        return private_frank_wolfe_bound(curvature, score_range, n_vertices, t, rho)

    return _least(bound, most)


def gaussian_frank_wolfe_bound(curvature: float, width: float, sensitivity: float, n_steps: int, mu: float) -> float:
    """Expected excess of Frank-Wolfe with Gaussian noise on the gradient, in the sum convention, no hidden constant.

    ``2 * curvature / (T + 2) + sigma * width`` with ``sigma = sensitivity * sqrt(T) / mu``: minimising the noisy
    instead of the true linear function loses at most ``max <-Z, w>`` plus a term of mean 0, which is the Gaussian
    width times sigma (the content of Theorem 2.6 of the LASSO paper).

    Examples
    --------
    >>> round(gaussian_frank_wolfe_bound(100.0, 3.4, 1.0, n_steps=18, mu=1.0), 3)
    24.425
    """
    at_least_one(n_steps=n_steps)
    positive(sensitivity=sensitivity, mu=mu)
    return frank_wolfe_bound(curvature, n_steps, sensitivity * math.sqrt(n_steps) / mu * width)


def gaussian_frank_wolfe_steps(
    curvature: float, width: float, sensitivity: float, mu: float, *, most: int = 1000
) -> int:
    """The step count, at most `most`, with the smallest :func:`gaussian_frank_wolfe_bound`.

    Examples
    --------
    >>> gaussian_frank_wolfe_steps(1000.0, 3.4, 1.0, mu=1.0)
    109
    """
    at_least_one(most=most)
    return _least(lambda t: gaussian_frank_wolfe_bound(curvature, width, sensitivity, t, mu), most)


def _least(bound: Callable[[int], float], most: int) -> int:
    """The whole number from 1 to `most` where a function that falls and then rises is smallest."""
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if bound(middle) <= bound(middle + 1) else (middle + 1, high)
    return low


# the printed theorems ------------------------------------------------------------------------------------------------
def frank_wolfe_steps(n: int, epsilon: float, *, curvature: float, lipschitz: float, radius: float) -> int:
    """``T = (Gamma n epsilon / (L |C|_1))^(2/3)`` of Theorem 2.5, rounded up, in the mean convention.

    Examples
    --------
    >>> frank_wolfe_steps(1000, 1.0, curvature=4.0, lipschitz=4.0, radius=1.0)
    100
    """
    at_least_one(n=n)
    positive(epsilon=epsilon, curvature=curvature, lipschitz=lipschitz, radius=radius)
    return max(1, math.ceil(math.pow(curvature * n * epsilon / (lipschitz * radius), _TWO_THIRDS) - 1e-9))


def lecture_noise_scale(
    n: int, epsilon: float, delta: float, *, lipschitz: float, radius: float, n_steps: int
) -> float:
    """The Laplace scale in line 3 of Algorithm 2 of lecture 16; the LASSO paper prints half of it.

    Examples
    --------
    >>> round(lecture_noise_scale(1000, 1.0, 1e-6, lipschitz=1.0, radius=1.0, n_steps=100), 4)
    0.2103
    """
    log = approximate(epsilon, delta)
    at_least_one(n=n, n_steps=n_steps)
    return 2.0 * radius * lipschitz * math.sqrt(8.0 * n_steps * log) / (n * epsilon)


def theorem_16_3(
    n: int,
    epsilon: float,
    delta: float,
    *,
    curvature: float,
    lipschitz: float,
    radius: float,
    k: int,
    n_steps: int,
    tau: float,
) -> float:
    """Theorem 16.3, corrected and with constants: passed with probability at most `tau`, in the mean convention.

    ``2 Gamma / (T + 2) + 2 b log(k T / tau)`` with the lecture's Laplace scale `b`.  The curvature replaces l2
    smoothness, and the union over `T` selections adds logarithms instead of multiplying them.

    Examples
    --------
    >>> round(theorem_16_3(10**6, 1.0, 1e-6, curvature=1.0, lipschitz=1.0, radius=1.0, k=200, n_steps=100, tau=0.05), 5)
    0.02503
    """
    at_least_one(k=k)
    probability(tau=tau)
    scale = lecture_noise_scale(n, epsilon, delta, lipschitz=lipschitz, radius=radius, n_steps=n_steps)
    return frank_wolfe_bound(curvature, n_steps, selection_error(k * n_steps, scale, tau, "laplace"))


def theorem_16_3_printed(
    n: int, epsilon: float, delta: float, *, lipschitz: float, k: int, n_steps: int, tau: float
) -> float:
    """The expression inside the ``O(.)`` of Theorem 16.3, with the printed product of logarithms.

    Examples
    --------
    >>> round(theorem_16_3_printed(10**6, 1.0, 1e-6, lipschitz=1.0, k=200, n_steps=100, tau=0.05), 5)
    0.01173
    """
    log = approximate(epsilon, delta)
    at_least_one(n=n, k=k, n_steps=n_steps)
    probability(tau=tau)
    t = n_steps
    root = math.sqrt(t * (log + math.log(t)))
    return 1.0 / t + lipschitz * math.log(k) * math.log(t / tau) * root / (n * epsilon)


def theorem_2_5(
    n: int, epsilon: float, delta: float, *, curvature: float, lipschitz: float, radius: float, n_vertices: int
) -> float:
    """The rate of Theorem 2.5 of the LASSO paper (its constant read as 1), in the mean convention.

    Examples
    --------
    >>> round(theorem_2_5(10**6, 1.0, 1e-6, curvature=4.0, lipschitz=4.0, radius=1.0, n_vertices=2000), 4)
    0.0318
    """
    log = approximate(epsilon, delta)
    at_least_one(n=n, n_vertices=n_vertices)
    size = math.pow(curvature, 1.0 / 3.0) * math.pow(lipschitz * radius, _TWO_THIRDS)
    return size * math.log(n * n_vertices) * math.sqrt(log) / math.pow(n * epsilon, _TWO_THIRDS)


def theorem_2_6(n: int, epsilon: float, delta: float, *, curvature: float, lipschitz: float, width: float) -> float:
    """The rate of Theorem 2.6 of the LASSO paper (its constant read as 1), in the mean convention.

    Examples
    --------
    >>> round(theorem_2_6(10**6, 1.0, 1e-6, curvature=1.0, lipschitz=1.0, width=3.4), 4)
    0.1726
    """
    approximate(epsilon, delta)
    at_least_one(n=n)
    size = math.pow(curvature, 1.0 / 3.0) * math.pow(lipschitz * width, _TWO_THIRDS)
    return size * math.log(n / delta) ** 2 / math.pow(n * epsilon, _TWO_THIRDS)


def corollary_2_7(n: int, p: int, epsilon: float, delta: float) -> float:
    """The rate of Corollary 2.7 of the LASSO paper: ``log(n p / delta) / (n epsilon)^(2/3)``.

    Examples
    --------
    >>> round(corollary_2_7(10**6, 1000, 1.0, 1e-6), 5)
    0.00345
    """
    approximate(epsilon, delta)
    at_least_one(n=n, p=p)
    return math.log(n * p / delta) / math.pow(n * epsilon, _TWO_THIRDS)


def theorem_1_1(n: int, p: int, epsilon: float, delta: float) -> float:
    """The rate of Theorem 1.1 of the LASSO paper: ``log(n p) sqrt(log(1/delta)) / (n epsilon)^(2/3)``.

    It and Corollary 2.7 state the same result with different logarithms; this one follows from Theorem 2.5.

    Examples
    --------
    >>> round(theorem_1_1(10**6, 1000, 1.0, 1e-6), 5)
    0.0077
    """
    log = approximate(epsilon, delta)
    at_least_one(n=n, p=p)
    return math.log(n * p) * math.sqrt(log) / math.pow(n * epsilon, _TWO_THIRDS)
