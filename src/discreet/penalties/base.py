"""What every penalty is: a constraint set with its geometry, or a composite term with its prox."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.penalties.vertex_map import VertexMap

__all__ = ["Array", "ConstraintSet", "NormalGenerator", "Penalty", "positive"]

Array = NDArray[np.float64]
Norm = Literal["l1", "l2", "linf"]


class NormalGenerator(Protocol):
    """Anything that draws standard normal numbers, such as ``randomness.data_generator(seed)``."""

    def standard_normal(self, size: tuple[int, ...], /) -> Any:
        """An array of that shape."""


@dataclass(frozen=True)
class Penalty(ABC):
    """A convex term in the weights (or the indicator of a set), with the proximal step that minimises it.

    Everything is in the sum convention: the objective is ``sum of losses + value(weights)``.

    Attributes
    ----------
    name : str
        The registry's name.
    is_constraint : bool
        Whether this is a set of allowed weights instead of a price on them.
    is_convex : bool
        Whether it is convex.
    separable : bool
        Whether it splits into one term per coordinate, which is what coordinate descent needs.

    Examples
    --------
    >>> from discreet.penalties import L1
    >>> L1(1.0).prox([3.0, -0.5], 2.0)
    array([ 1., -0.])
    """

    name: ClassVar[str]
    is_constraint: ClassVar[bool] = False
    is_convex: ClassVar[bool] = True
    separable: ClassVar[bool] = False

    @property
    def strong_convexity(self) -> float:
        """The modulus m with ``value - m/2 |w|^2`` still convex."""
        return 0.0

    @abstractmethod
    def value(self, weights: ArrayLike) -> float:
        """The penalty of these weights."""

    @abstractmethod
    def prox(self, v: ArrayLike, step: ArrayLike = 1.0) -> Array:
        """``argmin_w |w - v|^2 / 2 + step * value(w)``; `step` may be one per coordinate where `separable`."""

    def prox_coordinate(self, v: float, step: float, index: int) -> float:
        """The prox of one coordinate, where `separable`."""
        del v, step, index
        raise TypeError(f"{self.name!r} does not split by coordinates; take 'l1', 'l2', 'elastic_net' or 'box' instead")


@dataclass(frozen=True)
class ConstraintSet(Penalty):
    """A closed set of allowed weights, with everything that algorithms and theorems ask of it.

    The number of features `p` is an argument wherever it matters, since a ball of radius 1 is a public choice that
    does not depend on it.

    Attributes
    ----------
    symmetric : bool
        Whether ``-w`` is allowed whenever `w` is: then :meth:`minkowski` is a norm (for a convex set).
    exact_width : bool
        Whether :meth:`gaussian_width` is exact (to about ten digits) instead of an upper bound.

    Examples
    --------
    >>> from discreet.penalties import L1Ball
    >>> ball = L1Ball(2.0)
    >>> ball.project([3.0, 0.5]), ball.dual_norm([3.0, -4.0]), ball.diameter("l2", 2)
    (array([2., 0.]), 8.0, 4.0)
    """

    is_constraint: ClassVar[bool] = True
    exact_width: ClassVar[bool] = False

    @property
    def symmetric(self) -> bool:
        """Whether ``-w`` is allowed whenever `w` is."""
        return True

    # what a set must define ---------------------------------------------------------------------------------------
    @abstractmethod
    def project(self, v: ArrayLike) -> Array:
        """The nearest allowed weights."""

    @abstractmethod
    def linear_oracle(self, g: ArrayLike) -> Array:
        """Allowed weights `s` with the smallest ``<g, s>``."""

    @abstractmethod
    def support(self, v: ArrayLike) -> Array:
        """``max <v, w>`` over allowed `w`, for vectors on the last axis."""

    @abstractmethod
    def minkowski(self, v: ArrayLike) -> float:
        """The Minkowski norm: the smallest `t` at least 0 with `v` in `t` times the set, infinite if there is none."""

    @abstractmethod
    def radius_in(self, norm: Norm, p: int) -> float:
        """The largest norm of allowed weights."""

    @abstractmethod
    def gaussian_width(self, p: int) -> float:
        """``E max <z, w>`` for `z` standard normal: exact where `exact_width` says so, else an upper bound."""

    # what follows --------------------------------------------------------------------------------------------------
    def dual_norm(self, v: ArrayLike) -> float:
        """The dual of the Minkowski norm: ``max |<v, w>|`` over allowed `w`."""
        x = vector(v)
        return float(max(self.support(x), self.support(-x)))

    def diameter(self, norm: Norm, p: int) -> float:
        """The largest distance between two allowed points."""
        return 2.0 * self.radius_in(norm, p)

    def contains(self, v: ArrayLike, tolerance: float = 1e-9) -> bool:
        """Whether `v` is allowed, up to a relative tolerance."""
        return self.minkowski(v) <= 1.0 + tolerance

    def value(self, weights: ArrayLike) -> float:
        """0 if allowed, infinite if not."""
        return 0.0 if self.contains(weights) else math.inf

    def prox(self, v: ArrayLike, step: ArrayLike = 1.0) -> Array:
        """The projection, whatever the step."""
        del step
        return self.project(v)

    def gaussian_width_monte_carlo(self, p: int, n: int, generator: NormalGenerator) -> tuple[float, float]:
        """``E max <z, w>`` estimated from `n` draws, and the standard error of the estimate."""
        draws, left = [], n
        while left > 0:
            rows = min(left, max(1, 2_000_000 // p))
            draws.append(np.asarray(self.support(generator.standard_normal((rows, p)))))
            left -= rows
        sample = np.concatenate(draws)
        return float(sample.mean()), float(sample.std(ddof=1) / math.sqrt(n))

    # vertices ------------------------------------------------------------------------------------------------------
    def n_vertices(self, p: int) -> int | None:
        """The number of vertices, or None where the set is not a polytope."""
        del p
        return None

    def vertex(self, i: int, p: int) -> Array:
        """The vertex number `i`, without building the others."""
        return self.vertex_map(p).point(i)

    def vertex_list(self, p: int) -> Array:
        """All vertices as rows; meant for few of them."""
        count = self.n_vertices(p)
        if count is None or count * p > 10**8:
            raise ValueError(f"{self.name!r} has {count or 'no finite number of'} vertices: too many to list")
        return np.stack([self.vertex(i, p) for i in range(count)])

    def vertex_map(self, p: int) -> VertexMap:
        """The candidates that a private selection chooses from, with the exact map from gradients to scores."""
        del p
        raise TypeError(
            f"{self.name!r} has no finite list of vertices; use a polytope, an l1 ball, a simplex or an lq ball, "
            "or the general variant of Frank-Wolfe with Gaussian noise on the gradient"
        )


def positive(value: float, what: str) -> float:
    """`value` as a float, refused unless positive and finite.

    >>> positive(3, "radius")
    3.0
    """
    number = float(value)
    if not (0 < number < math.inf):
        raise ValueError(f"{what}={value!r} must be a positive finite number")
    return number


def whole(value: int, what: str) -> int:
    """`value` as an int, refused unless it is a whole number, at least 1."""
    if isinstance(value, bool) or int(value) != value or value < 1:
        raise ValueError(f"{what}={value!r} must be a whole number, at least 1")
    return int(value)


def vector(v: ArrayLike) -> Array:
    """A one-dimensional float64 array."""
    x = np.asarray(v, dtype=np.float64)
    if x.ndim != 1:
        raise ValueError(f"this needs a vector, not an array of shape {x.shape}")
    return x


def norm_of(w: Array, norm: Norm) -> float:
    """The l1, l2 or largest-entry norm.

    >>> norm_of(np.array([3.0, -4.0]), "l2")
    5.0
    """
    if norm not in ("l1", "l2", "linf"):
        raise ValueError(f"norm={norm!r} is not one of 'l1', 'l2', 'linf'")
    return float(np.linalg.norm(w, {"l1": 1, "l2": 2, "linf": np.inf}[norm])) if w.size else 0.0
