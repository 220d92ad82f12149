"""Statistics are what they say they are, up to the grid; cursors, clips and surveys."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from discreet.curator import Clip, Curator, RowBounds, make_curator, make_survey
from discreet.losses import LogisticLoss, SoftmaxLoss, SquaredLoss
from discreet.privacy import Bounded, PrivacyError, unseal

RNG = np.random.default_rng(0)
N, P = 3000, 4
X = RNG.normal(size=(N, P)) * 0.3
W = RNG.uniform(0, 2, N)
SIGNS, REALS, CLASSES = RNG.choice([-1.0, 1.0], N), RNG.uniform(-2, 2, N), RNG.integers(0, 3, N).astype(float)
THETA = np.array([1.0, -2.0, 0.5, 0.0, 0.7])
ROWS = np.hstack([X, np.ones((N, 1))])


def curator(y: Any = SIGNS, **more: Any) -> Curator:
    return make_curator(X, y, bounds=RowBounds(l2=3.0, intercept=1.0, weight=2.0, y=(-2, 2)), sample_weight=W, **more)


def real(b: Bounded) -> np.ndarray:
    return unseal(b) * float(b.unit)


def test_gradients() -> None:
    d = LogisticLoss().derivative(ROWS @ THETA, SIGNS) * W
    np.testing.assert_allclose(real(curator().gradient(LogisticLoss(), THETA)), ROWS.T @ d, atol=0.2)
    models = np.outer([1.0, -1.0, 0.3], THETA)
    d = SoftmaxLoss(3).derivative(ROWS @ models.T, CLASSES) * W[:, None]
    got = real(curator(CLASSES).gradient(SoftmaxLoss(3), models))
    np.testing.assert_allclose(got.reshape(3, -1), d.T @ ROWS, atol=0.3)


@pytest.mark.parametrize("norm", ["l2", "l1", "linf", "per_coordinate", "slope"])
@pytest.mark.parametrize("mode", ["scale", "drop"])
def test_clips(norm: Any, mode: Any) -> None:
    c = 0.9
    d = (ROWS @ THETA - REALS) * W
    rows = d[:, None] * ROWS
    size = {
        "l2": np.linalg.norm(rows, axis=1),
        "l1": np.abs(rows).sum(axis=1),
        "linf": np.abs(rows).max(axis=1),
        "slope": np.abs(d),
    }.get(norm)
    if size is None:
        clipped = np.clip(rows, -c, c) if mode == "scale" else np.where(np.abs(rows) > c, 0.0, rows)
    else:
        factor = np.minimum(1, c / size) if mode == "scale" else size <= c
        clipped = rows * factor[:, None]
    got = curator(REALS).gradient(SquaredLoss(), THETA, Clip(c, norm=norm, mode=mode))
    np.testing.assert_allclose(real(got), clipped.sum(axis=0), atol=2.5 if mode == "drop" else 0.7)
    if norm != "slope":
        which = "linf" if norm == "per_coordinate" else norm
        assert float(got.sensitivity(which) * got.unit) <= c
        assert float(got.sensitivity(which) * got.unit) > 0.99 * c


@pytest.mark.parametrize(
    ("bad", "rule"),
    [
        ({"bound": 0.0}, "positive"),
        ({"bound": np.inf}, "finite"),
        ({"bound": [1.0, 2.0]}, "one bound"),
        ({"bound": 1.0, "norm": "l3"}, "norm="),
        ({"bound": 1.0, "mode": "cut"}, "mode="),
    ],
)
def test_clips_that_are_refused(bad: Any, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        Clip(**bad)


def test_a_loss_without_a_bound_needs_a_clip() -> None:
    with pytest.raises(ValueError, match="give a Clip"):
        curator(REALS).gradient(SquaredLoss(), THETA)
    with pytest.raises(ValueError, match="3 per-coordinate bounds for 5"):
        curator(REALS).gradient(SquaredLoss(), THETA, Clip(np.ones(3), norm="per_coordinate"))
    with pytest.raises(ValueError, match="one output"):
        curator(CLASSES).gradient(SoftmaxLoss(3), np.zeros((3, 5)), Clip(1.0, norm="per_coordinate"))
    with pytest.raises(ValueError, match="shape"):
        curator().gradient(LogisticLoss(), np.zeros(4))
    with pytest.raises(ValueError, match="finite"):
        curator().gradient(LogisticLoss(), THETA * np.nan)
    with pytest.raises(ValueError, match="needs targets"):
        make_curator(X, bounds=RowBounds(l2=1)).gradient(LogisticLoss(), np.zeros(4))


def test_objectives_and_second_moments() -> None:
    values = np.minimum(LogisticLoss().value(np.outer(ROWS @ THETA, [0.0, 1.0]), SIGNS[:, None]), 1.2) * W[:, None]
    got = curator().objective(LogisticLoss(), np.outer([0.0, 1.0], THETA), clip=1.2)
    np.testing.assert_allclose(real(got), values.sum(axis=0), atol=0.2)
    i = np.triu_indices(P + 1)
    np.testing.assert_allclose(real(curator().second_moments()), ((ROWS.T * W) @ ROWS)[i], atol=0.5)
    bend = LogisticLoss().curvature(ROWS @ THETA, SIGNS) * W
    got = curator().second_moments(LogisticLoss(), THETA)
    np.testing.assert_allclose(real(got), ((ROWS.T * bend) @ ROWS)[i], atol=0.5)
    assert float(got.sensitivity("l2") * got.unit) == pytest.approx(2 * 0.25 * 10, rel=1e-3)
    with pytest.raises(ValueError, match="both"):
        curator().second_moments(LogisticLoss())
    with pytest.raises(ValueError, match="clip="):
        curator().objective(LogisticLoss(), np.zeros((1, 5)), clip=np.inf)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, lambda X: [(X[:9], SIGNS[:9]), (X[9:], SIGNS[9:])]])
def test_a_moved_cursor_stands_where_a_new_one_would(form: Any) -> None:
    y = None if callable(form) and isinstance(form(X), list) else SIGNS
    c = make_curator(form(X), y, bounds=RowBounds(l2=3.0, intercept=1.0))
    cursor = c.cursor(LogisticLoss(), THETA)
    rng = np.random.default_rng(1)
    for _ in range(60):
        added = cursor.move(int(rng.integers(5)), float(rng.normal() * 10.0 ** rng.integers(-6, 2)))
        assert isinstance(added, float)
    whole = unseal(c.gradient(LogisticLoss(), cursor.weights))
    assert [int(unseal(cursor.partial(j))[0]) for j in range(5)] == whole.tolist()
    cursor.move(0, 1e9)  # beyond the grid: it starts on a coarser one
    assert [int(unseal(cursor.partial(j))[0]) for j in range(5)] == unseal(
        c.gradient(LogisticLoss(), cursor.weights)
    ).tolist()
    with pytest.raises(IndexError):
        cursor.partial(5)
    with pytest.raises(ValueError, match="finite"):
        cursor.move(0, np.inf)


def test_a_cursor_of_several_outputs() -> None:
    c = curator(CLASSES)
    cursor = c.cursor(SoftmaxLoss(3), np.zeros((3, 5)))
    cursor.move(7, 0.5)
    assert cursor.weights[1, 2] == 0.5
    whole = unseal(c.gradient(SoftmaxLoss(3), cursor.weights, Clip(0.5)))
    assert [int(unseal(cursor.partial(j, Clip(0.5)))[0]) for j in range(15)] == whole.tolist()


def test_histograms_count_rows_of_positive_weight() -> None:
    w = np.where(np.arange(N) % 3 == 0, 0.0, 1.0)
    survey = make_survey(X, CLASSES, sample_weight=w)
    live = X[w > 0]
    assert unseal(survey.count()).tolist() == [len(live)]
    edges = [0.2, 0.5]
    norms = np.linalg.norm(live, axis=1)
    assert unseal(survey.norm_histogram(edges)).tolist() == np.histogram(norms, [-1, *edges, 99])[0].tolist()
    got = unseal(survey.column_histogram([0.0, 0.3])).reshape(P, 3)
    assert got[2].tolist() == np.histogram(live[:, 2], [-99, 0.0, 0.3, 99])[0].tolist()
    counts = unseal(survey.label_histogram([2, 0])).tolist()
    assert counts == [(CLASSES[w > 0] == k).sum() for k in (2, 0)]
    inside = make_curator(X, bounds=RowBounds(l2=9.0), sample_weight=w).norm_histogram(edges)
    assert unseal(inside).tolist() == np.histogram(norms, [-1, *edges, 99])[0].tolist()


def test_presence_counts_documents() -> None:
    rows = sp.csr_array(np.array([[1, 0, 2.0], [0, 0, 3], [0, 0, 0], [1, 1, 1]]))
    assert real(make_survey(rows).column_presence(cap=3)).tolist() == [2, 1, 3]
    got = real(make_survey(rows).column_presence(cap=1))
    np.testing.assert_allclose(got, [np.sqrt(1 / 2) + np.sqrt(1 / 3), np.sqrt(1 / 3), 1 + 0.7071 + 0.5774], atol=0.01)


@pytest.mark.parametrize("edges", [[], [1.0, 1.0], [2.0, 1.0], [np.nan], [[1.0]]])
def test_edges_must_rise(edges: Any) -> None:
    with pytest.raises(ValueError, match="rising"):
        make_survey(X).norm_histogram(edges)


def test_rows_stay_where_they_are() -> None:
    for keeper in (curator(), make_survey(X), curator().cursor(LogisticLoss(), THETA)):
        for leave in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(PrivacyError):
                leave(keeper)
        assert "withheld" in repr(keeper)


def test_n_is_public_or_not() -> None:
    assert curator().n_rows == N
    assert make_survey(X).n_rows == N
    for private in (curator(neighbors="add_remove"), make_survey(X, neighbors="add_remove")):
        with pytest.raises(PrivacyError, match="noisy count"):
            _ = private.n_rows
    with pytest.raises(ValueError, match="n_threads"):
        curator(n_threads=0)
