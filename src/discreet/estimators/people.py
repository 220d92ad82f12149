"""Whose row is whose: at most a public number of rows of each person, chosen at random, before the curator opens.

What a fit promises then counts persons.  The rest of the fit knows rows alone: it is given the rows that were chosen
and what one row may spend (``accounting.groups``), and knows nothing of persons.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.groups import each_of
from discreet.estimators.statement import Look
from discreet.privacy import Budget, Neighbours, PrivacyError
from discreet.randomness import Source

__all__ = ["People", "chosen_rows", "person_codes"]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
T = TypeVar("T")


def person_codes(groups: Any, n_rows: int) -> Places:
    """A whole number for each row, the same for rows of the same person.

    >>> person_codes(["ann", "bob", "ann"], 3)
    array([0, 1, 0])
    """
    labels = groups.to_numpy() if hasattr(groups, "to_numpy") else np.asarray(groups)
    if labels.ndim != 1 or len(labels) != n_rows:
        raise ValueError(
            f"groups of shape {labels.shape} must have one dimension and one label for each of the {n_rows} rows: "
            "whose row it is"
        )
    if labels.dtype.kind in "fcmM" and (labels != labels).any():
        raise _unknown()
    if labels.dtype.kind != "O":
        return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.int64).ravel()
    return _hashed(labels.tolist())


def _hashed(labels: Iterable[Any]) -> Places:
    seen: dict[Any, int] = {}
    codes = []
    for label in labels:
        if label is None or type(label).__name__ in ("NAType", "NaTType") or label != label:
            raise _unknown()
        try:
            codes.append(seen.setdefault(label, len(seen)))
        except TypeError:
            raise ValueError("groups holds labels that can't be told apart: give numbers or strings") from None
    return np.asarray(codes, dtype=np.int64)


def _unknown() -> ValueError:
    return ValueError(
        "groups holds missing labels (which rows is withheld): rows of nobody can't be counted per person; "
        "give each such row a label of its own, or leave these rows out by a public rule"
    )


def chosen_rows(codes: Places, most: int, source: Source) -> Places:
    """At most `most` rows of each person, all of that person's rows alike likely, in the order of the table.

    Every row has a random word of its own, and those with a person's smallest words are kept: which ones depends on
    that person's words alone.

    >>> from discreet.randomness import system
    >>> chosen_rows(np.array([0, 1, 0, 0]), 1, system()).size
    2
    """
    order = np.lexsort((source.words(len(codes)), codes))
    return np.sort(order[_turns(codes[order]) < most])


def _turns(ordered: Places) -> Places:
    """How many equal codes come right before each."""
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    return np.arange(len(ordered)) - np.repeat(starts, np.diff(np.r_[starts, len(ordered)]))


def _places(codes: Places, at: Places, number: int, most: int) -> Places:
    """`most` places for each person, in the order in which persons first appear; -1 for a blank row.

    So one person's rows can be replaced by any number of others without moving anybody else's.
    """
    first = np.unique(codes, return_index=True)[1]
    person = np.argsort(np.argsort(first))[codes[at]]
    at = at[np.argsort(person, kind="stable")]
    person = np.sort(person)
    places = np.full((number, most), -1, dtype=np.int64)
    places[person, _turns(person)] = at
    return places.ravel()


@dataclass(frozen=True)
class People:
    """Which rows a fit uses, how many persons there are, and what one row may spend.

    Attributes
    ----------
    most : int or None
        Rows that are used of each person; None where every row is a person.
    number : int
        Persons.
    at : array or None
        The places of the rows that are used; -1 for a blank row.
    padded : bool
        Whether there may be blank rows among them.

    Notes
    -----
    *Privacy.* Guarantee: what is promised for a row at :meth:`each` of a budget is kept for a person at the budget.
    Neighbours: those of the budget, with a person's rows for a row.  Public: `most`, and the number of rows used unless
    ``"add_remove"``.  Bounded by: at most `most` rows of each person.  Proof: ``proofs/people.md``.

    Examples
    --------
    >>> from discreet.randomness import system
    >>> people = People.of(["ann", "bob", "ann"], 1, 3, Neighbours.ZERO_OUT, system())
    >>> people.number, people.at.size
    (2, 2)
    """

    most: int | None
    number: int
    at: Places | None = None
    padded: bool = False

    @staticmethod
    def check(model: Any, groups: Any) -> None:
        """Refuse what doesn't go together, before the rows are read.

        >>> from discreet import LogisticRegression
        >>> People.check(LogisticRegression(rows_per_person=2), ["ann", "ann"])
        """
        most = model.rows_per_person
        if isinstance(most, (bool, np.bool_)) or not isinstance(most, (int, np.integer)) or most < 1:
            raise ValueError(f"rows_per_person={most!r} must be a whole number, at least 1")
        if groups is None and most > 1:
            raise ValueError(
                f"rows_per_person={most!r} needs fit(..., groups=), which says whose row each one is; without groups "
                "every row counts as a person and rows_per_person stays 1"
            )
        if model.inference and most > 1:
            raise ValueError(
                f"inference=True with rows_per_person={most!r}: rows of one person aren't independent, so standard "
                "errors would come out too small; take rows_per_person=1"
            )
        earlier = getattr(model, "privacy_", None) if model.warm_start else None
        if earlier is not None and (earlier.rows_per_person is None) != (groups is None):
            raise PrivacyError(
                "warm_start adds up promises of one kind, and of these fits only one counts persons: give groups to "
                "both or to neither, or fit a new model"
            )

    @classmethod
    def of(cls, groups: Any, most: int, n_rows: int, neighbors: Neighbours, source: Source) -> People:
        """The persons behind `n_rows` rows, and the rows of each that are used."""
        if groups is None:
            return cls(None, n_rows)
        codes = person_codes(groups, n_rows)
        number = int(codes.max()) + 1
        at = chosen_rows(codes, int(most), source.child("rows per person"))
        if neighbors is Neighbours.REPLACE_ONE:
            # another person may have more rows or fewer, and the number of rows is public: all have as many
            return cls(int(most), number, _places(codes, at, number, int(most)), int(most) > 1)
        return cls(int(most), number, at)

    def taken(self, X: Any, targets: T, weights: Floats | None) -> tuple[Any, T, Floats | None]:
        """The rows that are used, with their targets and weights; a blank row has weight 0."""
        if self.at is None:
            return X, targets, weights
        blank = self.at < 0
        at = np.where(blank, 0, self.at)
        kept = None if weights is None else weights[at]
        if self.padded:  # whether any is blank depends on the data
            kept = np.where(blank, 0.0, 1.0 if kept is None else kept)
        rows = X[at] if not hasattr(X, "tocsr") else X.tocsr()[at]
        return rows, replace(targets, values=targets.values[at]), kept  # type: ignore[attr-defined, type-var]

    def each(self, budget: Budget) -> Budget:
        """What one row may spend."""
        return each_of(budget, self.most or 1)

    def looks(self, neighbors: Neighbours) -> list[Look]:
        """What a fit knows of sizes and of rows that can't be used."""
        rows, used = "one", ""
        if self.most is not None:
            rows = f"at most {self.most} of each person's, chosen at random; the promise counts persons"
            used = "those used"
        return [
            Look("number of rows", "public" if neighbors.public_n else "paid", used),
            Look("number, names and types of columns", "public"),
            Look("rows per person", "public", rows),
            Look("missing values, infinities, weights that are all zero", "public", "refused before the curator opens"),
        ]
