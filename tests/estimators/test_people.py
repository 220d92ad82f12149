"""Many rows per person: who is chosen, what it costs, what is stated, what is refused, and an attack with k rows."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

import discreet
from discreet import LinearRegression, LogisticRegression, PrivacyError, estimators
from discreet.accounting.events import ApproximateDpEvent
from discreet.accounting.groups import each_of
from discreet.audit.distinguishing import distinguish
from discreet.audit.models import outputs
from discreet.estimators.base import Targets
from discreet.estimators.people import People, chosen_rows, person_codes
from discreet.losses import SquaredLoss
from discreet.privacy import Budget, Neighbours
from discreet.randomness import SeededSource, system
from discreet.solvers import GradientDescent
from tests.estimators import test_post_processing as post
from tests.planted.people import TWINS

RELATIONS = [n.value for n in Neighbours]
QUICK = {"bounds": (-1, 1), "fit_intercept": False, "solver": "sufficient_statistics", "bounds_y": (-1, 1)}


def table(n=600, persons=100, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    groups = np.concatenate([np.arange(persons), rng.integers(0, persons, n - persons)])
    return X, (X[:, 0] > 0).astype(int), groups


# who is chosen -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("most", [1, 2, 5])
def test_no_person_has_more_rows_than_promised(most):
    _, _, groups = table()
    at = chosen_rows(person_codes(groups, groups.size), most, system())
    there, kept = Counter(groups.tolist()), Counter(groups[at].tolist())
    assert kept == {person: min(count, most) for person, count in there.items()}
    assert (np.diff(at) > 0).all()


def test_all_rows_of_a_person_are_alike_likely():
    """Fixed seed; the chance of a false alarm of each of six frequencies is below 1e-6 (five deviations)."""
    codes = np.array([1, 0, 1, 1, 1, 0, 1, 1])
    source, runs = SeededSource(0), 20_000
    seen = np.zeros(8)
    for _ in range(runs):
        seen[chosen_rows(codes, 2, source)] += 1
    assert (seen[codes == 0] == runs).all()
    share = seen[codes == 1] / runs
    assert np.abs(share - 1 / 3).max() < 5 * math.sqrt(2 / 9 / runs)


def test_the_choice_for_one_person_does_not_depend_on_the_rows_of_others():
    """With the same words at a person's rows, the same rows are kept, whoever the others are."""

    class Replayed(SeededSource):
        def words(self, n):
            return np.array([5, 3, 9, 7, 1, 8], dtype=np.uint64)[:n]

    mine = np.array([True, False, True, True, False, False])
    found = set()
    for others in ([1, 2, 3], [1, 1, 1], [2, 1, 1], [9, 4, 4]):
        codes = np.zeros(6, dtype=np.int64)
        codes[~mine] = others
        at = chosen_rows(codes, 2, Replayed(0))
        found.add(tuple(int(i) for i in at if mine[i]))
    assert found == {(0, 3)}


@pytest.mark.parametrize(
    "labels",
    [
        ["ann", "bob", "ann"],
        np.array([7, -3, 7]),
        np.array([1.5, 2.0, 1.5]),
        pd.Series(["ann", "bob", "ann"]),
        pd.Series(["ann", "bob", "ann"], dtype="category"),
        pa.chunked_array([["ann", "bob", "ann"]]),
        np.array([(1, "x"), 2, (1, "x")], dtype=object),
        np.array(["2020-01-01", "2021-01-01", "2020-01-01"], dtype="datetime64[D]"),
    ],
    ids=lambda v: type(v).__name__,
)
def test_persons_may_be_called_anything(labels):
    a, b, c = person_codes(labels, 3)
    assert a == c != b


@pytest.mark.parametrize(
    "labels",
    [
        [1.0, math.nan],
        ["ann", None],
        pd.Series(["ann", pd.NA], dtype="string"),
        np.array([math.nan, "a"], dtype=object),
    ],
    ids=repr,
)
def test_rows_of_nobody_are_refused_without_saying_which(labels):
    with pytest.raises(ValueError, match="missing labels") as caught:
        person_codes(labels, 2)
    assert "ann" not in str(caught.value)


