"""The aggregator's half: reports in any order become exact sums, and the sums an unbiased estimate."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.local.base import Estimate, Ints, Randomizer, Totals
from discreet.local.wire import ID_BYTES, REASONS, ReportError, Wire

__all__ = ["Aggregator"]

BLOCK = 1 << 14  # reports handled at a time
READ = 1 << 20  # bytes of a file read at a time


class Aggregator:
    """Adds reports of one randomiser, from anywhere and in any order.

    Everything kept is whole numbers, so that partial sums merged in any order give the same bits.  A report that is
    malformed, of another version, mechanism or parameters, or out of range, is counted under its reason and left out
    (``strict=True`` raises instead).  Reports that carry an id are counted once per id; of several, the one whose hash
    is smallest is kept, whatever the order of arrival.

    Parameters
    ----------
    randomizer : Randomizer
        What the clients were told to run.
    strict : bool
        Raise :class:`~discreet.local.wire.ReportError` at the first bad report.

    Notes
    -----
    *Privacy.* Guarantee: that of the reports (epsilon-local); nothing here adds to or takes from it.  Neighbours:
    replace-one.  Public: everything that arrives.  Bounded by: the randomiser.  Proof: ``proofs/local.md``.

    Examples
    --------
    >>> from discreet.local import BinaryResponse
    >>> rr = BinaryResponse(1.0)
    >>> parts = [Aggregator(rr).add([rr.report(1), rr.report(0)]), Aggregator(rr).add([rr.report(1), "junk"])]
    >>> both = parts[0].merge(parts[1])
    >>> both.n, both.rejected
    (3, {'malformed': 1})
    """

    def __init__(self, randomizer: Randomizer, *, strict: bool = False) -> None:
        self.randomizer = randomizer
        self.strict = strict
        self.wire = Wire(randomizer)
        self.n = 0
        self.totals: Totals = randomizer.tally(np.zeros((0, randomizer.width), dtype=np.int64))
        self._rejected = dict.fromkeys(REASONS, 0)
        self._seen: dict[bytes, bytes] = {}

    @property
    def rejected(self) -> dict[str, int]:
        """How many reports were left out, by reason."""
        return {reason: count for reason, count in self._rejected.items() if count}

    # ---- adding ----

    def add(self, reports: Iterable[Any]) -> Aggregator:
        """Add reports, text or bytes, from any iterable.  Returns itself."""
        if isinstance(reports, (str, bytes)):
            reports = [reports]
        if isinstance(reports, Path):
            raise TypeError("add takes reports; give a file to add_file")
        stream = iter(reports)
        while block := list(islice(stream, BLOCK)):
            self._block(block)
        return self

    def add_messages(self, messages: ArrayLike) -> Aggregator:
        """Add messages that are already whole numbers, one row each (simulations, trusted transports)."""
        rows = np.asarray(messages)
        if rows.ndim != 2 or rows.shape[1] != self.wire.width or rows.dtype.kind not in "iu":
            raise ValueError(
                f"messages of shape {rows.shape} and type {rows.dtype}: give whole numbers, one row of "
                f"{self.wire.width} each"
            )
        if rows.dtype == np.uint64:  # beyond 63 bits it would come back as a small negative number
            rows = np.minimum(rows, np.uint64(2**63 - 1))
        rows = rows.astype(np.int64)
        good = self._in_range(rows)
        self._refuse("range", int((~good).sum()))
        self._count(rows[good])
        return self

    def _in_range(self, rows: Ints) -> NDArray[np.bool_]:
        low, high, step = self.randomizer.alphabet
        good = ((rows >= low) & (rows <= high) & ((rows - low) % step == 0)).all(axis=1)
        return np.asarray(good & self.randomizer.plausible(np.where(good[:, None], rows, low)), dtype=np.bool_)

    def add_packed(self, blob: bytes, *, ids: bool = False) -> Aggregator:
        """Add byte-form reports written one after the other, all with an id or all without.

        Where a report was cut short or something else got in between, reading goes on at the next report's header.
        """
        for part in self.wire.frames(blob, BLOCK, ids=ids):
            if part is None:
                self._refuse("malformed", 1)
            else:
                self._packed(part, ids)
        return self

    def _packed(self, blob: bytes, ids: bool) -> None:
        """Reports of one length: those whose header is as it should be in one piece, others one by one."""
        head = np.frombuffer(self.wire.header(ids), dtype=np.uint8)
        size = self.wire.length(ids)
        records = np.frombuffer(blob, dtype=np.uint8).reshape(-1, size)
        good = (records[:, : len(head)] == head).all(axis=1)
        self._one_by_one([blob[size * i : size * (i + 1)] for i in np.flatnonzero(~good)])
        start = len(head) + (ID_BYTES if ids else 0)
        names: list[bytes | None] | None = [row.tobytes() for row in records[good, len(head) : start]] if ids else None
        self._bodies(records[good, start:].tobytes(), names)

    def add_file(self, path: str | Path, *, column: str = "report") -> Aggregator:
        """Add a file: ``.parquet`` (a column), ``.bin`` (byte reports, no ids), anything else (a report per line)."""
        path = Path(path)
        if path.suffix == ".parquet":
            return self.add_parquet(path, column)
        if path.suffix == ".bin":
            return self.add_packed(path.read_bytes())
        return self.add(_lines(path, self.wire.longest))

    def add_parquet(self, path: str | Path, column: str = "report") -> Aggregator:
        """Add a column of a Parquet file, in batches."""
        import pyarrow.parquet as pq

        file = pq.ParquetFile(path)
        if column not in file.schema_arrow.names:
            raise KeyError(f"column {column!r} is not in the file, which has {file.schema_arrow.names}")
        for batch in file.iter_batches(batch_size=BLOCK, columns=[column]):
            self.add(batch.column(0).to_pylist())
        return self

    def _block(self, reports: list[Any]) -> None:
        """Whatever is spelt as honest clients spell it is read fast, the rest one by one: rubbish slows only itself."""
        rest = self._fast(reports) if self.wire.scalar else reports
        size = self.wire.length(ids=False)
        packed = [r for r in rest if type(r) is bytes and len(r) == size and r[:1] != b"{"]
        if packed:
            self._packed(b"".join(packed), ids=False)
            rest = [r for r in rest if not (type(r) is bytes and len(r) == size and r[:1] != b"{")]
        self._one_by_one(rest)

    def _one_by_one(self, reports: list[Any]) -> None:
        ids: list[bytes | None] = []
        bodies: list[bytes] = []
        for report in reports:
            try:
                name, body = self.wire.read(report)
            except ReportError as error:
                self._refuse(error.reason, 1, error)
            else:
                ids.append(name)
                bodies.append(body)
        self._bodies(b"".join(bodies), ids if any(i is not None for i in ids) else None)

    def _fast(self, reports: list[Any]) -> list[Any]:
        """Read canonical JSON of one number each without unpacking anything; give back whatever is not that."""
        match = self.wire.canonical.fullmatch
        found = [match(r) if isinstance(r, str) else None for r in reports]
        groups = [m.groups() for m in found if m]
        numbers = np.array([int(body) for _, body in groups], dtype=np.int64).reshape(-1, 1)
        rest = [r for r, m in zip(reports, found, strict=True) if not m] if len(groups) < len(reports) else []
        names = [name for name, _ in groups]
        if names.count(None) == len(names):
            self.add_messages(numbers)
            return rest
        good = self._in_range(numbers)
        self._refuse("range", int((~good).sum()))
        kept = [names[i] for i in np.flatnonzero(good)]
        self._bodies(self.wire.pack(numbers[good]), [self.wire.name(name) for name in kept])
        return rest

    def _bodies(self, blob: bytes, ids: list[bytes | None] | None) -> None:
        messages, good = self.wire.unpack(blob)
        self._refuse("range", int((~good).sum()))
        if ids is not None:
            size = self.wire.size
            for row in np.flatnonzero(good):
                name = ids[row]
                if name is not None and not self._first(name, blob[size * row : size * (row + 1)]):
                    good[row] = False
        self._count(messages[good])

    def _first(self, name: bytes, body: bytes) -> bool:
        """Whether a report of this id is new; a repeated one is resolved here and now."""
        if name not in self._seen:
            self._seen[name] = body
            return True
        self._refuse("duplicate", 1)
        kept = _keep(name, self._seen[name], body)
        if kept != self._seen[name]:
            self._swap(self._seen[name], -1)
            self._swap(kept, 1)
            self._seen[name] = kept
        return False

    def _swap(self, body: bytes, sign: int) -> None:
        change = self.randomizer.tally(self.wire.unpack(body)[0])
        self.totals = [t + sign * c for t, c in zip(self.totals, change, strict=True)]

    def _count(self, messages: Any) -> None:
        if len(messages):
            self.totals = [t + c for t, c in zip(self.totals, self.randomizer.tally(messages), strict=True)]
            self.n += len(messages)

    def _refuse(self, reason: str, count: int, error: ReportError | None = None) -> None:
        if count and self.strict:
            raise error or ReportError(reason, f"{count} reports; strict=False leaves them out and goes on")
        self._rejected[reason] += count

    # ---- partial sums ----

    def merge(self, other: Aggregator) -> Aggregator:
        """A new aggregator with the reports of both; any order of merging gives the same bits."""
        if other.wire.print != self.wire.print:
            raise ReportError("parameters", "the two aggregators were made for different randomisers")
        both = Aggregator(self.randomizer, strict=False)
        both.n = self.n + other.n
        both.totals = [a + b for a, b in zip(self.totals, other.totals, strict=True)]
        both._rejected = {r: self._rejected[r] + other._rejected[r] for r in REASONS}
        both._seen = dict(self._seen)
        for name, body in other._seen.items():
            if name not in both._seen:
                both._seen[name] = body
                continue
            kept = _keep(name, both._seen[name], body)
            both._swap(body if kept == both._seen[name] else both._seen[name], -1)
            both._seen[name] = kept
            both.n -= 1
            both._rejected["duplicate"] += 1
        both.strict = self.strict
        return both

    def state(self) -> str:
        """Everything counted so far as canonical JSON, to be sent to whoever merges."""
        seen = {k.hex(): base64.b64encode(v).decode() for k, v in sorted(self._seen.items())}
        data = {
            "format": 1, "m": self.randomizer.name, "p": self.wire.print.hex(), "n": self.n,
            "totals": [str(t) for t in self.totals], "rejected": self._rejected, "seen": seen,
        }  # fmt: skip
        return json.dumps(data, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_state(cls, randomizer: Randomizer, state: str) -> Aggregator:
        """The aggregator that wrote :meth:`state`."""
        out = cls(randomizer)
        try:
            data = json.loads(state)
            named = (data["format"], data["p"])
            n, totals = int(data["n"]), [int(t) for t in data["totals"]]
            out._rejected = {r: int(data["rejected"].get(r, 0)) for r in REASONS}
            out._seen = {bytes.fromhex(k): base64.b64decode(v, validate=True) for k, v in data["seen"].items()}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise ReportError("malformed", "this is not what state() writes") from None
        if named != (1, out.wire.print.hex()):
            raise ReportError("parameters", "this state was written for another format or another randomiser")
        bodies = b"".join(out._seen.values())
        whole = {len(k) for k in out._seen} <= {ID_BYTES} and {len(v) for v in out._seen.values()} <= {out.wire.size}
        if not (whole and out.wire.unpack(bodies)[1].all() and n >= len(out._seen)):
            raise ReportError("malformed", "the ids of this state do not fit its reports")
        if len(totals) != len(out.totals) or min(out._rejected.values()) < 0 or not out._possible(totals, n):
            raise ReportError("malformed", "no number of valid reports has the totals of this state")
        out.n, out.totals = n, totals
        return out

    def _possible(self, totals: Totals, n: int) -> bool:
        """Whether every total lies between n times the least and n times the most that one message can add."""
        low, high = self.randomizer.tally_range
        return all(n * low <= t <= n * high for t in totals)

    # ---- answers ----

    def estimate(self) -> Estimate:
        """The unbiased estimate, its standard error, and what each person was promised."""
        if self.n == 0:
            raise ValueError(f"no report was counted (rejected: {self.rejected}); nothing can be estimated")
        value, error = self.randomizer.estimate(self.totals, self.n)
        return Estimate(value, error, self.n, self.rejected, self.randomizer.statement())


def _keep(name: bytes, one: bytes, two: bytes) -> bytes:
    """Of two reports with the same id, the one that is kept: by hash, so that neither order nor value decides."""
    return min(one, two, key=lambda body: (hashlib.blake2b(body, key=name, digest_size=16).digest(), body))


def _lines(path: Path, longest: int) -> Iterator[str]:
    """The lines of a file, blank ones skipped; a line too long to be a report is cut, and so refused later."""
    rest = b""
    with path.open("rb") as file:
        while chunk := file.read(READ):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if line := line.strip()[: longest + 1]:
                    yield line.decode("utf-8", errors="replace")
            rest = rest[: longest + READ]
    if rest := rest.strip()[: longest + 1]:
        yield rest.decode("utf-8", errors="replace")
