import math

import numpy as np
import pytest
from dp_accounting import dp_event

from discreet import accounting
from discreet.accounting import gdp
from discreet.accounting.objective_curvature import SHAPES, curvature
from discreet.accounting.objective_perturbation import ObjectivePerturbationDpEvent, largest_determinant
from discreet.accounting.objective_profile import directions
from discreet.accounting.pmf import Composition
from discreet.audit.one_dimensional import hockey_stick, losses_and_masses
from discreet.losses import LogisticLoss
from tests.accounting.reference_objective import EPSILONS, LOSSES, configuration, laws


def never_exceeds(shape, seed, runs, size):
    """Exact one-dimensional divergences against the profile: both directions, any background, short rows."""
    rng, worst = np.random.default_rng(seed), 0.0
    for _ in range(runs):
        mu, kappa, (present, absent) = configuration(rng, shape)
        event = ObjectivePerturbationDpEvent(mu, kappa, shape)
        for numerator, denominator, direction in ((present, absent, "remove"), (absent, present, "add")):
            pair = losses_and_masses(numerator, denominator, size)
            exact = np.array([hockey_stick(*pair, e) for e in EPSILONS])
            bound = event.profile(direction, EPSILONS)
            assert np.all(exact <= bound * (1 + 1e-9) + 1e-13), (shape, mu, kappa, direction)
            some = (bound > 1e-8) & (bound < 0.9)
            worst = max(worst, (exact[some] / bound[some]).max(initial=0.0))
    return worst


@pytest.mark.parametrize("shape", ["logistic", "pseudo_huber", "logistic_soft"])
def test_the_exact_profile_never_exceeds_the_bound(shape):
    assert 0.9 < never_exceeds(shape, 1, 60, 801) <= 1.0


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["logistic", "pseudo_huber", "logistic_soft"])
def test_the_exact_profile_never_exceeds_the_bound_in_hundreds_of_cases(shape):
    assert 0.95 < never_exceeds(shape, 2, 400, 1601) <= 1.0


def test_the_closed_form_is_reached_by_a_heavy_background():
    """Corollary 6 (i) is tight: thousands of rows (-x, y) push the new one to its steepest."""
    present, absent = laws(LogisticLoss(), [(-1.0, 1.0, 5000.0)], (1.0, 1.0), 1.0, 1.0)
    exact = hockey_stick(*losses_and_masses(present, absent), 1.0)
    assert 0.1263 < exact <= ObjectivePerturbationDpEvent(1.0, 1.0).delta(1.0) == pytest.approx(0.126937, abs=1e-6)


@pytest.mark.parametrize("p", [2, 3])
@pytest.mark.parametrize("shape", ["logistic", "pseudo_huber"])
def test_pointwise_in_more_dimensions(shape, p):
    """Every draw of the noise obeys Theorem 1 at its own Z: no sampling error is involved."""
    rng = np.random.default_rng(p)
    loss = LOSSES[shape]
    for _ in range(6):
        mu, kappa = 10 ** rng.uniform(-1, 0.5), 10 ** rng.uniform(-1, 1.5)
        sigma, ridge = 1 / mu, 1 / kappa
        x = rng.normal(size=(7, p))
        x /= np.maximum(np.linalg.norm(x, axis=1), 1)[:, None] / rng.choice([1.0, 0.9])
        x[0] /= np.linalg.norm(x[0])
        y = rng.choice([-1.0, 1.0], 7) if shape == "logistic" else rng.normal(0, 2, 7)
        theta = rng.normal(0, 3, (500, p))  # outputs: each is the minimum for the noise b = -G(theta)
        margin = theta @ x.T
        slope, bend = loss.derivative(margin, y), loss.curvature(margin, y)
        without = slope[:, 1:] @ x[1:] + ridge * theta
        with_ = without + slope[:, :1] * x[:1]
        hessian = np.einsum("ni,ij,ik->njk", bend[:, 1:], x[1:], x[1:]) + ridge * np.eye(p)
        log_det = np.log1p(bend[:, 0] * np.einsum("j,njk,k->n", x[0], np.linalg.inv(hessian), x[0]))
        ratio = ((with_**2).sum(1) - (without**2).sum(1)) / (2 * sigma**2) - log_det  # log p_D / p_{D+z}
        first, second = directions(mu, kappa, SHAPES[shape])
        second = getattr(second, "_second", second)
        for lines, value, b in ((first, ratio, -without), (second, -ratio, -with_)):
            z = (b @ x[0]) / sigma
            z = np.abs(z) if shape != "logistic" else z * (y[0] if lines is first else -y[0])
            bound = np.max(lines.slopes[:, None] * z + lines.intercepts[:, None], axis=0)
            assert np.max(value - bound) <= 1e-8 * (1 + np.abs(bound).max())


