"""The search: planned prices, what is released, what is refused, and broken twins that must be caught."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

import discreet
from discreet import L2, L1Ball, LinearRegression, LinearSVC, LogisticRegression, accounting, metrics
from discreet.accounting.events import PureDpEvent, leaves
from discreet.accounting.repeats import promise_of
from discreet.audit.distinguishing import distinguish
from discreet.model_selection import PrivateSearchCV, methods
from discreet.model_selection.candidates import check_search
from discreet.model_selection.methods import Rows, _sealed, number_of_runs, plan_for
from discreet.privacy import Budget, Neighbours, PrivacyError
from discreet.randomness import SeededSource, system
from tests.accounting.test_repeats import law
from tests.planted import search as planted

RELATIONS = ["zero_out", "replace_one", "add_remove"]
METHODS = ["ladder", "repeat_and_select"]
rng = np.random.default_rng(4)
X = rng.uniform(-1, 1, (3000, 3))
Y = np.where(X[:, 0] + 0.4 * rng.normal(size=3000) > 0, "yes", "no")
T = X @ [1.0, -0.5, 0.2] + 0.1 * rng.normal(size=3000)
GRID = {"penalty": [L2(1.0), L2(1e6)]}  # the second one pulls every weight to zero
MODEL = LogisticRegression(bounds=(-1, 1))
LINE = LinearRegression(bounds=(-1, 1), bounds_y=(-2, 2))


def plan_of(search, budget=None):
    return plan_for(search, check_search(search), budget or Budget(search.epsilon, 1e-6))


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("refit", [False, 0.4])
def test_the_better_candidate_wins_and_says_what_it_all_cost(neighbors, method, refit) -> None:
    """Log-losses of 0.4 and 0.69 on 600 rows, where scores have noise of a few rows; that all of the runs (geometric,
    30 on average) are of the bad candidate happens to a fresh seed once in 30 times."""
    search = PrivateSearchCV(
        MODEL, GRID, epsilon=4.0, neighbors=neighbors, method=method, scoring="log_loss", refit=refit, repeats=30,
        shape=1.0, random_state=2,
    )  # fmt: skip
    search.fit(X, Y)
    assert search.best_params_ == {"penalty": L2(1.0)}
    assert search.best_index_ == 0
    assert metrics.accuracy(search, X, Y, epsilon=20).value > 0.8
    assert search.score(X, Y) > 0.8
    assert search.privacy_.planned_epsilon <= 4.0
    assert search.privacy_.epsilon == math.inf
    assert search.best_estimator_.privacy_ is search.privacy_
    assert search.best_estimator_.dp_event_ == search.dp_event_
    parts = [promise_of(leaf) for leaf, _ in leaves(search.dp_event_.event)]
    assert sum(e for e, _ in parts) <= 4.0 * (1 + 1e-12)
    assert sum(d for _, d in parts) <= search.privacy_.delta * (1 + 1e-12)
    # the accountant's grid rounds two composed promises up by less than a thousandth
    assert accounting.epsilon(search.dp_event_.event, search.privacy_.delta) <= 4.004
    assert (refit is not False) == ("a new fit on all rows: paid" in str(search.privacy_))
    assert list(search.classes_) == ["no", "yes"]
    assert search.n_features_in_ == 3
    assert search.predict_proba(X).shape == (3000, 2)
    assert hasattr(search, "best_score_") == (method == "repeat_and_select" and neighbors != "add_remove")


@pytest.mark.parametrize("method", METHODS)
def test_regressors(method) -> None:
    search = PrivateSearchCV(LINE, {"penalty": [None, L1Ball(1e-3)]}, epsilon=4.0, method=method, random_state=1)
    search.fit(X, T)
    assert search.best_params_ == {"penalty": None}
    assert search.score(X, T) > 0.7
    if method == "repeat_and_select":
        assert -0.2 < search.best_score_ < 0.1
    assert not hasattr(search, "predict_proba")


def test_auc_and_accuracy_as_scores() -> None:
    grid = {"bounds": [(-1, 1), (0.98, 1.0)], "fit_intercept": [True, False]}  # the second bounds leave no signal
    for scoring in ("auc", "accuracy"):
        search = PrivateSearchCV(MODEL, grid, epsilon=6.0, scoring=scoring, repeats=30, random_state=5).fit(X, Y)
        assert search.best_params_["bounds"] == (-1, 1)
        assert 0.7 < search.best_score_ < 1.1
        assert "repeat_and_select" in search.privacy_.solver


def test_nothing_but_the_winner_is_kept() -> None:
    """No scores of losers, no number of runs (PITFALLS 27): attributes are the settings, the winner and its score."""
    kept = {}
    for seed in (1, 2):
        search = PrivateSearchCV(MODEL, GRID, epsilon=4.0, method="repeat_and_select", random_state=seed).fit(X, Y)
        assert set(search.cv_results_) == {"params"}
        kept[seed] = {k for k in vars(search) if k.endswith("_")}
        text = str(search.privacy_)
        assert "the number stays secret" in text
    assert kept[1] == kept[2]
    assert kept[1] == {
        "best_index_", "best_params_", "cv_results_", "best_score_", "privacy_", "dp_event_", "best_estimator_",
    }  # fmt: skip


def test_seeds_repeat_and_none_does_not() -> None:
    search = PrivateSearchCV(MODEL, GRID, epsilon=2.0, random_state=7)
    first, second = (clone(search).fit(X, Y).best_estimator_.coef_ for _ in range(2))
    assert np.array_equal(first, second)
    fresh = [PrivateSearchCV(MODEL, GRID, epsilon=2.0).fit(X, Y) for _ in range(2)]
    assert not np.array_equal(fresh[0].best_estimator_.coef_, fresh[1].best_estimator_.coef_)
    assert fresh[0].privacy_.epsilon <= 2.0
    assert not fresh[0].privacy_.seeded


def test_clone_pickle_and_pipelines() -> None:
    pipe = make_pipeline(FunctionTransformer(), Normalizer(), LogisticRegression(bounds="unit"))
    grid = {"logisticregression__penalty": [L2(1.0), L2(1e6)], "normalizer__norm": ["l2", "max"]}
    search = PrivateSearchCV(pipe, grid, epsilon=5.0, random_state=0)
    assert clone(search).get_params()["estimator__logisticregression__bounds"] == "unit"
    fitted = pickle.loads(pickle.dumps(search.fit(X, Y)))
    assert np.array_equal(fitted.predict(X), search.predict(X))
    assert fitted.privacy_.planned_epsilon <= 5.0
    assert search.best_estimator_[-1].privacy_ is search.privacy_
    assert is_classifier(search)
    assert is_regressor(PrivateSearchCV(LINE, {"penalty": [None]}))
    assert metrics.accuracy(search, X, Y, epsilon=9).value > 0.6


def test_sparse_rows_and_small_grids() -> None:
    search = PrivateSearchCV(LinearSVC(bounds=(-1, 1)), {"penalty": [None]}, epsilon=5.0, random_state=0)
    search.fit(sparse.csr_array(X), Y)
    assert search.best_index_ == 0
    assert search.privacy_.solver == "search: ladder"


@pytest.mark.parametrize("settings", [1, 3, 4, 8])
def test_auto_takes_what_leaves_fits_more(settings) -> None:
    grid = {"penalty": [L2(float(a + 1)) for a in range(settings)]}
    plans = {m: plan_of(PrivateSearchCV(MODEL, grid, method=m)) for m in ("auto", *METHODS)}
    best = max(plans[m].each.epsilon for m in METHODS)
    assert plans["auto"].each.epsilon >= best * (1 - 1e-4)
    assert plans["auto"].method == ("ladder" if settings <= 3 else "repeat_and_select")
    for plan in plans.values():
        assert accounting.epsilon(plan.event, 1e-6) <= 1.0 * (1 + 1e-6)
        assert plan.choice <= 1.0
    assert settings * plans["ladder"].each.epsilon <= 1.0
    assert settings * plans["ladder"].each.delta <= 1e-6


def test_pure_budgets() -> None:
    search = PrivateSearchCV(MODEL, {"penalty": [L2(1.0)] * 3}, epsilon=2.0, delta=0)
    plan = plan_of(search, Budget(2.0))
    assert plan.each.is_pure
    assert accounting.epsilon(plan.event, 0.0) <= 2.0
    assert search.fit(X, Y).privacy_.delta == 0


def test_rows_train_or_score() -> None:
    """By place, evenly; under add/remove by coins of the source (600 of 3000 at a rate of one fifth: within 130, six
    deviations)."""
    numbered = np.arange(3000.0)[:, None]
    for relation in RELATIONS:
        split = Rows(numbered, numbered[:, 0], Neighbours.of(relation)).split(Fraction(1, 5), SeededSource(1))
        both = np.concatenate([split.y, split.y_scored])
        assert np.array_equal(np.sort(both), numbered[:, 0])
        assert np.array_equal(split.X[:, 0], split.y)
        assert abs(split.y_scored.size - 600) <= (0 if relation != "add_remove" else 130)
        if relation != "add_remove":
            assert np.array_equal(split.y_scored, np.arange(4, 3000, 5))


def test_one_row_moves_scores_by_at_most_one() -> None:
    """The range that the choice is charged for, in units of a row's score: 1, or 2 for a replaced row."""
    for relation in RELATIONS:
        sealed = _sealed(rng.uniform(size=(50, 4)), Neighbours.of(relation))
        assert float(sealed.sensitivity("range") * sealed.unit) / 2 == (2 if relation == "replace_one" else 1)


