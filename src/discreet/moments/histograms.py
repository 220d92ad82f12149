"""Counts in public bins."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.curator import make_survey
from discreet.moments.purse import purse_for
from discreet.moments.release import Release
from discreet.privacy.budget import Number
from discreet.randomness import RandomState

__all__ = ["histogram"]


def histogram(
    x: ArrayLike,
    edges: ArrayLike | None = None,
    *,
    categories: ArrayLike | None = None,
    epsilon: Number | None = None,
    delta: Number = 0,
    rho: Number | None = None,
    mu: Number | None = None,
    neighbors: Any = "zero_out",
    nonnegative: bool = True,
    random_state: RandomState = None,
) -> Release:
    """How many values fall between public edges, or equal public categories.

    Parameters
    ----------
    x : array
        One number per person.
    edges : array, optional
        Rising edges; values below the first and above the last are counted in two further bins, at both ends.
    categories : array, optional
        Numeric codes instead of edges; other values are counted nowhere.
    nonnegative : bool
        Set negative noisy counts to zero (post-processing; totals are then a little too large).

    Notes
    -----
    The budget's arguments are those of :func:`~discreet.moments.mean`.

    *Privacy.* Guarantee: the budget.  Neighbours: `neighbors`.  Public: edges or categories.  Bounded by: a value is in
    one bin (in two under replace-one).  Proof: ``proofs/moments.md``.

    Examples
    --------
    >>> import numpy as np
    >>> counts = histogram(np.arange(1000) % 10, [2.5, 7.5], epsilon=1)
    >>> bool(np.abs(counts.value - [300, 500, 200]).max() < 40)
    True
    """
    if (edges is None) == (categories is None):
        raise ValueError("give edges, or categories, and not both")
    values = np.asarray(x)
    if values.ndim != 1 or values.dtype.kind not in "iufb":
        raise ValueError("x must be one column of numbers; recode categories as whole numbers")
    purse = purse_for(epsilon, delta, rho, mu, neighbors, random_state)
    (share,) = purse.shares([1])
    if edges is not None:
        bounded = make_survey(values[:, None], neighbors=neighbors).column_histogram(edges)
        bounds, what = np.asarray(edges), "edges: public"
    else:
        column = values.astype(np.float64)
        bounds, what = np.asarray(categories), "categories: public"
        bounded = make_survey(column[:, None], column, neighbors=neighbors).label_histogram(bounds)
    counts, noise = share.release(bounded, counts=True)
    if nonnegative:
        counts = np.maximum(counts, 0.0)
    error = np.full(counts.shape, noise)
    return Release(counts, error, error, float(counts.sum()), "noise", bounds, purse.promise(what))
