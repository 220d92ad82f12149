"""One algorithm of the literature per file; ``__all__`` is the registry that estimators and the docs read."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.solvers.adaptive_gradient_descent import AdaptiveGradientDescent as AdaptiveGradientDescent
    from discreet.solvers.base import Solver
    from discreet.solvers.calibrated import Calibrated as Calibrated
    from discreet.solvers.class_means import ClassMeans as ClassMeans
    from discreet.solvers.coordinate_descent import CoordinateDescent as CoordinateDescent
    from discreet.solvers.frank_wolfe import FrankWolfe as FrankWolfe
    from discreet.solvers.gradient_descent import GradientDescent as GradientDescent
    from discreet.solvers.greedy_coordinate_descent import GreedyCoordinateDescent as GreedyCoordinateDescent
    from discreet.solvers.heavy_tailed_peeling import HeavyTailedPeeling as HeavyTailedPeeling
    from discreet.solvers.iterative_hard_thresholding import IterativeHardThresholding as IterativeHardThresholding
    from discreet.solvers.newton import Newton as Newton
    from discreet.solvers.objective_perturbation import ObjectivePerturbation as ObjectivePerturbation
    from discreet.solvers.output_perturbation import OutputPerturbation as OutputPerturbation
    from discreet.solvers.peeling import PeelingDescent as PeelingDescent
    from discreet.solvers.selected_objective_perturbation import (
        SelectedObjectivePerturbation as SelectedObjectivePerturbation,
    )
    from discreet.solvers.sgd import StochasticGradientDescent as StochasticGradientDescent
    from discreet.solvers.steep_objective_perturbation import SteepObjectivePerturbation as SteepObjectivePerturbation
    from discreet.solvers.sufficient_statistics import SufficientStatistics as SufficientStatistics
    from discreet.solvers.svrg import StochasticVarianceReduced as StochasticVarianceReduced
    from discreet.solvers.whitened_gradient_descent import WhitenedGradientDescent as WhitenedGradientDescent
    from discreet.solvers.whitened_objective_perturbation import (
        WhitenedObjectivePerturbation as WhitenedObjectivePerturbation,
    )
    from discreet.solvers.whitened_poisson import WhitenedPoisson as WhitenedPoisson
    from discreet.solvers.whitened_regression import WhitenedRegression as WhitenedRegression

_HOME = {  # class -> file, which is also the string that estimators take
    "GradientDescent": "gradient_descent",
    "AdaptiveGradientDescent": "adaptive_gradient_descent",
    "CoordinateDescent": "coordinate_descent",
    "GreedyCoordinateDescent": "greedy_coordinate_descent",
    "StochasticGradientDescent": "sgd",
    "StochasticVarianceReduced": "svrg",
    "FrankWolfe": "frank_wolfe",
    "IterativeHardThresholding": "iterative_hard_thresholding",
    "PeelingDescent": "peeling",
    "HeavyTailedPeeling": "heavy_tailed_peeling",
    "ObjectivePerturbation": "objective_perturbation",
    "SteepObjectivePerturbation": "steep_objective_perturbation",
    "SelectedObjectivePerturbation": "selected_objective_perturbation",
    "Newton": "newton",
    "OutputPerturbation": "output_perturbation",
    "SufficientStatistics": "sufficient_statistics",
    "WhitenedGradientDescent": "whitened_gradient_descent",
    "WhitenedObjectivePerturbation": "whitened_objective_perturbation",
    "ClassMeans": "class_means",
    "Calibrated": "calibrated",
    "WhitenedRegression": "whitened_regression",
    "WhitenedPoisson": "whitened_poisson",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(_HOME)}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])


def names() -> list[str]:
    """The strings that estimators take as ``solver=``.

    >>> "gradient_descent" in names()
    True
    """
    return list(_HOME.values())


def by_name(name: str) -> type[Solver]:
    """The solver of that name, with an error that lists the names.

    >>> by_name("gradient_descent").__name__
    'GradientDescent'
    """
    for cls, home in _HOME.items():
        if home == name:
            found: type[Solver] = __getattr__(cls)
            return found
    raise ValueError(f"solver={name!r} is not a solver; choose one of {', '.join(map(repr, names()))}, or 'auto'")
