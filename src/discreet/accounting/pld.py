r"""Loss distributions of the events, and the accountant that composes them.

Each leaf gives a :class:`~.pmf.LossPmf` for each of the two ordered directions, computed from masses rather than from
differences of divergences, so that it is accurate in the far tail.  The two directions are composed apart and the
larger delta counts.
"""

from __future__ import annotations

import math

import numpy as np
from dp_accounting import dp_event
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from discreet.accounting.events import (
    DIRECTIONS,
    Direction,
    DominatedDpEvent,
    tally,
)
from discreet.accounting.pmf import Composition, LossPmf

__all__ = ["composition", "delta", "epsilon", "leaf_pmf", "supported"]

Floats = NDArray[np.float64]
_NDTR_ERROR = 2e-15  # relative error of scipy's normal distribution function, with room
_POINTS = 100  # grid points to a standard deviation of a single step: variance up by at most 1 / (4 _POINTS^2)


def _normal_mass(edges: Floats) -> tuple[Floats, Floats]:
    """Upper and lower bounds on the standard normal mass between consecutive edges, accurate in both tails."""
    low, high = edges[:-1], edges[1:]
    flip = low > 0
    far, near = np.where(flip, -high, low), np.where(flip, -low, high)
    big, small = ndtr(near), ndtr(far)
    error = _NDTR_ERROR * (big + small)
    return big - small + error, np.maximum(big - small - error, 0.0)


def _gaussian(mu: float, step: float, tail: float) -> LossPmf:
    """The loss is N(mu^2/2, mu^2) under P and N(-mu^2/2, mu^2) under Q, in both directions."""
    reach = -float(ndtri(max(tail, 1e-300))) + 1
    first = math.floor((mu * mu / 2 - mu * reach) / step)
    last = math.ceil((mu * mu / 2 + mu * reach) / step)
    z = np.arange(first, last + 1) * step / mu
    p, q = _normal_mass(z - mu / 2)[0], _normal_mass(z + mu / 2)[1]
    p[0] += float(ndtr(z[0] - mu / 2)) * (1 + _NDTR_ERROR)  # what lies below the grid counts as lying in its first cell
    return LossPmf.from_cells(p, q, step, first, float(ndtr(mu / 2 - z[-1])) * (1 + _NDTR_ERROR))


def _sampled_gaussian(q: float, mu: float, direction: Direction, step: float, tail: float) -> LossPmf:
    """P = (1 - q) N(0, 1) + q N(mu, 1) against N(0, 1), or the other way round; the loss is monotone in the output."""
    reach = -float(ndtri(max(tail, 1e-300))) + 1
    sign = 1.0 if direction == "remove" else -1.0
    ends = [sign * _sampled_loss(q, mu, x) for x in (-reach, mu + reach)]
    first, last = math.floor(min(ends) / step), math.ceil(max(ends) / step)
    losses = sign * np.arange(first, last + 1) * step  # of the mixture against N(0, 1)
    # log(1 - q + q e^(mu x - mu^2/2)) = loss, solved for x
    ratio = (np.expm1(losses) + q) / q
    x = np.full(losses.size, -math.inf)
    inside = ratio > 0
    x[inside] = np.log(ratio[inside]) / mu + mu / 2
    x = x if sign > 0 else x[::-1]
    blank, blank_low = _normal_mass(x)
    shifted, shifted_low = _normal_mass(x - mu)
    mixed, mixed_low = (1 - q) * blank + q * shifted, (1 - q) * blank_low + q * shifted_low
    below = float(ndtr(x[0])), float(ndtr(x[0] - mu))
    above = float(ndtr(-x[-1])), float(ndtr(mu - x[-1]))
    grow = 1 + 2 * _NDTR_ERROR
    if sign > 0:
        mixed[0] += ((1 - q) * below[0] + q * below[1]) * grow
        return LossPmf.from_cells(mixed, blank_low, step, first, ((1 - q) * above[0] + q * above[1]) * grow)
    p, lower = blank[::-1].copy(), mixed_low[::-1]
    p[0] += above[0] * grow
    return LossPmf.from_cells(p, lower, step, first, below[0] * grow)


