"""Exact likelihood ratios over the whole output space, moments, ranges; planted bugs are caught by the same checks."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import pytest

from discreet import local
from discreet.local.base import Randomizer
from discreet.local.sampling import below, odds
from discreet.mechanisms.bernoulli import exp_bounds
from discreet.privacy import PrivacyError
from discreet.randomness import SeededSource

EPSILONS = [0.05, 0.3, 1.0, 2.5, 8.0]
K, GRID, DIM = 4, 5, 4
CORNERS = list(itertools.product((-1, 1), repeat=DIM))
MAKERS = {
    "rr": (lambda e: local.BinaryResponse(e), range(2)),
    "krr": (lambda e: local.KaryResponse(e, K), range(K)),
    "sue": (lambda e: local.SymmetricUnary(e, K), range(K)),
    "oue": (lambda e: local.OptimizedUnary(e, K), range(K)),
    "duchi": (lambda e: local.Duchi(e, grid=GRID), range(-GRID, GRID + 1)),
    "piecewise": (lambda e: local.Piecewise(e, grid=GRID), range(-GRID, GRID + 1)),
    "hybrid": (lambda e: local.Hybrid(e, grid=GRID), range(-GRID, GRID + 1)),
    "duchi_vector": (lambda e: local.DuchiVector(e, DIM), CORNERS),
    "duchi_vector_odd": (lambda e: local.DuchiVector(e, 3), list(itertools.product((-1, 1), repeat=3))),
}


def worst_ratio(randomizer, values) -> Fraction:
    """The largest ratio of two values' exact weights over all messages (weights sum to the same total)."""
    laws = [randomizer.law(v) for v in values]
    totals = {sum(law.values()) for law in laws}
    assert len(totals) == 1, "the total must not depend on the value"
    return max(Fraction(max(law[y] for law in laws), min(law[y] for law in laws)) for y in laws[0])


def keeps(randomizer, values) -> bool:
    """Whether ``ratio <= e**epsilon``, certified in whole numbers."""
    ratio = worst_ratio(randomizer, values)
    low, high = exp_bounds(randomizer.budget, 200)  # e**-epsilon * 2**200
    assert high - low <= 2
    return ratio * low <= 1 << 200


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", MAKERS)
def test_exact_ratios_keep_the_promise_and_use_it(name: str, epsilon: float) -> None:
    make, values = MAKERS[name]
    randomizer = make(epsilon)
    assert keeps(randomizer, values)
    assert float(worst_ratio(randomizer, values)) > math.exp(epsilon) * (1 - 1e-4)  # and nothing is thrown away


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("name", MAKERS)
def test_total_variation_is_what_shuffling_is_told(name: str, epsilon: float) -> None:
    make, values = MAKERS[name]
    randomizer = make(epsilon)
    laws = [randomizer.law(v) for v in values]
    total = sum(laws[0].values())
    worst = max(sum(max(one[y] - two[y], 0) for y in one) / total for one, two in itertools.permutations(laws, 2))
    assert worst <= randomizer.variation.beta * (1 + 1e-12)
    assert randomizer.variation.beta <= math.tanh(epsilon / 2) * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("name", MAKERS)
def test_estimates_are_unbiased_exactly(name: str, epsilon: float) -> None:
    """The expected totals under the exact law, put into the estimator, give back the value."""
    make, values = MAKERS[name]
    randomizer = make(epsilon)
    for value in values:
        law = randomizer.law(value)
        total, expected = sum(law.values()), None
        for message, weight in law.items():
            tally = randomizer.tally(np.array([message]))
            part = [Fraction(t * weight, total) for t in tally]
            expected = part if expected is None else [x + y for x, y in zip(expected, part, strict=True)]
        scaled = [round(x * 10**15) for x in expected]
        estimate = randomizer.estimate(scaled, 10**15)[0]
        if name in ("krr", "sue", "oue"):
            truth = np.eye(K)[value]
        elif name == "rr":
            truth = value
        elif name.startswith("duchi_vector"):
            truth = np.array(value)
        else:
            truth = value / GRID
        np.testing.assert_allclose(estimate, truth, atol=1e-9)


@pytest.mark.parametrize("name", MAKERS)
def test_draws_follow_the_law(name: str) -> None:
    """Chi-square of 20,000 draws against the exact weights; false alarm one in a million per case."""
    from scipy.stats import chi2

    make, values = MAKERS[name]
    randomizer, n = make(1.0), 20_000
    value = list(values)[-1]
    source = SeededSource(77)
    if name.startswith("duchi_vector"):
        messages = randomizer.from_corners(np.tile(value, (n, 1)), source)
    elif isinstance(randomizer, local.KaryResponse | local.SymmetricUnary):
        messages = randomizer.randomize(np.full(n, value), source)
    else:
        messages = randomizer.from_grid(np.full(n, value), source)
    law = randomizer.law(value)
    total = sum(law.values())
    seen = dict.fromkeys(law, 0)
    for row in messages.tolist():
        seen[tuple(row)] += 1
    statistic = sum((seen[y] - n * w / total) ** 2 / (n * w / total) for y, w in law.items())
    assert statistic < chi2.isf(1e-6, len(law) - 1)


