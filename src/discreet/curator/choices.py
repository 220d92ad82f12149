"""Public random choices: which coordinate, in which order.  They follow from public numbers and hide nothing."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.randomness import SeededSource

__all__ = ["public_choices"]


def public_choices(weights: ArrayLike, n: int, label: int = 0) -> NDArray[np.int64]:
    """`n` independent draws of an index with probabilities proportional to `weights`, from a public stream.

    Everybody can work them out before the run, so a plan can price exactly the coordinates that will be asked for.

    Notes
    -----
    *Privacy.* Guarantee: none, and none is needed: rows have no part in it.  Neighbours: any.  Public: all of it.
    Bounded by: nothing.  Proof: ``proofs/coordinate_descent.md``.

    Examples
    --------
    >>> public_choices([1.0, 0.0, 1.0], 6).tolist() == public_choices([1.0, 0.0, 1.0], 6).tolist()
    True
    >>> sorted(set(public_choices([1.0, 0.0, 1.0], 60).tolist()))
    [0, 2]
    """
    w = np.asarray(weights, dtype=np.float64)
    if w.ndim != 1 or not w.size or not np.isfinite(w).all() or (w < 0).any() or not math.fsum(w) > 0:
        raise ValueError("choices need a vector of weights, finite, at least 0, and not all 0")
    edges = np.cumsum(w / math.fsum(w))
    edges[np.flatnonzero(w)[-1] :] = 1.0
    uniform = (SeededSource(0).child("public choices", label, n).words(n) >> np.uint64(11)).astype(
        np.float64
    ) * 2.0**-53
    return np.searchsorted(edges, uniform, side="right").astype(np.int64)
