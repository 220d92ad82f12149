"""What counts as one row, and the error for what would break a promise."""

from __future__ import annotations

import enum

__all__ = ["Neighbours", "PrivacyError"]


class PrivacyError(RuntimeError):
    """Raised when carrying on would break a promise.

    Examples
    --------
    >>> issubclass(PrivacyError, RuntimeError)
    True
    """


class Neighbours(enum.Enum):
    """When two data sets count as neighbours.

    ``ZERO_OUT`` (default): a person's row is there or blank; the number of rows is public.
    ``REPLACE_ONE``: a person's row becomes any other row; the number of rows is public.
    ``ADD_REMOVE``: a person's row is there or gone; the number of rows is private.

    Examples
    --------
    >>> Neighbours("replace_one").moves
    2
    >>> Neighbours("add_remove").public_n
    False
    """

    ZERO_OUT = "zero_out"
    REPLACE_ONE = "replace_one"
    ADD_REMOVE = "add_remove"

    @property
    def moves(self) -> int:
        """How many single-row contributions tell two neighbours apart."""
        return 2 if self is Neighbours.REPLACE_ONE else 1

    @property
    def public_n(self) -> bool:
        """Whether all neighbours have the same number of rows, which is then public."""
        return self is not Neighbours.ADD_REMOVE

    @classmethod
    def of(cls, value: Neighbours | str) -> Neighbours:
        """The relation of that name, with an error that lists the names.

        >>> Neighbours.of("zero_out")
        <Neighbours.ZERO_OUT: 'zero_out'>
        """
        try:
            return cls(value)
        except ValueError:
            names = ", ".join(repr(n.value) for n in cls)
            raise ValueError(f"neighbors={value!r} is not a neighbouring relation; choose one of {names}") from None
