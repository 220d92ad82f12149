"""The candidates of a private selection, and the exact integer map from a gradient to their scores."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["VertexMap"]


class Scorable(Protocol):
    """A sealed gradient: it can be negated, doubled and mapped in exact integers without being opened."""

    def signed_pair(self) -> Any:
        """The vector followed by its negative."""

    def linear(self, matrix: Any, unit: Fraction = ...) -> Any:
        """The image under a whole-number matrix."""


@dataclass(frozen=True, eq=False)
class VertexMap:
    """A finite list of candidate points, described so that scores stay exact integers.

    Parameters
    ----------
    kind : {"signed_pair", "identity", "matrix"}
        ``+scale e_0 .. +scale e_{p-1}, -scale e_0 ..``; the first half of these; or the rows of `matrix`.
    p : int
        The number of features.
    scale : float
        What a point is multiplied by; it changes no comparison between scores.
    matrix : whole-number array or scipy.sparse matrix, optional
        One row per candidate, in units of `unit`.
    unit : Fraction
        What one entry of `matrix` is worth.
    factor : float
        For every direction the best candidate reaches at least `factor` times what the whole set reaches.

    Examples
    --------
    >>> corners = VertexMap("signed_pair", p=3, scale=2.0)
    >>> len(corners), corners.point(4)
    (6, array([ 0., -2.,  0.]))
    """

    kind: Literal["signed_pair", "identity", "matrix"]
    p: int
    scale: float = 1.0
    matrix: Any = None
    unit: Fraction = Fraction(1)
    factor: float = 1.0

    def __len__(self) -> int:
        if self.kind == "matrix":
            return int(self.matrix.shape[0])
        return self.p * (2 if self.kind == "signed_pair" else 1)

    def scores(self, gradient: Scorable) -> Any:
        """``<candidate, gradient> / scale`` for every candidate, still sealed, in exact integers."""
        if self.kind == "signed_pair":
            return gradient.signed_pair()
        return gradient if self.kind == "identity" else gradient.linear(self.matrix, self.unit)

    def sparse_point(self, i: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Where candidate `i` is not zero, and its values there."""
        if not 0 <= i < len(self):
            raise IndexError(f"there are {len(self)} candidates, numbered from 0; {i} is not one of them")
        if self.kind != "matrix":
            sign = 1.0 if i < self.p else -1.0
            return np.array([i % self.p], dtype=np.int64), np.array([sign * self.scale])
        row = self.matrix[[i]]
        dense = np.asarray(row.todense() if hasattr(row, "todense") else row, dtype=np.float64).ravel()
        where = np.flatnonzero(dense).astype(np.int64)
        return where, dense[where] * float(self.unit) * self.scale

    def point(self, i: int) -> NDArray[np.float64]:
        """Candidate `i` as a vector."""
        where, values = self.sparse_point(i)
        w = np.zeros(self.p)
        w[where] = values
        return w
