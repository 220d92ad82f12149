"""Penalties as a perturbed minimum takes them: a quadratic, and a set or a convex term over the features alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import Gaussian, KNorm
from discreet.mechanisms.base import Mechanism
from discreet.penalties.base import Penalty
from discreet.privacy import Budget
from discreet.solvers.base import Problem
from discreet.solvers.queries import NoisySum

__all__ = ["EXACT", "FeaturesOnly", "Minimum", "composite_of", "in_ball", "quadratic_of", "spread"]

Floats = NDArray[np.float64]

# prox steps in closed form, good to a few roundings, on which the certificate of the minimum relies
EXACT = ("l1", "elastic_net", "l1_ball", "l2_ball", "simplex", "box", "group_l1_ball")


@dataclass(frozen=True)
class FeaturesOnly:
    """A penalty that leaves the intercepts where they are.

    Examples
    --------
    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import LogisticLoss
    >>> from discreet.penalties import L2Ball
    >>> from discreet.privacy import Budget
    >>> problem = Problem(LogisticLoss(), RowBounds(l2=1, intercept=1), 2, 9, Budget(1, 1e-6), penalty=L2Ball(1.0))
    >>> FeaturesOnly(L2Ball(1.0), problem).prox(np.array([0.0, 2.0, 7.0]), 1.0)
    array([0., 1., 7.])
    """

    penalty: Penalty
    problem: Problem

    @property
    def is_constraint(self) -> bool:
        """Whether it is a set."""
        return self.penalty.is_constraint

    def _features(self, theta: Any) -> Floats:
        shaped = np.asarray(theta, dtype=np.float64).reshape(self.problem.shape)
        return shaped[..., : self.problem.n_weights - self.problem.has_intercept]

    def value(self, theta: Any) -> float:
        """The penalty of the features."""
        return float(self.penalty.value(self._features(theta).ravel()))

    def prox(self, theta: Any, step: float = 1.0) -> Floats:
        """The prox of the features."""
        moved = np.array(theta, dtype=np.float64)
        features = self._features(moved.reshape(self.problem.shape))
        features[...] = self.penalty.prox(features.ravel(), step).reshape(features.shape)
        return moved


def quadratic_of(problem: Problem) -> float | None:
    """The price of an l2 penalty, which is a ridge; None for any other."""
    penalty = problem.penalty
    return float(penalty.strong_convexity) if penalty is not None and penalty.name == "l2" else None


def composite_of(problem: Problem) -> FeaturesOnly | None:
    """What is added to the ridge."""
    if problem.penalty is None or quadratic_of(problem) is not None:
        return None
    return FeaturesOnly(problem.penalty, problem)


def in_ball(part: Budget) -> KNorm:
    """The pure mechanism for a vector with an l2 bound, at the price of `part`.

    >>> type(in_ball(Budget(0.5))).__name__
    'KNorm'
    """
    return KNorm(part.epsilon)


@dataclass(frozen=True)
class Minimum(NoisySum):
    """A minimiser: Gaussian noise, or noise by the Euclidean ball when the budget is pure.

    Examples
    --------
    >>> type(Minimum().pure(0.5)).__name__
    'KNorm'
    """

    def pure(self, epsilon: float) -> Mechanism:
        """Noise whose density falls with the Euclidean norm."""
        return KNorm(epsilon)


def spread(mechanism: Mechanism, size: int) -> float:
    """The root mean square noise of one of `size` coordinates, per unit of l2 sensitivity.

    >>> spread(KNorm(0.5), 3)
    4.0
    """
    if isinstance(mechanism, Gaussian):
        return mechanism.noise_multiplier
    assert isinstance(mechanism, KNorm)
    return math.sqrt(size + 1) / mechanism.epsilon
