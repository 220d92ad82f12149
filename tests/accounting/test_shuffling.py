"""The finite sum against brute force, published values and simulation; the inverse; several rounds."""

from __future__ import annotations

import itertools
import math
import time

import mpmath
import numpy as np
import pytest
from scipy.stats import binom

from discreet.accounting import shuffling
from discreet.accounting.shuffling import (
    Variation,
    closed_form_epsilon,
    local_epsilon_for,
    shuffled_delta,
    shuffled_epsilon,
)
from discreet.accounting.shuffling_event import ShuffledDpEvent

KINDS = {
    "generic": Variation.generic,
    "k_ary": lambda e: Variation.k_ary(e, 10),
    "laplace": Variation.laplace,
}


def counted_pair(v: Variation, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The dominating pair on three counts (one value, the other, both), point by point, with no algebra."""
    p = math.exp(v.epsilon)
    alpha = v.beta / (p - 1)
    idle = max(1 - alpha * (1 + p), 0.0)
    both = idle / v.height
    first, second = np.zeros((n + 1, n + 1, n + 1)), np.zeros((n + 1, n + 1, n + 1))
    for k in range(n):
        for c in range(n - k):
            a = np.arange(c + 1)
            weight = binom.pmf(k, n - 1, both) * binom.pmf(c, n - 1 - k, 2 * alpha / (1 - both)) * binom.pmf(a, c, 0.5)
            for one, two, three, chance in ((1, 0, 0, p * alpha), (0, 1, 0, alpha), (0, 0, 1, idle)):
                first[a + one, c - a + two, k + three] += weight * chance
                second[a + two, c - a + one, k + three] += weight * chance
    return first, second


def brute_force(v: Variation, n: int, epsilon: float) -> float:
    """The divergence of the dominating pair."""
    first, second = counted_pair(v, n)
    return float(np.maximum(first - math.exp(epsilon) * second, 0).sum())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_sum_is_brute_force_from_above(kind: str, n: int) -> None:
    """Within 0.5 % where the third count has blocks of several values; to nearly all digits where it has none."""
    loose = 1e-5 if kind == "generic" else 5e-3
    for local, share in itertools.product((0.3, 1.0, 4.0), (0.0, 0.1, 0.5, 0.95)):
        v = KINDS[kind](local)
        truth, bound = brute_force(v, n, share * local), shuffled_delta(v, n, share * local)
        assert truth * (1 - 1e-12) <= bound <= truth * (1 + loose) + 1e-14


def test_negative_epsilon_is_the_other_end_of_the_same_profile() -> None:
    v = Variation.k_ary(2.0, 5)
    for e in (0.1, 0.7):
        truth = brute_force(v, 20, -e)
        assert truth * (1 - 1e-12) <= shuffled_delta(v, 20, -e) <= truth * (1 + 1e-3)


@pytest.mark.parametrize(("n", "local", "value"), [(10**4, 1.0, 0.0432), (10**4, 4.0, 0.411), (10**3, 3.0, 0.823)])
def test_values_of_the_authors_program(n: int, local: float, value: float) -> None:
    """Three numbers from an independent program for the same sum, at delta 1e-6, to the digits given."""
    assert shuffled_epsilon(Variation.generic(local), n, 1e-6) == pytest.approx(value, rel=1.2e-3)


def test_closed_forms_as_printed() -> None:
    """By hand from the two theorems' displays, n = 10^6, delta = 1e-8, local epsilon 2."""
    p, n, delta = math.exp(2), 10**6, 1e-8
    late = math.log(1 + (p - 1) * (4 * math.sqrt(2 * math.log(4 / delta)) / math.sqrt((p + 1) * n) + 4 / n))
    early = math.log(1 + (p - 1) / (p + 1) * (8 * math.sqrt(p * math.log(4 / delta)) / math.sqrt(n) + 8 * p / n))
    assert closed_form_epsilon(2.0, n, delta) == pytest.approx(late, rel=1e-12)
    assert closed_form_epsilon(2.0, n, delta, theorem="fmt21") == pytest.approx(early, rel=1e-12)


def test_closed_forms_fall_back_where_their_condition_fails() -> None:
    limit = math.log(1e4 / (8 * math.log(2e6)) - 1)
    assert closed_form_epsilon(limit - 1e-6, 10**4, 1e-6) < limit - 1e-6
    assert closed_form_epsilon(limit + 1e-6, 10**4, 1e-6) == limit + 1e-6
    assert closed_form_epsilon(4.0, 10**4, 1e-6, theorem="fmt21") == 4.0
    with pytest.raises(ValueError, match="not one of"):
        closed_form_epsilon(1.0, 100, 1e-6, theorem="other")


@pytest.mark.parametrize("n", [100, 10**4, 10**6, 10**9])
@pytest.mark.parametrize("local", [0.1, 1.0, 3.0, 6.0])
def test_sum_is_never_above_the_closed_forms(n: int, local: float) -> None:
    tight = shuffled_epsilon(Variation.generic(local), n, 1e-6)
    assert tight <= closed_form_epsilon(local, n, 1e-6) <= local
    assert tight <= closed_form_epsilon(local, n, 1e-6, theorem="fmt21")


def test_knowing_the_randomiser_helps() -> None:
    generic = shuffled_epsilon(Variation.generic(2.0), 10**5, 1e-6)
    assert shuffled_epsilon(Variation.laplace(2.0), 10**5, 1e-6) < generic
    assert shuffled_epsilon(Variation.k_ary(2.0, 100), 10**5, 1e-6) < generic / 1.5
    assert shuffled_epsilon(Variation.k_ary(2.0, 2), 10**5, 1e-6) == pytest.approx(generic, rel=1e-6)


def test_sum_is_never_below_a_simulated_attack() -> None:
    """Binary response, n = 500: the attack 'many ones?' has advantage P(S) - e^eps Q(S), a lower bound on delta.

    False alarm: the lower confidence limits are at one in a million each (Clopper-Pearson), 5 of them.
    """
    from scipy.stats import beta

    rng = np.random.default_rng(20190)
    n, local, runs = 500, 1.0, 400_000
    keep = math.exp(local) / (1 + math.exp(local))
    rest = rng.binomial(n - 1, 0.5 * keep + 0.5 * (1 - keep), size=runs)  # the others are half ones, half zeros
    with_one, with_zero = rest + (rng.random(runs) < keep), rest + (rng.random(runs) < 1 - keep)
    for threshold in (250, 255, 260, 265, 270):
        hits, false = int((with_one >= threshold).sum()), int((with_zero >= threshold).sum())
        low = beta.ppf(5e-7, hits, runs - hits + 1)
        high = beta.ppf(1 - 5e-7, false + 1, runs - false)
        for epsilon in (0.0, 0.02, 0.05):
            assert low - math.exp(epsilon) * high <= shuffled_delta(Variation.generic(local), n, epsilon)


def test_the_attack_finds_a_wrong_price() -> None:
    """A planted bug, the local epsilon over n instead of about sqrt(n), is refuted by the same attack, exactly."""
    n, keep = 500, math.exp(1) / (1 + math.exp(1))
    rest = binom.pmf(np.arange(n), n - 1, 0.5)
    one = np.convolve(rest, [1 - keep, keep])
    zero = np.convolve(rest, [keep, 1 - keep])
    wrong = 1.0 / n
    true_delta = np.maximum(one - math.exp(wrong) * zero, 0).sum()
    assert true_delta > 1e-2  # where a promise of 1e-6 was made
    assert true_delta <= shuffled_delta(Variation.generic(1.0), n, wrong)


@pytest.mark.parametrize("n", [10, 10**3, 10**5, 10**9])
@pytest.mark.parametrize("kind", KINDS)
def test_inverse_round_trips_in_under_a_second(n: int, kind: str) -> None:
    start = time.perf_counter()
    local = local_epsilon_for(n, 1.0, 1e-6, variation=KINDS[kind])
    took = time.perf_counter() - start
    central = shuffled_epsilon(KINDS[kind](local), n, 1e-6)
    assert central <= 1.0 * (1 + 1e-8)
    assert local == pytest.approx(1.0, rel=1e-6) or central > 1 - 1e-4
    assert took < 1.0  # ten times what it takes alone


def test_blocks_only_round_up(monkeypatch: pytest.MonkeyPatch) -> None:
    v = Variation.k_ary(2.0, 10)
    fine = shuffled_delta(v, 10**5, 0.02)
    for blocks in (400, 100, 20):
        monkeypatch.setattr(shuffling, "BLOCKS", blocks)
        coarse = shuffled_delta(v, 10**5, 0.02)
        assert coarse >= fine * (1 - 1e-9)
        fine = coarse


@pytest.mark.parametrize(("c", "corner"), [(50, 3.2), (10**4, 120.5), (10**5, 900.0), (10**7, 6000.7)])
@mpmath.workdps(40)
def test_ramp_against_many_digits(c: int, corner: float) -> None:
    t = math.floor(c / 2 + corner) + 1
    log_first = mpmath.loggamma(c + 1) - mpmath.loggamma(t + 1) - mpmath.loggamma(c - t + 1) - c * mpmath.log(2)
    term, truth, a = mpmath.exp(log_first), mpmath.mpf(0), t
    for _ in range(200_000):
        truth += term * (a - mpmath.mpf(c) / 2 - mpmath.mpf(corner))
        term *= mpmath.mpf(c - a) / (a + 1)
        a += 1
        if term * c < truth * mpmath.mpf(10) ** -14 and a > t + 3:
            break
        if a > c:
            break
    bound = float(shuffling._ramp(np.array([float(c)]), np.array([corner]))[0])
    assert float(truth) * (1 - 1e-12) <= bound <= float(truth) * (1 + 1e-4)


def test_event_composes_like_its_pair() -> None:
    """Two rounds by the exact convolution of the brute-force pair: the event's price is above it, and close."""
    from discreet.accounting import epsilon
    from discreet.accounting.events import repeat

    v, n = Variation.generic(1.0), 16
    event = ShuffledDpEvent(v.epsilon, v.beta, n)
    x, y = (law.ravel() for law in counted_pair(v, n))
    keep = x > 1e-13
    pairs_x, pairs_y = np.outer(x[keep], x[keep]).ravel(), np.outer(y[keep], y[keep]).ravel()
    price = epsilon(repeat(event, 2), 1e-4)
    exact = np.maximum(pairs_x - math.exp(price) * pairs_y, 0).sum()
    near = np.maximum(pairs_x - math.exp(0.93 * price) * pairs_y, 0).sum()
    assert exact <= 1e-4 < near


def test_event_divergences_bound_the_pair() -> None:
    v, n = Variation.generic(1.0), 40
    event = ShuffledDpEvent(v.epsilon, v.beta, n)
    orders = np.array([1.5, 2.0, 8.0, 64.0])
    assert (event.rdp(orders) < 0.9 * event.local_epsilon).all()
    # the Renyi divergence of the binary-response attack's two binomials is a lower bound
    keep = math.exp(1) / (1 + math.exp(1))
    rest = binom.pmf(np.arange(n), n - 1, 0.5)
    one, zero = np.convolve(rest, [1 - keep, keep]), np.convolve(rest, [keep, 1 - keep])
    with np.errstate(under="ignore"):
        logs = [a * np.log(one) + (1 - a) * np.log(zero) for a in orders]
        truth = np.array([np.logaddexp.reduce(terms) / (a - 1) for a, terms in zip(orders, logs, strict=True)])
    assert (truth <= event.rdp(orders)).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Variation.generic(0.0), "positive"),
        (lambda: Variation(1.0, 0.5), "beta"),
        (lambda: shuffled_epsilon(Variation.generic(1.0), 0, 1e-6), "n=0"),
        (lambda: shuffled_epsilon(Variation.generic(1.0), 10, 0.0), "delta"),
        (lambda: local_epsilon_for(10, 0.0, 1e-6), "central epsilon"),
        (lambda: ShuffledDpEvent(1.0, 0.9, 10), "beta"),
    ],
)
def test_refusals(call, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_many_rounds_compose_quickly_and_like_a_square_root() -> None:
    """100 rounds of a million reports: about sqrt(100) rounds' worth, far below the sum, in seconds."""
    from discreet.accounting import epsilon
    from discreet.accounting.events import repeat

    event = ShuffledDpEvent(2.0, Variation.k_ary(2.0, 10).beta, 10**6)
    start = time.perf_counter()
    one, many = epsilon(event, 1e-6), epsilon(repeat(event, 100), 1e-6)
    assert time.perf_counter() - start < 60  # a few seconds alone
    assert one == pytest.approx(shuffled_epsilon(event.variation, 10**6, 1e-6), rel=0.01)
    assert 5 * one < many < 14 * one
