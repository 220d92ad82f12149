"""Schemas: any table in, bounded numbers out; nothing read but what is paid for; errors that don't quote the rows."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from discreet import LogisticRegression, PrivacyError
from discreet.audit.distinguishing import distinguish
from discreet.preprocessing import Categorical, Hashed, Numeric, Paid, Schema
from discreet.preprocessing.purchases import centre_of, purse_of
from discreet.privacy import Neighbours
from discreet.randomness import system
from discreet.testing import without_privacy

RELATIONS = [n.value for n in Neighbours]
COLUMNS = {
    "age": Numeric(18, 90, missing=50.0, indicator=True),
    "income": Numeric(0, 1e6, log=True, missing=0.0),
    "sex": Categorical(["f", "m"], missing="own"),
    "city": Hashed(8, missing="none"),
}
ROWS = {
    "age": [34.0, None, 17.0, 99.0],
    "income": [0.0, 10.0, None, 1e9],
    "sex": ["f", "x", None, "m"],
    "city": ["Oslo", "Paris", None, "Oslo"],
}


class Polarslike:
    """What a frame of another kind looks like: names, and columns that are read by name."""

    columns = ("age", "income", "sex", "city")

    def __getitem__(self, name):
        class Series:
            def to_list(self):
                return ROWS[name]

        return Series()


TABLES = {
    "dict": ROWS,
    "pandas": pd.DataFrame(ROWS),
    "pandas nullable": pd.DataFrame(ROWS).convert_dtypes(),
    "pandas categories": pd.DataFrame(ROWS).astype({"sex": "category"}),
    "pyarrow": pa.table(ROWS),
    "another frame": Polarslike(),
    "masked": {
        "age": np.ma.masked_invalid([34.0, np.nan, 17.0, 99.0]),
        "income": np.array([0.0, 10.0, np.nan, 1e9]),
        "sex": np.array(["f", "x", None, "m"], dtype=object),
        "city": pd.Series(ROWS["city"]),
    },
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_kind_of_table_reads_the_same(table):
    schema = Schema(COLUMNS)
    out = schema.fit(table).transform(table)
    assert out.dtype == np.float64 and out.shape == (4, 3 + 4 + 8)
    assert out[:, 0].tolist() == [34, 50, 18, 90] and out[:, 1].tolist() == [0, 1, 0, 0]
    assert out[:, 2] == pytest.approx([0, math.log(11), 0, math.log1p(1e6)])
    assert out[:, 3:7].tolist() == [[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 1, 0, 0]]
    assert out[:, 7:].sum(axis=1).tolist() == [1, 1, 0, 1] and (out[0, 7:] == out[3, 7:]).all()
    assert schema.privacy_.epsilon == 0 and schema.privacy_.notes == ("columns: public",)


def test_what_comes_out_is_within_the_bounds_whatever_goes_in():
    rng = np.random.default_rng(0)
    schema = Schema(COLUMNS)
    low, high = schema.bounds
    n = 500
    wild = {
        "age": rng.standard_cauchy(n) * 1e3,
        "income": np.r_[np.inf, -np.inf, np.nan, rng.standard_cauchy(n - 3) * 1e300],
        "sex": rng.choice(np.array(["f", "m", 3, None, ""], dtype=object), n),
        "city": rng.choice(np.array(["a", 1, 1.0, True, None], dtype=object), n),
    }
    out = schema.transform(wild)
    assert (out >= low).all() and (out <= high).all() and (low < high).all()
    assert len(schema.get_feature_names_out()) == len(low) == out.shape[1]


def test_each_row_is_mapped_by_itself():
    schema = Schema(COLUMNS)
    whole = schema.transform(pd.DataFrame(ROWS))
    for i in (3, 1, 0, 2):
        assert np.array_equal(schema.transform(pd.DataFrame(ROWS).iloc[[i]])[0], whole[i])


def test_arrays_have_numbers_for_names():
    rows = np.array([[1.0, 2.0, np.nan], [3.0, 9.0, 0.0]])
    schema = Schema({2: Numeric(0, 1, missing=0.5), 0: Numeric(0, 10)})
    assert schema.fit_transform(rows).tolist() == [[0.5, 1.0], [0.0, 3.0]]
    assert schema.get_feature_names_out().tolist() == ["x2", "x0"]


def test_fit_reads_no_value_that_is_not_paid_for():
    class Poison:
        def __array__(self, *_, **__):
            raise AssertionError("a value was read")

        to_list = __iter__ = __len__ = __array__

    Schema(COLUMNS).fit({name: Poison() for name in COLUMNS})
    paid = Schema({**COLUMNS, "age": Numeric(0, 99, missing=Paid())}, epsilon=1.0)
    with pytest.raises(AssertionError, match="a value was read"):
        paid.fit({name: Poison() for name in COLUMNS})
    paid.fit({name: ROWS["age"] if name == "age" else Poison() for name in COLUMNS})


# scikit-learn -------------------------------------------------------------------------------------------------------
def test_in_a_pipeline_with_bounds_that_are_known_beforehand():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.uniform(10, 99, 4000), "sex": rng.choice(["f", "m"], 4000)})
    y = (table["age"] > 50) ^ (table["sex"] == "f") & (table["age"] > 90)
    table.loc[rng.choice(4000, 300), "age"] = np.nan
    schema = Schema({"age": COLUMNS["age"], "sex": COLUMNS["sex"]})
    pipe = make_pipeline(schema, LogisticRegression(bounds=schema.bounds)).fit(table, y)
    assert pipe.score(table, y) > 0.85
    assert clone(pipe).steps[0][1].get_params()["columns"] == schema.columns
    assert pipe[-1].n_features_in_ == 6


def test_set_output_and_sparse_output():
    schema = Schema(COLUMNS).set_output(transform="pandas")
    frame = schema.fit_transform(pd.DataFrame(ROWS, index=[7, 8, 9, 10]))
    assert list(frame.index) == [7, 8, 9, 10] and list(frame.columns)[:3] == ["age", "age_missing", "income"]
    flat = Schema(COLUMNS).transform(ROWS)
    wide = Schema(COLUMNS, sparse_output=True).transform(ROWS)
    assert wide.format == "csr" and np.array_equal(wide.toarray(), flat)
    huge = Schema({"city": Hashed(2**20)}, sparse_output=True).transform({"city": ["a", "b"]})
    assert huge.nnz == 2
    y = [0, 1, 1, 0]
    bounds = Schema(COLUMNS, sparse_output=True).bounds
    assert LogisticRegression(bounds=bounds).fit(wide, y).coef_.shape == (1, 15)


def test_hashes_are_public_and_stable():
    """The same in every process and for whole numbers that became floats beside a missing one."""
    column = Hashed(1000)
    assert column.encoded(["Oslo", "Paris", "7"], "c").tolist() == [765, 203, 255]
    assert column.encoded([7, 7.0, "7"], "c").tolist() == [255] * 3
    many = Hashed(16).encoded([f"word {i}" for i in range(4000)], "c")
    assert np.bincount(many, minlength=16).min() > 150


def test_as_json_and_back():
    columns = {**COLUMNS, "age": Numeric(18, 90, missing=Paid("mean"), indicator=True), 3: Categorical([1, 2.5, "x"])}
    table = {**ROWS, 3: [1, "x", 2.5, 9]}
    schema = Schema(columns, epsilon=2.0, delta=0.0, neighbors="replace_one").fit(table)
    again = Schema.from_dict(json.loads(json.dumps(schema.to_dict())))
    assert again.columns == schema.columns and list(again.columns) == list(schema.columns)
    assert np.array_equal(again.transform(table), schema.transform(table))
    assert again.privacy_.epsilon == 2.0 and again.privacy_.notes == schema.privacy_.notes
    assert again.to_dict() == schema.to_dict()
    with pytest.raises(ValueError, match="not a schema"):
        Schema.from_dict({})
    with pytest.raises(ValueError, match="unknown"):
        Schema.from_dict({**schema.to_dict(), "columns": [["age", "Magic", {}]]})
    with pytest.raises(ValueError, match="lacks a part"):
        Schema.from_dict({"format": "discreet schema"})


# what is paid for ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("delta", [0.0, "auto"])
@pytest.mark.parametrize("what", ["median", "mean"])
def test_constants_are_bought_within_the_budget(what, delta, relation):
    rng = np.random.default_rng(1)
    x = np.exp(rng.normal(8, 1, 20_000))
    holes = rng.random(20_000) < 0.3
    table = {"pay": np.where(holes, np.nan, x), "age": np.where(holes, 30.0, np.nan)}
    columns = {"pay": Numeric(0, 1e6, log=True, missing=Paid(what)), "age": Numeric(0, 100, missing=Paid(what))}
    schema = Schema(columns, epsilon=1.0, delta=delta, neighbors=relation).fit(table)
    target = np.median(x[~holes]) if what == "median" else np.expm1(np.log1p(x[~holes]).mean())
    assert schema.constants_["pay"] == pytest.approx(target, rel=0.1)
    assert schema.constants_["age"] == pytest.approx(30, abs=2)
    told = schema.privacy_
    assert (told.epsilon, told.delta, told.neighbors) == (1.0, 0.0 if delta == 0 else 1e-6, relation)
    assert f"{what} of 'pay', for missing values: paid" in str(told)
    assert told.epsilon_at(max(told.delta, 1e-9)) <= 1.0 + 1e-9
    assert schema.transform(table)[holes][0, 0] == pytest.approx(math.log1p(schema.constants_["pay"]))
    seeded = Schema(columns, epsilon=1.0, random_state=0).fit(table).privacy_
    assert math.isinf(seeded.epsilon) and "NOT PRIVATE" in str(seeded)


def test_one_row_of_each_person_is_enough_for_a_constant():
    table = {"x": np.r_[np.full(5000, 90.0), np.linspace(0, 20, 2000)]}
    groups = np.r_[np.zeros(5000), np.arange(1, 2001)]
    columns = {"x": Numeric(0, 100, missing=Paid())}
    assert Schema(columns, epsilon=5.0).fit(table).constants_["x"] > 80
    schema = Schema(columns, epsilon=5.0).fit(table, groups=groups)
    assert schema.constants_["x"] < 15 and "persons" in str(schema.privacy_)


@pytest.mark.parametrize("what", ["median", "mean"])
@pytest.mark.parametrize("values", [[math.nan] * 5, [math.nan] * 4 + [1.0], []], ids=["none", "one", "no rows"])
def test_empty_columns_are_no_special_case(values, what):
    schema = Schema({"x": Numeric(0, 1, missing=Paid(what))}, epsilon=1.0, delta="auto").fit({"x": np.array(values)})
    assert 0 <= schema.constants_["x"] <= 1


@pytest.mark.parametrize("what", ["median", "mean"])
def test_an_attack_on_the_one_value_that_is_there(what):
    """4,000 purchases; one row has a value or none: not caught (a sound one is with probability at most 5 %).

    Without noise the mean is, so there is something to find.
    """
    blank, there = np.full(12, np.nan), np.r_[1.0, np.full(11, np.nan)]

    def bought(values):
        share = purse_of(1.0, 0.0, 12, "zero_out", system()).shares([1])[0]
        return centre_of(values, (0.0, 1.0), what, "zero_out", share)

    sides = [np.array([[bought(values)] for _ in range(2000)]) for values in (there, blank)]
    assert not distinguish(*sides, 1.0, 0.0).caught
    with without_privacy():
        exact = [np.array([[bought(values)] for _ in range(200)]) for values in (there, blank)]
    if what == "mean":
        assert distinguish(*exact, 1.0, 0.0).caught


# what is refused ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("column", "values", "reason"),
    [
        (Numeric(0, 1), [0.5, math.nan], "missing values"),
        (Categorical(["a"]), ["a", None], "missing values"),
        (Hashed(3), ["a", None], "missing values"),
        (Numeric(0, 1), [0.5, "Rumpelstiltskin"], "aren't numbers"),
        (Numeric(0, 1), np.array(["2020-01-01"], dtype="datetime64[D]"), "aren't numbers"),
        (Categorical(["a"]), [["Rumpelstiltskin"], ["b", "c"]], "told apart"),
    ],
    ids=repr,
)
def test_rows_that_cannot_be_read_are_refused_without_quoting_them(column, values, reason):
    held = np.empty(len(values), dtype=object)
    held[:] = values
    with pytest.raises(ValueError, match=reason) as caught:
        Schema({"c": column}).transform({"c": held})
    assert "Rumpelstiltskin" not in str(caught.value) and "'c'" in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Numeric(1, 1), "lower one first"),
        (lambda: Numeric(0, math.inf), "finite"),
        (lambda: Numeric(0, 1, missing=2), "within"),
        (lambda: Paid("mode"), "can't be bought"),
        (lambda: Categorical([]), "each once"),
        (lambda: Categorical("abc"), "each once"),
        (lambda: Categorical(["a", "a"]), "each once"),
        (lambda: Categorical(["a"], unknown="guess"), "unknown"),
        (lambda: Categorical(["a"], missing="guess"), "missing"),
        (lambda: Hashed(0), "buckets"),
        (lambda: Schema({}).fit({}), "says nothing"),
        (lambda: Schema({"a": Categorical(["b"]), "a_b": Numeric(0, 1)}).fit({"a": [], "a_b": []}), "twice"),
        (lambda: Schema({"b": Numeric(0, 1)}).fit({"a": [1]}), "no column 'b'"),
        (lambda: Schema({"b": Numeric(0, 1)}).fit(np.ones((2, 2))), "has a name"),
        (lambda: Schema({5: Numeric(0, 1)}).fit(np.ones((2, 2))), "it has 2"),
        (lambda: Schema({0: Numeric(0, 1)}).fit(np.ones(2)), "1 dimensions"),
        (lambda: Schema({"a": Numeric(0, 1, missing=Paid())}).fit({"a": [1.0]}), "give Schema"),
        (lambda: Schema({"a": Numeric(0, 1, missing=Paid())}, epsilon=1).transform({"a": [1.0]}), "call fit first"),
        (lambda: Schema({"a": Numeric(0, 1), "b": Numeric(0, 1)}).transform({"a": [1], "b": [1, 1]}), "number of rows"),
    ],
)
def test_what_means_nothing_is_refused(make, reason):
    with pytest.raises(ValueError, match=reason):
        make()


def test_declarations_and_budgets_of_other_kinds_are_refused():
    with pytest.raises(TypeError, match="give a Numeric"):
        Schema({"a": (0, 1)}).fit({"a": [1]})
    with pytest.raises(PrivacyError, match="protects nobody"):
        Schema({"a": Numeric(0, 1, missing=Paid())}, epsilon=1, delta=0.6).fit({"a": [1.0, 2.0]})


def test_missing_values_in_a_models_rows_point_here():
    for X in ([[1.0, math.nan]], [[1.0, math.inf]], np.array([[1.0, "Rumpelstiltskin"]], dtype=object)):
        with pytest.raises(ValueError, match=r"preprocessing\.Schema") as caught:
            LogisticRegression().fit(X, [1])
        assert "Rumpelstiltskin" not in str(caught.value)
    model = LogisticRegression(bounds=(-1, 1)).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match=r"preprocessing\.Schema"):
        model.predict([[math.nan]])
