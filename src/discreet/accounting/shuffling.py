r"""Amplification by shuffling: what anonymous, mixed-up local reports cost centrally.

`n` persons each send one report that is `epsilon_0`-locally private; a shuffler forgets who sent what.  Seen from
outside, replacing one person's value is then far better hidden than `epsilon_0` says.  This module prices that view:

* :func:`closed_form_epsilon`: the printed bounds of Feldman, McMillan and Talwar (2021 and 2023);
* :func:`shuffled_delta` and :func:`shuffled_epsilon`: the finite sum of a reduction to three counts, always rounded
  up (its generic case has two, the clones of Feldman et al. 2023);
* :func:`local_epsilon_for`: the inverse, which local epsilon gives a central promise.

The neighbouring relation is replace-one throughout: there is no such thing as an absent report.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

__all__ = [
    "Variation",
    "closed_form_epsilon",
    "local_epsilon_for",
    "shuffled_delta",
    "shuffled_epsilon",
]

Array = NDArray[np.float64]
TAIL = 60.0  # probabilities below exp(-60) are charged whole: 2e-26 in all
BLOCKS = 768  # blocks of the outer sum; each is rounded up, so fewer are faster and looser, never wrong
COMMON = np.array([-8, -6.5, -5, -4, -3.2, *np.arange(-2.5, 1.8, 0.5)])  # where blocks of the third count begin
FEW = 64  # values of the third count that need no blocks
SLACK = 1e-9  # relative error allowed to scipy's incomplete beta function, paid on the private side


@dataclass(frozen=True)
class Variation:
    r"""How much one randomiser gives away: the parameters of the reduction.

    For any values x, x' of a person and any message, ``P(R(x)=y) <= e^epsilon P(R(x')=y)``, and the total variation
    between R(x) and R(x') is at most `beta`.

    Parameters
    ----------
    epsilon : float
        The local epsilon.
    beta : float
        The largest total variation; at most ``tanh(epsilon / 2)``, which is what any randomiser obeys.
    common : float, optional
        How far the messages that speak for no value in particular can stand above the least likely value's: by default
        ``e^epsilon``, which holds for any randomiser.  It is 1 where no message is likelier than that for two values
        at once, as in k-ary response (then `beta` must be the total variation of *every* pair of values).

    Notes
    -----
    *Privacy.* Guarantee: none by itself; it describes a randomiser.  Neighbours: replace-one.  Public: all.
    Bounded by: the caller's proof that the randomiser obeys it.  Proof: ``proofs/shuffling.md``.

    Examples
    --------
    >>> round(Variation.generic(1.0).beta, 4)
    0.4621
    >>> Variation.k_ary(1.0, 10).beta < Variation.generic(1.0).beta
    True
    """

    epsilon: float
    beta: float
    common: float | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise ValueError(f"local epsilon={self.epsilon!r} must be a positive finite number")
        if self.epsilon > 50:
            raise ValueError(f"local epsilon={self.epsilon!r} is not a promise; choose one of 50 or less")
        if not 0 < self.beta <= math.tanh(self.epsilon / 2) * (1 + 1e-12):
            raise ValueError(f"beta={self.beta!r} must be in (0, tanh(epsilon/2)={math.tanh(self.epsilon / 2):.6g}]")
        if self.common is not None and not 1 <= self.common <= math.exp(self.epsilon):
            raise ValueError(f"common={self.common!r} must be from 1 to e^epsilon={math.exp(self.epsilon):.6g}")

    @property
    def height(self) -> float:
        """`common`, or ``e^epsilon`` where it is not known."""
        return math.exp(self.epsilon) if self.common is None else self.common

    @classmethod
    def generic(cls, epsilon: float) -> Variation:
        """Any randomiser with this local epsilon: the clones of Feldman, McMillan and Talwar (2023)."""
        return cls(epsilon, math.tanh(epsilon / 2))

    @classmethod
    def k_ary(cls, epsilon: float, k: int) -> Variation:
        """Randomised response over `k` answers."""
        return cls(epsilon, math.expm1(epsilon) / (math.exp(epsilon) + k - 1), 1.0)

    @classmethod
    def laplace(cls, epsilon: float) -> Variation:
        """Laplace noise on an interval whose length over the noise scale is `epsilon`."""
        return cls(epsilon, -math.expm1(-epsilon / 2))


def closed_form_epsilon(local_epsilon: float, n: int, delta: float, *, theorem: str = "fmt23") -> float:
    r"""The central epsilon by a printed theorem, or `local_epsilon` where its condition fails.

    Parameters
    ----------
    local_epsilon : float
        What each report promises.
    n : int
        The number of reports in one shuffled batch.
    delta : float
        The central delta.
    theorem : {"fmt23", "fmt21"}
        ``"fmt23"``: Feldman, McMillan, Talwar, *Stronger privacy amplification by shuffling* (SODA 2023), the
        closed form for :math:`\epsilon_0 \le \log(n/(8\log(2/\delta)) - 1)`.  ``"fmt21"``: the same authors,
        *Hiding among the clones* (FOCS 2021), Theorem 3.1, for :math:`\epsilon_0 \le \log(n/(16\log(2/\delta)))`.

    Notes
    -----
    *Privacy.* Guarantee: (returned epsilon, delta)-DP of the shuffled reports.  Neighbours: replace-one.
    Public: n, delta, the randomiser.  Bounded by: the local epsilon.  Proof: ``proofs/shuffling.md``.

    Examples
    --------
    >>> [round(closed_form_epsilon(1.0, 10_000, 1e-6, theorem=t), 4) for t in ("fmt23", "fmt21")]
    [0.18, 0.214]
    """
    _check(n, delta)
    p, root = math.exp(local_epsilon), math.log(4 / delta)
    if theorem == "fmt23":
        if p > n / (8 * math.log(2 / delta)) - 1:
            return local_epsilon
        factor = 4 * math.sqrt(2 * root / ((p + 1) * n)) + 4 / n
        return min(local_epsilon, math.log1p((p - 1) * factor))
    if theorem == "fmt21":
        if p > n / (16 * math.log(2 / delta)):
            return local_epsilon
        factor = 8 * math.sqrt(p * root / n) + 8 * p / n
        return min(local_epsilon, math.log1p((p - 1) / (p + 1) * factor))
    raise ValueError(f"theorem={theorem!r} is not one of 'fmt23', 'fmt21'")


def shuffled_delta(variation: Variation, n: int, epsilon: float) -> float:
    r"""An upper bound on the central delta at `epsilon`: the hockey-stick divergence of the reduction, rounded up.

    The dominating pair: each of the other reports looks like the victim's one value, like its other value, like both
    of them, or like none, with probabilities ``alpha, alpha, idle / height`` and the rest; the victim adds itself to
    the three counts with probabilities ``p alpha, alpha, idle``, or the first two exchanged.  Given the third count and
    the total of the first two, the divergence is a ramp in the first; blocks of both are bounded by one ramp each
    (``proofs/shuffling.md``, Lemmas 2 to 4).

    Notes
    -----
    *Privacy.* Guarantee: (epsilon, returned delta)-DP of the shuffled reports.  Neighbours: replace-one.
    Public: n, epsilon, the randomiser.  Bounded by: `variation`.  Proof: ``proofs/shuffling.md``.

    Examples
    --------
    >>> 0 < shuffled_delta(Variation.generic(1.0), 10_000, 0.05) < 1e-6
    True
    >>> shuffled_delta(Variation.generic(1.0), 10_000, 1.0)
    0.0
    """
    _check(n, 0.5)
    if epsilon >= variation.epsilon:
        return 0.0
    if epsilon < 0:  # H_{-eps}(P||Q) = 1 - e^{-eps} + e^{-eps} H_eps(Q||P), and the pair is symmetric
        return min(1.0, -math.expm1(epsilon) + math.exp(epsilon) * shuffled_delta(variation, n, -epsilon))
    p, height = math.exp(variation.epsilon), variation.height
    alpha = variation.beta / (p - 1)
    idle = max(0.0, 1 - alpha * (1 + p))
    both = idle / height if idle > 1e-12 else 0.0  # of the other reports, those that look like both values
    share = 2 * alpha / (1 - both)  # of the rest, those that look like one of them
    rise = math.expm1(epsilon) / ((p - 1) * (1 + math.exp(epsilon)))
    total = 0.0
    for least, chance in _common(n, both):
        left = n - least
        low, high = _blocks(left, share, BLOCKS if both == 0.0 else BLOCKS // (3 if chance > 1e-3 else 12))
        # the ramp's corner above c/2, lowered by what it could be anywhere in the block
        corner = rise * ((p + 1) / 2 * low + height * least)
        total += chance * float(np.sum(_mass(low, high, left, share) * _ramp(high, corner)))
    gain = (p - 1) * (1 + math.exp(epsilon)) / n
    return min(total * gain * (1 + SLACK) + 4 * math.exp(-TAIL), variation.beta)


def _common(n: int, both: float) -> list[tuple[int, float]]:
    """Blocks of Bin(n, both), each by its lower end and its probability; the sum falls in it, so that is an upper end.

    The lowest block begins where Bernstein's inequality leaves less than exp(-TAIL) below.
    """
    if both == 0.0:
        return [(0, 1.0)]
    mean, deviation = n * both, math.sqrt(n * both * (1 - both))
    reach = TAIL / 3 + math.sqrt(TAIL * TAIL / 9 + 2 * TAIL * deviation**2) + 1
    first = max(0, math.floor(mean - reach))
    last = min(n - 1, math.ceil(mean + 8 * deviation))  # more than that counts as that, but n as nothing
    blocks = np.append(first, np.floor(mean + COMMON * deviation))
    steps = np.arange(first, last + 1) if last - first < FEW else blocks
    starts = np.unique(np.clip(steps, first, last)).astype(np.float64)
    chance = _mass(starts, np.append(starts[1:] - 1, n - 1), n, both)
    return [(int(k), float(q)) for k, q in zip(starts, chance, strict=True)]


def shuffled_epsilon(variation: Variation, n: int, delta: float) -> float:
    """The smallest central epsilon (rounded up) at `delta`, never above the closed form or the local epsilon.

    Notes
    -----
    *Privacy.* Guarantee: (returned epsilon, delta)-DP of the shuffled reports.  Neighbours: replace-one.
    Public: n, delta, the randomiser.  Bounded by: `variation`.  Proof: ``proofs/shuffling.md``.

    Examples
    --------
    >>> round(shuffled_epsilon(Variation.generic(1.0), 10_000, 1e-6), 3)
    0.043
    >>> round(shuffled_epsilon(Variation.generic(4.0), 10_000, 1e-6), 3)
    0.411
    """
    _check(n, delta)
    ceiling = closed_form_epsilon(variation.epsilon, n, delta)
    if shuffled_delta(variation, n, 0.0) <= delta:
        return 0.0
    return _crossing(lambda e: shuffled_delta(variation, n, e), delta, 0.0, ceiling)[1]


def local_epsilon_for(
    n: int, epsilon: float, delta: float, *, variation: Callable[[float], Variation] = Variation.generic
) -> float:
    """The largest local epsilon whose shuffled reports keep the central promise (rounded down and re-checked).

    Parameters
    ----------
    n : int
        How many persons report in one batch.
    epsilon, delta : float
        The central promise.
    variation : callable
        The randomiser as a function of its local epsilon, e.g. ``lambda e: Variation.k_ary(e, 10)``.

    Notes
    -----
    *Privacy.* Guarantee: reports at the returned local epsilon are centrally (epsilon, delta)-DP once shuffled.
    Neighbours: replace-one.  Public: all arguments.  Bounded by: `variation`.  Proof: ``proofs/shuffling.md``.

    Examples
    --------
    >>> local = local_epsilon_for(100_000, 1.0, 1e-6)
    >>> round(local, 2), shuffled_epsilon(Variation.generic(local), 100_000, 1e-6) <= 1.0
    (7.76, True)
    """
    _check(n, delta)
    if not epsilon > 0:
        raise ValueError(f"central epsilon={epsilon!r} must be positive")
    high = min(max(epsilon, math.log(n + 2)) + 2, 49.0)
    # growing in the local epsilon; at the central epsilon nothing needs to be hidden by anybody
    found = _crossing(lambda e: shuffled_delta(variation(high + epsilon - e), n, epsilon), delta, epsilon, high)
    return max(high + epsilon - found[1], epsilon)


def _check(n: int, delta: float) -> None:
    if n < 1 or int(n) != n:
        raise ValueError(f"n={n!r} reports: give a whole number, at least 1")
    if not 1e-20 <= delta < 1:
        raise ValueError(f"delta={delta!r} must be in [1e-20, 1); shuffling never gives pure differential privacy")


def _crossing(fall: Callable[[float], float], level: float, low: float, high: float) -> tuple[float, float]:
    """Ends of a tiny interval in which a falling function passes `level`; at `high` it is taken to be below already.

    Regula falsi on logarithms (Illinois variant), with a bisection whenever that is slow; both ends were evaluated.
    """
    target = math.log(level)
    at_low, at_high = math.log(max(fall(low), 1e-300)) - target, math.log(max(fall(high), 1e-300)) - target
    if at_low <= 0:
        return low, low
    at_high = min(at_high, -1e-3)
    for step in range(200):
        if high - low <= 1e-9 * high:
            break
        middle = low + (high - low) * at_low / (at_low - at_high)
        if step % 3 == 2 or not low < middle < high:
            middle = (low + high) / 2
        value = math.log(max(fall(middle), 1e-300)) - target
        if value > 0:
            low, at_low, at_high = middle, value, at_high / 2
        else:
            high, at_high, at_low = middle, value, at_low / 2
    return low, high


def _blocks(n: int, share: float, blocks: int) -> tuple[Array, Array]:
    """Ends of the blocks of c in 1..n outside which Bernstein's inequality leaves less than 2 exp(-TAIL)."""
    mean, var = n * share, n * share * (1 - share)
    reach = TAIL / 3 + math.sqrt(TAIL * TAIL / 9 + 2 * TAIL * var) + 1
    first, last = max(1, math.floor(mean - reach)), min(n, math.ceil(mean + reach))
    edges = np.unique(np.linspace(first, last + 1, min(blocks, last + 1 - first) + 1).round())
    return edges[:-1], edges[1:] - 1


def _mass(low: Array, high: Array, n: int, share: float) -> Array:
    """P(low <= Bin(n, share) <= high), from the tail that is small so that nothing cancels."""
    edges = np.append(low, high[-1] + 1)
    rest, left = n - edges + 1, edges <= n * share
    tail = np.zeros(edges.size)  # of what is below, on the left of the mean; of what is not, on its right
    below, above = left & (edges > 0), ~left & (edges <= n)
    tail[below] = special.betaincc(edges[below], rest[below], share)
    tail[above] = special.betainc(edges[above], rest[above], share)
    mass = np.where(left[1:], np.diff(tail), -np.diff(tail))
    astride = left[:-1] & ~left[1:]
    mass[astride] = 1 - tail[:-1][astride] - tail[1:][astride]
    return np.maximum(mass, 0.0) * (1 + SLACK)


def _ramp(c: Array, corner: Array) -> Array:
    """An upper bound on E max(A - c/2 - corner, 0) for A ~ Bin(c, 1/2).

    With t the first integer above the corner it equals ``c/4 P(Bin(c-1,1/2) = t-1) - corner P(A >= t)``: the two terms
    cancel by a factor of about the squared distance in standard deviations only, which SLACK covers.
    """
    corner = corner - 1e-13 * (c + np.abs(corner))
    t = np.floor(c / 2 + corner) + 1
    inside = (t >= 1) & (t <= c)
    safe = np.where(inside, t, 1.0)
    upper = special.betainc(safe, c - safe + 1, 0.5)
    point = c / 4 * _half_pmf(safe - 1, c - 1)
    signed = np.where(corner > 0, corner * (1 - SLACK), corner * (1 + SLACK))
    value = np.maximum(point * (1 + SLACK) - signed * upper, 0.0)
    return np.where(t > c, 0.0, np.where(t < 1, np.maximum(-corner, 0.0), value))


def _half_pmf(k: Array, n: Array) -> Array:
    """P(Bin(n, 1/2) = k) to nearly full precision for n up to 10^15 (Loader 2000: saddle point and Stirling errors)."""
    k = np.minimum(k, n - k)
    edge = k <= 0
    k1, n1 = np.where(edge, 1.0, k), np.maximum(n, 2.0)
    x = 1 - 2 * k1 / n1
    divergence = n1 / 2 * (2 * x * np.arctanh(np.minimum(x, 1 - 1e-16)) + np.log1p(-x * x))
    stirling = _stirling_error(n1) - _stirling_error(k1) - _stirling_error(n1 - k1)
    bulk = np.sqrt(n1 / (2 * math.pi * k1 * (n1 - k1))) * np.exp(stirling - divergence)
    return np.where(edge, np.exp2(-n), bulk)


def _stirling_error(n: Array) -> Array:
    """What Stirling's formula leaves out of log n!: a series above 15, the definition below."""
    small = n < 15
    big = np.where(small, 15.0, n)
    inv = 1 / (big * big)
    series = (1 / 12 - inv * (1 / 360 - inv * (1 / 1260 - inv * (1 / 1680 - inv / 1188)))) / big
    tiny = np.where(small, np.maximum(n, 1.0), 1.0)
    direct = special.gammaln(tiny + 1) - (tiny + 0.5) * np.log(tiny) + tiny - 0.5 * math.log(2 * math.pi)
    return np.where(small, direct, series)
