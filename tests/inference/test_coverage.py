"""Nominal 95 % intervals cover 94 to 96 % on average and 92 to 98 % for each coefficient, where that is promised.

``benchmarks/coverage.py`` has the regimes.  The quick tests hold two of them, with fewer fits, to limits that a sound
interval misses in one of 10,000 runs; the slow one holds 1,000 fits of seven to the promise itself.  A coefficient that
is covered at 95 % falls outside 92 to 98 % over 1,000 fits with probability 1.5e-5, so that for the 47 coefficients
here the false-alarm rate is below 1e-3; the average of six of them or more is outside 94 to 96 % with probability below
4e-4 (their deviation is at most 0.28 %), 3e-3 for all seven regimes.  Seeds are fixed.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom

from benchmarks.coverage import Regime, Targets, measure
from discreet.curator import RowBounds, make_curator
from discreet.inference import BOTH
from discreet.losses import LogisticLoss, PseudoHuberLoss, SquaredLoss
from discreet.privacy import unseal

QUICK = [
    Regime("logistic", "whitened", 5, 5_000, 4),
    Regime("linear", "sufficient_statistics", 5, 5_000, 1),
    Regime("huber", "plain", 5, 5_000, 4),
]
PROMISED = [
    Regime("logistic", "plain", 5, 5_000, 4),
    Regime("logistic", "whitened", 5, 20_000, 1),
    Regime("logistic", "plain", 5, 20_000, 1, misspecified=True),
    Regime("linear", "sufficient_statistics", 5, 20_000, 0.5, "correlated"),
    Regime("linear", "sufficient_statistics", 5, 5_000, 4, misspecified=True),
    Regime("linear", "auto", 5, 20_000, 1),
    Regime("huber", "plain", 5, 20_000, 1),
]


@pytest.mark.parametrize("regime", QUICK, ids=lambda r: r.name)
def test_coverage_of_a_few_fits(regime: Regime) -> None:
    fits = 120
    found = measure(regime, fits)
    least = binom.ppf(1e-4 / 6, fits, 0.95) / fits
    assert found["coverage_worst_low"] >= least
    assert found["finite"] > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("regime", PROMISED, ids=lambda r: r.name)
def test_promised_coverage(regime: Regime) -> None:
    found = measure(regime, 1000)
    assert 0.94 <= found["coverage_mean"] <= 0.96
    assert found["coverage_worst_low"] >= 0.92
    assert found["coverage_worst_high"] <= 0.98
    assert found["finite"] > 0.95


def test_forgotten_privacy_noise_would_be_seen() -> None:
    """Planted: intervals of the sampling error alone, at a budget where privacy is most of it, miss far too often."""
    regime = Regime("linear", "sufficient_statistics", 5, 5_000, 1)
    targets, hits, fits = Targets(regime), 0.0, 60
    for seed in range(fits):
        model = regime.model(seed).fit(*regime.table(seed))
        found = model.inference_
        sampling = replace(found, error=np.sqrt(np.maximum(found.error**2 - found.privacy**2, 0.0)))
        ends, target = sampling.conf_int(), targets(model)
        hits += ((ends[:, 0] <= target) & (target <= ends[:, 1])).mean() / fits
    assert hits < 0.8


def test_targets_are_those_of_the_clipped_population() -> None:
    """Rows cut at a short norm: the target is another one than that of whole rows, and a huge sample agrees."""
    regime = Regime("linear", "sufficient_statistics", 5, 200_000, 4)
    model = regime.model(0).set_params(bounds=RowBounds(l2=0.8)).fit(*regime.table(0))
    target = Targets(regime)(model)
    assert np.abs(target[:-1] - regime.truth).max() > 0.05  # rows beyond the norm count as shorter ones
    X, y = regime.table(1)
    z = X * np.minimum(1, model.bounds_.l2 / np.linalg.norm(X, axis=1))[:, None]
    plain = np.linalg.lstsq(np.column_stack([z, np.ones(len(z))]), y, rcond=None)[0]
    np.testing.assert_allclose(plain, target, atol=0.012)  # six standard errors


@pytest.mark.parametrize("loss", [LogisticLoss(), PseudoHuberLoss(0.7)])
def test_two_matrices_for_the_price_of_one(loss) -> None:
    """``s^4 c1^2 + c2^2 (h / beta)^2 <= 1`` on a grid of slopes, with what a bound on its slope leaves in between."""
    first, second = BOTH[loss.name]
    s = np.linspace(0, 1, 200_001)
    h = np.asarray(loss.curvature_of_slope(s)) / loss.smoothness
    value = first**2 * s**4 + second**2 * h**2
    steepest = 4 + 2 * second**2 * 4.0  # |d/ds| of the two terms: 4 s^3, and 2 h h' with |h'| at most 4
    assert value.max() <= 1 + 1e-12
    assert np.minimum(value[:-1], value[1:]).max() + steepest * (s[1] - s[0]) <= 1 + 1e-4


def test_planted_free_second_matrix_is_too_much() -> None:
    """Both blocks at full share for a loss steep and curved at once: a row then adds more than its squared norm.

    The curator scales such a row down; the same two matrices without that are root two apart from what is stated.
    """
    row, loss = np.array([[0.6, 0.8]]), SquaredLoss()
    curator = make_curator(row, np.array([1.0]), bounds=RowBounds(l2=1.0, y=(-1.0, 1.0)))
    sealed = curator.sandwich(loss, np.zeros(2), (1.0, 1.0), 1.0)
    upper = unseal(sealed) * float(sealed.unit)
    blocks = np.zeros((4, 4))
    blocks[np.triu_indices(4)] = upper
    blocks = blocks + np.triu(blocks, 1).T
    stated = float(sealed.sensitivity("l2") * sealed.unit)
    unscaled = math.hypot(1.0, 1.0) * float(np.linalg.norm(row.T @ row))
    assert np.linalg.norm(blocks) <= stated * (1 + 1e-9)
    assert unscaled > 1.4 * stated


def test_intervals_shrink_with_rows_and_budget() -> None:
    errors = [measure(Regime("linear", "sufficient_statistics", 5, n, 1), 5)["standard_error"] for n in (5_000, 50_000)]
    budgets = [
        measure(Regime("linear", "sufficient_statistics", 5, 5_000, e), 5)["standard_error"] for e in (0.5, 1, 4)
    ]
    assert errors[1] < errors[0] / 3
    assert all(b < a for a, b in pairwise(budgets))