# ---- planted bugs: each must make `keeps` say no, or be refused ----


@dataclass(frozen=True)
class HalvedNoise(local.KaryResponse):
    """The odds of 2 epsilon under the name of epsilon: the range's factor two, forgotten."""

    @cached_property
    def weights(self):
        return odds(2 * self.budget, self.k)


@dataclass(frozen=True)
class RoundedUp(local.KaryResponse):
    """Odds rounded to the nearest 2**-8 rather than down."""

    @cached_property
    def weights(self):
        return math.ceil(256 * math.exp(self.epsilon)), 256


@dataclass(frozen=True)
class WholeEpsilonPerBit(local.SymmetricUnary):
    """Epsilon spent on each of the two bits that differ."""

    @cached_property
    def chances(self):
        a, b = odds(self.budget)
        return a, b, a + b


@dataclass(frozen=True)
class ClippedWindow(local.Piecewise):
    """A window that is cut at the end of the range: the total then depends on the value."""

    @cached_property
    def shape(self):
        a, b, h, _ = super().shape
        return a, b, h, self.grid


@dataclass(frozen=True)
class WrongBranch(local.Hybrid):
    """The branch chosen by the value: told to everybody."""

    def law(self, value):
        one, two = (b.law(value) for b in self.branches)
        end = self.alphabet[1]
        blank = dict.fromkeys(one, 0) | {(y[0] * end,): 0 for y in two}
        return blank | (one if value < 0 else {(y[0] * end,): w for y, w in two.items()})


@pytest.mark.parametrize(
    ("broken", "values"),
    [
        (HalvedNoise(1.0, K), range(K)),
        (RoundedUp(1.0, K), range(K)),
        (WholeEpsilonPerBit(1.0, K), range(K)),
    ],
)
def test_planted_ratio_bugs_are_caught(broken, values) -> None:
    assert not keeps(broken, values)


def test_planted_window_bug_is_caught() -> None:
    with pytest.raises(AssertionError, match="must not depend"):
        worst_ratio(ClippedWindow(1.0, grid=GRID), range(-GRID, GRID + 1))


def test_planted_branch_bug_is_caught() -> None:
    with pytest.raises((AssertionError, ZeroDivisionError)):
        worst_ratio(WrongBranch(1.0, grid=GRID), range(-GRID, GRID + 1))


# ---- Laplace ----


def geometric_law(randomizer: local.TruncatedLaplace, value: int) -> dict[int, float]:
    s = randomizer.noise_scale
    law = {y: math.exp(-abs(y - value) / s) for y in range(-randomizer.clamp + 1, randomizer.clamp)}
    tails = 1 / math.expm1(1 / s)
    law[-randomizer.clamp] = math.exp(-(randomizer.clamp + value) / s) * (1 + tails)
    law[randomizer.clamp] = math.exp(-(randomizer.clamp - value) / s) * (1 + tails)
    return law


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_laplace_ratio(epsilon: float) -> None:
    r = local.TruncatedLaplace(epsilon, grid=3)
    assert Fraction(2 * r.grid) / Fraction(r.noise_scale) <= r.budget
    low, high = geometric_law(r, -3), geometric_law(r, 3)
    ratio = max(max(low[y] / high[y], high[y] / low[y]) for y in low)
    assert ratio == pytest.approx(math.exp(epsilon), rel=1e-9)
    distance = sum(max(low[y] - high[y], 0) for y in low) / sum(low.values())
    assert distance == pytest.approx(r.variation.beta, rel=1e-9)


def test_printed_scale_is_twice_epsilon_and_refused() -> None:
    """Lecture 19: Lap(B/eps) on [-B, B].  Its exact ratio is e^(2 eps); the option says so and stops."""
    half = Fraction(2 * 3) / (Fraction(3) / Fraction(1))
    assert half == 2
    with pytest.raises(PrivacyError, match="2 epsilon"):
        local.TruncatedLaplace(1.0, (-3, 3), scale="as_published")


def test_outside_values() -> None:
    clip = local.TruncatedLaplace(20.0, (-1, 1))
    zero = local.TruncatedLaplace(20.0, (-1, 1), outside="zero")
    values, source = np.full(4000, 5.0), SeededSource(3)
    mean_clip = clip.estimate(clip.tally(clip.randomize(values, source)), 4000)[0]
    mean_zero = zero.estimate(zero.tally(zero.randomize(values, source)), 4000)[0]
    assert mean_clip == pytest.approx(1.0, abs=0.02)  # six standard errors
    assert mean_zero == pytest.approx(0.0, abs=0.02)


