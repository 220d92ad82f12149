"""From row bounds and regularisers to the numbers mu and kappa of a perturbed minimum.

Intercepts, weights and shaped noise all enter here (section 7 of ``proofs/objective_perturbation.md``), so that no
caller works out ``R^2 / lambda`` on its own: a constant column is part of the row, and it is regularised.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.events import positive
from discreet.accounting.objective_calibration import ObjectiveNoise, Shape, calibrate_objective
from discreet.privacy import Budget

__all__ = ["Geometry", "calibrate_geometry", "shaped", "weight_capped", "with_intercept"]


@dataclass(frozen=True)
class Geometry:
    """What the rows can do: their largest (weighted) norm under the noise, and kappa.

    Attributes
    ----------
    row_norm : float
        ``sup w ||Sigma^(-1/2) x||`` for noise of covariance ``sigma^2 Sigma``: mu is this times L over sigma.
    kappa : float
        A bound of ``w x' Lambda^(-1) x``.
    apart : bool
        Whether the two are bounded by different rows, so that the nonincreasing curvature must be used (Lemma 4).

    Examples
    --------
    >>> with_intercept(1.0, 1.0, ridge=2.0)
    (Geometry(row_norm=1.414..., kappa=1.0..., apart=False),)
    """

    row_norm: float
    kappa: float
    apart: bool = False


def _up(x: float) -> float:
    return x * (1 + 1e-15)


def with_intercept(
    row_norm: float, constant: float, *, ridge: float, intercept_ridge: float | None = None
) -> tuple[Geometry, ...]:
    """Rows of norm at most `row_norm` with a constant column: the column counts, and needs a ridge of its own.

    Parameters
    ----------
    row_norm, constant : float
        The norm of a row without, and the value of, the constant column.
    ridge, intercept_ridge : float
        What multiplies ``theta_j^2 / 2``; the intercept's is the same unless given.  It can't be 0: without strong
        convexity in every direction there is no minimum for some noise, and no bound on the density ratio.

    Returns
    -------
    tuple of Geometry
        Each one valid; see :func:`calibrate_geometry`.

    Examples
    --------
    >>> [g.apart for g in with_intercept(1.0, 1.0, ridge=2.0, intercept_ridge=0.5)]
    [False, True]
    >>> with_intercept(1.0, 1.0, ridge=2.0, intercept_ridge=0.0)
    Traceback (most recent call last):
    ...
    ValueError: intercept_ridge=0.0 must be finite and positive
    """
    radius, c, lam = positive(row_norm, "row_norm"), positive(constant, "constant"), positive(ridge, "ridge")
    own = lam if intercept_ridge is None else positive(intercept_ridge, "intercept_ridge")
    square = radius**2 + c**2
    norm = _up(math.sqrt(square))
    if own >= lam:
        return (Geometry(norm, _up(square / lam)),)
    return Geometry(norm, _up(square / own)), Geometry(norm, _up(radius**2 / lam + c**2 / own), True)


def weight_capped(cap: float, largest_norm: float, *, ridge: float) -> tuple[Geometry, ...]:
    """Rows of any norm up to `largest_norm`, each with a weight of at most ``min(1, cap / ||x||)`` on its loss.

    The weighted slope is bounded by the cap, the weighted curvature only by ``cap * largest_norm``: a row of norm r
    above the cap has weight cap / r and curvature ``cap * r``.  So kappa is ``cap * largest_norm / ridge``, and
    *not* ``cap^2 / ridge``.

    Examples
    --------
    >>> weight_capped(1.0, 3.0, ridge=6.0)
    (Geometry(row_norm=1.0, kappa=0.5..., apart=False),)
    """
    low, high, lam = positive(cap, "cap"), positive(largest_norm, "largest_norm"), positive(ridge, "ridge")
    return (Geometry(low, _up(low * max(high, low) / lam)),)


def shaped(row_norm: float, covariance: NDArray[np.float64], ridge: NDArray[np.float64]) -> tuple[Geometry, ...]:
    """Rows of norm at most `row_norm`, noise of covariance ``sigma^2 covariance``, a ridge matrix.

    Both matrices must not depend on the rows, or be released before and paid for.

    Examples
    --------
    >>> import numpy as np
    >>> [round(g.kappa, 6) for g in shaped(1.0, np.diag([4.0, 1.0]), np.diag([8.0, 4.0]))]
    [0.5, 0.25]
    """
    radius = positive(row_norm, "row_norm")
    noise, root = np.linalg.eigh(np.asarray(covariance, dtype=float))
    smallest = float(np.min(np.linalg.eigvalsh(np.asarray(ridge, dtype=float))))
    if noise.min() <= 0 or smallest <= 0:
        raise ValueError("covariance and ridge must be positive definite, in every direction")
    half = (root * np.sqrt(noise)) @ root.T
    factor = float(np.max(np.linalg.eigvalsh(half @ np.linalg.solve(np.asarray(ridge, dtype=float), half))))
    norm = radius / math.sqrt(float(noise.min())) * (1 + 1e-12)
    return (
        Geometry(norm, factor * norm**2 * (1 + 1e-12)),
        Geometry(norm, radius**2 / smallest * (1 + 1e-12), True),
    )


def calibrate_geometry(
    budget: Budget,
    shape: Shape,
    geometries: Sequence[Geometry],
    *,
    ridge: float,
    lipschitz: float = 1.0,
    scale: float = 1.0,
    n_classes: int = 2,
    tau: float = 0.0,
    share: float = 0.02,
) -> ObjectiveNoise:
    """The least noise over geometries that all hold.

    Parameters
    ----------
    budget, shape, lipschitz, scale, n_classes, tau, share
        As in :func:`~discreet.accounting.objective_calibration.calibrate_objective`.
    geometries : sequence of Geometry
        From one of the functions of this module.
    ridge : float
        The smallest eigenvalue of the ridge: what `tau` is divided by.

    Notes
    -----
    *Privacy.* Guarantee: `budget`.  Neighbours: those of the budget.  Public: every argument.
    Bounded by: the geometries.  Proof: ``proofs/objective_perturbation.md``, section 7.

    Examples
    --------
    >>> rows = with_intercept(1.0, 1.0, ridge=2.0)
    >>> round(calibrate_geometry(Budget(1, 1e-6), "logistic", rows, ridge=2.0).sigma, 2)
    5.97
    """
    if not geometries:
        raise ValueError("no geometry given")
    found = [
        calibrate_objective(
            budget,
            shape,
            ridge=ridge,
            row_norm=g.row_norm,
            lipschitz=lipschitz,
            kappa=scale * g.kappa,
            apart=g.apart,
            n_classes=n_classes,
            tau=tau,
            share=share,
        )
        for g in geometries
    ]
    return min(found, key=lambda noise: noise.sigma)
