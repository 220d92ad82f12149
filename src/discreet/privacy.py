"""Values that promise something: a budget, a neighbouring relation, a sealed statistic.

Nothing in this module draws noise or computes an epsilon.  A :class:`Budget` is what may be spent, in exact
numbers; :class:`Neighbours` says what "one row" means; a :class:`Bounded` is a statistic of private rows together
with the exact amount by which one row can change it, and refuses to be looked at.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bounded", "Budget", "Contribution", "Neighbours", "PrivacyError", "Sealed"]

Norm = Literal["l1", "l2", "linf", "range"]
Number = int | float | Fraction


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


def exact(value: Number, what: str) -> Fraction:
    """The exact rational value of a number (a float is taken at its shortest decimal: 0.1 means one tenth).

    >>> exact(0.1, "epsilon") * 10
    Fraction(1, 1)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction, np.integer, np.floating)):
        raise TypeError(f"{what}={value!r} must be a number")
    if isinstance(value, Fraction):
        return value
    if isinstance(value, (int, np.integer)):
        return Fraction(int(value))
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{what}={value!r} must be finite; an infinite {what} promises nothing")
    return Fraction(repr(number))


@dataclass(frozen=True)
class Budget:
    r"""What may be spent: pure or approximate differential privacy, zCDP, or Gaussian DP, in exact numbers.

    Exactly one of `epsilon`, `rho` and `mu` is given.  `delta` goes with `epsilon` (0 is pure DP).

    Parameters
    ----------
    epsilon : number, optional
        The epsilon of (epsilon, delta)-DP.
    delta : number, default=0
        The delta of (epsilon, delta)-DP.
    rho : number, optional
        The rho of zero-concentrated DP.
    mu : number, optional
        The mu of Gaussian DP.  Squares of mu add up, so a share of one half has mu / sqrt(2).
    neighbors : {"zero_out", "replace_one", "add_remove"} or Neighbours
        The neighbouring relation that all of these numbers refer to.

    Notes
    -----
    *Privacy.* Guarantee: none by itself, a budget is a limit.  Neighbours: carried in `neighbors`.
    Public: everything here.  Bounded by: exact rational arithmetic, so shares add up to the whole.
    Proof: ``proofs/budget.md``.

    Examples
    --------
    >>> whole = Budget(epsilon=1, delta=1e-6)
    >>> shares = whole.split(20)
    >>> sum(shares[1:], shares[0]) == whole
    True
    >>> Budget(mu=1).split([9, 1])[1].mu
    0.31622776601683794
    """

    _kind: Literal["dp", "zcdp", "gdp"]
    _first: Fraction  # epsilon, rho, or mu squared: the part that adds up
    _delta: Fraction
    neighbors: Neighbours

    def __init__(
        self,
        epsilon: Number | None = None,
        delta: Number = 0,
        *,
        rho: Number | None = None,
        mu: Number | None = None,
        neighbors: Neighbours | str = Neighbours.ZERO_OUT,
    ) -> None:
        given = {k: v for k, v in {"epsilon": epsilon, "rho": rho, "mu": mu}.items() if v is not None}
        if len(given) != 1:
            raise ValueError(f"give exactly one of epsilon, rho, mu; got {sorted(given) or 'none'}")
        (name, value), d = next(iter(given.items())), exact(delta, "delta")
        first = exact(value, name)
        if first < 0:
            raise ValueError(f"{name}={value!r} must not be negative")
        if not 0 <= d < 1:
            raise ValueError(f"delta={delta!r} must be at least 0 and below 1; usual is below 1/n")
        if d and name != "epsilon":
            raise ValueError(f"delta={delta!r} goes with epsilon, not with {name}")
        kind = {"epsilon": "dp", "rho": "zcdp", "mu": "gdp"}[name]
        self._set(kind, first**2 if name == "mu" else first, d, Neighbours.of(neighbors))

    def _set(self, kind: str, first: Fraction, delta: Fraction, neighbors: Neighbours) -> Budget:
        for key, value in (("_kind", kind), ("_first", first), ("_delta", delta), ("neighbors", neighbors)):
            object.__setattr__(self, key, value)
        return self

    def _like(self, first: Fraction, delta: Fraction) -> Budget:
        return object.__new__(Budget)._set(self._kind, first, delta, self.neighbors)

    @property
    def kind(self) -> Literal["dp", "zcdp", "gdp"]:
        """``"dp"``, ``"zcdp"`` or ``"gdp"``."""
        return self._kind

    @property
    def epsilon(self) -> float:
        """The epsilon of a ``"dp"`` budget."""
        return float(self._need("dp", "epsilon"))

    @property
    def delta(self) -> float:
        """The delta of a ``"dp"`` budget (0 is pure)."""
        self._need("dp", "delta")
        return float(self._delta)

    @property
    def rho(self) -> float:
        """The rho of a ``"zcdp"`` budget."""
        return float(self._need("zcdp", "rho"))

    @property
    def mu(self) -> float:
        """The mu of a ``"gdp"`` budget."""
        return math.sqrt(self._need("gdp", "mu"))

    @property
    def is_pure(self) -> bool:
        """Whether this is pure differential privacy (delta exactly 0)."""
        return self._kind == "dp" and self._delta == 0

    def _need(self, kind: str, name: str) -> Fraction:
        if self._kind != kind:
            raise AttributeError(f"a {self._kind} budget has no {name}; convert it with discreet.accounting")
        return self._first

    def split(self, shares: int | Sequence[Number]) -> list[Budget]:
        """Divide into `shares` equal parts, or into parts proportional to a list of weights; exactly.

        >>> [b.epsilon for b in Budget(1).split([1, 3])]
        [0.25, 0.75]
        """
        weights = [Fraction(1)] * shares if isinstance(shares, int) else [exact(w, "weight") for w in shares]
        total = sum(weights, Fraction(0))
        if not weights or min(weights) < 0 or total <= 0:
            raise ValueError(f"cannot split into {shares!r}: give a positive count or non-negative weights")
        return [self._like(self._first * w / total, self._delta * w / total) for w in weights]

    def _same(self, other: object) -> Budget:
        if not isinstance(other, Budget):
            raise TypeError(f"a Budget combines only with a Budget, not with {type(other).__name__}")
        if (self._kind, self.neighbors) != (other._kind, other.neighbors):
            raise ValueError(
                f"budgets of different kind or relation do not combine: {self} and {other}; convert one first"
            )
        return other

    def __add__(self, other: Budget) -> Budget:
        o = self._same(other)
        return self._like(self._first + o._first, self._delta + o._delta)

    def __sub__(self, other: Budget) -> Budget:
        o = self._same(other)
        if o._first > self._first or o._delta > self._delta:
            raise PrivacyError(f"{other} is more than what is left, {self}")
        return self._like(self._first - o._first, self._delta - o._delta)

    def __le__(self, other: Budget) -> bool:
        o = self._same(other)
        return self._first <= o._first and self._delta <= o._delta

    def __ge__(self, other: Budget) -> bool:
        return self._same(other) <= self

    def __str__(self) -> str:
        if self._kind == "dp":
            what = f"epsilon={self.epsilon:g}" + (f", delta={self.delta:g}" if self._delta else "")
        else:
            what = f"rho={self.rho:g}" if self._kind == "zcdp" else f"mu={self.mu:g}"
        return f"Budget({what}, neighbors={self.neighbors.value!r})"

    __repr__ = __str__