def test_an_approximate_minimum_costs_two_tau_over_lambda():
    """Theorem 8, and planted: tau / lambda is false. Errors +-tau/lambda by data set; L / sigma goes to 0."""
    tau, ridge, sigma2 = 1.0, 1.0, 1.0
    sure = ObjectivePerturbationDpEvent(1e-3, 1e-3, tolerance_mu=2 * tau / (ridge * sigma2))
    wrong = ObjectivePerturbationDpEvent(1e-3, 1e-3, tolerance_mu=tau / (ridge * sigma2))
    exact = gdp.delta(2.0, 1.0)  # two Gaussians at distance 2 tau / lambda in units of sigma2
    assert wrong.delta(1.0) < 0.5 * exact
    assert exact <= sure.delta(1.0) < 1.01 * exact


@pytest.mark.parametrize(
    "event",
    [
        ObjectivePerturbationDpEvent(0.3, 1.0),
        ObjectivePerturbationDpEvent(0.3, 1.0, "pseudo_huber"),
        ObjectivePerturbationDpEvent(0.3, 0.5, tolerance_mu=0.01),
        ObjectivePerturbationDpEvent(0.3, 0.5, neighbors="replace_one"),
        ObjectivePerturbationDpEvent(0.3, 0.01),
    ],
    ids=lambda e: f"{e.shape}-{e.neighbors}-{e.kappa}-{e.tolerance_mu}",
)
class TestEveryEvent:
    def test_k_copies_are_the_k_fold_event(self, event):
        copies = dp_event.ComposedDpEvent([event] * 3)
        folded = dp_event.SelfComposedDpEvent(event, 3)
        assert accounting.epsilon(copies, 1e-6) == pytest.approx(accounting.epsilon(folded, 1e-6), rel=1e-9)
        assert accounting.epsilon(folded, 1e-6) > 1.3 * accounting.epsilon(event, 1e-6)

    def test_the_pair_has_the_profile_and_no_less(self, event):
        for direction, build in event.pairs():
            pair = build(event.mu / 300, 1e-15)
            for eps in (0.0, 0.5, 1.5):
                alone = float(event.profile(direction, np.array([eps]))[0])
                assert pair.delta(eps) <= alone * 1.002 + 1e-13
                if eps > 1:  # near 0 two-sided bounds are not convex, and the pair has their envelope
                    assert pair.delta(eps) >= alone * (1 - 1e-3) - 1e-15

    def test_moments_are_above_those_of_the_pair(self, event):
        orders = np.array([1.1, 2.0, 8.0, 32.0])
        ours = event.rdp(orders)
        for _, build in event.pairs():
            pair = build(event.mu / 300, 1e-15)
            low = np.array([pair.log_mgf(a - 1) / (a - 1) for a in orders])
            assert np.all(ours >= low * (1 - 2e-2))  # with a tolerance the sum of both divergences is the sharper one
        assert np.all(np.diff(ours) >= -1e-9)

    def test_what_it_standardises_to_is_no_more_private(self, event):
        standard = event.standard("rdp")
        if isinstance(standard, dp_event.GaussianDpEvent):
            assert event.delta(1.0) <= gdp.delta(1 / standard.noise_multiplier, 1.0) * (1 + 1e-9)
        else:
            orders = 1 + np.geomspace(1e-3, 3000, 50)
            assert np.all(event.rdp(orders) <= standard.rho * orders * (1 + 1e-9))

    def test_epsilon_inverts_delta(self, event):
        assert event.delta(accounting.epsilon(event, 1e-6)) <= 1e-6


