"""The area under the ROC curve, from a noisy histogram of scores by class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.estimators.statement import Look
from discreet.metrics.classification import paired
from discreet.metrics.release import Delta, Score, Till
from discreet.metrics.rowwise import answers
from discreet.privacy import Neighbours
from discreet.randomness import RandomState

__all__ = ["area", "auc"]

Floats = NDArray[np.float64]


def auc(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,
    *,
    bounds: Any = "private",
    bins: int | None = None,
    positive: Any = None,
    epsilon: float = 1.0,
    delta: Delta = "auto",
    neighbors: str = "zero_out",
    sample_weight: ArrayLike | None = None,
    weight_cap: float = 1.0,
    random_state: RandomState = None,
) -> Score:
    """How often a model gives a row of the positive class the higher score: the area under its ROC curve.

    Scores are put in equal bins of a range.  Two rows in one bin count as a tie, one half: the more bins, the less that
    hides and the more noise adds up.

    Parameters
    ----------
    model, X, y : model, rows and labels; or scores and labels
        A model's ``decision_function``, else the probability of its second class.
    bounds : "private" or (low, high)
        The range of the scores: bought with 15 % of the budget, or public.  Beyond it scores are in the outermost bins.
    bins : int, optional
        How many; default: from the public number of rows and the budget, or 32.
    positive : label, optional
        The positive class; default: the model's second one, or 1.
    epsilon, delta, neighbors, sample_weight, weight_cap, random_state : see accuracy
        The budget.

    Notes
    -----
    *Privacy.* Guarantee: (epsilon, delta)-DP.  Neighbours: `neighbors`.  Public: scores as a function of a row, the
    number of bins, the number of rows unless add/remove.  Bounded by: a row is in one bin of one class.
    Proof: ``proofs/metrics.md``.

    Examples
    --------
    >>> from discreet.randomness import data_generator
    >>> y = np.arange(8000) % 2
    >>> scores = y + data_generator(0).normal(size=8000)
    >>> score = auc(scores, y, epsilon=1)
    >>> bool(abs(score.value - 0.76) < 0.03)
    True
    """
    public = not (isinstance(bounds, str) and bounds == "private")
    low, high = _range(bounds) if public else (0.0, 1.0)
    if bins is not None and not (isinstance(bins, (int, np.integer)) and 2 <= bins <= 10_000):
        raise ValueError(f"bins={bins!r} must be a whole number from 2 to 10000")
    first, rows, labels = paired(model, X, y)
    if positive is None:
        positive = first.classes_[1] if hasattr(first, "classes_") else 1
    if rows is not None and len(getattr(first, "classes_", (0, 1))) != 2:
        raise ValueError("the area under the ROC curve is for two classes; for more, score one class against the rest")
    shares = {"cells": 1.0} if public else {"cells": 0.85, "range": 0.15}
    # the cells themselves say how many rows there are
    till = Till("auc", labels, shares, epsilon, delta, neighbors, random_state, sample_weight, weight_cap, rows=0.0)
    scores = _scores(first, rows, till.neighbors)
    if not public:
        low, high = till.range("range", scores)
    k = bins if bins is not None else _bins(till, epsilon)
    place = np.searchsorted(np.linspace(low, high, k + 1)[1:-1], scores, side="right")
    counts, noise = till.cells("cells", place + k * (labels == positive), 2 * k)
    value, sampling, privacy = area(counts[k:], counts[:k], noise, till.cap)
    look = Look("range of the scores", "public" if public else "paid", f"{k} bins of it")
    known = till.neighbors.public_n and till.weight is None
    n_rows = float(till.n) if known else max(float(counts.sum()), 1.0)
    return till.score(value, sampling, privacy, (0.0, 1.0), look, n_rows=n_rows)


def area(positives: Floats, negatives: Floats, noise: float, cap: float = 1.0) -> tuple[float, float, float]:
    """The area from (noisy) counts of both classes in each bin; variances of sampling (DeLong) and of the noise.

    >>> area(np.array([0.0, 1.0, 3.0]), np.array([2.0, 2.0, 0.0]), 0.0)[0]
    0.9375
    """
    k = len(positives)
    p, n = max(float(positives.sum()), 1.0), max(float(negatives.sum()), 1.0)
    below = (np.cumsum(negatives) - negatives / 2) / n  # of a positive in that bin: the share of negatives it beats
    above = (np.cumsum(positives[::-1])[::-1] - positives / 2) / p
    value = float(positives @ below) / p
    beats, beaten = (below - value) ** 2, (above - value) ** 2
    sampling = cap * (max(float(positives @ beats) / p, 0.0) / p + max(float(negatives @ beaten) / n, 0.0) / n)
    # first order in the noise of each cell, and the products of two of them
    privacy = noise**2 * (float(beats.sum()) / p**2 + float(beaten.sum()) / n**2)
    privacy += noise**4 * (k * (k - 1) / 2 + k / 4) / (p * n) ** 2
    return value, sampling, privacy


def _range(bounds: Any) -> tuple[float, float]:
    try:
        low, high = (float(b) for b in bounds)
    except (TypeError, ValueError):
        raise ValueError(
            f"bounds={bounds!r} must be 'private' or (low, high), the public range of the scores"
        ) from None
    if not (np.isfinite([low, high]).all() and low < high):
        raise ValueError(f"bounds={bounds!r} must be finite, with low below high")
    return low, high


def _bins(till: Till, epsilon: float) -> int:
    """Where the bias of ties, about 1/k**2, is as large as the noise, about sqrt(k)/(n epsilon)."""
    if not till.neighbors.public_n:
        return 32
    return int(np.clip(round((3 * till.n * epsilon) ** 0.4), 8, 256))


def _scores(first: Any, rows: Any, neighbors: Neighbours) -> Floats:
    if rows is None:
        given = np.asarray(first, dtype=np.float64)
    elif hasattr(first, "decision_function"):
        given = np.asarray(answers(first, rows, "decision_function", neighbors), dtype=np.float64)
    else:
        given = np.asarray(answers(first, rows, "predict_proba", neighbors), dtype=np.float64)
    given = given[:, 1] if given.ndim == 2 and given.shape[1] == 2 else given
    if given.ndim != 1:
        raise ValueError("scores must be one number per row; for more than two classes score one against the rest")
    return given
