"""The whole pipeline for sparse words, attacked: bought sizes and frequencies, scales, cut rows, the perturbed fit.

The noise is seeded, so a test either always passes or always fails; were it not, a sound model would be caught with
probability at most 5 % in each test.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from discreet.audit.run import audit_solver
from discreet.linear_model import LogisticRegression
from discreet.privacy import Neighbours

P, N, DELTA = 1000, 24, 1e-3


def tables(kind: str, relation: str) -> list[tuple[Any, Any, Any]]:
    """Neighbours that differ in the first row: rare words of its own, the common words, or one gigantic entry."""
    rng = np.random.default_rng(3)
    rows = np.where(rng.random((N, P)) < 0.02, 1.0, 0.0)
    rows[:, :8] = 1.0
    rows[:, 500:] = 0.0
    first = np.zeros(P)
    if kind == "rare words":
        first[500:532] = 1.0
    elif kind == "common words":
        first[:8] = 1.0
    else:
        first[700] = 1e12
    y = np.where(np.arange(N) % 2, 1, 0)
    y[0] = 1
    rows[0] = first
    whole = (sp.csr_matrix(rows), y, np.ones(N))
    if relation == "zero_out":
        weight = np.ones(N)
        weight[0] = 0.0
        return [whole, (whole[0], y, weight)]
    if relation == "add_remove":
        return [whole, (whole[0][1:], y[1:], np.ones(N - 1))]
    other = rows.copy()
    other[0] = 0.0
    other[0, 900:932] = 1.0
    return [whole, (sp.csr_matrix(other), np.concatenate([[0], y[1:]]), np.ones(N))]


def released(data: tuple[Any, Any, Any], epsilon: float, relation: str, seed: int) -> Any:
    """Everything a fit gives away, in a few numbers that see the first row best."""
    X, y, weight = data
    model = LogisticRegression(epsilon=epsilon, delta=DELTA, neighbors=relation, classes=[0, 1], random_state=seed).fit(
        X, y, sample_weight=weight
    )
    assert model.privacy_.solver == "steep_objective_perturbation"
    scale, coef = np.asarray(model.bounds_.scale), model.coef_[0]
    parts = (slice(0, 8), slice(500, 532), slice(700, 701), slice(900, 932))
    return np.concatenate([[(coef * scale)[s].sum() for s in parts], [1 / scale[s].mean() for s in parts],
                           [model.bounds_.high[0], model.intercept_[0]]])  # fmt: skip


def attack(kind: str, relation: str, epsilon: float, runs: int, promised: float | None = None) -> Any:
    one, other = tables(kind, relation)
    return audit_solver(
        lambda i: released(one, epsilon, relation, 2 * i), lambda i: released(other, epsilon, relation, 2 * i + 1),
        epsilon if promised is None else promised, DELTA, runs,
    )  # fmt: skip


def test_words_are_not_given_away() -> None:
    assert not attack("rare words", "zero_out", 1.0, 120).caught


@pytest.mark.slow
@pytest.mark.parametrize("relation", [r.value for r in Neighbours])
@pytest.mark.parametrize("kind", ["rare words", "common words", "one gigantic entry"])
def test_no_pair_is_told_apart(kind: str, relation: str) -> None:
    assert not attack(kind, relation, 1.0, 600).caught


@pytest.mark.slow
def test_the_attack_sees_the_row() -> None:
    """At a promise a tenth of what is spent the alarm rings: silence above says something."""
    assert attack("rare words", "zero_out", 8.0, 400, promised=0.8).caught
