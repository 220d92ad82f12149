import math

import numpy as np
import pytest

from discreet import accounting
from discreet.accounting import gdp
from discreet.accounting.objective_calibration import calibrate_objective, default_ridge, free_kappa, shape_of
from discreet.accounting.objective_curvature import Curvature
from discreet.accounting.objective_geometry import (
    Geometry,
    calibrate_geometry,
    shaped,
    weight_capped,
    with_intercept,
)
from discreet.accounting.objective_perturbation import ObjectivePerturbationDpEvent
from discreet.losses import HuberLoss, LogisticLoss, PseudoHuberLoss, QuantileLoss, SmoothedHingeLoss, SquaredLoss
from discreet.privacy import Budget

DELTA = 1e-6
REQUIRED = [(0.1, 20.0, 36.4), (0.5, 2.0, 8.07), (1.0, 1.0, 4.23), (4.0, 0.25, 1.20)]


@pytest.mark.parametrize("tau", [0.0, 1e-6])
@pytest.mark.parametrize(("eps", "ridge", "most"), REQUIRED)
def test_a_logistic_fit_costs_one_gaussian_query(eps, ridge, most, tau):
    noise = calibrate_objective(Budget(eps, DELTA), ridge=ridge, tau=tau)
    assert 1 / gdp.mu_for(eps, DELTA) <= noise.sigma <= most
    assert noise.event.delta(eps) <= DELTA
    assert accounting.epsilon(noise.event, DELTA) <= eps


@pytest.mark.parametrize(
    ("shape", "neighbors", "wanted"),
    [
        ("pseudo_huber", "zero_out", (37.867, 9.105, 4.376, 1.2257)),
        ("logistic", "replace_one", (72.61, 17.02, 8.853, 2.445)),
    ],
)
def test_the_other_figures_of_the_proof(shape, neighbors, wanted):
    for (eps, ridge, _), most in zip(REQUIRED, wanted, strict=True):
        noise = calibrate_objective(Budget(eps, DELTA, neighbors=neighbors), shape, ridge=ridge)
        assert 0.99 * most < noise.sigma <= most * (1 + 1e-4)


def test_units_scale_as_they_should():
    """Planted (11): a row norm R must enter kappa squared."""
    one = calibrate_objective(Budget(1, DELTA), ridge=1.0)
    big = calibrate_objective(Budget(1, DELTA), ridge=100.0, row_norm=10.0, lipschitz=3.0)
    assert big.sigma == pytest.approx(30 * one.sigma, rel=1e-6)
    assert big.kappa == pytest.approx(one.kappa)
    wide = calibrate_objective(Budget(1, DELTA), ridge=2.0, scale=2.0)
    assert wide.sigma == pytest.approx(one.sigma, rel=1e-6)


@pytest.mark.parametrize("neighbors", ["zero_out", "replace_one"])
def test_tolerance_is_paid_for(neighbors):
    noise = calibrate_objective(Budget(1, DELTA, neighbors=neighbors), ridge=2.0, tau=1e-3)
    exact = calibrate_objective(Budget(1, DELTA, neighbors=neighbors), ridge=2.0)
    assert exact.sigma < noise.sigma < 1.002 * exact.sigma
    assert noise.mu2 == pytest.approx(2 * 1e-3 / (2.0 * noise.sigma2), rel=1e-9)
    assert noise.event.tolerance_mu >= noise.mu2 * (1 - 1e-12)
    assert exact.sigma2 == exact.mu2 == exact.tau == 0.0


