"""What every randomiser of the local model is: a public law from one person's value to a small message."""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.privacy import PrivacyError
from discreet.privacy.budget import exact
from discreet.randomness import Source, system

if TYPE_CHECKING:  # prices are the server's business: a device that reports never loads them
    from discreet.accounting.shuffling import Variation

__all__ = ["Estimate", "Randomizer", "Totals"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
SMALLEST = Fraction(1, 10**9)
Totals = list[int]  # exact sums of what the messages say, as Python integers


@dataclass(frozen=True)
class Estimate:
    """What an aggregator learnt.

    Attributes
    ----------
    value : float or ndarray
        The unbiased estimate.
    standard_error : float or ndarray
        Of people's sampling and of the reports' noise together.
    n : int
        The number of reports that were counted.
    rejected : dict
        How many reports were refused, by reason.
    privacy : str
        What each person was promised.

    Examples
    --------
    >>> [round(end, 3) for end in Estimate(0.5, 0.1, 10, {}, "").interval(0.95)]
    [0.304, 0.696]
    """

    value: Any
    standard_error: Any
    n: int
    rejected: dict[str, int]
    privacy: str

    def interval(self, confidence: float = 0.95) -> tuple[Any, Any]:
        """A normal confidence interval."""
        from scipy.special import ndtri

        half = float(ndtri((1 + confidence) / 2)) * self.standard_error
        return self.value - half, self.value + half


@dataclass(frozen=True)
class Randomizer(ABC):
    """One person's value in, one small message of whole numbers out.

    Parameters
    ----------
    epsilon : float
        The local promise of one report.
    source : Source
        Where random words come from; the operating system's by default.
    purpose : str
        What is asked, in the fingerprint of every report: answers to one question are not counted for another that
        has the same parameters, nor those of one round for the next.

    Notes
    -----
    *Privacy.* Guarantee: epsilon-local differential privacy of each report: for any two values of a person and any
    message, the probabilities differ by at most ``e**epsilon``, checked in whole numbers.  Neighbours: replace-one.
    Public: all parameters.  Bounded by: the ratio of the weights.  Proof: ``proofs/local.md``.

    Examples
    --------
    >>> from discreet.local import BinaryResponse
    >>> BinaryResponse(1.0).statement()[:60]
    'rr: each report is 1-locally differentially private on its o'
    """

    epsilon: float
    source: Source = field(default_factory=system, repr=False, compare=False, kw_only=True)
    purpose: str = field(default="", kw_only=True)

    name: ClassVar[str]  # the mechanism's id on the wire
    code: ClassVar[int]  # the same, as a byte

    def __post_init__(self) -> None:
        if not SMALLEST <= exact(self.epsilon, "epsilon") <= 30:
            raise ValueError(
                f"epsilon={self.epsilon!r} must be at least 1e-9 (less says nothing), at most 30 (more protects nobody)"
            )
        self.check()

    def check(self) -> None:
        """Refuse parameters that make no sense; subclasses have their own to look at."""
        self.budget.as_integer_ratio()

    @property
    def budget(self) -> Fraction:
        """Epsilon as the exact number that the caller wrote."""
        return exact(self.epsilon, "epsilon")

    # ---- the message: `width` whole numbers low, low + step, ..., high ----

    @property
    @abstractmethod
    def alphabet(self) -> tuple[int, int, int]:
        """``(low, high, step)`` of every number in a message."""

    @property
    def width(self) -> int:
        """How many whole numbers one message has."""
        return 1

    def plausible(self, messages: Ints) -> NDArray[np.bool_]:
        """Which messages, already in the alphabet, an honest client could have sent (a vector's length, say)."""
        return np.ones(len(messages), dtype=np.bool_)

    @abstractmethod
    def randomize(self, values: ArrayLike, source: Source | None = None) -> Ints:
        """Messages, one row per person, for an array with one value (or one row) per person."""

    def report(self, value: Any, *, report_id: str | bytes | None = None, form: str = "json") -> str | bytes:
        """The client half: one person's value becomes one report, ready to be sent.

        `form` is ``"json"`` (text) or ``"bytes"``; `report_id`, when given, lets the aggregator drop repeated reports.
        """
        from discreet.local.wire import encode

        message = self.randomize(np.asarray(value)[None, ...])[0]
        return encode(self, message, report_id=report_id, form=form)

    # ---- the aggregator's half ----

    @abstractmethod
    def tally(self, messages: Ints) -> Totals:
        """Exact totals of a block of messages; totals of blocks add up."""

    @property
    def tally_range(self) -> tuple[int, int]:
        """The least and the most that one message can add to any total."""
        reach = max(abs(self.alphabet[0]), abs(self.alphabet[1]), 1)
        return -reach, reach * reach

    @abstractmethod
    def estimate(self, totals: Totals, n: int) -> tuple[Any, Any]:
        """The unbiased estimate and its standard error from the totals of `n` messages."""

    @property
    @abstractmethod
    def influence(self) -> float:
        """The most by which replacing one report by another valid one can move ``n * estimate`` (in any coordinate)."""

    # ---- promises ----

    @property
    def variation(self) -> Variation:
        """The parameters of the shuffling analysis; the generic ones unless the randomiser knows better."""
        from discreet.accounting.shuffling import Variation

        return Variation.generic(float(self.epsilon))

    def known_variation(self, beta: float) -> Variation:
        """The generic parameters with a total variation that the randomiser knows to be smaller."""
        from discreet.accounting.shuffling import Variation

        generic = Variation.generic(float(self.epsilon))
        return Variation(generic.epsilon, min(generic.beta, beta))

    def central_epsilon(self, n: int, delta: float) -> float:
        """The central epsilon once `n` reports are shuffled (``proofs/shuffling.md``)."""
        from discreet.accounting.shuffling import shuffled_epsilon

        return shuffled_epsilon(self.variation, n, delta)

    def event(self, n_shuffled: int | None = None) -> Any:
        """The accounting event of one report: pure, or of one shuffled batch of `n_shuffled` reports."""
        from discreet.accounting.events import PureDpEvent
        from discreet.accounting.shuffling_event import ShuffledDpEvent

        if n_shuffled is None:
            return PureDpEvent(float(self.epsilon))
        known = self.variation
        return ShuffledDpEvent(known.epsilon, known.beta, n_shuffled, known.common)

    def statement(self) -> str:
        """What each person is promised, in words."""
        seeded = "" if self.source.private else "  NOT PRIVATE: seeded."
        return (
            f"{self.name}: each report is {float(self.epsilon):g}-locally differentially private on its own "
            f"(neighbours: replace_one, by nature: a person's value is replaced by any other; delta 0).{seeded}"
        )

    # ---- identity ----

    def parameters(self) -> dict[str, str]:
        """The public parameters, in a fixed spelling."""
        own = ((f.name, getattr(self, f.name)) for f in fields(self) if f.name not in ("source", "purpose"))
        return {name: str(exact(v, name)) if isinstance(v, (int, float, Fraction)) else str(v) for name, v in own}

    @property
    def fingerprint(self) -> bytes:
        """Eight bytes that name mechanism, parameters and purpose, so that reports made for others are turned away."""
        text = ";".join([self.name, *(f"{k}={v}" for k, v in sorted(self.parameters().items()))])
        text += f";purpose={self.purpose.encode().hex()}" if self.purpose else ""
        return hashlib.blake2b(text.encode(), digest_size=8).digest()


def whole_answers(values: ArrayLike, k: int) -> Ints:
    """Answers 0..k-1 as int64, or an error that does not repeat the answer."""
    array = np.asarray(values)
    if array.dtype.kind not in "iubf":
        raise ValueError(f"an answer is not one of the whole numbers 0 to {k - 1}; number the answers first")
    if array.ndim != 1:
        raise ValueError(f"answers of shape {array.shape}: give one whole number per person (report takes one person)")
    whole = array.astype(np.int64) if array.dtype.kind in "iub" else np.rint(array.astype(np.float64)).astype(np.int64)
    if not np.array_equal(whole, array) or np.any((whole < 0) | (whole >= k)):
        raise ValueError(f"an answer is not one of the whole numbers 0 to {k - 1}; recode the answers first")
    return whole


def real_numbers(values: ArrayLike, ndim: int) -> Floats:
    """Finite floats of `ndim` dimensions, or an error that does not repeat the value."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("a value is not a number; report takes one number, or one vector of them") from None
    if array.ndim != ndim:
        what = ("one number", "one vector")[ndim - 1]
        raise ValueError(
            f"values of shape {array.shape}: randomize takes {ndim}-dimensional values, {what} for each person in "
            f"the first dimension, and report {what}"
        )
    if not np.all(np.isfinite(array)):
        raise PrivacyError("a value is not a finite number; replace missing values on the device, by a public rule")
    return array


def column_sums(messages: Ints, reach: int) -> list[int]:
    """Exact column sums of a block, whatever its size; `reach` bounds every entry."""
    if len(messages) * max(reach, 1) < 1 << 62:
        return [int(v) for v in np.add.reduce(messages, axis=0, dtype=np.int64)]
    return [int(v) for v in np.add.reduce(messages.astype(object), axis=0)]


def column_squares(messages: Ints, reach: int) -> list[int]:
    """Exact column sums of squares of a block."""
    rows = max(1, (1 << 62) // max(reach * reach, 1))
    total = [0] * messages.shape[1]
    wide = reach >= 1 << 31
    for start in range(0, len(messages), rows):
        part = messages[start : start + rows]
        block = (part.astype(object) ** 2).sum(axis=0) if wide else np.einsum("ij,ij->j", part, part)
        total = [t + int(v) for t, v in zip(total, block, strict=True)]
    return total


def mean_and_error(total: int, squares: int, n: int, scale: float) -> tuple[float, float]:
    """Mean and standard error of `n` whole numbers worth `scale` each, from exact sums."""
    if n == 0:
        return math.nan, math.inf
    spread = Fraction(squares * n - total * total, max(n - 1, 1) * n * n) if n > 1 else Fraction(0)
    return float(Fraction(total, n)) * scale, (math.sqrt(spread) * scale if n > 1 else math.inf)