def test_labels_that_fit_nothing_are_refused():
    with pytest.raises(ValueError, match="one label for each of the 3 rows"):
        person_codes([1, 2], 3)
    with pytest.raises(ValueError, match="one dimension"):
        person_codes(np.ones((3, 2)), 3)
    with pytest.raises(ValueError, match="told apart"):
        held = np.empty(2, dtype=object)
        held[:] = [[1], [2]], {3}
        person_codes(held, 2)


# how many rows there are, and what one may spend --------------------------------------------------------------------
@pytest.mark.parametrize("most", [1, 3])
def test_sizes_under_each_relation(most):
    _, _, groups = table()
    counts = Counter(groups.tolist()).values()
    used = sum(min(c, most) for c in counts)
    for relation in Neighbours:
        people = People.of(groups, most, groups.size, relation, system())
        rows, _, weights = people.taken(np.zeros((600, 1)), Targets(np.zeros(600), SquaredLoss(), []), None)
        padded = relation is Neighbours.REPLACE_ONE
        assert people.number == 100 and len(rows) == (100 * most if padded else used)
        assert (weights is None) == (not padded or most == 1)
        assert weights is None or weights.sum() == used


def test_under_replace_one_another_person_may_have_more_rows():
    """Two data sets that differ in one person's number of rows have the same public size, and the same plan."""
    X, y, groups = table()
    events = []
    for person in (0, 1):
        g = groups.copy()
        g[g == 5] = person  # that person's further rows are somebody else's
        g[5] = 5
        model = LinearRegression(neighbors="replace_one", rows_per_person=3, delta=1e-6, **QUICK)
        events.append(model.fit(X, y, groups=g).dp_event_)
    assert events[0] == events[1]


def test_under_replace_one_nobody_else_is_moved():
    """Parts go by position: whatever one person's rows, all others' rows stand where they stood."""
    for mine in ([0], [0, 5], [0, 3, 4, 9]):
        codes = np.full(10, -1)
        codes[mine] = 0
        codes[codes < 0] = np.arange(10 - len(mine)) % 4 + 1
        people = People.of(codes, 2, 10, Neighbours.REPLACE_ONE, system())
        at = people.at.reshape(5, 2)
        assert set(at[0]) - {-1} <= set(mine) and len(set(at[0]) - {-1}) == min(2, len(mine))
        for place, other in zip(at[1:], dict.fromkeys(codes[codes > 0].tolist()), strict=True):
            assert set(codes[place[place >= 0]]) == {other}


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("most", [1, 4])
def test_the_statement_counts_persons(most, relation):
    X, y, groups = table()
    model = LinearRegression(epsilon=2.0, neighbors=relation, rows_per_person=most, **QUICK).fit(X, y, groups=groups)
    told = model.privacy_
    assert told.rows_per_person == most and told.budget.epsilon == 2.0
    assert told.delta == 1e-6
    assert 1.9 < told.epsilon <= 2.0
    (line,) = [look for look in told.looks if look.thing == "rows per person"]
    assert f"at most {most}" in line.note and "persons" in line.note
    assert "rows" in str(told).split("neighbours:")[1].splitlines()[0]
    assert told.to_dict()["rows_per_person"] == most


def test_without_groups_nothing_changes():
    X, y, _ = table()
    told = LinearRegression(**QUICK).fit(X, y).privacy_
    assert told.rows_per_person is None
    assert "  rows per person: public (one)" in str(told).splitlines()


def test_one_row_each_is_the_fit_on_these_rows():
    """With one row per person there is nothing to choose, and groups change nothing but the statement."""
    X, y, _ = table()
    a = LogisticRegression(bounds=(-1, 1), random_state=0).fit(X, y)
    b = LogisticRegression(bounds=(-1, 1), random_state=0).fit(X, y, groups=np.arange(600) % 1000)
    assert np.array_equal(a.coef_, b.coef_) and a.dp_event_ == b.dp_event_


