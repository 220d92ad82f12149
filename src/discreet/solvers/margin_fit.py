"""A line through a noisy histogram of margins: the slope and the offsets that class means can't tell."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["EDGES", "fitted", "on_simplex"]

Floats = NDArray[np.float64]
EDGES = (-0.5, 0.0, 0.5)  # of margins, in units in which two class means lie at most one apart
PLACES = np.array([-0.75, -0.25, 0.25, 0.75])
STEEPEST = 6.0  # what the slope is drawn to where rows say little, and noise is none: classes 2.4 deviations apart
HELD = 1e9  # a ridge that lets nothing move
TOLD_APART = 3.0  # the difference of two class means' margins from which the odds of classes count half
LOOSE = 0.8  # how much less the slope is drawn to what is usual where the means' scatter is no noise


def on_simplex(counts: Floats, total: float) -> Floats:
    """The nearest counts that are at least 0 and add up to `total`.

    >>> on_simplex(np.array([5.0, -1.0, 2.0]), 6.0)
    array([4.5, 0. , 1.5])
    """
    falling = np.sort(counts.ravel())[::-1]
    over = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    least = float(over[np.flatnonzero(falling > over)[-1]])
    return np.asarray(np.maximum(counts - least, 0.0))


def fitted(
    found: Floats, counts: Floats, keep: float, near: float, jitter: float, midway: bool
) -> tuple[float, Floats]:
    """Slope of the margins and offset of each class: logistic regression on a noisy histogram, drawn to what is usual.

    Parameters
    ----------
    found : array of shape (n_classes, 4)
        How many rows of each class have their own margin in each bin.
    counts : array of shape (n_classes,)
        How many rows each class has.
    keep : float
        Which part of the class means' scatter isn't noise.
    near : float
        How far apart two class means lie, in units of the margins.
    jitter : float
        The noise's deviation in a number of the histogram.
    midway : bool
        Whether the boundary of two classes lies midway between the means of their margins, and isn't fitted.

    Examples
    --------
    >>> table = np.array([[0, 10, 10, 80.0], [0, 10, 10, 80.0]])
    >>> slope, shift = fitted(table, np.full(2, 100.0), 1.0, 1.0, 1.0, False)
    >>> bool(3 < slope < 8), bool(np.abs(shift).max() < 1e-6)
    (True, True)
    """
    k, middle = len(counts), 0.0
    odds = np.log(counts / counts.sum())
    apart = odds[1] - odds[0] if k == 2 else 0.0
    jitter += 8 * jitter**2 / float(counts.sum())
    usual = near / (near**2 / STEEPEST + 1 - near**2)  # Fisher's slope: the rest of the margins' unit is noise
    prior = np.array([(math.sqrt(keep) if midway else keep) * usual, (1 - keep / 2) * apart])
    ridge = jitter * np.array([1 - LOOSE * keep**2, 1.0])
    side = np.repeat(np.array([-1.0, 1.0]) if k == 2 else np.zeros(k), PLACES.size)
    if midway and k == 2:
        own = found @ PLACES / np.maximum(found.sum(axis=1), 1.0)
        middle, prior[1], ridge[1] = float(own[1] - own[0]) / 2, apart, HELD
    rows = np.column_stack([np.tile(PLACES, k) - middle * side, side])
    w = _line(rows, found.ravel(), prior, ridge)
    for _ in range(2 if ridge[1] == HELD else 0):
        prior[1] = apart / (1 + (max(float(w[0]), 0.0) * near / TOLD_APART) ** 2)
        w = _line(rows, found.ravel(), prior, ridge)
    steep = max(float(w[0]), 0.0)
    half = (w[1] - steep * middle) / 2
    return steep, (np.array([-half, half]) if k == 2 else odds * (1 - keep / 2))


def _line(rows: Floats, n: Floats, prior: Floats, ridge: Floats) -> Floats:
    """A concave problem of two weights, by damped Newton steps of a public number."""
    w = prior.copy()
    for _ in range(200):
        p = 1 / (1 + np.exp(np.clip(rows @ w, -500, 500)))
        slope = rows.T @ (n * p) - ridge * (w - prior)
        curve = (rows * (n * np.maximum(p * (1 - p), 1e-3))[:, None]).T @ rows + np.diag(ridge)
        step = np.linalg.solve(curve, slope)
        w = w + step / max(1.0, float(np.abs(step).max()))
    return w
