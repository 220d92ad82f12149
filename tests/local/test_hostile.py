"""What strangers may send: numbers of every type, torn files, forged states, answers to other questions."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from discreet import local
from discreet.local.wire import ReportError, encode_all
from discreet.randomness import SeededSource

KARY = local.KaryResponse(1.0, 300)
DUCHI = local.Duchi(1.0)


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_messages_of_any_whole_type(dtype: str) -> None:
    """Bounds far beyond a small type's range, and a largest unsigned number that must not come back as -1."""
    largest = np.iinfo(dtype).max
    counted = local.Aggregator(DUCHI).add_messages(np.array([[1], [largest]], dtype=dtype))
    assert (counted.n, counted.rejected) == (1, {"range": 1})
    wide = local.TruncatedLaplace(1.0)
    assert local.Aggregator(wide).add_messages(np.array([[5], [-3]]).astype(dtype)).n >= 1


def test_ids_that_differ_are_never_one() -> None:
    ids = [b"\1", b"\1\0", b"\0" * 16, b"\0" * 15, "a", "a" * 17, "a" * 18]
    assert local.Aggregator(KARY).add([KARY.report(1, report_id=i) for i in ids]).n == len(ids)
    half = KARY.report(1).replace(',"r"', ',"id":"abc","r"')
    assert local.Aggregator(KARY).add([half]).rejected == {"malformed": 1}


@pytest.mark.parametrize("ids", [False, True])
def test_a_torn_file_loses_only_what_is_torn(ids: bool) -> None:
    messages = DUCHI.randomize(np.zeros(90), SeededSource(1))
    names = [f"{i}" for i in range(90)] if ids else None
    whole = encode_all(DUCHI, messages, ids=names, form="bytes")
    for torn in (whole[40][:-1], whole[40][:3], b"", whole[40] + b"x" * 7, b"dRdRdRdRdR", whole[40][1:], b"dR" * 500):
        lost = torn[: len(whole[40])] != whole[40]
        blob = b"".join([*whole[:40], torn, *whole[41:]])
        counted = local.Aggregator(DUCHI).add_packed(blob, ids=ids)
        assert counted.n == 90 - lost
        assert sum(counted.rejected.values()) >= (torn not in (b"", whole[40]))
        keep = np.arange(90) != 40 if lost else slice(None)
        assert counted.totals == local.Aggregator(DUCHI).add_messages(messages[keep]).totals
    end = local.Aggregator(DUCHI).add_packed(b"".join(whole) + whole[0][:-1], ids=ids)
    assert (end.n, end.rejected) == (90, {"malformed": 1})


def test_another_version_in_a_file_is_called_that() -> None:
    whole = [bytearray(r) for r in encode_all(DUCHI, DUCHI.randomize(np.zeros(9), SeededSource(1)), form="bytes")]
    whole[4][2] = 9
    counted = local.Aggregator(DUCHI).add_packed(b"".join(whole))
    assert (counted.n, counted.rejected) == (8, {"version": 1})


@pytest.mark.parametrize("seed", range(5))
def test_random_damage_to_a_file_is_survived(seed: int) -> None:
    """200 bytes inserted, deleted or changed in 2000 reports: at most two reports are lost for each."""
    data = np.random.default_rng(seed)
    blob = bytearray(
        b"".join(encode_all(KARY, KARY.randomize(np.zeros(2000, dtype=int), SeededSource(seed)), form="bytes"))
    )
    for _ in range(200):
        at = int(data.integers(len(blob)))
        kind = int(data.integers(3))
        blob[at : at + (kind > 0)] = data.bytes(1) if kind < 2 else b""
    counted = local.Aggregator(KARY).add_packed(bytes(blob))
    assert 1600 <= counted.n <= 2000


