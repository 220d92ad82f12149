"""What a plan costs: event trees, accountants, calibration, filters.

``epsilon(event, delta)``, ``delta(event, epsilon)`` and ``calibrate(make_event, budget)`` are all that most callers
need; each accountant is a module of its own.  Modules that not every
plan needs are loaded when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

# Eagerly: the module `calibrate` would otherwise hide the function of that name once anyone imports it.
from discreet.accounting.calibrate import (
    ACCOUNTANTS,
    calibrate,
    delta,
    epsilon,
    spent,
    steps_for,
)
from discreet.accounting.gdp import clip_shares
from discreet.accounting.standard import to_standard

if TYPE_CHECKING:
    from discreet.accounting import (
        bounded_range,
        composition,
        events,
        filters,
        gdp,
        iteration,
        pld,
        pure,
        rdp,
        subsampling,
        zcdp,
    )

__all__ = [
    "ACCOUNTANTS",
    "bounded_range",
    "calibrate",
    "clip_shares",
    "composition",
    "delta",
    "epsilon",
    "events",
    "filters",
    "gdp",
    "iteration",
    "pld",
    "pure",
    "rdp",
    "spent",
    "steps_for",
    "subsampling",
    "to_standard",
    "zcdp",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return importlib.import_module(f"discreet.accounting.{name}")
    raise AttributeError(f"module 'discreet.accounting' has no attribute {name!r}")
