"""The only source of random bits: the operating system's generator, and seeded streams for tests.

Everything private draws 64-bit words from a :class:`Source`.  :func:`system` hands out words of ``os.urandom``; no two
threads, processes or workers ever see the same word.  A :class:`SeededSource` repeats itself, which is what tests and
``random_state=int`` want, and for that very reason its noise protects nobody: ``private`` is False.
"""

from __future__ import annotations

import contextlib
import contextvars
import hashlib
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["SeededSource", "Source", "SystemSource", "data_generator", "noise_disabled", "source_for", "system"]

Words = NDArray[np.uint64]
BLOCK = 1 << 12  # words kept per thread (32 KiB): small enough to stay in cache, large enough to hide the system call
DIRECT = 1 << 10  # requests from this size on go past the buffer
CHUNK = 1 << 16  # words per system call of a large request (512 KiB: fastest on the machines tried, and stays in cache)


class Source(ABC):
    """A stream of uniform 64-bit words.

    Examples
    --------
    >>> source = SeededSource(7)
    >>> source.words(2).dtype, source.private
    (dtype('uint64'), False)
    """

    private: bool

    @abstractmethod
    def words(self, n: int) -> Words:
        """The next `n` words of the stream; none of them is ever handed out again."""

    @abstractmethod
    def child(self, *labels: int | str) -> Source:
        """An independent stream, named by `labels` (whose name only matters for seeded streams)."""


class _Buffer(threading.local):
    """Words drawn ahead, of one thread of one process."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.pid = -1
        self.at = BLOCK
        self.block: Words = np.zeros(BLOCK, dtype=np.uint64)

    def take(self, n: int) -> Words:
        if self.pid != os.getpid():  # a child process must not see what its parent drew ahead
            self.clear()
            self.pid = os.getpid()
        out = np.empty(n, dtype=np.uint64)
        done = min(n, BLOCK - self.at)
        self._move(out[:done])
        if done < n:
            self.block[:] = np.frombuffer(os.urandom(8 * BLOCK), dtype=np.uint64)
            self.at = 0
            self._move(out[done:])
        return out

    def _move(self, out: Words) -> None:
        used = self.block[self.at : self.at + len(out)]
        out[:] = used
        used[:] = 0  # what was used must not be found in memory, or in a copy of it
        self.at += len(out)


_buffer = _Buffer()
if hasattr(os, "register_at_fork"):  # the pid check alone would miss a child in another pid namespace
    os.register_at_fork(after_in_child=lambda: _buffer.clear())


class SystemSource(Source):
    """The operating system's generator (``os.urandom``), buffered for each thread of each process.

    All instances are alike and hold no state: a copy, or a pickle opened elsewhere, draws words of its own.  A forked
    child throws away what its parent drew ahead.  Words are wiped from the buffer as they are handed out.

    Notes
    -----
    *Privacy.* Guarantee: words that nobody can tell from uniform ones, as far as the operating system's generator
    holds.  Neighbours: any.  Public: how many words were drawn.  Bounded by: nothing to bound.
    Proof: ``proofs/randomness.md``.

    Examples
    --------
    >>> source = SystemSource()
    >>> bool((source.words(4) == source.words(4)).any())
    False
    >>> source.private
    True
    """

    private = True

    def words(self, n: int) -> Words:
        """The next `n` words (a fresh, writable array)."""
        n = _count(n)
        if n < DIRECT:
            return _buffer.take(n)
        out = np.empty(n, dtype=np.uint64)
        for start in range(0, n, CHUNK):
            part = out[start : start + CHUNK]
            part[:] = np.frombuffer(os.urandom(8 * len(part)), dtype=np.uint64)
        return out

    def child(self, *labels: int | str) -> SystemSource:
        """Another system source: the operating system's words are independent whatever the labels."""
        _names(labels)
        return SystemSource()

    def __repr__(self) -> str:
        return "SystemSource()"


