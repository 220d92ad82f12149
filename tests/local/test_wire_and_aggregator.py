"""Reports on the wire and their sums: forms, refusals, order, files, and a stream of rubbish."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import local
from discreet.local.wire import ReportError, Wire, encode_all
from discreet.randomness import SeededSource

SEEDED = SeededSource(11)
RANDOMIZERS = [
    local.BinaryResponse(1.0),
    local.KaryResponse(1.0, 300),
    local.SymmetricUnary(1.0, 11),
    local.OptimizedUnary(1.0, 16),
    local.TruncatedLaplace(1.0, (-2, 3)),
    local.Duchi(1.0),
    local.Piecewise(1.0),
    local.Hybrid(1.0),
    local.DuchiVector(1.0, 9),
    local.Hemisphere(1.0, 5),
    local.PrivUnit(1.0, 5),
    local.PrivUnitG(1.0, 5),
]
IDS = [r.name for r in RANDOMIZERS]


def some_messages(r, n: int, seed: int = 5):
    data = np.random.default_rng(seed)
    if isinstance(r, local.KaryResponse | local.SymmetricUnary):
        values = data.integers(0, r.k, n)
    elif r.width == 1:
        values = data.uniform(-1, 1, n)
    else:
        values = data.uniform(-0.3, 0.3, (n, r.width))
    return r.randomize(values, SeededSource(seed))


@pytest.mark.parametrize("form", ["json", "bytes"])
@pytest.mark.parametrize("with_ids", [False, True])
@pytest.mark.parametrize("r", RANDOMIZERS, ids=IDS)
def test_round_trip(r, form: str, with_ids: bool) -> None:
    messages = some_messages(r, 40)
    reports = encode_all(r, messages, ids=[f"p{i}" for i in range(40)] if with_ids else None, form=form)
    counted = local.Aggregator(r, strict=True).add(reports)
    direct = local.Aggregator(r).add_messages(messages)
    assert counted.n == 40
    assert counted.totals == direct.totals
    if form == "bytes":
        packed = local.Aggregator(r, strict=True).add_packed(b"".join(reports), ids=with_ids)
        assert packed.totals == direct.totals
    else:
        again = local.Aggregator(r).add([json.dumps(json.loads(text), indent=1) for text in reports])
        assert again.totals == direct.totals  # another spelling of the same JSON


@pytest.mark.parametrize("r", RANDOMIZERS, ids=IDS)
def test_client_half_alone(r) -> None:
    value = 1 if isinstance(r, local.KaryResponse | local.SymmetricUnary) else 0.5 if r.width == 1 else [0.1] * r.width
    text, raw = r.report(value), r.report(value, form="bytes", report_id="me")
    assert isinstance(text, str)
    assert isinstance(raw, bytes)
    counted = local.Aggregator(r, strict=True).add([text, raw])
    assert counted.n == 2
    assert counted.estimate().privacy.startswith(r.name)


BAD_JSON = [
    ("malformed", ""),
    ("malformed", "{"),
    ("malformed", "[1,2]"),
    ("malformed", "null"),
    ("malformed", '{"v":1}'),
    ("malformed", "x" * 100_000),
    ("malformed", "[" * 300),
    ("malformed", 17),
    ("malformed", None),
    ("version", '{"v":2,"m":"krr","p":"%s","r":1}'),
    ("version", '{"v":true,"m":"krr","p":"%s","r":1}'),
    ("mechanism", '{"v":1,"m":"rr","p":"%s","r":1}'),
    ("parameters", '{"v":1,"m":"krr","p":"0000000000000000","r":1}'),
    ("range", '{"v":1,"m":"krr","p":"%s","r":300}'),
    ("range", '{"v":1,"m":"krr","p":"%s","r":-1}'),
    ("range", '{"v":1,"m":"krr","p":"%s","r":99999999999999999999999}'),
    ("malformed", '{"v":1,"m":"krr","p":"%s","r":1.0}'),
    ("malformed", '{"v":1,"m":"krr","p":"%s","r":true}'),
    ("malformed", '{"v":1,"m":"krr","p":"%s","r":"1"}'),
    ("malformed", '{"v":1,"m":"krr","p":"%s","r":NaN}'),
    ("malformed", '{"v":1,"m":"krr","p":"%s","id":7,"r":1}'),
    ("malformed", '{"v":1,"m":"krr","p":"%s","id":"zz","r":1}'),
    ("malformed", '{"v":1,"m":"krr","p":"%s","r":1,"extra":0}'),
]


@pytest.mark.parametrize(("reason", "text"), BAD_JSON)
def test_bad_json_is_refused_by_reason(reason: str, text) -> None:
    r = RANDOMIZERS[1]
    bad = text.replace("%s", r.fingerprint.hex()) if isinstance(text, str) else text
    with pytest.raises(ReportError) as caught:
        local.Aggregator(r, strict=True).add([bad])
    assert caught.value.reason == reason
    lenient = local.Aggregator(r).add([r.report(3), bad, r.report(4)])
    assert lenient.n == 2
    assert lenient.rejected == {reason: 1}


@pytest.mark.parametrize("r", RANDOMIZERS, ids=IDS)
def test_every_flipped_header_byte_is_refused(r) -> None:
    good = encode_all(r, some_messages(r, 1), form="bytes")[0]
    for at in range(13):
        bad = bytearray(good)
        bad[at] ^= 0x55
        counted = local.Aggregator(r).add([bytes(bad)])
        assert counted.n == 0
        assert sum(counted.rejected.values()) == 1
    for cut in (0, 1, 5, 13, len(good) - 1):
        assert local.Aggregator(r).add([good[:cut]]).n == 0
    assert local.Aggregator(r).add([good + b"\0"]).n == 0


def test_wrong_length_of_a_vector_is_refused() -> None:
    """A ball report must have the length of a ball report: the box of its coordinates is not enough."""
    r = RANDOMIZERS[9]
    counted = local.Aggregator(r).add_messages(np.full((1, 5), r.alphabet[1]))
    assert counted.n == 0
    assert counted.rejected == {"range": 1}


def test_padding_bits_must_be_zero() -> None:
    r = RANDOMIZERS[2]
    good = encode_all(r, some_messages(r, 1), form="bytes")[0]
    assert local.Aggregator(r).add([good[:-1] + bytes([good[-1] | 0x80])]).rejected == {"range": 1}


def test_other_parameters_do_not_mix() -> None:
    theirs = local.BinaryResponse(1.1).report(1)
    assert local.Aggregator(RANDOMIZERS[0]).add([theirs]).rejected == {"parameters": 1}
    with pytest.raises(ReportError, match="different"):
        local.Aggregator(RANDOMIZERS[0]).merge(local.Aggregator(local.BinaryResponse(1.1)))


@pytest.mark.parametrize("r", RANDOMIZERS, ids=IDS)
def test_merging_in_any_order_gives_the_same_bits(r) -> None:
    messages = some_messages(r, 60)
    ids = [f"p{i % 50}" for i in range(60)]  # ten ids twice, some in different parts
    reports = encode_all(r, messages, ids=ids)
    states = set()
    for order in itertools.permutations(range(3)):
        parts = [local.Aggregator(r).add(reports[20 * i : 20 * i + 20]) for i in order]
        states.add(parts[0].merge(parts[1]).merge(parts[2]).state())
        states.add(parts[0].merge(parts[1].merge(parts[2])).state())
    states.add(local.Aggregator(r).add(reports).state())
    states.add(local.Aggregator(r).add(reports[::-1]).state())
    assert len(states) == 1
    state = states.pop()
    copy = local.Aggregator.from_state(r, state)
    assert copy.state() == state
    assert copy.n == 50
    assert copy.rejected == {"duplicate": 10}


def test_repeated_ids_are_swapped_exactly() -> None:
    """Whatever report of an id wins, the totals are those of the winners alone."""
    r = RANDOMIZERS[1]
    reports = encode_all(r, np.array([[1], [2], [3], [4]]), ids=["a"] * 4)
    counted = local.Aggregator(r).add(reports)
    assert counted.n == 1
    assert sum(counted.totals) == 1
    assert local.Aggregator(r).add(reports[::-1]).totals == counted.totals


def test_planted_running_mean_depends_on_the_order() -> None:
    """What exact sums avoid: a float running mean of the same reports differs between two orders."""
    values = some_messages(RANDOMIZERS[4], 1000)[:, 0] * 0.1
    assert np.cumsum(values)[-1] != np.cumsum(values[::-1])[-1]


@pytest.mark.parametrize("suffix", [".jsonl", ".bin", ".parquet"])
def test_files(tmp_path: Path, suffix: str) -> None:
    r = RANDOMIZERS[7]
    messages = some_messages(r, 500)
    path = tmp_path / f"reports{suffix}"
    if suffix == ".bin":
        path.write_bytes(b"".join(encode_all(r, messages, form="bytes")))
    elif suffix == ".jsonl":
        path.write_text("\n".join(["", *encode_all(r, messages), "rubbish"]) + "\n")
    else:
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table({"report": [*encode_all(r, messages), None]}), path)
    counted = local.Aggregator(r).add_file(path)
    assert counted.totals == local.Aggregator(r).add_messages(messages).totals
    assert counted.rejected == ({} if suffix == ".bin" else {"malformed": 1})


def test_parquet_without_the_column(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"other": ["x"]}), tmp_path / "x.parquet")
    with pytest.raises(KeyError, match="other"):
        local.Aggregator(RANDOMIZERS[0]).add_file(tmp_path / "x.parquet")


def test_a_line_without_end_is_refused_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    path.write_bytes(b"x" * 5_000_000 + b"\n" + RANDOMIZERS[0].report(1).encode() + b"\n")
    counted = local.Aggregator(RANDOMIZERS[0]).add_file(path)
    assert counted.n == 1
    assert counted.rejected == {"malformed": 1}


def rubbish(r, n: int, seed: int) -> list:
    """Reports broken in every way: bits flipped, cut, glued, wrong numbers, wrong types, random bytes."""
    data = np.random.default_rng(seed)
    good_text = encode_all(r, some_messages(r, 64))
    good_raw = encode_all(r, some_messages(r, 64), form="bytes")
    size = len(good_raw[0])
    out: list = []
    for i in range(n):
        text, raw, kind = good_text[i % 64], good_raw[i % 64], i % 10
        at = int(data.integers(1, len(text) - 1))
        if kind == 0:
            out.append(text[:at])
        elif kind == 1:
            out.append(text[:at] + "\x00é" + text[at:])
        elif kind == 2:
            out.append(text + "," + text)
        elif kind == 3:
            out.append(f"[{text}]")
        elif kind == 4:
            out.append(text.replace('"v":1', '"v":3'))
        elif kind == 5:
            out.append(raw[: int(data.integers(0, size))])
        elif kind == 6:
            out.append(data.bytes(size + 1))
        elif kind == 7:
            out.append(raw[:5] + data.bytes(8) + raw[13:])
        elif kind == 8:
            out.append(Wire(r).start + ',"r":' + str(int(data.integers(r.alphabet[1] + 1, 2**62))) + "}")
        else:
            out.append([None, 3.5, [], {}, True][i // 10 % 5])
    return out


@pytest.mark.parametrize("r", [RANDOMIZERS[1], RANDOMIZERS[7]], ids=["krr", "hybrid"])
def test_a_stream_of_rubbish_neither_crashes_nor_biases(r) -> None:
    """10^5 malformed reports mixed into 10^3 good ones: the state is that of the good ones, bit for bit."""
    messages = some_messages(r, 1000)
    good, bad = encode_all(r, messages), rubbish(r, 100_000, 3)
    order = np.random.default_rng(8).permutation(len(good) + len(bad))
    everything = [*good, *bad]
    counted = local.Aggregator(r).add(everything[i] for i in order)
    assert counted.n == 1000
    assert counted.totals == local.Aggregator(r).add_messages(messages).totals
    assert sum(counted.rejected.values()) == 100_000


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=80), st.binary(max_size=40), st.integers(), st.none()))
def test_anything_at_all_is_survived(report) -> None:
    counted = local.Aggregator(RANDOMIZERS[1]).add([report])
    assert counted.n == 0
    assert counted.rejected == {"malformed": 1} or sum(counted.rejected.values()) == 1


def test_nothing_counted_is_an_error() -> None:
    with pytest.raises(ValueError, match="no report was counted"):
        local.Aggregator(RANDOMIZERS[0]).add(["x"]).estimate()


def test_large_sums_stay_exact() -> None:
    """Squares beyond 64 bits in total: the sums are Python integers."""
    r = local.TruncatedLaplace(0.001, grid=1 << 20)
    row = np.full((3, 1), r.alphabet[1])
    counted = local.Aggregator(r).add_messages(row)
    assert counted.totals[1] == 3 * r.alphabet[1] ** 2


def test_standard_errors_cover() -> None:
    """95 % intervals over 200 repetitions: between 180 and 199 hits (false alarm 1e-4)."""
    r, hits, n = local.Hybrid(1.0), 0, 2000
    values = np.random.default_rng(1).uniform(-1, 1, (200, n)) * 0.5
    for i, row in enumerate(values):
        low, high = local.Aggregator(r).add_messages(r.randomize(row, SeededSource(i))).estimate().interval()
        hits += low <= 0.0 <= high
    assert 178 <= hits <= 199


@pytest.mark.parametrize("form", ["text", ""])
def test_unknown_form(form: str) -> None:
    with pytest.raises(ValueError, match="not one of"):
        RANDOMIZERS[0].report(1, form=form)
