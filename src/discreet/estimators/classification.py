"""Logistic regression (two classes or many) and the linear support vector machine."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from discreet.curator.survey import Survey
from discreet.estimators.base import PrivateLinearModel, Targets
from discreet.estimators.checks import check_class_weight, check_classes, positive_number
from discreet.estimators.labels import buy_labels
from discreet.estimators.statement import Look
from discreet.inference import check as check_inference
from discreet.losses import LogisticLoss, Loss, SmoothedHingeLoss, SoftmaxLoss
from discreet.penalties.base import Penalty
from discreet.privacy import Budget, Neighbours
from discreet.randomness import Source
from discreet.solvers.base import Solver

__all__ = ["LinearSVC", "LogisticRegression"]

Floats = NDArray[np.float64]


class _Classifier(ClassifierMixin, PrivateLinearModel):
    """Labels to codes and back; the label set is public, given or as seen."""

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
        classes: Sequence[Any] | Literal["private"] | None = None,
        class_weight: Mapping[Any, float] | None = None,
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
        self.classes = classes
        self.class_weight = class_weight

    @abstractmethod
    def _loss(self, n_classes: int) -> Loss:
        """The loss for that many classes."""

    def _declared(self) -> Targets:
        known = None if isinstance(self.classes, str) else self.classes
        return Targets(np.zeros(0), self._loss(2 if known is None else len(known)), [])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # test sets of a hundred rows are too few to be private and good
        return tags

    def _check_parameters(self) -> Neighbours:
        neighbors = super()._check_parameters()
        check_classes(self.classes, self.delta, self.class_weight)
        check_class_weight(self.class_weight)
        return neighbors

    def _reweighted(self, weights: Floats | None, y: Any) -> Floats | None:
        """Sample weights times the weight of each row's class, relative to the heaviest class."""
        if self.class_weight is None:
            return weights
        unknown = set(self.class_weight) - set(self.classes_.tolist())
        if unknown:
            raise ValueError(f"class_weight names {sorted(map(repr, unknown))}, which are not among the classes")
        each = np.array([float(self.class_weight.get(c, 1.0)) for c in self.classes_.tolist()])
        rows = np.asarray((each / each.max())[np.searchsorted(self.classes_, y)], dtype=np.float64)
        return rows if weights is None else rows * weights

    def _targets(self, y: Any) -> Targets:
        check_classification_targets(y)
        if isinstance(self.classes, str):
            seen, places = np.unique(y, return_inverse=True)
            return Targets(places.astype(np.float64), self._loss(2), [], seen=seen)
        if self.classes is None:
            self.classes_, codes = np.unique(y, return_inverse=True)
            look = Look("label set", "public", "declared public as seen in the data")
        else:
            self.classes_ = np.unique(np.asarray(self.classes))
            codes = np.searchsorted(self.classes_, y)
            codes = np.minimum(codes, len(self.classes_) - 1)
            if not np.array_equal(self.classes_[codes], y):
                raise ValueError("some labels are not among the classes given; list every label that may occur")
            look = Look("label set", "public", "given")
        looks = [look]
        if self.class_weight is not None:
            looks.append(Look("class weights", "public", "given"))
        return self._coded(codes, looks)

    def _coded(self, codes: NDArray[Any], looks: list[Look]) -> Targets:
        n = len(self.classes_)
        if n < 2:
            raise ValueError("a classifier needs samples of at least 2 classes; got 1 class, give classes=[...]")
        loss = self._loss(n)
        return Targets(np.asarray(codes if loss.n_outputs > 1 else 2 * codes - 1, dtype=np.float64), loss, looks)

    def _labelled(
        self, targets: Targets, weights: Floats | None, survey: Survey, left: Budget, source: Source
    ) -> tuple[Targets, Floats | None, Budget, list[Any]]:
        """Labels that are bought, where they are neither given nor declared public; rows of others become blank."""
        if targets.seen is None:
            return targets, weights, left, []
        bought = buy_labels(targets.seen, targets.values, survey, left, source)
        self.classes_ = bought.labels
        weights = bought.stay.astype(np.float64) if weights is None else np.where(bought.stay, weights, 0.0)
        targets = self._coded(bought.codes, [bought.look])
        if self.inference:
            check_inference(None, self.penalty, self.delta, targets.loss)
        return targets, weights, bought.left, [bought.event]

    def _shaped(self, coef: Floats, intercept: Floats) -> tuple[Floats, Any]:
        return coef, np.atleast_1d(intercept)

    def decision_function(self, X: Any) -> Floats:
        """Margins: one per row for two classes, one per row and class for more."""
        margins = self._margins(X)
        return margins.ravel() if margins.shape[1] == 1 else margins

    def predict(self, X: Any) -> NDArray[Any]:
        """The most likely class of each row."""
        margins = self.decision_function(X)
        codes = (margins > 0).astype(int) if margins.ndim == 1 else margins.argmax(axis=1)
        return np.asarray(self.classes_[codes])


