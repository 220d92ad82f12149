r"""Gaussian differential privacy in closed form, stable far into the tails.

A mechanism is :math:`\mu`-GDP when it is no easier to see through than one draw from :math:`N(0, 1)` against
:math:`N(\mu, 1)`.  Gaussian mechanisms are exactly that with :math:`\mu = 1/\text{noise multiplier}`, and any number
of them, chosen adaptively, is exactly one with :math:`\mu^2 = \sum \mu_t^2` (Dong, Roth and Su, 2022).  So every
number here is exact up to rounding, and rounding goes to the private side.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr, ndtr

from discreet.accounting.events import positive

__all__ = ["clip_shares", "compose", "delta", "deltas", "epsilon", "log_delta", "mu_for"]

_HALF_PI = math.sqrt(math.pi / 2)
_LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)
_SLACK = 1e-11  # on log delta: far above the rounding of everything below, far below what anyone can notice
_NARROW = 1e-2


def _mills(x: float) -> float:
    """The ratio of the upper normal tail to the density, decreasing in x."""
    return float(_HALF_PI * erfcx(x / math.sqrt(2)))


def _mills_drop(centre: float, width: float) -> float:
    """``mills(centre - width/2) - mills(centre + width/2)``, by its series where the difference would cancel."""
    if width >= _NARROW:
        return _mills(centre - width / 2) - _mills(centre + width / 2)
    # m' = x m - 1 and m'' = m + x m', hence m''' = 2 m' + x m'', and so on: the odd ones are what is left.
    m0 = _mills(centre)
    m1 = -1 / centre**2 + 3 / centre**4 - 15 / centre**6 + 105 / centre**8 if centre > 200 else centre * m0 - 1
    m2 = m0 + centre * m1
    m3 = 2 * m1 + centre * m2
    m4 = 3 * m2 + centre * m3
    m5 = 4 * m3 + centre * m4
    return max(-(width * m1 + width**3 / 24 * m3 + width**5 / 1920 * m5), 0.0)


def _log_delta(mu: float, eps: float) -> float:
    """Log H_eps(mu), where delta = phi(a) (mills(-a) - mills(-b)), a = mu/2 - eps/mu, b = -mu/2 - eps/mu."""
    a, centre = mu / 2 - eps / mu, eps / mu
    if -a < -25:  # nearly certain to be told apart: the density form overflows, the plain one is exact
        return math.log(max(float(ndtr(a)) - math.exp(min(eps + float(log_ndtr(a - mu)), 0.0)), 1e-300))
    drop = _mills_drop(centre, mu)
    return math.log(drop) - a * a / 2 - _LOG_ROOT_2PI if drop > 0 else -math.inf


def log_delta(mu: float, epsilon: float) -> float:
    """The logarithm of :func:`delta`, useful below the smallest float.

    >>> round(log_delta(1.0, 100.0) / math.log(10), 2)
    -2154.21
    """
    mu, eps = positive(mu, "mu", zero=True), float(epsilon)
    if mu == 0:
        return math.log(-math.expm1(eps)) if eps < 0 else -math.inf
    if eps < 0:  # H_eps = 1 - e^eps + e^eps H_-eps
        return min(0.0, math.log(-math.expm1(eps) + math.exp(eps + _log_delta(mu, -eps))) + _SLACK)
    return min(0.0, _log_delta(mu, eps) + _SLACK)


def delta(mu: float, epsilon: float) -> float:
    r"""The delta of a :math:`\mu`-GDP mechanism at `epsilon`, rounded up.

    Parameters
    ----------
    mu : float
        The Gaussian parameter, at least 0.
    epsilon : float
        Any real number.

    Returns
    -------
    float
        :math:`\Phi(-\epsilon/\mu + \mu/2) - e^\epsilon \Phi(-\epsilon/\mu - \mu/2)`.

    Notes
    -----
    *Privacy.* Guarantee: (epsilon, delta)-DP of any mu-GDP mechanism.  Neighbours: those of `mu`.
    Public: both numbers.  Bounded by: Balle and Wang (2018), Theorem 8.  Proof: ``proofs/gdp.md``.

    Examples
    --------
    >>> round(delta(1.0, 1.0), 6)
    0.126937
    """
    return math.exp(log_delta(mu, epsilon))


def deltas(mu: float, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
    """:func:`delta` for an array of epsilons at least 0; its rounding, which does not shrink with delta, is added.

    >>> bool(abs(deltas(1.0, np.array([1.0]))[0] - delta(1.0, 1.0)) < 1e-14)
    True
    """
    if mu < _NARROW or epsilon.size < 100:
        return np.array([delta(mu, float(e)) for e in epsilon])
    near = epsilon / mu - mu / 2
    middle = np.maximum(near, -25.0)  # below, the density form overflows
    with np.errstate(under="ignore"):
        drop = _HALF_PI * (erfcx(middle / math.sqrt(2)) - erfcx((middle + mu) / math.sqrt(2)))
        far = drop * np.exp(-(middle**2) / 2 - _LOG_ROOT_2PI)
        plain = ndtr(-near) - np.exp(np.minimum(epsilon + log_ndtr(-near - mu), 0.0))
        value = np.where(near < -25, plain, far) * (1 + _SLACK) + 1e-15 * ndtr(-near)
    return np.asarray(np.clip(value, 0.0, 1.0))


def epsilon(mu: float, delta: float) -> float:
    r"""The smallest epsilon at which a :math:`\mu`-GDP mechanism has at most this delta, rounded up.

    Parameters
    ----------
    mu : float
        The Gaussian parameter, at least 0.
    delta : float
        Between 0 and 1; 0 gives infinity unless `mu` is 0.

    Returns
    -------
    float
        Never below the exact value, and within about 1e-10 of it.

    Notes
    -----
    *Privacy.* Guarantee: (epsilon, delta)-DP of any mu-GDP mechanism.  Neighbours: those of `mu`.
    Public: both numbers.  Bounded by: the inverse of :func:`delta`, checked at the answer.  Proof: ``proofs/gdp.md``.

    Examples
    --------
    >>> round(epsilon(1.0, 1e-6), 5)
    4.88655
    """
    mu, d = positive(mu, "mu", zero=True), float(delta)
    if not 0 <= d <= 1:
        raise ValueError(f"delta={delta!r} must be between 0 and 1")
    if mu == 0 or d == 1:
        return 0.0
    if d == 0:
        return math.inf
    target = math.log(d) - 2 * _SLACK
    if log_delta(mu, 0.0) <= target:
        return 0.0
    # log delta is concave and decreasing, so Newton from the right of the root would overshoot, from the left it climbs
    # to the root from below: start at 0-side and walk.
    low, high, eps = 0.0, mu * mu / 2 + mu * math.sqrt(-2 * math.log(d)), mu * mu / 2
    for _ in range(200):
        value = _log_delta(mu, eps)
        low, high = (eps, high) if value > target else (low, eps)
        slope = -math.exp(min(eps + float(log_ndtr(-eps / mu - mu / 2)) - value, 700.0))
        step = eps - (value - target) / slope if slope else math.nan
        new = step if low < step < high else (low + high) / 2
        if abs(new - eps) <= 1e-15 * new or high - low <= 4e-16 * high:
            eps = new
            break
        eps = new
    return _private_side(lambda e: log_delta(mu, e) <= math.log(d), eps, grow=1 + 1e-12)


def mu_for(epsilon: float, delta: float) -> float:
    r"""The largest :math:`\mu` for which every :math:`\mu`-GDP mechanism is (`epsilon`, `delta`)-private, rounded down.

    Parameters
    ----------
    epsilon, delta : float
        The budget; `epsilon` at least 0 and `delta` strictly between 0 and 1.

    Returns
    -------
    float
        ``1 / mu_for(epsilon, delta)`` is the noise multiplier of a single Gaussian release.

    Notes
    -----
    *Privacy.* Guarantee: mu-GDP implies (epsilon, delta)-DP.  Neighbours: any, the same for both.  Public: the budget.
    Bounded by: the inverse of :func:`delta`, checked at the answer.  Proof: ``proofs/gdp.md``.

    Examples
    --------
    >>> [round(mu_for(e, 1e-6), 5) for e in (0.1, 1, 4)]
    [0.02754, 0.2367, 0.83786]
    """
    eps, d = positive(epsilon, "epsilon", zero=True), float(delta)
    if not 0 < d < 1:
        raise ValueError(f"delta={delta!r} must be strictly between 0 and 1 for Gaussian noise; delta=0 needs Laplace")
    goal = math.log(d)
    target = goal - 2 * _SLACK
    root = math.sqrt(-2 * math.log(d))
    low = 0.0
    high = root + math.sqrt(root * root + 2 * eps) + 4  # here a > root, so delta is far above d, unless d is near 1
    while _log_delta(high, eps) < target:
        high *= 2
    mu = max(math.sqrt(root * root / 4 + eps / 2) - root / 2, 1e-300) if eps else d
    for _ in range(400):
        value = _log_delta(mu, eps)
        low, high = (mu, high) if value <= target else (low, mu)
        a = mu / 2 - eps / mu
        # d delta / d mu = phi(a); Newton in log mu, where log delta is close to concave
        slope = math.exp(min(-a * a / 2 - _LOG_ROOT_2PI - value, 700.0)) * mu if value > -math.inf else 0.0
        step = mu * math.exp(max(min((target - value) / slope, 1.0), -1.0)) if slope else math.nan
        new = step if low < step < high else (low + high) / 2
        if abs(new - mu) <= 1e-15 * new or high - low <= 4e-16 * high:
            mu = new
            break
        mu = new
    return _private_side(lambda m: log_delta(m, eps) <= goal, mu, grow=1 - 1e-12)


def _private_side(holds: Callable[[float], bool], value: float, *, grow: float) -> float:
    """Move `value` by growing relative steps until `holds(value)`: at most a handful, as the root is already exact."""
    factor = grow
    while not holds(value):
        value *= factor
        factor = factor * factor
    return value


def compose(*mus: float) -> float:
    r"""The :math:`\mu` of any number of adaptive Gaussian releases: the root of the sum of squares, rounded up.

    >>> compose(3.0, 4.0)
    5.0
    """
    squares = math.fsum(positive(m, "mu", zero=True) ** 2 for m in mus)
    root = math.sqrt(squares)
    return root if root * root >= squares else math.nextafter(root, math.inf)


def clip_shares(bounds: list[float], curvature: list[float] | None = None) -> list[float]:
    r"""How to share one Gaussian release among parts with their own sensitivities.

    Part j gets noise of standard deviation ``share_j`` times the noise multiplier of the whole, so that
    :math:`\sum_j (\Delta_j / \text{share}_j)^2 = 1`: together they cost exactly what one release of sensitivity 1
    costs.  With curvatures M, :math:`\text{share}_j^2 \propto \Delta_j\sqrt{M_j}`, which minimises
    :math:`\sum \sigma_j^2 / M_j`.

    Notes
    -----
    *Privacy.* Guarantee: the parts together are one Gaussian event.  Neighbours: those of `bounds`.
    Public: both lists.  Bounded by: additivity of mu squared.  Proof: ``proofs/gdp.md``.

    Examples
    --------
    >>> shares = clip_shares([3.0, 1.0])
    >>> round(sum((b / s) ** 2 for b, s in zip([3.0, 1.0], shares)), 12)
    1.0
    """
    delta = [positive(b, "bound") for b in bounds]
    m = [1.0] * len(delta) if curvature is None else [positive(c, "curvature") for c in curvature]
    if not delta or len(m) != len(delta):
        raise ValueError(f"{len(m)} curvatures for {len(delta)} bounds; give one each, at least one")
    raw = [math.sqrt(d * math.sqrt(c)) for d, c in zip(delta, m, strict=True)]
    cost = math.sqrt(math.fsum((d / r) ** 2 for d, r in zip(delta, raw, strict=True)))
    return [r * cost * (1 + 1e-15) for r in raw]
