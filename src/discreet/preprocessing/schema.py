"""A table's columns, said in advance: numbers within bounds, categories, missing values; a scikit-learn transformer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from dp_accounting import dp_event
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from discreet.accounting.events import ApproximateDpEvent, PureDpEvent
from discreet.moments.release import Promise
from discreet.preprocessing.columns import Categorical, Hashed, Numeric, Paid
from discreet.preprocessing.purchases import centre_of, one_row_each, purse_of
from discreet.preprocessing.reading import labels, numbers, picked
from discreet.privacy import Budget
from discreet.randomness import source_for

__all__ = ["Schema"]

Floats = NDArray[np.float64]
Column = Numeric | Categorical | Hashed
KINDS: dict[str, Any] = {"Numeric": Numeric, "Categorical": Categorical, "Hashed": Hashed}
FORMAT = "discreet schema"


class Schema(TransformerMixin, BaseEstimator):
    """What each column of a table is, and how it becomes numbers within public bounds.

    ``transform`` is a rule for each row alone, so a model fitted to what comes out promises what it says.  ``fit``
    reads nothing from the rows but the constants for missing values that are declared :class:`Paid`.

    Parameters
    ----------
    columns : dict
        From a column's name (its number, for arrays) to a :class:`Numeric`, :class:`Categorical` or :class:`Hashed`.
        Columns of the table that aren't named are left out.
    epsilon : float, optional
        What may be spent on all constants that are ``Paid``; it comes on top of what a model spends.
    delta : float or "auto", default=0.0
        Goes with `epsilon`; 0 is pure differential privacy, ``"auto"`` is ``min(1e-6, 1 / (10 n))``.
    neighbors : {"zero_out", "replace_one", "add_remove"}
        What counts as one row's difference.
    sparse_output : bool, default=False
        Whether rows come out as CSR, for wide hashed columns.
    random_state : None or int
        None draws noise from the operating system.  An int repeats the noise and voids the promise.

    Attributes
    ----------
    constants_ : dict
        What stands for missing values in each numeric column, in the column's own units.
    privacy_ : Promise
        What was promised and spent.

    Notes
    -----
    *Privacy.* Guarantee: `epsilon` and `delta` for ``fit``, zero where nothing is ``Paid``; ``transform`` is a map of
    each row by itself.  Neighbours: `neighbors`.  Public: `columns`.  Bounded by: the bounds given.
    Proof: ``proofs/people.md``.

    Examples
    --------
    >>> table = {"age": [34, None, 71], "sex": ["f", "m", None]}
    >>> schema = Schema({"age": Numeric(18, 90, missing=50), "sex": Categorical(["f", "m"], missing="none")})
    >>> schema.fit_transform(table)
    array([[34.,  1.,  0.,  0.],
           [50.,  0.,  1.,  0.],
           [71.,  0.,  0.,  0.]])
    >>> schema.get_feature_names_out().tolist(), schema.bounds[1].tolist()
    (['age', 'sex_f', 'sex_m', 'sex_other'], [90.0, 1.0, 1.0, 1.0])
    >>> schema.privacy_.epsilon
    0.0
    """

    def __init__(
        self,
        columns: Mapping[Any, Column],
        *,
        epsilon: float | None = None,
        delta: float | Literal["auto"] = 0.0,
        neighbors: str = "zero_out",
        sparse_output: bool = False,
        random_state: Any = None,
    ) -> None:
        self.columns = columns
        self.epsilon = epsilon
        self.delta = delta
        self.neighbors = neighbors
        self.sparse_output = sparse_output
        self.random_state = random_state

    # what is public --------------------------------------------------------------------------------------------------
    def _checked(self) -> dict[Any, Column]:
        columns = dict(self.columns)
        if not columns:
            raise ValueError("columns={} says nothing; give a dict from names to Numeric, Categorical or Hashed")
        for name, column in columns.items():
            if not isinstance(column, (Numeric, Categorical, Hashed)):
                raise TypeError(f"column {name!r} is declared {column!r}; give a Numeric, Categorical or Hashed")
        return columns

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Public bounds of what comes out, for the ``bounds=`` of an estimator; known before any fit.

        Those of sparse rows contain zero, since a zero isn't stored.
        """
        low, high = np.hstack([column.limits() for column in self._checked().values()])
        return (np.minimum(low, 0.0), np.maximum(high, 0.0)) if self.sparse_output else (low, high)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The names of the columns that come out."""
        del input_features
        names = [n for key, column in self._checked().items() for n in column.names(_text(key))]
        twice = sorted({n for n in names if names.count(n) > 1}) if len(set(names)) < len(names) else []
        if twice:
            raise ValueError(f"columns named {twice} would come out twice; rename a column or a category")
        return np.array(names, dtype=object)

    # what is bought --------------------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Buy the constants that are ``Paid``; where there are none, read nothing.

        Parameters
        ----------
        X : data frame, pyarrow table, dict of columns, or array
            The table.
        y : None
            Not used.
        groups : array of shape (n_samples,), optional
            Whose row each one is: one row of each person is used, chosen at random.

        Returns
        -------
        self
            The fitted schema.
        """
        del y
        columns = self._checked()
        self.get_feature_names_out()
        read = {key: picked(X, key) for key in columns}
        paid: dict[Any, Numeric] = {
            k: c for k, c in columns.items() if isinstance(c, Numeric) and isinstance(c.missing, Paid)
        }
        if paid and self.epsilon is None:
            raise ValueError(
                f"columns {list(paid)} have constants that are Paid: give Schema(..., epsilon=) for them, 0.1 say"
            )
        self.n_features_in_ = len(columns)
        self.constants_ = {
            k: float(c.missing)
            for k, c in columns.items()
            if isinstance(c, Numeric) and isinstance(c.missing, (int, float))
        }
        self.privacy_ = Promise(Budget(0, neighbors=self.neighbors), dp_event.NoOpDpEvent(), ("columns: public",))
        if paid:
            self._buy(paid, read, groups)
        return self

    def _buy(self, paid: dict[Any, Numeric], read: dict[Any, Any], groups: Any) -> None:
        source = source_for(self.random_state)
        values = {key: numbers(read[key], key) for key in paid}
        n_rows = len(next(iter(values.values())))
        at = one_row_each(groups, n_rows, source)
        purse = purse_of(self.epsilon, self.delta, len(at), self.neighbors, source)
        notes = ["columns: public"]
        if groups is not None:
            notes.append("rows per person: public (one of each person's, chosen at random; the promise counts persons)")
        for (key, column), share in zip(paid.items(), purse.shares([1] * len(paid)), strict=True):
            low, high = (float(v) for v in column.limits()[:, 0])
            what = column.missing.what if isinstance(column.missing, Paid) else "median"
            found = centre_of(column.scaled(values[key][at]), (low, high), what, self.neighbors, share)
            self.constants_[key] = column.unscaled(found)
            notes.append(f"{what} of {_text(key)!r}, for missing values: paid")
        self.privacy_ = purse.promise(*notes)

    # what is a rule for each row -------------------------------------------------------------------------------------
    def transform(self, X: Any) -> Any:
        """Rows of numbers within :attr:`bounds`."""
        columns = self._checked()
        if not self.__sklearn_is_fitted__():
            raise ValueError("this Schema has constants to buy for missing values: call fit first")
        parts: list[Any] = []
        for key, column in columns.items():
            raw = picked(X, key)
            if isinstance(column, Numeric):
                constant = self._constant(key, column)
                parts.append(column.encoded(numbers(raw, key), constant, key))
            else:
                parts.append(_one_hot(column.encoded(labels(raw, key), key), len(column.names(""))))
            if parts[-1].shape[0] != parts[0].shape[0]:
                raise ValueError(f"column {key!r} has another number of rows than the first one")
        if self.sparse_output:
            return sp.csr_array(sp.hstack(parts, format="csr"))
        return np.hstack([p.toarray() if hasattr(p, "toarray") else p for p in parts])

    def _constant(self, key: Any, column: Numeric) -> float | None:
        if isinstance(column.missing, Paid):
            return float(self.constants_[key])
        return None if column.missing is None else float(column.missing)

    def __sklearn_is_fitted__(self) -> bool:
        bought = any(isinstance(c, Numeric) and isinstance(c.missing, Paid) for c in self.columns.values())
        return not bought or hasattr(self, "constants_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.requires_fit = not self.__sklearn_is_fitted__()
        return tags

    # as JSON ---------------------------------------------------------------------------------------------------------
    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values for JSON, what was bought included."""
        columns = [[key, type(c).__name__, _plain(c)] for key, c in self._checked().items()]
        out: dict[str, Any] = {
            "format": FORMAT, "columns": columns, "epsilon": self.epsilon, "delta": self.delta,
            "neighbors": self.neighbors, "sparse_output": self.sparse_output,
        }  # fmt: skip
        if hasattr(self, "constants_"):
            told = self.privacy_
            out["constants"] = [[key, value] for key, value in self.constants_.items()]
            out["privacy"] = {
                "epsilon": told.budget.epsilon, "delta": told.budget.delta,
                "notes": list(told.notes), "seeded": told.seeded,
            }  # fmt: skip
        json.dumps(out)  # a category that JSON can't hold is refused here
        return out

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Schema:
        """The schema of :meth:`to_dict`.

        >>> schema = Schema({"age": Numeric(18, 90, missing=50)})
        >>> Schema.from_dict(schema.to_dict()).transform({"age": [None, 20.0]}).ravel().tolist()
        [50.0, 20.0]
        """
        if stored.get("format") != FORMAT:
            raise ValueError("this is not a schema: give what Schema.to_dict returned")
        try:
            columns = {key: _column(kind, fields) for key, kind, fields in stored["columns"]}
            names = ("epsilon", "delta", "neighbors", "sparse_output")
            made = cls(columns, **{name: stored[name] for name in names})
            made._checked()
            if "constants" in stored:
                made._remember(stored)
        except (KeyError, TypeError) as error:
            raise ValueError(f"this schema lacks a part or holds a wrong one: {error}") from None
        return made

    def _remember(self, stored: Mapping[str, Any]) -> None:
        told = stored["privacy"]
        budget = Budget(told["epsilon"], told["delta"], neighbors=self.neighbors)
        event: Any = dp_event.NoOpDpEvent()
        if budget.epsilon > 0:
            event = ApproximateDpEvent(budget.epsilon, budget.delta) if budget.delta else PureDpEvent(budget.epsilon)
        self.constants_ = {key: float(value) for key, value in stored["constants"]}
        self.n_features_in_ = len(self.columns)
        self.privacy_ = Promise(budget, event, tuple(told["notes"]), bool(told["seeded"]))


def _text(key: Any) -> str:
    return key if isinstance(key, str) else f"x{key}"


def _one_hot(codes: NDArray[np.int64], width: int) -> Any:
    rows = np.flatnonzero(codes >= 0)
    return sp.csr_array((np.ones(rows.size), (rows, codes[rows])), shape=(codes.size, width))


def _plain(column: Column) -> dict[str, Any]:
    fields = asdict(column)
    if isinstance(column, Numeric) and isinstance(column.missing, Paid):
        fields["missing"] = {"paid": column.missing.what}
    return {k: list(v) if isinstance(v, tuple) else v for k, v in fields.items()}


def _column(kind: str, fields: Mapping[str, Any]) -> Column:
    if kind not in KINDS:
        raise ValueError(f"a column of kind {kind!r} is unknown; known are {sorted(KINDS)}")
    given = dict(fields)
    if isinstance(given.get("missing"), Mapping):
        given["missing"] = Paid(given["missing"]["paid"])
    made: Column = KINDS[kind](**given)
    return made
