"""Linear algebra on released matrices: what to do with a noisy second-moment matrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.solvers.base import Problem, Weights

__all__ = ["edge_at", "goe_level", "minimise_quadratic", "raised", "shrinkage", "whitening", "without_ridge"]

Floats = NDArray[np.float64]


def goe_level(problem: Problem, multiplier: float, curvature: float = 1.0) -> float:
    """The standard deviation off the diagonal of a noisy (weighted) second-moment matrix of the rows.

    Its spectral norm is about ``2 sqrt(p)`` times that.

    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import SquaredLoss
    >>> from discreet.privacy import Budget
    >>> round(goe_level(Problem(SquaredLoss(), RowBounds(l2=2.0), 3, 100, Budget(1, 1e-6)), 5.0), 3)
    14.142
    """
    one = problem.bounds.weight * curvature * problem.radius**2
    return multiplier * math.sqrt(problem.budget.neighbors.moves) * one / math.sqrt(2)  # acute: root two if replaced


def raised(matrix: Floats, least: float, *, add: bool = True) -> tuple[Floats, Floats]:
    """Eigenvalues and vectors of a symmetric matrix made positive: clipped at 0 plus `least`, or clipped at `least`.

    >>> raised(np.diag([4.0, -1.0]), 0.5)[0]
    array([0.5, 4.5])
    """
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return (np.maximum(values, 0.0) + least if add else np.maximum(values, least)), vectors


def whitening(moments: Floats, floor: float, square: float) -> Floats:
    """``(moments + floor I)^-1/2``, scaled so that rows with those moments get the mean squared norm `square`.

    >>> whitening(np.diag([4.0, 1.0]), 0.0, 2.0).round(6)
    array([[0.5, 0. ],
           [0. , 1. ]])
    """
    spread = max(floor, 1e-9 * float(np.abs(moments).max(initial=0.0)), 1e-300)
    values, axes = raised(moments, spread)
    mean = max(float(((values - spread) / values).sum()), float(spread / values[0]), 1e-300)
    return np.asarray((axes * np.sqrt(square / mean / values)) @ axes.T)


def edge_at(counts: Floats, edges: Floats, quantile: float, noise: float, n_rows: int) -> float:
    """The edge at a quantile of noisy counts, from the largest bin down; half the last edge where they are too few.

    >>> edge_at(np.array([50.0, 30.0, 15.0, 5.0]), np.array([1.0, 2.0, 8.0]), 0.75, 0.1, 100)
    2.0
    >>> edge_at(np.array([50.0, 30.0, 15.0, 5.0]), np.array([1.0, 2.0, 8.0]), 0.75, 100.0, 100)
    4.0
    """
    above = np.cumsum(counts[::-1])[:-1]
    slack = noise * np.sqrt(np.arange(1.0, above.size + 1))
    full = np.flatnonzero(above > (1 - quantile) * n_rows + slack)
    if full.size:
        return float(edges[::-1][max(int(full[0]) - 1, 0)])
    return float(edges[0]) if 8 * slack[-1] < n_rows else float(edges[-1]) / 2


def shrinkage(slopes: Floats, deviation: float) -> float:
    """The factor of James and Stein for slopes with that noise each; 0 where they are no larger than noise gets.

    >>> shrinkage(np.array([3.0, 4.0]), 0.0), shrinkage(np.array([3.0, 4.0]), 3.0)
    (1.0, 0.0)
    """
    p, square = slopes.size, float(slopes @ slopes)
    return max(0.0, 1.0 - deviation**2 * (p + 2 * math.sqrt(2 * p)) / square) if square > 0 else 0.0


def without_ridge(
    slopes: Floats, level: float, mean: float, ridge: float, noises: tuple[float, float], part: float
) -> tuple[Floats, float]:
    """Slopes and level of a log-linear mean without what a ridge does to them, and shrunk.

    With normal rows the margins are normal, and the gradient is known: so the minimum with the ridge says where that
    without it lies.  Only differences are used, which are 0 without a ridge, whatever the rows.  The level is weighed
    against what the bought mean says of it, each by its noise.

    Parameters
    ----------
    slopes, level : array, float
        The minimum: slopes for isotropic rows of mean squared norm ``1 - part``, and the margin where they are 0.
    mean : float
        The bought mean.
    ridge : float
        Over the number of rows.
    noises : (float, float)
        The deviation of the gradient over the number of rows, and that of the mean, relative to it.
    part : float
        The square of the constant column.

    >>> slopes, level = without_ridge(np.array([0.3, 0.4]), 0.1, 1.5, 0.0, (0.0, 0.1), 0.3)
    >>> slopes.tolist(), round(level, 9)
    ([0.3, 0.4], 0.1)
    >>> slopes, _ = without_ridge(np.array([0.3, 0.4]), 0.0, 1.0, 0.35, (0.0, 0.1), 0.3)
    >>> slopes.round(6).tolist()
    [0.6, 0.8]
    """
    each = (1 - part) / max(slopes.size, 1)
    there = max(mean - ridge * level / part, mean / 4)  # the mean at the minimum missed the true one by that
    shrunk = slopes * shrinkage(slopes, noises[0] / (each * there + ridge))
    new = shrunk * ((there + ridge / each) / mean)
    moved = level + math.log(mean / there) - each * float(new @ new - shrunk @ shrunk) / 2
    told = math.log(mean) - each * float(new @ new) / 2
    bought, own = noises[1] ** 2, (noises[0] / (math.sqrt(part) * mean)) ** 2
    trust = bought / (bought + own) if bought + own > 0 else 1.0
    # a gap that noise can't explain has other causes (rows of little weight, long tails), of which the fit knows
    trust = max(trust, shrinkage(np.array([moved - told]), math.sqrt(bought + own)))
    return new, told + trust * (moved - told)


def minimise_quadratic(problem: Problem, values: Floats, vectors: Floats, linear: Floats) -> Weights:
    """The minimiser of ``w' V diag(values) V' w / 2 - <linear, w>`` with the problem's set or penalty added.

    Accelerated proximal steps with restarts, to a relative 1e-10; in closed form where there is no penalty.

    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import SquaredLoss
    >>> from discreet.penalties import L2Ball
    >>> from discreet.privacy import Budget
    >>> free = Problem(SquaredLoss(), RowBounds(l2=1.0), 2, 100, Budget(1, 1e-6))
    >>> minimise_quadratic(free, np.array([1.0, 2.0]), np.eye(2), np.array([3.0, 4.0]))
    array([3., 2.])
    >>> ball = Problem(SquaredLoss(), RowBounds(l2=1.0), 2, 100, Budget(1, 1e-6), penalty=L2Ball(1.0))
    >>> minimise_quadratic(ball, np.array([1.0, 1.0]), np.eye(2), np.array([3.0, 4.0])).round(6)
    array([0.6, 0.8])
    """
    free: Weights = vectors @ ((vectors.T @ linear) / values)
    if problem.penalty is None:
        return free
    step = 1.0 / float(values[-1])
    matrix: Any = (vectors * values) @ vectors.T
    w = z = problem.prox(free, step)
    t = 1.0
    for _ in range(20_000):
        new = problem.prox(z - step * (matrix @ z - linear), step)
        if (z - new) @ (new - w) > 0:  # momentum points uphill: start it anew
            t = 1.0
        moved, t_next = new - w, (1 + math.sqrt(1 + 4 * t * t)) / 2
        z, w, t = new + (t - 1) / t_next * moved, new, t_next
        if float(np.linalg.norm(moved)) <= 1e-11 * (1e-30 + float(np.linalg.norm(w))):
            break
    return w
