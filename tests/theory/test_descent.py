"""Bounds of noisy descent, coordinate descent, thresholding and objective perturbation against runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet import theory
from discreet.losses import LogisticLoss
from discreet.penalties import GroupL1Ball, L1Ball, L2Ball


def quadratic(p: int = 8, seed: int = 0, spread: float = 3.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(0, 1, (p, p)))[0]
    return basis @ np.diag(np.exp(np.linspace(-spread, 0, p))) @ basis.T, rng.normal(0, 1, p)


def test_noisy_gradient_descent_stays_below_its_bound() -> None:
    """Averages of 300 runs; 4 standard errors."""
    H, start = quadratic()
    rng = np.random.default_rng(1)
    for steps, sd in ((5, 0.1), (50, 0.3), (200, 0.05)):
        for step in (1.0, 0.2):
            w = np.tile(start, (300, 1))
            total = np.zeros(300)
            mean = np.zeros_like(w)
            for _ in range(steps):
                w = w - step * (w @ H + rng.normal(0, sd, w.shape))
                total += 0.5 * np.einsum("ij,jk,ik->i", w, H, w)
                mean += w / steps
            bound = theory.noisy_descent_bound(float(np.linalg.norm(start)), step, sd, 8, steps)
            average = total / steps
            assert average.mean() + 4 * average.std() / math.sqrt(300) <= bound
            assert np.all(0.5 * np.einsum("ij,jk,ik->i", mean, H, mean) <= average + 1e-12)
            last = 0.5 * np.einsum("ij,jk,ik->i", w, H, w)
            gap = 0.5 * float(start @ H @ start)
            strong = theory.strongly_convex_descent_bound(gap, 1 / step, np.linalg.eigvalsh(H)[0], sd, 8, steps)
            assert last.mean() <= strong + 4 * last.std() / math.sqrt(300)


def test_the_best_step_gives_the_short_formula() -> None:
    distance, sensitivity, mu, p, smooth = 2.0, 1.5, 0.3, 40, 700.0
    steps = theory.gradient_descent_steps(smooth, distance, sensitivity, mu, p)
    sd = sensitivity * math.sqrt(steps) / mu
    best = min(theory.noisy_descent_bound(distance, c / smooth, sd, p, steps) for c in np.linspace(0.01, 1, 500))
    assert best == pytest.approx(theory.gradient_descent_bound(distance, sensitivity, mu, p), rel=0.02)


def test_the_first_rates_of_lecture_16() -> None:
    assert theory.convex_rate(100, 25, 0.5, 1e-4) == pytest.approx(math.sqrt(25 * math.log(1e4)) / 50)
    assert theory.strongly_convex_rate(100, 25, 0.5, 1e-4) == pytest.approx(25 * math.log(1e4) / 2500)
    # mu ~ eps / sqrt(2 log(1/delta)): the explicit bound over n is twice the printed rate
    mu = 0.5 / math.sqrt(2 * math.log(1e4))
    assert theory.gradient_descent_bound(1.0, 1.0, mu, 25) / 100 == pytest.approx(
        2 * theory.convex_rate(100, 25, 0.5, 1e-4)
    )


def test_sgd_bound_holds_for_absolute_losses() -> None:
    """Projected SGD with noise on ``|w - a|``, 200 runs, 4 standard errors."""
    rng = np.random.default_rng(4)
    p, steps, sd = 5, 100, 0.4
    targets = rng.normal(0, 0.3, (50, p))
    body = L2Ball(1.0)

    def risk(w: np.ndarray) -> float:
        return float(np.mean(np.linalg.norm(targets - w, axis=1)))

    best = min(risk(body.project(w)) for w in targets.mean(axis=0) + rng.normal(0, 0.05, (2000, p)))
    start = np.eye(p)[0]
    length = math.sqrt(1 + p * sd**2)
    step = 2.0 / (length * math.sqrt(steps))
    excess = []
    for _ in range(200):
        w, mean = start.copy(), np.zeros(p)
        for _ in range(steps):
            mean += w / steps
            away = w - targets[rng.integers(50)]
            w = body.project(w - step * (away / np.linalg.norm(away) + rng.normal(0, sd, p)))
        excess.append(risk(mean) - best)
    assert np.mean(excess) + 4 * np.std(excess) / math.sqrt(200) <= theory.stochastic_gradient_bound(2.0, length, steps)


# coordinates --------------------------------------------------------------------------------------------------------
def test_coordinate_descent_stays_below_its_bound() -> None:
    """300 runs on a diagonal-dominated quadratic whose component smoothness is public; 4 standard errors."""
    rng = np.random.default_rng(5)
    p, mu = 6, 2.0
    M = np.array([10.0, 3.0, 1.0, 1.0, 0.3, 0.1])
    A = rng.normal(0, 1, (p, p))
    H = A @ A.T
    H = H * np.sqrt(np.outer(M, M)) / (np.linalg.eigvalsh(H / 1.0)[-1])  # w'Hw <= w'Mw
    assert np.linalg.eigvalsh(np.diag(M) - H)[0] > -1e-9
    start, sensitivities = rng.normal(0, 1, p), 0.05 * np.sqrt(M)
    constants = theory.CoordinateConstants(sensitivities, M, start)
    steps = theory.coordinate_descent_steps(constants.r_m, constants.delta_m, mu, p)
    sd = sensitivities * math.sqrt(steps) / mu
    w, total = np.tile(start, (300, 1)), np.zeros(300)
    rows = np.arange(300)
    for _ in range(steps):
        total += 0.5 * np.einsum("ij,jk,ik->i", w, H, w)
        j = rng.integers(0, p, 300)
        slope = np.einsum("ij,ij->i", w, H[j]) + rng.normal(0, 1, 300) * sd[j]
        w[rows, j] -= slope / M[j]
    average = total / steps
    bound = theory.coordinate_descent_bound(constants.r_m, constants.delta_m, mu, p, steps)
    assert average.mean() + 4 * average.std() / math.sqrt(300) <= bound
    best = min(theory.coordinate_descent_bound(constants.r_m, constants.delta_m, mu, p, k) for k in range(1, 5000))
    assert bound == pytest.approx(best, rel=1e-3)


def test_the_utility_table_of_the_slides() -> None:
    c = theory.CoordinateConstants([1.0, 2.0], [1.0, 16.0], [3.0, 1.0])
    table = theory.utility_table(1000, 0.5, 1e-5, c, mu_m=0.2, mu_2=0.1)
    unit = math.sqrt(2 * math.log(1e5)) / 500
    delta_m, r_m = math.sqrt(1 + 4 / 16), math.sqrt(9 + 16)
    assert table["coordinate_descent"]["convex"] == pytest.approx(unit * delta_m * r_m)
    assert table["sgd"]["convex"] == pytest.approx(unit * math.sqrt(5) * math.sqrt(10))
    assert table["coordinate_descent"]["strongly_convex"] == pytest.approx(unit**2 * delta_m**2 / 0.2)
    assert table["sgd"]["strongly_convex"] == pytest.approx(unit**2 * 5 / 0.1)
    assert c.ratio == pytest.approx(table["coordinate_descent"]["convex"] / table["sgd"]["convex"])


def test_even_smoothness_costs_at_most_the_root_of_p() -> None:
    """The slides print p; with ``max Delta_j <= Delta_2 <= |Delta|`` the largest ratio is sqrt(p), and is reached."""
    rng = np.random.default_rng(6)
    p = 9
    low, high = theory.even_ratio_limits(p)
    for _ in range(300):
        d = rng.exponential(1, p)
        whole = rng.uniform(d.max(), np.linalg.norm(d))
        ratio = theory.CoordinateConstants(d, np.full(p, 2.0), rng.normal(0, 1, p), gradient_sensitivity=whole).ratio
        assert low - 1e-9 <= ratio <= high + 1e-9
    reached = theory.CoordinateConstants(np.ones(p), np.ones(p), np.eye(p)[0], gradient_sensitivity=1.0).ratio
    assert reached == pytest.approx(high) and theory.even_ratio_limits(p, printed=True)[1] == p
    with pytest.raises(ValueError, match="must lie between the largest"):
        theory.CoordinateConstants(np.ones(p), np.ones(p), np.ones(p), gradient_sensitivity=0.5)


def test_one_big_coordinate_gains_only_if_it_starts_near_its_optimum() -> None:
    """The slides print a ratio of at most 1/p; equal displacements give 1, none in the dominant one near 0."""
    p, share = 50, 1e-6
    M = np.array([1.0, *[share] * (p - 1)])
    equal = theory.CoordinateConstants(np.sqrt(M), M, np.ones(p))
    assert equal.ratio == pytest.approx(1.0)
    displaced = np.array([0.0, *[1.0] * (p - 1)])
    there = theory.CoordinateConstants(np.sqrt(M), M, displaced)
    assert there.ratio == pytest.approx(theory.uneven_ratio_limit(p, share)) and there.ratio < 1 / p


def test_noise_shares_are_the_best_ones() -> None:
    rng = np.random.default_rng(7)
    d, m = rng.exponential(1, 6), np.exp(rng.normal(0, 2, 6))
    sd = theory.coordinate_noise(d, m, mu=0.8, updates=12)
    cost, loss = 2 * np.sum(d**2 / sd**2), np.sum(sd**2 / m)
    assert cost == pytest.approx(0.8**2)
    for _ in range(200):
        other = sd * np.exp(rng.normal(0, 0.3, 6))
        other *= math.sqrt(2 * np.sum(d**2 / other**2)) / 0.8  # the same cost
        assert np.sum(other**2 / m) >= loss * (1 - 1e-12)
    even = d * math.sqrt(12) / 0.8
    assert np.sum(even**2 / m) >= loss


def test_mu_m_of_a_scaled_problem() -> None:
    H, _ = quadratic(5)
    M = np.diag(H)
    c = theory.CoordinateConstants(np.ones(5), M, np.ones(5))
    assert c.mu_m(H) == pytest.approx(np.linalg.eigvalsh(H / np.sqrt(np.outer(M, M)))[0])


# thresholding --------------------------------------------------------------------------------------------------------
def test_peeling_loses_what_it_says_and_no_more_with_more_features() -> None:
    """Gumbel noise once, top s; 400 runs, 4 standard errors."""
    rng = np.random.default_rng(8)
    for d in (50, 2000):
        v = np.where(np.arange(d) < 5, 6.0, 0.0)
        missed, released = theory.peeling_error(d, 5, selection_scale=1.0, release_sd=0.5)
        lost = []
        for _ in range(400):
            kept = np.argsort(-(np.abs(v) + rng.gumbel(0, 1, d)))[:5]
            lost.append(30.0 - v[kept].sum())
        assert np.mean(lost) <= missed + 4 * np.std(lost) / math.sqrt(400)
        assert released == 1.25
    assert theory.peeling_error(10**6, 5, 1.0, 1.0)[0] < 2.5 * theory.peeling_error(10**3, 5, 1.0, 1.0)[0]
    with pytest.raises(ValueError, match="can't exceed"):
        theory.peeling_error(3, 5, 1.0, 1.0)


def test_noise_that_survives_thresholding() -> None:
    """Expected squared length of the s largest of d normal variables (500 draws) is below the bound."""
    rng = np.random.default_rng(9)
    for d, s in ((1, 1), (20, 3), (3000, 10)):
        z = np.sort(rng.normal(0, 1, (500, d)) ** 2, axis=1)[:, -s:].sum(axis=1)
        assert z.mean() <= theory.noisy_threshold_error(d, s, 1.0) + 4 * z.std() / math.sqrt(500)
        assert theory.noisy_threshold_error(d, d, 1.0) == d


def test_rows_of_algorithm_6_stay_within_its_sensitivity() -> None:
    """Any two rows cut off at K, any s-sparse weights in the ball: the half step's entries differ by at most that."""
    rng = np.random.default_rng(10)
    K, C, eta, s, m, d = 2.0, 1.5, 0.7, 4, 10, 12
    bound = theory.peeling_sensitivity(K, C, eta, s, m)
    worst = 0.0
    for _ in range(2000):
        theta = np.zeros(d)
        theta[:s] = rng.normal(0, 1, s)
        theta *= C / np.linalg.norm(theta)
        x, z = rng.choice([-K, K], (2, d))
        if rng.random() < 0.5:
            theta[:s] = C / math.sqrt(s) * np.sign(x[:s])
        y = rng.choice([-K, K], 2)
        step = eta / m * (x * (x @ theta - y[0]) - z * (z @ theta - y[1]))
        worst = max(worst, float(np.abs(step).max()))
    assert 0.5 * bound < worst <= bound
    with pytest.raises(ValueError, match="at least 1"):
        theory.peeling_sensitivity(1.0, 0.5, 1.0, 1, 1)


