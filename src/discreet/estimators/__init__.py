"""scikit-learn estimators: one class per loss, private by its parameters."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.estimators.classification import LinearSVC as LinearSVC
    from discreet.estimators.classification import LogisticRegression as LogisticRegression
    from discreet.estimators.regression import HuberRegressor as HuberRegressor
    from discreet.estimators.regression import LinearRegression as LinearRegression
    from discreet.estimators.regression import PoissonRegressor as PoissonRegressor
    from discreet.estimators.regression import QuantileRegressor as QuantileRegressor

_HOME = {
    "HuberRegressor": "regression",
    "LinearRegression": "regression",
    "LinearSVC": "classification",
    "LogisticRegression": "classification",
    "PoissonRegressor": "regression",
    "QuantileRegressor": "regression",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(_HOME)}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
