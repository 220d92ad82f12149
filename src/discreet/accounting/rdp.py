r"""Renyi differential privacy: a curve over orders that adds up (the moments accountant).

Counts multiply here, leaf by leaf, so that no library's handling of repeated events enters.  Every order gives a
valid epsilon, so a finite set of orders needs no certificate.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from dp_accounting import dp_event
from dp_accounting.rdp import RdpAccountant
from numpy.typing import ArrayLike, NDArray
from scipy import special

from discreet.accounting import pure
from discreet.accounting.events import DominatedDpEvent, tally
from discreet.accounting.pld import gaussian_mu, gaussian_multiplier, leaf_pmf, supported
from discreet.privacy import PrivacyError

__all__ = ["ORDERS", "curve", "delta", "epsilon", "to_delta", "to_epsilon"]

Floats = NDArray[np.float64]

ORDERS: Floats = np.unique(
    np.concatenate([1 + np.geomspace(0.02, 1, 12), np.arange(3, 65), np.geomspace(70, 1e5, 30).round()])
)


def to_epsilon(orders: ArrayLike, values: ArrayLike, delta: float) -> float:
    """The best epsilon that a curve gives (Canonne, Kamath and Steinke, 2020, Proposition 12).

    Notes
    -----
    *Privacy.* Guarantee: (epsilon, delta)-DP.  Neighbours: those of the curve.  Public: the curve.
    Bounded by: the cited conversion at the best of the orders.  Proof: ``proofs/accounting.md``.

    Examples
    --------
    >>> round(to_epsilon([8, 16, 32], [0.08, 0.16, 0.32], 1e-5), 3)
    0.548
    """
    a, r = np.asarray(orders, dtype=float), np.asarray(values, dtype=float)
    if delta <= 0:
        return 0.0 if not np.any(r) else math.inf
    if delta >= 1 or not np.any(r):
        return 0.0
    eps = r + np.log1p(-1 / a) - (math.log(delta) + np.log(a)) / (a - 1)
    return max(0.0, float(np.min(eps[np.isfinite(eps)], initial=math.inf))) * (1 + 1e-12)


def to_delta(orders: ArrayLike, values: ArrayLike, epsilon: float) -> float:
    """The best delta that a curve gives at `epsilon`.

    >>> round(to_delta([8, 16, 32], [0.08, 0.16, 0.32], 0.675), 7)
    2e-07
    """
    a, r = np.asarray(orders, dtype=float), np.asarray(values, dtype=float)
    if not np.any(r):
        return 0.0 if epsilon >= 0 else -math.expm1(epsilon)
    exponents = (a - 1) * (r - epsilon + np.log1p(-1 / a)) - np.log(a)
    log_delta = float(np.min(exponents[np.isfinite(exponents)], initial=0.0))
    return min(1.0, math.exp(min(log_delta, 0.0)) * (1 + 1e-12))


def curve(event: dp_event.DpEvent, orders: ArrayLike = ORDERS) -> Floats:
    """Renyi divergences of the tree at the given orders, both directions covered.

    Notes
    -----
    *Privacy.* Guarantee: (order, value)-RDP for every order.  Neighbours: those of the events.  Public: the events.
    Bounded by: additivity (Mironov, 2017, Proposition 1).  Proof: ``proofs/accounting.md``.

    Examples
    --------
    >>> curve(dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(2.0), 4), [2.0, 8.0]).tolist()
    [1.0, 4.0]
    """
    a = np.asarray(orders, dtype=float)
    total = np.zeros_like(a)
    for leaf, count in tally(event):
        total = total + count * _leaf(leaf, a)
    return total


def _leaf(leaf: dp_event.DpEvent, a: Floats) -> Floats:
    multiplier = gaussian_multiplier(leaf)
    if multiplier is not None:
        return a / (2 * multiplier**2) if multiplier else np.full_like(a, math.inf)
    if isinstance(leaf, DominatedDpEvent):
        bound = leaf.rdp(a)
        return np.minimum(bound, pure.rdp(leaf.pure(), a)) if math.isfinite(leaf.pure()) else bound
    if isinstance(leaf, dp_event.ZCDpEvent):
        if leaf.rho < 0 or leaf.xi < 0:
            raise ValueError(f"{leaf!r} has a negative parameter")
        return np.asarray(leaf.xi + leaf.rho * a)
    if isinstance(leaf, dp_event.LaplaceDpEvent):
        return _laplace(1 / leaf.noise_multiplier, a) if leaf.noise_multiplier else np.full_like(a, math.inf)
    if isinstance(leaf, dp_event.PoissonSampledDpEvent):
        mu = gaussian_mu(leaf.event)
        if mu is not None:
            return _sampled_gaussian(float(leaf.sampling_probability), mu, a)
    if isinstance(leaf, dp_event.RepeatAndSelectDpEvent):
        from discreet.accounting.standard import to_standard

        asked = _ask(dp_event.RepeatAndSelectDpEvent(to_standard(leaf.event, "rdp"), leaf.mean, leaf.shape), a)
        return np.minimum(asked, _repeated(leaf, a))
    if supported(leaf):
        return _from_losses(leaf, a)
    raise ValueError(f"{leaf!r} is not an event that this accountant knows; give it a dominating event")


def _ask(leaf: dp_event.DpEvent, a: Floats) -> Floats:
    """The library's curve for one leaf, used once."""
    _check_library()
    return np.asarray(RdpAccountant(a).compose(leaf).rdp, dtype=float)


