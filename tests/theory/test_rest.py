"""Geometry, privacy for free, the registry, and the lower-bound instance with its attack."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest

from discreet import theory
from discreet.losses import SquaredLoss
from discreet.penalties import GroupL1Ball, L1Ball, L2Ball


def test_every_function_says_what_it_is_and_shows_it() -> None:
    for name in theory.__all__:
        text = inspect.getdoc(getattr(theory, name)) or ""
        assert ">>>" in text, f"{name} has no example"


def test_norms_and_widths_are_those_of_the_penalties() -> None:
    x, y = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.1, -4.0])
    for body in (L1Ball(2.0), L2Ball(0.5), GroupL1Ball(2)):
        assert x @ y <= theory.minkowski_norm(body, x) * theory.dual_norm(body, y)
        assert theory.gaussian_width(body, 40) == body.gaussian_width(40)
        mean, error = theory.width_by_simulation(body, 40, np.random.default_rng(0), n=3000)
        assert abs(mean - theory.gaussian_width(body, 40)) < 4.5 * error
    assert theory.gaussian_width(L1Ball(3.0), 200) <= theory.fact_1(3.0, 400)
    for k in (1, 5, 40):
        assert theory.gaussian_width(GroupL1Ball(k), 400) <= theory.fact_2(400, k)
    assert theory.fact_2_printed(400, 40) > 1.1 * theory.gaussian_width(GroupL1Ball(40), 400)


def test_the_sample_size_from_which_privacy_is_free() -> None:
    assert theory.free_sample_size(lambda n: 1e3 / n, lambda n: 1.0 / math.sqrt(n)) == 10**6
    # a privacy error that dips under early and comes back: the last crossing counts
    assert theory.free_sample_size(lambda n: 0.0 if n < 10 else 1e3 / n, lambda n: 1.0 / math.sqrt(n)) == 10**6
    with pytest.raises(ValueError, match="still above"):
        theory.free_sample_size(lambda n: 1.0, lambda n: 1.0 / n)
    n = theory.lasso_free_sample_size(1000, rho=0.02)
    bounds = {"lipschitz": 1.0, "radius": 1.0, "feature_bound": 1.0}
    privacy = [theory.lasso_privacy_error(m, 1000, 0.02, **bounds) for m in (n - 1, n, 10 * n)]
    chance = [theory.rademacher_bound(m, 1000, **bounds) for m in (n - 1, n, 10 * n)]
    assert privacy[0] > chance[0] and privacy[1] <= chance[1] and privacy[2] < chance[2]


def test_generalisation_over_the_l1_ball_is_below_its_bound() -> None:
    """Signs as features, absolute loss: the expected largest gap between sample and population risk, 100 samples."""
    rng = np.random.default_rng(1)
    n, p = 200, 30
    vertices = np.vstack([np.eye(p), -np.eye(p)])
    gaps = []
    for _ in range(100):
        X, y = rng.choice([-1.0, 1.0], (n, p)), rng.choice([-1.0, 1.0], n)
        gaps.append(max(1.0 - float(np.abs(X @ v - y).mean()) for v in vertices))
    assert np.mean(gaps) <= theory.rademacher_bound(n, p, lipschitz=1.0, radius=1.0, feature_bound=1.0)


# the lower bound -----------------------------------------------------------------------------------------------------
def frank_wolfe(hard: theory.FingerprintingInstance, steps: int, scale: float = 0.0, seed: int = 0) -> np.ndarray:
    rng, loss = np.random.default_rng(seed), SquaredLoss()
    p = hard.X.shape[1]
    w = np.zeros(p)
    for t in range(steps):
        g = 2 * hard.X.T @ loss.derivative(hard.X @ w, hard.y)
        scores = np.concatenate([-g, g]) + (rng.gumbel(0, scale, 2 * p) if scale else 0.0)
        s = np.zeros(p)
        j = int(np.argmax(scores))
        s[j % p] = 1.0 if j < p else -1.0
        w += 2.0 / (t + 2.0) * (s - w)
    return w


def test_the_instance_is_what_the_proof_needs() -> None:
    hard = theory.fingerprinting_instance(seed=3)
    assert hard.X.shape == (24 + 1024, 1024) and set(np.unique(hard.X)) == {-1.0, 1.0}
    block = hard.X[24:]
    np.testing.assert_array_equal(block.T @ block, 1024 * np.eye(1024))
    theta = np.random.default_rng(0).normal(0, 1, 1024) / 1024
    direct = np.sum((hard.X[:24] @ theta - 1) ** 2) + 1024 * np.sum(theta**2)
    assert hard.loss(theta) == pytest.approx(direct)
    # removing any user keeps the consensus, and the reference point does better than nothing does
    everybody = hard.consensus()
    for i in (0, 7, 23):
        without = hard.consensus(without=i)
        assert np.all(without[everybody != 0] == everybody[everybody != 0])
        assert np.count_nonzero(without) >= np.count_nonzero(everybody)
    assert np.abs(hard.reference()).sum() <= 1 and hard.loss(hard.reference()) < hard.loss(np.zeros(1024)) == 24.0


def test_outsiders_score_like_strangers() -> None:
    """Mean 0 and variance 1 per column, for any fit that has not seen them (2,000 outsiders, 5 standard errors)."""
    hard = theory.fingerprinting_instance(n_users=10, code_length=500, p=512, n_outsiders=2000, seed=4)
    _, outsiders = theory.tracing_scores(hard, hard.X[:10].sum(axis=0) + 0.1)
    assert abs(outsiders.mean()) < 5 * math.sqrt(500 / 2000)
    assert outsiders.std() == pytest.approx(math.sqrt(500), rel=0.1)


def test_accurate_fits_are_traced_and_private_ones_are_not() -> None:
    """Non-private Frank-Wolfe with 300 steps betrays its users; at epsilon 1 (noise for 30 steps) it does not.

    The seeds are fixed.  Under the null the AUC of 24 users against 200 outsiders has a standard error of 0.063, and
    three instances are averaged: 0.66 is more than four of them above one half.
    """
    exact, private, losses = [], [], []
    for seed in range(3):
        hard = theory.fingerprinting_instance(seed=seed)
        exact.append(theory.tracing_auc(hard, frank_wolfe(hard, 300)))
        # one row moves a score by at most |2 (x w - y) x_j| <= 4: range 8; rho = 0.0244 is epsilon 1 at delta 1e-6
        scale = theory.selection_scale(8.0, 30, 0.0244)
        noisy = frank_wolfe(hard, 30, scale, seed)
        private.append(theory.tracing_auc(hard, noisy))
        losses.append(hard.loss(noisy))
    assert min(exact) > 0.9
    assert np.mean(private) < 0.66
    assert min(losses) > 15.0  # and the private fit is hardly better than none (24), as the lower bound says


def test_the_rate_of_the_lower_bound() -> None:
    assert theory.theorem_3_1(1000) == pytest.approx((1000 * math.log(1000)) ** (-2 / 3))
    # the upper bound of Corollary 2.7 is above it, by logarithms only
    for n in (10**3, 10**6, 10**9):
        gap = theory.corollary_2_7(n, n, 0.1, 1 / n**2) / theory.theorem_3_1(n)
        assert 1 < gap < 50 * math.log(n) ** (5 / 3)


def test_sizes_that_have_no_instance_are_refused() -> None:
    with pytest.raises(ValueError, match="power of two; the next one is 1024"):
        theory.fingerprinting_instance(p=1000)
    with pytest.raises(ValueError, match="can't exceed"):
        theory.fingerprinting_instance(code_length=2000, p=1024)
    with pytest.raises(ValueError, match="below one half"):
        theory.fingerprinting_instance(cutoff=0.7)
