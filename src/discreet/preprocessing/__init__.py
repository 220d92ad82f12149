"""From tables to bounded numbers: what each column is, how missing values are read, and scalers that are paid for.

A :class:`Schema` reads nothing from the data but what it buys; everything else about the columns is said to it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.preprocessing.columns import Categorical as Categorical
    from discreet.preprocessing.columns import Hashed as Hashed
    from discreet.preprocessing.columns import Numeric as Numeric
    from discreet.preprocessing.columns import Paid as Paid
    from discreet.preprocessing.scalers import PrivateMinMaxScaler as PrivateMinMaxScaler
    from discreet.preprocessing.scalers import PrivateStandardScaler as PrivateStandardScaler
    from discreet.preprocessing.schema import Schema as Schema

_HOME = {  # name -> file; imported at first use
    "Categorical": "columns",
    "Hashed": "columns",
    "Numeric": "columns",
    "Paid": "columns",
    "PrivateMinMaxScaler": "scalers",
    "PrivateStandardScaler": "scalers",
    "Schema": "schema",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(_HOME)}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