def test_delta_is_measured_against_persons():
    X, y, groups = table(600, 100)
    assert LinearRegression(delta=0.009, **QUICK).fit(X, y, groups=groups).privacy_.delta == 0.009
    with pytest.raises(PrivacyError, match="times 100 persons"):
        LinearRegression(delta=0.02, **QUICK).fit(X, y, groups=groups)
    with pytest.raises(PrivacyError, match="times 600"):
        LinearRegression(delta=0.009, **QUICK).fit(X, y)


def test_the_event_of_several_rows_is_not_passed_off_as_a_persons():
    X, y, groups = table()
    model = LinearRegression(rows_per_person=3, **QUICK).fit(X, y, groups=groups)
    told = model.privacy_
    assert told.person_event == ApproximateDpEvent(told.epsilon, told.delta)
    assert each_of(Budget(1, 1e-6), 3).epsilon < 0.34
    with pytest.raises(ValueError, match="no standard event"):
        model.dp_event_.to_standard("pld")
    pure = LogisticRegression(delta=0, rows_per_person=3, bounds="unit").fit(X, y, groups=groups)
    assert pure.privacy_.epsilon == pytest.approx(1.0)
    assert pure.dp_event_.to_standard("rdp").rho <= 0.5
    one = LinearRegression(**QUICK).fit(X, y, groups=groups)
    assert one.dp_event_.to_standard("pld") is not None


# what goes together -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", estimators.__all__)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_array], ids=["dense", "csr", "csc"])
def test_every_estimator_takes_groups(name, form):
    X, y, groups = table(200, 50)
    real = {"bounds_y": (0, 1)} if hasattr(getattr(estimators, name)(), "bounds_y") else {}
    model = getattr(estimators, name)(bounds=(-1, 1), rows_per_person=2, epsilon=4.0, **real)
    model.fit(form(X), y, sample_weight=np.linspace(0.1, 1, 200), groups=groups)
    assert np.isfinite(model.coef_).all() and model.privacy_.epsilon <= 4.0


def test_labels_of_rows_that_are_not_used_stay_declared():
    X, y, _ = table(200, 50)
    y[:2] = 2
    model = LogisticRegression(bounds=(-1, 1)).fit(X, y, groups=np.r_[0, 0, np.zeros(198, dtype=int)])
    assert model.classes_.tolist() == [0, 1, 2]


def test_a_model_is_saved_with_its_promise(tmp_path):
    X, y, groups = table()
    model = LogisticRegression(bounds=(-1, 1), rows_per_person=2).fit(X, y, groups=groups)
    model.save(tmp_path / "m.json")
    again = discreet.load(tmp_path / "m.json")
    assert again.privacy_.to_dict() == model.privacy_.to_dict() and str(again.privacy_) == str(model.privacy_)
    assert again.rows_per_person == 2 and np.array_equal(again.coef_, model.coef_)


def test_inference_takes_one_row_per_person():
    X, y, groups = table(6000, 3000)
    model = LinearRegression(inference=True, **QUICK).fit(X, y, groups=groups)
    assert model.summary().header["Rows"].startswith("3000")
    with pytest.raises(ValueError, match="aren't independent"):
        LinearRegression(inference=True, rows_per_person=2, **QUICK).fit(X, y, groups=groups)


def test_two_fits_on_the_same_persons():
    X, y, groups = table(3000, 800)
    options = {"bounds": (-1, 1), "warm_start": True, "solver": GradientDescent(steps=5), "delta": 1e-6}
    model = LogisticRegression(rows_per_person=2, **options).fit(X, y, groups=groups)
    first = model.privacy_
    both = model.set_params(rows_per_person=3).fit(X, y, groups=groups).privacy_
    assert both.rows_per_person == 3 and first.epsilon < both.epsilon <= 2.0
    with pytest.raises(PrivacyError, match="only one counts persons"):
        model.set_params(rows_per_person=1).fit(X, y)
    rows = LogisticRegression(**options).fit(X, y)
    with pytest.raises(PrivacyError, match="only one counts persons"):
        rows.fit(X, y, groups=groups)


