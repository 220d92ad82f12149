"""``classes="private"``: bought inside the fit's budget; rows of other labels are blank, and nothing tells of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import discreet
from discreet import LinearSVC, LogisticRegression, PrivacyError
from discreet.accounting.events import ApproximateDpEvent
from discreet.estimators.labels import SHARE
from discreet.privacy import Neighbours
from discreet.solvers import GradientDescent
from tests.estimators import test_post_processing as post

RELATIONS = [n.value for n in Neighbours]


def table(n=6000, rare=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    y = np.where(X[:, 0] > 0, "yes", "no").astype(object)
    y[:rare] = [f"secret {i}" for i in range(rare)]
    return X, y


@pytest.mark.parametrize("relation", RELATIONS)
def test_common_labels_are_released_and_rare_ones_never(relation):
    X, y = table()
    model = LogisticRegression(classes="private", neighbors=relation, bounds=(-1, 1)).fit(X, y)
    assert model.classes_.tolist() == ["no", "yes"] and model.score(X, y) > 0.9
    told = model.privacy_
    assert told.epsilon == 1.0 and told.delta == told.budget.delta == 1e-6
    (line,) = [look for look in told.looks if look.thing == "label set"]
    assert line.status == "paid" and "count" in line.note
    assert "secret" not in str(told) + str(vars(model))


def test_the_share_is_taken_from_the_fit():
    X, y = table()
    model = LogisticRegression(classes="private", bounds=(-1, 1), solver="objective_perturbation").fit(X, y)
    bought, *rest = model.dp_event_.event.events
    assert bought == ApproximateDpEvent(SHARE, SHARE * 1e-6)
    assert rest


def test_three_labels_give_a_softmax():
    X, y = table(rare=0)
    y[X[:, 1] > 0.4] = "perhaps"
    model = LogisticRegression(classes="private", bounds=(-1, 1)).fit(X, y)
    assert model.classes_.tolist() == ["no", "perhaps", "yes"] and model.coef_.shape == (3, 2)
    with pytest.raises(ValueError, match="Only binary"):
        LinearSVC(classes="private", bounds=(-1, 1)).fit(X, y)
    assert LinearSVC(classes="private", bounds=(-1, 1)).fit(*table()).score(X, y) > 0.5


def test_rows_of_labels_that_are_not_released_are_blank():
    """The same fit as with weight 0 in these rows and the labels given, at what the labels leave of the budget."""
    X, y = table()
    options = {"bounds": (-1, 1), "random_state": 0, "solver": GradientDescent(steps=3), "delta": 1e-6}
    bought = LogisticRegression(classes="private", **options).fit(X, y)
    known = np.isin(y, ["no", "yes"])
    other = np.where(known, y, "no")
    options |= {"epsilon": 1 - SHARE, "delta": 1e-6 * (1 - SHARE)}
    given = LogisticRegression(classes=["no", "yes"], **options).fit(X, other, sample_weight=known.astype(float))
    assert np.array_equal(bought.coef_, given.coef_)


def test_too_few_rows_release_nothing_and_the_error_names_no_label():
    X, y = table(60)
    with pytest.raises(ValueError, match="0 labels reached") as caught:
        LogisticRegression(classes="private", bounds=(-1, 1)).fit(X, y)
    assert "yes" not in str(caught.value) and "secret" not in str(caught.value)


def test_what_cannot_be_bought_is_refused_before_the_data():
    with pytest.raises(ValueError, match="delta above 0"):
        LogisticRegression(classes="private", delta=0).fit(post.rows, None)
    with pytest.raises(ValueError, match="class_weight names labels"):
        LogisticRegression(classes="private", class_weight={"yes": 2.0}).fit(post.rows, None)
    with pytest.raises(ValueError, match="'private'"):
        LogisticRegression(classes="secret").fit(post.rows, None)


def test_with_groups_weights_and_inference(tmp_path):
    X, y = table()
    model = LogisticRegression(classes="private", rows_per_person=2, bounds=(-1, 1), epsilon=4.0)
    model.fit(X, y, sample_weight=np.full(6000, 0.5), groups=np.arange(6000) // 3)
    told = model.privacy_
    assert told.epsilon == 4.0 and told.rows_per_person == 2
    assert model.dp_event_.event.events[0].epsilon == pytest.approx(SHARE * 2.0)
    model.save(tmp_path / "m.json")
    again = discreet.load(tmp_path / "m.json")
    assert str(again.privacy_) == str(told) and again.classes_.tolist() == ["no", "yes"]
    table_ = LogisticRegression(classes="private", inference=True, bounds=(-1, 1)).fit(X, y).summary()
    assert len(table_.names) == 3


def test_two_fits_add_up():
    X, y = table()
    model = LogisticRegression(classes="private", bounds=(-1, 1), warm_start=True, solver=GradientDescent(steps=3))
    assert model.fit(X, y).fit(X, y).privacy_.epsilon == pytest.approx(2.0)
    assert math.isinf(model.set_params(random_state=0).fit(X, y).privacy_.epsilon)
    with pytest.raises(PrivacyError):
        model.set_params(neighbors="replace_one").fit(X, y)


def test_nothing_of_other_labels_stays_on_the_model():
    """A second fit on other rows, given the first one's releases, holds the same to the last bit."""

    def rows(seed):
        rng = np.random.default_rng(seed)
        labels = np.array(["no", "yes", f"secret {seed}", f"more {seed}"][: 3 + seed])
        return rng.normal(size=(900, 3)), labels[np.minimum(rng.integers(0, 400, 900) // 199, 1 + seed)]

    def make():
        return LogisticRegression(classes="private", epsilon=10.0, delta=1e-3, bounds="unit", random_state=0)

    first, released = post.fitted(make, rows(0), None)
    second, again = post.fitted(make, rows(1), released)
    assert len(again) == len(released) and first["classes_"].tolist() == ["no", "yes"]
    assert {key for key in first if not post.same(first[key], second[key])} == set()
