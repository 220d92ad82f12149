"""One column of a table of any kind, with its missing values found; errors never say what a row holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["labels", "names_of", "numbers", "picked"]

Floats = NDArray[np.float64]


def names_of(table: Any) -> list[Any] | None:
    """The columns' names, which are public; None for an array, whose columns have numbers.

    >>> names_of({"age": [30], "sex": ["f"]}), names_of(np.ones((1, 2)))
    (['age', 'sex'], None)
    """
    if isinstance(table, Mapping):
        return list(table)
    names = getattr(table, "column_names", None)
    if names is None:
        names = getattr(table, "columns", None)
    return None if names is None else list(names)


def picked(table: Any, name: Any) -> Any:
    """The column of that name, or of that number in an array.

    >>> picked({"age": [30, 40]}, "age")
    [30, 40]
    """
    names = names_of(table)
    if names is not None:
        if name not in names:
            raise ValueError(f"the table has no column {name!r}; its columns are {names}")
        return table[name]
    rows = np.asarray(table)
    if rows.ndim != 2:
        raise ValueError(f"a table of {rows.ndim} dimensions: give a data frame, a dict of columns or rows and columns")
    if not isinstance(name, (int, np.integer)):
        raise ValueError(f"column {name!r} has a name, and an array has none: use numbers from 0, or give a data frame")
    if not 0 <= name < rows.shape[1]:
        raise ValueError(f"the table has no column {name}; it has {rows.shape[1]}, numbered from 0")
    return rows[:, name]


def _objects(column: Any) -> list[Any]:
    """Python values; anything that means 'missing' as None."""
    if isinstance(column, np.ma.MaskedArray):
        values = column.tolist()
    elif hasattr(column, "to_pylist"):  # pyarrow
        values = column.to_pylist()
    elif hasattr(column, "to_list"):  # pandas, polars
        values = column.to_list()
    else:
        values = np.asarray(column, dtype=object).ravel().tolist()
    return [None if _missing(v) else v for v in values]


def _missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and value != value


def numbers(column: Any, name: Any) -> Floats:
    """A numeric column, NaN where a value is missing.

    >>> numbers([1, None, 2.5], "age")
    array([1. , nan, 2.5])
    """
    plain = np.asarray(column) if isinstance(column, np.ndarray) and not np.ma.isMaskedArray(column) else None
    if plain is not None and plain.dtype.kind in "fiub":
        return plain.astype(np.float64).ravel()
    try:
        return np.array([np.nan if v is None else _number(v) for v in _objects(column)], dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"column {name!r} holds entries that aren't numbers (which ones is withheld: it would depend on private "
            "data); declare it Categorical or Hashed, or turn it into numbers by a public rule first"
        ) from None


def _number(value: Any) -> float:
    if isinstance(value, (str, bytes)):
        raise TypeError("text")
    return float(value)


def labels(column: Any, name: Any) -> list[Any]:
    """A column of categories as Python values, None where one is missing.

    >>> labels(np.array(["f", None, "m"], dtype=object), "sex")
    ['f', None, 'm']
    """
    values = _objects(column)
    try:
        set(values)
    except TypeError:
        raise ValueError(f"column {name!r} holds entries that can't be told apart: give numbers or strings") from None
    return values
