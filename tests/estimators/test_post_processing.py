"""What a fitted model holds is worked out from released numbers alone: nothing goes round the mechanisms.

A first fit is recorded: every answer of every mechanism.  A second fit, on *other rows* of the same shape, is given
those answers in place of its own.  If all that the model holds is post-processing, then the two models are alike to
the last bit; whatever is read from the rows beside the mechanisms (PITFALLS 25 to 28, 30) makes them differ.  And each
answer is on a public grid whatever the rows, so 'a multiple of 2^-53' has the same chance for all data (PITFALLS 8).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from discreet import estimators, mechanisms, solvers
from discreet.curator import Curator
from discreet.mechanisms.base import Additive, Mechanism
from discreet.mechanisms.metered import Metered
from discreet.penalties import L1Ball, Sparsity
from discreet.privacy import Bounded

N, P = 60, 3
OPENERS = ("release", "select", "select_smallest")
KINDS = {Additive, Metered, *(getattr(mechanisms, name) for name in mechanisms.__all__)}


@contextmanager
def answers(change: Callable[[Mechanism, Any, Any], Any]) -> Iterator[None]:
    """Every outermost opening of a sealed value goes through `change(mechanism, sealed, answer)`."""
    depth = 0

    def wrapped(original: Callable[..., Any]) -> Callable[..., Any]:
        def opener(self: Mechanism, sealed: Any, *args: Any, **options: Any) -> Any:
            nonlocal depth
            depth += 1
            try:
                answer = original(self, sealed, *args, **options)
            finally:
                depth -= 1
            return answer if depth else change(self, sealed, answer)

        return opener

    with pytest.MonkeyPatch.context() as patch:
        for kind in KINDS:
            for name in OPENERS:
                if name in vars(kind):
                    patch.setattr(kind, name, wrapped(vars(kind)[name]))
        yield


def fitted(make: Callable[[], Any], rows: tuple[Any, Any], given: list[Any] | None) -> tuple[dict[str, Any], list[Any]]:
    """All that a fit leaves behind, and what was released; `given` answers take the place of those of the rows."""
    released: list[tuple[Any, Any]] = []

    def record(mechanism: Mechanism, sealed: Any, answer: Any) -> Any:
        if given is not None:
            answer = given[len(released)][1]
        released.append((sealed, answer))
        return answer

    with answers(record):
        model = make().fit(*rows)
    return {k: v for k, v in vars(model).items() if k not in model.get_params()}, released


def same(a: Any, b: Any) -> bool:
    """Whether two attributes are alike to the last bit."""
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if hasattr(a, "__dict__") and type(a).__module__.startswith("discreet"):
        return type(a) is type(b) and same(vars(a), vars(b))
    return repr(a) == repr(b)


def rows(seed: int, name: str, form: Callable[[Any], Any] = np.asarray) -> tuple[Any, Any]:
    """Random rows; another seed has nothing in common with it but the shape, and the labels that occur."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, P)) * np.exp(3 * rng.normal(size=(1, P)))
    y = rng.integers(0, 2, N) if issubclass(getattr(estimators, name), estimators.LogisticRegression) else None
    if name == "LinearSVC":
        y = rng.integers(0, 2, N)
    return form(X), y if y is not None else np.abs(rng.normal(size=N)) * np.exp(2 * rng.normal())


def leaks(name: str, form: Callable[[Any], Any] = np.asarray, **options: Any) -> set[str]:
    """The attributes of a fitted model that other rows change although every answer stays the same."""

    def make() -> Any:
        return getattr(estimators, name)(random_state=0, **options)

    first, released = fitted(make, rows(1, name, form), None)
    second, again = fitted(make, rows(2, name, form), released)
    assert len(again) == len(released) > 0
    for sealed, answer in released:
        if isinstance(sealed, Bounded) and isinstance(answer, np.ndarray) and answer.dtype.kind == "f":
            unit = float(sealed.unit)
            assert np.array_equal(np.rint(answer / unit) * unit, answer), "off its public grid"
    assert first.keys() == second.keys()
    return {key for key in first if not same(first[key], second[key])}


BOUNDS: list[Any] = ["private", "unit", (-1.0, 1.0)]


NAMES = [name for name in estimators.__all__ if name != "QuantileRegressor"]


@pytest.mark.parametrize("name", NAMES)
def test_estimators_hold_nothing_but_what_was_released(name: str) -> None:
    assert leaks(name) == set()


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["zero_out", "replace_one", "add_remove"])
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_whatever_the_bounds_and_the_relation(name: str, bounds: Any, relation: str) -> None:
    assert leaks(name, bounds=bounds, neighbors=relation) == set()


@pytest.mark.parametrize("name", ["LogisticRegression", "LinearRegression"])
def test_nor_with_sparse_rows_and_inference(name: str) -> None:
    assert leaks(name, sparse.csr_array, inference=True) == set()


def test_nor_does_a_quantile() -> None:
    assert leaks("QuantileRegressor", bounds=(-1.0, 1.0), bounds_y=(-4.0, 4.0)) == set()


TAKES = [
    {},
    {"penalty": L1Ball(1.0)},
    {"penalty": Sparsity(1, 1.0)},
    {"penalty": Sparsity(1, 1.0), "fit_intercept": False, "bounds_y": (-1.0, 1.0)},
]


@pytest.mark.parametrize("solver", solvers.names())
def test_no_solver_reads_beside_the_mechanisms(solver: str) -> None:
    taken = 0
    for name in ("LogisticRegression", "LinearRegression", "PoissonRegressor"):
        for options in TAKES:
            if "bounds_y" in options and name != "LinearRegression":
                continue
            try:
                assert leaks(name, bounds=(-1.0, 1.0), solver=solver, **options) == set()
            except solvers.base.Refusal:
                continue
            taken += 1
    assert taken, f"no setting suits {solver!r}: add one"


def test_the_alarm_rings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step count, an intercept and a bound that look at the rows are each found."""

    class Peeking(estimators.LogisticRegression):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            super().fit(X, y, sample_weight)
            self.intercept_ = self.intercept_ + 2.0**-40 * float(np.mean(X))
            self.n_iter_ = int(np.max(X) > 10)
            return self

    monkeypatch.setattr(estimators, "LogisticRegression", Peeking)
    found = leaks("LogisticRegression", bounds="unit")
    assert "intercept_" in found and found <= {"intercept_", "n_iter_"}


def test_and_where_the_curator_lets_a_row_through(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Curator.minimise
    seen: list[float] = []

    def peeking(self: Curator, *args: Any, **options: Any) -> Bounded:
        seen.append(float(next(iter(self._segments())).K[0, 0]))
        return original(self, *args, **options)

    monkeypatch.setattr(Curator, "minimise", peeking)
    monkeypatch.setattr(
        estimators.LogisticRegression, "_shaped", lambda self, coef, intercept: (coef + seen[-1] * 2.0**-50, intercept)
    )
    assert leaks("LogisticRegression", bounds="unit", solver="objective_perturbation") == {"coef_"}
