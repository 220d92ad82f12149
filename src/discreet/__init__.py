"""Differentially private linear models, with the scikit-learn interface and guarantees in exact integers.

Importing this package costs next to nothing: every public name is looked up when it is first used.

Examples
--------
>>> import discreet
>>> discreet.Budget(epsilon=1, delta=1e-6)
Budget(epsilon=1, delta=1e-06, neighbors='zero_out')
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.estimators import HuberRegressor as HuberRegressor
    from discreet.estimators import LinearRegression as LinearRegression
    from discreet.estimators import LinearSVC as LinearSVC
    from discreet.estimators import LogisticRegression as LogisticRegression
    from discreet.estimators import PoissonRegressor as PoissonRegressor
    from discreet.estimators import QuantileRegressor as QuantileRegressor
    from discreet.estimators.persistence import load as load
    from discreet.model_selection import PrivateSearchCV as PrivateSearchCV
    from discreet.penalties import L1 as L1
    from discreet.penalties import L2 as L2
    from discreet.penalties import Box as Box
    from discreet.penalties import ElasticNet as ElasticNet
    from discreet.penalties import GroupL1Ball as GroupL1Ball
    from discreet.penalties import L1Ball as L1Ball
    from discreet.penalties import L2Ball as L2Ball
    from discreet.penalties import LqBall as LqBall
    from discreet.penalties import Polytope as Polytope
    from discreet.penalties import Simplex as Simplex
    from discreet.penalties import Sparsity as Sparsity
    from discreet.preprocessing import Schema as Schema
    from discreet.privacy import Bounded as Bounded
    from discreet.privacy import Budget as Budget
    from discreet.privacy import Neighbours as Neighbours
    from discreet.privacy import PrivacyError as PrivacyError

__version__ = "0.1.0"

_HOME = {  # public name -> module it lives in; a name is listed once its module exists
    "Box": "discreet.penalties",
    "ElasticNet": "discreet.penalties",
    "GroupL1Ball": "discreet.penalties",
    "L1": "discreet.penalties",
    "L1Ball": "discreet.penalties",
    "L2": "discreet.penalties",
    "L2Ball": "discreet.penalties",
    "LqBall": "discreet.penalties",
    "Polytope": "discreet.penalties",
    "Simplex": "discreet.penalties",
    "Sparsity": "discreet.penalties",
    "Bounded": "discreet.privacy",
    "Budget": "discreet.privacy",
    "HuberRegressor": "discreet.estimators",
    "LinearRegression": "discreet.estimators",
    "LinearSVC": "discreet.estimators",
    "LogisticRegression": "discreet.estimators",
    "PoissonRegressor": "discreet.estimators",
    "QuantileRegressor": "discreet.estimators",
    "load": "discreet.estimators.persistence",
    "Neighbours": "discreet.privacy",
    "PrivacyError": "discreet.privacy",
    "PrivateSearchCV": "discreet.model_selection",
    "Schema": "discreet.preprocessing",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
        globals()[name] = value  # so that the next look-up is an ordinary one
        return value
    if not name.startswith("_"):
        try:
            return importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(sorted(_HOME))}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
