"""Random words: from the operating system only, and never the same ones in two threads, processes or workers."""

from __future__ import annotations

import ast
import copy
import multiprocessing
import os
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import joblib
import numpy as np
import pytest

import discreet
from discreet import randomness
from discreet.randomness import (
    BLOCK,
    DIRECT,
    SeededSource,
    Source,
    SystemSource,
    data_generator,
    noise_disabled,
    source_for,
    system,
)
from discreet.testing import without_privacy

N = 300
PINNED = [11212184751715485889, 6896235513238432481, 7986863191052883091]


def some_words(_: int = 0, source: Source | None = None) -> list[int]:
    """What a worker does: draw from the source it was given."""
    return (system() if source is None else source).words(N).tolist()


def into_queue(queue: multiprocessing.Queue[list[int]]) -> None:
    queue.put(some_words())


def words_ahead() -> list[int]:
    """The words that the buffer of this thread would hand out next."""
    randomness._buffer.clear()
    system().words(1)
    return randomness._buffer.block[1 : N + 1].tolist()


def all_different(streams: list[list[int]]) -> bool:
    """No word twice (by chance: fewer than one run in 10^12)."""
    words = [w for stream in streams for w in stream]
    return len(set(words)) == len(words)


@pytest.mark.parametrize("n", [0, 1, 7, DIRECT - 1, DIRECT, BLOCK + 1, 3 * randomness.CHUNK + 5])
def test_fresh_writable_words_of_any_number(n: int) -> None:
    words = system().words(n)
    assert words.dtype == np.uint64
    assert words.shape == (n,)
    assert words.flags.writeable
    assert all_different([words.tolist(), some_words()])


def test_many_small_requests_cross_the_buffer() -> None:
    assert all_different([system().words(n).tolist() for n in range(1, 200)])


def test_every_bit_is_used() -> None:
    words = system().words(100_000)
    for bit in range(64):  # each count is within 6 standard deviations: a false alarm in 10^7 runs
        ones = int((words >> np.uint64(bit) & np.uint64(1)).sum())
        assert abs(ones - 50_000) < 6 * np.sqrt(25_000)


def test_used_words_are_wiped() -> None:
    randomness._buffer.clear()
    out = system().words(50)
    block = randomness._buffer.block
    assert not block[:50].any()
    assert block[50:].all()
    assert not np.isin(out, block).any()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_share_nothing(method: str) -> None:
    context = multiprocessing.get_context(method)
    system().words(1)  # the parent has words ahead in its buffer
    queue: multiprocessing.Queue[list[int]] = context.Queue()
    workers = [context.Process(target=into_queue, args=(queue,)) for _ in range(3)]
    for w in workers:
        w.start()
    streams = [queue.get(timeout=60) for _ in workers]
    for w in workers:
        w.join()
    assert all_different([*streams, some_words()])


