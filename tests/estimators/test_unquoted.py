"""No error about rows says what is in them, whoever raised it: not in its message, nor in the chain behind it."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from discreet import estimators
from discreet.curator import RowBounds, make_curator, make_survey
from discreet.privacy import unquoted

MARK = 70 + 0.30517578125  # written so that no line of source has it: a traceback shows source, too
TEXT = "sec" + "ret"
GOOD_X, GOOD_Y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2


def with_entry(entry: Any, dtype: Any = object) -> Any:
    X = GOOD_X.astype(dtype)
    X[3, 1] = entry
    return X


BAD: dict[str, tuple[Any, Any, Any]] = {  # rows, targets, weights
    "one dimension": (np.full(20, MARK), GOOD_Y, None),
    "three dimensions": (np.full((20, 2, 1), MARK), GOOD_Y, None),
    "complex": (np.full((20, 2), MARK + 1j), GOOD_Y, None),
    "text": (with_entry(TEXT), GOOD_Y, None),
    "text in a frame": (pd.DataFrame({"a": [TEXT] * 20}), GOOD_Y, None),
    "all text": (np.full((20, 2), TEXT), GOOD_Y, None),
    "an object": (with_entry({TEXT: MARK}), GOOD_Y, None),
    "a list in a cell": (with_entry([MARK, MARK]), GOOD_Y, None),
    "ragged": ([[MARK], [MARK, MARK]], GOOD_Y[:2], None),
    "huge": (with_entry(10**400), GOOD_Y, None),
    "infinite": (np.where(GOOD_X == 7, np.inf, MARK), GOOD_Y, None),
    "missing": (np.where(GOOD_X == 7, np.nan, MARK), GOOD_Y, None),
    "sparse and complex": (sp.csr_array(np.full((20, 2), MARK + 1j)), GOOD_Y, None),
    "sparse and missing": (sp.csr_array(np.where(GOOD_X == 7, np.nan, MARK)), GOOD_Y, None),
    "missing target": (GOOD_X, np.where(GOOD_Y == 1, np.nan, MARK), None),
    "table of targets": (GOOD_X, np.full((20, 2), MARK), None),
    "too few targets": (GOOD_X, np.full(19, MARK), None),
    "weights as text": (GOOD_X, GOOD_Y, [TEXT] * 20),
    "negative weights": (GOOD_X, GOOD_Y, np.full(20, -MARK)),
    "missing weights": (GOOD_X, GOOD_Y, np.where(GOOD_Y == 1, np.nan, MARK)),
    "too few weights": (GOOD_X, GOOD_Y, np.full(3, MARK)),
    "no rows": (GOOD_X[:0], GOOD_Y[:0], None),
}
READERS: dict[str, Callable[[Any, Any, Any], Any]] = {
    name: lambda X, y, w, name=name: getattr(estimators, name)(bounds=(0, 100)).fit(X, y, sample_weight=w)
    for name in ("LogisticRegression", "LinearRegression")
} | {
    "curator": lambda X, y, w: make_curator(X, y, bounds=RowBounds(l2=1.0), sample_weight=w),
    "survey": lambda X, y, w: make_survey(X, y, sample_weight=w),
}


def told(call: Callable[[], Any]) -> str:
    """All that a log would show of the error: it, its causes, and what came before it."""
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    error: BaseException | None = caught.value
    seen = []
    while error is not None:
        seen.append("".join(traceback.format_exception(error, chain=False)))
        error = error.__cause__ or error.__context__
    return "\n".join(seen)


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("reader", READERS)
def test_an_error_about_rows_tells_nothing_of_them(reader: str, bad: str) -> None:
    rows = BAD[bad]
    if reader in ("curator", "survey") and bad == "no rows":
        READERS[reader](*rows)  # which is a table like any other
        return
    text = told(lambda: READERS[reader](*rows))
    assert str(MARK)[:6] not in text
    assert TEXT not in text


def test_targets_that_are_text() -> None:
    text = told(lambda: estimators.LinearRegression(bounds=(0, 100)).fit(GOOD_X, np.array([TEXT] * 20)))
    assert TEXT not in text


@pytest.mark.parametrize("bad", ["one dimension", "complex", "text", "infinite"])
def test_rows_to_predict_are_persons_too(bad: str) -> None:
    model = estimators.LogisticRegression(bounds=(0, 100)).fit(GOOD_X, GOOD_Y)
    text = told(lambda: model.predict(BAD[bad][0]))
    assert str(MARK)[:6] not in text
    assert TEXT not in text


def test_the_number_of_rows_is_not_told_either() -> None:
    model = estimators.LogisticRegression(bounds=(0, 100), neighbors="add_remove")
    text = told(lambda: model.fit(np.ones((1237, 2)), np.zeros(1236)))
    assert "123" not in text.replace("1237, 2", "").replace("1236)", "")  # as the source of the call above has them


def test_the_alarm_rings() -> None:
    """scikit-learn's own reading of such a table prints it."""
    from sklearn.utils.validation import check_array

    assert str(MARK)[:6] in told(lambda: check_array(np.full(20, MARK)))
    assert str(MARK)[:6] not in told(lambda: unquoted("X", check_array, np.full(20, MARK)))
