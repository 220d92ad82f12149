"""The search itself, with scikit-learn's interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from discreet.accounting.events import ApproximateDpEvent, compose
from discreet.estimators.base import FittedEvent
from discreet.estimators.statement import Look, Statement
from discreet.model_selection.candidates import check_rows, check_search, default_delta, inside
from discreet.model_selection.methods import Plan, Rows, ladder, plan_for, repeat_and_select
from discreet.privacy import Budget, Neighbours
from discreet.randomness import source_for

__all__ = ["PrivateSearchCV"]


def _offers(name: str) -> Any:
    def check(search: Any) -> bool:
        return hasattr(getattr(search, "best_estimator_", search.estimator), name)

    return check


class PrivateSearchCV(MetaEstimatorMixin, BaseEstimator):
    """The best of several settings of a private model, inside one budget.

    Every fit and every score costs privacy, so a search is planned as a whole: a public part of the rows trains the
    candidates, the rest scores them, and the winner alone is released.  Two methods:

    ``"ladder"``
        Each candidate is trained once with an equal share of the budget; permute-and-flip chooses by clipped scores
        with the whole budget again, as the rows that score are others than those that train.
    ``"repeat_and_select"``
        A secret random number of times a random candidate is trained and scored with a bit less than a third of
        epsilon; the best run is released.  The price hardly depends on how many candidates there are.

    Parameters
    ----------
    estimator : estimator
        A model of this package, or a pipeline that ends in one and whose other steps learn nothing from the rows.
    param_grid : dict or list of dict
        Lists of values, as for ``GridSearchCV``.  Budgets and seeds are no settings: the search sets them.
    epsilon, delta, neighbors
        The budget of everything together: fits, scores and the choice.
    method : {"auto", "ladder", "repeat_and_select"}
        ``"auto"`` takes the method that leaves each fit the larger epsilon.
    scoring : {None, "accuracy", "log_loss", "mean_squared_error", "auc"}
        None is accuracy for classifiers and the squared error for regressors (which orders models as R2 does); the
        area under the ROC curve is no sum over rows, so it goes with ``"repeat_and_select"`` alone.
    validation : float, default=0.2
        The share of the rows that score.
    clip : float, default=5.0
        The most that one row counts in the log-loss.
    repeats : float or "auto"
        The mean number of runs; 5 for each candidate.  It costs delta, and time, but hardly any epsilon.
    shape : float, default=1.0
        Of the law of the number of runs, above -1: the search costs ``2 + shape`` times the epsilon of one run.  Small
        shapes are cheap and stop after one run more often; 1 is the geometric law.
    refit : False or float
        The share of the budget for a new fit of the winner on all rows.  False releases the selected model itself.
    random_state : None or int
        None is private; a seed repeats the noise and promises nothing.

    Attributes
    ----------
    best_estimator_, best_params_, best_index_
        The winner.  Its statement is that of the search, not of its own fit.
    best_score_ : float
        Its noisy score, larger being better (``"repeat_and_select"`` with a public number of rows only).
    cv_results_ : dict
        The settings, which are public.  Scores of losers, and how many runs there were, are not released.
    privacy_, dp_event_
        What was promised and spent, all in all.

    Notes
    -----
    *Privacy.* Guarantee: (epsilon, delta)-DP for the winner and everything above.  Neighbours: `neighbors`.
    Public: candidates, the split by place (under add/remove it is drawn by secret coins), the law of the number of
    runs, and what the model's own statement lists.  Bounded by: a row trains or scores; clipped scores.
    Proof: ``proofs/model_selection.md``.

    Examples
    --------
    >>> from discreet import L2, LogisticRegression
    >>> from discreet.randomness import data_generator
    >>> X = data_generator(0).uniform(-1, 1, (4000, 3))
    >>> model = LogisticRegression(bounds=(-1, 1))
    >>> grid = {"penalty": [L2(1.0), L2(1e6)]}
    >>> search = PrivateSearchCV(model, grid, epsilon=2.0, scoring="log_loss").fit(X, X[:, 0] > 0)
    >>> search.best_params_["penalty"], search.privacy_.epsilon <= 2.0
    (L2(a=1.0), True)
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
        *,
        epsilon: float = 1.0,
        delta: float | Literal["auto"] = "auto",
        neighbors: str = "zero_out",
        method: Literal["auto", "ladder", "repeat_and_select"] = "auto",
        scoring: str | None = None,
        validation: float = 0.2,
        clip: float = 5.0,
        repeats: float | Literal["auto"] = "auto",
        shape: float = 1.0,
        refit: float | Literal[False] = False,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.delta = delta
        self.neighbors = neighbors
        self.method = method
        self.scoring = scoring
        self.validation = validation
        self.clip = clip
        self.repeats = repeats
        self.shape = shape
        self.refit = refit
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Search: train, score, choose and release the winner.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Rows, one per person.
        y : array
            Targets.

        Returns
        -------
        self
            With the winner in ``best_estimator_``.
        """
        neighbors = Neighbours.of(self.neighbors)
        candidates = check_search(self)
        rows = Rows(X, np.asarray(y), neighbors)
        candidates.check_shapes(X, self.epsilon, self.delta)
        check_rows(X, rows.y, plain=not candidates.prefix)
        budget = Budget(self.epsilon, default_delta(self.delta, rows.n, neighbors), neighbors=neighbors)
        source = source_for(self.random_state)
        searching, later = (budget, None) if self.refit is False else _divided(budget, float(self.refit))
        plan = plan_for(self, candidates, searching)
        given, candidates = candidates, candidates.labelled(rows.y)
        split = rows.split(plan.validation, source.child("split"))
        run = ladder if plan.method == "ladder" else repeat_and_select
        found = run(plan, candidates, split, source.child(plan.method))
        event, model = plan.event, found.model
        if later is not None:
            model = candidates.fitted(found.index, X, rows.y, later, source.child("refit"))
            event = compose(event, ApproximateDpEvent(later.epsilon, later.delta))
        self.best_index_ = found.index
        self.best_params_ = candidates.settings[found.index]
        self.cv_results_ = {"params": list(candidates.settings)}
        if found.score is not None:
            self.best_score_ = found.score
        own = inside(model).privacy_.looks
        if candidates is not given:
            seen = Look("label set", "public", "declared public as seen in the data")
            own = [seen if look.thing == seen.thing else look for look in own]
        looks = self._looks(plan, own, later)
        self.privacy_ = Statement(budget, event, f"search: {plan.method}", looks, seeded=not source.private)
        self.dp_event_ = FittedEvent(event)
        _stamp(model, self.privacy_, self.random_state)
        self.best_estimator_ = model
        return self

    def _looks(self, plan: Plan, own: Sequence[Look], later: Budget | None) -> list[Look]:
        said = [
            Look("candidates", "public", f"{plan.n_candidates} settings"),
            Look("scores of candidates", "paid", f"{plan.scoring}, on {100 * float(plan.validation):g} % of the rows"),
            Look("each fit", "paid", f"epsilon {plan.each.epsilon:.6g}"),
        ]
        if plan.method != "ladder":
            said.append(Look("number of runs", "public", f"its law: mean {plan.mean:.6g}; the number stays secret"))
        if later is not None:
            said.append(Look("a new fit on all rows", "paid", f"epsilon {later.epsilon:.6g}"))
        return [*said, *own]

    @property
    def classes_(self) -> Any:
        """The classes of the winner."""
        return self.best_estimator_.classes_

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return int(self.best_estimator_.n_features_in_)

    def predict(self, X: Any) -> Any:
        """What the winner predicts."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @available_if(_offers("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """The winner's probabilities."""
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    @available_if(_offers("decision_function"))
    def decision_function(self, X: Any) -> Any:
        """The winner's margins."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def score(self, X: Any, y: ArrayLike) -> float:
        """The plain score: on private rows a release outside the budget; see :mod:`discreet.metrics`."""
        check_is_fitted(self)
        return float(self.best_estimator_.score(X, y))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__() if hasattr(self.estimator, "__sklearn_tags__") else tags
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.non_deterministic = True
        return tags


def _divided(budget: Budget, share: float) -> tuple[Budget, Budget]:
    searching, later = budget.split([1 - share, share])
    return searching, later


def _stamp(model: Any, privacy: Statement, random_state: Any) -> None:
    """The winner says what the search cost: alone, its own fit's price would hide that it was chosen."""
    last = inside(model)
    last.privacy_, last.dp_event_ = privacy, FittedEvent(privacy.event)
    last.set_params(random_state=random_state)
