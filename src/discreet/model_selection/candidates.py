"""The candidates of a search, and everything about them that is refused before a row is read."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, get_tags

from discreet.estimators.base import PrivateLinearModel
from discreet.metrics.regression import target_range
from discreet.privacy import Budget, Neighbours, PrivacyError
from discreet.randomness import Source, source_for

__all__ = ["Candidates", "check_rows", "check_search", "default_delta", "inside", "take"]

METHODS = ("auto", "ladder", "repeat_and_select")
SUMS = ("accuracy", "log_loss", "mean_squared_error")  # scores that are sums over rows
OURS = ("epsilon", "delta", "neighbors", "random_state", "ledger", "warm_start")  # what the search itself decides


def inside(model: Any) -> Any:
    """The private model itself: the last step, of a pipeline.

    >>> from discreet import LogisticRegression
    >>> inside(Pipeline([("model", LogisticRegression())]))
    LogisticRegression()
    """
    return model[-1] if isinstance(model, Pipeline) else model


def take(X: Any, places: NDArray[np.int64]) -> Any:
    """The rows at those places.

    >>> take(np.arange(6).reshape(3, 2), np.array([2])).tolist()
    [[4, 5]]
    """
    if hasattr(X, "tocsr"):
        return X.tocsr()[places]
    return X.iloc[places] if hasattr(X, "iloc") else np.asarray(X)[places]


def default_delta(delta: Any, n: int, neighbors: Neighbours) -> float:
    """The delta that is asked for, checked against the number of rows where that is public.

    >>> default_delta("auto", 1000, Neighbours.ZERO_OUT)
    1e-06
    """
    if isinstance(delta, str):
        return min(1e-6, 1 / (10 * n)) if neighbors.public_n else 1e-6
    if neighbors.public_n and n * float(delta) > 1:
        raise PrivacyError(f"delta={delta!r} times {n} rows is above 1, which protects nobody; use at most {1 / n:g}")
    return float(delta)


@dataclass(frozen=True)
class Candidates:
    """Settings of one template, each of which can be fitted for a budget.

    Examples
    --------
    >>> from discreet import LogisticRegression
    >>> Candidates(LogisticRegression(), ({"penalty": None},), Neighbours.ZERO_OUT, "accuracy").prefix
    ''
    """

    template: Any
    settings: tuple[dict[str, Any], ...]
    neighbors: Neighbours
    scoring: str
    more: tuple[tuple[str, Any], ...] = ()

    @property
    def prefix(self) -> str:
        """What comes before the names of the private model's own parameters."""
        return f"{self.template.steps[-1][0]}__" if isinstance(self.template, Pipeline) else ""

    @property
    def target(self) -> tuple[float, float]:
        """The public range of the target, for scores of regressors."""
        known = target_range(inside(self.template).bounds_y)
        assert known is not None
        return known

    def made(self, index: int) -> Any:
        """An unfitted candidate."""
        own = {f"{self.prefix}{name}": value for name, value in self.more}
        return clone(self.template).set_params(**own, **clone_values(self.settings[index]))

    def fitted(self, index: int, X: Any, y: NDArray[Any], budget: Budget, source: Source) -> Any:
        """A candidate fitted for that budget, with noise from that source."""
        model = self.made(index)
        spend = {
            "epsilon": budget.epsilon, "delta": budget.delta, "neighbors": self.neighbors.value, "random_state": source,
        }  # fmt: skip
        return model.set_params(**{f"{self.prefix}{k}": v for k, v in spend.items()}).fit(X, y)

    def check_shapes(self, X: Any, epsilon: float, delta: Any) -> None:
        """Refuse settings that don't go together: parameters and shapes only, no row."""
        for index in range(len(self.settings)):
            model = inside(self.made(index)).set_params(
                epsilon=epsilon, delta=delta, neighbors=self.neighbors.value, random_state=None
            )
            model._check_parameters()
            if not self.prefix:
                model._refuse_early(X, self.neighbors, model._declared())

    def labelled(self, y: NDArray[Any]) -> Candidates:
        """With the label set of all rows, declared public as seen, where none is given.

        Both parts of the rows, and all candidates, must mean the same classes.
        """
        own = inside(self.template).get_params(deep=False)
        if "classes" not in own or own["classes"] is not None:
            return self
        return replace(self, more=(("classes", np.unique(y).tolist()),))


def clone_values(setting: dict[str, Any]) -> dict[str, Any]:
    """A setting whose estimators are fresh copies, as ``GridSearchCV`` makes them."""
    return {name: clone(value, safe=False) for name, value in setting.items()}


