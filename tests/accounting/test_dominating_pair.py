import math

import numpy as np
import pytest
from scipy.special import ndtr

from discreet.accounting import gdp
from discreet.accounting.dominating_pair import (
    best_split,
    discretise,
    ordered_bounds,
    reach_of,
    replace_one_bound,
    with_gaussian,
)
from discreet.accounting.objective_curvature import SHAPES
from discreet.accounting.objective_perturbation import ObjectivePerturbationDpEvent
from discreet.accounting.objective_profile import directions
from discreet.accounting.pmf import Composition
from discreet.audit.one_dimensional import exact_profile, hockey_stick, losses_and_masses
from discreet.losses import LogisticLoss
from tests.accounting.reference_objective import EPSILONS, configuration, laws


def power(losses, masses, k, step=2e-4):
    """The k-fold composition of exact losses, each rounded *down*: a lower bound of the exact hockey stick."""
    cells = np.floor(losses / step).astype(int)
    low = cells.min()
    pmf = np.bincount(cells - low, masses)
    size = 1 << math.ceil(math.log2(k * pmf.size))
    total = np.fft.irfft(np.fft.rfft(pmf, size) ** k, size)
    return (k * low + np.arange(size)) * step, np.maximum(total, 0)


@pytest.fixture(scope="module")
def counterexample():
    """Logistic, no other row, mu = 0.1, kappa = 100: direction 1 is not dominated by the Gaussian pair."""
    present, absent = laws(LogisticLoss(), [], (1.0, 1.0), 10.0, 0.01)
    return losses_and_masses(absent, present, 8001)


def test_direction_one_is_not_gaussian_below_zero(counterexample):
    exact = hockey_stick(*counterexample, -0.2)
    assert exact == pytest.approx(0.2128, abs=1e-4)
    assert gdp.delta(0.1, -0.2) == pytest.approx(0.1820, abs=1e-4)
    one, _ = ordered_bounds(*directions(0.1, 100.0, SHAPES["logistic"]))
    assert exact <= float(one(np.array([-0.2]))[0]) < 0.2145


@pytest.mark.parametrize(
    ("k", "eps", "low", "high", "most"), [(16, 1.0, 0.0108, 0.0112, 0.0125), (64, 2.0, 0.355, 0.359, 0.44)]
)
def test_the_gaussian_pair_fails_under_composition_and_ours_does_not(counterexample, k, eps, low, high, most):
    exact = hockey_stick(*power(*counterexample, k), eps)
    assert low < exact < high
    assert gdp.delta(0.1 * math.sqrt(k), eps) < exact / 5  # planted: composing the Gaussian pair
    ours = ObjectivePerturbationDpEvent(0.1, 100.0).pmf("add", 1e-3, 1e-15)
    assert exact <= Composition([(ours, k)]).delta(eps) < most


@pytest.mark.parametrize("shape", ["logistic", "pseudo_huber", "logistic_soft"])
def test_two_fits_never_cost_more_than_the_pair_says(shape):
    rng = np.random.default_rng(11)
    for _ in range(12):
        mu, kappa, (present, absent) = configuration(rng, shape)
        event = ObjectivePerturbationDpEvent(mu, kappa, shape)
        for numerator, denominator, direction in ((present, absent, "remove"), (absent, present, "add")):
            losses, masses = losses_and_masses(numerator, denominator, 161)
            pair = event.pmf(direction, max(mu / 100, 1e-3), 1e-15)
            for eps in (-0.5, 0.0, 0.3, 1.5):
                assert hockey_stick(losses, masses, eps) <= pair.delta(eps) * (1 + 1e-9) + 1e-13
                both = hockey_stick(np.add.outer(losses, losses).ravel(), np.outer(masses, masses).ravel(), eps)
                assert both <= Composition([(pair, 2)]).delta(eps) * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize(("mu", "kappa", "eps"), [(0.2367, 0.5, 1.0), (0.124, 0.25, 0.5), (0.838, 2.0, 4.0)])
def test_with_a_gaussian_it_costs_what_two_gaussians_cost(mu, kappa, eps):
    bounds = ordered_bounds(*directions(mu, kappa, SHAPES["logistic"]))
    for other in (mu / 50, mu / 10):
        both = max(float(with_gaussian(u, other, 4000)(np.array([eps]))[0]) for u in bounds)
        assert 1 - 1e-9 <= both / gdp.delta(math.hypot(mu, other), eps) < 1.01


