"""Least squares, Huber, Poisson and quantile regression."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from discreet.curator import RowBounds
from discreet.estimators.base import PrivateLinearModel, Targets
from discreet.estimators.bounds import BoundsBuyer
from discreet.estimators.checks import given_range, positive_number
from discreet.estimators.statement import Look
from discreet.losses import Loss, PoissonLoss, PseudoHuberLoss, QuantileLoss, SquaredLoss
from discreet.penalties.base import Penalty
from discreet.privacy import Neighbours, unquoted
from discreet.solvers.base import Solver

__all__ = ["HuberRegressor", "LinearRegression", "PoissonRegressor", "QuantileRegressor"]

Floats = NDArray[np.float64]
LENGTH_QUANTILE = 0.95  # of the norms of rows before they are centred
RAREST = 2.0**-20  # the least mean count that is predicted, of the largest count


class _Regressor(RegressorMixin, PrivateLinearModel):
    """Targets within a public range, shifted to its middle."""

    narrows: ClassVar[bool] = False  # whether a public range is cut to where targets lie

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float | Literal["auto"] = "auto",
        neighbors: str = "zero_out",
        penalty: Penalty | None = None,
        solver: str | Solver = "auto",
        bounds: Any = "private",
        bounds_y: Any = "private",
        fit_intercept: bool = True,
        max_iter: int | Literal["auto"] = "auto",
        inference: bool = False,
        warm_start: bool = False,
        rows_per_person: int = 1,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            delta=delta,
            neighbors=neighbors,
            penalty=penalty,
            solver=solver,
            bounds=bounds,
            fit_intercept=fit_intercept,
            max_iter=max_iter,
            inference=inference,
            warm_start=warm_start,
            rows_per_person=rows_per_person,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.bounds_y = bounds_y

    @abstractmethod
    def _loss(self, half_range: float) -> Loss:
        """The loss for targets within that distance of the middle of their range."""

    def _slope(self, half_range: float) -> float | None:
        """The clip of the derivative, for losses that have no bound of their own."""
        del half_range
        return None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # test sets of a hundred rows are too few to be private and good
        return tags

    def _declared(self) -> Targets:
        return Targets(np.zeros(0), self._loss(1.0), [], slope=self._slope(1.0))

    def _targets(self, y: Any) -> Targets:
        return Targets(unquoted("y", np.asarray, y, dtype=np.float64), self._loss(1.0), [])

    def _located(self, targets: Targets, buyer: BoundsBuyer) -> Targets:
        if isinstance(self.bounds_y, str) and self.bounds_y == "private":
            low, high = self._tidied(*buyer.target())
            looks = []
        else:
            low, high = given_range(self.bounds_y)
            looks = [Look("range of the target", "public", f"given: {low:g} to {high:g}")]
            if self.narrows and self.penalty is None and self.fit_intercept and buyer.unsure:
                found = self._tidied(*buyer.target_within(low, high, rounds=1))
                low, high = max(low, found[0]), min(high, found[1])
        centre = self._centre(low, high)
        self.reach_ = reach = max(high - centre, centre - low)
        unit = self._unit(reach)
        loss, limits = self._loss(reach / unit), ((low - centre) / unit, (high - centre) / unit)
        return Targets(targets.values, loss, looks, limits, self._slope(reach / unit), centre, unit)

    def _unit(self, reach: float) -> float:
        """What targets are divided by; a penalty means coefficients in original units, so nothing then."""
        return 2.0 ** round(math.log2(reach)) if self.penalty is None else 1.0

    def _centred(self, bounds: RowBounds, buyer: BoundsBuyer) -> RowBounds:
        if self.penalty is not None or not self.fit_intercept or buyer.survey.sparse or buyer.budget.is_pure:
            return bounds
        return buyer.centred(bounds, LENGTH_QUANTILE)

    def _check_parameters(self) -> Neighbours:
        neighbors = super()._check_parameters()
        if not (isinstance(self.bounds_y, str) and self.bounds_y == "private"):
            given_range(self.bounds_y)
        return neighbors

    def _tidied(self, low: float, high: float) -> tuple[float, float]:
        """A bought range, within what the loss allows."""
        return low, high

    def _centre(self, low: float, high: float) -> float:
        """What is subtracted from targets before the fit and added to the intercept after it."""
        return (low + high) / 2 if self.fit_intercept else 0.0

    def _shaped(self, coef: Floats, intercept: Floats) -> tuple[Floats, Any]:
        return coef[0], float(intercept[0])

    def predict(self, X: Any) -> Floats:
        """Predicted targets, within the range that the targets of the fit were cut to."""
        margins, limits = self._margins(X).ravel(), cast(tuple[float, float], self.bounds_.y)
        unit = self.reach_ / max(abs(b) for b in limits)
        low, high = ((self.bounds_.y_centre + b) * unit for b in limits)
        return np.asarray(np.clip(margins, low, high))


class LinearRegression(_Regressor):
    r"""Differentially private least squares.

    Without a penalty it minimises a pseudo-Huber loss whose threshold is a bought quantile of residuals that grows with
    rows and budget, so that coefficients go to those of least squares; `predict` stays in the range of the targets.

    Parameters
    ----------
    epsilon, delta, neighbors, penalty, solver, bounds, fit_intercept, max_iter : see LogisticRegression
    inference, warm_start, rows_per_person, random_state, n_jobs, verbose : see LogisticRegression
        The budget and everything else that all estimators share.
    bounds_y : "private" or (low, high)
        Public range of the target, which is clipped to it.

    Notes
    -----
    *Privacy.* Guarantee: (epsilon, delta)-DP, see ``privacy_``.  Neighbours: `neighbors`.
    Public: shapes, bounds, all parameters.  Bounded by: clipped rows and clipped residuals.
    Proof: ``proofs/whitened_regression.md``,
    and ``proofs/private_bounds.md`` for bounds that are bought.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-1, 1, (5000, 2))
    >>> y = X @ [0.5, -0.3]
    >>> model = LinearRegression(epsilon=1.0, bounds=(-1, 1), bounds_y=(-1, 1)).fit(X, y)
    >>> bool(model.score(X, y) > 0.8)
    True
    """

    preferred = ("sufficient_statistics", "gradient_descent")
    narrows = True

    def _loss(self, half_range: float) -> Loss:
        return SquaredLoss()

    def _slope(self, half_range: float) -> float | None:
        return half_range


class HuberRegressor(_Regressor):
    r"""Differentially private robust regression with the pseudo-Huber loss.

    Parameters
    ----------
    epsilon, delta, neighbors, penalty, solver, bounds, bounds_y, fit_intercept, max_iter : see LinearRegression
    inference, warm_start, rows_per_person, random_state, n_jobs, verbose : see LinearRegression
        The budget and everything else that all regressors share.
    threshold : float, default=0.25
        Residual beyond which the loss is nearly linear, relative to half the public range of the target.

    Notes
    -----
    *Privacy.* Guarantee: (epsilon, delta)-DP, see ``privacy_``.  Neighbours: `neighbors`.
    Public: shapes, bounds, all parameters.  Bounded by: clipped rows and the slope of the loss.
    Proof: ``proofs/objective_perturbation.md``,
    and ``proofs/private_bounds.md`` for bounds that are bought.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-1, 1, (5000, 2))
    >>> y = X @ [0.5, -0.3]
    >>> bool(HuberRegressor(epsilon=1.0, bounds=(-1, 1), bounds_y=(-1, 1)).fit(X, y).score(X, y) > 0.8)
    True
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float | Literal["auto"] = "auto",
        neighbors: str = "zero_out",
        penalty: Penalty | None = None,
        solver: str | Solver = "auto",
        bounds: Any = "private",
        bounds_y: Any = "private",
        threshold: float = 0.25,
        fit_intercept: bool = True,
        max_iter: int | Literal["auto"] = "auto",
        inference: bool = False,
        warm_start: bool = False,
        rows_per_person: int = 1,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            delta=delta,
            neighbors=neighbors,
            penalty=penalty,
            solver=solver,
            bounds=bounds,
            bounds_y=bounds_y,
            fit_intercept=fit_intercept,
            max_iter=max_iter,
            inference=inference,
            warm_start=warm_start,
            rows_per_person=rows_per_person,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.threshold = threshold

    def _check_parameters(self) -> Neighbours:
        neighbors = super()._check_parameters()
        positive_number(self.threshold, "threshold", "a share of half the range of the target, such as 0.25")
        return neighbors

    def _loss(self, half_range: float) -> Loss:
        return PseudoHuberLoss(self.threshold * half_range)