@pytest.mark.parametrize(("gamma", "shape"), [(0.3, 0.0), (0.3, 1.0), (0.2, 0.5), (0.1, -0.5)])
def test_numbers_of_runs_have_the_law(gamma, shape) -> None:
    """Chi-square over 3000 draws; a fresh seed fails once in 10,000 runs."""
    source = SeededSource(9)
    draws = np.array([number_of_runs(Fraction(gamma), Fraction(shape), source) for _ in range(3000)])
    expected = law(gamma, shape) * 3000
    last = int(np.flatnonzero(expected > 8)[-1])
    counts = np.bincount(draws, minlength=last + 2)[1:]
    seen, wanted = np.append(counts[:last], counts[last:].sum()), np.append(expected[:last], expected[last:].sum())
    assert stats.chisquare(seen, wanted).pvalue > 1e-4


UNREAD = object()  # has no rows at all: whoever looks at it fails otherwise than by a refusal


@pytest.mark.parametrize(
    ("search", "message"),
    [
        (PrivateSearchCV(MODEL, GRID, epsilon=0), "epsilon=0 must be positive"),
        (PrivateSearchCV(MODEL, GRID, delta=1), "delta=1"),
        (PrivateSearchCV(MODEL, GRID, neighbors="twin"), "neighbouring relation"),
        (PrivateSearchCV(MODEL, GRID, method="grid"), "method='grid'"),
        (PrivateSearchCV(MODEL, GRID, scoring="f1"), "scoring='f1'"),
        (PrivateSearchCV(MODEL, GRID, scoring="auc", method="ladder"), "no sum over rows"),
        (PrivateSearchCV(LinearSVC(), GRID, scoring="log_loss"), "needs probabilities"),
        (PrivateSearchCV(LinearRegression(), GRID), "give the estimator bounds_y"),
        (PrivateSearchCV(MODEL, GRID, validation=0), "validation=0"),
        (PrivateSearchCV(MODEL, GRID, clip=0), "clip=0"),
        (PrivateSearchCV(MODEL, GRID, repeats=0.5), "repeats=0.5"),
        (PrivateSearchCV(MODEL, GRID, shape=-1), "shape=-1"),
        (PrivateSearchCV(MODEL, GRID, refit=True), "a refit is never free"),
        (PrivateSearchCV(MODEL, {"epsilon": [1, 2]}), "'epsilon' is no setting"),
        (PrivateSearchCV(make_pipeline(MODEL), {"logisticregression__delta": [0]}), "is no setting"),
        (PrivateSearchCV(make_pipeline(StandardScaler(), MODEL), GRID), "learns from the rows"),
        (PrivateSearchCV(MODEL, {"penalty": []}), "[Nn]on-empty|empty|no candidate"),
        (PrivateSearchCV(StandardScaler(), GRID), "must be a private model"),
        (PrivateSearchCV(LogisticRegression(warm_start=True), GRID), "warm_start"),
        (PrivateSearchCV(MODEL, GRID, random_state="x"), "random_state"),
    ],
)
def test_refusals_come_before_any_row(search, message) -> None:
    with pytest.raises((ValueError, TypeError, PrivacyError), match=message):
        search.fit(UNREAD, UNREAD)