def test_rubbish_slows_only_itself() -> None:
    """One bad report in a block of good ones does not send the block down the slow road: it is never read twice."""
    reports = [*encode_all(KARY, KARY.randomize(np.zeros(1000, dtype=int), SeededSource(1))), "rubbish"]
    counted = local.Aggregator(KARY)
    slow: list[object] = []
    careful = counted._one_by_one
    counted._one_by_one = lambda rest: (slow.extend(rest), careful(rest))[1]  # type: ignore[method-assign]
    assert counted.add(reports).n == 1000
    assert slow == ["rubbish"]


GOOD = json.loads(local.Aggregator(KARY).add([KARY.report(1, report_id="x"), KARY.report(2)]).state())


@pytest.mark.parametrize(
    "forged",
    ["", "[]", "null", 5, "[" * 5000, *({**GOOD, **change} for change in (
        {"n": -5}, {"n": 0}, {"n": None}, {"totals": [1]}, {"totals": ["1e5"] * 300}, {"totals": [10**9] * 300},
        {"totals": [-1, *([0] * 299)]}, {"seen": {"zz": "AA"}}, {"seen": {"00": "AAA="}}, {"seen": {"0" * 32: "AA=="}},
        {"seen": {"0" * 32: "//8="}}, {"rejected": []}, {"rejected": {"malformed": -1}}, {"format": 2}, {"p": "0" * 16},
    ))],
)  # fmt: skip
def test_forged_states_are_refused(forged) -> None:
    text = json.dumps(forged) if isinstance(forged, dict) else forged
    with pytest.raises(ReportError):
        local.Aggregator.from_state(KARY, text)


def test_answers_to_one_question_are_not_counted_for_another() -> None:
    diet, income = (local.KaryResponse(1.0, 5, purpose=what) for what in ("diet", "income"))
    counted = local.Aggregator(diet).add([diet.report(1), income.report(2), local.KaryResponse(1.0, 5).report(3)])
    assert (counted.n, counted.rejected) == (1, {"parameters": 2})
    odd = local.KaryResponse(1.0, 5, purpose="diet;k=5").fingerprint
    assert len({diet.fingerprint, income.fingerprint, odd, local.KaryResponse(1.0, 5).fingerprint}) == 4


def test_a_path_is_not_a_report(tmp_path) -> None:
    with pytest.raises(TypeError, match="add_file"):
        local.Aggregator(KARY).add(tmp_path)


def test_a_device_without_the_compiler_draws_the_same() -> None:
    """The road without numba is the definition of the other: the same words, the same report."""
    call = "from discreet.randomness import SeededSource; print({}.report(0.3))"
    seeded = "TruncatedLaplace(1.0, source=SeededSource(3))"
    done = subprocess.run(
        [sys.executable, "-c", "from discreet.local import TruncatedLaplace; " + call.format(seeded)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    import discreet.kernels_noise as compiled

    assert compiled.fill is not None
    assert done.stdout.strip() == local.TruncatedLaplace(1.0, source=SeededSource(3)).report(0.3)


CLIENT = """
import sys
from discreet.local import {name}
{call}
print([m for m in {heavy!r} if m in sys.modules])
"""


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("BinaryResponse", "BinaryResponse(1.0).report(1)"),
        ("OptimizedUnary", "OptimizedUnary(1.0, 9).report(3, form='bytes')"),
        ("Hybrid", "Hybrid(1.0).report(0.3, report_id='me')"),
        ("TruncatedLaplace", "TruncatedLaplace(1.0).report(0.3)"),
        ("DuchiVector", "DuchiVector(1.0, 3).report([0.1, 0.2, 0.3])"),
        ("Hemisphere", "Hemisphere(1.0, 3).report([0.1, 0.2, 0.3])"),
        ("PrivUnitG", "PrivUnitG(1.0, 3).report([0.1, 0.2, 0.3])"),
        ("LogisticProtocol", "LogisticProtocol(1.0, 2).report([0.1, 0.2], 1)"),
    ],
)
def test_a_device_needs_nothing_but_numpy(name: str, call: str) -> None:
    heavy = ["scipy", "numba", "sklearn", "dp_accounting", "pandas", "pyarrow", "attr", "absl"]
    code = CLIENT.format(name=name, call=call, heavy=heavy)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
