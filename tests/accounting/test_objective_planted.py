"""Exact one-dimensional laws against what broken accounting promises: every alarm must ring, and ours must not."""

import math

import numpy as np
import pytest

from discreet.accounting import gdp
from discreet.accounting.objective_geometry import weight_capped, with_intercept
from discreet.accounting.objective_perturbation import ObjectivePerturbationDpEvent
from discreet.audit.one_dimensional import OneDimensional, hockey_stick, losses_and_masses
from discreet.losses import LogisticLoss
from tests.accounting.reference_objective import SoftLogistic, laws
from tests.accounting.test_softmax_profile import draw
from tests.planted import objective as planted

EPSILONS = (0.1, 0.5, 1.0, 2.0)
HEAVY = [(-1.0, 1.0, 1e7)]  # pushes every new row to its steepest slope


def exact(loss, record, sigma, ridge, rows=()):
    """The larger exact divergence of both directions, for each epsilon."""
    present, absent = laws(loss, list(rows), record, sigma, ridge)
    pairs = [losses_and_masses(a, b) for a, b in ((present, absent), (absent, present))]
    return np.array([max(hockey_stick(*pair, e) for pair in pairs) for e in EPSILONS])


def promised(event):
    return np.array([event.delta(e) for e in EPSILONS])


def caught(truth, event):
    return bool(np.any(truth > 1.05 * promised(event)))


def test_an_intercept_outside_the_bound_is_caught():
    # a row (x, 1) and weights along it: the one coefficient along the row sees a norm of sqrt 2
    norm, sigma, ridge = math.sqrt(2), 2.0, 1.0
    truth = exact(LogisticLoss(), (norm, 1.0), sigma, ridge, [(-norm, 1.0, 3000.0)])
    assert caught(truth, planted.intercept_outside_the_bound(1.0, 1.0, sigma, ridge))
    (ours,) = with_intercept(1.0, 1.0, ridge=ridge)
    assert not caught(truth, ObjectivePerturbationDpEvent(ours.row_norm / sigma, ours.kappa))
    assert np.all(truth <= promised(ObjectivePerturbationDpEvent(ours.row_norm / sigma, ours.kappa)))


def test_an_intercept_without_a_ridge_is_caught():
    sigma, ridge, own = 2.0, 1.0, 1e-4  # a model of an intercept alone: rows (0, 1)
    truth = exact(LogisticLoss(), (1.0, 1.0), sigma, own)
    assert caught(truth, planted.intercept_left_out_of_the_regulariser(1.0, 1.0, sigma, ridge, own))
    for g in with_intercept(1.0, 1.0, ridge=ridge, intercept_ridge=own):
        assert np.all(truth <= promised(ObjectivePerturbationDpEvent(g.row_norm / sigma, g.kappa, apart=g.apart)))


def test_a_norm_that_is_not_squared_is_caught():
    radius, sigma, ridge = 1000.0, 10_000.0, 1000.0
    truth = exact(LogisticLoss(), (radius, 1.0), sigma, ridge)
    assert caught(truth, planted.norm_not_squared(radius, sigma, ridge))
    assert np.all(truth <= promised(ObjectivePerturbationDpEvent(radius / sigma, radius**2 / ridge)))


def test_a_softmax_of_norm_r_is_caught():
    # two classes: the logistic loss along (e_1 - e_0) x, whose norm is sqrt 2
    sigma, ridge = 2.0, 1.0
    truth = exact(LogisticLoss(), (math.sqrt(2), 1.0), sigma, ridge, [(-math.sqrt(2), 1.0, 3000.0)])
    assert caught(truth, planted.softmax_without_the_root(1.0, sigma, ridge))
    assert np.all(truth <= promised(ObjectivePerturbationDpEvent(1 / sigma, 1 / ridge, "softmax", n_classes=2)))


