"""Laws of every curator: the same answer to the last bit from any storage, and no row moves it beyond its bound."""

from __future__ import annotations

import atexit
import importlib
import inspect
import pkgutil
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from discreet import curator
from discreet.curator import Clip, Curator, Cursor, RowBounds, Survey, make_curator, make_survey
from discreet.curator.blocks import gradient_blocks, half_step
from discreet.curator.classes import class_sums, entry_moments, own_margins
from discreet.curator.eigenvalue import smallest_eigenvalue
from discreet.curator.places import Places
from discreet.losses import LogisticLoss, SoftmaxLoss, SquaredLoss
from discreet.privacy import Bounded, Neighbours, PrivacyError, unseal
from discreet.randomness import SeededSource
from tests.curator.bounds import check, neighbours
from tests.laws import survey_questions
from tests.laws.survey_questions import SURVEYS, P

# --- storages: (X, y, w) to a curator -------------------------------------------------------------------------------


def blocks(size: int, form: Callable[[Any], Any] = np.asarray, lazy: bool = False) -> Callable[..., Any]:
    def split(X: Any, y: Any, w: Any) -> tuple[Any, Any, Any]:
        cuts = range(0, max(len(X), 1), size)
        parts = [(form(X[a : a + size]), y[a : a + size], w[a : a + size]) for a in cuts]
        return [lambda part=part: part for part in parts] if lazy else parts, None, None

    return split


def mixed(X: Any, y: Any, w: Any) -> tuple[Any, Any, Any]:
    return (
        [(sp.csr_array(X[:5]), y[:5], w[:5]), (X[5:6], y[5:6], w[5:6]), (sp.csc_array(X[6:]), y[6:], w[6:])],
        None,
        None,
    )


def shuffled(X: Any, y: Any, w: Any) -> tuple[Any, Any, Any]:
    order = np.random.default_rng(5).permutation(len(X))
    return X[order], y[order], w[order]


def repeated_entries(X: Any, y: Any, w: Any) -> tuple[Any, Any, Any]:
    """A sparse matrix that is not canonical: each entry as two halves, columns out of order."""
    c = sp.coo_array(X)
    order = np.random.default_rng(6).permutation(2 * c.nnz)
    data, row, col = (np.concatenate(v)[order] for v in ([c.data / 2] * 2, [c.row] * 2, [c.col] * 2))
    return sp.coo_array((data, (row, col)), shape=c.shape), y, w


