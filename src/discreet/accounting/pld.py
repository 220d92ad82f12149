r"""Loss distributions of the events, and the accountant that composes them.

Each leaf gives a :class:`~.pmf.LossPmf` for each of the two ordered directions, computed from masses rather than from
differences of divergences, so that it is accurate in the far tail.  The two directions are composed apart and the
larger delta counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from dp_accounting import dp_event

from discreet.accounting import leaf_losses
from discreet.accounting.events import (
    DIRECTIONS,
    Direction,
    DominatedDpEvent,
    ReplaceOneSampledDpEvent,
    tally,
)
from discreet.accounting.pmf import Composition, GridTooLarge, LossPmf

__all__ = ["composition", "delta", "epsilon", "leaf_pmf", "supported"]

_POINTS = 64, 1024  # grid points to a standard deviation of a single step: variance up by at most 1 / (4 points^2)


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
    if isinstance(leaf, dp_event.PoissonSampledDpEvent) and leaf.sampling_probability == 0:
        return math.inf
    if isinstance(leaf, dp_event.PoissonSampledDpEvent) and leaf.sampling_probability == 1:
        mu = gaussian_mu(leaf.event)
        return None if mu is None else (1 / mu if mu else math.inf)
    own = getattr(leaf, "gaussian_mu", None)  # an event that knows itself to be dominated by a Gaussian mechanism
    return math.nextafter(1 / own, 0.0) if own else None


def _sampled_mu(leaf: dp_event.DpEvent) -> float | None:
    return gaussian_mu(leaf.event) if isinstance(leaf, dp_event.PoissonSampledDpEvent) else None


_THEIRS = (dp_event.MixtureOfGaussiansDpEvent, dp_event.TruncatedSubsampledGaussianDpEvent)
_KINDS = (
    dp_event.LaplaceDpEvent, dp_event.DiscreteLaplaceDpEvent, dp_event.RandomizedResponseDpEvent, *_THEIRS
)  # fmt: skip


def supported(leaf: dp_event.DpEvent) -> bool:
    """Whether the leaf has a pair of loss distributions here.

    >>> supported(dp_event.GaussianDpEvent(1.0)), supported(dp_event.ZCDpEvent(0.1))
    (True, False)
    """
    if isinstance(leaf, DominatedDpEvent):
        return True
    if isinstance(leaf, dp_event.PoissonSampledDpEvent):
        return all(supported(inner) for inner, _ in tally(leaf.event))
    return isinstance(leaf, _KINDS) or gaussian_multiplier(leaf) is not None


def leaf_pmf(leaf: dp_event.DpEvent, direction: Direction, step: float, tail: float) -> LossPmf:
    """The loss distribution of one leaf in one direction, at most `tail` of it infinite for want of grid.

    >>> round(leaf_pmf(dp_event.LaplaceDpEvent(1.0), "add", 1e-3, 0.0).delta(0.5), 5)  # 1 - e^-0.25
    0.2212
    """
    if isinstance(leaf, DominatedDpEvent):
        return leaf.pmf(direction, step, tail)
    multiplier = gaussian_multiplier(leaf)
    if multiplier is not None:
        return leaf_losses.gaussian(1 / multiplier, step, tail)
    if isinstance(leaf, dp_event.LaplaceDpEvent):
        return leaf_losses.laplace(1 / leaf.noise_multiplier, step)
    if isinstance(leaf, dp_event.DiscreteLaplaceDpEvent):
        return leaf_losses.discrete_laplace(leaf.noise_parameter, leaf.sensitivity, step)
    if isinstance(leaf, dp_event.RandomizedResponseDpEvent):
        return leaf_losses.randomized_response(leaf.noise_parameter, leaf.num_buckets, step)
    if isinstance(leaf, _THEIRS):
        return leaf_losses.tabulated(leaf, step, tail)
    if isinstance(leaf, dp_event.PoissonSampledDpEvent):
        q = float(leaf.sampling_probability)
        if q == 0:
            return LossPmf(step, 0, np.ones(1), 0.0)
        mu = _sampled_mu(leaf)
        if mu is not None:
            return leaf_losses.sampled_gaussian(q, mu, direction, step, tail)
        inner = Composition([(leaf_pmf(e, direction, step, tail), n) for e, n in tally(leaf.event)])
        return leaf_losses.sampled(inner.flattened(), q, direction)
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
    if isinstance(leaf, dp_event.MixtureOfGaussiansDpEvent):
        worst = max(leaf.sensitivities) / leaf.standard_deviation
        mean_square = sum(p * c * c for p, c in zip(leaf.sampling_probs, leaf.sensitivities, strict=True))
        return math.sqrt(mean_square) / leaf.standard_deviation, worst * worst / 2 + 12 * worst
    if isinstance(leaf, dp_event.TruncatedSubsampledGaussianDpEvent):
        inner = dp_event.PoissonSampledDpEvent(
            leaf.sampling_probability, dp_event.GaussianDpEvent(leaf.noise_multiplier)
        )
        return _scale(inner)
    top = -math.log(max(leaf.noise_parameter / leaf.num_buckets, 1e-300))
    return top, top


def composition(event: dp_event.DpEvent, tail: float, *, coarser: float = 1.0) -> dict[Direction, Composition]:
    """The composed loss distributions of the tree, one for each direction.

    `tail` is the delta that may be lost to cutting the single distributions off; the grid is chosen from the leaves'
    spreads, `coarser` times wider if asked.

    >>> round(composition(dp_event.GaussianDpEvent(1.0), 1e-12)["add"].delta(1.0), 5)
    0.12694
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
    points = min(max(2048 / math.sqrt(total), _POINTS[0]), _POINTS[1])
    step = coarser * math.sqrt(variance / total) / points
    if any(isinstance(leaf, _THEIRS) for leaf, _ in runs):
        step = max(step, 1e-3)  # the library tabulates slowly
    step = max(step, max(top for _, top, _ in scales) / 2**19, 12 * math.sqrt(variance) / 2**20)
    share = tail / total
    return {d: Composition([(leaf_pmf(e, d, step, share), n) for e, n in runs]) for d in DIRECTIONS}