class SeededSource(Source):
    """A repeatable stream, for tests and for ``random_state=int``.  NOT PRIVATE.

    Parameters
    ----------
    seed : int
        A non-negative whole number.
    path : sequence of int or str
        The labels that lead from the root to this stream; :meth:`child` extends them.

    Notes
    -----
    A copy is a *different* stream: the k-th by ``copy`` or ``deepcopy`` is its own child, and what is loaded from a
    pickle is new each time, since the same bytes may be sent to several workers.  So no two of them ever get the same
    noise.  Work that is shared out and must repeat uses :meth:`child` with a label per piece, made from the seed there.

    *Privacy.* Guarantee: none, whoever knows the seed can subtract the noise.  Neighbours: none.  Public: all of it.
    Bounded by: nothing.  Proof: ``proofs/randomness.md`` says why ``privacy_.epsilon`` is then infinite.

    Examples
    --------
    >>> a, b = SeededSource(3), SeededSource(3)
    >>> bool((a.words(5) == b.words(5)).all())
    True
    >>> bool((a.child("step", 1).words(5) == a.child("step", 2).words(5)).any())
    False
    """

    private = False

    def __init__(self, seed: int, path: tuple[int | str, ...] = ()) -> None:
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise TypeError(f"seed={seed!r} must be a whole number")
        if seed < 0:
            raise ValueError(f"seed={seed} must not be negative; any whole number from 0 on will do")
        self.seed = int(seed)
        self.path = tuple(path)
        self._copies = 0
        digest = hashlib.sha256(repr((self.seed, self.path)).encode()).digest()
        self._bits = np.random.PCG64(np.random.SeedSequence(int.from_bytes(digest, "little")))

    def words(self, n: int) -> Words:
        """The next `n` words; asking for them in one piece or in many gives the same stream."""
        return np.asarray(self._bits.random_raw(_count(n)), dtype=np.uint64)

    def child(self, *labels: int | str) -> SeededSource:
        """The stream of that name: it depends on the seed and the labels, not on what was drawn before."""
        return SeededSource(self.seed, (*self.path, "child", len(labels), *_names(labels)))

    def __copy__(self) -> SeededSource:
        self._copies += 1
        return SeededSource(self.seed, (*self.path, "copy", self._copies))

    def __deepcopy__(self, _: dict[int, object]) -> SeededSource:
        return self.__copy__()

    def __reduce__(self) -> tuple[Callable[..., SeededSource], tuple[int, tuple[int | str, ...]]]:
        return _loaded, (self.seed, self.path)

    def __repr__(self) -> str:
        return f"SeededSource({self.seed}, NOT PRIVATE)"


def _loaded(seed: int, path: tuple[int | str, ...]) -> SeededSource:
    """A stream of its own for each time that a pickle is loaded."""
    return SeededSource(seed, (*path, "loaded", int(system().words(1)[0])))


def _names(labels: tuple[int | str, ...]) -> tuple[int | str, ...]:
    for label in labels:
        if isinstance(label, bool) or not isinstance(label, (int, str, np.integer)):
            raise TypeError(f"label {label!r} must be a whole number or a string")
    return tuple(label if isinstance(label, str) else int(label) for label in labels)


def _count(n: int) -> int:
    if n < 0:
        raise ValueError(f"n={n} words can't be drawn; ask for 0 or more")
    return int(n)


def system() -> Source:
    """The operating system's generator.

    >>> system().private
    True
    """
    return SystemSource()


RandomState = int | np.integer | np.random.Generator | np.random.RandomState | Source | None


def source_for(random_state: RandomState) -> Source:
    """The source that an estimator's ``random_state`` stands for.

    ``None`` is the operating system.  A whole number, or a numpy generator (from which one number is drawn), is a
    seeded stream: repeatable and not private.

    >>> source_for(None)
    SystemSource()
    >>> source_for(5)
    SeededSource(5, NOT PRIVATE)
    >>> source_for("5")
    Traceback (most recent call last):
    ...
    TypeError: random_state='5' must be None (private), or a whole number or numpy generator (repeatable, not private)
    """
    if random_state is None:
        return system()
    if isinstance(random_state, Source):
        return random_state
    if isinstance(random_state, np.random.Generator):
        return SeededSource(int(random_state.integers(2**63)))
    if isinstance(random_state, np.random.RandomState):
        return SeededSource(int(random_state.randint(0, 2**62, dtype=np.int64)))
    if type(random_state) is int or isinstance(random_state, np.integer):
        return SeededSource(int(random_state))
    raise TypeError(
        f"random_state={random_state!r} must be None (private), or a whole number or numpy generator "
        "(repeatable, not private)"
    )


def data_generator(seed: int | None) -> np.random.Generator:
    """A numpy generator for making synthetic *data*.  Never for noise: its floats are not exact and not secret.

    >>> data_generator(0).normal(size=2).shape
    (2,)
    """
    return np.random.Generator(np.random.PCG64(seed))


_disabled: contextvars.ContextVar[bool] = contextvars.ContextVar("discreet_noise_disabled", default=False)


def noise_disabled() -> bool:
    """Whether noise is switched off here, by ``discreet.testing.without_privacy()``.

    >>> noise_disabled()
    False
    """
    return _disabled.get()


@contextlib.contextmanager
def _disable_noise() -> Iterator[None]:
    token = _disabled.set(True)
    try:
        yield
    finally:
        _disabled.reset(token)