def check_search(search: Any) -> Candidates:
    """Everything that can be refused by looking at parameters.

    >>> from discreet import LogisticRegression
    >>> from discreet.model_selection import PrivateSearchCV
    >>> check_search(PrivateSearchCV(LogisticRegression(), {"epsilon": [1, 2]}))
    Traceback (most recent call last):
    ...
    ValueError: 'epsilon' is no setting of a search: the search divides its own budget; give it to PrivateSearchCV
    """
    _check_numbers(search)
    source_for(search.random_state)
    neighbors = Neighbours.of(search.neighbors)
    model = inside(search.estimator)
    if not isinstance(model, PrivateLinearModel):
        raise TypeError(
            f"estimator={search.estimator!r} must be a private model of this package, or a pipeline that ends in one"
        )
    if isinstance(search.estimator, Pipeline):
        _check_steps(search.estimator)
    if model.warm_start:
        raise ValueError("warm_start=True would carry one candidate's weights into the next; leave it False")
    settings = tuple(dict(setting) for setting in ParameterGrid(search.param_grid))
    if not settings:
        raise ValueError("param_grid holds no candidate; give a dict of lists, such as {'penalty': [L2(1), L2(10)]}")
    for name in {name for setting in settings for name in setting}:
        if name.split("__")[-1] in OURS:
            raise ValueError(
                f"{name!r} is no setting of a search: the search divides its own budget; give it to PrivateSearchCV"
            )
    scoring = _scoring(search, model)
    return Candidates(search.estimator, settings, neighbors, scoring)


def check_rows(X: Any, y: NDArray[Any], *, plain: bool) -> None:
    """Refuse missing values and the like in all rows at once, before some of them train and others score.

    >>> check_rows(np.eye(2), np.array([0.0, np.nan]), plain=True)
    Traceback (most recent call last):
    ...
    ValueError: y holds missing or infinite entries; drop or impute such rows by a public rule first
    """
    if plain:
        check_array(X, accept_sparse=["csr", "csc"], dtype=np.float64)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("y holds missing or infinite entries; drop or impute such rows by a public rule first")


def _check_numbers(search: Any) -> None:
    def number(value: Any) -> bool:
        return isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(float(value))

    if not (number(search.epsilon) and search.epsilon > 0):
        raise ValueError(f"epsilon={search.epsilon!r} must be positive and finite; usual values lie between 0.1 and 10")
    if search.delta != "auto" and not (number(search.delta) and 0 <= search.delta < 1):
        raise ValueError(f"delta={search.delta!r} must be 'auto', or at least 0 and below 1")
    if search.method not in METHODS:
        raise ValueError(f"method={search.method!r} is not one of {', '.join(map(repr, METHODS))}")
    if not (number(search.validation) and 0.001 <= search.validation <= 0.9):
        raise ValueError(f"validation={search.validation!r} must be a share from 0.001 to 0.9, such as 0.2")
    if not (number(search.clip) and search.clip > 0):
        raise ValueError(f"clip={search.clip!r} must be positive and finite: the most that one row counts")
    if search.repeats != "auto" and not (number(search.repeats) and 1 <= search.repeats <= 1e6):
        raise ValueError(f"repeats={search.repeats!r} must be 'auto' or a mean number of runs, at least 1")
    if not (number(search.shape) and -1 < search.shape <= 1):
        raise ValueError(f"shape={search.shape!r} must be above -1 and at most 1, the geometric law")
    if search.refit is not False and not (number(search.refit) and 0 < search.refit < 1):
        raise ValueError(
            f"refit={search.refit!r} must be False (release the selected model itself) or the share of the budget that "
            "a new fit on all rows may spend, between 0 and 1: a refit is never free"
        )


def _check_steps(pipeline: Pipeline) -> None:
    for name, step in pipeline.steps[:-1]:
        if step is not None and step != "passthrough" and get_tags(step).requires_fit:
            raise PrivacyError(
                f"step {name!r} of the pipeline learns from the rows, which nobody pays for; leave it out (bounds and "
                "scales are bought by the model itself), or take a transformer that learns nothing"
            )


def _scoring(search: Any, model: PrivateLinearModel) -> str:
    classifies = is_classifier(model)
    scoring = search.scoring or ("accuracy" if classifies else "mean_squared_error")
    allowed = ("accuracy", "log_loss", "auc") if classifies else ("mean_squared_error",)
    if scoring not in allowed:
        raise ValueError(f"scoring={scoring!r} is not one of {', '.join(map(repr, allowed))} for this estimator")
    if scoring == "log_loss" and not hasattr(model, "predict_proba"):
        raise ValueError("scoring='log_loss' needs probabilities, which this estimator doesn't have; take 'accuracy'")
    if scoring == "auc" and search.method == "ladder":
        raise ValueError(
            "the area under the ROC curve is no sum over rows, so the ladder can't choose by it: take "
            "method='repeat_and_select', or scoring='log_loss'"
        )
    if not classifies and target_range(getattr(model, "bounds_y", "private")) is None:
        raise ValueError(
            "a search scores regressors by squared misses within a public range of the target: give the estimator "
            "bounds_y=(low, high)"
        )
    return scoring
