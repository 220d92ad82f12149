"""A gradient in two blocks, features and intercept, each with the bound of its own entries; and half steps along it.

The constant column of the intercept is longer than a feature, so the largest entry of a whole gradient is the
intercept's.  A selection among features must not pay for that.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.curator.clip import Clip, Residuals
from discreet.curator.curator import Curator
from discreet.privacy import Bounded, Contribution, isqrt_up, unseal

__all__ = ["gradient_blocks", "half_step"]


def gradient_blocks(
    curator: Curator, loss: Any, weights: ArrayLike, slope: float | None = None
) -> tuple[Bounded, Bounded | None]:
    """The gradient over the features, and that of the intercept where there is one, apart.

    Parameters
    ----------
    curator : Curator
        Holds the rows.
    loss : Loss
        A loss of one output.
    weights : array of shape (n_weights,)
        The model.
    slope : float, optional
        Clip of a row's derivative, needed where the loss has no bound of its own.

    Notes
    -----
    *Privacy.* Guarantee: sealed.  Neighbours: the curator's.  Public: `loss`, `weights`, `slope`.  Bounded by: the
    largest whole-number residual times the bounds of a row's features, and times the constant of the intercept.
    Proof: ``proofs/frank_wolfe.md``, section 1.

    Examples
    --------
    >>> from discreet.curator import RowBounds, make_curator
    >>> from discreet.losses import LogisticLoss
    >>> curator = make_curator(np.eye(4), np.ones(4), bounds=RowBounds(linf=1, intercept=8.0))
    >>> features, intercept = gradient_blocks(curator, LogisticLoss(), np.zeros(5))
    >>> float(features.sensitivity("linf") * features.unit), float(intercept.sensitivity("linf") * intercept.unit)
    (1.0, 8.0)
    """
    clip = None if slope is None else Clip(slope, "slope")
    whole = curator.gradient(loss, weights, clip)
    grid, limit = curator.grid, Residuals(loss, curator.grid, clip).limit
    if not grid.constant:
        return whole, None
    value, p = unseal(whole), grid.n_features
    l2 = isqrt_up(max(grid.l2**2 - grid.constant**2, 1))
    features = Contribution(l1=limit * (grid.l1 - grid.constant), l2=limit * l2, linf=limit * grid.feature_linf)
    only = Contribution(linf=limit * grid.constant)

    def sealed(block: Any, contribution: Contribution) -> Bounded:
        return Bounded(block, contribution, whole.unit, whole.neighbors, rate=whole.rate, part=whole.part)

    return sealed(value[:p], features), sealed(value[p:], only)


def half_step(
    curator: Curator, loss: Any, weights: ArrayLike, steps: tuple[float, float], slope: float | None = None
) -> tuple[Bounded, Bounded | None]:
    """``weights - step * gradient``, sealed, in the two blocks of :func:`gradient_blocks`, each with its own step.

    The public weights are put on the grid of the scaled gradient and added in whole numbers, which moves no bound.

    Notes
    -----
    *Privacy.* Guarantee: sealed.  Neighbours: the curator's.  Public: `loss`, `weights`, `steps`, `slope`.  Bounded by:
    the step times the bounds of the gradient.  Proof: ``proofs/iterative_hard_thresholding.md``, section 1.

    Examples
    --------
    >>> from discreet.curator import RowBounds, make_curator
    >>> from discreet.losses import LogisticLoss
    >>> curator = make_curator(np.eye(4), np.ones(4), bounds=RowBounds(linf=1))
    >>> moved, _ = half_step(curator, LogisticLoss(), np.ones(4), steps=(0.5, 0.5))
    >>> float(moved.sensitivity("linf") * moved.unit)
    0.5
    """
    theta = np.asarray(weights, dtype=np.float64)
    features, intercept = gradient_blocks(curator, loss, theta, slope)

    def moved(g: Bounded, at: Any, step: float) -> Bounded:
        unit = g.unit * Fraction(float(step))
        start = np.rint(at / float(unit))
        if not np.abs(start).max(initial=0.0) < 2.0**61:
            raise OverflowError(f"weights of size {np.abs(at).max():g} can't be moved in steps of {float(unit):g}")
        value = start.astype(np.int64) - np.asarray(unseal(g)).astype(np.int64)
        return Bounded(value, g.contribution, unit, g.neighbors, rate=g.rate, part=g.part)

    p = features.size
    return moved(features, theta[:p], steps[0]), None if intercept is None else moved(intercept, theta[p:], steps[1])
