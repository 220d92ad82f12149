r"""What sampling rows at random saves.

*Add/remove and zero-out.*  With Poisson sampling at rate q the mechanism's outputs on the larger data set are
:math:`(1-q)Q + qP`, on the smaller one Q; any dominating pair may be put in place of (P, Q).  That is
``dp_event.PoissonSampledDpEvent``.

*Replace one.*  Both data sets have a row where they differ, and sampling hides less than it does for a row that is
there or not: another pair, and another event, :class:`~discreet.accounting.events.ReplaceOneSampledDpEvent`.  Poisson
sampled Gaussian noise has its exact pair (in :mod:`.pld`); for everything else, and for batches of a fixed size, this
module has :math:`\delta(\log(1 + q(e^\epsilon - 1))) \le q\,\delta_0(\epsilon)`.  :func:`poisson` picks the event.
"""

from __future__ import annotations

import math

import numpy as np
from dp_accounting import dp_event
from numpy.typing import ArrayLike, NDArray

from discreet.accounting import gdp
from discreet.accounting.events import ReplaceOneSampledDpEvent
from discreet.privacy import Neighbours

__all__ = ["amplify", "poisson"]

Floats = NDArray[np.float64]


def amplify(epsilon: float, delta: float, q: float) -> tuple[float, float]:
    r"""Sampling at rate `q` turns (`epsilon`, `delta`) into :math:`(\log(1+q(e^\epsilon-1)), q\delta)`.

    Holds for Poisson sampling under add/remove (and zero-out), and under replace-one for Poisson sampling and for
    batches of a fixed size, given the guarantee under the same relation.

    Notes
    -----
    *Privacy.* Guarantee: the pair returned.  Neighbours: as above.  Public: `q`.
    Bounded by: Balle, Barthe and Gaboardi (2018), Theorems 8 and 9.  Proof: ``proofs/subsampling.md``.

    Examples
    --------
    >>> [round(v, 4) for v in amplify(1.0, 1e-3, 0.1)]
    [0.1586, 0.0001]
    """
    if not 0 <= q <= 1:
        raise ValueError(f"sampling probability {q!r} must be between 0 and 1")
    if q == 0:
        return 0.0, 0.0
    if math.isinf(epsilon):
        return math.inf, q * delta
    if epsilon > 700:
        return epsilon + math.log(q) + 1e-12, q * delta
    return math.log1p(q * math.expm1(epsilon)) * (1 + 1e-15), q * delta


def poisson(event: dp_event.DpEvent, q: float, neighbors: Neighbours | str) -> dp_event.DpEvent:
    """The event of running `event` on a Poisson sample, for the relation that its sensitivities were computed for.

    Notes
    -----
    *Privacy.* Guarantee: that of the event returned.  Neighbours: `neighbors`.  Public: `q`, the event.
    Bounded by: the pairs of the module's introduction.  Proof: ``proofs/subsampling.md``.

    Examples
    --------
    >>> poisson(dp_event.GaussianDpEvent(2.0), 0.1, "zero_out")
    PoissonSampledDpEvent(sampling_probability=0.1, event=GaussianDpEvent(noise_multiplier=2.0))
    >>> type(poisson(dp_event.GaussianDpEvent(2.0), 0.1, "replace_one")).__name__
    'ReplaceOneSampledDpEvent'
    """
    if not 0 <= q <= 1:
        raise ValueError(f"sampling probability {q!r} must be between 0 and 1")
    if Neighbours.of(neighbors) is Neighbours.REPLACE_ONE:
        return ReplaceOneSampledDpEvent(q, event)
    return dp_event.PoissonSampledDpEvent(q, event)


def _inner_delta(event: dp_event.DpEvent, alpha: Floats) -> Floats:
    """The larger divergence of the two directions of the sampled event, at ``alpha = e^eps >= 1``."""
    from discreet.accounting.pld import composition, gaussian_mu

    mu = gaussian_mu(event)
    if mu is not None:
        return gdp.deltas(mu, np.log(alpha))
    curves = []
    for whole in composition(event, 1e-15).values():
        pmf = whole.flattened()
        keep = pmf.losses < 700
        knots, mass = np.exp(pmf.losses[keep]), pmf.mass[keep]
        upper, lower = (np.cumsum(m[::-1])[::-1] for m in (mass, mass / knots))
        values = np.maximum(upper - knots * lower, 0.0) + (pmf.infinity + float(pmf.mass[~keep].sum()) + 1e-15)
        # between knots the profile of a distribution on a grid is linear in alpha; losses below log(alpha) don't count
        curves.append(np.interp(alpha, knots, values) if knots[0] <= 1 else np.full_like(alpha, values[0]))
    return np.asarray(np.max(curves, axis=0))


def replace_one_profile(event: ReplaceOneSampledDpEvent, epsilon: Floats) -> Floats:
    """``q delta_0`` at ``1 + (e^eps - 1) / q`` for eps >= 0; below, by the symmetry of the relation."""
    q, away = event.sampling_probability, np.minimum(np.abs(np.asarray(epsilon, dtype=float)), 700.0)
    if q == 0:
        return np.maximum(0.0, -np.expm1(epsilon))
    value = np.minimum(q * _inner_delta(event.event, 1 + np.expm1(away) / q) * (1 + 1e-14), 1.0)
    return np.where(np.asarray(epsilon) >= 0, value, -np.expm1(-away) + np.exp(-away) * value)


def replace_one_range(event: ReplaceOneSampledDpEvent, tail: float) -> tuple[float, float]:
    """Losses beyond which less than `tail` of delta is left (both ways)."""

    def left(high: float) -> float:
        return float(replace_one_profile(event, np.array([high]))[0])

    floor, high = 2 * left(690.0), 1e-6  # what the tables of the sampled event leave at the far end
    while high < 460 and left(high) > max(tail, floor):
        high *= 1.5
    return -high, high


def replace_one_rdp(event: ReplaceOneSampledDpEvent, orders: ArrayLike) -> Floats:
    """Renyi bounds: joint convexity over the sample; for Gaussians also what is special to the way of sampling."""
    from discreet.accounting import rdp
    from discreet.accounting.pld import gaussian_mu

    a, q = np.asarray(orders, dtype=float), event.sampling_probability
    if q == 0:
        return np.zeros_like(a)
    power = np.minimum((a - 1) * rdp.curve(event.event, a), 1e300)
    bound = np.logaddexp(math.log1p(-q) if q < 1 else -math.inf, math.log(q) + power) / (a - 1)
    bound = np.where(power < 1e300, bound, math.inf)
    mu = gaussian_mu(event.event)
    if mu and q < 1 and not event.fixed_size:
        # out with the old row, in with the new: Mironov (2017), Proposition 11, with both exponents 2
        half = dp_event.PoissonSampledDpEvent(q, dp_event.GaussianDpEvent(1 / (event.missing * mu)))
        moves = (a - 0.5) / (a - 1) * rdp.curve(half, 2 * a) + rdp.curve(half, 2 * a - 1)
        bound = np.minimum(bound, moves)
    return np.asarray(np.maximum(bound, 0.0))


def replace_one_spread(event: ReplaceOneSampledDpEvent) -> float:
    """Rough size of one loss."""
    from discreet.accounting.pld import gaussian_mu

    mu = gaussian_mu(event.event) or 1.0
    return min(mu, event.sampling_probability * math.sqrt(math.expm1(min(mu * mu, 50.0))))