def row_groups(X: Any, y: Any, w: Any) -> tuple[Any, Any, Any]:
    """Two Parquet files in a folder, of row groups of nine rows and a short last one."""
    folder = Path(tempfile.mkdtemp(prefix="discreet-laws-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    half = len(X) // 2 + 1
    for name, at in (("a", slice(0, half)), ("b", slice(half, None))):
        columns = {f"x{j}": X[at, j] for j in range(X.shape[1])} | {"y": y[at], "w": w[at]}
        parquet.write_table(pa.table(columns), folder / f"{name}.parquet", row_group_size=9)
    return folder, "y", "w"


STORAGES: dict[str, Callable[..., tuple[Any, Any, Any]]] = {
    "fortran": lambda X, y, w: (np.asfortranarray(X), y, w),
    "strided": lambda X, y, w: (np.repeat(X, 2, axis=0)[::2], y, w),
    "lists": lambda X, y, w: (X.tolist(), y.tolist(), w.tolist()),
    "csr": lambda X, y, w: (sp.csr_array(X), y, w),
    "csc": lambda X, y, w: (sp.csc_matrix(X), y, w),
    "not canonical": repeated_entries,
    "blocks of 1": blocks(1),
    "blocks of 7": blocks(7),
    "csr blocks of 64": blocks(64, sp.csr_array),
    "lazy blocks of 1000": blocks(1000, lazy=True),
    "mixed blocks": mixed,
    "row groups": row_groups,
    "permuted": shuffled,
}

BOUNDS = {
    "l2": RowBounds(l2=1.5),
    "l2 and constant": RowBounds(l2=1.0, intercept=0.3),
    "linf": RowBounds(linf=0.7, intercept=1.0),
    "l1": RowBounds(l1=2.0, scale=np.arange(1.0, P + 1)),
    "all": RowBounds(l1=3.0, l2=1.0, linf=0.5, bits=12),
    "box": RowBounds(low=-1, high=np.arange(1.0, P + 1), centre=0, intercept=1.0),
    "weights": RowBounds(l2=1.0, weight=1.7),
}

# --- statistics: a curator to sealed answers ------------------------------------------------------------------------

THETA = np.linspace(-2, 1, P + 1)


def model(c: Curator, k: int = 1) -> Any:
    theta = THETA[: c.n_weights]
    return theta if k == 1 else np.outer(np.arange(1, k + 1), theta)


def moved(c: Curator, clip: Clip | None) -> Bounded:
    cursor = c.cursor(LogisticLoss(), model(c))
    for j, delta in ((0, 0.7), (2, -1.3), (0, 1e-3), (c.n_weights - 1, 4.0)):
        cursor.move(j, delta)
    return cursor.partial(2, clip)


def each_clipped(c: Curator) -> Clip:
    return Clip(np.linspace(0.1, 0.5, c.n_weights), norm="per_coordinate")


STATISTICS: dict[str, Callable[[Curator], Bounded]] = {
    "count": lambda c: c.count(),
    "rows": lambda c: c.sum_rows(),
    "rows, l1 clip": lambda c: c.sum_rows(Clip(0.4, norm="l1")),
    "logistic": lambda c: c.gradient(LogisticLoss(), model(c)),
    "logistic, l2 clip": lambda c: c.gradient(LogisticLoss(), model(c), Clip(0.1)),
    "logistic, drop": lambda c: c.gradient(LogisticLoss(), model(c), Clip(0.3, mode="drop")),
    "squared, l2": lambda c: c.gradient(SquaredLoss(), model(c), Clip(0.4)),
    "squared, l1": lambda c: c.gradient(SquaredLoss(), model(c), Clip(0.4, norm="l1")),
    "squared, linf": lambda c: c.gradient(SquaredLoss(), model(c), Clip(0.05, norm="linf")),
    "squared, linf drop": lambda c: c.gradient(SquaredLoss(), model(c), Clip(1.5, norm="linf", mode="drop")),
    "squared, slope": lambda c: c.gradient(SquaredLoss(), model(c), Clip(0.3, norm="slope")),
    "squared, coordinates": lambda c: c.gradient(SquaredLoss(), model(c), each_clipped(c)),
    "squared, coordinates drop": lambda c: c.gradient(SquaredLoss(), model(c), Clip(0.3, "per_coordinate", "drop")),
    "softmax": lambda c: c.gradient(SoftmaxLoss(3), model(c, 3)),
    "softmax, l2": lambda c: c.gradient(SoftmaxLoss(3), model(c, 3), Clip(0.2)),
    "softmax, l1": lambda c: c.gradient(SoftmaxLoss(3), model(c, 3), Clip(0.2, norm="l1")),
    "softmax, linf drop": lambda c: c.gradient(SoftmaxLoss(3), model(c, 3), Clip(0.6, norm="linf", mode="drop")),
    "objective": lambda c: c.objective(LogisticLoss(), np.outer([0.0, 1.0, -2.0], model(c)), clip=1.5),
    "difference": lambda c: c.gradient(LogisticLoss(), model(c), reference=-0.3 * model(c)),
    "difference, slope": lambda c: c.gradient(SquaredLoss(), model(c), Clip(0.3, "slope"), reference=0.5 * model(c)),
    "difference, softmax": lambda c: c.gradient(SoftmaxLoss(3), model(c, 3), Clip(0.2), reference=-model(c, 3)),
    "column squares": lambda c: c.column_squares(),
    "steepness": lambda c: c.steepness(LogisticLoss(), model(c), np.linspace(0.3, 50.0, c.n_weights)),
    "steepness, clipped": lambda c: c.steepness(SquaredLoss(), model(c), 1.0, each_clipped(c)),
    "second moments": lambda c: c.second_moments(),
    "hessian": lambda c: c.second_moments(LogisticLoss(), model(c)),
    "sandwich": lambda c: c.sandwich(LogisticLoss(), model(c), (1.0, 0.95)),
    "sandwich, squared": lambda c: c.sandwich(SquaredLoss(), model(c), (1.0, 1.0), 0.3),
    "scores": lambda c: c.sandwich(SquaredLoss(), model(c), (1.0, 0.0), 0.3),
    "partial": lambda c: moved(c, None),
    "partial, clipped": lambda c: moved(c, Clip(0.01, norm="per_coordinate")),
    "partial, softmax": lambda c: c.cursor(SoftmaxLoss(3), model(c, 3)).partial(c.n_weights + 1, Clip(0.3)),
    "norms": lambda c: c.norm_histogram([0.2, 0.8, 1.1]),
    "slopes": lambda c: c.slope_histogram(LogisticLoss(), model(c), [0.2, 0.8]),
    "class sums": lambda c: class_sums(c, 2),
    "class sums of cut rows": lambda c: class_sums(c, 2, max(c.grid.feature_linf // 3, 2), c.grid.feature_linf // 5),
    "entry moments": lambda c: entry_moments(c),
    "own margins": lambda c: own_margins(c, np.outer([-1, 1], THETA[: c.n_features]), [0.1, 0.0], [-0.3, 0.4]),
    "blocks": lambda c: gradient_blocks(c, LogisticLoss(), model(c))[0],
    "half step": lambda c: half_step(c, SquaredLoss(), model(c), (0.5, 0.25), 0.4)[0],
    "transformed": lambda c: c.transformed(np.ones((2, c.n_features)) / 3, RowBounds(l2=0.5)).gradient(
        LogisticLoss(), np.array([1.0, -2.0])
    ),
    "transformed, weighed": lambda c: c.transformed(
        np.eye(c.n_features)[::-1], RowBounds(l2=9.0, intercept=0.1), weight_norm=0.4
    ).gradient(LogisticLoss(), THETA[: c.n_features + 1], Clip(0.4)),
}


def data(n: int, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, P)) * np.exp(rng.normal(size=(n, 1))) * (rng.random((n, P)) < 0.6)
    X[:: max(n // 5, 1)] = 0.0
    return X, rng.choice([-1.0, 1.0], n), np.where(rng.random(n) < 0.1, 0.0, rng.gamma(2.0, 0.7, n))


def answer(c: Curator, statistic: str) -> list[int]:
    return [int(v) for v in unseal(STATISTICS[statistic](c))]


def build(data: tuple[Any, Any, Any], bounds: RowBounds, **more: Any) -> Curator:
    X, y, w = data
    return make_curator(X, y, bounds=bounds, sample_weight=w, **more)


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("bounds", BOUNDS)
def test_every_storage_gives_the_same_bits(bounds: str, statistic: str) -> None:
    rows = data(80)
    plain = answer(build(rows, BOUNDS[bounds]), statistic)
    assert any(plain), "a statistic that is zero here compares nothing"
    for name, storage in STORAGES.items():
        assert answer(build(storage(*rows), BOUNDS[bounds]), statistic) == plain, name


@pytest.mark.parametrize("statistic", STATISTICS)
def test_threads_and_tiles_change_no_bit(statistic: str) -> None:
    rows = data(20_000, seed=1)  # several tiles, the last one short
    plain = answer(build(rows, BOUNDS["l2 and constant"]), statistic)
    for name in ("csr", "blocks of 7", "permuted") if statistic != "partial" else ("csr", "permuted"):
        stored = (blocks(3001) if name == "blocks of 7" else STORAGES[name])(*rows)
        assert answer(build(stored, BOUNDS["l2 and constant"], n_threads=2), statistic) == plain, name
    assert answer(build(rows, BOUNDS["l2 and constant"], n_threads=2), statistic) == plain


RANDOM: dict[str, Callable[[Curator], Bounded]] = {  # rows chosen by position or by coins in the order of the rows
    "batch": lambda c: c.batch(0.4, SeededSource(1)).gradient(LogisticLoss(), model(c)),
    "fixed batch": lambda c: c.fixed_batch(33, SeededSource(2)).sum_rows(),
    "part": lambda c: c.parts(3)[1].second_moments(),
    "part by coins": lambda c: c.parts(3, SeededSource(3))[2].sum_rows(),
    "part of a batch": lambda c: c.batch(0.4, SeededSource(4)).parts(2, SeededSource(5))[0].count(),
    "mapped batch": lambda c: c.batch(0.4, SeededSource(6)).transformed(
        np.ones((2, c.n_features)), RowBounds(l2=1.0)
    ).sum_rows(),
    "smallest eigenvalue": smallest_eigenvalue,
}  # fmt: skip


@pytest.mark.parametrize("statistic", RANDOM)
@pytest.mark.parametrize("bounds", ["l2 and constant", "box", "weights"])
def test_batches_and_parts_are_the_same_rows_of_every_storage(bounds: str, statistic: str) -> None:
    rows = data(80, seed=3)
    plain = unseal(RANDOM[statistic](build(rows, BOUNDS[bounds]))).tolist()
    assert any(plain)
    for name, storage in STORAGES.items():
        if name != "permuted":
            assert unseal(RANDOM[statistic](build(storage(*rows), BOUNDS[bounds]))).tolist() == plain, name
        assert unseal(RANDOM[statistic](build(rows, BOUNDS[bounds], n_threads=2))).tolist() == plain


@pytest.mark.parametrize("storage", STORAGES)
def test_minima_agree_to_the_tolerance_that_is_paid_for(storage: str) -> None:
    """The one statistic that is worked out in floats: twice its error, and a grid unit, for the worst of storages."""
    rows = data(80, seed=4)
    found = []
    for stored in (rows, STORAGES[storage](*rows)):
        theta = build(stored, BOUNDS["l2 and constant"]).minimise(LogisticLoss(), 2.0, tau=1e-7)
        found.append(unseal(theta) * float(theta.unit))
    assert np.linalg.norm(found[0] - found[1]) <= 2 * 1e-7 / 2.0 + float(theta.unit) * np.sqrt(P + 1)


# --- neighbours -----------------------------------------------------------------------------------------------------

entries = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 5e-324, -1e-310, 1e300, -1e300, 1.7e308, 1e-5, 3.3, 2.0**-17]),
    st.floats(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
)
row = st.lists(entries, min_size=P, max_size=P)


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(list(Neighbours)),
    st.sampled_from(list(BOUNDS)),
    st.sampled_from([s for s in STATISTICS if s != "count"]),
    st.lists(row, max_size=5),
    row,
    st.sampled_from([-1.0, 1.0]),
    st.sampled_from([1.0, 0.3, 1e9]),
    st.integers(0, 5),
    st.sampled_from(["fortran", "csr"]),
)
def test_no_row_moves_a_statistic_beyond_its_bound(
    relation: Neighbours, bounds: str, statistic: str, rest: Any, z: Any, y: float, w: float, at: int, storage: str
) -> None:
    X = np.array(rest, dtype=float).reshape(-1, P)
    rows = (X, np.where(np.arange(len(X)) % 2, 1.0, -1.0), np.ones(len(X)))
    stored = [STORAGES[storage](*d) for d in neighbours(relation, rows, np.array(z), y, w, at)]
    one, other = (STATISTICS[statistic](build(d, BOUNDS[bounds], neighbors=relation)) for d in stored)
    check(one, other)


@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("statistic", [s for s in STATISTICS if s not in ("norms", "slopes")])
def test_bounds_are_nearly_reached(relation: Neighbours, statistic: str) -> None:
    """A bound far above what any row does would waste noise: some row comes to within a factor of the bound."""
    rng = np.random.default_rng(7)
    rows = (np.zeros((2, P)), np.ones(2), np.ones(2))
    best = 0.0
    rest = [s * np.eye(P)[j] * 50 for j in (0, 2, 5) for s in (1, -1)] + [
        50.0 * rng.choice([-1, 1], P) for _ in range(8)
    ]
    for bounds in ("l2", "linf"):
        for z in rest:
            for y in (-1.0, 1.0):
                pair = neighbours(relation, rows, z, y, 5.0, 0)
                one, other = (STATISTICS[statistic](build(d, BOUNDS[bounds], neighbors=relation)) for d in pair)
                best = max(best, check(one, other))
    still = dict.fromkeys(("count", "transformed"), 0.0)  # a replaced row still counts as one
    tight = {**still, "difference": 0.1, "partial, softmax": 0.1}.get(statistic, 0.2)
    assert best >= (tight if relation is Neighbours.REPLACE_ONE else 0.3)


# --- surveys --------------------------------------------------------------------------------------------------------

PUBLIC_N_ONLY = {"tournament"}


def survey(rows: Any, **more: Any) -> Any:
    return make_survey(rows[0], rows[1], sample_weight=rows[2], **more)


@pytest.mark.parametrize("question", SURVEYS)
def test_every_storage_gives_the_same_survey(question: str) -> None:
    rows = data(5000, seed=2)
    plain = unseal(SURVEYS[question](survey(rows))).tolist()
    assert sum(plain) > 0
    for name in ("fortran", "csr", "csc", "not canonical", "blocks of 7", "mixed blocks", "row groups", "permuted"):
        assert unseal(SURVEYS[question](survey(STORAGES[name](*rows)))).tolist() == plain, name


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(list(Neighbours)), st.sampled_from(list(SURVEYS)), st.lists(row, max_size=4), row, st.booleans())
def test_no_row_moves_a_survey_beyond_its_bound(
    relation: Neighbours, question: str, rest: Any, z: Any, sparse: bool
) -> None:
    if question in PUBLIC_N_ONLY and not relation.public_n:
        with pytest.raises(PrivacyError, match="public number of rows"):
            SURVEYS[question](survey((np.zeros((2, P)), np.ones(2), np.ones(2)), neighbors=relation))
        return
    X = np.array(rest, dtype=float).reshape(-1, P)
    rows = (X, np.ones(len(X)), np.ones(len(X)))
    pair = neighbours(relation, rows, np.array(z), 1.0, 1.0, 1)
    one, other = (
        SURVEYS[question](survey((sp.csr_array(d[0]) if sparse else d[0], *d[1:]), neighbors=relation)) for d in pair
    )
    check(one, other)


# --- nothing is left out --------------------------------------------------------------------------------------------


def asked(monkeypatch: pytest.MonkeyPatch) -> tuple[set[str], set[str]]:
    """What the curator's rooms offer that comes back sealed, and which of it the laws above ask for."""
    offered: set[str] = set()
    called: set[str] = set()

    def noted(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        offered.add(name)

        def ask(*args: Any, **options: Any) -> Any:
            called.add(name)
            return original(*args, **options)

        return ask

    for kind in (*Curator.__mro__[:-1], Survey, Cursor, Places):
        for name, method in list(vars(kind).items()):
            if not name.startswith("_") and "Bounded" in str(getattr(method, "__annotations__", {}).get("return", "")):
                monkeypatch.setattr(kind, name, noted(name, method))
    for module in pkgutil.iter_modules(curator.__path__):
        room = importlib.import_module(f"{curator.__name__}.{module.name}")
        for name in room.__all__:
            function = getattr(room, name)
            if inspect.isfunction(function) and "Bounded" in str(function.__annotations__["return"]):
                replaced = noted(name, function)
                monkeypatch.setattr(room, name, replaced)
                for asker in (sys.modules[__name__], survey_questions):
                    if hasattr(asker, name):
                        monkeypatch.setattr(asker, name, replaced)
    rows = data(40)
    for statistic in (*STATISTICS.values(), *RANDOM.values()):
        statistic(build(rows, BOUNDS["l2"]))
    for question in SURVEYS.values():
        question(survey(rows))
    build(rows, BOUNDS["l2"]).minimise(LogisticLoss(), 1.0)  # its law is the one of minima
    return offered, called


def test_every_statistic_that_is_offered_obeys_the_laws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RANDOM, "smallest eigenvalue", lambda c: smallest_eigenvalue(c))  # by its name, looked up late
    offered, called = asked(monkeypatch)
    assert len(offered) >= 24
    assert offered == called, f"add {sorted(offered - called)} to the statistics above"
