"""Checks of public numbers that the formulas of this folder share."""

from __future__ import annotations

import math

__all__ = ["approximate", "at_least_one", "positive", "probability"]


def positive(**values: float) -> None:
    """Refuse numbers that are not positive and finite, by name.

    >>> positive(n=3, mu=0.5)
    """
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise ValueError(f"{name}={value!r} must be a positive finite number")


def at_least_one(**values: int) -> None:
    """Refuse numbers that are not whole and at least 1, by name.

    >>> at_least_one(n_steps=10)
    """
    for name, value in values.items():
        if isinstance(value, bool) or int(value) != value or value < 1:
            raise ValueError(f"{name}={value!r} must be a whole number, at least 1")


def probability(**values: float) -> None:
    """Refuse numbers outside the open interval from 0 to 1, by name.

    >>> probability(beta=0.05)
    """
    for name, value in values.items():
        if not 0 < value < 1:
            raise ValueError(f"{name}={value!r} must lie strictly between 0 and 1")


def approximate(epsilon: float, delta: float) -> float:
    """``log(1 / delta)``, after a check of both; what the printed formulas are made of.

    >>> round(approximate(1.0, 1e-6), 4)
    13.8155
    """
    positive(epsilon=epsilon)
    probability(delta=delta)
    return math.log(1.0 / delta)
