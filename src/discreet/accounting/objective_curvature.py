"""How much a loss can bend where its slope is s: the curvature function of objective perturbation.

A loss enters the privacy of a perturbed minimum through its largest slope and through the function
``h(s) = sup { f''(u, y) : |f'(u, y)| = s L }``.  What the accounting needs is an upper bound of
``log(1 + kappa h(s))`` on every cell of a grid in s, never a value at a point: a maximum over grid points would
under-estimate the privacy loss (``proofs/objective_perturbation.md``, section 9).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

__all__ = ["SHAPES", "Curvature", "curvature"]

Array = NDArray[np.float64]
Chords = Callable[[float, Array], tuple[Array, Array]]


@dataclass(frozen=True)
class Curvature:
    r"""The curvature of a loss as a function of its slope.

    Parameters
    ----------
    name : str
        What it is called in events and statements.
    sign_fixed : bool
        Whether the sign of the slope is known from the target alone.
    beta : float
        The largest value of h: the smoothness of the loss.
    cells : callable
        ``cells(nodes)`` bounds h from above on each cell ``[nodes[i], nodes[i + 1]]``.
    chords : callable, optional
        ``chords(kappa, nodes)`` returns the end values of one affine function per cell that is an upper bound of
        ``log(1 + kappa h(s))`` there.  Missing: the constant that `cells` gives.
    falling : bool
        Whether ``h(s) / s`` is nonincreasing, so that short rows and small weights need no larger bound.
    agree : callable, optional
        ``agree(mu, kappa)`` is an epsilon, at least 0, from which on both directions have the same profile
        (Corollary 6).

    Examples
    --------
    >>> SHAPES["logistic"].beta, SHAPES["pseudo_huber"].sign_fixed
    (0.25, False)
    """

    name: str
    sign_fixed: bool
    beta: float
    cells: Callable[[Array], Array]
    chords: Chords | None = None
    falling: bool = True
    agree: Callable[[float, float], float] | None = None

    def log_determinant(self, kappa: float, nodes: Array) -> tuple[Array, Array]:
        """End values, per cell, of an affine upper bound of ``log(1 + kappa h(s))``.

        >>> import numpy as np
        >>> left, right = SHAPES["logistic"].log_determinant(1.0, np.array([0.0, 0.5, 1.0]))
        >>> bool(np.all(np.maximum(left, right) >= np.log(1 + 0.25)))
        True
        """
        if self.chords is not None:
            return self.chords(kappa, nodes)
        top = np.log1p(kappa * self.cells(nodes))
        return top, top

    def nonincreasing(self) -> Curvature:
        """``h_down(s) = sup { h(u) : u >= s }``, needed when mu and kappa are bounded apart (Lemma 4).

        >>> import numpy as np
        >>> SHAPES["logistic"].nonincreasing().cells(np.array([0.0, 0.1, 1.0])).tolist()
        [0.25, 0.25]
        """
        if self.name == "pseudo_huber":
            return self

        def cells(nodes: Array) -> Array:
            return np.asarray(np.maximum.accumulate(self.cells(nodes)[::-1])[::-1])

        if self.name == "logistic":
            return replace(self, name="logistic, nonincreasing", cells=_soft_cells, chords=_soft_chords, agree=None)
        return replace(self, name=f"{self.name}, nonincreasing", cells=cells, chords=None, agree=None)

    def for_short_rows(self) -> Curvature:
        """The curvature to use for every shorter row and smaller weight: `self` if h(s)/s is nonincreasing.

        Otherwise ``s sup { h(u) / u : u >= s }``, which is above the ``s^2 sup { h(u) / u^2 }`` of Lemma 3.

        >>> SHAPES["logistic"].for_short_rows() is SHAPES["logistic"]
        True
        """
        if self.falling:
            return self

        def cells(nodes: Array) -> Array:
            h, low, high = self.cells(nodes), nodes[:-1], nodes[1:]
            # at s = 0 the term is t^2 h(0) <= h(0), which the first cell covers
            ratio = h / np.where(low > 0, low, 1.0)
            later = np.concatenate([np.maximum.accumulate(ratio[::-1])[::-1][1:], [0.0]])
            return np.asarray(np.minimum(np.maximum(h, high * later), self.beta))

        return replace(self, name=f"{self.name}, short rows", cells=cells, chords=None, falling=True, agree=None)


def _logistic_h(s: Array) -> Array:
    return s * (1.0 - s)


def _logistic_cells(nodes: Array) -> Array:
    low, high = nodes[:-1], nodes[1:]
    return _logistic_h(np.clip(0.5, low, high))


def _logistic_chords(kappa: float, nodes: Array) -> tuple[Array, Array]:
    """The tangent at the middle of the cell: log(1 + kappa s (1 - s)) is concave."""
    middle, half = (nodes[:-1] + nodes[1:]) / 2, np.diff(nodes) / 2
    inside = 1.0 + kappa * _logistic_h(middle)
    value, slope = np.log(inside), kappa * (1.0 - 2.0 * middle) / inside
    return value - slope * half, value + slope * half


def _pseudo_huber_h(s: Array) -> Array:
    return np.maximum((1.0 - s) * (1.0 + s), 0.0) ** 1.5


def _pseudo_huber_chords(kappa: float, nodes: Array) -> tuple[Array, Array]:
    """Tangent where log(1 + kappa h) is concave, chord where it is convex, the left value in between.

    The second derivative has the sign of ``kappa h(s) (1 + s^2) - (2 s^2 - 1)`` reversed, and that difference is
    decreasing in s: concave up to one point, convex from there on.
    """
    low, high = nodes[:-1], nodes[1:]
    middle, half = (low + high) / 2, (high - low) / 2

    def concave(s: Array) -> NDArray[np.bool_]:
        return np.asarray(2.0 * s * s - 1.0 <= kappa * _pseudo_huber_h(s) * (1.0 + s * s))

    inside = 1.0 + kappa * _pseudo_huber_h(middle)
    slope = -3.0 * kappa * middle * np.sqrt(1.0 - middle**2) / inside
    left, right = np.log1p(kappa * _pseudo_huber_h(low)), np.log1p(kappa * _pseudo_huber_h(high))
    tangent, chord = concave(high), ~concave(low)
    first = np.where(tangent, np.log(inside) - slope * half, left)
    last = np.where(tangent, np.log(inside) + slope * half, np.where(chord, right, left))
    return first, last


def _logistic_agree(mu: float, kappa: float) -> float:
    return max((kappa - mu * mu / 2) * (1 + 1e-12), 0.0) + (1e-15 if kappa > mu * mu / 2 * (1 - 1e-12) else 0.0)


def _pseudo_huber_agree(mu: float, kappa: float) -> float:
    del mu
    return 0.75 * math.sqrt(3.0) * kappa * (1 + 1e-12)


def _constant_cells(nodes: Array) -> Array:
    return np.ones(len(nodes) - 1)


def _soft_cells(nodes: Array) -> Array:
    return _logistic_h(np.maximum(nodes[:-1], 0.5))


def _soft_chords(kappa: float, nodes: Array) -> tuple[Array, Array]:
    """The tangent at the middle of the cell: 1/4 up to one half and s (1 - s) beyond is concave and smooth."""
    middle, half = (nodes[:-1] + nodes[1:]) / 2, np.diff(nodes) / 2
    at = np.maximum(middle, 0.5)
    inside = 1.0 + kappa * _logistic_h(at)
    value, slope = np.log(inside), kappa * (1.0 - 2.0 * at) / inside
    return value - slope * half, value + slope * half


@dataclass(frozen=True)
class _LeftCells:
    """The value at the left end of each cell, which bounds a nonincreasing h; equal and picklable as h is."""

    h: Callable[[Array], Array]

    def __call__(self, nodes: Array) -> Array:
        return np.asarray(self.h(nodes[:-1]), dtype=float)


@dataclass(frozen=True)
class _LipschitzCells:
    """The highest that a Lipschitz h can be between the ends of each cell; equal and picklable as h is."""

    h: Callable[[Array], Array]
    slope: float
    beta: float

    def __call__(self, nodes: Array) -> Array:
        values = np.asarray(self.h(nodes), dtype=float)
        return np.asarray(np.minimum((values[:-1] + values[1:] + self.slope * np.diff(nodes)) / 2, self.beta))


SHAPES: dict[str, Curvature] = {
    shape.name: shape
    for shape in (
        # f' = -y sigmoid(-y u): |f'| = s, f'' = s (1 - s), for hard labels
        Curvature("logistic", True, 0.25, _logistic_cells, _logistic_chords, agree=_logistic_agree),
        # labels in [0, 1]: |f'| = |p - y| = s leaves p(1 - p) free up to 1/4 while s <= 1/2
        Curvature("logistic_soft", False, 0.25, _soft_cells, _soft_chords),
        # f' = C t / sqrt(1 + t^2), f'' = (1 + t^2)^(-3/2) = (1 - s^2)^(3/2)
        Curvature(
            "pseudo_huber", False, 1.0, _LeftCells(_pseudo_huber_h), _pseudo_huber_chords, agree=_pseudo_huber_agree
        ),
        # no decay of the curvature is known: smoothed hinge (sign known), Huber and everything else (sign unknown)
        Curvature("one_sided", True, 1.0, _constant_cells),
        Curvature("two_sided", False, 1.0, _constant_cells),
    )
}
"""The named curvatures.  A loss with smoothness beta times that of its shape multiplies kappa by beta."""


def curvature(
    name: str,
    h: Callable[[Array], Array],
    *,
    sign_fixed: bool,
    beta: float,
    slope: float | None = None,
    falling: bool = False,
) -> Curvature:
    """The curvature of a loss of your own, from its function h on [0, 1].

    `h` must be nonincreasing, or Lipschitz with the constant `slope`: point values say nothing about what lies
    between them.  `beta` is the largest value of h.  ``falling=True`` promises that h(s)/s is nonincreasing.

    Notes
    -----
    *Privacy.* Guarantee: none by itself; a wrong h makes every statement built on it wrong.  Neighbours: any.
    Public: h must not depend on the data.  Bounded by: `beta`, `slope`, checked on a grid only.
    Proof: ``proofs/objective_perturbation.md``, sections 0 and 9.

    Examples
    --------
    >>> cosine = curvature("cosine", lambda s: np.cos(np.pi * s / 2), sign_fixed=True, beta=1.0)
    >>> cosine.cells(np.array([0.0, 0.5, 1.0])).round(3).tolist()
    [1.0, 0.707]
    """
    if not (math.isfinite(beta) and beta >= 0):
        raise ValueError(f"beta={beta!r} must be a finite non-negative number: the largest curvature of the loss")
    probe = np.asarray(h(np.linspace(0.0, 1.0, 257)), dtype=float)
    if probe.shape != (257,) or not np.all(np.isfinite(probe)) or probe.min() < 0 or probe.max() > beta:
        raise ValueError(f"h of curvature {name!r} must map [0, 1] into [0, beta={beta!r}], array to array")
    steps = np.diff(probe)
    if slope is None and np.any(steps > 0):
        raise ValueError(f"h of curvature {name!r} increases somewhere; give slope= (its Lipschitz constant)")
    if slope is not None and np.any(np.abs(steps) * 256 > slope * (1 + 1e-9)):
        raise ValueError(f"slope={slope!r} is not a Lipschitz constant of h of curvature {name!r}; give a larger one")

    cells = _LeftCells(h) if slope is None else _LipschitzCells(h, slope, beta)
    return Curvature(name, sign_fixed, beta, cells, None, falling)