class QuantileRegressor(_Regressor):
    r"""Differentially private quantile regression with a smoothed pinball loss.

    Parameters
    ----------
    epsilon, delta, neighbors, penalty, solver, bounds, bounds_y, fit_intercept, max_iter : see LinearRegression
    inference, warm_start, rows_per_person, random_state, n_jobs, verbose : see LinearRegression
        The budget and everything else that all regressors share.
    quantile : float, default=0.5
        The quantile, between 0 and 1.
    width : float, default=0.05
        Width of the smoothed corner, relative to half the public range of the target.

    Notes
    -----
    *Privacy.* Guarantee: (epsilon, delta)-DP, see ``privacy_``.  Neighbours: `neighbors`.
    Public: shapes, bounds, all parameters.  Bounded by: clipped rows and the slope of the loss.
    Proof: ``proofs/objective_perturbation.md``,
    and ``proofs/private_bounds.md`` for bounds that are bought.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (5000, 2))
    >>> y = X @ [0.5, -0.3] + rng.uniform(-0.5, 0.5, 5000)
    >>> model = QuantileRegressor(epsilon=1.0, bounds=(-1, 1), bounds_y=(-1.5, 1.5)).fit(X, y)
    >>> bool(abs(np.mean(y < model.predict(X)) - 0.5) < 0.1)
    True
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float | Literal["auto"] = "auto",
        neighbors: str = "zero_out",
        penalty: Penalty | None = None,
        solver: str | Solver = "auto",
        bounds: Any = "private",
        bounds_y: Any = "private",
        quantile: float = 0.5,
        width: float = 0.05,
        fit_intercept: bool = True,
        max_iter: int | Literal["auto"] = "auto",
        inference: bool = False,
        warm_start: bool = False,
        rows_per_person: int = 1,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            delta=delta,
            neighbors=neighbors,
            penalty=penalty,
            solver=solver,
            bounds=bounds,
            bounds_y=bounds_y,
            fit_intercept=fit_intercept,
            max_iter=max_iter,
            inference=inference,
            warm_start=warm_start,
            rows_per_person=rows_per_person,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.quantile = quantile
        self.width = width

    def _check_parameters(self) -> Neighbours:
        neighbors = super()._check_parameters()
        positive_number(self.width, "width", "a share of half the range of the target, such as 0.05")
        positive_number(self.quantile, "quantile", "the share of targets below, such as 0.5", below=1.0)
        return neighbors

    def _loss(self, half_range: float) -> Loss:
        return QuantileLoss(self.quantile, self.width * half_range)


class PoissonRegressor(_Regressor):
    r"""Differentially private Poisson regression with a log link.

    Without a penalty counts are cut at a multiple of a bought mean; `predict` stays in the range of the counts.

    Parameters
    ----------
    epsilon, delta, neighbors, penalty, solver, bounds, fit_intercept, max_iter : see LogisticRegression
    inference, warm_start, rows_per_person, random_state, n_jobs, verbose : see LogisticRegression
        The budget and everything else that all estimators share.
    bounds_y : "private" or (low, high)
        Public range of the counts, which are clipped to it; low is at least 0.

    Notes
    -----
    *Privacy.* Guarantee: (epsilon, delta)-DP, see ``privacy_``.  Neighbours: `neighbors`.
    Public: shapes, bounds, all parameters.  Bounded by: clipped rows, clipped counts and the range of the margins.
    Proof: ``proofs/whitened_poisson.md``,
    and ``proofs/private_bounds.md`` for bounds that are bought.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (20000, 2))
    >>> y = rng.poisson(np.exp(X @ [0.5, -0.5]))
    >>> model = PoissonRegressor(epsilon=1.0, bounds=(-1, 1), bounds_y=(0, 5)).fit(X, y)
    >>> bool(np.abs(model.coef_ - [0.5, -0.5]).max() < 0.3)
    True
    """

    preferred = ("gradient_descent", "objective_perturbation")
    narrows = True

    def _check_parameters(self) -> Neighbours:
        neighbors = super()._check_parameters()
        if not isinstance(self.bounds_y, str) and given_range(self.bounds_y)[0] < 0:
            raise ValueError(f"bounds_y={self.bounds_y!r} must start at 0 or above: the target is a count")
        return neighbors

    def _tidied(self, low: float, high: float) -> tuple[float, float]:
        return max(low, 0.0), max(high, 1.0)

    def _unit(self, reach: float) -> float:
        return 1.0

    def _centre(self, low: float, high: float) -> float:
        return 0.0

    def _loss(self, half_range: float) -> Loss:
        return PoissonLoss(max(float(np.log(half_range)), 0.1))

    def predict(self, X: Any) -> Floats:
        """Predicted mean counts, positive and within the range that the counts of the fit were cut to."""
        means, limits = np.exp(np.minimum(self._margins(X).ravel(), 700.0)), cast(tuple[float, float], self.bounds_.y)
        return np.asarray(np.clip(means, max(limits[0], limits[1] * RAREST), limits[1]))