def test_rates_and_rules_of_section_16_2() -> None:
    assert theory.theorem_16_5(100, 20, 0.5, true_sparsity=2, sparsity=3) == pytest.approx(
        2 * math.log(20) / 100 + 9 * math.log(20) ** 2 / 2500
    )
    assert theory.theorem_16_4_noise(100, 0.5, 1e-4, lipschitz=3.0, n_steps=7, constant=2.0) == pytest.approx(
        math.sqrt(2 * 9 * 7 * math.log(1e4)) / 50
    )
    assert theory.iht_sparsity(3, condition=2.0) == 48 and theory.iht_sparsity(3, condition=0.1) == 6
    assert theory.iht_steps(1) == 1 and theory.sgd_steps(100, 10, 0.01) == 1


# objective perturbation ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("body", [L2Ball(1.0), L1Ball(1.5), GroupL1Ball(3, 1.0)], ids=repr)
def test_perturbed_minimisers_stay_below_theorem_16_9(body) -> None:
    """60 perturbed constrained fits by projected gradients; 4 standard errors."""
    rng = np.random.default_rng(11)
    n, p, sd, ridge = 200, 9, 4.0, 5.0
    X = rng.normal(0, 1 / 3, (n, p))
    y = np.sign(X @ rng.normal(0, 1, p) + rng.normal(0, 0.3, n))
    loss = LogisticLoss()
    step = 1.0 / (0.25 * np.linalg.norm(X, 2) ** 2 + ridge)

    def fit(b: np.ndarray, ridge: float) -> np.ndarray:
        w = np.zeros(p)
        for _ in range(300):
            w = body.project(w - step * (X.T @ loss.derivative(X @ w, y) + ridge * w + b))
        return w

    best = float(loss.value(X @ fit(np.zeros(p), 0.0), y).sum())
    excess = np.array([float(loss.value(X @ fit(rng.normal(0, sd, p), ridge), y).sum()) - best for _ in range(60)])
    radius, width = body.radius_in("l2", p), body.gaussian_width(p)
    bound = theory.objective_perturbation_bound(sd, ridge, width=width, radius=radius)
    assert excess.mean() + 4 * excess.std() / math.sqrt(60) <= bound
    assert excess.mean() <= theory.objective_perturbation_bound(sd, ridge, width=width, radius=radius, p=p) + 1e-9


