"""Expected maxima of Gaussian variables, to about ten digits, by Simpson's rule on a smooth integrand."""

from __future__ import annotations

import math

import numpy as np
from scipy.integrate import simpson
from scipy.special import gammainc, gammaincc, gammaln, log_ndtr

__all__ = ["largest_absolute_normal", "largest_chi", "largest_normal", "log_absolute_moment", "mean_chi"]

_POINTS = 8001


def largest_absolute_normal(p: int) -> float:
    """``E max_j |z_j|`` over `p` independent standard normal variables.

    >>> round(largest_absolute_normal(1), 8) == round(math.sqrt(2 / math.pi), 8)
    True
    """
    return largest_chi(1, [(1, p)])


def largest_normal(p: int) -> float:
    """``E max_j z_j`` over `p` independent standard normal variables.

    >>> abs(largest_normal(1)) < 1e-9, round(largest_normal(2), 8) == round(1 / math.sqrt(math.pi), 8)
    (True, True)
    """
    t = np.linspace(0.0, 13.0 + math.sqrt(2 * math.log(p)), _POINTS)
    above = -np.expm1(p * log_ndtr(t))
    below = np.exp(p * log_ndtr(-t))
    return float(simpson(above - below, x=t))


def mean_chi(k: int) -> float:
    """The expected length of a standard normal vector with `k` entries.

    >>> round(mean_chi(2), 8) == round(math.sqrt(math.pi / 2), 8)
    True
    """
    return math.sqrt(2.0) * math.exp(float(gammaln((k + 1) / 2) - gammaln(k / 2)))


def largest_chi(k: int, groups: list[tuple[int, int]]) -> float:
    """The expected largest length among independent normal vectors; `groups` lists (dimension, how many).

    >>> round(largest_chi(3, [(3, 1)]), 8) == round(mean_chi(3), 8)
    True
    """
    many = sum(count for _, count in groups)
    t = np.linspace(0.0, math.sqrt(k) + math.sqrt(2 * math.log(max(many, 1))) + 13.0, _POINTS)
    log_below = np.zeros_like(t)
    for dimension, count in groups:
        if not count:
            continue
        # log of the chance to be below t, from the smaller tail so that nothing cancels
        low, high = gammainc(dimension / 2, t * t / 2), gammaincc(dimension / 2, t * t / 2)
        with np.errstate(divide="ignore"):
            log_below += count * np.where(high < 0.5, np.log1p(-np.minimum(high, 0.5)), np.log(low))
    return float(simpson(-np.expm1(log_below), x=t))


def log_absolute_moment(s: float) -> float:
    """``log E |z|^s`` for a standard normal `z`.

    >>> round(math.exp(log_absolute_moment(4.0)), 12)
    3.0
    """
    return s / 2 * math.log(2.0) + float(gammaln((s + 1) / 2)) - 0.5 * math.log(math.pi)