def test_missing_values_are_refused_before_any_fit(monkeypatch) -> None:
    fits = []
    monkeypatch.setattr(LogisticRegression, "fit", lambda self, X, y: fits.append(1) or self)
    holes = X.copy()
    holes[4, 0] = np.nan  # a row that scores
    with pytest.raises(ValueError, match="NaN"):
        PrivateSearchCV(MODEL, GRID).fit(holes, Y)
    with pytest.raises(ValueError, match="y holds missing"):
        PrivateSearchCV(LINE, {"penalty": [None]}).fit(X, np.where(np.arange(3000) == 4, np.nan, T))
    assert not fits


def test_the_label_set_is_said_to_be_as_seen() -> None:
    said = str(PrivateSearchCV(MODEL, GRID, epsilon=3.0).fit(X, Y).privacy_)
    assert "label set: public (declared public as seen in the data)" in said
    given = LogisticRegression(bounds=(-1, 1), classes=["no", "yes"])
    assert "label set: public (given)" in str(PrivateSearchCV(given, GRID, epsilon=3.0).fit(X, Y).privacy_)


def test_every_candidate_is_checked_before_any_is_fitted(monkeypatch) -> None:
    fits = []
    monkeypatch.setattr(LogisticRegression, "fit", lambda self, X, y: fits.append(1) or self)
    search = PrivateSearchCV(MODEL, {"max_iter": ["auto", -3]})
    with pytest.raises(ValueError, match="max_iter=-3"):
        search.fit(X, Y)
    assert not fits


