"""Privacy without a trusted curator: what runs on a person's device, and what adds the reports up.

``__all__`` is the registry.  A randomiser is made of public parameters; ``randomizer.report(value)`` is the whole
client half, :class:`Aggregator` the other, and :class:`Shuffler` what may stand between them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.local.aggregator import Aggregator as Aggregator
    from discreet.local.base import Estimate as Estimate
    from discreet.local.base import Randomizer as Randomizer
    from discreet.local.caps import PrivUnit as PrivUnit
    from discreet.local.caps import PrivUnitG as PrivUnitG
    from discreet.local.logistic import LogisticProtocol as LogisticProtocol
    from discreet.local.poisoning import poisoned_shift as poisoned_shift
    from discreet.local.responses import BinaryResponse as BinaryResponse
    from discreet.local.responses import KaryResponse as KaryResponse
    from discreet.local.responses import OptimizedUnary as OptimizedUnary
    from discreet.local.responses import SymmetricUnary as SymmetricUnary
    from discreet.local.scalars import Duchi as Duchi
    from discreet.local.scalars import Hybrid as Hybrid
    from discreet.local.scalars import Piecewise as Piecewise
    from discreet.local.shuffler import Shuffler as Shuffler
    from discreet.local.truncated_laplace import TruncatedLaplace as TruncatedLaplace
    from discreet.local.vectors import DuchiVector as DuchiVector
    from discreet.local.vectors import Hemisphere as Hemisphere
    from discreet.local.wire import ReportError as ReportError

_HOME = {  # name -> file; imported at first use
    "Aggregator": "aggregator",
    "BinaryResponse": "responses",
    "Duchi": "scalars",
    "DuchiVector": "vectors",
    "Estimate": "base",
    "Hemisphere": "vectors",
    "Hybrid": "scalars",
    "KaryResponse": "responses",
    "LogisticProtocol": "logistic",
    "OptimizedUnary": "responses",
    "Piecewise": "scalars",
    "PrivUnit": "caps",
    "PrivUnitG": "caps",
    "Randomizer": "base",
    "ReportError": "wire",
    "Shuffler": "shuffler",
    "SymmetricUnary": "responses",
    "TruncatedLaplace": "truncated_laplace",
    "poisoned_shift": "poisoning",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(_HOME)}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