def _sampled_loss(q: float, mu: float, x: float) -> float:
    return float(np.logaddexp(math.log1p(-q) if q < 1 else -math.inf, math.log(q) + mu * x - mu * mu / 2))


def _laplace(eps: float, step: float) -> LossPmf:
    """Atoms at +-eps, and in between density e^((loss - eps)/2) / 4 under P and e^(-(loss + eps)/2) / 4 under Q."""
    first, last = math.floor(-eps / step), math.ceil(eps / step)
    edges = np.clip(np.arange(first, last + 1) * step, -eps, eps)
    widths = np.diff(edges)
    p = 0.5 * np.exp((edges[:-1] - eps) / 2) * np.expm1(widths / 2)
    q = 0.5 * np.exp(-(edges[1:] + eps) / 2) * np.expm1(widths / 2)
    body = LossPmf.from_cells(p * (1 + 1e-14), q * (1 - 1e-14), step, first, 0.0)
    atoms = LossPmf.from_atoms(np.array([-eps, eps]), np.array([math.exp(-eps) / 2, 0.5]), step)
    return _sum(body, atoms)


def _sum(one: LossPmf, other: LossPmf) -> LossPmf:
    low = min(one.lowest, other.lowest)
    high = max(one.lowest + one.mass.size, other.lowest + other.mass.size)
    mass = np.zeros(high - low)
    for pmf in (one, other):
        mass[pmf.lowest - low : pmf.lowest - low + pmf.mass.size] += pmf.mass
    return LossPmf(one.step, low, mass, one.infinity + other.infinity)


def _discrete_laplace(a: float, sensitivity: int, step: float) -> LossPmf:
    """Losses a (sensitivity - 2 k), k = 0 ... sensitivity."""
    k = np.arange(sensitivity + 1)
    p = math.tanh(a / 2) * np.exp(-a * k)
    p[0], p[-1] = 1 / (1 + math.exp(-a)), math.exp(-a * sensitivity) / (1 + math.exp(-a))
    return LossPmf.from_atoms(a * (sensitivity - 2.0 * k), p * (1 + 1e-15), step)


def _randomized_response(noise: float, buckets: int, step: float) -> LossPmf:
    """The worst of all relations: one true bucket against another (mixtures of which cover a blank row)."""
    if buckets == 1 or noise == 1:
        return LossPmf.from_atoms(np.zeros(1), np.ones(1), step)
    lie = noise / buckets
    truth = 1 - noise + lie
    loss = math.log(truth / lie)
    return LossPmf.from_atoms(np.array([-loss, 0.0, loss]), np.array([lie, (buckets - 2) * lie, truth]), step)


def sampled(pmf: LossPmf, q: float, direction: Direction) -> LossPmf:
    """Poisson subsampling of any pair, under add/remove (Zhu, Dong and Wang, 2022, Theorem 11).

    Removing compares ``(1 - q) Q + q P`` with Q, adding compares P with ``(1 - q) P + q Q``.
    """
    keep = pmf.mass > 0
    p, losses = pmf.mass[keep], pmf.losses[keep]
    lower = p * np.exp(-losses)
    if direction == "remove":
        mixed = np.logaddexp(math.log1p(-q) if q < 1 else -math.inf, math.log(q) + losses)
        missing = max(0.0, 1 - float(lower.sum()))  # Q where P has nothing: loss log(1 - q)
        masses = np.append((1 - q) * lower + q * p, (1 - q) * missing)
        at = np.append(mixed, math.log1p(-q) if q < 1 else 0.0)
        return LossPmf.from_atoms(at, masses * (1 + 1e-13), pmf.step, q * pmf.infinity)
    mixed = -np.logaddexp(math.log1p(-q) if q < 1 else -math.inf, math.log(q) - losses)
    if q == 1 or pmf.infinity == 0:
        return LossPmf.from_atoms(mixed, p * (1 + 1e-13), pmf.step, pmf.infinity)
    return LossPmf.from_atoms(
        np.append(mixed, -math.log1p(-q)), np.append(p, pmf.infinity) * (1 + 1e-13), pmf.step, 0.0
    )


