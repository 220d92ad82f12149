"""What ``summary()`` and ``conf_int()`` print, refuse and leave unsaid."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet import HuberRegressor, LinearRegression, LogisticRegression
from discreet.estimators.summary import Summary
from discreet.penalties import L1Ball
from discreet.randomness import data_generator
from discreet.solvers.base import Refusal

N = 20_000
RNG = data_generator(7)
X = RNG.uniform(-1, 1, (N, 2))
Y = (RNG.uniform(size=N) < 1 / (1 + np.exp(-2 * X[:, 0] + 0.5))).astype(int)


def test_a_table_in_the_manner_of_statistics_packages() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["age", "a rather long name"])
    model = LogisticRegression(inference=True, bounds=(-1, 1)).fit(frame, Y)
    table = model.summary()
    text = str(table)
    assert table.names == ["age", "a rather long name", "intercept"]
    wanted = ["LogisticRegression", "20000 (public)", "3, the intercept last", "whitened_objective_perturbation"]
    wanted += ["epsilon=1, delta=1e-06", "zero_out", "std err", "[0.025", "0.975]", "privacy is", "bounds that were"]
    assert [words for words in wanted if words not in text] == []
    lines = text.splitlines()
    body = [line for line in lines if line.startswith(("age", "a rather", "intercept"))]
    assert len({len(line) for line in body}) == 1  # columns are aligned
    assert repr(table) == text
    again = table.to_dict()
    assert list(again["rows"]) == table.names
    assert again["rows"]["age"]["low"] < 2 < again["rows"]["age"]["high"]
    assert again["rows"]["age"]["coef"] / again["rows"]["age"]["std_err"] == pytest.approx(again["rows"]["age"]["z"])


def test_seeds_levels_and_no_intercept() -> None:
    model = LogisticRegression(inference=True, bounds=(-1, 1), random_state=3, fit_intercept=False).fit(X, Y)
    table = model.summary(level=0.9)
    assert "NOT PRIVATE: seeded" in str(table)
    assert "no intercept" in str(table)
    assert "[0.05" in str(table)
    assert table.names == ["x0", "x1"]
    narrow, wide = (np.diff(model.conf_int(level)).ravel() for level in (0.5, 0.99))
    assert (narrow < wide).all()
    with pytest.raises(ValueError, match="level=95"):
        model.conf_int(95)


def test_where_nothing_can_be_said_nothing_is_said() -> None:
    """500 rows at epsilon 0.1: infinite intervals, an infinite error, p = 1 and a note."""
    model = LogisticRegression(inference=True, epsilon=0.1, bounds=(-1, 1), random_state=1).fit(X[:500], Y[:500])
    table = model.summary()
    assert np.isinf(model.conf_int()).any()
    unknown = np.isinf(table.values[:, 4])
    assert np.isinf(table.values[unknown, 1]).all()
    assert (table.values[unknown, 3] == 1).all()
    assert "Infinite intervals" in str(table)
    assert "nan" not in str(table)


@pytest.mark.parametrize("scale", [1e-9, 1e-4, 1.0, 1e5, 1e12])
def test_numbers_of_any_size_are_readable(scale: float) -> None:
    row = [1.23456789 * scale, 0.0456 * scale, 27.07, 0.0, 1.145 * scale, 1.324 * scale]
    text = str(Summary({"Model": "m"}, ["x"], np.array([row]), 0.95, []))
    line = next(t for t in text.splitlines() if t.startswith("x")).split()
    assert float(line[1]) == pytest.approx(row[0], rel=1e-3)
    assert float(line[2]) == pytest.approx(row[1], rel=2e-2)
    assert len(line) == 7
    assert max(map(len, line)) <= 15


def test_bought_bounds_are_said_to_be_bought() -> None:
    bought = HuberRegressor(inference=True, random_state=0).fit(X, X[:, 0]).summary()
    given = LinearRegression(
        inference=True, solver="sufficient_statistics", bounds="unit", bounds_y=(-1, 1), random_state=0
    ).fit(X, X[:, 0]).summary()  # fmt: skip
    assert bought.header["Bounds"] == "bought from the rows"
    assert "bounds that were bought" in str(bought)
    assert given.header["Bounds"] == "public"


def test_without_inference_nothing_is_known() -> None:
    with pytest.raises(AttributeError, match="inference=True"):
        LogisticRegression(bounds=(-1, 1), random_state=0).fit(X, Y).summary()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"penalty": L1Ball(1.0)}, "corner"),
        ({"delta": 0}, "normal"),
        ({"solver": "gradient_descent"}, "no law"),
    ],
)
def test_what_no_law_covers_is_refused(options, words: str) -> None:
    with pytest.raises(Refusal, match=words):
        LogisticRegression(inference=True, bounds=(-1, 1), **options).fit(X, Y)


def test_many_classes_are_refused() -> None:
    with pytest.raises(Refusal, match="one output"):
        LogisticRegression(inference=True, bounds=(-1, 1)).fit(X, np.arange(N) % 3)


def test_half_of_the_error_is_named_privacy() -> None:
    """The stated share of privacy grows as the budget falls, and errors never fall below it."""
    shares = []
    for epsilon in (4.0, 0.5):
        model = LogisticRegression(inference=True, epsilon=epsilon, bounds=(-1, 1), random_state=0).fit(X, Y)
        found = model.inference_
        assert (found.privacy <= found.error * (1 + 1e-12)).all()
        shares.append(float(((found.privacy / found.error) ** 2).max()))
    assert shares[0] < shares[1] <= 1
    assert math.isfinite(shares[1])