def test_with_a_gaussian_is_above_the_exact_composition():
    present, absent = laws(LogisticLoss(), [(-1.0, 1.0, 40.0)], (1.0, 1.0), 2.0, 0.5)
    losses, masses = losses_and_masses(present, absent)
    z = np.linspace(-8, 8, 3001)
    weights = ndtr(-z[:-1]) - ndtr(-z[1:])
    other = 0.3
    gaussian = other * z[:-1] + other * other / 2  # rounded down: a lower bound
    for eps in (0.0, 0.5, 1.0):
        exact = sum(w * hockey_stick(losses, masses, eps - v) for w, v in zip(weights, gaussian, strict=True))
        bounds = ordered_bounds(*directions(0.5, 2.0, SHAPES["logistic"]))
        assert exact <= float(with_gaussian(bounds[1], other)(np.array([eps]))[0])


def test_the_pair_of_a_bound_is_above_it_and_a_probability():
    for mu, kappa in [(0.1, 100.0), (0.5, 1.0), (2.0, 4.0)]:
        one, two = ordered_bounds(*directions(mu, kappa, SHAPES["logistic"]))
        reach = reach_of(lambda la, a=one, b=two: np.maximum(a(la), b(la)), mu)
        for bound in (one, two):
            pair = discretise(bound, mu / 100, -reach, reach, mu / 100)
            assert pair.mass.sum() + pair.infinity == pytest.approx(1.0, abs=1e-10)
            at = np.linspace(-reach / 2, reach / 2, 41)
            ours = np.array([pair.delta(e) for e in at])
            assert np.all(ours >= -np.expm1(np.minimum(at, 0)) - 1e-12)
            on_grid = pair.losses[:: max(1, pair.losses.size // 50)]
            values = bound(on_grid)
            assert np.all(np.array([pair.delta(e) for e in on_grid]) <= values * (1 + 1e-9) + 1e-12)


def test_a_bound_that_is_not_convex_is_replaced_by_its_envelope():
    """Two Gaussian profiles crossing: the smaller of both is no profile, its envelope is below it."""

    def bumpy(la):
        return np.array([min(gdp.delta(1.0, v), gdp.delta(0.3, v) + 0.02) for v in la])

    pair = discretise(bumpy, 0.01, -6.0, 6.0, 0.01)
    alpha = np.exp(np.linspace(-3, 3, 301))
    values = np.array([pair.delta(math.log(a)) for a in alpha])
    chords = np.interp(alpha[1:-1], alpha[[0, -1]], values[[0, -1]])
    assert np.all(values[1:-1] <= chords + 1e-12)
    slopes = np.diff(values) / np.diff(alpha)
    assert np.all(np.diff(slopes) >= -1e-9)


def test_replace_one_of_a_gaussian_is_the_gaussian_at_twice_the_distance():
    bounds = ordered_bounds(*directions(0.4, 1e-3, SHAPES["logistic"]))
    table = replace_one_bound(*bounds, 8.0)
    for eps in (-1.0, 0.0, 0.5, 2.0):
        right = gdp.delta(0.8, eps)
        assert right * (1 - 1e-9) <= best_split(*bounds, eps, 8.0) <= right * (1 + 1e-5)
        assert right * (1 - 1e-9) <= float(table(np.array([eps]))[0]) <= right * (1 + 2e-3)


@pytest.mark.parametrize("shape", ["logistic", "pseudo_huber", "logistic_soft"])
def test_replacing_a_record_never_costs_more_than_the_bound(shape):
    rng = np.random.default_rng(5)
    for _ in range(15):
        mu, kappa, (present, absent) = configuration(rng, shape)
        radius = math.sqrt(kappa * absent.ridge)
        other_x = radius * rng.choice([-1.0, 1.0])
        real = shape == "pseudo_huber"
        other_y = rng.normal(0, 4) if real else (rng.choice([-1.0, 1.0]) if shape == "logistic" else rng.random())
        rows = list(zip(absent.x, absent.y, absent.weight, strict=True))
        replaced, _ = laws(absent.loss, rows, (other_x, other_y), absent.sigma, absent.ridge)
        losses, masses = losses_and_masses(present, replaced, 801)
        event = ObjectivePerturbationDpEvent(mu, kappa, shape, neighbors="replace_one")
        bound = event.profile("remove", EPSILONS)
        exact = np.array([hockey_stick(losses, masses, e) for e in EPSILONS])
        assert np.all(exact <= bound * (1 + 1e-9) + 1e-12)
        assert all(x <= event.delta(float(e)) * (1 + 1e-9) + 1e-12 for x, e in zip(exact, EPSILONS, strict=True))


def test_reach_finds_where_nothing_is_left():
    one, two = ordered_bounds(*directions(0.3, 1.0, SHAPES["logistic"]))
    reach = reach_of(two, 0.3)
    assert float(two(np.array([reach]))[0]) <= 1e-18
    assert exact_profile(LogisticLoss(), [], (1.0, 1.0), 1 / 0.3, 1.0, [reach])[1][0] <= 1e-18
    assert float(one(np.array([reach]))[0]) <= 1e-18
