"""The only code that opens sealed statistics: it adds noise or selects, and states what that costs.

``__all__`` is the registry: the laws' parameters and the API pages read it.  A new mechanism is one file, one line in
``_HOME`` and one in the imports for type checkers.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.mechanisms.discrete_laplace import DiscreteLaplace as DiscreteLaplace
    from discreet.mechanisms.exponential import Exponential as Exponential
    from discreet.mechanisms.gaussian import Gaussian as Gaussian
    from discreet.mechanisms.k_norm import KNorm as KNorm
    from discreet.mechanisms.label_set import LabelSet as LabelSet
    from discreet.mechanisms.laplace import Laplace as Laplace
    from discreet.mechanisms.noisy_max import NoisyMax as NoisyMax
    from discreet.mechanisms.noisy_top_k import NoisyTopK as NoisyTopK
    from discreet.mechanisms.noisy_top_k import Peeling as Peeling
    from discreet.mechanisms.noisy_top_k import PublishedPeeling as PublishedPeeling
    from discreet.mechanisms.permute_and_flip import PermuteAndFlip as PermuteAndFlip
    from discreet.mechanisms.perturbation import Perturbation as Perturbation
    from discreet.mechanisms.perturbation import PurePerturbation as PurePerturbation
    from discreet.mechanisms.randomized_response import KRandomizedResponse as KRandomizedResponse
    from discreet.mechanisms.randomized_response import RandomizedResponse as RandomizedResponse

_HOME = {  # name -> file; imported at first use, so that listing them costs nothing
    "DiscreteLaplace": "discrete_laplace",
    "Exponential": "exponential",
    "Gaussian": "gaussian",
    "KNorm": "k_norm",
    "KRandomizedResponse": "randomized_response",
    "LabelSet": "label_set",
    "Laplace": "laplace",
    "NoisyMax": "noisy_max",
    "NoisyTopK": "noisy_top_k",
    "Peeling": "noisy_top_k",
    "PermuteAndFlip": "permute_and_flip",
    "Perturbation": "perturbation",
    "PublishedPeeling": "noisy_top_k",
    "PurePerturbation": "perturbation",
    "RandomizedResponse": "randomized_response",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(_HOME)}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
