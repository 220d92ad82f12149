"""Charged scores: values, errors and intervals, prices, and what is refused.

Seeds are fixed; each statistical test states its false-alarm rate for a fresh seed.
"""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn import metrics as plain
from sklearn.linear_model import LogisticRegression as Plain
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from discreet import LinearRegression, LogisticRegression, PoissonRegressor, accounting, metrics
from discreet.metrics.ranking import area
from discreet.metrics.rowwise import TILE, answers
from discreet.privacy import Neighbours, PrivacyError
from discreet.testing import without_privacy

RELATIONS = ["zero_out", "replace_one", "add_remove"]
rng = np.random.default_rng(11)
N = 6000
Y = (rng.random(N) < 0.3).astype(int)
SCORES = 1.2 * Y + rng.normal(size=N)
PROBA = 1 / (1 + np.exp(-(1.2 * SCORES - 1.6)))
LABELS = (PROBA > 0.5).astype(int)
T = rng.normal(2.0, 1.0, N)
FIT = T + rng.normal(0, 0.5, N)
RANGE = (-3.0, 7.0)
WEIGHTS = rng.uniform(0.2, 1.0, N)

CASES = {
    "accuracy": (lambda **k: metrics.accuracy(LABELS, Y, **k), plain.accuracy_score, (Y, LABELS)),
    "log_loss": (lambda **k: metrics.log_loss(PROBA, Y, **k), plain.log_loss, (Y, PROBA)),
    "auc": (lambda **k: metrics.auc(SCORES, Y, **k), plain.roc_auc_score, (Y, SCORES)),
    "mse": (
        lambda **k: metrics.mean_squared_error(FIT, T, bounds_y=RANGE, clip=2.5, **k),
        plain.mean_squared_error,
        (T, FIT),
    ),
    "r2": (lambda **k: metrics.r2(FIT, T, bounds_y=RANGE, clip=2.5, **k), plain.r2_score, (T, FIT)),
}
SMALL = {"accuracy": 1e-9, "log_loss": 2e-5, "auc": 2e-3, "mse": 1e-4, "r2": 1e-4}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_without_noise_the_score_is_the_plain_one(name, weighted) -> None:
    """Up to grids, the clip, and (AUC) ties within a bin."""
    function, truth, data = CASES[name]
    weight = {"sample_weight": WEIGHTS} if weighted else {}
    with without_privacy():
        found = function(**weight)
    assert found.value == pytest.approx(truth(*data, **weight), abs=SMALL[name] + (1e-3 if weighted else 0))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("delta", ["auto", 1e-6])
@pytest.mark.parametrize("weighted", [False, True])
def test_noisy_scores_are_near_and_keep_their_budget(name, neighbors, delta, weighted) -> None:
    """Within six of its noises of the plain score (at most 2e-4 for a case: Laplace tails); price within epsilon."""
    function, truth, data = CASES[name]
    more = {"sample_weight": WEIGHTS} if weighted else {}
    found = function(epsilon=2.0, delta=delta, neighbors=neighbors, random_state=5, **more)
    assert abs(found.value - truth(*data, **more)) < 6 * found.noise + SMALL[name]
    assert 0 < found.noise < found.standard_error < 0.5
    budget = found.privacy.budget
    assert accounting.epsilon(found.event, budget.delta) <= 2.0 * (1 + 1e-9)
    assert budget.delta == (0 if delta == "auto" else 1e-6)
    assert ("number of rows: paid" in str(found.privacy)) == (neighbors == "add_remove" and not weighted)
    low, high = found.interval()
    assert low < found.value < high
    assert float(found) == found.value


@pytest.mark.parametrize("name", CASES)
def test_noise_is_as_large_as_it_says_and_centred(name) -> None:
    """Over 300 seeds: mean within 4.5 errors of the noise-free value (7e-6), deviation within a fifth of the stated one
    (relative error of a deviation of 300 draws with kurtosis 6: about 6.5 %; three of those)."""
    function, _, _ = CASES[name]
    more = {"bounds": (-4, 6), "bins": 24} if name == "auc" else {}
    with without_privacy():
        exact = function(epsilon=1.0, **more).value
    found = [function(epsilon=1.0, random_state=s, **more) for s in range(300)]
    values, said = np.array([f.value for f in found]), np.mean([f.noise for f in found])
    assert abs(values.mean() - exact) < 4.5 * said / math.sqrt(300)
    assert abs(values.std() / said - 1) < 0.2


def population(random, n):
    """Labels, scores and probabilities of a known law."""
    y = (random.random(n) < 0.4).astype(int)
    s = 1.2 * y + random.normal(size=n)
    return y, s, 1 / (1 + np.exp(-(1.2 * s - 1.1)))


