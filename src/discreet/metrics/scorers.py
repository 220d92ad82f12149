"""Scorers that scikit-learn's tools can call, each call paid for out of one account that can't be copied."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from discreet.metrics.classification import accuracy, log_loss
from discreet.metrics.ranking import auc
from discreet.metrics.regression import mean_squared_error, r2
from discreet.metrics.release import Score
from discreet.privacy import Budget, PrivacyError

__all__ = ["METRICS", "Scorer", "make_scorer"]

METRICS: dict[str, tuple[Callable[..., Score], int]] = {  # the function, and +1 where more is better
    "accuracy": (accuracy, 1),
    "auc": (auc, 1),
    "log_loss": (log_loss, -1),
    "mean_squared_error": (mean_squared_error, -1),
    "r2": (r2, 1),
}


class Scorer:
    """A charged metric as ``scorer(model, X, y)``, larger being better, for a fixed number of calls.

    Made by :func:`make_scorer`.  Copies and pickles are refused: two copies would each spend the whole account.

    Attributes
    ----------
    scores : list of Score
        Every release so far.

    Notes
    -----
    *Privacy.* Guarantee: `budget`, over all calls.  Neighbours: those of the options.  Public: everything.
    Bounded by: basic composition, each call having an equal share.  Proof: ``proofs/metrics.md``.

    Examples
    --------
    >>> make_scorer("accuracy", epsilon=1.0, calls=5).left
    5
    """

    def __init__(self, metric: str, epsilon: float, calls: int, delta: float, options: dict[str, Any]) -> None:
        if metric not in METRICS:
            raise ValueError(f"metric={metric!r} is not one of {', '.join(map(repr, METRICS))}")
        if isinstance(calls, bool) or int(calls) != calls or calls < 1:
            raise ValueError(f"calls={calls!r} must be a whole number, at least 1")
        self.metric, self.calls, self.options = metric, int(calls), dict(options)
        self.budget = Budget(epsilon, delta, neighbors=options.get("neighbors", "zero_out"))
        share = self.budget.split(self.calls)[0]
        # rounded down, so that the shares never add up to more than the whole
        self._each = tuple(math.nextafter(v, 0.0) if v else v for v in (share.epsilon, share.delta))
        self._used = 0
        self.scores: list[Score] = []

    @property
    def left(self) -> int:
        """How many calls are left."""
        return self.calls - self._used

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        if self.left < 1:
            raise PrivacyError(
                f"all {self.calls} calls of this scorer are spent, {self.budget} in all; make one with more calls "
                "(each then has a smaller share), or score fewer models"
            )
        self._used += 1  # before the rows are read: a call that fails is spent, too
        (epsilon, delta), (function, sign) = self._each, METRICS[self.metric]
        found = function(estimator, X, y, epsilon=epsilon, delta=delta, **self.options)
        self.scores.append(found)
        return sign * found.value

    def __reduce_ex__(self, _: object) -> Any:
        raise PrivacyError(
            "a scorer holds an account and can't be copied or sent to another process: each copy would spend it anew; "
            "score in one process, without clone"
        )


def make_scorer(metric: str, *, epsilon: float = 1.0, delta: float = 0.0, calls: int = 1, **options: Any) -> Scorer:
    """A scorer for scikit-learn's tools whose calls together keep one budget.

    Parameters
    ----------
    metric : {"accuracy", "auc", "log_loss", "mean_squared_error", "r2"}
        Losses come with a minus sign, so that larger is better.
    epsilon, delta : float
        The budget of all calls together.
    calls : int, default=1
        How often it may be called, such as folds times settings.
    **options
        What else the metric takes: ``clip``, ``bounds_y``, ``neighbors``.

    Notes
    -----
    Only the scores are paid for here, not the models that are scored: each of those has its own budget, and a search
    over models on the same rows spends all of them (see :class:`discreet.model_selection.PrivateSearchCV`).

    *Privacy.* Guarantee: the budget, over all calls.  Neighbours: those of the options.  Public: everything.
    Bounded by: basic composition.  Proof: ``proofs/metrics.md``.

    Examples
    --------
    >>> scorer = make_scorer("log_loss", epsilon=2.0, calls=4, clip=3.0)
    >>> scorer.left
    4
    """
    return Scorer(metric, epsilon, calls, delta, options)
