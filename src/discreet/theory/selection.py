"""How far a private selection falls short of the best candidate."""

from __future__ import annotations

import math
from typing import Literal

from scipy.special import lambertw

from discreet.theory.checks import at_least_one, positive, probability

__all__ = ["expected_selection_error", "noisy_max_error", "selection_error"]

Noise = Literal["exponential", "gumbel", "laplace"]


def noisy_max_error(k: int, scale: float, beta: float) -> float:
    """``scale * (log k + log(1 / beta))``: the shortfall passed with probability at most `beta`, as recalled.

    The bound behind (16.1) of lecture 16, for the exponential mechanism (Gumbel noise of that scale).  The lecture
    prints the *product* ``log k * log(1 / beta)``; the union bound gives this sum.

    Examples
    --------
    >>> round(noisy_max_error(1000, scale=2.0, beta=0.01), 3)
    23.026
    """
    at_least_one(k=k)
    positive(scale=scale)
    probability(beta=beta)
    return scale * (math.log(k) + math.log(1.0 / beta))


def selection_error(k: int, scale: float, beta: float, noise: Noise = "gumbel") -> float:
    """The shortfall that is passed with probability at most `beta`, with its exact constant.

    Gumbel (the exponential mechanism): at most ``k - 1`` candidates are that far behind, each with a weight
    ``exp(-t / scale)`` of the best one's, so ``t = scale * log((k - 1) (1 - beta) / beta)`` and no less will do.
    Laplace: ``2 * scale * log(k / beta)``, since some noise must exceed half of `t`.  Exponential noise
    (permute-and-flip): ``scale * log(k / beta)``, since some noise must exceed `t`.

    Examples
    --------
    >>> round(selection_error(1000, scale=2.0, beta=0.01), 3), round(selection_error(1000, 2.0, 0.01, "laplace"), 3)
    (23.004, 46.052)
    """
    at_least_one(k=k)
    positive(scale=scale)
    probability(beta=beta)
    if k == 1:
        return 0.0
    if noise == "gumbel":
        return max(0.0, scale * math.log((k - 1) * (1.0 - beta) / beta))
    return scale * math.log(k / beta) * (2.0 if noise == "laplace" else 1.0)


def expected_selection_error(k: int, scale: float, noise: Noise = "gumbel") -> float:
    """The largest expected shortfall over all scores (Gumbel), or a bound on it.

    For Gumbel noise the worst scores have one winner and ``k - 1`` equals behind it, and the expected shortfall is
    ``scale * W((k - 1) / e)`` with Lambert's W: below ``scale * log k``, and exact (proof: ``proofs/theory.md``,
    section 2).  For Laplace noise ``scale * H_k`` and for exponential noise ``scale * (H_k - 1)`` with the harmonic
    number, or Gumbel's bound if that is smaller (permute-and-flip is never worse: McKenna and Sheldon 2020).

    Examples
    --------
    >>> round(expected_selection_error(1000, scale=1.0), 3), round(expected_selection_error(1000, 1.0, "laplace"), 3)
    (4.421, 7.485)
    """
    at_least_one(k=k)
    positive(scale=scale)
    worst = float(lambertw((k - 1) / math.e).real)
    if noise == "gumbel":
        return scale * worst
    harmonic = math.fsum(1.0 / i for i in range(1, k + 1)) if k < 10**5 else math.log(k) + 0.5772156649 + 1.0 / (2 * k)
    return scale * (harmonic if noise == "laplace" else min(harmonic - 1.0, worst)) if k > 1 else 0.0