def test_a_softmax_by_the_scalar_theorem_is_caught():
    """200,000 draws: the gap is above ten standard errors, the test asks for three (false alarms below 1e-3)."""
    _, loss = draw(np.random.default_rng(12), 200_000, 10, 0.5, 1.0, False)
    gain = np.maximum(-np.expm1(np.minimum(2.0 - loss, 0)), 0)
    low = gain.mean() - 3 * gain.std() / math.sqrt(gain.size)
    assert low > planted.softmax_as_a_scalar_loss(0.5, 1.0, 1.0).delta(2.0)
    assert low < ObjectivePerturbationDpEvent(0.5, 1.0, "softmax", n_classes=10).delta(2.0)


@pytest.mark.parametrize("broken", [planted.tolerance_ignored, planted.tolerance_counted_once])
def test_a_tolerance_that_is_not_paid_for_is_caught(broken):
    """A solver that errs by + tau / lambda with the record and by - tau / lambda without; the output is a sum."""
    row, sigma, ridge, tau, sigma2 = 1e-3, 1.0, 1.0, 30.0, 30.0
    event = broken(row, sigma, ridge, tau, sigma2)
    truth = np.array([gdp.delta(2 * tau / ridge / math.hypot(sigma2, sigma / ridge), e) for e in EPSILONS])
    assert caught(truth, event)
    paid = ObjectivePerturbationDpEvent(row / sigma, row**2 / ridge, tolerance_mu=2 * tau / (ridge * sigma2))
    assert np.all(truth <= promised(paid))


def test_composing_as_a_gaussian_is_caught_and_stated_elsewhere():
    """The figures are in test_dominating_pair; here the alarm: one direction of one fit, at epsilon below 0."""
    present, absent = laws(LogisticLoss(), [], (1.0, 1.0), 10.0, 0.01)
    assert hockey_stick(*losses_and_masses(absent, present), -0.2) > gdp.delta(
        planted.composed_as_a_gaussian(0.1, 1), -0.2
    )


def test_a_cap_on_weights_taken_for_a_cap_on_rows_is_caught():
    """A row of norm 1000 with weight 1/1000: slope 1, curvature 1000 times that of a row of norm 1."""
    cap, longest, sigma, ridge = 1.0, 1000.0, 4.0, 1.0
    present = OneDimensional(LogisticLoss(), np.array([longest]), np.ones(1), np.array([cap / longest]), sigma, ridge)
    pair = losses_and_masses(present, present.without(0))
    truth = np.array([hockey_stick(*pair, e) for e in EPSILONS])
    assert caught(truth, planted.cap_squared(cap, longest, sigma, ridge))
    (g,) = weight_capped(cap, longest, ridge=ridge)
    assert np.all(truth <= promised(ObjectivePerturbationDpEvent(g.row_norm / sigma, g.kappa)))


def test_soft_labels_with_the_curvature_of_hard_ones_are_caught():
    sigma, ridge = 3.0, 0.05
    rows = [(1.0, 0.5, 20.0)]
    truth = exact(SoftLogistic(), (1.0, 0.5), sigma, ridge, rows)
    also = exact(SoftLogistic(), (1.0, 0.5), sigma, ridge)
    right = ObjectivePerturbationDpEvent(1 / sigma, 1 / ridge, "logistic_soft")
    assert np.all(np.maximum(truth, also) <= promised(right))
    wrong = planted.scalar_formula_for_soft_labels(1.0, sigma, ridge)
    present, absent = laws(SoftLogistic(), [], (1.0, 0.5), sigma, ridge)
    losses, _ = losses_and_masses(present, absent)
    assert wrong.shape == "logistic" and losses.max() > 0


@pytest.mark.parametrize("mu", [0.25, 0.5])
def test_the_alarm_is_silent_for_ours_at_the_worst_case(mu):
    truth = exact(LogisticLoss(), (1.0, 1.0), 1 / mu, 1.0, HEAVY)
    assert np.all(truth <= promised(ObjectivePerturbationDpEvent(mu, 1.0)))
    assert truth[2] > 0.97 * promised(ObjectivePerturbationDpEvent(mu, 1.0))[2]  # kappa <= epsilon + mu^2 / 2