def one_score(name, random, **options):
    """The score of a fresh test set of 2500 rows."""
    if name == "r2":
        t = random.normal(size=2500)
        return metrics.r2(t + random.normal(0, math.sqrt(0.2), 2500), t, bounds_y=(-5, 5), clip=2, **options)
    y, s, p = population(random, 2500)
    if name == "auc":
        return metrics.auc(s, y, bounds=(-4, 5), **options)
    return metrics.log_loss(p, y, **options) if name == "log_loss" else metrics.accuracy(p > 0.5, y == 1, **options)


@pytest.mark.parametrize("name", ["accuracy", "auc", "r2", "log_loss"])
@pytest.mark.parametrize("neighbors", ["zero_out", "add_remove"])
def test_intervals_cover_the_population(name, neighbors) -> None:
    """95 % intervals over 300 fresh test sets cover at least 92 % of the time (at a true 95 % less happens once in 100
    runs), and unless their spread was bought, which errs on the wide side, at most 98 % (once in 300)."""
    random = np.random.default_rng(3)
    y, s, p = population(random, 2_000_000)
    truth = {
        "accuracy": lambda: np.mean((p > 0.5) == y),
        "auc": lambda: plain.roc_auc_score(y, s),
        "log_loss": lambda: plain.log_loss(y, p),
        "r2": lambda: 0.8,
    }[name]()
    covered = 0
    for seed in range(300):
        low, high = one_score(name, random, epsilon=1.0, neighbors=neighbors, random_state=seed).interval()
        covered += low <= truth <= high
    assert 0.92 <= covered / 300 <= (0.98 if name in ("accuracy", "auc") else 1.0)


def test_ties_count_half() -> None:
    assert area(np.array([5.0]), np.array([7.0]), 0.0)[0] == 0.5
    with without_privacy():
        assert metrics.auc([1, 1, 1, 1], [0, 1, 0, 1], bounds=(0, 2)).value == 0.5
        assert metrics.auc([0, 3, 1, 2], [0, 1, 0, 1], bounds=(0, 3), bins=30).value == 1.0


def test_more_privacy_more_noise() -> None:
    tight, loose = (metrics.accuracy(LABELS, Y, epsilon=e).noise for e in (0.1, 1.0))
    assert tight == pytest.approx(10 * loose, rel=1e-3)
    halved = metrics.accuracy(LABELS, Y, neighbors="replace_one").noise
    assert halved == pytest.approx(2 * loose, rel=1e-3)


def test_seeds_are_stamped() -> None:
    found = metrics.auc(SCORES, Y, random_state=3)
    assert found.privacy.seeded
    assert found.privacy.epsilon == math.inf
    assert "NOT PRIVATE: seeded" in str(found)
    assert found.value == metrics.auc(SCORES, Y, random_state=3).value
    assert metrics.auc(SCORES, Y).privacy.epsilon == 1.0


X = rng.uniform(-1, 1, (1500, 4))
CLASSES = np.where(X[:, 0] + 0.3 * rng.normal(size=1500) > 0, "yes", "no")
THREE = np.digitize(X[:, 0], [-0.3, 0.3])


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_models_of_every_kind(neighbors) -> None:
    options = {"neighbors": neighbors, "epsilon": 20.0, "random_state": 1}
    ours = LogisticRegression(epsilon=5, bounds=(-1, 1), random_state=0).fit(X, CLASSES)
    pipe = make_pipeline(FunctionTransformer(), ours)
    theirs = Plain().fit(X, CLASSES)
    for model in (ours, pipe, theirs):
        assert metrics.accuracy(model, X, CLASSES, **options).value == pytest.approx(model.score(X, CLASSES), abs=0.02)
        auc = plain.roc_auc_score(CLASSES == "yes", model.decision_function(X))
        assert metrics.auc(model, X, CLASSES, **options).value == pytest.approx(auc, abs=0.02)
        loss = plain.log_loss(CLASSES, model.predict_proba(X))
        assert metrics.log_loss(model, X, CLASSES, **options).value == pytest.approx(loss, abs=0.03)
    many = LogisticRegression(epsilon=5, bounds=(-1, 1), random_state=0).fit(X, THREE)
    assert metrics.accuracy(many, X, THREE, **options).value == pytest.approx(many.score(X, THREE), abs=0.02)
    assert metrics.log_loss(many, X, THREE, **options).value < 1.2