def _repeated(leaf: dp_event.RepeatAndSelectDpEvent, a: Floats) -> Floats:
    """The same theorem on this module's own curve of one run, which knows where the run is purely private."""
    from discreet.accounting import repeats

    if not math.isfinite(leaf.shape):
        return np.full_like(a, math.inf)
    gamma = repeats.gamma_for(leaf.mean, leaf.shape)
    inner = repeats.INNER
    return repeats.curve(a, curve(leaf.event, a), inner, curve(leaf.event, inner), gamma, leaf.shape)


@lru_cache(maxsize=1)
def _check_library() -> None:
    """Refuse a library whose numbers differ from what can be worked out by hand, whatever its version says."""
    q, z = 0.3, 1.5
    by_hand = math.log1p(q * q * math.expm1(1 / z**2))  # order 2
    plain = float(RdpAccountant([2.0]).compose(dp_event.PoissonSampledDpEvent(q, dp_event.GaussianDpEvent(z))).rdp[0])
    # one repetition of the best of exactly one run is the run itself, plus what Theorem 2 of its paper adds
    once = dp_event.RepeatAndSelectDpEvent(dp_event.GaussianDpEvent(z), 1.0, 1.0)
    best = float(RdpAccountant([2.0, 4.0]).compose(once).rdp[0])
    two = np.array([2.0, 16.0])
    twice = dp_event.RepeatAndSelectDpEvent(dp_event.GaussianDpEvent(z), 4.0, 1.0)  # geometric, so gamma is 1/4
    listed = np.asarray(RdpAccountant(two).compose(twice).rdp)
    formula = two / (2 * z**2) + math.log(4) / (two - 1) + 2 * np.min((two - 1) / (2 * z**2) + math.log(4) / two)
    right = np.allclose(listed, np.minimum.accumulate(formula[::-1])[::-1], rtol=1e-6)
    if abs(plain / by_hand - 1) > 1e-9 or best < 1 / z**2 or not right:
        raise PrivacyError(
            f"the installed dp_accounting prices a known event at {plain!r} instead of {by_hand!r}; "
            "install the version that discreet pins"
        )


def _sampled_gaussian(q: float, mu: float, a: Floats) -> Floats:
    """Mironov, Talwar and Zhang (2019): a binomial sum at whole orders, chords of ``(a - 1) D_a`` (convex) between."""
    if q == 0 or mu == 0:
        return np.zeros_like(a)
    plain = a * mu * mu / 2
    below, above = np.floor(a), np.ceil(a)
    sums = {k: _whole_order(q, mu, int(k)) for k in np.unique(np.concatenate([below, above])) if k <= _WHOLE}
    w = a - below
    left, right = (np.array([sums.get(k, 1e300) for k in ends]) for ends in (below, above))
    chord = (1 - w) * left + w * right  # orders past the last one summed fall back on `plain`
    return np.asarray(np.minimum(np.maximum(chord, 0.0) / (a - 1) * (1 + 1e-12), plain))


_WHOLE = 2048


def _whole_order(q: float, mu: float, a: int) -> float:
    """``(a - 1) D_a``, summed from the second power on, as the first two add up to one."""
    if a == 1 or q == 1:
        return a * (a - 1) * mu * mu / 2
    k = np.arange(2, a + 1)
    log_choose = special.gammaln(a + 1) - special.gammaln(k + 1) - special.gammaln(a - k + 1)
    grow = mu * mu * k * (k - 1) / 2
    terms = log_choose + k * math.log(q) + (a - k) * math.log1p(-q) + grow + np.log(-np.expm1(-grow))
    return float(np.logaddexp(0.0, special.logsumexp(terms)))


def _laplace(eps: float, a: Floats) -> Floats:
    """Mironov (2017), Proposition 6."""
    high = np.log(a / (2 * a - 1)) + (a - 1) * eps
    low = np.log((a - 1) / (2 * a - 1)) - a * eps
    value = np.logaddexp(high, low) / (a - 1)
    return np.minimum(np.maximum(value, 0.0) + 1e-15 / (a - 1), pure.rdp(eps, a))


def _from_losses(leaf: dp_event.DpEvent, a: Floats) -> Floats:
    top = pure.epsilon_of(leaf)
    if not math.isfinite(top):
        return np.full_like(a, math.inf)
    pmfs = [leaf_pmf(leaf, d, max(top / 4096, 1e-12), 0.0) for d in ("remove", "add")]
    worst = [max(p.log_mgf(x - 1) if p.infinity == 0 else math.inf for p in pmfs) / (x - 1) for x in a]
    return np.asarray(np.minimum(np.maximum(np.array(worst), 0.0), pure.rdp(top, a)))


def epsilon(event: dp_event.DpEvent, delta: float) -> float:
    """An upper bound on epsilon at `delta` from the best order.

    >>> round(epsilon(dp_event.GaussianDpEvent(4.0), 1e-6), 3)
    1.143
    """
    return to_epsilon(ORDERS, curve(event), delta)


def delta(event: dp_event.DpEvent, epsilon: float) -> float:
    """An upper bound on delta at `epsilon` from the best order.

    >>> delta(dp_event.GaussianDpEvent(4.0), 1.2) < 1e-6
    True
    """
    return to_delta(ORDERS, curve(event), epsilon)
