"""Between the clients and the aggregator: collect, forget who sent what, mix, hand on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from discreet.local.base import Randomizer
from discreet.local.wire import ReportError, Wire
from discreet.privacy import PrivacyError
from discreet.randomness import Source, system

__all__ = ["Shuffler"]


class Shuffler:
    """Collects reports, drops identifiers, spelling and order, and releases batches of at least a public size.

    Parameters
    ----------
    randomizer : Randomizer
        What the clients were told to run.
    batch_size : int
        The fewest reports that are ever released together; the central promise is computed for this number.
    form : {"json", "bytes"}
        How released reports are written.
    source : Source, optional
        Random words for the permutation; the operating system's by default.

    Notes
    -----
    *Privacy.* Guarantee: what leaves is (epsilon, delta)-DP for the :meth:`central_epsilon` of the batch size, if this
    program is trusted, reveals nothing else (arrival times, addresses), and the counted clients follow the protocol;
    the local promise holds in any case.  Neighbours: replace-one.  Public: parameters and the sizes of batches.
    Bounded by: the randomiser's ``variation``.  Proof: ``proofs/shuffling.md``.

    Examples
    --------
    >>> from discreet.local import BinaryResponse
    >>> rr = BinaryResponse(1.0)
    >>> mixer = Shuffler(rr, 3)
    >>> mixer.submit(rr.report(answer, report_id=f"person {i}") for i, answer in enumerate([1, 0, 1]))
    3
    >>> any("id" in report for report in mixer.release())
    False
    """

    def __init__(
        self, randomizer: Randomizer, batch_size: int, *, form: str = "json", source: Source | None = None
    ) -> None:
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 2:
            raise ValueError(f"batch_size={batch_size!r}: a batch hides a person among others; give 2 or more")
        if form not in ("json", "bytes"):
            raise ValueError(f"form={form!r} is not one of 'json', 'bytes'")
        self.randomizer = randomizer
        self.batch_size = batch_size
        self.form = form
        self.rejected: dict[str, int] = {}
        self._wire = Wire(randomizer)
        self._source = source or system()
        self._waiting: list[bytes] = []
        self._ids: set[bytes] = set()

    def submit(self, reports: Iterable[Any]) -> int:
        """Take in reports; bad ones, and all but the first of an id, are left out.  Returns how many wait."""
        for report in [reports] if isinstance(reports, (str, bytes)) else reports:
            try:
                name, body = self._wire.read(report)
                if not self._wire.unpack(body)[1].all():
                    raise ReportError("range", "a number outside the alphabet")
                if name is not None and name in self._ids:
                    raise ReportError("duplicate", "this id has reported already")
            except ReportError as error:
                self.rejected[error.reason] = self.rejected.get(error.reason, 0) + 1
                continue
            if name is not None:
                self._ids.add(name)
            self._waiting.append(body)
        return len(self._waiting)

    def release(self) -> list[str | bytes]:
        """All waiting reports in uniformly random order, freshly written; refused below the batch size."""
        n = len(self._waiting)
        if n < self.batch_size:
            raise PrivacyError(
                f"{n} reports wait and batch_size={self.batch_size} are needed: fewer hide less; wait for more"
            )
        order = permutation(self._source, n)
        spell = self._wire.text if self.form == "json" else self._wire.binary
        out = [spell(self._waiting[i], None) for i in order]
        self._waiting = []
        return out

    def central_epsilon(self, delta: float, *, liars: int = 0) -> float:
        """The central epsilon of one batch when all but `liars` of its clients follow the protocol."""
        honest = self.batch_size - liars
        if honest < 1:
            raise ValueError(f"liars={liars} leaves no honest report in a batch of {self.batch_size}")
        from discreet.accounting.shuffling import shuffled_epsilon

        return shuffled_epsilon(self.randomizer.variation, honest, delta)

    def statement(self, delta: float) -> str:
        """What each person is promised, in words."""
        central = self.central_epsilon(delta)
        seeded = "" if self._source.private else "  NOT PRIVATE: shuffled by a seed."
        return (
            f"{self.randomizer.statement()}  Shuffled in batches of at least {self.batch_size}: "
            f"({central:.4g}, {delta:g})-differentially private towards whoever sees only the batches "
            f"(neighbours: replace_one).{seeded}"
        )


def permutation(source: Source, n: int) -> Any:
    """A uniformly random order of 0..n-1: keys are drawn until no two agree, so every order is exactly as likely.

    >>> from discreet.randomness import SeededSource
    >>> sorted(permutation(SeededSource(1), 5).tolist())
    [0, 1, 2, 3, 4]
    """
    while True:
        keys = source.words(n)
        order = np.argsort(keys, kind="stable")
        if n < 2 or (np.diff(keys[order]) != 0).all():
            return order