class LogisticRegression(_Classifier):
    r"""Differentially private logistic regression, for two classes or (softmax) for more.

    Parameters
    ----------
    epsilon : float, default=1.0
        The privacy budget.
    delta : float or "auto"
        ``"auto"`` is ``min(1e-6, 1 / (10 n))``; 0 asks for pure differential privacy.
    neighbors : {"zero_out", "replace_one", "add_remove"}
        What counts as one row's difference.
    penalty : Penalty, optional
        A set of allowed coefficients (``L1Ball(10)``) or a penalty term (``L1(0.1)``), in original units.
    solver : "auto", str or Solver
        The algorithm; a solver object carries its own options.
    bounds : (low, high), "unit" or RowBounds
        Public bounds of the features.
    fit_intercept : bool, default=True
        Whether to add a constant column, inside the bound of a row.
    max_iter : int or "auto"
        Number of steps, for solvers that have them.
    classes : sequence or "private", optional
        The labels that may occur; by default those seen, declared public.  ``"private"`` buys them for a twentieth of
        the budget: those that enough rows have; rows of other labels then count as blank.
    class_weight : dict, optional
        Public weights of classes; only their ratios count, since no row weighs more than 1.
    inference : bool, default=False
        Whether to set a tenth of the budget aside for standard errors, :meth:`conf_int` and :meth:`summary`.
    warm_start : bool, default=False
        Whether :meth:`fit` starts from the weights of the fit before, for solvers that start somewhere; the price of
        that fit is then part of ``privacy_``.
    rows_per_person : int, default=1
        How many rows of each person are used at most, chosen at random, where :meth:`fit` is given ``groups``.
    random_state : None or int
        None draws noise from the operating system.  An int repeats the noise and voids the promise.
    n_jobs : int, optional
        Threads.
    verbose : int, default=0
        Unused: a private fit has nothing to report before its end.

    Notes
    -----
    *Privacy.* Guarantee: (epsilon, delta)-DP, see ``privacy_``.  Neighbours: `neighbors`.
    Public: shapes, bounds, label set, all parameters.  Bounded by: clipped rows and the slope of the loss.
    Proof: ``proofs/objective_perturbation.md``,
    and ``proofs/private_bounds.md`` for bounds that are bought.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (5000, 2))
    >>> y = X[:, 0] + 0.1 * rng.normal(size=5000) > 0
    >>> model = LogisticRegression(epsilon=1.0, delta=1e-6, bounds=(-1, 1)).fit(X, y)
    >>> bool(model.score(X, y) > 0.9), model.privacy_.epsilon <= 1.0
    (True, True)
    """

    def _loss(self, n_classes: int) -> Loss:
        return LogisticLoss() if n_classes == 2 else SoftmaxLoss(n_classes)

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class."""
        margins = self._margins(X)
        if margins.shape[1] == 1:
            p = np.asarray(LogisticLoss().predict_proba(margins.ravel()))
            return p if p.ndim == 2 else np.column_stack([1 - p, p])
        return np.asarray(SoftmaxLoss(len(self.classes_)).predict_proba(margins))

    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithm of the probability of each class."""
        return np.asarray(np.log(np.maximum(self.predict_proba(X), 1e-300)))


class LinearSVC(_Classifier):
    r"""A differentially private linear support vector machine for two classes, with a smoothed hinge loss.

    Parameters
    ----------
    epsilon, delta, neighbors, penalty, solver, bounds, fit_intercept, max_iter : see LogisticRegression
    classes, class_weight, inference, warm_start, rows_per_person : see LogisticRegression
    random_state, n_jobs, verbose : see LogisticRegression
        The budget and everything else that all estimators share.
    width : float, default=0.5
        Width of the smoothed corner of the hinge.

    Notes
    -----
    *Privacy.* Guarantee: (epsilon, delta)-DP, see ``privacy_``.  Neighbours: `neighbors`.
    Public: shapes, bounds, label set, all parameters.  Bounded by: clipped rows and the slope of the loss, 1.
    Proof: ``proofs/objective_perturbation.md``,
    and ``proofs/private_bounds.md`` for bounds that are bought.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (5000, 2))
    >>> model = LinearSVC(epsilon=1.0, bounds=(-1, 1)).fit(X, X[:, 0] > 0)
    >>> bool(model.score(X, X[:, 0] > 0) > 0.9)
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
        fit_intercept: bool = True,
        max_iter: int | Literal["auto"] = "auto",
        classes: Sequence[Any] | Literal["private"] | None = None,
        class_weight: Mapping[Any, float] | None = None,
        width: float = 0.5,
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
            classes=classes,
            class_weight=class_weight,
            inference=inference,
            warm_start=warm_start,
            rows_per_person=rows_per_person,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.width = width

    def _check_parameters(self) -> Neighbours:
        neighbors = super()._check_parameters()
        positive_number(self.width, "width", "the width of the corner in units of the margin, such as 0.5")
        return neighbors

    def _loss(self, n_classes: int) -> Loss:
        if n_classes > 2:
            raise ValueError(
                "Only binary classification is supported. A support vector machine for many classes is one model per "
                "class, each paid for: take LogisticRegression, whose softmax costs one"
            )
        return SmoothedHingeLoss(self.width)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
