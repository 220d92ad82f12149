"""Means, covariances, histograms and quantiles of private rows, with a trusted curator.

``__all__`` is the registry.  Every function takes a budget (``epsilon``, ``delta``, or ``rho``, or ``mu``) and a
neighbouring relation, and gives a :class:`Release`: a value, its error, and what was promised.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.moments.coinpress import coinpress_covariance as coinpress_covariance
    from discreet.moments.coinpress import coinpress_mean as coinpress_mean
    from discreet.moments.covariances import covariance as covariance
    from discreet.moments.covariances import second_moments as second_moments
    from discreet.moments.histograms import histogram as histogram
    from discreet.moments.hypotheses import gaussian_by_selection as gaussian_by_selection
    from discreet.moments.means import mean as mean
    from discreet.moments.quantiles import quantile as quantile
    from discreet.moments.release import Promise as Promise
    from discreet.moments.release import Release as Release

_HOME = {  # name -> file; imported at first use
    "Promise": "release",
    "Release": "release",
    "coinpress_covariance": "coinpress",
    "coinpress_mean": "coinpress",
    "covariance": "covariances",
    "gaussian_by_selection": "hypotheses",
    "histogram": "histograms",
    "mean": "means",
    "quantile": "quantiles",
    "second_moments": "covariances",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(_HOME)}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
