"""What a schema or a scaler buys: one budget, divided evenly, with a promise that lists what it went for."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.curator import Survey, make_survey
from discreet.estimators.people import chosen_rows, person_codes
from discreet.moments.means import row_bounds
from discreet.moments.purse import Purse, Share
from discreet.moments.quantiles import search
from discreet.privacy import Budget, Neighbours, PrivacyError
from discreet.randomness import Source

__all__ = ["PATIENCE", "centre_of", "one_row_each", "purse_of"]

Floats = NDArray[np.float64]
PATIENCE = 3  # looks that close in on a median


def purse_of(epsilon: Any, delta: Any, n_rows: int, neighbors: Any, source: Source) -> Purse:
    """The purse for a budget; ``delta="auto"`` is the estimators' rule.

    >>> from discreet.randomness import system
    >>> purse_of(1, "auto", 1000, "zero_out", system()).budget
    Budget(epsilon=1, delta=1e-06, neighbors='zero_out')
    """
    relation = Neighbours.of(neighbors)
    n_rows = max(n_rows, 1)
    if delta == "auto":
        delta = min(1e-6, 1 / (10 * n_rows)) if relation.public_n else 1e-6
    if relation.public_n and n_rows * float(delta) > 1:
        raise PrivacyError(
            f"delta={delta!r} times {n_rows} rows is above 1, which protects nobody; use at most {1 / n_rows:g}"
        )
    return Purse(Budget(epsilon, delta, neighbors=relation), source)


def one_row_each(groups: Any, n_rows: int, source: Source) -> NDArray[np.int64]:
    """The rows that count: all of them, or one of each person's, chosen at random.

    >>> from discreet.randomness import system
    >>> one_row_each(["ann", "ann", "bob"], 3, system()).size
    2
    """
    if groups is None:
        return np.arange(n_rows)
    return chosen_rows(person_codes(groups, n_rows), 1, source.child("rows per person"))


def centre_of(
    values: Floats, bounds: tuple[float, float], what: Literal["median", "mean"], neighbors: Any, share: Share
) -> float:
    """The median or mean of the numbers that are there; NaN is a blank row.

    Notes
    -----
    *Privacy.* Guarantee: the share.  Neighbours: `neighbors`, where a value that is missing is a blank row.
    Public: bounds and `what`.  Bounded by: ranks, or clipped sums and a count.  Proof: ``proofs/people.md``.

    Examples
    --------
    >>> from discreet.randomness import system
    >>> x = np.append(np.linspace(0, 50, 5001), np.nan)
    >>> share = purse_of(1, 0, 5002, "zero_out", system()).shares([1])[0]
    >>> 20 < centre_of(x, (0.0, 100.0), "mean", "zero_out", share) < 30
    True
    """
    low, high = bounds
    there = ~np.isnan(values)
    column = np.where(there, values, low)[:, None]
    survey: Survey = make_survey(column, neighbors=neighbors, sample_weight=there.astype(np.float64))
    if what == "median":
        return search(survey, 0.5, bounds, share.split(PATIENCE))[0]
    known = row_bounds(bounds, None, None)
    half, middle = (high - low) / 2, 0.0 if known.centre is None else float(np.ravel(known.centre)[0])
    total, count = share.split(2)
    sums, _ = total.release(survey.curator(known).sum_rows())
    n, _ = count.release(survey.count(), counts=True)
    return float(np.clip(middle + half * sums[0] / max(float(n[0]), 1.0), low, high))