def epsilon(event: dp_event.DpEvent, delta: float, *, coarser: float = 1.0) -> float:
    """An upper bound on epsilon at `delta` by composing loss distributions.

    >>> event = dp_event.SelfComposedDpEvent(dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0)), 1000)
    >>> round(epsilon(event, 1e-5), 3)
    1.828
    """
    alone = _alone(event)
    if alone is not None and 0 < delta < 1:
        return _inverse(alone, delta)

    def attempt(width: float) -> float:
        sides = composition(event, delta * 1e-7, coarser=width)
        answer = sides["remove"].epsilon(delta)
        if sides["add"].chernoff(answer) <= delta:  # most often one direction is far below the other
            return answer
        return max(answer, sides["add"].epsilon(delta))

    return _on_a_grid_that_fits(attempt, coarser)


def _on_a_grid_that_fits(attempt: Callable[[float], float], coarser: float) -> float:
    """The answer on the finest grid that can be tabulated: a few leaves' losses go far beyond their usual spread."""
    for _ in range(8):
        try:
            return attempt(coarser)
        except GridTooLarge:
            coarser *= 4
    return attempt(coarser)


def _alone(event: dp_event.DpEvent) -> DominatedDpEvent | None:
    """The one leaf of the tree, used once, if it prices itself: no grid is needed then."""
    runs = tally(event)
    leaf = runs[0][0] if len(runs) == 1 and runs[0][1] == 1 else None
    return leaf if isinstance(leaf, DominatedDpEvent) and not isinstance(leaf, ReplaceOneSampledDpEvent) else None


def _inverse(leaf: DominatedDpEvent, delta: float) -> float:
    """The smallest epsilon at which the leaf's own delta is at most `delta`, rounded up."""
    if leaf.delta(0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while leaf.delta(high) > delta:
        low, high = high, 2 * high
        if high > 1e6:
            return min(leaf.pure(), math.inf)
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if leaf.delta(middle) > delta else (low, middle)
    return high


def delta(event: dp_event.DpEvent, epsilon: float, *, expected: float | None = None, coarser: float = 1.0) -> float:
    """An upper bound on delta at `epsilon` by composing loss distributions.

    `expected`, if given, is the size of the answer: tails a millionth of it are cut off.  Otherwise tails shrink until
    they no longer matter.

    >>> event = dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(1.0), 4)
    >>> round(delta(event, 3.0), 5)
    0.08862
    """
    alone = _alone(event)
    if alone is not None:
        return alone.delta(epsilon)
    return _on_a_grid_that_fits(lambda width: _delta_on(event, epsilon, expected, width), coarser)


def _delta_on(event: dp_event.DpEvent, epsilon: float, expected: float | None, coarser: float) -> float:
    tail = 1e-16 if expected is None else expected * 1e-7
    while True:
        parts = composition(event, tail, coarser=coarser)
        answer = parts["remove"].delta(epsilon)
        if parts["add"].chernoff(epsilon) > answer:
            answer = max(answer, parts["add"].delta(epsilon))
        lost = max(c.infinity for c in parts.values())
        if expected is not None or lost < 1e-5 * answer or lost > 1e3 * tail or tail < 1e-280:
            return answer
        tail = max(tail * 1e-30, 1e-300)