def test_answers_depend_on_their_own_row_alone() -> None:
    """Whatever rows are there beside it, and in whatever storage, a row's margin has the same bits."""
    p = 37
    wide = rng.normal(size=(2 * TILE + 5, p)) * np.exp(rng.normal(0, 3, p))
    y = wide @ rng.normal(size=p)
    for model, method in (
        (LinearRegression(epsilon=9, bounds=(-40, 40), bounds_y=(-90, 90), random_state=0), "predict"),
        (PoissonRegressor(epsilon=9, bounds=(-40, 40), bounds_y=(0, 9), random_state=0), "predict"),
        (LogisticRegression(epsilon=9, bounds=(-40, 40), random_state=0), "predict_proba"),
    ):
        target = y if isinstance(model, LinearRegression) else (y > 0).astype(int)
        model.fit(wide, target)
        for form in (np.asarray, np.asfortranarray, sparse.csr_array):
            whole = answers(model, form(wide), method, Neighbours.ADD_REMOVE)
            for places in (np.arange(1, len(wide)), rng.permutation(len(wide)), np.array([7])):
                part = answers(model, form(wide[places]), method, Neighbours.ADD_REMOVE)
                assert np.array_equal(part, whole[places])
        assert np.allclose(whole, getattr(model, method)(wide))


def test_private_ranges_are_paid() -> None:
    found = metrics.r2(FIT, T, epsilon=4.0, random_state=2)
    assert "range of the target: paid" in str(found.privacy)
    assert found.value == pytest.approx(plain.r2_score(T, FIT), abs=6 * found.noise + 0.02)
    assert "range of the scores: paid" in str(metrics.auc(SCORES, Y).privacy)
    assert "range of the scores: public" in str(metrics.auc(SCORES, Y, bounds=(0, 1)).privacy)


def test_what_the_model_never_saw() -> None:
    """Labels beyond the classes, probabilities of zero: they count as wrong, and as the clip."""
    with without_privacy():
        assert metrics.accuracy(["a", "b"], ["a", "zebra"]).value == 0.5
        assert metrics.log_loss([0.0, 1.0], [1, 7], clip=3.0).value == pytest.approx(3.0, abs=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda y: metrics.accuracy(LABELS, y, epsilon=0), "epsilon=0 must be positive"),
        (lambda y: metrics.accuracy(LABELS, y, epsilon="1"), "must be a number"),
        (lambda y: metrics.accuracy(LABELS, y, delta=1.0), "delta=1.0"),
        (lambda y: metrics.accuracy(LABELS, y, delta=0.5), "above one"),
        (lambda y: metrics.accuracy(LABELS, y, neighbors="twin"), "neighbouring relation"),
        (lambda y: metrics.accuracy(LABELS, y, random_state="x"), "random_state"),
        (lambda y: metrics.accuracy(LABELS, y, sample_weight=WEIGHTS, weight_cap=0), "weight_cap=0"),
        (lambda y: metrics.log_loss(PROBA, y, clip=0.0), "clip=0.0"),
        (lambda y: metrics.auc(SCORES, y, bounds=(1, 1)), "low below high"),
        (lambda y: metrics.auc(SCORES, y, bins=1), "bins=1"),
        (lambda y: metrics.r2(FIT, y, bounds_y="wide"), "bounds_y='wide'"),
        (lambda y: metrics.mean_squared_error(FIT, y, clip=-1), "clip=-1"),
    ],
)
def test_refusals(call, message) -> None:
    with pytest.raises((ValueError, TypeError, PrivacyError), match=message):
        call(Y)


def test_errors_quote_no_value() -> None:
    secret = np.array([1.0, 2.0, "hunter2"], dtype=object)
    holes = [1.0, np.nan, 77.25]
    for call in (lambda: metrics.r2([1.0, 2.0, 3.0], secret), lambda: metrics.r2(holes, [1.0, 2.0, 77.25])):
        with pytest.raises(ValueError, match=r"numbers|entries") as error:
            call()
        assert "hunter2" not in str(error.value)
        assert "77.25" not in str(error.value)


def test_scorers_spend_one_account() -> None:
    """PITFALLS 23: no copy of the account, no call beyond it, and shares that add up to the whole."""
    model = LogisticRegression(epsilon=5, bounds=(-1, 1), random_state=0)
    scorer = metrics.make_scorer("accuracy", epsilon=3.0, calls=3, random_state=1)
    assert cross_val_score(model, X, CLASSES, cv=3, scoring=scorer).mean() > 0.8
    assert scorer.left == 0
    assert sum(accounting.epsilon(s.event, 0.0) for s in scorer.scores) <= 3.0
    with pytest.raises(PrivacyError, match="all 3 calls"):
        scorer(model.fit(X, CLASSES), X, CLASSES)
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(PrivacyError, match="can't be copied"):
            duplicate(scorer)
    failing = metrics.make_scorer("accuracy", calls=1)
    with pytest.raises(ValueError, match="one entry"):
        failing(model, X, CLASSES[:5])
    assert failing.left == 0
    loss = metrics.make_scorer("log_loss", epsilon=10.0, random_state=0)
    assert loss(model, X, CLASSES) < 0
    for bad in ({"metric": "f1"}, {"metric": "auc", "calls": 0}):
        with pytest.raises(ValueError, match=r"is not one of|calls=0"):
            metrics.make_scorer(**bad)
