"""Reports of vectors in a ball: means, and what the caps' lemmas say, in exact numbers."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import local
from discreet.mechanisms.bernoulli import exp_bounds
from discreet.randomness import SeededSource

BALLS = [local.Hemisphere, local.PrivUnit, local.PrivUnitG]


@pytest.mark.parametrize("ball", BALLS)
@pytest.mark.parametrize(("epsilon", "dim"), [(1.0, 2), (1.0, 7), (3.0, 30)])
def test_ball_means(ball, epsilon: float, dim: int) -> None:
    """Mean along the direction, and across it; tolerance five standard errors (false alarm below 1e-5 in all)."""
    n = 3000
    r = ball(epsilon, dim, radius=2.0)
    x = np.zeros(dim)
    x[0], x[1] = 1.2, -0.9
    messages = r.randomize(np.tile(x, (n, 1)), SeededSource(9))
    value, error = r.estimate(r.tally(messages), n)
    assert (np.abs(value - x) < 5 * error).all()
    assert r.plausible(messages).all()


@pytest.mark.parametrize("ball", [local.PrivUnit, local.PrivUnitG])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
@pytest.mark.parametrize("dim", [2, 10, 1000])
def test_cap_odds_keep_the_promise(ball, epsilon: float, dim: int) -> None:
    r = ball(epsilon, dim)
    edge, mass, heads, total = r.tuning
    least, most = (Fraction(q) for q in r.limits(edge))
    assert least < Fraction(mass) < most
    ratio = Fraction(heads, total - heads) * (1 - least) / least
    low, _ = exp_bounds(r.budget, 200)
    assert ratio * low <= 1 << 200
    assert float(ratio) > math.exp(epsilon) * (1 - 1e-3)


@pytest.mark.parametrize("ball", [local.PrivUnit, local.PrivUnitG])
def test_cap_probability_bound_holds(ball) -> None:
    """The share of raw directions that the program itself puts in a cap, in several directions; limit at 1e-6."""
    from scipy.stats import binom

    from discreet.local.vectors import raw_directions

    r, n = ball(2.0, 3), 40_000
    raw = raw_directions(SeededSource(5), n, 3)
    for direction in ([1 << 20, 0, 0], [1, -1, 1], [3, 4, -123457]):
        inside = int(r._inside(raw, np.tile(direction, (n, 1))).sum())
        least, most = r.limits(r.tuning[0])
        assert binom.cdf(inside, n, least) > 1e-6
        assert binom.sf(inside - 1, n, most) > 1e-6


@pytest.mark.parametrize("ball", [local.PrivUnit, local.PrivUnitG])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 20.0, 30.0])
@pytest.mark.parametrize("dim", [2, 3, 1000, 1 << 20])
def test_cap_laws_at_their_ends(ball, epsilon: float, dim: int) -> None:
    """Lemmas 5 and 7 in exact numbers, for caps as unequal as Lemma 6 allows: every ratio, and the total variation."""
    r = ball(epsilon, dim)
    edge, _, heads, total = r.tuning
    p, ends = Fraction(heads, total), [Fraction(q) for q in r.limits(edge)]
    low, _ = exp_bounds(r.budget, 200)
    assert r.lean > 0
    for one, two in itertools.product(ends, repeat=2):
        inside, outside = (p / one, p / two), ((1 - p) / (1 - one), (1 - p) / (1 - two))
        worst = max(a / b for a in (inside[0], outside[0]) for b in (inside[1], outside[1]))
        assert worst * low <= 1 << 200
        # overlap m of the two caps' difference; linear in it, so the ends decide
        apart = [p - one * (1 - p) / (1 - two), max(p - one * p / two, 0)]
        both = max(Fraction(0), outside[0] - outside[1]) * (1 - one)
        assert float(max(apart) + both) <= min(math.tanh(epsilon / 2), r.variation.beta) * (1 + 1e-12)


def test_planted_spread_of_caps_is_caught() -> None:
    """What stood here before: the caps' common probability, with a margin of 1e-6 for their spread.  Not enough."""
    r = local.PrivUnit(1.0, 1 << 20)
    edge, mass, heads, total = r.tuning
    p, (least, _) = heads / total, r.limits(edge)
    before = (p - (1 - p) / (1 - mass) * mass) * (1 + 1e-6)
    assert before < p - (1 - p) * least / (1 - least) <= r.variation.beta


def test_rounding_of_messages_is_odd() -> None:
    """A report is as likely rounded up as down, so that its mean keeps its place."""
    raw = np.arange(-3 * 4096, 3 * 4096 + 1)[None, :]
    r = local.PrivUnitG(1.0, raw.shape[1])
    assert np.array_equal(r.message(-raw), -r.message(raw))


def test_vectors_near_the_end_of_floats_keep_their_direction() -> None:
    r = local.Hemisphere(1.0, 3)
    huge, tiny = r.directions([[1e308, 1e308, 0.0]], SeededSource(1)), r.directions([[0, 1e-308, 0]], SeededSource(1))
    assert huge[0, 0] == huge[0, 1] > 700_000
    assert abs(tiny[0, 1]) == 1 << 20


def test_turning_bounds_the_ratio_for_any_law() -> None:
    """Lemma 4 on a lopsided law of the raw point: exact weights, all directions of a small grid."""
    r = local.Hemisphere(1.0, 2)
    a, b = r.odds
    weights = {(3, 1): 5, (-3, -1): 1, (0, 2): 7, (1, -3): 2}
    outputs = {s * x for x in (1,) for s in (1,)} and {(s * p[0], s * p[1]) for p in weights for s in (1, -1)}

    def law(u):
        out = dict.fromkeys(outputs, 0)
        for point, weight in weights.items():
            sign = -1 if point[0] * u[0] + point[1] * u[1] < 0 else 1
            out[sign * point[0], sign * point[1]] += weight * a
            out[-sign * point[0], -sign * point[1]] += weight * b
        return out

    laws = [law(u) for u in itertools.product(range(-3, 4), repeat=2) if u != (0, 0)]
    for y in outputs:
        assert max(x[y] for x in laws) * b <= min(x[y] for x in laws) * a
