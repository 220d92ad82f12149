"""Attacks on privacy promises: ``discreet.audit(model)``, or ``discreet.audit(fit, neighbors=..., epsilon=...)``.

The package itself can be called, which is the same as :func:`discreet.audit.run.audit`.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

_HOME = {
    "AuditResult": "distinguishing",
    "audit": "run",
    "audit_solver": "run",
    "distinguish": "distinguishing",
    "epsilon_lower": "distinguishing",
    "worst_pairs": "neighbours",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(_HOME)}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


class _CallablePackage(ModuleType):
    """``discreet.audit`` is a folder of attacks and, by the public interface, a function."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from discreet.audit.run import audit

        return audit(*args, **kwargs)


sys.modules[__name__].__class__ = _CallablePackage
