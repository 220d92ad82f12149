"""Bounds for sparse rows of words: what is bought, what it says, and where the rule ends."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from discreet import accounting
from discreet.curator import RowBounds
from discreet.curator.survey import make_survey
from discreet.estimators.bounds import FEWEST_WORDS, UNIT_NORM, WORDS, BoundsBuyer
from discreet.estimators.cuts import clipped
from discreet.linear_model import LinearRegression, LinearSVC, LogisticRegression
from discreet.privacy import Budget
from discreet.randomness import SeededSource
from discreet.testing import without_privacy

P = 3000


def words(n: int = 2000, p: int = P, seed: int = 0) -> tuple[Any, Any]:
    """Counts by Zipf's law; a tenth of the rarer words say which class a row has."""
    rng = np.random.default_rng(seed)
    chance = np.minimum(30.0 / (1 + np.arange(p)), 0.9)
    y = rng.random(n) < 0.5
    rows = np.where(rng.random((n, p)) < chance * np.where(np.outer(y, np.arange(p) % 10 == 9), 3, 1), 1.0, 0.0)
    return sp.csr_matrix(rows * rng.integers(1, 4, rows.shape)), np.where(y, "spam", "ham")


def bought(X: Any, budget: Budget, **more: Any) -> tuple[RowBounds, BoundsBuyer]:
    buyer = BoundsBuyer(make_survey(X, neighbors=budget.neighbors), budget, X.shape[0], SeededSource(0))
    if buyer.are_words(scaled=more.pop("scaled", True)):
        return buyer.words(RowBounds(l2=1.0)), buyer
    return buyer.norms(buyer.features(RowBounds(l2=1.0), **more), 0.95), buyer


def test_without_noise_scales_are_inverse_frequencies_and_rows_have_one_length() -> None:
    X, _ = words()
    with without_privacy():
        bounds, _ = bought(X, Budget(1, 1e-6))
    present = X != 0
    share = np.minimum(1, np.sqrt(WORDS / np.asarray(present.sum(axis=1)).ravel()))
    frequency = np.asarray(present.T @ share).ravel()
    noise = math.sqrt(WORDS) / (accounting.gdp.mu_for(1, 1e-6) * math.sqrt(0.05))
    # a little is lost where shares are rounded to 1 / 1024
    wanted = np.log(2000 / np.maximum(frequency, 2 * noise)) / math.log(2000 / (2 * noise))
    np.testing.assert_allclose(bounds.high / bounds.scale, np.clip(wanted, 2.0**-8, 1), rtol=0.01, atol=0.003)
    assert set(np.asarray(bounds.high)) == {2.0} or set(np.asarray(bounds.high)) == {4.0}
    mapped = clipped(bounds, X).multiply(1 / bounds.scale)
    norms = np.sqrt(np.asarray(mapped.multiply(mapped).sum(axis=1)).ravel())
    np.testing.assert_allclose(norms, UNIT_NORM, rtol=1e-9)
    # presence: two rows with the same words and other counts are one row
    again = X.copy()
    again.data = np.full(X.nnz, 7.0)
    X.data[:] = 5.0
    np.testing.assert_allclose((clipped(bounds, X) - clipped(bounds, again)).toarray(), 0, atol=1e-12)


@pytest.mark.parametrize("relation", ["zero_out", "replace_one", "add_remove"])
def test_all_that_is_bought_is_in_the_event_and_the_statement(relation: str) -> None:
    X, y = words(600)
    model = LogisticRegression(epsilon=1, delta=1e-6, neighbors=relation, random_state=0).fit(X, y)
    assert model.privacy_.solver == "steep_objective_perturbation"
    text = str(model.privacy_)
    for line in ("frequencies of columns: paid", "feature bounds: paid (presence"):
        assert line in text
    assert "row norm" not in text
    planned = accounting.epsilon(model.dp_event_.event, 1e-6)
    assert 0.97 < planned <= 1.0
    leaves = repr(model.dp_event_.event)
    mu = accounting.gdp.mu_for(model.epsilon * (0.98 if relation == "add_remove" else 1), 1e-6)
    for share in (0.01, 0.05):
        noise = f"{1 / (mu * math.sqrt(share)):.6g}"[:5]
        assert noise in leaves or relation != "zero_out", (noise, leaves)


def test_dear_frequencies_leave_all_words_alike() -> None:
    """At a tiny budget nothing is known of words, and no word is thrown away."""
    X, _ = words(300)
    bounds, _ = bought(X, Budget(0.01, 1e-6))
    weight = np.asarray(bounds.high) / np.asarray(bounds.scale)
    assert np.isfinite(weight).all() and (weight > 0).all() and np.mean(weight == 1.0) > 0.9


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda X: X.toarray(), "dense"),
        (lambda X: X[:, : FEWEST_WORDS - 1], "few columns"),
        (lambda X: sp.vstack([X] * 30).tocsr(), "more rows times mu than columns"),
    ],
)
def test_the_rule_ends_at_public_facts(change: Any, why: str) -> None:
    X = change(words(1000)[0])
    _, buyer = bought(X, Budget(1, 1e-6))
    assert "frequencies of columns" not in buyer.paid, why


def test_pure_budgets_penalties_and_real_targets_buy_no_frequencies() -> None:
    X, y = words(300)
    assert "frequencies of columns" not in bought(X, Budget(1))[1].paid
    assert "frequencies of columns" not in bought(X, Budget(1, 1e-6), scaled=False)[1].paid
    regression = LinearRegression(epsilon=1, delta=1e-6, bounds_y=(0, 1), random_state=0).fit(X, y == "spam")
    assert "frequencies of columns" not in str(regression.privacy_)


@pytest.mark.parametrize("estimator", [LogisticRegression, LinearSVC])
def test_it_learns_from_raw_counts_and_predicts_on_raw_rows(estimator: Any) -> None:
    X, y = words(4000)
    model = estimator(epsilon=2, delta=1e-6, random_state=0).fit(X[:3200], y[:3200])
    assert model.score(X[3200:], y[3200:]) > 0.75
    margins = X[3200:].copy()
    margins.data *= 3.0  # counts beyond the bought size say nothing new
    assert np.mean(model.predict(margins) == model.predict(X[3200:])) > 0.95
    assert model.coef_.shape == (1, P)


@pytest.mark.parametrize("value", [1e-9, 1e9])
def test_any_unit_gives_the_same_predictions(value: float) -> None:
    """A table in other units (a power of two, so that sizes fall into shifted bins) gives the same predictions."""
    X, y = words(800)
    unit = 2.0 ** round(math.log2(value))
    one, other = (LogisticRegression(delta=1e-6, random_state=0).fit(X * u, y) for u in (1.0, unit))
    np.testing.assert_allclose(other.decision_function(X * unit), one.decision_function(X), rtol=1e-5, atol=1e-6)


def test_where_nothing_can_be_learned_it_is_hardly_worse_than_a_constant() -> None:
    """2,000 rows, 5,000 columns that say nothing, nine in ten of one class: at most .01 below, on average."""
    lost = []
    for seed in range(4):
        X, _ = words(2500, 5000, seed)
        y = np.random.default_rng(seed).random(2500) < 0.9
        model = LogisticRegression(epsilon=1, delta=1e-7, random_state=seed).fit(X[:2000], y[:2000])
        lost.append(y[2000:].mean() - model.score(X[2000:], y[2000:]))
    assert np.mean(lost) < 0.01
