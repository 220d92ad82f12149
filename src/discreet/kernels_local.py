"""The numba loop behind hypothesis selection: who beats whom on each row."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["pairwise_wins"]


@njit(cache=True)
def pairwise_wins(scores: NDArray[np.float64], wins: NDArray[np.int64]) -> None:
    """Add to ``wins[i, j]``, for i < j, how many rows have score i above score j; to ``wins[j, i]`` the others.

    A row's comparisons use that row's scores alone.
    """
    n, m = scores.shape
    for row in range(n):
        for i in range(m):
            own = scores[row, i]
            for j in range(i + 1, m):
                if own > scores[row, j]:
                    wins[i, j] += 1
                else:
                    wins[j, i] += 1
