r"""Amplification by iteration on a grid: gradients are rounded, so steps contract only up to a known slack.

The theorem on last iterates asks for maps that bring any two points closer.  A gradient summed from residuals on a grid
is within a known distance of the exact one, so two steps of one map end at most ``c |w - w'| + eta slack`` apart.  The
proof carries over with ``sensitivity + slack`` in place of the sensitivity, while the noise stays what it is.
"""

from __future__ import annotations

import math

from discreet.accounting.iteration import Conditions, last_iterate_mu

__all__ = ["gridded_last_iterate_mu"]


def gridded_last_iterate_mu(
    n_steps: int,
    noise_multiplier: float,
    *,
    conditions: Conditions,
    step_size: float,
    smoothness: float,
    sensitivity: float,
    slack: float,
    diameter: float,
) -> float:
    r"""The mu of the last iterate when each gradient is within ``slack / 2`` of that of a convex smooth function.

    Parameters
    ----------
    n_steps, noise_multiplier, conditions, step_size, smoothness, sensitivity, diameter
        As for :func:`~discreet.accounting.iteration.last_iterate_mu`; noise is `noise_multiplier` sensitivities.
    slack : float
        How far two rounded gradients can be apart beyond what exact ones are, in the units of `sensitivity`.

    Returns
    -------
    float
        Never more than ``sqrt(n_steps) / noise_multiplier``, the price of all the steps.

    Notes
    -----
    *Privacy.* Guarantee: mu-GDP.  Neighbours: those of `sensitivity`.  Public: every argument.
    Bounded by: shifted composition with the slack added to every shift.  Proof: ``proofs/sgd.md``, section 5.

    Examples
    --------
    >>> every = Conditions(True, True, True, True, True)
    >>> [round(gridded_last_iterate_mu(10_000, 100.0, conditions=every, step_size=0.01, smoothness=100.0,
    ...        sensitivity=1.0, slack=slack, diameter=1.0), 3) for slack in (0.0, 0.1, 10.0)]
    [0.2, 0.21, 0.663]
    """
    composed = math.sqrt(n_steps) / noise_multiplier
    if slack < 0 or not math.isfinite(slack):
        raise ValueError(f"slack={slack!r} must be finite and at least 0")
    whole = math.nextafter(sensitivity + slack, math.inf)
    hidden = last_iterate_mu(
        n_steps,
        noise_multiplier * (sensitivity / whole) * (1 - 2**-50),
        conditions=conditions,
        step_size=step_size,
        smoothness=smoothness,
        sensitivity=whole,
        diameter=diameter,
    )
    return min(composed, hidden)