@dataclass(frozen=True)
class Contribution:
    """The most that one row can put into a statistic, in whole grid units.

    `l1`, `l2`, `linf` bound the norms of the row's contribution.  `monotone` says that every contribution is
    non-negative in every coordinate (counts, clipped losses), which makes selections and replacements cheaper.
    What is missing is filled in from what is there.

    Examples
    --------
    >>> Contribution(linf=3).complete(4)
    Contribution(l1=12, l2=6, linf=3, monotone=False)
    """

    l1: int | None = None
    l2: int | None = None
    linf: int | None = None
    monotone: bool = False

    def __post_init__(self) -> None:
        known = [b for b in (self.l1, self.l2, self.linf) if b is not None]
        if not known:
            raise ValueError("a contribution needs at least one of l1, l2, linf")
        for b in known:
            if isinstance(b, bool) or not isinstance(b, int) or b < 0:
                raise ValueError(f"contribution bounds are whole grid units, at least 0; got {b!r}")

    def complete(self, size: int) -> Contribution:
        """All three norms, each the smallest that the others imply for a vector of `size` coordinates."""
        big = [b for b in (self.l1, self.l2, self.linf) if b is not None]
        linf = min(big)
        l2 = min(b for b in (self.l2, self.l1, isqrt_up(size * linf * linf)) if b is not None)
        l1 = min(b for b in (self.l1, size * linf, isqrt_up(size * l2 * l2)) if b is not None)
        return Contribution(l1=l1, l2=min(l2, l1), linf=linf, monotone=self.monotone)

    def sensitivity(self, norm: Norm, neighbors: Neighbours) -> int:
        """How far two neighbours' statistics can be apart: the one place where this is worked out.

        One row is there or not: the contribution itself.  One row replaced: two contributions, in general twice
        the bound; when contributions are non-negative, ``|a - b|_inf <= max(a, b)`` and ``|a - b|_2^2 <= a^2 + b^2``.
        The *range* (largest minus smallest change over coordinates) is what a selection pays for.

        >>> c = Contribution(l1=4, l2=3, linf=2)
        >>> [c.sensitivity("range", n) for n in Neighbours]
        [4, 8, 4]
        >>> counts = Contribution(l1=1, l2=1, linf=1, monotone=True)
        >>> [counts.sensitivity("range", n) for n in Neighbours]
        [1, 2, 1]
        """
        l1, l2, linf = (_required(self, n) for n in ("l1", "l2", "linf"))
        twice = neighbors.moves == 2
        if norm == "l1":
            return l1 * neighbors.moves
        if norm == "l2":
            return (isqrt_up(2 * l2 * l2) if self.monotone else 2 * l2) if twice else l2
        if norm == "linf":
            return linf if self.monotone or not twice else 2 * linf
        if norm == "range":
            return linf * neighbors.moves * (1 if self.monotone else 2)
        raise ValueError(f"norm={norm!r} is not one of 'l1', 'l2', 'linf', 'range'")


