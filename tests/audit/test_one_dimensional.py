import numpy as np
import pytest

from discreet.accounting import gdp
from discreet.audit.one_dimensional import (
    OneDimensional,
    by_density,
    exact_profile,
    hockey_stick,
    losses_and_masses,
    random_background,
)
from discreet.losses import LogisticLoss, PseudoHuberLoss
from tests.accounting.reference_objective import Linear, configuration

EPSILONS = [-0.5, 0.0, 0.1, 0.5, 1.0]


def test_a_linear_loss_is_the_gaussian_mechanism():
    for mu in (0.2, 1.0):
        for got in exact_profile(Linear(), [(0.5, 1.0, 1.0)], (1.0, 1.0), 1 / mu, 0.7, EPSILONS):
            np.testing.assert_allclose(got, [gdp.delta(mu, e) for e in EPSILONS], rtol=5e-4)


@pytest.mark.parametrize("shape", ["logistic", "pseudo_huber", "logistic_soft"])
def test_densities_and_cells_agree(shape):
    """The density formula and the distribution function share nothing but G."""
    rng, seen = np.random.default_rng(21), 0
    for _ in range(8):
        _, _, (present, absent) = configuration(rng, shape)
        for numerator, denominator in ((present, absent), (absent, present)):
            pair = losses_and_masses(numerator, denominator, 4001)
            for eps in EPSILONS:
                cells, density = hockey_stick(*pair, eps), by_density(numerator, denominator, eps, 8001)
                assert cells == pytest.approx(density, rel=1e-3, abs=2e-6)
                seen += density > 1e-3
    assert seen > 20


def test_fewer_cells_give_less():
    rng = np.random.default_rng(22)
    for _ in range(5):
        _, _, (present, absent) = configuration(rng, "logistic")
        few, many = (hockey_stick(*losses_and_masses(present, absent, n), 0.3) for n in (101, 3201))
        assert few <= many * (1 + 1e-6) + 1e-12


def test_the_law_is_that_of_the_perturbed_minimum():
    """Draw b, minimise, compare with the distribution function: Kolmogorov distance below its 1e-6 quantile."""
    rng = np.random.default_rng(23)
    rows = np.array([[1.0, 1.0, 1.0], [-0.5, -1.0, 3.0]])
    law = OneDimensional(PseudoHuberLoss(), rows[:, 0], rows[:, 1], rows[:, 2], sigma=1.3, ridge=0.4)
    theta = np.sort(law.quantiles(rng.normal(size=20_000)))
    step = np.arange(1, theta.size + 1) / theta.size
    assert np.abs(law.distribution(theta) - step).max() < 2.7 / np.sqrt(theta.size)
    gradient = law.gradient(theta)
    slopes = np.diff(gradient) / np.diff(theta)
    assert np.all(slopes >= 0.4 - 1e-6)


def test_masses_add_up_and_are_accurate_in_both_tails():
    law = OneDimensional(LogisticLoss(), np.array([1.0]), np.array([1.0]), np.ones(1), 1.0, 1.0)
    t = law.quantiles(np.linspace(-8, 8, 401))
    mass = law.masses(t)
    assert mass.sum() == pytest.approx(1.0, abs=1e-12)
    assert 0 < mass[0] < 1e-14 and 0 < mass[-1] < 1e-14


def test_backgrounds_come_in_all_kinds():
    rng = np.random.default_rng(24)
    rows = [random_background(rng.random, 2.0, real_targets=bool(i % 2)) for i in range(200)]
    assert {len(r) for r in rows} == {0, 1, 2, 5, 20}
    flat = np.array([v for r in rows for v in r])
    assert np.abs(flat[:, 0]).max() <= 2.0 and flat[:, 2].max() > 100
