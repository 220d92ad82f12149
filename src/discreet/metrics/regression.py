"""Charged mean squared error and R2."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.estimators.statement import Look
from discreet.metrics.classification import paired, spread
from discreet.metrics.release import Delta, Score, Till, total
from discreet.metrics.rowwise import answers
from discreet.privacy import Neighbours
from discreet.randomness import RandomState

__all__ = ["mean_squared_error", "numbers", "r2", "squared_residuals", "target_range"]

Floats = NDArray[np.float64]


def target_range(bounds_y: Any) -> tuple[float, float] | None:
    """A public range of the target, or None where it is to be bought.

    >>> target_range((0, 5)), target_range("private")
    ((0.0, 5.0), None)
    """
    if isinstance(bounds_y, str) and bounds_y == "private":
        return None
    try:
        low, high = (float(b) for b in bounds_y)
    except (TypeError, ValueError):
        raise ValueError(f"bounds_y={bounds_y!r} must be 'private' or (low, high), the target's public range") from None
    if not (np.isfinite([low, high]).all() and low < high):
        raise ValueError(f"bounds_y={bounds_y!r} must be finite, with low below high")
    return low, high


def numbers(values: Any, what: str) -> Floats:
    """Values as floats; the error for others names neither row nor value.

    >>> numbers([1, 2], "y")
    array([1., 2.])
    """
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be numbers, one for each row; recode or drop others by a public rule") from None


def squared_residuals(
    first: Any, X: Any, y: NDArray[Any], neighbors: Neighbours, low: float, high: float, clip: float
) -> Floats:
    """Squares of what a model misses by, with targets and predictions cut to the range and misses to the clip.

    >>> squared_residuals(np.array([9.0, 1.0]), None, np.array([2.0, 1.5]), Neighbours.ZERO_OUT, 0.0, 4.0, 1.0)
    array([1.  , 0.25])
    """
    said = first if X is None else answers(first, X, "predict", neighbors)
    misses = np.clip(numbers(said, "predictions"), low, high) - np.clip(numbers(y, "y"), low, high)
    return np.minimum(np.abs(misses), clip) ** 2


def _opened(
    metric: str, y: Any, shares: dict[str, float], bounds_y: Any, clip: float | None, **budget: Any
) -> tuple[Till, float, float, float, list[Look]]:
    """A till, the range of the target, the clip of a miss, and what to say about them."""
    known = target_range(bounds_y)
    if clip is not None and not (math.isfinite(clip) and clip > 0):
        raise ValueError(f"clip={clip!r} must be positive and finite: the most that a prediction is said to miss by")
    till = Till(metric, y, shares if known else {**shares, "range": 0.15 * sum(shares.values())}, **budget)
    low, high = known or till.range("range", y)
    most = min(clip or math.inf, high - low)
    looks = [Look("range of the target", "public" if known else "paid", f"{low:g} to {high:g}")]
    return till, low, high, most, [*looks, Look("clip of a miss", "public", f"{most:g}")]


def mean_squared_error(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,
    *,
    bounds_y: Any = "private",
    clip: float | None = None,
    epsilon: float = 1.0,
    delta: Delta = "auto",
    neighbors: str = "zero_out",
    sample_weight: ArrayLike | None = None,
    weight_cap: float = 1.0,
    random_state: RandomState = None,
) -> Score:
    """The mean of squared misses, with targets and predictions cut to a range.

    Parameters
    ----------
    model, X, y : model, rows and targets; or predictions and targets
        What is scored.
    bounds_y : "private" or (low, high)
        The range of the target: bought, or public.
    clip : float, optional
        Public: the most that one prediction is said to miss by; default: the length of the range.
    epsilon, delta, neighbors, sample_weight, weight_cap, random_state : see accuracy
        The budget; a tenth buys the spread for the standard error.

    Notes
    -----
    *Privacy.* Guarantee: (epsilon, delta)-DP.  Neighbours: `neighbors`.  Public: predictions as a function of a row,
    the clip, the number of rows unless add/remove.  Bounded by: the clip.  Proof: ``proofs/metrics.md``.

    Examples
    --------
    >>> y = np.linspace(0, 1, 5000)
    >>> bool(abs(mean_squared_error(y + 0.1, y, bounds_y=(0, 2)).value - 0.01) < 0.01)
    True
    """
    first, rows, targets = paired(model, X, y)
    targets = numbers(targets, "y")
    till, low, high, most, looks = _opened(
        "mean_squared_error", targets, {"squares": 0.9, "spread": 0.1}, bounds_y, clip, rows=0.5,
        epsilon=epsilon, delta=delta, neighbors=neighbors, random_state=random_state, sample_weight=sample_weight,
        weight_cap=weight_cap,
    )  # fmt: skip
    squares = squared_residuals(first, rows, targets, till.neighbors, low, high, most)
    value, noise = total(till, till.sum("squares", squares, 0.0, most**2), most**2 / 2)
    inside = min(max(value, 0.0), most**2)
    variance = spread(till, "spread", squares - inside, max(inside, most**2 - inside))
    return till.score(value, till.cap * variance / till.rows[0], noise, (0.0, most**2), *looks)


def r2(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,
    *,
    bounds_y: Any = "private",
    clip: float | None = None,
    epsilon: float = 1.0,
    delta: Delta = "auto",
    neighbors: str = "zero_out",
    sample_weight: ArrayLike | None = None,
    weight_cap: float = 1.0,
    random_state: RandomState = None,
) -> Score:
    """The share of the target's variance that a model explains, with targets and predictions cut to a range.

    Three noisy sums: of squared misses, of squared targets and of targets, the last two about the middle of the range.

    Parameters
    ----------
    model, X, y : model, rows and targets; or predictions and targets
        What is scored.
    bounds_y : "private" or (low, high)
        The range of the target: bought, or public.
    clip : float, optional
        Public: the most that one prediction is said to miss by; default: the length of the range.
    epsilon, delta, neighbors, sample_weight, weight_cap, random_state : see accuracy
        The budget; a tenth buys the spread for the standard error.

    Notes
    -----
    *Privacy.* Guarantee: (epsilon, delta)-DP.  Neighbours: `neighbors`.  Public: predictions as a function of a row,
    the clip, the number of rows unless add/remove.  Bounded by: the range and the clip.  Proof: ``proofs/metrics.md``.

    Examples
    --------
    >>> y = np.linspace(0, 1, 20_000)
    >>> score = r2(y + 0.1, y, bounds_y=(0, 1), epsilon=1)
    >>> bool(abs(score.value - 0.88) < 0.03)
    True
    """
    first, rows, targets = paired(model, X, y)
    targets = numbers(targets, "y")
    till, low, high, most, looks = _opened(
        "r2", targets, {"misses": 0.5, "squares": 0.3, "mean": 0.1, "spread": 0.1}, bounds_y, clip, rows=0.2,
        epsilon=epsilon, delta=delta, neighbors=neighbors, random_state=random_state, sample_weight=sample_weight,
        weight_cap=weight_cap,
    )  # fmt: skip
    half, (n, n_noise) = (high - low) / 2, till.rows
    t = np.clip(targets, low, high) - (low + high) / 2
    squares = squared_residuals(first, rows, targets, till.neighbors, low, high, most)
    missed, missed_noise = till.sum("misses", squares, 0.0, most**2)
    squared, squared_noise = till.sum("squares", t * t, 0.0, half**2)
    first_sum, first_noise = till.sum("mean", t, -half, half)
    mean = min(max(first_sum / n, -half), half)
    residual = max(missed + n * most**2 / 2, 0.0)
    # a variance below what its own noise is says nothing; nor can it be above that of half the rows at either end
    whole = min(max(squared + n * half**2 / 2 - n * mean**2, squared_noise), n * half**2 + squared_noise)
    left = min(residual / whole, 2.0)
    slope = most**2 / 2 - left * (half**2 / 2 + mean**2)
    noise = missed_noise**2 + left**2 * (squared_noise**2 + (2 * mean * first_noise) ** 2) + (slope * n_noise) ** 2
    far = max(most**2, left * (half + abs(mean)) ** 2)
    variance = spread(till, "spread", squares - left * (t - mean) ** 2, far)
    sampling = till.cap * n * variance / whole**2
    return till.score(1 - residual / whole, sampling, noise / whole**2, (-math.inf, 1.0), *looks)
