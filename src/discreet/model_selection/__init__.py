"""Private model selection: a search over candidates inside one budget, of which the best one alone is released.

scikit-learn's own ``GridSearchCV`` and ``cross_val_score`` work on private models, but everything that they report is a
release outside the budget: each fit spends its own epsilon, and each plain score is read from private rows for nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.model_selection.search import PrivateSearchCV as PrivateSearchCV

_HOME = {"PrivateSearchCV": "search"}  # name -> file; imported at first use

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(_HOME)}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
