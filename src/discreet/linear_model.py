"""The estimators, under the name that scikit-learn's users look for."""

from __future__ import annotations

from discreet.estimators.classification import LinearSVC, LogisticRegression
from discreet.estimators.regression import HuberRegressor, LinearRegression, PoissonRegressor, QuantileRegressor

__all__ = [
    "HuberRegressor",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "PoissonRegressor",
    "QuantileRegressor",
]