def test_theorem_16_9_follows_from_the_explicit_bound() -> None:
    """With the printed noise and ridge 2 beta / epsilon, the explicit bound over n is within sqrt(10) of the rate."""
    n, eps, delta, L, beta, G, C = 1000, 0.5, 1e-5, 1.0, 0.25, 3.0, 2.0
    sd = theory.theorem_16_9_noise(eps, delta, lipschitz=L)
    explicit = theory.objective_perturbation_bound(sd, 2 * beta / eps, width=G, radius=C) / n
    printed = theory.theorem_16_9(n, eps, delta, lipschitz=L, smoothness=beta, width=G, radius=C)
    assert printed <= explicit <= math.sqrt(10) * printed


def test_output_perturbation_on_a_quadratic_is_exact() -> None:
    H, _ = quadratic()
    top = float(np.linalg.eigvalsh(H)[-1])
    exact = 0.5 * np.trace(H) * (1.0 / (0.5 * 2.0)) ** 2
    assert exact <= theory.output_perturbation_bound(1.0, 2.0, smoothness=top, ridge=0.5, p=8)
    assert theory.output_perturbation_bound(1.0, 2.0, smoothness=1.0, ridge=0.5, p=8) == 4.0


def test_strong_convexity_bounds_the_loss_whatever_the_width() -> None:
    """``f = h |w|^2 / 2`` with `h` the ridge loses exactly ``p sd^2 / (8 ridge)``: a quarter of the bound."""
    p, sd, ridge = 30, 3.0, 7.0
    exact = p * sd**2 / (8 * ridge)
    bound = theory.objective_perturbation_bound(sd, ridge, width=1e9, radius=0.0, p=p)
    assert bound == pytest.approx(4 * exact)
    draws = np.random.default_rng(12).normal(0, sd, (4000, p)) / (2 * ridge)
    assert np.mean(0.5 * ridge * np.sum(draws**2, axis=1)) == pytest.approx(exact, rel=0.05)
