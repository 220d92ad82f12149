"""Tournament scores by definition, their sensitivity on all neighbours, and the accuracy that is promised."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from scipy.special import ndtr

from discreet import accounting, moments
from discreet.curator import make_survey
from discreet.curator.tournament import tournament_scores
from discreet.mechanisms.base import opened
from discreet.moments.hypotheses import cover
from discreet.privacy import PrivacyError

MEANS = np.array([[0.0], [1.0], [2.5], [-1.5]])


def by_definition(x: np.ndarray, alpha: float, zeta: float = 1.0) -> list[int]:
    n, scores = len(x), []
    for i, one in enumerate(MEANS[:, 0]):
        worst = n
        for j, two in enumerate(MEANS[:, 0]):
            if i == j:
                continue
            p = ndtr(abs(one - two) / 2)
            if 2 * p - 1 <= (2 + zeta) * alpha:
                continue
            density = [-((x - m) ** 2) for m in (one, two)]
            wins = int(np.sum(density[0] > density[1]))
            worst = min(worst, max(0, wins - math.ceil(n * (1 - p + (1 + zeta / 2) * alpha))))
        scores.append(worst)
    return scores


def test_scores_by_definition() -> None:
    x = np.random.default_rng(1).normal(0.9, 1.0, 500)
    scores = opened(tournament_scores(make_survey(x[:, None]), MEANS, 0.05))
    assert scores.tolist() == by_definition(x, 0.05)
    assert int(np.argmax(scores)) == 1


@pytest.mark.parametrize("neighbors", ["zero_out", "replace_one"])
def test_range_over_all_replacements(neighbors: str) -> None:
    """Every row of a small sample replaced by every of twenty values: moves stay within the stated range."""
    x = np.random.default_rng(2).normal(0.5, 1.0, 30)
    sealed = tournament_scores(make_survey(x[:, None], neighbors=neighbors), MEANS, 0.02)
    limit = tournament_scores(make_survey(x[:, None], neighbors="replace_one"), MEANS, 0.02).sensitivity("range")
    assert limit == 2
    assert sealed.sensitivity("range") == (1 if neighbors == "zero_out" else 2)
    before = opened(sealed)
    for i in range(30):
        for new in np.linspace(-4, 5, 20):
            other = x.copy()
            other[i] = new
            move = opened(tournament_scores(make_survey(other[:, None]), MEANS, 0.02)) - before
            assert move.max() - move.min() <= limit


def test_zeroed_row_moves_all_scores_one_way() -> None:
    """The monotone claim: one row more never lowers a score (n is the same public number)."""
    x = np.random.default_rng(4).normal(0.5, 1.0, 40)
    whole = opened(tournament_scores(make_survey(x[:, None]), MEANS, 0.02))
    for i in range(40):
        weights = np.ones(40)
        weights[i] = 0  # a blank row: present in n, absent from every count
        blank = opened(tournament_scores(make_survey(x[:, None], sample_weight=weights), MEANS, 0.02))
        assert ((whole - blank >= 0) & (whole - blank <= 1)).all()


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": 0.1}, {"epsilon": 1, "delta": 1e-6}])
@pytest.mark.parametrize("neighbors", ["zero_out", "replace_one"])
def test_accuracy(budget, neighbors: str) -> None:
    """Within 4 alpha in total variation, 4 samples of 2000 in two dimensions."""
    for seed in range(4):
        mu = np.random.default_rng(seed).uniform(-1.5, 1.5, 2)
        X = np.random.default_rng(seed + 50).normal(mu, 1.0, (2000, 2))
        r = moments.gaussian_by_selection(X, radius=2.5, alpha=0.12, neighbors=neighbors, random_state=seed, **budget)
        assert 2 * ndtr(np.linalg.norm(r.value - mu) / 2) - 1 <= 0.48
        if "epsilon" in budget:
            assert accounting.epsilon(r.privacy.event, budget.get("delta", 0)) <= 1 + 1e-9


def test_units() -> None:
    x = np.random.default_rng(7).normal(120.0, 15.0, 4000)
    r = moments.gaussian_by_selection(x, radius=3, alpha=0.05, centre=100.0, deviation=15.0, epsilon=1, random_state=1)
    assert abs(r.value[0] - 120) < 15 * 0.5


def test_cover_covers() -> None:
    """Total variation to the nearest point is at most alpha, at 2000 random means of the ball."""
    for d, radius, alpha in ((1, 3.0, 0.05), (2, 2.0, 0.1), (3, 1.0, 0.15)):
        points = cover(d, radius, alpha)
        z = np.random.default_rng(d).normal(size=(2000, d))
        z *= radius * np.random.default_rng(d + 9).random((2000, 1)) ** (1 / d) / np.linalg.norm(z, axis=1)[:, None]
        nearest = np.sqrt(((z[:, None, :] - points) ** 2).sum(axis=2)).min(axis=1)
        assert (2 * ndtr(nearest / 2) - 1).max() <= alpha + 1e-12


def test_refuses_what_takes_exponential_time() -> None:
    X = np.zeros((100, 12))
    start = time.perf_counter()
    with pytest.raises(ValueError, match="exponential in the dimension"):
        moments.gaussian_by_selection(X, radius=5, alpha=0.05, epsilon=1)
    assert time.perf_counter() - start < 2
    with pytest.raises(PrivacyError, match="public number of rows"):
        moments.gaussian_by_selection(np.zeros((10, 1)), radius=1, alpha=0.1, epsilon=1, neighbors="add_remove")
    with pytest.raises(ValueError, match=r"alpha=0\.3"):
        moments.gaussian_by_selection(np.zeros((10, 1)), radius=1, alpha=0.3, epsilon=1)
