"""Scalers whose ranges, means and deviations are bought once; what they hand on is within bounds that are known."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from discreet.curator import make_curator, make_survey
from discreet.estimators.checks import rows_and_targets
from discreet.moments.means import count_rows, row_bounds
from discreet.moments.purse import Share
from discreet.moments.ranges import find_ranges
from discreet.moments.release import Promise
from discreet.preprocessing.purchases import one_row_each, purse_of
from discreet.privacy import Neighbours
from discreet.randomness import Source, source_for

__all__ = ["PrivateMinMaxScaler", "PrivateStandardScaler"]

Floats = NDArray[np.float64]
NARROWEST = 1e-3  # of half a range: the least deviation that columns are divided by
NEEDED: dict[bool, dict[str, int]] = {True: {}, False: {"count": 1}}  # whether the number of rows is public


class _PrivateScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator, ABC):
    """One affine map for each column, after a cut to its range."""

    privacy_: Promise
    data_min_: Floats
    data_max_: Floats
    shift_: Floats
    scale_: Floats
    random_state: Any

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Buy what the map needs.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows, one per person unless `groups` says otherwise.
        y : None
            Not used.
        groups : array of shape (n_samples,), optional
            Whose row each one is: one row of each person is used, chosen at random.

        Returns
        -------
        self
            The fitted scaler.
        """
        del y
        source = source_for(self.random_state)
        rows = rows_and_targets(self, X, reset=True, sparse=False)
        at = one_row_each(groups, rows.shape[0], source)
        self._buy(rows[at], source)
        return self

    @abstractmethod
    def _buy(self, rows: Floats, source: Source) -> None:
        """Buy ranges and the map, for the whole budget."""

    def transform(self, X: Any) -> Floats:
        """Rows cut to the range that was bought, and mapped."""
        check_is_fitted(self)
        rows = rows_and_targets(self, X, sparse=False)
        return np.asarray((np.clip(rows, self.data_min_, self.data_max_) - self.shift_) / self.scale_)

    @property
    def bounds_(self) -> tuple[Floats, Floats]:
        """Bounds of what comes out, for the ``bounds=`` of an estimator."""
        check_is_fitted(self)
        return (self.data_min_ - self.shift_) / self.scale_, (self.data_max_ - self.shift_) / self.scale_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags


