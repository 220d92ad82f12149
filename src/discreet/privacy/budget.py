"""What may be spent, in exact numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from discreet.privacy.neighbours import Neighbours, PrivacyError

__all__ = ["Budget", "Number", "exact"]

Number = int | float | Fraction


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
