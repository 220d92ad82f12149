"""Errors of other people's code about private rows, told again without what they quote of the rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

__all__ = ["unquoted"]

# What may be passed on: it speaks of shapes, types and names alone.  Whatever else is said is withheld, since a message
# of numpy or scikit-learn may print an entry, or a whole table, into a log that nobody protects.
HARMLESS = [
    re.compile(pattern)
    for pattern in (
        r"Input [Xy] contains (NaN|infinity)",
        r"Found array with (dim )?\d+[^'\"\n\[]*",
        r"Expected 2D array, got (1D array|scalar array)",
        r"Complex data not supported",
        r"Sparse data was passed for X, but dense data is required",
        r"y should be a 1d array, got an array of shape \([\d, ]*\) instead",
        r"This \w+ estimator requires y to be passed, but the target y is None",
        r"Feature names are only supported if all input features have string names",
        r"Only sparse matrices with 32-bit integer indices are accepted",
        r"Found input variables with inconsistent numbers of samples",
        r"X has \d+ features, but \w+ is expecting \d+ features as input",
        r"(?s)The feature names should match.*",  # of columns, which are public
    )
]
MISSING = " How missing values and categories are to be read is said with discreet.preprocessing.Schema"
OF_A_TYPE = re.compile(r".*argument must be .*string.* number")


def unquoted(what: str, read: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """``read(*args, **options)``; where that fails, an error that holds no entry of a row, nor has one behind it.

    Parameters
    ----------
    what : str
        What is being read, for the message.
    read : callable
        Somebody else's function, whose errors may quote what they don't like.

    Notes
    -----
    *Privacy.* Guarantee: no entry of a row is in the message or in the chain of errors before it.  Neighbours: any.
    Public: that something was wrong, and with which argument.  Bounded by: the list of what is passed on.
    Proof: ``proofs/curator.md``.

    Examples
    --------
    >>> import numpy as np
    >>> unquoted("X", np.asarray, ["a secret"], dtype=float)
    Traceback (most recent call last):
    ...
    ValueError: X can't be read as numbers (what was found is withheld, since it belongs to a row); ...
    """
    try:
        return read(*args, **options)
    except (TypeError, ValueError, OverflowError) as error:
        kind, text = type(error), str(error)
    # out here, so that the error that quotes is not kept as the cause of the one that doesn't
    said = next((found[0] for pattern in HARMLESS if (found := pattern.match(text))), None)
    if said is not None:
        more = " Reshape your data to rows and columns." if "2D" in said else ""
        more = MISSING if "contains" in said else more
        raise ValueError(f"{said}; give {what} as finite numbers, one row and one target per person.{more}")
    if kind is TypeError and OF_A_TYPE.match(text):
        raise TypeError(f"argument must be a string or a number in every entry of {what}")
    raise ValueError(
        f"{what} can't be read as numbers (what was found is withheld, since it belongs to a row); give finite "
        "numbers, and encode text, categories and dates by a public rule, such as discreet.preprocessing.Schema"
    )
