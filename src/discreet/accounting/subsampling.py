r"""What sampling rows at random saves.

*Add/remove and zero-out.*  With Poisson sampling at rate q the mechanism's outputs on the larger data set are
:math:`(1-q)Q + qP`, on the smaller one Q; any dominating pair may be put in place of (P, Q).  That is
``dp_event.PoissonSampledDpEvent``.

*Replace one.*  Both data sets have a row where they differ, and sampling hides less than it does for a row that is
there or not.  For epsilon at least 0, advanced joint convexity (Balle, Barthe and Gaboardi, 2018, Theorem 2) gives
:math:`H_{e'}(M \circ S) \le q[(1-b) H_e(\mu_1\|\mu_0) + b H_e(\mu_1\|\mu_1')]` with :math:`e' = \log(1+q(e^e-1))` and
:math:`b = e^{e'-e}`, where :math:`\mu_0` is the output without the row.  That is
:class:`~discreet.accounting.events.ReplaceOneSampledDpEvent`; :func:`poisson` picks the right event.
"""

from __future__ import annotations

import math

import numpy as np
from dp_accounting import dp_event
from numpy.typing import ArrayLike, NDArray
from scipy.special import erfcx, log_ndtr, ndtr

from discreet.accounting.events import ReplaceOneSampledDpEvent
from discreet.privacy import Neighbours

__all__ = ["amplify", "poisson"]

Floats = NDArray[np.float64]


def amplify(epsilon: float, delta: float, q: float) -> tuple[float, float]:
    r"""What sampling at rate `q` makes of an (`epsilon`, `delta`) guarantee: :math:`(\log(1+q(e^\epsilon-1)), q\delta)`.

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


def _gaussian_delta(mu: float, eps: Floats) -> Floats:
    """H_eps(mu) for arrays of eps >= 0 (see :mod:`.gdp` for the formula and for the care)."""
    a, b = mu / 2 - eps / mu, -mu / 2 - eps / mu
    with np.errstate(over="ignore", invalid="ignore"):
        mills = math.sqrt(math.pi / 2) * (erfcx(-a / math.sqrt(2)) - erfcx(-b / math.sqrt(2)))
        tail = mills * np.exp(-a * a / 2) / math.sqrt(2 * math.pi)
    plain = ndtr(a) - np.exp(np.minimum(eps + log_ndtr(b), 0.0))
    value = np.where(a > 20, plain, tail)
    # rounding of the difference of the two erfcx, relative to their size
    return np.asarray(np.clip(value + 4e-16 * np.exp(np.minimum(log_ndtr(a), 0.0)), 0.0, 1.0))


def _inner_delta(event: dp_event.DpEvent, alpha: Floats) -> tuple[Floats, Floats]:
    """Divergences of the sampled event at alpha = e^eps >= 1: the row against no row, and against another row."""
    from discreet.accounting.pld import composition, gaussian_mu

    mu = gaussian_mu(event)
    if mu is not None:
        eps = np.log(alpha)
        return (_gaussian_delta(mu / 2, eps), _gaussian_delta(mu, eps)) if mu else (0 * eps, 0 * eps)
    curves = []
    for whole in composition(event, 1e-15).values():
        pmf = whole.flattened()
        keep = pmf.losses < 700
        knots, mass = np.exp(pmf.losses[keep]), pmf.mass[keep]
        upper, lower = (np.cumsum(m[::-1])[::-1] for m in (mass, mass / knots))
        values = np.maximum(upper - knots * lower, 0.0) + (pmf.infinity + float(pmf.mass[~keep].sum()) + 1e-15)
        # between knots the profile is linear in alpha, left of them it is 1 - alpha at most above the first value
        curves.append(np.interp(alpha, knots, values))
    worst = np.max(curves, axis=0)
    return worst, worst


def replace_one_profile(q: float, event: dp_event.DpEvent, epsilon: Floats) -> Floats:
    """Bound of the module's introduction for every real epsilon (below 0 by the symmetry of the relation)."""
    away = np.abs(np.asarray(epsilon, dtype=float))
    if q == 0:
        return np.maximum(0.0, -np.expm1(epsilon))
    outer = np.exp(np.minimum(away, 700.0))
    inner = 1 + np.expm1(np.minimum(away, 700.0)) / q
    same, other = _inner_delta(event, inner)
    share = outer / inner
    value = np.minimum(q * ((1 - share) * same + share * other) * (1 + 1e-14), 1.0)
    return np.where(epsilon >= 0, value, -np.expm1(-away) + np.exp(-away) * value)


def replace_one_range(q: float, event: dp_event.DpEvent, tail: float) -> tuple[float, float]:
    """Losses beyond which less than `tail` of delta is left (both ways)."""
    high = 1e-6
    while high < 700 and replace_one_profile(q, event, np.array([high]))[0] > tail:
        high *= 1.5
    return -high, high


def replace_one_rdp(q: float, event: dp_event.DpEvent, orders: ArrayLike) -> Floats:
    """Renyi bound: joint convexity over the sample; for Gaussians also the two moves, remove and add, in a row."""
    from discreet.accounting import rdp
    from discreet.accounting.pld import gaussian_mu

    a = np.asarray(orders, dtype=float)
    with np.errstate(over="ignore", divide="ignore"):
        power = (a - 1) * rdp.curve(event, a)
        bound = np.logaddexp(math.log1p(-q) if q < 1 else -math.inf, (math.log(q) if q else -math.inf) + power) / (a - 1)
    mu = gaussian_mu(event)
    if mu and q < 1:
        half = dp_event.PoissonSampledDpEvent(q, dp_event.GaussianDpEvent(2 / mu))
        # Mironov (2017), Proposition 11, with Hoelder exponents 2 and 2
        moves = (a - 0.5) / (a - 1) * rdp.curve(half, 2 * a) + rdp.curve(half, 2 * a - 1)
        bound = np.minimum(bound, moves)
    return np.asarray(np.maximum(bound, 0.0))


def replace_one_spread(q: float, event: dp_event.DpEvent) -> float:
    """Rough size of one loss."""
    from discreet.accounting.pld import gaussian_mu

    mu = gaussian_mu(event) or 1.0
    return min(mu, q * math.sqrt(math.expm1(min(mu * mu, 50.0))))
