"""Curvature constants: how far a loss departs from its tangent over a whole set."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from discreet.losses import Loss
from discreet.penalties import ConstraintSet, L1Ball, L2Ball
from discreet.theory.checks import at_least_one, positive

__all__ = ["curvature_bound", "quadratic_curvature", "remark_1_printed"]


def curvature_bound(
    loss: Loss,
    penalty: ConstraintSet,
    *,
    n: int,
    p: int,
    feature_bound: float,
    rows: str = "linf",
    target_bound: float = float("inf"),
) -> float:
    r"""A bound on the curvature constant (Definition 2.1 of the LASSO paper) of the *sum* of `n` losses.

    A margin moves by at most ``feature_bound * diameter`` over the set, so the constant is at most ``n`` times the
    loss's smoothness times that squared.  On the l1 ball of radius `r`: logistic ``r^2 X^2 n``, half of the squared
    residual ``4 r^2 X^2 n``.

    Parameters
    ----------
    loss : Loss
        Its `smoothness_on` the margins of the set is used.
    penalty : ConstraintSet
        The set.
    n, p : int
        Numbers of rows and features.
    feature_bound : float
        A public bound on the rows, in the norm named by `rows`.
    rows : {"linf", "l2"}
        ``"linf"``: every entry is bounded, and the set's l1 diameter counts; ``"l2"``: rows' Euclidean length.
    target_bound : float
        A public bound on targets, where the loss asks for one.

    Examples
    --------
    >>> from discreet.losses import LogisticLoss, SquaredLoss
    >>> from discreet.penalties import L1Ball
    >>> curvature_bound(LogisticLoss(), L1Ball(3.0), n=100, p=50, feature_bound=1.0)
    900.0
    >>> curvature_bound(SquaredLoss(), L1Ball(3.0), n=100, p=50, feature_bound=1.0)
    3600.0
    """
    at_least_one(n=n, p=p)
    positive(feature_bound=feature_bound)
    if rows not in ("linf", "l2"):
        raise ValueError(f"rows={rows!r} is not 'linf' or 'l2'")
    margin = feature_bound * penalty.radius_in("l1" if rows == "linf" else "l2", p)
    spread = feature_bound * penalty.diameter("l1" if rows == "linf" else "l2", p)
    return n * loss.smoothness_on(margin, target_bound) * spread**2


def quadratic_curvature(matrix: ArrayLike, penalty: ConstraintSet) -> float:
    """The exact curvature constant of ``|A w|^2`` plus a linear function: ``2 * max |A (a - b)|^2`` over the set.

    Remark 1 of the LASSO paper prints it without the factor 2, which is right for *half* of the square.

    Examples
    --------
    >>> from discreet.penalties import L1Ball
    >>> quadratic_curvature([[3.0, 0.0], [0.0, 1.0]], L1Ball(1.0))
    72.0
    """
    return 2.0 * _largest_image(np.asarray(matrix, dtype=np.float64), penalty)


def remark_1_printed(matrix: ArrayLike, penalty: ConstraintSet) -> float:
    """Remark 1 as printed: ``max |a - b|^2`` over the image of the set, half of :func:`quadratic_curvature`.

    Examples
    --------
    >>> from discreet.penalties import L1Ball
    >>> remark_1_printed([[3.0, 0.0], [0.0, 1.0]], L1Ball(1.0))
    36.0
    """
    return _largest_image(np.asarray(matrix, dtype=np.float64), penalty)


def _largest_image(a: np.ndarray, penalty: ConstraintSet) -> float:
    """The largest ``|A (s - t)|^2`` over two points of the set: reached at vertices, the square being convex."""
    p = a.shape[1]
    if isinstance(penalty, L1Ball):
        return float(4.0 * penalty.radius**2 * np.max(np.sum(a * a, axis=0)))
    if isinstance(penalty, L2Ball):
        return float(4.0 * penalty.radius**2 * np.linalg.norm(a, 2) ** 2)
    images = penalty.vertex_list(p) @ a.T
    return max(float(np.max(np.sum((images[i:] - images[i]) ** 2, axis=1))) for i in range(len(images)))
