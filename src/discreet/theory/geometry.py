"""Minkowski norms, dual norms and Gaussian widths, gathered from the penalties; the two facts of lecture 16."""

from __future__ import annotations

import math

from numpy.typing import ArrayLike

from discreet.penalties import ConstraintSet
from discreet.penalties.base import NormalGenerator
from discreet.penalties.widths import mean_chi
from discreet.theory.checks import at_least_one, positive

__all__ = ["dual_norm", "fact_1", "fact_2", "fact_2_printed", "gaussian_width", "minkowski_norm", "width_by_simulation"]


def minkowski_norm(penalty: ConstraintSet, v: ArrayLike) -> float:
    """``|v|_C``: the smallest `r` with `v` in ``r C`` (lecture 16, section 16.3).

    Examples
    --------
    >>> from discreet.penalties import L1Ball
    >>> minkowski_norm(L1Ball(2.0), [1.0, -3.0])
    2.0
    """
    return penalty.minkowski(v)


def dual_norm(penalty: ConstraintSet, v: ArrayLike) -> float:
    """``|v|_C*``: the largest ``|<v, w>|`` over the set.  ``<x, y> <= |x|_C |y|_C*`` is a law of the tests.

    Examples
    --------
    >>> from discreet.penalties import L1Ball
    >>> dual_norm(L1Ball(2.0), [1.0, -3.0])
    6.0
    """
    return penalty.dual_norm(v)


def gaussian_width(penalty: ConstraintSet, p: int) -> float:
    """``E max <z, w>`` over the set: exact where ``penalty.exact_width`` says so, else an upper bound.

    Examples
    --------
    >>> from discreet.penalties import L2Ball
    >>> round(gaussian_width(L2Ball(1.0), 400), 2)
    19.99
    """
    at_least_one(p=p)
    return penalty.gaussian_width(p)


def width_by_simulation(
    penalty: ConstraintSet, p: int, generator: NormalGenerator, n: int = 1000
) -> tuple[float, float]:
    """The Gaussian width from `n` draws, with its standard error.

    Examples
    --------
    >>> from discreet.penalties import L2Ball
    >>> from discreet.randomness import data_generator
    >>> mean, error = width_by_simulation(L2Ball(1.0), 100, data_generator(0))
    >>> abs(mean - 9.975) < 4 * error
    True
    """
    return penalty.gaussian_width_monte_carlo(p, n, generator)


def fact_1(radius: float, k: int) -> float:
    """Fact 1 of lecture 16 with its constant: ``radius * sqrt(2 log k)`` bounds the width of a hull of `k` points.

    `radius` is the largest Euclidean norm of a point.

    Examples
    --------
    >>> round(fact_1(1.0, 2000), 3)
    3.899
    """
    at_least_one(k=k)
    positive(radius=radius)
    return radius * math.sqrt(2.0 * math.log(k))


def fact_2(p: int, k: int) -> float:
    """Fact 2 of lecture 16, corrected: ``sqrt(k) + sqrt(2 log(p/k))`` for the unit ball of the grouped l1 norm.

    An upper bound with constant 1 (the first term is the exact mean length of a group).

    Examples
    --------
    >>> round(fact_2(1600, 16), 3), round(fact_2_printed(1600, 16), 3)
    (6.973, 8.584)
    """
    at_least_one(p=p, k=k)
    return mean_chi(min(k, p)) + math.sqrt(2.0 * math.log(math.ceil(p / k)))


def fact_2_printed(p: int, k: int) -> float:
    """Fact 2 as printed, ``sqrt(k log(p / k))``: the right order only where `k` or ``p / k`` stays bounded.

    Examples
    --------
    >>> round(fact_2_printed(1000, 1), 3)
    2.628
    """
    at_least_one(p=p, k=k)
    return math.sqrt(k * math.log(p / k))