def test_scikit_learn_s_own_search_spends_each_fit_s_epsilon() -> None:
    """What the page says of it: every fit and every fold has its own price, and clones are unfitted."""
    inner = GridSearchCV(LogisticRegression(bounds=(-1, 1), epsilon=1.0), GRID, cv=2).fit(X, Y)
    assert inner.best_estimator_.privacy_.epsilon <= 1.0  # of the last of five fits
    assert not hasattr(clone(inner.best_estimator_), "privacy_")
    twin = copy.deepcopy(inner.best_estimator_)
    assert twin.privacy_.epsilon == inner.best_estimator_.privacy_.epsilon


# broken twins --------------------------------------------------------------------------------------------------------
def test_the_winner_s_price_is_not_the_search_s() -> None:
    """PITFALLS 23: what the released model says is the price of the search, whatever the number of settings."""
    grid = {"penalty": [L2(float(a + 1)) for a in range(40)]}
    plan = plan_of(PrivateSearchCV(MODEL, grid))
    honest, wrong = (accounting.epsilon(e, 1e-6) for e in (plan.event, planted.winners_price(plan)))
    assert wrong < 0.6 * honest
    search = PrivateSearchCV(MODEL, GRID, epsilon=2.0).fit(X, Y)
    own = plan_of(PrivateSearchCV(MODEL, GRID, epsilon=2.0)).each.epsilon
    for statement in (search.privacy_, search.best_estimator_.privacy_):
        assert statement.epsilon > 1.9 * own


def test_fits_never_get_more_than_the_budget() -> None:
    """PITFALLS 21: the twin's budgets add up to forty times the whole, ours don't."""
    budget, settings = Budget(1.0, 1e-6), 40
    broken = planted.full_budget_in_each_fit(budget, settings)
    assert sum(b.epsilon for b in broken) == 40
    search = PrivateSearchCV(MODEL, {"penalty": [L2(float(a + 1)) for a in range(settings)]}, method="ladder")
    assert plan_of(search).each.epsilon * settings <= 1.0


def test_parallel_prices_need_disjoint_rows() -> None:
    search = PrivateSearchCV(MODEL, GRID, delta=0)
    plan = plan_of(search, Budget(1.0))
    assert accounting.epsilon(planted.choice_on_the_same_rows(plan), 0.0) > 1.9 * accounting.epsilon(plan.event, 0.0)