class PrivateMinMaxScaler(_PrivateScaler):
    """Each column's range, bought once, goes to 0 and 1; values beyond it are cut.

    Parameters
    ----------
    epsilon : float, default=1.0
        What may be spent; it comes on top of what a model spends.
    delta : float or "auto"
        ``"auto"`` is ``min(1e-6, 1 / (10 n))``; 0 asks for pure differential privacy.
    neighbors : {"zero_out", "replace_one", "add_remove"}
        What counts as one row's difference.
    random_state : None or int
        None draws noise from the operating system.  An int repeats the noise and voids the promise.

    Attributes
    ----------
    data_min_, data_max_ : array
        The range of each column, which holds nearly all of it.
    privacy_ : Promise
        What was promised and spent.

    Notes
    -----
    *Privacy.* Guarantee: `epsilon` and `delta` for ``fit``; ``transform`` is a map of each row by itself.
    Neighbours: `neighbors`.  Public: column count.  Bounded by: a row is in one bin of each histogram.
    Proof: ``proofs/moments.md``, and ``proofs/people.md`` for groups.

    Examples
    --------
    >>> X = np.column_stack([np.linspace(20, 70, 20_000), np.linspace(0, 1e6, 20_000)])
    >>> scaler = PrivateMinMaxScaler(epsilon=1.0).fit(X)
    >>> inside = scaler.transform(X)
    >>> bool(inside.min() >= 0 and inside.max() <= 1 and (np.ptp(inside, axis=0) > 0.3).all())
    True
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float | Literal["auto"] = "auto",
        neighbors: str = "zero_out",
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.neighbors = neighbors
        self.random_state = random_state

    def _buy(self, rows: Floats, source: Source) -> None:
        purse = purse_of(self.epsilon, self.delta, len(rows), self.neighbors, source)
        self.data_min_, self.data_max_ = find_ranges(make_survey(rows, neighbors=self.neighbors), purse.shares([1])[0])
        self.shift_, self.scale_ = self.data_min_, self.data_max_ - self.data_min_
        self.privacy_ = purse.promise("range of each column: paid", "column count: public")


class PrivateStandardScaler(_PrivateScaler):
    """Each column less its mean, over its deviation, both bought once; values beyond its range are cut.

    Parameters
    ----------
    epsilon, delta, neighbors, random_state : see PrivateMinMaxScaler
        The budget and the rest that scalers share.
    bounds : "private" or (low, high)
        The range of the columns: bought as well, or public numbers, for all columns or one each.

    Attributes
    ----------
    mean_, scale_ : array
        The mean and deviation of each column, within its range.
    data_min_, data_max_ : array
        The range of each column.
    privacy_ : Promise
        What was promised and spent.

    Notes
    -----
    *Privacy.* Guarantee: `epsilon` and `delta` for ``fit``; ``transform`` is a map of each row by itself.
    Neighbours: `neighbors`.  Public: column count, given bounds.  Bounded by: rows cut to the range, in whole numbers.
    Proof: ``proofs/moments.md``, and ``proofs/people.md`` for groups.

    Examples
    --------
    >>> X = np.linspace(20, 70, 20_000)[:, None]
    >>> scaler = PrivateStandardScaler(epsilon=1.0, bounds=(0, 120)).fit(X)
    >>> bool(abs(scaler.mean_[0] - 45) < 1), bool(abs(scaler.scale_[0] - 14.4) < 1)
    (True, True)
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float | Literal["auto"] = "auto",
        neighbors: str = "zero_out",
        bounds: Any = "private",
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.neighbors = neighbors
        self.bounds = bounds
        self.random_state = random_state

    def _buy(self, rows: Floats, source: Source) -> None:
        private = isinstance(self.bounds, str)
        if private and self.bounds != "private":
            raise ValueError(f"bounds={self.bounds!r} must be 'private' or (low, high), public ranges of the columns")
        purse = purse_of(self.epsilon, self.delta, len(rows), self.neighbors, source)
        relation, p = purse.budget.neighbors, rows.shape[1]
        weights = {"mean": 4, "squares": 4, **({"ranges": 2} if private else {}), **NEEDED[relation.public_n]}
        share = dict(zip(weights, purse.shares(list(weights.values())), strict=True))
        survey = make_survey(rows, neighbors=relation)
        if private:
            low, high = find_ranges(survey, share["ranges"])
        else:
            low, high = (np.broadcast_to(np.asarray(b, dtype=np.float64), (p,)).copy() for b in self.bounds)
        n, _, counted = count_rows(survey, share.get("count"))
        middle, half = (low + high) / 2, (high - low) / 2
        inside = np.clip((rows - middle) / half, -1.0, 1.0)
        first = _mean(inside, (-1.0, 1.0), relation, n, share["mean"])
        second = _mean(inside**2, (0.0, 1.0), relation, n, share["squares"])
        spread = np.sqrt(np.maximum(second - first**2, NARROWEST**2))
        self.data_min_, self.data_max_ = low, high
        self.mean_, self.scale_ = middle + half * first, half * spread
        self.shift_ = self.mean_
        told = "paid" if private else "public (given)"
        self.privacy_ = purse.promise(
            f"range of each column: {told}", "mean and deviation of each column: paid", counted, "column count: public"
        )


def _mean(rows: Floats, bounds: tuple[float, float], neighbors: Neighbours, n: float, share: Share) -> Floats:
    """The mean of each column, within its bounds."""
    low, high = bounds
    sides = np.full(rows.shape[1], low), np.full(rows.shape[1], high)
    curator = make_curator(rows, bounds=row_bounds(sides, None, None, bits=20), neighbors=neighbors)
    total, _ = share.release(curator.sum_rows())
    return np.asarray(np.clip((low + high) / 2 + (high - low) / 2 * total / n, low, high))
