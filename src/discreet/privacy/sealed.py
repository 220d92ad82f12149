"""Something that depends on private rows and that only a mechanism may open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from discreet.privacy.neighbours import PrivacyError

__all__ = ["Sealed", "unseal"]


def _refusal(what: str) -> Any:
    """A method that refuses one way of looking at a sealed value."""

    def refuse(self: object, *_: object, **__: object) -> NoReturn:
        raise PrivacyError(f"a {type(self).__name__} can't be {what}; only a mechanism opens it")

    return refuse


class Sealed:
    """Something that depends on private rows and that only a mechanism may open.

    It can't be printed, indexed, compared, copied into an array, pickled or iterated over.  The value is held by a
    closure, so that no attribute of the object leads to it.  This guards against mistakes, not against malice.

    Examples
    --------
    >>> import numpy as np
    >>> secret = Sealed(np.array([3, 1, 4]))
    >>> secret
    <Sealed: contents withheld>
    >>> np.asarray(secret)
    Traceback (most recent call last):
    ...
    discreet.privacy.neighbours.PrivacyError: a Sealed can't be turned into an array; only a mechanism opens it
    """

    __slots__ = ("_opener",)
    _opener: Callable[[object], Any]

    def __init__(self, value: Any) -> None:
        def opener(key: object) -> Any:
            if key is not _KEY:
                raise PrivacyError("only a mechanism opens a sealed value")
            return value

        object.__setattr__(self, "_opener", opener)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: contents withheld>"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} can't be changed")

    __array__ = _refusal("turned into an array")
    __getitem__ = _refusal("indexed")
    __iter__ = _refusal("iterated over")
    __len__ = _refusal("measured")
    __bool__ = _refusal("tested for truth")
    __float__ = __int__ = __index__ = __complex__ = _refusal("turned into a number")
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refusal("compared")
    __reduce_ex__ = _refusal("pickled")
    __copy__ = __deepcopy__ = _refusal("copied")
    __hash__ = None  # type: ignore[assignment]

    def __format__(self, _: str) -> str:
        return repr(self)


_KEY = object()


def unseal(sealed: Sealed) -> Any:
    """Open a sealed value.  Only ``mechanisms/`` and ``curator/`` may call this; a static test enforces it.

    >>> unseal(Sealed(3))
    3
    """
    return sealed._opener(_KEY)
