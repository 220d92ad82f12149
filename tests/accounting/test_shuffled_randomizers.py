"""The price of shuffling held against the exact law of a shuffled batch, randomiser by randomiser."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

import numpy as np
import pytest

from discreet import local
from discreet.accounting.shuffling import Variation, closed_form_epsilon, shuffled_delta, shuffled_epsilon

MAKERS = {
    "rr": (lambda e: local.BinaryResponse(e), (0, 1), 40),
    "krr": (lambda e: local.KaryResponse(e, 4), (0, 1, 2), 12),
    "sue": (lambda e: local.SymmetricUnary(e, 2), (0, 1), 9),
    "oue": (lambda e: local.OptimizedUnary(e, 2), (0, 1), 9),
    "duchi": (lambda e: local.Duchi(e, grid=3), (-3, 0, 3), 40),
    "piecewise": (lambda e: local.Piecewise(e, grid=1), (-1, 0, 1), 6),
    "hybrid": (lambda e: local.Hybrid(e, grid=1), (-1, 0, 1), 5),
    "duchi_vector": (lambda e: local.DuchiVector(e, 2), list(itertools.product((-1, 1), repeat=2)), 9),
}


def laws(name: str, epsilon: float) -> tuple[list[np.ndarray], Variation]:
    """The message laws of the values, as rows over one alphabet, and what the analysis is told."""
    make, values, _ = MAKERS[name]
    randomizer = make(epsilon)
    exact = [randomizer.law(v) for v in values]
    keys = sorted(set().union(*exact))
    return [np.array([law.get(y, 0) / sum(law.values()) for y in keys], dtype=float) for law in exact], (
        randomizer.variation
    )


def bags(rest: np.ndarray, n: int) -> dict[tuple[int, ...], float]:
    """The law of the counts of each message among n reports that all have the same law."""
    out: dict[tuple[int, ...], float] = {}
    k = len(rest)
    logs, factorial = np.log(rest), [math.lgamma(i + 1) for i in range(n + 1)]
    for bars in itertools.combinations(range(n + k - 1), k - 1):
        counts = np.diff([-1, *bars, n + k - 1]) - 1
        weight = factorial[n] - sum(factorial[c] for c in counts) + float(counts @ logs)
        out[tuple(counts.tolist())] = math.exp(weight)
    return out


def with_victim(others: dict[tuple[int, ...], float], law: np.ndarray) -> dict[tuple[int, ...], float]:
    out: dict[tuple[int, ...], float] = defaultdict(float)
    for counts, chance in others.items():
        for j, q in enumerate(law):
            out[(*counts[:j], counts[j] + 1, *counts[j + 1 :])] += chance * q
    return out


def divergences(one: np.ndarray, two: np.ndarray, rest: np.ndarray, n: int, epsilons) -> list[float]:
    """The exact hockey-stick divergence of what leaves the shuffler: only the bag of messages is seen."""
    others = bags(rest, n - 1)
    first, second = with_victim(others, one), with_victim(others, two)
    p, q = (np.array([d[key] for key in first]) for d in (first, second))
    assert p.sum() == pytest.approx(1, abs=1e-9)
    return [float(np.maximum(p - math.exp(e) * q, 0).sum()) for e in epsilons]


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("name", MAKERS)
def test_price_is_never_below_the_exact_batch(name: str, epsilon: float) -> None:
    """Every pair of the victim's values against every value of the others, no sampling: a bound has to be above."""
    rows, variation = laws(name, epsilon)
    n = MAKERS[name][2]
    at = [share * epsilon for share in (0.0, 0.1, 0.3, 0.7)]
    prices = [shuffled_delta(variation, n, e) for e in at]
    tightest = 0.0
    for one, two in itertools.permutations(rows, 2):
        for rest in rows:
            truth = divergences(one, two, rest, n, at)
            assert all(t <= p * (1 + 1e-9) + 1e-12 for t, p in zip(truth, prices, strict=True))
            tightest = max(tightest, truth[1] / prices[1])
    assert tightest > 0.1  # not a bound that is above everything


@pytest.mark.parametrize("name", ["rr", "krr", "duchi"])
def test_planted_smaller_variation_is_refuted(name: str) -> None:
    """A total variation stated a third too small gives a price that the exact batch is above."""
    rows, variation = laws(name, 1.0)
    n = MAKERS[name][2]
    wrong = Variation(variation.epsilon, variation.beta * 2 / 3)
    worst = max(
        divergences(one, two, rest, n, [0.0])[0] for one, two in itertools.permutations(rows, 2) for rest in rows
    )
    assert worst > shuffled_delta(wrong, n, 0.0)
    assert worst <= shuffled_delta(variation, n, 0.0)


def test_two_counts_alone_are_refuted() -> None:
    """Planted: the third count's weight replaced by its mean given the first two, which is Jensen's wrong side.

    It stood here once, for two reports of three answers: a price of 0.0721 where the exact batch has 0.0860.
    """
    e0, n, k, at = 1.0, 2, 3, 0.7
    p, e = math.exp(e0), math.exp(at)
    v = Variation.k_ary(e0, k)
    alpha = v.beta / (p - 1)
    share, idle = 2 * alpha, 1 - alpha * (1 + p)
    wrong = sum(
        math.comb(n, c) * share**c * (1 - share) ** (n - c) * math.comb(c, a) / 2**c
        * max((p - e) * a + (1 - e * p) * (c - a) - (e - 1) * idle * (n - c) / (1 - share), 0.0)
        for c in range(n + 1) for a in range(c + 1)
    ) / n  # fmt: skip
    rows = [np.where(np.arange(k) == x, p, 1.0) / (p + k - 1) for x in range(k)]
    truth = divergences(rows[0], rows[1], rows[0], n, [at])[0]
    assert wrong == pytest.approx(0.0721, abs=1e-4)
    assert truth == pytest.approx(0.0860, abs=1e-4)
    assert wrong < truth <= shuffled_delta(v, n, at)


def test_common_messages_are_within_what_is_claimed() -> None:
    """k-ary response alone claims that no message is likelier than the least for two values at once; its law agrees."""
    r = local.KaryResponse(1.0, 5)
    laws_of = [r.law(v) for v in range(5)]
    assert r.variation.common == 1
    for y in laws_of[0]:
        weights = sorted(law[y] for law in laws_of)
        assert weights[0] == weights[-2] < weights[-1]
    for refused in (0.5, 3.0):
        with pytest.raises(ValueError, match="common="):
            Variation(1.0, 0.3, refused)


def test_the_sum_itself_is_below_the_closed_forms() -> None:
    """``shuffled_epsilon`` is capped by a closed form; here the sum is asked without the cap, on 40 settings."""
    rng = np.random.default_rng(51)
    compared = 0
    for _ in range(40):
        n, local_epsilon = int(10 ** rng.uniform(2, 9)), float(10 ** rng.uniform(-1.3, 0.9))
        delta = float(10 ** rng.uniform(-10, -4))
        for theorem in ("fmt21", "fmt23"):
            printed = closed_form_epsilon(local_epsilon, n, delta, theorem=theorem)
            if printed < local_epsilon:  # its condition holds, and it says something
                compared += 1
                assert shuffled_delta(Variation.generic(local_epsilon), n, printed) <= delta
                assert shuffled_epsilon(Variation.generic(local_epsilon), n, delta) < printed
    assert compared > 30
