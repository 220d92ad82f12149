"""The smallest eigenvalue of the second moments, sealed: what AdaSSP asks for as published."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.curator.base import MAX_ROWS
from discreet.curator.curator import Curator
from discreet.curator.grid import power_of_two
from discreet.privacy import Bounded, Contribution, unseal

__all__ = ["smallest_eigenvalue"]


def smallest_eigenvalue(curator: Curator) -> Bounded:
    """The smallest eigenvalue of the sum of ``w z z'``, in whole numbers.

    Notes
    -----
    *Privacy.* Guarantee: sealed.  Neighbours: the curator's.  Public: nothing.  Bounded by: one row moves an
    eigenvalue by at most the spectral norm of its term (Weyl), the squared row norm; a bound on the error of the
    floating-point eigenvalues is added, twice.  Proof: ``proofs/sufficient_statistics.md``.

    Examples
    --------
    >>> from discreet.curator import RowBounds, make_curator
    >>> least = smallest_eigenvalue(make_curator(np.eye(3), bounds=RowBounds(l2=2)))
    >>> 4.0 <= float(least.sensitivity("l2") * least.unit) < 4.0001
    True
    """
    moments = curator.second_moments()
    p, packed = moments.symmetric, np.asarray(unseal(moments), dtype=np.float64)
    matrix = np.zeros((p, p))
    matrix[np.triu_indices(p)] = packed
    matrix = matrix + np.triu(matrix, 1).T
    n = MAX_ROWS if curator._private_n else curator.n_rows
    l2 = moments.contribution.known("l2")
    unit = power_of_two(l2) / 2**20
    # LAPACK's symmetric eigenvalues are within a small multiple of p unit roundoffs of the norm, at most n rows' worth
    error = Fraction(64 * p * n * l2) / 2**53 / unit
    value = math.floor(float(np.linalg.eigvalsh(matrix)[0]) / float(unit))
    once = math.ceil(Fraction(l2) / unit + 2 * error) + 1
    bound = Contribution(linf=once)
    return Bounded(
        np.array([value]), bound, moments.unit * unit, moments.neighbors, rate=moments.rate, part=moments.part
    )
