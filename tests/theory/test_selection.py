"""How far a selection falls short: exact where exact is claimed, a bound where a bound is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import theory


def shortfall(gaps: np.ndarray) -> float:
    """The exact expected shortfall of the exponential mechanism (scale 1)."""
    weights = np.exp(-gaps)
    return float(weights @ gaps / weights.sum())


@settings(max_examples=200, deadline=None)
@given(gaps=st.lists(st.floats(0, 30), min_size=0, max_size=12))
def test_no_scores_do_worse_than_the_bound(gaps: list[float]) -> None:
    all_gaps = np.array([0.0, *gaps])
    assert shortfall(all_gaps) <= theory.expected_selection_error(len(all_gaps), 1.0) + 1e-12


@pytest.mark.parametrize("k", [2, 3, 10, 1000, 10**6])
def test_equal_runners_up_reach_the_bound(k: int) -> None:
    worst = theory.expected_selection_error(k, 1.0)
    t = 1 + worst
    reached = t * (k - 1) * math.exp(-t) / (1 + (k - 1) * math.exp(-t))
    assert reached == pytest.approx(worst, rel=1e-12)
    assert worst <= math.log(k)


@pytest.mark.parametrize("noise", ["gumbel", "laplace", "exponential"])
def test_runs_stay_below_their_bounds(noise: str) -> None:
    """4,000 selections on three families of scores; 5 standard errors, and 0.05 + 4 errors for the quantile."""
    rng = np.random.default_rng(2)
    draw = {"gumbel": rng.gumbel, "laplace": rng.laplace, "exponential": lambda *a, size: rng.exponential(size=size)}
    for k in (5, 60):
        for scores in (np.zeros(k), -np.arange(k) * 0.3, np.where(np.arange(k) > 0, -3.0, 0.0)):
            noisy = scores + draw[noise](0.0, 1.0, size=(4000, k))
            gaps = scores.max() - scores[np.argmax(noisy, axis=1)]
            expected = theory.expected_selection_error(k, 1.0, noise)
            assert gaps.mean() <= expected + 5 * gaps.std() / math.sqrt(4000)
            limit = theory.selection_error(k, 1.0, 0.05, noise)
            assert np.mean(gaps > limit) <= 0.05 + 4 * math.sqrt(0.05 / 4000)


def test_the_recalled_bound_is_the_weaker_one() -> None:
    for k in (2, 50, 10**5):
        for beta in (0.3, 1e-6):
            assert theory.selection_error(k, 2.0, beta) <= theory.noisy_max_error(k, 2.0, beta)
    assert theory.expected_selection_error(1, 1.0) == theory.selection_error(1, 1.0, 0.1) == 0.0
    assert theory.expected_selection_error(1, 1.0, "exponential") == 0.0


def test_one_candidate_behind_is_exactly_as_likely_as_said() -> None:
    limit = theory.selection_error(11, 1.0, 0.2)
    chance = 10 * math.exp(-limit) / (1 + 10 * math.exp(-limit))
    assert chance == pytest.approx(0.2)
