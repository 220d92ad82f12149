"""The reports' wire form: one line of JSON, or a short run of bytes, both with version, mechanism and parameters.

JSON: ``{"v":1,"m":"krr","p":"<16 hex digits>","id":"<hex, optional>","r":3}``; ``r`` is the message, or for messages of
several numbers their codes, packed and in URL-safe base64.  Bytes: ``dR``, version, mechanism, flags, the 8 bytes of
the parameters' fingerprint, 16 bytes of id if flagged, and the packed codes.  A code is ``(number - low) / step``.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.base import Ints, Randomizer

__all__ = ["VERSION", "ReportError", "Wire", "encode", "encode_all"]

VERSION = 1
MAGIC = b"dR"
HEADER = len(MAGIC) + 3 + 8
ID_BYTES = 16
REASONS = ("malformed", "version", "mechanism", "parameters", "range", "duplicate")


class ReportError(ValueError):
    """A report that can't be counted; `reason` is one of malformed, version, mechanism, parameters, range, duplicate.

    Examples
    --------
    >>> ReportError("range", "too large").reason
    'range'
    """

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(f"{reason}: {text}")
        self.reason = reason


class Wire:
    r"""How the messages of one randomiser are spelt.

    Parameters
    ----------
    randomizer : Randomizer
        Gives the alphabet, the width and the fingerprint.

    Examples
    --------
    >>> from discreet.local import KaryResponse
    >>> wire = Wire(KaryResponse(1.0, 300))
    >>> wire.pack(np.array([[7], [299]])), wire.size
    (b'\x07\x00+\x01', 2)
    """

    def __init__(self, randomizer: Randomizer) -> None:
        self.randomizer = randomizer
        self.low, self.high, self.step = randomizer.alphabet
        self.width = randomizer.width
        codes = (self.high - self.low) // self.step + 1
        self.codes = codes
        self.bits = codes == 2
        self.dtype = np.dtype(next(t for t in ("<u1", "<u2", "<u4", "<u8") if codes <= 1 << 8 * np.dtype(t).itemsize))
        self.size = -(-self.width // 8) if self.bits else self.width * self.dtype.itemsize
        self.scalar = self.width == 1
        self.print = randomizer.fingerprint
        start = f'{{"v":{VERSION},"m":"{randomizer.name}","p":"{self.print.hex()}"'
        body = r"(0|-?[1-9][0-9]{0,17})" if self.scalar else r'"([A-Za-z0-9_-]*)"'
        self.start = start
        # the canonical spelling, which every honest client writes; anything else takes the slow and careful road
        self.canonical = re.compile(re.escape(start) + r'(?:,"id":"((?:[0-9a-f]{2}){1,32})")?,"r":' + body + r"\}")
        self.longest = 2 * len(start) + 128 + 2 * self.size
        self.head = MAGIC + bytes([VERSION, randomizer.code])

    def header(self, ids: bool) -> bytes:
        """What the bytes of every report begin with."""
        return self.head + bytes([ids]) + self.print

    def length(self, ids: bool) -> int:
        """How many bytes a report has."""
        return HEADER + (ID_BYTES if ids else 0) + self.size

    def frames(self, blob: bytes, most: int, *, ids: bool) -> Iterator[bytes | None]:
        """Runs of at most `most` reports of a stream of bytes, and None for whatever is not one."""
        head, size, at = self.header(ids), self.length(ids), 0
        while at + size <= len(blob):
            count = min(most, (len(blob) - at) // size)
            marks = np.frombuffer(blob, dtype=np.uint8, count=count * size, offset=at).reshape(-1, size)[:, :2]
            begins = (marks == np.frombuffer(MAGIC, dtype=np.uint8)).all(axis=1)
            count = count if begins.all() else int(np.argmin(begins))
            end = at + count * size
            if end == len(blob) or blob[end : end + 2] == MAGIC:
                yield blob[at:end]
                at = end
                continue
            # the next report does not begin where this run ends: was the run's last one cut short?
            last = max(end - size, at)
            found = blob.find(head, last + 1)
            cut = count and (found < 0 or found < end)
            yield blob[at : end - size if cut else end]
            yield None
            at = found if found >= 0 else len(blob)
        if at < len(blob):
            yield None

    def pack(self, messages: Ints) -> bytes:
        """The packed codes of messages, one after the other."""
        codes = (np.asarray(messages) - self.low) // self.step
        if self.bits:
            return np.packbits(codes.astype(np.uint8), axis=1, bitorder="little").tobytes()
        return codes.astype(self.dtype).tobytes()

    def unpack(self, blob: bytes) -> tuple[Ints, NDArray[np.bool_]]:
        """Messages from packed codes, and which of them lie in the alphabet."""
        n = len(blob) // self.size
        if self.bits:
            raw = np.frombuffer(blob, dtype=np.uint8).reshape(n, self.size)
            codes = np.unpackbits(raw, axis=1, bitorder="little")
            good = np.asarray(~codes[:, self.width :].any(axis=1), dtype=np.bool_)
            whole = codes[:, : self.width].astype(np.int64)
        else:
            unsigned = np.frombuffer(blob, dtype=self.dtype).reshape(n, self.width)
            good = np.asarray((unsigned < self.codes).all(axis=1), dtype=np.bool_)
            whole = np.where(good[:, None], unsigned, 0).astype(np.int64)
        messages = whole * self.step + self.low
        return messages, good & self.randomizer.plausible(messages)

    def text(self, packed: bytes, name: bytes | None) -> str:
        """The canonical JSON of one packed message."""
        middle = f',"id":"{name.hex()}"' if name is not None else ""
        if self.scalar:
            code = int(np.frombuffer(packed, dtype=self.dtype)[0]) if not self.bits else packed[0]
            return f'{self.start}{middle},"r":{code * self.step + self.low}}}'
        return f'{self.start}{middle},"r":"{base64.urlsafe_b64encode(packed).rstrip(b"=").decode()}"}}'

    def binary(self, packed: bytes, name: bytes | None) -> bytes:
        """The byte form of one packed message."""
        if name is None:
            return self.head + b"\0" + self.print + packed
        return self.head + b"\1" + self.print + fixed_id(name) + packed

    # ---- reading ----

    def read(self, report: Any) -> tuple[bytes | None, bytes]:
        """``(id, packed codes)`` of one report of either form, or a ReportError.  Range is checked later, in blocks."""
        if isinstance(report, (bytes, bytearray, memoryview)):
            blob = bytes(report)
            if blob[:1] != b"{":
                return self.read_bytes(blob)
            report = blob.decode("utf-8", errors="replace")
        if not isinstance(report, str):
            raise ReportError("malformed", f"a report is text or bytes, not {type(report).__name__}")
        if len(report) > self.longest:
            raise ReportError("malformed", f"longer than {self.longest} characters")
        found = self.canonical.fullmatch(report)
        name, body = found.groups() if found else self._careful(report)
        if found and self.scalar:
            body = int(body)
        return self.name(name), self._body(body)

    def name(self, text: str | None) -> bytes | None:
        """The 16 bytes of an id that was read as hexadecimal digits."""
        return None if text is None else fixed_id(bytes.fromhex(text))

    def read_bytes(self, blob: bytes) -> tuple[bytes | None, bytes]:
        """The same for the byte form."""
        if blob[:2] != MAGIC or len(blob) < HEADER:
            raise ReportError("malformed", "the bytes do not begin like a report")
        if blob[2] != VERSION:
            raise ReportError("version", f"format version {blob[2]}; this aggregator reads version {VERSION}")
        if blob[3] != self.head[3]:
            raise ReportError("mechanism", f"made by mechanism number {blob[3]}, not {self.head[3]}")
        if blob[5:HEADER] != self.print:
            raise ReportError("parameters", "made with other parameters (epsilon, bounds, ...) than the aggregator's")
        start = HEADER + ID_BYTES * (blob[4] & 1)
        if blob[4] > 1 or len(blob) != start + self.size:
            raise ReportError("malformed", f"{len(blob)} bytes where {start + self.size} belong")
        return (blob[HEADER:start] if blob[4] else None), blob[start:]

    def _careful(self, text: str) -> tuple[str | None, Any]:
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            raise ReportError("malformed", "not JSON") from None
        if not isinstance(data, dict) or not {"v", "m", "p", "r"} <= set(data) <= {"v", "m", "p", "r", "id"}:
            raise ReportError("malformed", "not an object with v, m, p, r and perhaps id")
        if type(data["v"]) is not int or data["v"] != VERSION:
            raise ReportError("version", f"not of format version {VERSION}")
        if data["m"] != self.randomizer.name:
            raise ReportError("mechanism", f"not made by {self.randomizer.name!r}")
        if data["p"] != self.print.hex():
            raise ReportError("parameters", "made with other parameters (epsilon, bounds, ...) than the aggregator's")
        name = data.get("id")
        if name is not None and (not isinstance(name, str) or not re.fullmatch(r"(?:[0-9a-f]{2}){1,32}", name)):
            raise ReportError("malformed", "an id is 1 to 32 bytes in hexadecimal digits, two for each")
        return name, data["r"]

    def _body(self, body: Any) -> bytes:
        if self.scalar:
            return self._code(body)
        if not isinstance(body, str):
            raise ReportError("malformed", "r must be packed numbers in base64")
        try:
            packed = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raise ReportError("malformed", "r is not base64") from None
        if len(packed) != self.size:
            raise ReportError("malformed", f"r holds {len(packed)} bytes where {self.size} belong")
        return packed

    def _code(self, number: Any) -> bytes:
        if isinstance(number, bool) or not isinstance(number, int):
            raise ReportError("malformed", "r must be a whole number")
        code, rest = divmod(number - self.low, self.step)
        if rest or not 0 <= code < self.codes:
            raise ReportError("range", f"a number outside {self.low}..{self.high} (step {self.step})")
        return code.to_bytes(self.size, "little")


def fixed_id(name: bytes) -> bytes:
    """An id as 16 bytes: those of another length are hashed, so that no two of them become one."""
    return name if len(name) == ID_BYTES else hashlib.blake2b(name, digest_size=ID_BYTES).digest()


def _as_id(name: str | bytes | None) -> bytes | None:
    if name is None:
        return None
    raw = name.encode() if isinstance(name, str) else bytes(name)
    if not raw:
        raise ValueError("report_id='' names nobody; leave it out, or give at least one character")
    return fixed_id(raw)


def encode(
    randomizer: Randomizer, message: Ints, *, report_id: str | bytes | None = None, form: str = "json"
) -> str | bytes:
    """One report, ready to be sent.

    >>> from discreet.local import BinaryResponse
    >>> encode(BinaryResponse(1.0), np.array([1]))
    '{"v":1,"m":"rr","p":"39cc17e3c4340811","r":1}'
    """
    return encode_all(randomizer, np.asarray(message)[None, :], ids=[report_id], form=form)[0]


def encode_all(
    randomizer: Randomizer, messages: Ints, *, ids: list[Any] | None = None, form: str = "json"
) -> list[str | bytes]:
    """Reports for a block of messages (for simulations, and for a shuffler)."""
    if form not in ("json", "bytes"):
        raise ValueError(f"form={form!r} is not one of 'json', 'bytes'")
    wire = Wire(randomizer)
    blob, size = wire.pack(messages), wire.size
    names = [_as_id(i) for i in ids] if ids is not None else [None] * len(messages)
    spell = wire.text if form == "json" else wire.binary
    return [spell(blob[size * i : size * (i + 1)], name) for i, name in enumerate(names)]
