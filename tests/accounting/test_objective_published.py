import math

import numpy as np
import pytest

from discreet.accounting.objective_calibration import calibrate_objective
from discreet.accounting.objective_published import kifer_noise, lecture_noise, pure_cost, pure_objective_noise
from discreet.privacy import Budget, PrivacyError
from tests.accounting.reference_objective import LOSSES, configuration


@pytest.mark.parametrize(("eps", "sigma"), [(0.1, 107.9), (0.5, 21.73), (1.0, 10.96), (4.0, 2.873)])
def test_the_calibration_of_2012_and_what_ours_gains(eps, sigma):
    printed = kifer_noise(Budget(eps, 1e-6))
    assert printed.sigma == pytest.approx(sigma, rel=1e-3)
    assert printed.lam == pytest.approx(0.5 / eps)
    ours = calibrate_objective(Budget(eps, 1e-6), ridge=max(1 / eps, 2 * printed.lam))
    assert printed.sigma / ours.sigma > 2.4
    assert printed.event.delta(eps) < 1e-6


@pytest.mark.parametrize("eps", [0.1, 1.0, 4.0])
def test_printed_noise_that_is_not_confirmed_is_refused(eps):
    with pytest.raises(PrivacyError, match="not confirmed"):
        kifer_noise(Budget(eps, 1e-6, neighbors="replace_one"))


def test_the_lecture_is_sound_for_one_record_and_refused_for_a_replaced_one():
    noise = lecture_noise(Budget(1, 1e-6), 2.0, smoothness=0.25)
    assert noise.sigma == pytest.approx(math.sqrt(10 * math.log(1e6)))
    assert noise.event.delta(0.5 + math.log1p(2 * 0.25 / 2.0)) <= 1e-6
    with pytest.raises(PrivacyError, match=r"16\.8 is false"):
        lecture_noise(Budget(1, 1e-6, neighbors="replace_one"), 2.0)
    with pytest.raises(PrivacyError, match="not confirmed"):  # a theorem for small epsilon used far outside
        lecture_noise(Budget(40, 1e-3), 1e6)
    for f in (kifer_noise, lambda b: lecture_noise(b, 1.0)):
        with pytest.raises(ValueError, match="delta > 0"):
            f(Budget(1))


@pytest.mark.parametrize("shape", ["logistic", "pseudo_huber", "logistic_soft"])
def test_pure_cost_bounds_every_exact_density_ratio(shape):
    """The linear term is Laplace in one dimension, so the largest log density ratio can be seen everywhere."""
    rng = np.random.default_rng(9)
    for _ in range(60):
        _, kappa, (present, absent) = configuration(rng, shape)
        radius = math.sqrt(kappa * absent.ridge)
        e = 10 ** rng.uniform(-1, 1)
        scale = radius / e
        t = np.concatenate([np.linspace(-40, 40, 2001) / radius, np.linspace(-1, 1, 501) / radius])
        ratio = -np.abs(present.gradient(t)) / scale + np.log(present.hessian(t))
        ratio -= -np.abs(absent.gradient(t)) / scale + np.log(absent.hessian(t))
        cost = pure_cost(e, kappa, shape)
        assert np.abs(ratio).max() <= cost + 1e-9
        assert cost <= e + math.log1p(kappa * (1.0 if shape == "pseudo_huber" else 0.25)) + 1e-3


def test_with_a_ridge_of_r_squared_over_epsilon_the_hessian_is_free():
    for neighbors, ridge, scale in [("zero_out", 2.0, 2.0), ("replace_one", 4.0, 4.0)]:
        noise = pure_objective_noise(Budget(0.5, neighbors=neighbors), ridge=ridge)
        assert noise.scale == pytest.approx(scale)
        less = pure_objective_noise(Budget(0.5, neighbors=neighbors), ridge=ridge / 4)
        assert less.scale > 1.05 * scale


def test_pure_noise_for_the_others():
    budget = Budget(1.0)
    pseudo = pure_objective_noise(budget, "pseudo_huber", ridge=5.0, tau=1e-6)
    assert pseudo.scale2 == pytest.approx(2 * 1e-6 / (5.0 * 0.01), rel=1e-9)
    assert pure_cost(1 / pseudo.scale, 0.2, "pseudo_huber") <= 0.99
    soft = pure_objective_noise(budget, "softmax", ridge=10.0, lipschitz=math.sqrt(2), n_classes=5)
    assert soft.scale > math.sqrt(2)
    assert LOSSES  # the shapes above are those of these losses
    with pytest.raises(ValueError, match="no noise meets"):
        pure_objective_noise(Budget(0.01), "one_sided", ridge=1.0)
    with pytest.raises(ValueError, match="not pure"):
        pure_objective_noise(Budget(1, 1e-6), ridge=1.0)
