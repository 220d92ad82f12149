"""The scikit-learn contract: from a table and a budget to coefficients and a statement, and nothing else."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from discreet import solvers
from discreet.accounting import to_standard
from discreet.accounting.events import compose
from discreet.curator import RowBounds
from discreet.curator.survey import Survey, make_survey
from discreet.estimators import auto, persistence
from discreet.estimators.bounds import BoundsBuyer
from discreet.estimators.checks import check_common, chosen, given_box, row_weights, rows_and_targets
from discreet.estimators.cuts import margins
from discreet.estimators.people import People
from discreet.estimators.statement import Look, Statement
from discreet.estimators.summary import Inferential
from discreet.estimators.warm import Earlier, check_resumes, declared_problem
from discreet.inference import Law, infer, law_of, purchase
from discreet.inference import check as check_inference
from discreet.losses import Loss
from discreet.mechanisms import DiscreteLaplace, Gaussian
from discreet.penalties.base import Penalty
from discreet.privacy import Budget, Neighbours, PrivacyError
from discreet.randomness import Source, source_for
from discreet.solvers.base import Ask, Plan, Problem, Refusal, Solver
from discreet.solvers.calibrated import Calibrated

__all__ = ["FittedEvent", "PrivateLinearModel", "Targets"]

Floats = NDArray[np.float64]
COUNT_SHARE = 0.02  # of epsilon, for the number of rows where that is private
MOST = 40.0  # the most of epsilon that is spent: the noise is next to none there, and beyond prices leave doubles
NORM_QUANTILE = 0.95  # of the row norms, where rows are clipped
CLASS_QUANTILE = 0.5  # the same for classes, which a row's direction tells


@dataclass(frozen=True)
class Targets:
    """Targets as the loss wants them, with the loss and what was said about them.

    Examples
    --------
    >>> from discreet.losses import SquaredLoss
    >>> Targets(np.zeros(2), SquaredLoss(), [], (-1.0, 1.0)).range
    (-1.0, 1.0)
    """

    values: Floats
    loss: Loss
    looks: list[Look]
    range: tuple[float, float] | None = None
    slope: float | None = None
    centre: float = 0.0
    unit: float = 1.0  # a power of two: targets of any size become numbers near one
    seen: Any = None  # labels that are to be bought: `values` are their places here


class FittedEvent:
    """The exact event of a fit, and events of ``dp_accounting`` that dominate it.

    Examples
    --------
    >>> from dp_accounting import dp_event
    >>> FittedEvent(dp_event.GaussianDpEvent(2.0)).to_standard("rdp")
    GaussianDpEvent(noise_multiplier=2.0)
    """

    def __init__(self, event: Any, statement: Statement | None = None) -> None:
        self.event = event
        self.statement = statement  # which knows what the rows of a person cost together

    def __repr__(self) -> str:
        return repr(self.event)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FittedEvent) and repr(other.event) == repr(self.event)

    __hash__ = None  # type: ignore[assignment]

    def to_standard(self, kind: Literal["pld", "rdp"]) -> Any:
        """An event that any accountant of ``dp_accounting`` reads and that is no more private than this one."""
        return to_standard(self.event if self.statement is None else self.statement.person_event, kind)


class PrivateLinearModel(Inferential, BaseEstimator, ABC):
    """What all estimators share: parameters, the order of a fit, and the statement.

    A fit goes one way: parameters are checked, the plan is made from public sizes, then the rows enter the curator
    and the solver asks its questions.  Subclasses say which loss they minimise and what a prediction is.
    """

    preferred: ClassVar[tuple[str, ...]] = ("objective_perturbation", "gradient_descent")

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float | Literal["auto"] = "auto",
        neighbors: str = "zero_out",
        penalty: Penalty | None = None,
        solver: str | Solver = "auto",
        bounds: Any = "private",
        fit_intercept: bool = True,
        max_iter: int | Literal["auto"] = "auto",
        inference: bool = False,
        warm_start: bool = False,
        rows_per_person: int = 1,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.neighbors = neighbors
        self.penalty = penalty
        self.solver = solver
        self.bounds = bounds
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.inference = inference
        self.warm_start = warm_start
        self.rows_per_person = rows_per_person
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # what a subclass says --------------------------------------------------------------------------------------------
    @abstractmethod
    def _targets(self, y: Any) -> Targets:
        """Targets, loss, and what was declared public about them."""

    @abstractmethod
    def _declared(self) -> Targets:
        """As many rows as none, with the loss as far as the parameters alone say what it is."""

    # the contract ----------------------------------------------------------------------------------------------------
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: Any = None) -> Self:
        """Fit a private model.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, one per person unless `groups` says otherwise.
        y : array of shape (n_samples,)
            Targets.
        sample_weight : array of shape (n_samples,), optional
            Weights from 0 to 1, or to the public cap in ``bounds=RowBounds(weight=cap)``; larger ones count as that.
            A weight must depend on its own row alone.
        groups : array of shape (n_samples,), optional
            Whose row each one is.  At most ``rows_per_person`` rows of each person are used, chosen at random, and the
            promise counts persons.

        Returns
        -------
        self
            The fitted model.
        """
        neighbors = self._check_parameters()
        People.check(self, groups)
        self._refuse_early(X, neighbors, self._declared())
        earlier = Earlier.of(self)
        source = source_for(self.random_state)
        X, y = rows_and_targets(self, X, y)
        weights = row_weights(sample_weight, X, self._weight_cap())
        people = People.of(groups, self.rows_per_person, X.shape[0], neighbors, source)
        budget = self._budget(people.number, neighbors)
        targets = self._targets(y)
        self._refuse_early(X, neighbors, targets)
        if self.inference:
            check_inference(None, self.penalty, self.delta, targets.loss)
        X, targets, weights = people.taken(X, targets, self._reweighted(weights, y))
        surveyed = partial(make_survey, X, neighbors=neighbors, n_threads=self._threads())
        survey = surveyed(targets.values, sample_weight=weights)
        left, n_rows, error, counted = self._count(survey, people.each(budget), source)
        targets, weights, left, bought = self._labelled(targets, weights, survey, left, source)
        if bought:
            survey = surveyed(targets.values, sample_weight=weights)
        buyer = BoundsBuyer(survey, left, n_rows, source)
        targets = self._located(targets, buyer)
        if targets.unit != 1:
            buyer.survey = survey = surveyed(targets.values / targets.unit, sample_weight=weights)
        bounds = self._bounds(targets, buyer)
        matrices = [purchase(left)] if self.inference else []
        problem = Problem(
            targets.loss, bounds, X.shape[1], n_rows, left, penalty=self.penalty,
            spent=compose(buyer.event, *(m.event for m in matrices)), slope=targets.slope, count_error=error,
        )  # fmt: skip
        solver = self._solver(problem, survey.sparse)
        if earlier:
            problem = earlier.start(self, problem, targets.unit, targets.centre)
        plan = solver.plan(problem)
        curator, ask = survey.curator(bounds), Ask(plan, source)
        found = solver.run(problem, plan.schedule, curator, ask)
        event = compose(*counted, *bought, plan.event)
        self._keep(found, bounds, targets, plan)
        for matrix in matrices:
            law = law_of(solver, problem, plan, curator, found, ask.released)
            self._infer(problem, law, replace(matrix, source=source.child("inference")), targets)
        looks = [*_looks(buyer, self.bounds), *targets.looks, *people.looks(neighbors)]
        looks += [Look("coefficients' covariance", "paid", "slopes and curvature, a tenth of the budget")] * len(
            matrices
        )
        made = Statement(
            budget, event, solver.title, looks, not source.private, budget.epsilon if bought else None, people.most
        )
        self.privacy_ = earlier.added(made) if earlier else made
        self.dp_event_ = FittedEvent(self.privacy_.event, self.privacy_)
        return self

    def _refuse_early(self, X: Any, neighbors: Neighbours, targets: Targets) -> None:
        """Refuse a solver, a loss and a penalty that don't go together: shapes are public, no row is read."""
        shape = getattr(X, "shape", ())
        if len(shape) != 2 or (self.solver == "auto" and self.penalty is None and not self.warm_start):
            return
        problem = declared_problem(self, shape, neighbors, targets.loss, targets.slope)
        solver = self._solver(problem, hasattr(X, "tocsr"))
        solver.check(problem)
        if self.warm_start:
            check_resumes(solver)

    def _weight_cap(self) -> float:
        return self.bounds.weight if isinstance(self.bounds, RowBounds) else 1.0

    def _count(self, survey: Survey, budget: Budget, source: Source) -> tuple[Budget, int, int, list[Any]]:
        """The number of rows: public, or bought for a share that is split off the budget for good.

        What comes after depends on the noisy count, so its price is added by basic composition, which allows that.
        """
        if budget.neighbors.public_n:
            return budget, survey.n_rows, 0, []
        part = budget.split([COUNT_SHARE, 1 - COUNT_SHARE])[0]
        buy = DiscreteLaplace(part.epsilon, source=source.child("count"))
        left = budget - Budget(part.epsilon, neighbors=budget.neighbors)
        # the noise goes beyond 60 times its scale with probability below 1e-26: what is left over for rounding errors
        return left, max(int(buy.release(survey.count())[0]), 1), math.ceil(60 / part.epsilon), [buy.event]

    def _check_parameters(self) -> Neighbours:
        """Everything that can be refused without a look at the data."""
        check_common(self)
        if self.inference:
            named = solvers.by_name(self.solver)() if isinstance(self.solver, str) and self.solver != "auto" else None
            check_inference(self.solver if isinstance(self.solver, Solver) else named, self.penalty, self.delta)
        return Neighbours.of(self.neighbors)

    def _reweighted(self, weights: Floats | None, y: Any) -> Floats | None:
        """Sample weights with those of classes: as they are, for a regressor."""
        del y
        return weights

    def _budget(self, n: int, neighbors: Neighbours) -> Budget:
        delta = self.delta
        if delta == "auto":
            delta = min(1e-6, 1 / (10 * n)) if neighbors.public_n else 1e-6
        if neighbors.public_n and n * float(delta) > 1:
            raise PrivacyError(
                f"delta={delta!r} times {n} persons is above 1, which protects nobody; use at most {1 / n:g}"
            )
        return Budget(min(self.epsilon, MOST), float(delta), neighbors=neighbors)

    def _labelled(
        self, targets: Targets, weights: Floats | None, survey: Survey, left: Budget, source: Source
    ) -> tuple[Targets, Floats | None, Budget, list[Any]]:
        """Targets, weights, the budget left, and what was bought about labels: as they are, for a regressor."""
        del survey, source
        return targets, weights, left, []

    def _located(self, targets: Targets, buyer: BoundsBuyer) -> Targets:
        """Targets with their range: as they are, for a classifier."""
        del buyer
        return targets

    def _bounds(self, targets: Targets, buyer: BoundsBuyer) -> RowBounds:
        p, sparse, free = buyer.survey.n_features, buyer.survey.sparse, self.penalty is None
        whole = self.inference or targets.range is not None  # coefficients are for rows as they are, or nearly
        quantile = NORM_QUANTILE if whole else CLASS_QUANTILE
        unknown = RowBounds(l2=1.0, y=targets.range, y_centre=targets.centre / targets.unit)
        if isinstance(self.bounds, RowBounds):
            bounds = replace(self.bounds, y=targets.range, y_centre=targets.centre / targets.unit)
        elif isinstance(self.bounds, str) and self.bounds == "unit":
            bounds = unknown
        elif isinstance(self.bounds, str) and self.bounds == "private":
            if targets.range is None and buyer.are_words(scaled=free):
                bounds = buyer.words(unknown)
            else:
                bounds = buyer.norms(self._centred(buyer.features(unknown, scaled=free), buyer), quantile)
        else:
            cut = auto.unpaid_length(targets.loss, buyer.budget, buyer.n_rows, p, sparse) if free else None
            bounds = given_box(unknown, self.bounds, p, sparse, scaled=free, cut=cut)
            if free and p > 1 and cut is None:
                narrowed = buyer.within(bounds) if buyer.narrow and not whole else bounds
                bounds = buyer.norms(self._centred(narrowed, buyer), quantile)
        if self.fit_intercept:
            grid, share = bounds.grid(p), auto.constant(targets.loss, buyer.budget, buyer.n_rows, p, sparse)
            bounds = replace(bounds, intercept=share * float(grid.l2 * grid.unit))
        return bounds

    def _centred(self, bounds: RowBounds, buyer: BoundsBuyer) -> RowBounds:
        """Bounds with a bought centre: as they are, for a classifier."""
        del buyer
        return bounds

    def _solver(self, problem: Problem, sparse: bool) -> Solver:
        solver = self.solver
        if isinstance(solver, str) and solver == "auto":
            decided = auto.decide(problem, sparse)
            return self._limited(chosen(problem, decided, self.preferred, lambda s: self._limited(s)))
        return self._limited(solvers.by_name(solver)() if isinstance(solver, str) else solver)

    def _limited(self, solver: Solver) -> Solver:
        """The solver, with as many steps as `max_iter` says; with `inference`, one whose release has a known law."""
        if self.inference:
            solver = solver.inner if isinstance(solver, Calibrated) else solver  # coefficients, not probabilities
            check_inference(solver, None, None)
        if self.max_iter == "auto":
            return solver
        if not hasattr(solver, "steps"):
            raise Refusal(f"max_iter={self.max_iter!r} has no meaning for solver {solver.name!r}; leave it 'auto'")
        return cast(Solver, replace(cast(Any, solver), steps=int(self.max_iter)))

    def _infer(self, problem: Problem, law: Law, mechanism: Gaussian, targets: Targets) -> None:
        """Buy what standard errors take, for coefficients in original units."""
        coef, intercept = problem.bounds.to_original(np.eye(problem.n_weights))
        original = np.vstack([coef.T, intercept] if problem.has_intercept else [coef.T]) * targets.unit
        found = infer(problem, law, mechanism, original)
        if problem.has_intercept:
            found.estimate[-1] += targets.centre
        self.inference_ = found

    def _threads(self) -> int:
        return 1 if self.n_jobs is None else max(int(self.n_jobs), 1)

    def _keep(self, weights: Floats, bounds: RowBounds, targets: Targets, plan: Plan) -> None:
        coef, intercept = bounds.to_original(np.atleast_2d(weights))
        self.coef_, self.intercept_ = self._shaped(coef * targets.unit, intercept * targets.unit + targets.centre)
        self.n_iter_ = plan.n_steps
        self.bounds_ = bounds

    def _shaped(self, coef: Floats, intercept: Floats) -> tuple[Floats, Any]:
        return coef[0], float(intercept[0])

    def _margins(self, X: Any) -> Floats:
        check_is_fitted(self)
        X = rows_and_targets(self, X)
        return np.asarray(margins(self.bounds_, X, np.atleast_2d(self.coef_).T) + self.intercept_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = True
        return tags

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model as JSON: coefficients, bounds and statement, nothing of the data.

        ``discreet.load`` reads it back.
        """
        check_is_fitted(self)
        persistence.save(self, path)


def _looks(buyer: BoundsBuyer, given: Any) -> list[Look]:
    looks = [Look(thing, "paid", note) for thing, note in buyer.paid.items()]
    if not isinstance(given, str) or given == "unit":
        looks.insert(0, Look("feature bounds", "public", "rows clipped to norm 1" if given == "unit" else "given"))
    return looks
