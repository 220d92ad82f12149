"""The layout of the noise tables: constants that the numba loop and the Python integers beside it share."""

from __future__ import annotations

__all__ = ["FINE", "GAUSSIAN", "INDEX", "LAPLACE", "TAIL_BITS", "WIDTH"]

INDEX = 14  # bits of a word that choose the cell
FINE = 49  # bits of a word that place the deviate inside the cell's column (the last bit is the sign)
WIDTH = 5  # a column is 2**-WIDTH wide
TAIL_BITS = 8  # the tail's proposals use 2**-8 of the area of one cell
GAUSSIAN = 0
LAPLACE = 1