def test_gaussian_budgets_where_the_release_is_gaussian():
    noise = calibrate_objective(Budget(mu=0.3), ridge=25.0, tau=1e-6)
    assert noise.event.gaussian_mu == pytest.approx(0.3, rel=1e-9)
    assert noise.event.gaussian_mu <= 0.3
    twice = calibrate_objective(Budget(mu=0.3, neighbors="replace_one"), ridge=100.0)
    assert twice.mu == pytest.approx(0.15, rel=1e-9)
    zcdp = calibrate_objective(Budget(rho=0.045), ridge=25.0)
    assert zcdp.mu == pytest.approx(0.3, rel=1e-9)
    for budget, shape, ridge in [(Budget(mu=0.3), "logistic", 1.0), (Budget(mu=0.3), "pseudo_huber", 100.0)]:
        with pytest.raises(ValueError, match="not Gaussian"):
            calibrate_objective(budget, shape, ridge=ridge)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ridge": 0.0}, "ridge=0.0"),
        ({"ridge": 1.0, "row_norm": math.inf}, "row_norm"),
        ({"ridge": 1.0, "tau": 1.0, "share": 1.5}, "share=1.5"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        calibrate_objective(Budget(1, DELTA), **arguments)


def test_a_ridge_next_to_nothing_leaves_total_variation_only():
    """Direction 1 alone bounds the total variation, whatever the determinant: noise of 0.4 / delta, or none."""
    noise = calibrate_objective(Budget(1, DELTA), "one_sided", ridge=1e-9)
    assert 0.3 / DELTA < noise.sigma < 1 / DELTA
    with pytest.raises(ValueError, match="no noise meets"):
        calibrate_objective(Budget(1, 1e-14), "one_sided", ridge=1e-9)


def test_pure_budgets_are_sent_elsewhere():
    with pytest.raises(ValueError, match="pure"):
        calibrate_objective(Budget(1), ridge=1.0)


@pytest.mark.parametrize("neighbors", ["zero_out", "replace_one"])
@pytest.mark.parametrize("shape", ["logistic", "pseudo_huber"])
def test_free_kappa_costs_five_percent(shape, neighbors):
    kappa = free_kappa(1.0, DELTA, shape, neighbors)
    best, used = (
        calibrate_objective(Budget(1, DELTA, neighbors=neighbors), shape, ridge=r).sigma for r in (1e9, 1 / kappa)
    )
    assert used / best == pytest.approx(1.05, abs=2e-3)


def test_default_ridge_is_enough_and_grows_where_it_should():
    budget = Budget(1, DELTA)
    assert default_ridge(budget, 1e9, 10) >= 1 / free_kappa(1.0, DELTA)
    few, many = (default_ridge(budget, n, 1000) for n in (1e3, 1e6))
    assert few == pytest.approx(3 / gdp.mu_for(1.0, DELTA))  # the cap
    assert many < few
    assert default_ridge(budget, 1e5, 10, row_norm=10.0) == pytest.approx(100 * default_ridge(budget, 1e5, 10))
    noise = calibrate_objective(Budget(mu=0.3), ridge=default_ridge(Budget(mu=0.3), 1e6, 5))
    assert noise.event.gaussian_mu is not None
    assert default_ridge(budget, 1e6, 5, "softmax", n_classes=10) > 5
    with pytest.raises(ValueError, match="positive"):
        default_ridge(budget, 0, 5)


def test_shapes_of_the_losses():
    assert shape_of(LogisticLoss()) == ("logistic", 1.0)
    assert shape_of(PseudoHuberLoss(delta=3.0)) == ("pseudo_huber", 1.0)
    assert shape_of(SmoothedHingeLoss(width=0.25)) == ("logistic", 4.0)
    assert shape_of(HuberLoss())[0] == "two_sided"
    shape, scale = shape_of(QuantileLoss(0.9))
    assert isinstance(shape, Curvature) and scale == 1.0
    assert ObjectivePerturbationDpEvent(0.3, 0.1, shape).delta(1.0) > 0
    with pytest.raises(ValueError, match="Lipschitz"):
        shape_of(SquaredLoss())


class TestGeometry:
    def test_the_constant_column_is_part_of_the_row(self):
        (g,) = with_intercept(3.0, 4.0, ridge=5.0)
        assert (g.row_norm, g.kappa) == pytest.approx((5.0, 5.0))
        assert with_intercept(3.0, 4.0, ridge=5.0, intercept_ridge=50.0) == (g,)

    def test_a_weaker_intercept_has_two_bounds_and_takes_the_better(self):
        both = with_intercept(1.0, 0.1, ridge=1.0, intercept_ridge=0.1)
        assert both[0].kappa == pytest.approx(10.1) and both[1].kappa == pytest.approx(1.1) and both[1].apart
        best = calibrate_geometry(Budget(1, DELTA), "logistic", both, ridge=0.1)
        each = [calibrate_geometry(Budget(1, DELTA), "logistic", [g], ridge=0.1).sigma for g in both]
        assert best.sigma == min(each)

    def test_an_intercept_without_a_ridge_is_refused(self):
        with pytest.raises(ValueError, match="intercept_ridge"):
            with_intercept(1.0, 1.0, ridge=1.0, intercept_ridge=0.0)

    def test_capped_weights_keep_the_curvature_of_long_rows(self):
        (g,) = weight_capped(2.0, 10.0, ridge=4.0)
        assert g == Geometry(2.0, pytest.approx(5.0))

    def test_shaped_noise_is_what_plain_noise_is_when_nothing_is_shaped(self):
        for g in shaped(3.0, 4.0 * np.eye(2), 2.0 * np.eye(2)):
            assert (g.row_norm, g.kappa) == pytest.approx((1.5, 4.5))
        with pytest.raises(ValueError, match="positive definite"):
            shaped(1.0, np.diag([1.0, 0.0]), np.eye(2))
        with pytest.raises(ValueError, match="no geometry"):
            calibrate_geometry(Budget(1, DELTA), "logistic", [], ridge=1.0)

    def test_shaped_bounds_hold_for_every_row(self):
        rng = np.random.default_rng(2)
        for _ in range(20):
            a, b = rng.normal(size=(2, 3, 3))
            covariance, ridge = a @ a.T + 0.1 * np.eye(3), b @ b.T + 0.1 * np.eye(3)
            plain, apart = shaped(1.0, covariance, ridge)
            x = rng.normal(size=(200, 3))
            x /= np.linalg.norm(x, axis=1)[:, None]
            mu = np.sqrt(np.einsum("ni,ij,nj->n", x, np.linalg.inv(covariance), x))
            kappa = np.einsum("ni,ij,nj->n", x, np.linalg.inv(ridge), x)
            assert mu.max() <= plain.row_norm and kappa.max() <= apart.kappa
            assert np.all(kappa <= (mu / plain.row_norm) ** 2 * plain.kappa * (1 + 1e-9))
