"""Prices that were worked out before in this process: pricing a mixture of events takes a second or two."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import TypeVar

__all__ = ["cached", "clear"]

Value = TypeVar("Value")
LIMIT = 512  # a plan's numbers are a few hundred bytes

_kept: OrderedDict[Hashable, object] = OrderedDict()
_lock = Lock()


def cached(key: Hashable, compute: Callable[[], Value]) -> Value:
    """``compute()``, or what it gave for the same `key` earlier in this process.

    The key must name *everything* that the value depends on (events and budgets by their ``repr``), and all of it must
    be public: a plan is made before any row is read, so whether a price was known says nothing about rows.  A
    computation that raises leaves nothing behind.

    Parameters
    ----------
    key : hashable
        Begin it with the name of what is computed.
    compute : callable
        Without arguments; its result is shared, so it must not be changed by who receives it.

    Returns
    -------
    object
        The value.

    Examples
    --------
    >>> cached(("doctest", 1), lambda: 2.0), cached(("doctest", 1), lambda: 3.0)
    (2.0, 2.0)
    """
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]  # type: ignore[return-value]
    value = compute()  # outside the lock: two threads may both work it out, to the same end
    with _lock:
        _kept[key] = value
        while len(_kept) > LIMIT:
            _kept.popitem(last=False)
    return value


def clear() -> None:
    """Forget all prices.

    >>> clear()
    """
    with _lock:
        _kept.clear()