def test_the_auditor_catches_a_fixed_number_of_runs_and_spares_a_random_one() -> None:
    """The best of 400 scores, each of epsilon one half, at the price (one) of a random number of runs; and the best of
    a number drawn by the law.  A sound twin is caught with probability at most 5 %; seeds are fixed."""
    times, epsilon = 20_000, 0.5
    plan = plan_of(PrivateSearchCV(MODEL, {"penalty": [L2(float(a + 1)) for a in range(4)]}, shape=0.0), Budget(1.0))
    assert plan.each.epsilon == pytest.approx(epsilon)
    promised = accounting.epsilon(planted.fixed_number_of_runs(plan), 0.0)
    source = SeededSource(3)
    drawn = np.array([number_of_runs(Fraction(plan.gamma), Fraction(plan.shape), source) for _ in range(2000)])
    random = np.random.default_rng(8)
    verdicts = {}
    for name, runs in (("fixed", np.full(times, 400)), ("random", random.choice(drawn, times))):
        there, gone = (planted.best_score(side, times, random, epsilon, runs) for side in (True, False))
        verdicts[name] = distinguish(there, gone, promised, 0.0)
    assert verdicts["fixed"].caught, str(verdicts["fixed"])
    assert not verdicts["random"].caught, str(verdicts["random"])
    assert planted.fixed_number_of_runs(plan).pure() == pytest.approx(promised)


class Stub:
    """Candidates that are known beforehand: only the choice is left to chance."""

    def fitted(self, index, *_):
        return index


def choices(plan, there, times, monkeypatch):
    """What the ladder's own code chooses; the last row, if it is there, likes the first candidate and no other."""
    labels = np.r_[np.zeros(9), 1.0 if there else 0.0]
    monkeypatch.setattr(methods, "row_values", lambda *a: labels if a[2] == 0 else np.zeros(10))
    split = methods.Split(np.zeros((0, 1)), np.zeros(0), np.zeros((10, 1)), labels, Neighbours.REPLACE_ONE)
    return np.array([[float(methods.ladder(plan, Stub(), split, system()).index)] for _ in range(times)])


def test_the_auditor_catches_a_choice_without_noise_and_spares_ours(monkeypatch) -> None:
    """Fixed sizes, fresh noise: a sound twin is caught with probability at most 1e-4, the broken one always."""
    plan = plan_of(PrivateSearchCV(MODEL, GRID, method="ladder", neighbors="replace_one"), Budget(1.0))
    verdicts = []
    for one in (plan, replace(plan, choice=30.0)):
        sides = [choices(one, there, 1500, monkeypatch) for there in (True, False)]
        verdicts.append(distinguish(*sides, 1.0, 0.0, 0.9999))
    assert not verdicts[0].caught, str(verdicts[0])
    assert verdicts[1].caught, str(verdicts[1])


def released(X, y, **options):
    """Everything that a search gives away, as numbers."""
    model = LogisticRegression(bounds="unit", classes=[0, 1])
    search = PrivateSearchCV(model, {"penalty": [L2(1.0), L2(5.0)]}, delta=1e-3, repeats=6, **options).fit(X, y)
    score = getattr(search, "best_score_", 0.0)
    return [*search.best_estimator_.coef_.ravel(), *search.best_estimator_.intercept_, search.best_index_, score]


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("place", [0, 4])
def test_the_whole_search_survives_the_auditor(method, place) -> None:
    """Ten rows, of which the one that differs trains (place 0) or scores (place 4); all that is released is attacked.
    Fresh noise: a sound search is caught with probability at most 1e-3."""
    rows, labels = np.tile([1.0, 0.0], (10, 1)), np.ones(10, dtype=int)
    sides = []
    for value in (1, 0):
        changed, other = rows.copy(), labels.copy()
        other[place] = value
        changed[place] *= 1 if value else -1
        options = {"method": method, "neighbors": "replace_one", "epsilon": 1.0}
        sides.append(np.array([released(changed, other, **options) for _ in range(250)]))
    verdict = distinguish(*sides, 1.0, 1e-3, 0.999)
    assert not verdict.caught, str(verdict)


def test_the_public_name() -> None:
    assert discreet.model_selection.PrivateSearchCV is PrivateSearchCV
    assert PureDpEvent(1.0).pure() == 1.0
