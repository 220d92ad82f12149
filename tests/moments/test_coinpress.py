"""CoinPress against the published method in plain floats, and its promise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.moments import published_covariance, published_mean, trimmed
from discreet import accounting, moments
from discreet.moments.coinpress import step_shares, tail_radius


def test_tail_radius_is_one() -> None:
    """A 99 % quantile of chi, from above."""
    from scipy.stats import chi

    for d in (1, 10, 100):
        assert chi.ppf(0.99, d) <= tail_radius(d, 0.01) < 1.5 * chi.ppf(0.99, d) + 1


@pytest.mark.parametrize("steps", [2, 3])
def test_mean_is_as_good_as_published(steps: int) -> None:
    """Published settings (d=50, R=10 sqrt d, rho=1/2, n=2000), 20 repetitions: trimmed errors within a tenth."""
    n, d, radius = 2000, 50, 10 * math.sqrt(50)
    shares = [0.5 * 0.25 / (steps - 1)] * (steps - 1) + [0.375]
    ours, theirs = [], []
    for seed in range(20):
        X = np.random.default_rng(seed).normal(size=(n, d))
        options = {"rho": 0.5, "neighbors": "replace_one", "steps": steps, "random_state": seed}
        ours.append(float(np.linalg.norm(moments.coinpress_mean(X, radius=radius, **options).value)))
        theirs.append(float(np.linalg.norm(published_mean(X, radius, shares, np.random.default_rng(seed + 99)))))
    assert trimmed(ours) <= 1.1 * trimmed(theirs)


def test_covariance_is_as_good_as_published() -> None:
    """Published settings (d=10, u=10 sqrt d, rho=1/2, n=6000), 15 repetitions."""
    n, d, largest = 6000, 10, 10 * math.sqrt(10)
    ours, theirs = [], []
    for seed in range(15):
        X = np.random.default_rng(seed).normal(size=(n, d))
        options = {"rho": 0.5, "neighbors": "replace_one", "steps": 3, "random_state": seed}
        found = moments.coinpress_covariance(X, largest=largest, **options).value
        ours.append(float(np.linalg.norm(found - np.eye(d))))
        plain = published_covariance(X, largest, [0.0625, 0.0625, 0.375], np.random.default_rng(seed + 99))
        theirs.append(float(np.linalg.norm(plain - np.eye(d))))
    assert trimmed(ours) <= 1.1 * trimmed(theirs)


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}, {"rho": 0.1}])
@pytest.mark.parametrize("neighbors", ["zero_out", "replace_one", "add_remove"])
def test_promise(budget, neighbors: str) -> None:
    X = np.random.default_rng(1).normal(3.0, 1.0, (3000, 4))
    mean = moments.coinpress_mean(X, radius=100, neighbors=neighbors, random_state=1, **budget)
    covariance = moments.coinpress_covariance(X, largest=50, centre=3.0, neighbors=neighbors, random_state=1, **budget)
    for release in (mean, covariance):
        if "epsilon" in budget:
            assert accounting.epsilon(release.privacy.event, budget.get("delta", 0)) <= 1 + 1e-9
    assert np.linalg.norm(mean.value - 3) < 12 * np.linalg.norm(mean.standard_error) + 0.01
    assert np.linalg.eigvalsh(covariance.value).min() >= -1e-9


def test_loose_ball_costs_one_step() -> None:
    """A radius a thousand times too large: three steps are nearly as good as with the right one."""
    X = np.random.default_rng(2).normal(size=(4000, 20))
    errors = {
        radius: np.mean([
            np.linalg.norm(moments.coinpress_mean(X, radius=radius, rho=0.5, random_state=s).value - X.mean(axis=0))
            for s in range(10)
        ])
        for radius in (5.0, 5000.0)
    }  # fmt: skip
    assert errors[5000.0] < 1.5 * errors[5.0]


def test_covariance_of_another_shape() -> None:
    """Correlated columns of very different sizes: whitening on the right side finds them."""
    rng = np.random.default_rng(3)
    root = np.array([[3.0, 0, 0], [2.0, 0.5, 0], [0.1, 0.1, 0.05]])
    X = rng.normal(size=(30_000, 3)) @ root.T
    truth = root @ root.T
    found = moments.coinpress_covariance(X, largest=100.0, rho=0.5, steps=5, random_state=1).value
    whitened = np.linalg.solve(root, np.linalg.solve(root, found).T)
    assert np.linalg.norm(whitened - np.eye(3)) < 0.2
    assert found == pytest.approx(truth, abs=0.3)


def test_rows_are_not_changed() -> None:
    X = np.random.default_rng(1).normal(size=(100, 3))
    before = X.copy()
    moments.coinpress_mean(X, radius=10, rho=0.5)
    moments.coinpress_covariance(X, largest=10, rho=0.5)
    assert np.array_equal(X, before)


def test_shares_and_refusals() -> None:
    assert step_shares(1, None) == [1.0]
    assert step_shares(4, None) == pytest.approx([1 / 12, 1 / 12, 1 / 12, 0.75])
    assert step_shares(9, [1, 2]) == [1, 2]
    for call, words in (
        (lambda: step_shares(0, None), "steps=0"),
        (lambda: step_shares(1, [0]), "positive"),
        (lambda: moments.coinpress_mean(np.ones((3, 2)), radius=0.0), "radius"),
        (lambda: moments.coinpress_covariance(np.ones((3, 2)), largest=math.inf), "largest"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
