"""Printed statements of the sources that need a correction, each recomputed (``docs/errata.md`` lists them).

Independent of the package: closed forms, exact composition of pure mechanisms, and dp_accounting's PLDs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.optimize import brentq
from scipy.special import gammaln, log_ndtr, logsumexp

DELTA = 1e-6
LOG = math.log(1 / DELTA)


def gaussian_delta(mu: float, epsilon: float) -> float:
    return float(np.exp(log_ndtr(mu / 2 - epsilon / mu)) - np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu)))


def epsilon_of(delta_at: Callable[[float], float], most: float = 400.0) -> float:
    return float(brentq(lambda e: math.log(max(delta_at(e), 1e-300)) - math.log(DELTA), 1e-9, most))


def gaussian_epsilon(mu: float) -> float:
    return epsilon_of(lambda e: gaussian_delta(mu, e))


def pure_epsilon(step: float, times: int) -> float:
    """The exact cost of `times` adaptive pure mechanisms in the worst case: randomised response (Kairouz et al.)."""
    k = np.arange(times + 1)
    log_choose = gammaln(times + 1) - gammaln(k + 1) - gammaln(times - k + 1)
    log_p = log_choose + k * step - times * np.logaddexp(0, step)
    loss = (2 * k - times) * step

    def delta_at(epsilon: float) -> float:
        over = loss > epsilon
        return float(np.exp(logsumexp(log_p[over] + np.log1p(-np.exp(epsilon - loss[over]))))) if over.any() else 0.0

    return epsilon_of(delta_at, most=max(1e-6, times * step))


# lecture 16 ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("epsilon", "steps", "lecture", "paper"),
    [
        (0.1, 1000, 0.067, 0.141),
        (0.5, 100, 0.372, 0.780),
        (1, 10, 0.601, 1.203),
        (1, 1000, 0.789, 1.669),
        (4, 100, 3.51, 7.74),
    ],
)
def test_laplace_scales_of_private_frank_wolfe(epsilon: float, steps: int, lecture: float, paper: float) -> None:
    """Replace-one, report-noisy-max with Laplace noise; the lecture's scale is enough, the paper's half is not."""
    scale = math.sqrt(8 * steps * LOG) / epsilon  # in units of the replace-one sensitivity 2 L |C|_1 / n
    assert pure_epsilon(2 / scale, steps) == pytest.approx(lecture, abs=0.006)
    assert pure_epsilon(4 / scale, steps) == pytest.approx(paper, abs=0.006)
    assert lecture < epsilon < paper


def test_the_proof_of_theorem_16_2_spends_twice_what_it_says() -> None:
    """A step of noisy-min over both signs costs 2 Delta / b = epsilon / sqrt(2 T log(1/delta)), not half of it."""
    epsilon, steps = 0.7, 50
    scale = math.sqrt(8 * steps * LOG) / epsilon
    assert 2 / scale == pytest.approx(epsilon / math.sqrt(2 * steps * LOG))


@pytest.mark.parametrize(("epsilon", "least"), [(0.1, 3.8), (0.5, 4.7), (1, 5.2), (4, 6.6)])
def test_theorem_16_4_leaves_out_a_constant_that_matters(epsilon: float, least: float) -> None:
    """sigma^2 = c L^2 T log(1/delta) / (n eps)^2 under replace-one needs at least that c; 32 is safe."""

    def spent(c: float) -> float:
        return gaussian_epsilon(2 / math.sqrt(c * LOG) * epsilon)

    assert spent(least * 0.97) > epsilon > spent(least * 1.03)
    assert spent(32.0) < epsilon


def test_theorem_16_8_mixes_two_relations() -> None:
    """Linear losses: objective perturbation is the Gaussian mechanism, shift L (add/remove) or 2 L (replace-one)."""
    for epsilon, add_remove, replace in ((1.0, 0.334, 0.701), (0.1, None, 0.0597), (4.0, None, 3.17)):
        mu = epsilon / math.sqrt(10 * LOG)
        if add_remove is not None:
            assert gaussian_epsilon(mu) == pytest.approx(add_remove, abs=0.002) and add_remove < epsilon / 2
        assert gaussian_epsilon(2 * mu) == pytest.approx(replace, rel=0.01)
        assert epsilon / 2 < gaussian_epsilon(2 * mu) < epsilon


@pytest.mark.parametrize(("s", "share"), [(10, 0.636), (100, 0.710)])
def test_peeling_as_printed_is_sound(s: int, share: float) -> None:
    """Rounds are pure mechanisms with 2/b, released values Laplace with 1/b (b in units of lambda)."""
    b = 2 * math.sqrt(3 * s * LOG)
    pure = common.DifferentialPrivacyParameters(2 / b)
    rounds = pld.from_privacy_parameters(pure, value_discretization_interval=2e-5)
    values = pld.from_laplace_mechanism(b, value_discretization_interval=2e-5)
    spent = rounds.self_compose(s).compose(values.self_compose(s)).get_epsilon_for_delta(DELTA)
    assert spent == pytest.approx(share, abs=0.01) and spent < 1


def test_peeling_with_epsilon_inside_the_root_is_not() -> None:
    """The planted variant sqrt(3 s log(1/delta) / epsilon): at epsilon 0.01 the released values alone cost double."""
    epsilon, s = 0.01, 10
    planted = 2 * math.sqrt(3 * s * LOG / epsilon)
    values = pld.from_laplace_mechanism(planted, value_discretization_interval=1e-5, pessimistic_estimate=False)
    assert values.self_compose(s).get_epsilon_for_delta(DELTA) > 2 * epsilon


# lecture 19 ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("q", "epsilon", "actual"), [(0.1, 1.0, 0.1586), (0.1, 4.0, 1.85)])
def test_lemma_3_3_is_not_q_epsilon(q: float, epsilon: float, actual: float) -> None:
    """One person's bit, included with chance q: exactly log(1 + q (e^eps - 1)), reached by randomised response.

    An empty sample answers like the bit 0 (which is the other neighbour's answer, so that add/remove holds).
    """
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    with_person, without = q * p + (1 - q) * (1 - p), 1 - p
    assert math.log(with_person / without) == pytest.approx(math.log1p(q * math.expm1(epsilon)))
    assert math.log(with_person / without) == pytest.approx(actual, rel=0.01)
    assert actual > 1.5 * q * epsilon


@pytest.mark.parametrize(("q", "steps", "actual"), [(0.01, 100, 17.9), (0.1, 10, 2.5)])
def test_theorem_3_1_fails_for_few_sampled_steps(q: float, steps: int, actual: float) -> None:
    """sigma = L sqrt(T log(1/delta)) / (n eps), constant 1, epsilon 1: noise multiplier q sqrt(T log(1/delta))."""
    multiplier = q * math.sqrt(steps * LOG)
    spent = pld.from_gaussian_mechanism(multiplier, sampling_prob=q, value_discretization_interval=2e-3)
    assert spent.self_compose(steps).get_epsilon_for_delta(DELTA) == pytest.approx(actual, rel=0.05)


def test_theorem_3_1_needs_a_constant_even_without_sampling() -> None:
    assert gaussian_epsilon(1 / math.sqrt(LOG)) == pytest.approx(1.148, abs=0.002)
    assert gaussian_epsilon(1 / (1.15 * math.sqrt(LOG))) < 1
    assert gaussian_epsilon(1 / (2 * math.sqrt(LOG))) < 1


def test_local_laplace_noise_of_section_2_costs_twice() -> None:
    """A value in [-B, B] moves by 2 B, so Lap(B / eps) is 2 eps-locally private, no less."""
    bound, epsilon = 3.0, 0.4
    scale = bound / epsilon
    assert (abs(0 - -bound) / scale, abs(-bound - bound) / scale) == (
        pytest.approx(epsilon),
        pytest.approx(2 * epsilon),
    )


def test_sqrt_log_n_does_not_cover_a_unit_normal_sample() -> None:
    """Chance that all of n draws from N(1, 1) are within sqrt(log n): none; within 1 + sqrt(2 log n): nearly one."""
    n = 10_000
    short, enough = math.sqrt(math.log(n)), 1 + math.sqrt(2 * math.log(n))

    def covered(bound: float) -> float:
        inside = np.exp(log_ndtr(bound - 1)) - np.exp(log_ndtr(-bound - 1))
        return float(inside**n)

    assert covered(short) < 1e-9 and covered(enough) > 0.8


# slides -------------------------------------------------------------------------------------------------------------
def test_pure_privacy_is_half_epsilon_squared_in_zcdp() -> None:
    """The slides print epsilon / 2; randomised response has exactly epsilon tanh(epsilon / 2) <= epsilon^2 / 2."""
    for epsilon in (0.1, 0.5, 1.0):
        p = 1 / (1 + math.exp(-epsilon))
        alpha = 1 + 1e-6
        divergence = math.log(p**alpha * (1 - p) ** (1 - alpha) + (1 - p) ** alpha * p ** (1 - alpha)) / (alpha - 1)
        assert divergence == pytest.approx(epsilon * math.tanh(epsilon / 2), rel=1e-4)
        assert epsilon * math.tanh(epsilon / 2) <= epsilon**2 / 2
        orders = 1 + np.exp(np.linspace(-6, 5, 200))
        renyi = np.logaddexp(
            orders * math.log(p) + (1 - orders) * math.log(1 - p), orders * math.log(1 - p) + (1 - orders) * math.log(p)
        ) / (orders - 1)
        assert np.all(renyi <= orders * epsilon * math.tanh(epsilon / 2) * (1 + 1e-9))


@pytest.mark.parametrize(("epsilon", "share"), [(0.1, 0.0319), (0.5, 0.179), (1.0, 0.376), (4.0, 1.67)])
def test_the_noise_of_the_coordinate_slides_is_sound_on_full_batches(epsilon: float, share: float) -> None:
    """sigma^2 = 8 Delta^2 T log(1/delta) / (n eps)^2 with the replace-one Delta: the true cost, whatever T."""
    mu = epsilon / math.sqrt(8 * LOG)
    assert gaussian_epsilon(mu) == pytest.approx(share, rel=0.01)


def test_that_noise_has_an_end() -> None:
    for delta, end in ((1e-6, 122.6), (1e-5, 103.8), (1e-3, 66.0)):
        log = math.log(1 / delta)
        below, above = 0.995 * end, 1.005 * end
        assert gaussian_delta(below / math.sqrt(8 * log), below) < delta
        assert gaussian_delta(above / math.sqrt(8 * log), above) > delta


def test_the_conversion_of_the_slides_wastes() -> None:
    """rho + 2 sqrt(rho log(1/delta)) = 1 allows 27 % more noise than one Gaussian query needs at epsilon 1."""
    rho = (math.sqrt(LOG + 1) - math.sqrt(LOG)) ** 2
    assert rho + 2 * math.sqrt(rho * LOG) == pytest.approx(1)
    best = brentq(lambda mu: gaussian_epsilon(mu) - 1, 0.1, 0.5)
    assert best / math.sqrt(2 * rho) == pytest.approx(1.266, abs=0.002)


def test_a_noisy_minimum_must_not_have_its_noise_negated() -> None:
    """argmin(loss + Exp) with 21 tied candidates: one record can move a chance by e^(20 eps0) instead of e^eps0."""
    eps0, k = 0.1, 21
    # the record raises every loss but the first by 1 (noise scale 1/eps0): the first wins with the larger noise only
    t = np.linspace(0, 60 / eps0, 400_001)
    density = eps0 * np.exp(-eps0 * t)

    def first_wins(shift: float, sign: float) -> float:
        # sign +1: argmin(loss + E); -1: argmin(loss - E), the sound form (argmax of score plus noise)
        if sign > 0:
            beaten = np.exp(-(k - 1) * eps0 * np.maximum(t - shift, 0.0))
        else:
            beaten = (1 - np.exp(-eps0 * np.maximum(t + shift, 0.0))) ** (k - 1)
        return float(np.trapezoid(density * beaten, t))

    wrong = math.log(first_wins(0.0, 1.0) / first_wins(-1.0, 1.0))
    right = abs(math.log(first_wins(0.0, -1.0) / first_wins(-1.0, -1.0)))
    assert wrong == pytest.approx(20 * eps0, rel=0.02)
    assert right <= eps0 * (1 + 1e-3)


# the LASSO paper ----------------------------------------------------------------------------------------------------
def test_constants_of_lemma_3_3_hold_but_need_many_features() -> None:
    tau = 0.001
    first, third = math.sqrt(1.1 * 0.75), math.sqrt(1.1 * tau)
    assert first <= 0.91 and third <= 0.04
    left_over = 1 - 0.91 - 0.04
    assert left_over**2 >= 1.1 * tau
    # k = tau w p rows must be at least p for orthogonal columns: w >= 1000 and p = 1000 m^2 with w = m / log m
    m = brentq(lambda m: m / math.log(m) - 1000, 10, 1e6)
    assert 1000 * m**2 > 1e9