# ---- variances: the numbers of the dossier ----


@pytest.mark.parametrize(
    ("epsilon", "laplace", "duchi", "piecewise", "hybrid"),
    [(1.0, 8.0, 4.68, 5.22, 4.29), (4.0, 0.5, 1.08, 0.241, 0.219)],
)
def test_worst_variances(epsilon: float, laplace: float, duchi: float, piecewise: float, hybrid: float) -> None:
    """Worst-case variance of one report of a number in [-1, 1]."""
    grid = 400
    for randomizer, printed in (
        (local.Duchi(epsilon, grid=grid), duchi),
        (local.Piecewise(epsilon, grid=grid), piecewise),
        (local.Hybrid(epsilon, grid=grid), hybrid),
    ):
        worst = 0.0
        for value in (0, grid // 2, grid):
            law = randomizer.law(value)
            total = sum(law.values())
            decoded = {y: randomizer.estimate(randomizer.tally(np.array([y])), 1)[0] for y in law}
            second = sum(decoded[y] ** 2 * w / total for y, w in law.items())
            worst = max(worst, second - (value / grid) ** 2)
        assert worst == pytest.approx(printed, rel=0.01)
    r = local.TruncatedLaplace(epsilon)
    assert 2 * (r.noise_scale * r.worth) ** 2 == pytest.approx(laplace, rel=1e-6)


# ---- refusals ----


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: local.BinaryResponse(0), "epsilon"),
        (lambda: local.BinaryResponse(math.inf), "finite"),
        (lambda: local.BinaryResponse(31.0), "at most 30"),
        (lambda: local.KaryResponse(1.0, 1), "k=1"),
        (lambda: local.SymmetricUnary(1.0, 1), "k=1"),
        (lambda: local.Duchi(1.0, (1, -1)), "bounds"),
        (lambda: local.TruncatedLaplace(1.0, (1, 2), outside="zero"), "around zero"),
        (lambda: local.TruncatedLaplace(1.0, outside="drop"), "not one of"),
        (lambda: local.Hemisphere(1.0, 1), "dim=1"),
        (lambda: local.Hemisphere(1.0, 3, radius=0.0), "radius"),
        (lambda: local.PrivUnit(0.01, 3), "Hemisphere"),
        (lambda: local.DuchiVector(1.0, 0), "dim=0"),
        (lambda: local.Duchi(1e-12), "at least 1e-9"),
        (lambda: local.KaryResponse(1.0, 3).report("yes"), "number the answers"),
        (lambda: local.KaryResponse(1.0, 3).report(None), "number the answers"),
        (lambda: local.KaryResponse(1.0, 3).report([1]), "one person"),
        (lambda: local.Duchi(1.0).report("much"), "not a number"),
        (lambda: local.Duchi(1.0).report([0.1, 0.2]), "report one number"),
        (lambda: local.Hemisphere(1.0, 3).report(0.5), "report one vector"),
        (lambda: local.KaryResponse(1.0, 3).randomize([3]), "0 to 2"),
        (lambda: local.KaryResponse(1.0, 3).randomize([0.5]), "0 to 2"),
        (lambda: local.Duchi(1.0).randomize([[1.0]]), "1-dimensional"),
        (lambda: local.DuchiVector(1.0, 3).randomize([[1.0]]), "dim=3"),
        (lambda: below(SeededSource(0), 0, 1), "total"),
    ],
)
def test_refusals(call, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_missing_values_are_refused_on_the_device() -> None:
    with pytest.raises(PrivacyError, match="finite"):
        local.Duchi(1.0).randomize([math.nan])


def test_statement_says_replace_one_and_seeded() -> None:
    assert "replace_one, by nature" in local.Duchi(1.0).statement()
    assert "NOT PRIVATE" not in local.Duchi(1.0).statement()
    assert "NOT PRIVATE: seeded" in local.Duchi(1.0, source=SeededSource(1)).statement()


def test_registry_is_complete() -> None:
    names = {getattr(local, n).name for n in local.__all__ if _is_randomizer(getattr(local, n))}
    codes = [getattr(local, n).code for n in local.__all__ if _is_randomizer(getattr(local, n))]
    assert len(names) == 12
    assert sorted(codes) == list(range(1, 13))
    with pytest.raises(AttributeError, match="no attribute"):
        _ = local.Nonsense


def _is_randomizer(item) -> bool:
    return isinstance(item, type) and issubclass(item, Randomizer) and item is not Randomizer


def test_events_compose() -> None:
    from discreet.accounting import epsilon
    from discreet.accounting.events import repeat

    r = local.KaryResponse(0.5, 4)
    assert epsilon(repeat(r.event(), 3), 0.0) == pytest.approx(1.5)
    assert epsilon(r.event(n_shuffled=10_000), 1e-6) == pytest.approx(r.central_epsilon(10_000, 1e-6), rel=0.05)