def gaussian_mu(event: dp_event.DpEvent) -> float | None:
    """The mu of a tree of nothing but Gaussian mechanisms (one tree aggregation counts as one), else None.

    >>> gaussian_mu(dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(2.0), 16))
    2.0
    """
    squares: list[float] = []
    for leaf, count in tally(event):
        multiplier = gaussian_multiplier(leaf)
        if multiplier is None:
            return None
        squares.append(count / multiplier**2 if multiplier else math.inf)
    return math.sqrt(math.fsum(squares))  # half an ulp: the closed forms allow for it


def gaussian_multiplier(leaf: dp_event.DpEvent) -> float | None:
    """The noise multiplier of the single Gaussian release that a leaf amounts to, or None."""
    if isinstance(leaf, dp_event.GaussianDpEvent):
        if not leaf.noise_multiplier >= 0:
            raise ValueError(f"noise_multiplier={leaf.noise_multiplier!r} must be at least 0")
        return float(leaf.noise_multiplier)
    if isinstance(leaf, dp_event.SingleEpochTreeAggregationDpEvent):
        counts = leaf.step_counts if isinstance(leaf.step_counts, (list, tuple)) else [leaf.step_counts]
        depth = math.ceil(math.log2(max(counts) + 1))  # a row is in at most that many nodes, once each
        return float(leaf.noise_multiplier) / math.sqrt(depth)
    if isinstance(leaf, dp_event.PoissonSampledDpEvent) and leaf.sampling_probability == 1:
        mu = gaussian_mu(leaf.event)
        return None if mu is None else (1 / mu if mu else math.inf)
    return None


def _sampled_mu(leaf: dp_event.DpEvent) -> float | None:
    return gaussian_mu(leaf.event) if isinstance(leaf, dp_event.PoissonSampledDpEvent) else None


def supported(leaf: dp_event.DpEvent) -> bool:
    """Whether the leaf has a pair of loss distributions here.

    >>> supported(dp_event.GaussianDpEvent(1.0)), supported(dp_event.ZCDpEvent(0.1))
    (True, False)
    """
    if isinstance(leaf, DominatedDpEvent):
        return True
    if isinstance(leaf, dp_event.PoissonSampledDpEvent):
        return all(supported(inner) for inner, _ in tally(leaf.event))
    kinds = (dp_event.LaplaceDpEvent, dp_event.DiscreteLaplaceDpEvent, dp_event.RandomizedResponseDpEvent)
    return isinstance(leaf, kinds) or gaussian_multiplier(leaf) is not None


def leaf_pmf(leaf: dp_event.DpEvent, direction: Direction, step: float, tail: float) -> LossPmf:
    """The loss distribution of one leaf in one direction, at most `tail` of it infinite for want of grid.

    >>> round(leaf_pmf(dp_event.LaplaceDpEvent(1.0), "add", 1e-3, 0.0).delta(0.5), 5)  # 1 - e^-0.25
    0.2212
    """
    if isinstance(leaf, DominatedDpEvent):
        return leaf.pmf(direction, step, tail)
    multiplier = gaussian_multiplier(leaf)
    if multiplier is not None:
        return _gaussian(1 / multiplier, step, tail)
    if isinstance(leaf, dp_event.LaplaceDpEvent):
        return _laplace(1 / leaf.noise_multiplier, step)
    if isinstance(leaf, dp_event.DiscreteLaplaceDpEvent):
        return _discrete_laplace(leaf.noise_parameter, leaf.sensitivity, step)
    if isinstance(leaf, dp_event.RandomizedResponseDpEvent):
        return _randomized_response(leaf.noise_parameter, leaf.num_buckets, step)
    if isinstance(leaf, dp_event.PoissonSampledDpEvent):
        q = float(leaf.sampling_probability)
        if q == 0:
            return LossPmf(step, 0, np.ones(1), 0.0)
        mu = _sampled_mu(leaf)
        if mu is not None:
            return _sampled_gaussian(q, mu, direction, step, tail)
        inner = Composition([(leaf_pmf(e, direction, step, tail), n) for e, n in tally(leaf.event)])
        return sampled(inner.flattened(), q, direction)
    raise ValueError(f"{leaf!r} has no loss distribution here; use accountant='rdp'")