@pytest.mark.parametrize("blind", [False, True])
def test_bare_fork_shares_nothing(blind: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `blind`, the pid check sees no difference (as in another pid namespace), and the fork hook stands alone."""
    if blind:
        monkeypatch.setattr(os, "getpid", lambda: 77)
    ahead = words_ahead()
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:  # pragma: no cover - runs in the child
        os.write(write, system().words(N).tobytes())
        os._exit(0)
    os.waitpid(pid, 0)
    child = np.frombuffer(os.read(read, 8 * N), dtype=np.uint64).tolist()
    assert len(child) == N
    assert all_different([ahead, child])


def test_pid_check_alone_suffices() -> None:
    ahead = words_ahead()
    randomness._buffer.pid = -5  # as if this process were another one
    assert all_different([ahead, some_words()])


def test_threads_share_nothing() -> None:
    source = system()
    with ThreadPoolExecutor(8) as pool:
        streams = list(pool.map(lambda _: [w for _ in range(20) for w in source.words(50).tolist()], range(16)))
    assert all_different(streams)


def test_each_thread_has_a_buffer_of_its_own() -> None:
    system().words(1)
    blocks: list[np.ndarray] = []

    def work() -> None:
        system().words(1)
        blocks.append(randomness._buffer.block)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not np.shares_memory(blocks[0], randomness._buffer.block)


@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_joblib_workers_share_nothing(backend: str) -> None:
    system().words(1)
    run = joblib.Parallel(n_jobs=2, backend=backend)
    source = system()
    assert all_different([*run(joblib.delayed(some_words)(i, source) for i in range(6)), some_words()])


@pytest.mark.parametrize("scheduler", ["threads", "processes"])
@pytest.mark.parametrize("make", [system, lambda: SeededSource(4)], ids=["system", "seeded"])
def test_dask_workers_share_nothing(scheduler: str, make: Callable[[], Source]) -> None:
    """Run where Dask is installed (``make oldest`` has it): each task draws from its own copy of one source."""
    dask = pytest.importorskip("dask")
    source = make()
    source.words(1)
    tasks = [dask.delayed(some_words, pure=False)(i, pickle.loads(pickle.dumps(source))) for i in range(6)]
    drawn = dask.compute(*tasks, scheduler=scheduler, num_workers=2)
    assert all_different([*drawn, some_words(0, source)])


@pytest.mark.parametrize("backend", ["loky", "multiprocessing"])
def test_seeded_sources_part_ways_in_joblib_workers(backend: str) -> None:
    source = SeededSource(4)
    run = joblib.Parallel(n_jobs=2, backend=backend)
    assert all_different([*run(joblib.delayed(some_words)(i, source) for i in range(6)), some_words(0, source)])


@pytest.mark.parametrize("make", [system, lambda: SeededSource(4)], ids=["system", "seeded"])
def test_the_same_bytes_sent_twice_are_two_streams(make: Callable[[], Source]) -> None:
    """Arguments that many tasks share are pickled once, and loaded by every worker."""
    sent = pickle.dumps(make())
    assert all_different([some_words(0, pickle.loads(sent)) for _ in range(4)])


def test_pool_workers_share_nothing_with_a_seeded_source_either() -> None:
    """A pickled seeded source is another stream each time, in every worker, and not the parent's."""
    source = SeededSource(3)
    source.words(10)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
        futures = [pool.submit(some_words, i, source) for i in range(4)]
        streams = [f.result(timeout=60) for f in futures]
    assert all_different([*streams, SeededSource(3).words(N + 10).tolist()])


def test_a_system_source_pickles_to_an_empty_one() -> None:
    system().words(3)
    assert len(pickle.dumps(system())) < 100
    assert all_different([some_words(0, pickle.loads(pickle.dumps(system()))), some_words()])
    assert all_different([some_words(0, copy.deepcopy(system())), some_words()])


def test_seeded_streams_repeat_whatever_the_pieces() -> None:
    pieces = SeededSource(5)
    joined = np.concatenate([pieces.words(n) for n in (0, 1, 2, 300, 5)])
    assert np.array_equal(joined, SeededSource(5).words(308))
    assert all_different([some_words(0, SeededSource(5)), some_words(0, SeededSource(6))])


def test_the_seeded_stream_is_pinned() -> None:
    """Results with ``random_state=int`` stay what they were from one version to the next."""
    assert SeededSource(0).words(2).tolist() == PINNED[:2]
    assert SeededSource(0).child("fit", 1).words(1).tolist() == PINNED[2:]


def test_children_are_streams_of_their_own() -> None:
    root = SeededSource(1)
    children = [root.child(), root.child(0), root.child(1), root.child("0"), root.child(0, 1), root.child(0).child(1)]
    assert all_different([some_words(0, c) for c in [root, *children]])
    assert np.array_equal(root.child(0, 1).words(5), SeededSource(1).child(0, 1).words(5))
    assert isinstance(system().child("any"), SystemSource)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_copies_of_a_seeded_source_never_repeat_it(copied: Callable[[Source], Source]) -> None:
    root = SeededSource(1)
    copies = [copied(root), copied(root)]
    copies.append(copied(copies[0]))
    assert all_different([some_words(0, c) for c in [root, *copies]])


def test_what_random_state_may_be() -> None:
    assert source_for(None).private
    assert not source_for(0).private
    assert np.array_equal(source_for(np.int64(3)).words(4), SeededSource(3).words(4))
    for make in (lambda: np.random.default_rng(0), lambda: np.random.RandomState(0)):
        generator = make()
        first, second = source_for(generator), source_for(generator)
        assert not first.private
        assert all_different([some_words(0, first), some_words(0, second)])
        assert np.array_equal(source_for(make()).words(4), source_for(make()).words(4))
    given = SeededSource(9)
    assert source_for(given) is given
    for wrong in ("0", 1.5, True, [1]):
        with pytest.raises(TypeError, match="random_state"):
            source_for(wrong)


@pytest.mark.parametrize(
    "call", [lambda: SeededSource(-1), lambda: system().words(-1), lambda: SeededSource(0).words(-1)]
)
def test_negative_numbers_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"negative|can't be drawn"):
        call()


@pytest.mark.parametrize("call", [lambda: SeededSource(1.0), lambda: SeededSource(True), lambda: system().child(1.5)])
def test_wrong_types_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises(TypeError):
        call()


def test_data_generators_repeat() -> None:
    assert data_generator(3).normal() == data_generator(3).normal()


def test_noise_is_disabled_only_inside_and_only_in_this_thread() -> None:
    seen: list[bool] = []
    with without_privacy():
        assert noise_disabled()
        thread = threading.Thread(target=lambda: seen.append(noise_disabled()))
        thread.start()
        thread.join()
    assert not noise_disabled()
    assert seen == [False]
    with pytest.raises(KeyError), without_privacy():
        raise KeyError
    assert not noise_disabled()


def names_used(path: Path) -> set[str]:
    """Whole dotted names and imported modules in a file's code."""
    found: set[str] = set()
    inner: set[ast.AST] = set()
    for node in ast.walk(ast.parse(path.read_text())):  # outer nodes come before inner ones
        if isinstance(node, ast.Attribute):
            if node not in inner:
                found.add(ast.unparse(node))
            inner.add(node.value)
        elif isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{a.name}" for a in node.names} | {str(node.module)}
    return found


def offends(name: str) -> bool:
    if name == "np.random.Generator":  # as the type of what data_generator makes
        return False
    return name in {"random", "secrets", "os.urandom", "os.getrandom", "uuid", "np.random", "numpy.random"} or (
        name.startswith(("np.random.", "numpy.random.", "random.", "secrets."))
    )


def test_no_other_module_makes_random_numbers() -> None:
    root = Path(discreet.__file__).parent
    guilty = {
        str(path.relative_to(root)): bad
        for path in root.rglob("*.py")
        if path.name != "randomness.py" and (bad := sorted(filter(offends, names_used(path))))
    }
    assert not guilty


def test_the_check_for_other_generators_can_fail() -> None:
    assert offends("random")
    assert sorted(filter(offends, names_used(Path(randomness.__file__))))