@pytest.mark.parametrize("most", [0, -1, 1.5, True, "2", None])
def test_a_number_of_rows_that_means_nothing_is_refused(most):
    X, y, groups = table()
    with pytest.raises(ValueError, match="rows_per_person"):
        LogisticRegression(rows_per_person=most).fit(X, y, groups=groups)


def test_several_rows_of_nobody_in_particular_are_refused():
    with pytest.raises(ValueError, match="needs fit"):
        LogisticRegression(rows_per_person=3).fit(*table()[:2])


# attacks ------------------------------------------------------------------------------------------------------------
def one_person_many_rows(model, rows, runs, groups=True):
    """Whether a person with that many extreme rows is there: what an attacker can tell from so many fits."""
    X = np.concatenate([np.ones((rows, 1)), np.zeros((20, 1))])
    y = X[:, 0].copy()
    whose = np.concatenate([np.zeros(rows, dtype=int), 1 + np.arange(20)]) if groups else None
    there, blank = np.ones(rows + 20), np.concatenate([np.zeros(rows), np.ones(20)])

    def fit(X, y, weight):
        return model.fit(X, y, sample_weight=weight, groups=whose).coef_

    first, second = (outputs(fit, (X, y, w), runs // 2, 1) for w in (there, blank))
    return distinguish(first, second, model.epsilon, model.delta)


@pytest.mark.parametrize("most", [1, 20])
def test_a_person_with_many_rows_is_protected(most):
    model = LinearRegression(epsilon=1.0, delta=1e-5, rows_per_person=most, **QUICK)
    assert not one_person_many_rows(model, 20, 600).caught


@pytest.mark.parametrize("name", TWINS)
def test_a_twin_that_counts_rows_is_caught(name, monkeypatch):
    where, what, twin, most = TWINS[name]
    monkeypatch.setattr(where, what, twin)
    model = LinearRegression(epsilon=1.0, delta=1e-5, rows_per_person=most, **QUICK)
    found = one_person_many_rows(model, 20, 600)
    assert found.caught, found


def test_a_fit_without_groups_is_caught_where_a_row_is_not_a_person():
    model = LinearRegression(epsilon=1.0, delta=1e-5, **QUICK)
    assert one_person_many_rows(model, 20, 600, groups=False).caught


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ["LogisticRegression", "LinearRegression"])
def test_the_auditor_attacks_whole_persons(name, relation):
    """A sound model is caught with probability at most 5 %."""
    more = {"bounds_y": (0.0, 1.0)} if name == "LinearRegression" else {}
    model = getattr(estimators, name)(
        epsilon=2.0, delta=1e-4, rows_per_person=4, neighbors=relation, bounds="unit", **more
    )
    assert not discreet.audit(model, runs=1200, n_jobs=1).caught


def test_the_auditor_gives_a_person_as_many_rows_as_the_model_allows():
    assert not discreet.audit(LinearRegression(rows_per_person=3, **QUICK), runs=120, n_jobs=1, n_features=1).caught


@pytest.mark.parametrize("relation", RELATIONS)
def test_nothing_of_rows_or_persons_stays_on_the_model(relation):
    """A second fit on other rows and other labels of persons, given the first one's releases, is equal to the last bit.

    Under add/remove even the number of persons, and of rows that each has, is another.
    """

    def rows(seed):
        rng = np.random.default_rng(seed)
        n = 90 + 30 * seed if relation == "add_remove" else 90
        whose = rng.integers(0, 40, n) if relation == "add_remove" else rng.permutation(np.arange(90) // 3 + 7 * seed)
        return rng.normal(size=(n, 3)), np.resize([0, 1], n), None, whose

    def make():
        return LogisticRegression(rows_per_person=2, neighbors=relation, bounds="unit", epsilon=3.0, random_state=0)

    first, released = post.fitted(make, rows(0), None)
    second, again = post.fitted(make, rows(1), released)
    assert len(again) == len(released) > 0
    assert {key for key in first if not post.same(first[key], second[key])} == set()
