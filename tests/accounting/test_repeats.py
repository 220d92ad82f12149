"""The price of the best of a random number of runs, against brute force and against the library's."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import RdpAccountant
from scipy.special import gammaln

from discreet import accounting
from discreet.accounting import gdp, rdp, repeats
from discreet.accounting.events import ApproximateDpEvent, PureDpEvent
from discreet.accounting.repeats import ParallelDpEvent, RepeatedDpEvent, base_promise
from discreet.privacy import Budget, PrivacyError

SHAPES = [-0.5, 0.0, 0.5, 1.0, 2.0]
GAMMAS = [0.5, 0.1, 0.01]


def law(gamma: float, shape: float, most: int = 6000) -> np.ndarray:
    """Probabilities of 1, 2, ... runs, by definition."""
    k = np.arange(1, most + 1)
    if shape == 0:
        weight = k * math.log1p(-gamma) - np.log(k)
    else:
        weight = k * math.log1p(-gamma) + gammaln(k + shape) - gammaln(k + 1)
    p = np.exp(weight - weight.max())
    return p / p.sum()


def best_of(run: np.ndarray, gamma: float, shape: float) -> np.ndarray:
    """The winner's law from one run's, whose outputs are listed from the worst to the best: by powers, no formula."""
    p = law(gamma, shape)
    below = np.concatenate([[0.0], np.cumsum(run)])
    k = np.arange(1, p.size + 1)
    generating = np.array([float(p @ np.power(min(x, 1.0), k)) for x in below])
    return np.diff(generating)


def divergence(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    """The exact delta at an epsilon, the worse direction."""
    e = math.exp(epsilon)
    return max(float(np.maximum(p - e * q, 0).sum()), float(np.maximum(q - e * p, 0).sum()))


def pairs(e: float, d: float = 0.0) -> list[tuple[np.ndarray, np.ndarray]]:
    """Two-answer mechanisms at the edge of (e, d), in every order of answers, next to harmless answers."""
    high = 1 / (1 + math.exp(-e))
    p, q = (
        np.array([d, high * (1 - d), (1 - high) * (1 - d), 0.0]),
        np.array([0.0, (1 - high) * (1 - d), high * (1 - d), d]),
    )
    orders = [np.array(o) for o in ([0, 1, 2, 3], [2, 1, 3, 0], [1, 2, 0, 3], [3, 0, 1, 2], [3, 2, 1, 0], [1, 3, 2, 0])]
    found = [(p[o], q[o]) for o in orders]
    for rare in (1e-3, 0.3):  # a rare good answer that is likelier on one side, which repetition magnifies
        a, b = np.array([1 - rare, rare]), np.array([1 - rare * math.exp(-e), rare * math.exp(-e)])
        found += [(a, b), (a[::-1], b[::-1])]
    return found


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("gamma", GAMMAS)
def test_the_mean_is_that_of_the_law(shape, gamma) -> None:
    p = law(gamma, shape)
    mean = repeats.mean_of(gamma, shape)
    assert mean == pytest.approx(float(p @ np.arange(1, p.size + 1)), rel=1e-9)
    again = repeats.gamma_for(mean, shape)
    assert again == pytest.approx(gamma, rel=1e-6)
    assert repeats.mean_of(again, shape) >= mean * (1 - 1e-9)


@pytest.mark.parametrize(("shape", "gamma"), list(product(SHAPES, GAMMAS)))
@pytest.mark.parametrize(("e", "d"), [(0.2, 0.0), (1.0, 0.0), (3.0, 0.0), (0.5, 1e-3), (1.0, 1e-2)])
def test_true_divergences_stay_below(shape, gamma, e, d) -> None:
    """Brute force over the number of runs, on mechanisms at the edge of their promise."""
    event = RepeatedDpEvent(ApproximateDpEvent(e, d) if d else PureDpEvent(e), gamma, shape)
    total, slack = event.promise()
    for p, q in pairs(e, d):
        a, b = best_of(p, gamma, shape), best_of(q, gamma, shape)
        assert divergence(a, b, total) <= slack + 1e-12
        for epsilon in (0.0, e / 2, e, 1.5 * e, 2 * e, total):
            assert divergence(a, b, epsilon) <= event.delta(epsilon) + 1e-12


def test_the_price_is_nearly_reached() -> None:
    """A rare good answer that repetition magnifies: more than nine tenths of (2 + shape) e, so the factor is real."""
    e, gamma, shape = 0.5, 1e-3, 1.0
    rare = 1e-2
    run, twin = np.array([1 - rare, rare / 2, rare / 2]), None
    worst = 0.0
    for tilt in np.linspace(-e, e, 21):
        twin = np.array([0.0, rare / 2 * math.exp(tilt), rare / 2 * math.exp(e)])
        twin[0] = 1 - twin[1:].sum()
        a, b = best_of(run, gamma, shape), best_of(twin, gamma, shape)
        worst = max(worst, float(np.abs(np.log(a / b)).max()))
    assert 2 * e < worst <= (2 + shape) * e


@pytest.mark.parametrize("shape", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("sigma", [0.7, 2.0])
def test_gaussian_runs_by_quadrature(shape, sigma) -> None:
    """A noisy number whose largest value is released: exact divergences stay below both prices."""
    gamma = 0.1
    y = np.linspace(-9 * sigma, 9 * sigma + 1, 1501)
    run = [np.diff(_normal(y, centre, sigma)) for centre in (0.0, 1.0)]
    a, b = (best_of(r / r.sum(), gamma, shape) for r in run)
    event = RepeatedDpEvent(dp_event.GaussianDpEvent(sigma), gamma, shape)
    standard = event.standard("rdp")
    assert standard == dp_event.RepeatAndSelectDpEvent(dp_event.GaussianDpEvent(sigma), event.mean, shape)
    for epsilon in (0.5, 1.0, 2.0, 4.0, 8.0):
        exact = divergence(a, b, epsilon)
        assert exact <= event.delta(epsilon) + 1e-9
        assert exact <= accounting.delta(standard, epsilon) + 1e-9
        assert exact <= accounting.delta(event, epsilon) + 1e-9
    for order in (1.5, 2.0, 8.0):
        kept = (a > 1e-250) & (b > 1e-250)
        exact = math.log(float((a[kept] ** order * b[kept] ** (1 - order)).sum())) / (order - 1)
        assert exact <= float(event.rdp([order])[0]) + 1e-9


def _normal(y: np.ndarray, centre: float, sigma: float) -> np.ndarray:
    from scipy.special import ndtr

    return ndtr((y - centre) / sigma)


@pytest.mark.parametrize("shape", [0.0, 0.5, 1.0, 2.0])
def test_the_library_s_formula_is_ours(shape) -> None:
    """Theorem 2, written twice: they agree where the second order is chosen among the same ones."""
    orders = np.array([1.5, 2.0, 4.0, 8.0, 16.0, 64.0])
    mean = repeats.mean_of(0.05, shape)
    event = dp_event.RepeatAndSelectDpEvent(dp_event.GaussianDpEvent(5.0), mean, shape)
    theirs = np.asarray(RdpAccountant(orders).compose(event).rdp)
    ours = repeats.curve(orders, orders / 50, orders, orders / 50, 0.05, shape)
    assert np.allclose(np.minimum.accumulate(ours[::-1])[::-1], theirs, rtol=1e-6)


def test_a_library_that_forgets_the_second_order_is_refused(monkeypatch) -> None:
    class Forgetful(rdp.RdpAccountant):
        def compose(self, event, count=1):
            if isinstance(event, dp_event.RepeatAndSelectDpEvent) and event.mean > 1:
                event = event.event
            return super().compose(event, count)

    rdp._check_library.cache_clear()
    monkeypatch.setattr(rdp, "RdpAccountant", Forgetful)
    try:
        with pytest.raises(PrivacyError, match="install the version that discreet pins"):
            rdp.curve(dp_event.RepeatAndSelectDpEvent(dp_event.GaussianDpEvent(1.0), 3.0, 1.0))
    finally:
        rdp._check_library.cache_clear()


def test_pure_runs_stay_pure() -> None:
    event = dp_event.RepeatAndSelectDpEvent(PureDpEvent(0.1), 30.0, 1.0)
    assert accounting.epsilon(event, 0) == pytest.approx(0.3)
    assert accounting.epsilon(event, 1e-6) <= 0.3 * (1 + 1e-9)
    poisson = dp_event.RepeatAndSelectDpEvent(PureDpEvent(0.1), 3.0, math.inf)
    assert accounting.epsilon(poisson, 0) == math.inf
    assert 0.1 < accounting.epsilon(poisson, 1e-6) < 3


@pytest.mark.parametrize("shape", [-0.5, 0.0, 1.0])
@pytest.mark.parametrize("budget", [Budget(0.1, 1e-6), Budget(1.0, 1e-6), Budget(8.0, 1e-9), Budget(1.0)], ids=str)
def test_a_base_s_promise_fits(budget, shape) -> None:
    gamma = repeats.gamma_for(20.0, shape)
    one = base_promise(budget, gamma, shape)
    run = PureDpEvent(one.epsilon) if one.is_pure else ApproximateDpEvent(one.epsilon, one.delta)
    event = RepeatedDpEvent(ParallelDpEvent((run, PureDpEvent(one.epsilon))), gamma, shape)
    total, slack = event.promise()
    assert total <= budget.epsilon * (1 + 1e-12)
    assert slack <= budget.delta
    assert one.epsilon == pytest.approx(budget.epsilon / (2 + shape), rel=2e-3)
    assert accounting.epsilon(event, budget.delta) <= budget.epsilon * (1 + 1e-6)


def test_more_runs_cost_delta_and_hardly_any_epsilon() -> None:
    few, many = (base_promise(Budget(1, 1e-6), repeats.gamma_for(m, 0.0), 0.0) for m in (5.0, 500.0))
    assert few.delta > 50 * many.delta
    assert many.epsilon > 0.99 * few.epsilon
    mu = [gdp.mu_for(b.epsilon, b.delta) for b in (few, many)]
    assert mu[1] > 0.8 * mu[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: repeats.mean_of(0.0, 1.0), "gamma"),
        (lambda: repeats.mean_of(0.5, -1.0), "shape"),
        (lambda: repeats.gamma_for(0.5, 0.0), "at least 1"),
        (lambda: RepeatedDpEvent(dp_event.LaplaceDpEvent(1.0), 0.1), "must be Gaussian, or an event known"),
        (lambda: ParallelDpEvent((dp_event.GaussianDpEvent(1.0),)), "known by an epsilon"),
        (lambda: ParallelDpEvent(()), "at least one"),
        (lambda: RepeatedDpEvent(PureDpEvent(1.0), 0.1, -0.5).standard("rdp"), "shape of 0 or more"),
    ],
)
def test_refusals(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call()
