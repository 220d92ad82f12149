"""What rows may come in, and what is said when they can't be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from discreet.curator import ChunkedCurator, DenseCurator, RowBounds, SparseCurator, make_curator
from discreet.curator.tables import MemoryTable, open_table, register_table
from discreet.losses import SquaredLoss
from discreet.privacy import unseal

BOUNDS = RowBounds(l2=1.0, weight=2.0, y=(-1, 1))


def table(n: int = 50) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 3)) * 0.3, rng.uniform(-2, 2, n), rng.uniform(0, 3, n)


def answer(*args: Any, **more: Any) -> list[int]:
    c = make_curator(*args, bounds=BOUNDS, **more)
    from discreet.curator import Clip

    return unseal(c.gradient(SquaredLoss(), np.array([1.0, 2.0, -1.0]), Clip(1.0))).tolist()


def test_frames_and_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    X, y, w = table()
    plain = answer(X, y, sample_weight=w)
    columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}
    assert answer(pa.table(columns), y, sample_weight=w) == plain
    file = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"t": y, **columns, "w": w}), file, row_group_size=7)
    assert answer(file, "t", sample_weight="w") == plain
    assert answer(str(tmp_path), "t", sample_weight="w") == plain
    with pytest.raises(ValueError, match="column 'nope'"):
        answer(file, "nope")
    with pytest.raises(ValueError, match="no Parquet files"):
        make_curator(tmp_path / "sub", bounds=BOUNDS) if (tmp_path / "sub").mkdir() is None else None


def test_pandas() -> None:
    pd = pytest.importorskip("pandas")
    X, y, w = table()
    assert answer(pd.DataFrame(X), pd.Series(y), sample_weight=pd.Series(w)) == answer(X, y, sample_weight=w)


def test_each_storage_has_its_curator() -> None:
    X, y, _ = table()
    assert isinstance(make_curator(X, bounds=BOUNDS), DenseCurator)
    assert isinstance(make_curator(sp.coo_array(X), bounds=BOUNDS), SparseCurator)
    assert isinstance(make_curator([(X, y)], bounds=BOUNDS), ChunkedCurator)


def test_small_types_are_read_as_numbers() -> None:
    X = np.eye(3)
    plain = unseal(make_curator(X, bounds=BOUNDS).sum_rows()).tolist()
    for dtype in (bool, np.int8, np.float32, object):
        assert unseal(make_curator(X.astype(dtype), bounds=BOUNDS).sum_rows()).tolist() == plain


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, lambda X: [X[:2], X[2:]], lambda X: X.astype(object)])
def test_what_is_not_finite_is_refused_without_saying_where(bad: float, form: Any) -> None:
    X = np.ones((5, 3))
    X[3, 1] = bad
    with pytest.raises(ValueError, match="which rows is withheld") as caught:
        make_curator(form(X), bounds=BOUNDS).sum_rows()
    for word in ("nan", "inf ", "3", "row 3", "(3, 1)"):
        assert word not in str(caught.value)
    assert caught.value.__cause__ is None


def test_texts_are_refused_without_quoting_them() -> None:
    with pytest.raises(ValueError, match="non-numeric") as caught:
        make_curator(np.array([["secret", "2"]], dtype=object), bounds=BOUNDS)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None  # nor does the error behind it, which there isn't


def test_wrong_shapes_and_types() -> None:
    X, y, w = table()
    with pytest.raises(ValueError, match="one entry for each row"):
        make_curator(X, y[:-1], bounds=BOUNDS)
    with pytest.raises(ValueError, match="negative"):
        make_curator(X, y, bounds=BOUNDS, sample_weight=-w)
    with pytest.raises(ValueError, match="two dimensions"):
        make_curator(y, bounds=BOUNDS)
    with pytest.raises(ValueError, match="same columns"):
        make_curator([X, X[:, :2]], bounds=BOUNDS).sum_rows()
    with pytest.raises(ValueError, match="carry their own"):
        make_curator([X, X], y, bounds=BOUNDS)
    with pytest.raises(TypeError, match="aren't understood"):
        make_curator(3.0, bounds=BOUNDS)
    with pytest.raises(ValueError, match="public range"):
        make_curator(X, y, bounds=RowBounds(l2=1))
    with pytest.raises(ValueError, match="centring"):
        make_curator(sp.csr_array(X), bounds=RowBounds(low=0, high=1))
    with pytest.raises(ValueError, match="include 0"):
        make_curator(sp.csr_array(X), bounds=RowBounds(low=1, high=2, centre=0))


def test_a_sparse_matrix_that_lies_about_itself() -> None:
    data, columns, starts = np.array([0.5, 0.5, 0.5, 0.2]), np.array([1, 1, 0, 2]), np.array([0, 3, 4])
    twice = sp.csr_array((data, columns, starts), shape=(2, 3))
    twice.has_canonical_format = True
    twice.has_sorted_indices = True
    bounds = RowBounds(l2=0.7)
    plain = make_curator(np.array([[0.5, 1.0, 0.0], [0.0, 0.0, 0.2]]), bounds=bounds).sum_rows()
    assert unseal(make_curator(twice, bounds=bounds).sum_rows()).tolist() == unseal(plain).tolist()
    outside = sp.csr_array((data, columns, starts), shape=(2, 3))
    outside.indices[1] = 7
    with pytest.raises(ValueError, match="index arrays"):
        make_curator(outside, bounds=bounds)
    with pytest.raises(ValueError, match="non-numeric"):
        make_curator(sp.csr_array(np.eye(2) * 1j), bounds=bounds)


def test_another_type_can_be_registered() -> None:
    class Mine:
        pass

    register_table(lambda X: isinstance(X, Mine), lambda X, y, w: MemoryTable(np.eye(2), y, w))
    assert open_table(Mine()).n_features == 2


@pytest.mark.parametrize("shape", [(0, 3), (1, 3), (5, 1), (1, 1), (0, 1)])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_no_rows_one_row_one_column(shape: tuple[int, int], form: Any) -> None:
    X, y = np.full(shape, 0.5), np.ones(shape[0])
    c = make_curator(form(X), y, bounds=RowBounds(l2=1.0, y=(-1, 1)))
    assert unseal(c.count()).tolist() == [shape[0]]
    total = c.sum_rows()
    norm = max(1.0, 0.5 * np.sqrt(shape[1]))
    np.testing.assert_allclose(unseal(total) * float(total.unit), shape[0] * 0.5 / norm, atol=1e-3)
    assert unseal(c.second_moments()).shape == (shape[1] * (shape[1] + 1) // 2,)


def test_empty_rows_and_tiny_and_huge_numbers() -> None:
    X = np.array([[0.0, 0, 0], [5e-324, 0, 0], [1e300, -1e300, 0], [1.7e308, 1e300, 1e-300]])
    total = make_curator(X, bounds=RowBounds(l2=1.0)).sum_rows()
    half = np.sqrt(0.5)
    np.testing.assert_allclose(unseal(total) * float(total.unit), [half + 1, -half, 0], atol=1e-3)
