"""Charged accuracy and log-loss."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.estimators.statement import Look
from discreet.metrics.release import Delta, Score, Till, total
from discreet.metrics.rowwise import answers, is_model
from discreet.privacy import Neighbours
from discreet.randomness import RandomState

__all__ = ["accuracy", "hits", "log_loss", "row_losses", "spread"]

Floats = NDArray[np.float64]


def paired(first: Any, X: Any, y: Any) -> tuple[Any, Any, Any]:
    """(model, rows, targets), or (array of predictions, None, targets).

    >>> paired([1, 0], [1, 1], None)[1]
    """
    if is_model(first):
        if y is None:
            raise ValueError("a model needs both its test rows and their targets: give (model, X, y)")
        if (X.shape[0] if hasattr(X, "shape") else len(X)) != len(y):
            raise ValueError("X and y must have one entry for each row")
        return first, X, np.asarray(y)
    targets = X if y is None else y
    given = np.asarray(first)
    if targets is None or given.ndim < 1 or len(given) != len(targets):
        raise ValueError("predictions and targets must have one entry for each row: give (predictions, y)")
    return given, None, np.asarray(targets)


def hits(first: Any, X: Any, y: NDArray[Any], neighbors: Neighbours) -> Floats:
    """1 where the prediction is right, else 0.

    >>> hits(np.array([1, 0]), None, np.array([1, 1]), Neighbours.ZERO_OUT)
    array([1., 0.])
    """
    said = first if X is None else answers(first, X, "predict", neighbors)
    return np.asarray(np.asarray(said) == y, dtype=np.float64)


def accuracy(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,
    *,
    epsilon: float = 1.0,
    delta: Delta = "auto",
    neighbors: str = "zero_out",
    sample_weight: ArrayLike | None = None,
    weight_cap: float = 1.0,
    random_state: RandomState = None,
) -> Score:
    """The share of private test rows that a model gets right.

    Parameters
    ----------
    model, X, y : model, rows and targets; or predictions and targets
        ``accuracy(model, X, y)`` or ``accuracy(predictions, y)``.  A prediction must depend on its own row alone.
    epsilon : float, default=1.0
        The budget of this score.  It adds to a model's where the model was fitted on the same persons.
    delta : "auto" or float
        ``"auto"`` is 0.
    neighbors : {"zero_out", "replace_one", "add_remove"}
        What counts as one row's difference; under ``"add_remove"`` the number of rows is bought.
    sample_weight : array, optional
        Weights; their total is bought.
    weight_cap : float, default=1.0
        Public; larger weights count as that.
    random_state : None or int
        None is private; a seed repeats the noise and promises nothing.

    Returns
    -------
    Score
        With ``value``, ``standard_error``, ``interval()`` and ``privacy``.

    Notes
    -----
    *Privacy.* Guarantee: (epsilon, delta)-DP.  Neighbours: `neighbors`.  Public: predictions as a function of a row,
    the number of rows unless add/remove.  Bounded by: a row is right or wrong.  Proof: ``proofs/metrics.md``.

    Examples
    --------
    >>> score = accuracy(np.zeros(5000), np.arange(5000) % 4 == 0, epsilon=0.5)
    >>> bool(abs(score.value - 0.75) < 0.02)
    True
    """
    first, rows, targets = paired(model, X, y)
    till = Till("accuracy", targets, {"hits": 1.0}, epsilon, delta, neighbors, random_state, sample_weight, weight_cap)
    right = hits(first, rows, targets, till.neighbors)
    value, noise = total(till, till.sum("hits", right, 0.0, 1.0), 0.5)
    inside = min(max(value, 0.0), 1.0)
    sampling = till.cap * inside * (1 - inside) / till.rows[0]
    return till.score(value, sampling, noise, (0.0, 1.0))


def row_losses(
    first: Any, X: Any, y: NDArray[Any], neighbors: Neighbours, clip: float, classes: ArrayLike | None = None
) -> Floats:
    """Minus the logarithm of the probability given to each row's own label, between 0 and the clip.

    A label that is none of the classes counts as the clip.

    >>> row_losses(np.array([0.5, 1.0]), None, np.array([1, 0]), Neighbours.ZERO_OUT, 3.0).round(3)
    array([0.693, 3.   ])
    """
    said = np.asarray(first if X is None else answers(first, X, "predict_proba", neighbors), dtype=np.float64)
    if said.ndim == 1:
        said = np.column_stack([1 - said, said])
    known = np.asarray(classes if classes is not None else getattr(first, "classes_", np.arange(said.shape[1])))
    if known.shape != (said.shape[1],):
        raise ValueError(f"there are {said.shape[1]} probabilities for each row; give as many public classes")
    own = y[:, None] == known[None, :]
    likelihood = np.where(own, said, 0.0).max(axis=1)
    floor = math.exp(-clip)
    return np.minimum(-np.log(np.where(likelihood >= floor, np.minimum(likelihood, 1.0), floor)), clip)


def spread(till: Till, name: str, deviations: Floats, most: float) -> float:
    """The (weighted) mean of squared deviations, bought; a little too large rather than too small.

    >>> till = Till("x", np.zeros(1000), {"a": 1.0, "b": 1.0}, 1.0, "auto", "zero_out", None)
    >>> bool(0 < spread(till, "b", np.ones(1000), 2.0) < 1.2)
    True
    """
    mean, noise = total(till, till.sum(name, deviations**2, 0.0, most**2), most**2 / 2)
    return max(mean, 0.0) + math.sqrt(noise)


def log_loss(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,
    *,
    clip: float = 5.0,
    classes: ArrayLike | None = None,
    epsilon: float = 1.0,
    delta: Delta = "auto",
    neighbors: str = "zero_out",
    sample_weight: ArrayLike | None = None,
    weight_cap: float = 1.0,
    random_state: RandomState = None,
) -> Score:
    """The mean of minus the logarithm of the probability that a model gave to the label.

    Parameters
    ----------
    model, X, y : model, rows and labels; or probabilities and labels
        Probabilities of the second class (one column) or of every class.
    clip : float, default=5.0
        Public: no row counts for more, so probabilities below ``exp(-clip)`` count as that.
    classes : array, optional
        Public labels, one for each probability; default: the model's, or 0, 1, 2 and so on.
    epsilon, delta, neighbors, sample_weight, weight_cap, random_state : see accuracy
        The budget; a tenth buys the spread for the standard error.

    Notes
    -----
    *Privacy.* Guarantee: (epsilon, delta)-DP.  Neighbours: `neighbors`.  Public: probabilities as a function of a row,
    the clip, the number of rows unless add/remove.  Bounded by: the clip.  Proof: ``proofs/metrics.md``.

    Examples
    --------
    >>> y = np.arange(5000) % 4 == 0
    >>> score = log_loss(np.full(5000, 0.25), y, epsilon=1)
    >>> bool(abs(score.value - 0.562) < 0.02)
    True
    """
    if not (math.isfinite(clip) and clip > 0):
        raise ValueError(f"clip={clip!r} must be positive and finite: it is what one row can count at most")
    first, rows, labels = paired(model, X, y)
    shares = {"losses": 0.9, "spread": 0.1}
    till = Till("log_loss", labels, shares, epsilon, delta, neighbors, random_state, sample_weight, weight_cap)
    losses = row_losses(first, rows, labels, till.neighbors, clip, classes)
    value, noise = total(till, till.sum("losses", losses, 0.0, clip), clip / 2)
    inside = min(max(value, 0.0), clip)
    variance = spread(till, "spread", losses - inside, max(inside, clip - inside))
    sampling = till.cap * variance / till.rows[0]
    return till.score(value, sampling, noise, (0.0, clip), Look("clip of the loss", "public", f"{clip:g}"))
