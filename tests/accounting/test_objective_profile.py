import math

import numpy as np
import pytest
from scipy.special import ndtr

from discreet.accounting import gdp
from discreet.accounting.objective_curvature import SHAPES, curvature
from discreet.accounting.objective_profile import LineEnvelope, directions, gaussian_profile, nodes_for
from tests.accounting.reference_objective import EPSILONS, curvature_of, second_loss, second_profile

CASES = [(0.1, 100.0), (1.0, 1.0), (0.5, 3.0), (0.2, 0.05), (3.0, 20.0)]


@pytest.mark.parametrize("shape", ["logistic", "pseudo_huber", "logistic_soft", "one_sided"])
@pytest.mark.parametrize(("mu", "kappa"), CASES)
def test_direction_two_is_the_expectation_of_the_supremum(shape, mu, kappa):
    _, second = directions(mu, kappa, SHAPES[shape])
    low, high = second_profile(mu, kappa, shape, EPSILONS, not SHAPES[shape].sign_fixed)
    quick = second.hockey_stick(EPSILONS)
    assert np.all(quick >= low)
    assert np.all(quick <= high * (1 + 1e-3) + 1e-9)


@pytest.mark.parametrize("shape", ["logistic", "pseudo_huber", "logistic_soft"])
def test_the_lines_are_above_the_supremum_everywhere(shape):
    """Planted in the same breath: a maximum over grid points of s is below it."""
    z = np.linspace(-6, 8, 201)
    h = SHAPES[shape]
    for mu, kappa in CASES:
        _, second = directions(mu, kappa, h)
        lines = getattr(second, "_second", second)
        argument = z if h.sign_fixed else np.abs(z)
        truth = second_loss(argument, mu, kappa, lambda s: curvature_of(shape, s))
        ours = np.max(lines.slopes[:, None] * argument + lines.intercepts[:, None], axis=0)
        assert np.all(ours >= truth - 1e-12)
    coarse = second_loss(z, 0.5, 3.0, lambda s: curvature_of("logistic", s), size=8)
    fine = second_loss(z, 0.5, 3.0, lambda s: curvature_of("logistic", s))
    assert np.max(fine - coarse) > 1e-4


@pytest.mark.parametrize("mu", [0.01, 0.3, 2.0, 8.0])
def test_closed_forms_of_direction_one(mu):
    eps = np.array([0.0, 0.05, 0.5, 1.0, 3.0])
    one, _ = directions(mu, 1.0, SHAPES["logistic"])
    two, _ = directions(mu, 1.0, SHAPES["pseudo_huber"])
    gaussian = np.array([gdp.delta(mu, e) for e in eps])
    np.testing.assert_allclose(one.hockey_stick(eps), gaussian, rtol=1e-9, atol=1e-30)
    both = np.where(eps >= mu * mu / 2, 2 * gaussian, 1 - 2 * np.exp(eps) * ndtr(-mu))
    np.testing.assert_allclose(two.hockey_stick(eps), both, rtol=1e-9, atol=1e-30)


@pytest.mark.parametrize(("mu", "eps"), [(0.02754, 0.1), (0.2367, 1.0), (0.838, 4.0)])
def test_corollary_six_at_its_edge_and_not_beyond(mu, eps):
    edge = eps + mu * mu / 2
    _, second = directions(mu, edge * (1 - 1e-9), SHAPES["logistic"])
    assert float(second.hockey_stick(np.array([eps]))[0]) == pytest.approx(gdp.delta(mu, eps), rel=1e-9)
    _, beyond = directions(mu, 3 * edge, SHAPES["logistic"])
    assert float(beyond.hockey_stick(np.array([eps]))[0]) > 1.2 * gdp.delta(mu, eps)
    first, second = directions(mu, eps / (0.75 * math.sqrt(3)) * (1 - 1e-9), SHAPES["pseudo_huber"])
    at = np.array([eps])
    assert float(second.hockey_stick(at)[0]) == float(first.hockey_stick(at)[0])


@pytest.mark.parametrize("shape", list(SHAPES))
def test_short_rows_cost_no_more(shape):
    """Lemma 3: the pair (t mu, t^2 kappa) is no worse than (mu, kappa)."""
    for mu, kappa in CASES:
        whole = directions(mu, kappa, SHAPES[shape])
        for t in (0.05, 0.3, 0.9):
            part = directions(t * mu, t * t * kappa, SHAPES[shape])
            for one, other in zip(part, whole, strict=True):
                assert np.all(one.hockey_stick(EPSILONS) <= other.hockey_stick(EPSILONS) * (1 + 1e-4) + 1e-12)


def test_short_rows_would_cost_more_without_the_envelope():
    """A curvature that peaks at the steep end: with h itself, the row of full length is not the worst."""

    def peak(s):
        return np.maximum(0.0, 1 - np.abs(s - 0.75) / 0.25)

    own = curvature("peak", peak, sign_fixed=True, beta=1.0, slope=4.0)
    _, right = directions(0.5, 5.0, own)
    t = 0.8
    short = second_loss(np.array([4.0]), t * 0.5, t * t * 5.0, peak)[0]
    lines = np.max(right.slopes * 4.0 + right.intercepts)
    assert short <= lines


def test_loss_of_the_second_direction_is_never_below_that_of_the_first():
    for shape in SHAPES.values():
        for mu, kappa in CASES:
            first, second = directions(mu, kappa, shape)
            assert np.all(second.hockey_stick(EPSILONS) >= first.hockey_stick(EPSILONS) - 1e-15)


def test_moments_above_a_loss_are_gaussian_moments():
    line = LineEnvelope(np.array([0.7]), np.array([0.245]), two_sided=False)
    power, start = 3.0, 1.1
    z = np.linspace(-12, 14, 400_001)
    loss = 0.7 * z + 0.245
    values = np.where(loss > start, np.exp(power * loss - z * z / 2) / np.sqrt(2 * np.pi), 0)
    assert line.log_moment_above(power, start) == pytest.approx(math.log(np.trapezoid(values, z)), abs=1e-4)


def test_the_plain_gaussian_profile():
    for mu, eps in [(0.3, 0.0), (1.0, 1.0), (2.0, 5.0), (0.01, 0.05)]:
        assert gaussian_profile(mu, eps) == pytest.approx(gdp.delta(mu, eps), rel=1e-9)
    assert gaussian_profile(0.01, 10.0) == 0.0


def test_grid_ends_are_exact():
    for kappa in (0.1, 1000.0):
        nodes = nodes_for(kappa)
        assert nodes[0] == 0 and nodes[-1] == 1 and np.all(np.diff(nodes) > 0)


@pytest.mark.parametrize(("mu", "kappa"), [(0.0, 1.0), (1.0, 0.0), (math.inf, 1.0), (1.0, math.nan), (-1.0, 1.0)])
def test_no_noise_or_no_ridge_is_refused(mu, kappa):
    with pytest.raises(ValueError, match="positive and finite"):
        directions(mu, kappa, SHAPES["logistic"])