def _required(contribution: Contribution, name: str) -> int:
    value = getattr(contribution, name)
    if value is None:
        raise ValueError(f"the {name} bound is not worked out yet: call complete(size) first")
    return int(value)


def isqrt_up(square: int) -> int:
    """The smallest whole number whose square is at least `square`.

    >>> [isqrt_up(k) for k in (0, 1, 2, 4, 5)]
    [0, 1, 2, 2, 3]
    """
    root = math.isqrt(square)
    return root if root * root == square else root + 1


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
    discreet.privacy.PrivacyError: a Sealed can't be turned into an array; only a mechanism opens it
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
    """Open a sealed value.  Only ``mechanisms/`` and ``curator/`` may call this; a static test enforces it."""
    return sealed._opener(_KEY)


class Bounded(Sealed):
    """A statistic in whole grid units, with the exact amount by which one row can change it.

    Parameters
    ----------
    value : array of whole numbers
        Integers, in an integer or in a float64 array (whole numbers below 2**53).
    contribution : Contribution
        What one row can add, at most, in grid units.
    unit : Fraction
        What one grid unit is worth: the real statistic is ``value * unit``.
    neighbors : Neighbours
        The relation under which :meth:`sensitivity` is computed.
    symmetric : int, default=0
        When positive, the value is the packed upper triangle (row by row, diagonal included) of a symmetric matrix
        of that order, and the norms of the contribution are those of the whole matrix (l2 is Frobenius).

    Notes
    -----
    *Privacy.* Guarantee: none until a mechanism opens it.  Neighbours: `neighbors`.  Public: shape, unit, bounds.
    Bounded by: `contribution`, in integers.  Proof: ``proofs/sensitivity.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from fractions import Fraction
    >>> g = Bounded(np.array([5, -2]), Contribution(linf=4), Fraction(1, 8), Neighbours.REPLACE_ONE)
    >>> g.sensitivity("linf"), g.sensitivity("l1"), g.sensitivity("range")
    (8, 16, 16)
    >>> g.linear(np.array([[1, 0], [0, -3]])).sensitivity("linf")
    24
    """

    __slots__ = ("contribution", "neighbors", "shape", "symmetric", "unit")

    contribution: Contribution
    neighbors: Neighbours
    shape: tuple[int, ...]
    symmetric: int
    unit: Fraction

    def __init__(
        self,
        value: NDArray[Any],
        contribution: Contribution,
        unit: Fraction,
        neighbors: Neighbours,
        *,
        symmetric: int = 0,
    ) -> None:
        value = np.asarray(value)
        if value.dtype.kind not in "iuf":
            raise TypeError(f"a Bounded holds whole numbers, not {value.dtype}")
        if unit <= 0:
            raise ValueError(f"unit={unit} must be positive")
        if symmetric and value.shape != (symmetric * (symmetric + 1) // 2,):
            raise ValueError(f"a packed triangle of order {symmetric} can't have shape {value.shape}")
        super().__init__(value)
        size = symmetric * symmetric if symmetric else int(value.size)
        for name, item in (
            ("contribution", contribution.complete(max(size, 1))),
            ("neighbors", neighbors),
            ("shape", value.shape),
            ("symmetric", symmetric),
            ("unit", Fraction(unit)),
        ):
            object.__setattr__(self, name, item)

    def __repr__(self) -> str:
        return f"<Bounded: shape {self.shape}, {self.contribution}, contents withheld>"

    @property
    def size(self) -> int:
        """The number of (packed) coordinates, which is public."""
        return math.prod(self.shape)

    def sensitivity(self, norm: Norm) -> int:
        """How far the statistics of two neighbours can be apart, in whole grid units."""
        return self.contribution.sensitivity(norm, self.neighbors)

    def scaled(self, factor: Number) -> Bounded:
        """The same integers with a unit `factor` times as large (for ``factor > 0``)."""
        return _rebuilt(self, lambda v: v, self.contribution, self.unit * exact(factor, "factor"), self.symmetric)

    def linear(self, matrix: NDArray[Any] | Any, unit: Fraction = Fraction(1)) -> Bounded:
        """The linear map ``matrix @ value`` (whole-number entries, dense or scipy.sparse), bounds multiplied.

        One entry of `matrix` is worth `unit`.  The new bounds are those that the operator norms of the matrix imply:
        every one of the standard ones is tried and the smallest kept.

        >>> import numpy as np
        >>> rotated = Bounded(np.array([1, 2]), Contribution(l2=5), Fraction(1), Neighbours.ZERO_OUT).linear(
        ...     np.array([[3, 4], [-4, 3]]), Fraction(1, 5))
        >>> rotated.sensitivity("l2") * rotated.unit
        Fraction(5, 1)
        """
        if self.symmetric or len(self.shape) != 1:
            raise ValueError("linear maps act on vectors; this statistic is a matrix")
        if matrix.shape[1] != self.shape[0]:
            raise ValueError(f"a matrix of shape {matrix.shape} can't act on a vector of {self.shape[0]}")
        whole, bound = _whole_matrix(matrix), _mapped(self.contribution, matrix)

        def apply(value: NDArray[Any]) -> NDArray[Any]:
            largest = int(np.max(np.abs(value), initial=0))
            if largest * bound.row_l1 >= 2**62:
                raise OverflowError("this linear map leaves 64-bit integers; use a coarser unit for the matrix")
            return np.asarray(whole @ value.astype(np.int64), dtype=np.int64)

        return _rebuilt(self, apply, bound.contribution, self.unit * unit, 0)

    def signed_pair(self) -> Bounded:
        """The vector followed by its negative: the scores of the vertices of an l1 ball, in one pass.

        >>> import numpy as np
        >>> Bounded(np.array([5, -2]), Contribution(linf=4), Fraction(1), Neighbours.ZERO_OUT).signed_pair().shape
        (4,)
        """
        c = self.contribution
        doubled = Contribution(
            l1=2 * _required(c, "l1"), l2=isqrt_up(2 * _required(c, "l2") ** 2), linf=c.linf, monotone=False
        )
        return _rebuilt(self, lambda v: np.concatenate([v, -v]), doubled, self.unit, 0)

    def absolute(self) -> Bounded:
        """Absolute values: ``||a| - |b|| <= |a - b|`` coordinate by coordinate, so the bounds stay."""
        return _rebuilt(self, np.abs, replace(self.contribution, monotone=False), self.unit, 0)


@dataclass(frozen=True)
class _Image:
    contribution: Contribution
    row_l1: int


def _whole_matrix(matrix: Any) -> Any:
    entries = matrix.data if hasattr(matrix, "tocsr") else matrix
    whole = np.rint(entries)
    if not np.array_equal(whole, entries) or np.max(np.abs(whole), initial=0) >= 2**53:
        raise ValueError("a linear map on a Bounded needs whole-number entries below 2**53; put it on a grid first")
    return matrix.astype(np.int64)


def _mapped(c: Contribution, matrix: Any) -> _Image:
    """Bounds of ``matrix @ contribution`` from exact row and column sums of the matrix."""
    a = abs(_whole_matrix(matrix)).astype(object) if not hasattr(matrix, "tocsr") else abs(_whole_matrix(matrix))
    rows = [int(v) for v in np.asarray(a.sum(axis=1)).ravel()]
    cols = [int(v) for v in np.asarray(a.sum(axis=0)).ravel()]
    squares = a.multiply(a) if hasattr(a, "multiply") else a * a
    row_sq = [int(v) for v in np.asarray(squares.sum(axis=1)).ravel()]
    largest = int(a.max()) if 0 not in a.shape else 0
    l1, l2, linf = (_required(c, n) for n in ("l1", "l2", "linf"))
    row_l1, col_l1, row_l2 = max(rows, default=0), max(cols, default=0), isqrt_up(max(row_sq, default=0))
    operator = min(isqrt_up(sum(row_sq)), isqrt_up(row_l1 * col_l1), _gram_bound(matrix))
    return _Image(
        Contribution(l1=l1 * col_l1, l2=l2 * operator, linf=min(row_l1 * linf, row_l2 * l2, largest * l1)), row_l1
    )


def _gram_bound(matrix: Any) -> int:
    """``||A||_2^2 <= ||A A^T||_inf`` in exact integers, for matrices small enough that this costs nothing."""
    if hasattr(matrix, "tocsr") or max(matrix.shape) > 128:
        return isqrt_up(int(matrix.shape[0]) * int(matrix.shape[1])) * max(int(abs(matrix).max()), 1)
    a = np.asarray(matrix).astype(np.int64).astype(object)
    gram = a @ a.T if a.shape[0] <= a.shape[1] else a.T @ a
    return isqrt_up(max((int(v) for v in np.abs(gram).sum(axis=1)), default=0))


def _rebuilt(
    source: Bounded,
    change: Callable[[NDArray[Any]], NDArray[Any]],
    contribution: Contribution,
    unit: Fraction,
    symmetric: int,
) -> Bounded:
    return Bounded(change(unseal(source)), contribution, unit, source.neighbors, symmetric=symmetric)
