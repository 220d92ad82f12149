"""Charged scores of a model on private test rows: accuracy, AUC, log-loss, R2 and mean squared error.

``score`` returns the plain value, as scikit-learn does, and is a release outside every budget.  The functions here pay
for what they say: each takes an epsilon and gives a :class:`Score`, with its error and what was promised.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.metrics.classification import accuracy as accuracy
    from discreet.metrics.classification import log_loss as log_loss
    from discreet.metrics.ranking import auc as auc
    from discreet.metrics.regression import mean_squared_error as mean_squared_error
    from discreet.metrics.regression import r2 as r2
    from discreet.metrics.release import Score as Score
    from discreet.metrics.scorers import Scorer as Scorer
    from discreet.metrics.scorers import make_scorer as make_scorer

_HOME = {  # name -> file; imported at first use
    "Score": "release",
    "Scorer": "scorers",
    "accuracy": "classification",
    "auc": "ranking",
    "log_loss": "classification",
    "make_scorer": "scorers",
    "mean_squared_error": "regression",
    "r2": "regression",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(_HOME)}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
