"""What the rows came in: a registry from input types to tables, which hand out raw blocks of rows."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = ["Block", "BlockTable", "MemoryTable", "ParquetTable", "Table", "open_table", "register_table"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Block:
    """Raw rows with their targets and weights; every number is finite, and nothing is clipped yet."""

    X: Any  # a two-dimensional array of real numbers, or a canonical csr_array of float64
    y: Floats | None
    weight: Floats | None

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    @property
    def sparse(self) -> bool:
        """Whether the rows are stored as CSR."""
        return sp.issparse(self.X)


class Table(ABC):
    """Rows as they came: a column count and blocks of rows, which may be read any number of times."""

    n_features: int
    weighted: bool

    @abstractmethod
    def pieces(self) -> Sequence[Callable[[], Block]]:
        """The rows in order, in pieces that are read and checked when called."""

    @property
    def resident(self) -> bool:
        """Whether the rows are one block, held in memory."""
        return False


def _refuse(what: str) -> ValueError:
    return ValueError(
        f"{what} holds missing, infinite or non-numeric entries (which rows is withheld: it would depend on private "
        "data); say how to read missing values with discreet.preprocessing.Schema, or drop such rows by a public rule"
    )


def _numbers(value: Any, what: str) -> NDArray[Any]:
    if hasattr(value, "to_numpy") and not isinstance(value, np.ndarray):
        value = value.to_numpy()
    out: NDArray[Any] | None = None
    with contextlib.suppress(TypeError, ValueError, OverflowError):  # these quote a value: not even kept as a cause
        out = np.asarray(value)
        if out.dtype.kind not in "fiubc":
            out = np.asarray(value, dtype=np.float64)
    if out is None or out.dtype.kind not in "fiub" or (out.dtype.kind == "f" and not _all_finite(out)):
        raise _refuse(what)
    return out


def _all_finite(x: NDArray[Any]) -> bool:
    flat = x.reshape(-1) if x.flags.c_contiguous else x.T.reshape(-1) if x.flags.f_contiguous else x.ravel()
    return all(bool(np.isfinite(flat[i : i + 2**16]).all()) for i in range(0, flat.size, 2**16))


def _column(value: Any, n: int, what: str) -> Floats | None:
    if value is None:
        return None
    out = _numbers(value, what).astype(np.float64)
    if out.shape != (n,):
        raise ValueError(f"{what} must have one dimension and one entry for each row of X")
    return np.ascontiguousarray(out)


def _canonical(X: Any) -> Any:
    """CSR of float64 with rising column indices, each once in a row: norms of rows and compiled loops rely on it.

    What the matrix says about itself is checked anew, since a flag may be out of date.
    """
    if X.dtype.kind not in "fiub":
        raise _refuse("X")
    csr = X.tocsr()
    rows: Any = sp.csr_array((csr.data.astype(np.float64, copy=False), csr.indices, csr.indptr), shape=csr.shape)
    try:
        rows.check_format(full_check=True)
    except ValueError:
        raise ValueError("X is not a valid sparse matrix: its index arrays don't fit together") from None
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    if not _all_finite(rows.data):
        raise _refuse("X")
    return rows


def make_block(X: Any, y: Any, weight: Any) -> Block:
    """Check raw rows and bring them to one of two forms: a numpy matrix, or canonical CSR."""
    if sp.issparse(X):
        matrix: Any = _canonical(X)
    else:
        matrix = _numbers(X, "X")
        if matrix.ndim != 2:
            raise ValueError(f"X must have two dimensions, rows and features; got {matrix.ndim}")
    n = matrix.shape[0]
    w = _column(weight, n, "sample_weight")
    if w is not None and (w < 0).any():
        raise ValueError("sample_weight must not be negative")
    return Block(matrix, _column(y, n, "y"), w)


class MemoryTable(Table):
    """A numpy-like or scipy.sparse matrix in memory."""

    def __init__(self, X: Any, y: Any = None, weight: Any = None) -> None:
        self._block = make_block(X, y, weight)
        self.n_features = int(self._block.X.shape[1])
        self.weighted = weight is not None

    def pieces(self) -> Sequence[Callable[[], Block]]:
        return [lambda: self._block]

    @property
    def resident(self) -> bool:
        return True


class BlockTable(Table):
    """A sequence of blocks: each ``X``, ``(X, y)`` or ``(X, y, sample_weight)``, or a function that makes it."""

    def __init__(self, items: Sequence[Any]) -> None:
        if not len(items):
            raise ValueError("a sequence of blocks needs at least one block, or its columns are unknown")
        self._items = items
        first = self._load(0)
        self.n_features = int(first.X.shape[1])
        self.weighted = first.weight is not None
        self._shape = (self.n_features, first.y is None, first.weight is None)

    def _load(self, i: int) -> Block:
        item = self._items[i]
        parts = item() if callable(item) else item
        return make_block(*((*parts, None, None)[:3] if isinstance(parts, tuple) else (parts, None, None)))

    def _checked(self, i: int) -> Block:
        block = self._load(i)
        if (int(block.X.shape[1]), block.y is None, block.weight is None) != self._shape:
            raise ValueError("all blocks must have the same columns, and all or none of them y and sample_weight")
        return block

    def pieces(self) -> Sequence[Callable[[], Block]]:
        return [partial(self._checked, i) for i in range(len(self._items))]


class ParquetTable(Table):
    """The row groups of a Parquet file (or of every file in a folder), read one at a time."""

    def __init__(self, path: str | Path, y: str | None = None, weight: str | None = None) -> None:
        import pyarrow.parquet as pq

        root = Path(path)
        files = sorted(root.glob("*.parquet")) if root.is_dir() else [root]
        if not files:
            raise ValueError(f"no Parquet files in {root}")
        self._files = [pq.ParquetFile(f) for f in files]
        names = list(self._files[0].schema_arrow.names)
        for name in (y, weight):
            if name is not None and name not in names:
                raise ValueError(f"column {name!r} is not in {root}; its columns are {names}")
        self._features = [n for n in names if n not in (y, weight)]
        self._y, self._weight = y, weight
        self.n_features, self.weighted = len(self._features), weight is not None

    def pieces(self) -> Sequence[Callable[[], Block]]:
        return [partial(self._read, file, i) for file in self._files for i in range(file.num_row_groups)]

    def _read(self, file: Any, i: int) -> Block:
        group = file.read_row_group(i)
        columns = [_numbers(group.column(n), "X") for n in self._features]
        return make_block(
            np.column_stack(columns) if columns else np.zeros((group.num_rows, 0)),
            group.column(self._y) if self._y is not None else None,
            group.column(self._weight) if self._weight is not None else None,
        )


Opener = Callable[[Any, Any, Any], Table]
_OPENERS: list[tuple[Callable[[Any], bool], Opener]] = []


def register_table(matches: Callable[[Any], bool], opener: Opener) -> None:
    """Let :func:`open_table` accept one more type; the latest registration is asked first."""
    _OPENERS.insert(0, (matches, opener))


def open_table(X: Any, y: Any = None, sample_weight: Any = None) -> Table:
    """The table for rows of any registered type.

    >>> import numpy as np
    >>> open_table(np.ones((3, 2))).n_features
    2
    >>> open_table([(np.ones((3, 2)), np.ones(3)), (np.ones((1, 2)), np.ones(1))]).n_features
    2
    """
    for matches, opener in _OPENERS:
        if matches(X):
            return opener(X, y, sample_weight)
    raise TypeError(
        f"rows of type {type(X).__name__} aren't understood; give an array, a sparse matrix, blocks, a path"
    )


def _is_blocks(X: Any) -> bool:
    """A list of arrays, tuples or functions is a sequence of blocks; a list of lists of numbers is a matrix."""

    def is_block(b: Any) -> bool:
        return callable(b) or getattr(b[0] if isinstance(b, tuple) and b else b, "ndim", 0) == 2

    return isinstance(X, (list, tuple)) and len(X) > 0 and all(is_block(b) for b in X)


def _open_blocks(X: Any, y: Any, weight: Any) -> Table:
    if y is not None or weight is not None:
        raise ValueError("blocks carry their own y and sample_weight: give (X, y) or (X, y, sample_weight) per block")
    return BlockTable(X)


def _is_matrix(X: Any) -> bool:
    return sp.issparse(X) or hasattr(X, "__array__") or hasattr(X, "to_numpy") or isinstance(X, (list, tuple))


def _open_arrow(X: Any, y: Any, weight: Any) -> Table:
    return MemoryTable(np.column_stack([_numbers(c, "X") for c in X.itercolumns()]), y, weight)


register_table(_is_matrix, MemoryTable)
register_table(_is_blocks, _open_blocks)
register_table(lambda X: isinstance(X, (str, Path)), ParquetTable)
register_table(lambda X: hasattr(X, "itercolumns") and hasattr(X, "schema"), _open_arrow)