def _scale(leaf: dp_event.DpEvent) -> tuple[float, float]:
    """Rough spread and rough largest loss of a leaf: they choose the grid and promise nothing."""
    multiplier = gaussian_multiplier(leaf)
    if multiplier is not None:
        mu = 1 / multiplier
        return mu, mu * mu / 2 + 12 * mu
    if isinstance(leaf, DominatedDpEvent):
        spread = leaf.spread()
        return spread, min(leaf.pure(), spread * spread + 12 * spread)
    if isinstance(leaf, dp_event.PoissonSampledDpEvent):
        parts = [(_scale(e), n) for e, n in tally(leaf.event)]
        spread = math.sqrt(sum(n * s * s for (s, _), n in parts))
        chi = math.sqrt(math.expm1(min(spread * spread, 50.0)))
        return min(spread, leaf.sampling_probability * chi), sum(n * top for (_, top), n in parts)
    if isinstance(leaf, dp_event.LaplaceDpEvent):
        return 1 / leaf.noise_multiplier, 1 / leaf.noise_multiplier
    if isinstance(leaf, dp_event.DiscreteLaplaceDpEvent):
        top = leaf.noise_parameter * leaf.sensitivity
        return top, top
    top = -math.log(max(leaf.noise_parameter / leaf.num_buckets, 1e-300))
    return top, top


def composition(event: dp_event.DpEvent, tail: float, *, coarser: float = 1.0) -> dict[Direction, Composition]:
    """The composed loss distributions of the tree, one for each direction.

    `tail` is the delta that may be lost to cutting the single distributions off; the grid is chosen from the leaves'
    spreads, `coarser` times wider if asked.
    """
    runs: list[tuple[dp_event.DpEvent, int]] = []
    squares: list[float] = []
    for leaf, count in tally(event):
        multiplier = gaussian_multiplier(leaf)
        if multiplier is None:
            runs.append((leaf, count))
        elif not math.isinf(multiplier):
            squares.append(count / multiplier**2)
    if squares:
        runs.append((dp_event.GaussianDpEvent(1 / (math.sqrt(math.fsum(squares)) * (1 + 2.0**-52))), 1))
    scales = [(*_scale(leaf), count) for leaf, count in runs]
    total = sum(n for *_, n in scales)
    variance = sum(n * s * s for s, _, n in scales)
    if not runs or variance == 0:
        return {d: Composition([]) for d in DIRECTIONS}
    step = coarser * math.sqrt(variance / total) / _POINTS
    step = max(step, max(top for _, top, _ in scales) / 2**19, 12 * math.sqrt(variance) / 2**20)
    share = tail / total
    return {d: Composition([(leaf_pmf(e, d, step, share), n) for e, n in runs]) for d in DIRECTIONS}


def epsilon(event: dp_event.DpEvent, delta: float, *, coarser: float = 1.0) -> float:
    """An upper bound on epsilon at `delta` by composing loss distributions.

    >>> event = dp_event.SelfComposedDpEvent(dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0)), 1000)
    >>> round(epsilon(event, 1e-5), 3)
    1.828
    """
    return max(c.epsilon(delta) for c in composition(event, delta * 1e-7, coarser=coarser).values())


def delta(event: dp_event.DpEvent, epsilon: float, *, expected: float | None = None, coarser: float = 1.0) -> float:
    """An upper bound on delta at `epsilon` by composing loss distributions.

    `expected`, if given, is the size of the answer: tails a millionth of it are cut off.  Otherwise tails shrink until
    they no longer matter.

    >>> event = dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(1.0), 4)
    >>> round(delta(event, 3.0), 5)
    0.08863
    """
    tail = 1e-16 if expected is None else expected * 1e-7
    while True:
        parts = composition(event, tail, coarser=coarser)
        answer = max(c.delta(epsilon) for c in parts.values())
        lost = max(c.infinity for c in parts.values())
        if expected is not None or lost < 1e-5 * answer or lost > 1e3 * tail or tail < 1e-280:
            return answer
        tail = max(tail * 1e-30, 1e-300)