def test_renyi_divergences_are_above_the_exact_ones():
    rng = np.random.default_rng(8)
    orders = np.array([1.5, 2.0, 6.0])
    for _ in range(20):
        mu, kappa, (present, absent) = configuration(rng, "logistic")
        ours = ObjectivePerturbationDpEvent(mu, kappa).rdp(orders)
        for numerator, denominator in ((present, absent), (absent, present)):
            losses, masses = losses_and_masses(numerator, denominator, 801)
            some = np.isfinite(losses)  # a lower bound: processing into cells, and cells left out
            exact = [math.log(masses[some] @ np.exp((a - 1) * losses[some])) / (a - 1) for a in orders]
            assert np.all(np.array(exact) <= ours * (1 + 1e-9) + 1e-9)


def test_it_composes_as_a_gaussian_exactly_when_it_may():
    assert ObjectivePerturbationDpEvent(0.3, 0.0449).gaussian_mu == 0.3
    assert ObjectivePerturbationDpEvent(0.3, 0.0449, neighbors="replace_one").gaussian_mu == 0.6
    assert ObjectivePerturbationDpEvent(0.3, 0.0449, tolerance_mu=0.4).gaussian_mu == 0.5
    for not_so in ({"kappa": 0.0451}, {"shape": "pseudo_huber"}, {"apart": True}, {"shape": "one_sided"}):
        assert ObjectivePerturbationDpEvent(**{"mu": 0.3, "kappa": 0.0449, **not_so}).gaussian_mu is None
    ten = dp_event.SelfComposedDpEvent(ObjectivePerturbationDpEvent(0.3, 0.0449), 10)
    assert accounting.epsilon(ten, 1e-6) == pytest.approx(gdp.epsilon(0.3 * math.sqrt(10), 1e-6), rel=1e-6)


def test_many_weakly_regularised_fits_cost_more_than_as_many_gaussians():
    event = ObjectivePerturbationDpEvent(0.1, 100.0)
    ours = accounting.epsilon(dp_event.SelfComposedDpEvent(event, 16), 1e-6)
    assert ours > 3 * gdp.epsilon(0.4, 1e-6)


def test_apart_costs_more_and_own_curvatures_work():
    together, apart = (ObjectivePerturbationDpEvent(0.5, 2.0, apart=a) for a in (False, True))
    assert apart.delta(0.3) > 1.1 * together.delta(0.3)
    own = curvature("logistic by hand", lambda s: s * (1 - s), sign_fixed=True, beta=0.25, slope=1.0)
    by_hand = ObjectivePerturbationDpEvent(0.5, 2.0, own)
    assert together.delta(0.3) <= by_hand.delta(0.3) <= 1.05 * together.delta(0.3)


def test_theorem_seven_prime_helps_where_the_log_determinant_is_small():
    event = ObjectivePerturbationDpEvent(0.3, 0.01, "pseudo_huber", "replace_one")
    one_way = event._bound("remove")(np.array([1.0]))[0]
    assert event.delta(1.0) <= one_way


def test_composition_in_the_pair_matches_the_accountant():
    event = ObjectivePerturbationDpEvent(0.3, 1.0)
    sides = [Composition([(event.pmf(d, 1e-3, 1e-16), 4)]).delta(2.0) for d in ("remove", "add")]
    assert accounting.delta(dp_event.SelfComposedDpEvent(event, 4), 2.0) == pytest.approx(max(sides), rel=1e-3)


def test_the_determinant_is_largest_where_it_is_said_to_be():
    assert largest_determinant(4.0, "pseudo_huber") == math.log(5)
    s = np.linspace(0, 1, 1001)
    from discreet.accounting.softmax_profile import log_determinant

    assert log_determinant(s, 3.0, 4)[0].max() <= largest_determinant(3.0, "softmax", 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mu": 0.0}, "mu=0.0"),
        ({"kappa": -1.0}, "kappa=-1.0"),
        ({"shape": "hinge"}, "not a known curvature"),
        ({"neighbors": "nobody"}, "neighbouring relation"),
        ({"tolerance_mu": math.inf}, "tolerance_mu"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ObjectivePerturbationDpEvent(**{"mu": 1.0, "kappa": 1.0, **arguments})
