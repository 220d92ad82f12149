import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr

from discreet.accounting.objective_curvature import SHAPES
from discreet.accounting.objective_perturbation import ObjectivePerturbationDpEvent
from discreet.accounting.objective_profile import directions
from discreet.accounting.softmax_profile import log_determinant, softmax_directions

AT = np.array([-1.0, -0.2, 0.0, 0.3, 1.0, 2.0])


def softmax(u):
    e = np.exp(u - u.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def log_det(p, kappa):
    """log det(I + kappa (diag p - p p^T)), row by row."""
    return np.log(1 + kappa * p).sum(-1) + np.log((p / (1 + kappa * p)).sum(-1))


def draw(rng, n, k, mu, kappa, with_record):
    """Exact outputs along x, their zeta and their losses: the only row is the record, of class 0."""
    zeta = rng.normal(size=(n, k))
    target = np.zeros(k)
    target[0] = 1.0
    u = -kappa / mu * zeta
    if with_record:  # u / kappa + softmax(u) - e_y = -zeta / mu, by Newton with halving
        u = np.zeros((n, k))
        wanted = -zeta / mu + target

        def residual(u):
            return u / kappa + softmax(u) - wanted

        for _ in range(80):
            p, r = softmax(u), residual(u)
            matrix = np.eye(k) / kappa + np.einsum("ni,ij->nij", p, np.eye(k)) - np.einsum("ni,nj->nij", p, p)
            step = np.linalg.solve(matrix, r[..., None])[..., 0]
            size = np.ones((n, 1))
            for _ in range(30):
                worse = (residual(u - size * step) ** 2).sum(1) > (r**2).sum(1)
                size[worse] /= 2
            u = u - size * step
        assert np.abs(residual(u)).max() < 1e-8
    p = softmax(u)
    v = p - target
    sign = 1.0 if with_record else -1.0
    loss = sign * (mu * (zeta * v).sum(1) + log_det(p, kappa)) + mu * mu * (v * v).sum(1) / 2
    return sign * zeta, loss


def test_the_symmetric_point_is_the_worst():
    rng = np.random.default_rng(0)
    for k in (3, 10):
        for kappa in (0.1, 1.0, 30.0):
            s = rng.random(200)
            q = rng.dirichlet(np.ones(k - 1) * rng.choice([0.2, 1.0, 5.0]), 200)
            p = np.concatenate([1 - s[:, None], s[:, None] * q], axis=1)
            value, slope = log_determinant(s, kappa, k)
            assert np.all(log_det(p, kappa) <= value + 1e-12)
            small = 1e-6
            upper, _ = log_determinant(np.minimum(s + small, 1), kappa, k)
            lower, _ = log_determinant(np.maximum(s - small, 0), kappa, k)
            width = np.minimum(s + small, 1) - np.maximum(s - small, 0)
            np.testing.assert_allclose((upper - lower) / width, slope, atol=2e-4 * (1 + kappa**2))


@pytest.mark.parametrize("with_record", [False, True])
@pytest.mark.parametrize(("k", "mu", "kappa"), [(3, 0.5, 1.0), (3, 2.0, 20.0), (5, 0.2, 0.3)])
def test_no_loss_exceeds_the_bound_at_its_own_noise(with_record, k, mu, kappa):
    """Pointwise, so there is no sampling error: every draw must obey."""
    zeta, loss = draw(np.random.default_rng(4), 4000, k, mu, kappa, with_record)
    w = (zeta[:, 1:] - zeta[:, :1]).max(1)
    bound = softmax_directions(mu, kappa, k, step=0.05)[1 if with_record else 0]
    ours = np.max(bound.slopes[:, None] * w + bound.intercepts[:, None], axis=0)
    assert np.max(loss - ours) <= 1e-7


def test_the_scalar_formula_with_root_two_is_false():
    """K = 10, mu = 0.5, kappa = 1, epsilon = 2, direction 1: exact 0.0019, "scalar" 0.0013, ours 0.0088.

    200,000 draws give a standard error below 1e-4: a false alarm at 4 standard errors has probability below 1e-4.
    """
    _, loss = draw(np.random.default_rng(7), 200_000, 10, 0.5, 1.0, False)
    gain = np.maximum(-np.expm1(np.minimum(2.0 - loss, 0)), 0)
    exact, error = gain.mean(), gain.std() / np.sqrt(len(gain))
    scalar = max(float(d.hockey_stick(np.array([2.0]))[0]) for d in directions(0.5 * 2**0.5, 2.0, SHAPES["logistic"]))
    assert scalar < exact - 3 * error
    ours = float(softmax_directions(0.5, 1.0, 10)[0].hockey_stick(np.array([2.0]))[0])
    assert exact + 4 * error < ours < 0.0091


def test_two_classes_are_the_logistic_loss():
    for mu, kappa in [(0.5, 1.0), (0.1, 20.0), (2.0, 0.5)]:
        ours = softmax_directions(mu / 2**0.5, kappa / 2, 2)
        right = directions(mu, kappa, SHAPES["logistic"])
        for one, other in zip(ours, right, strict=True):
            got, wanted = one.hockey_stick(AT), other.hockey_stick(AT)
            assert np.all(got >= wanted * (1 - 1e-9))
            assert np.all(got <= 1.05 * wanted + 1e-16)


@pytest.mark.parametrize("k", [3, 10])
def test_the_maximum_is_rounded_up_and_not_by_much(k):
    """Against a fine quadrature over the maximum of K - 1 normals."""
    mu = 0.5
    first, _ = softmax_directions(mu, 1.0, k, step=0.005)
    m = np.linspace(-8, 12, 20001)
    cdf = np.exp((k - 1) * log_ndtr(m))
    weights = np.diff(cdf)
    middle = (m[1:] + m[:-1]) / 2

    def direct(eps):
        start = (eps - mu * mu) / mu
        p = ndtr(middle - start)
        q = np.exp(-mu * mu - mu * middle + mu * mu / 2) * ndtr(middle - start - mu)
        return float(weights @ (p - np.exp(eps) * q))

    for eps in (0.5, 1.0, 2.0):
        ours = float(first.hockey_stick(np.array([eps]))[0])
        assert direct(eps) * (1 - 1e-5) <= ours <= direct(eps) * 1.01


def test_moments_bound_the_sampled_ones():
    _, second = softmax_directions(0.3, 0.5, 4)
    z = np.random.default_rng(1).normal(size=(200_000, 4))
    w = z[:, 1:].max(1) - z[:, 0]
    loss = np.max(second.slopes[:, None] * w[None, :2000] + second.intercepts[:, None], axis=0)
    assert second.log_moment_above(3.0, 0.0) >= np.log(np.mean(np.exp(3 * loss)))


def test_the_event_knows_softmax():
    event = ObjectivePerturbationDpEvent(0.2, 0.1, "softmax", n_classes=3)
    assert event.gaussian_mu is None
    assert np.all(np.isfinite(event.rdp([2.0, 8.0])))
    assert event.pmf("remove", 1e-3, 1e-15).delta(1.0) == pytest.approx(event.delta(1.0), rel=1e-2)
    twice = ObjectivePerturbationDpEvent(0.2, 0.1, "softmax", "replace_one", n_classes=3)
    assert twice.delta(1.0) > event.delta(1.0)
    assert np.all(np.isinf(twice.rdp([2.0])))
    with pytest.raises(ValueError, match="at least 2"):
        ObjectivePerturbationDpEvent(0.2, 0.1, "softmax", n_classes=1)
    with pytest.raises(ValueError, match="no standard event"):
        event.standard("rdp")
    with pytest.raises(ValueError, match="at least 2"):
        softmax_directions(0.2, 0.1, 1)
    with pytest.raises(ValueError, match="positive and finite"):
        softmax_directions(0.2, 0.0, 3)
