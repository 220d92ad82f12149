"""Trees of events: building them, and taking them apart into leaves that are counted.

Counts are worked out here and nowhere else, so no accountant can price a repeated event as a single one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dp_accounting import dp_event

__all__ = ["Run", "compose", "leaves", "repeat", "tally"]


def compose(*events: dp_event.DpEvent) -> dp_event.DpEvent:
    """The events one after the other, each free to depend on what the earlier ones released.

    >>> compose(dp_event.GaussianDpEvent(2.0)), compose()
    (GaussianDpEvent(noise_multiplier=2.0), NoOpDpEvent())
    """
    if not events:
        return dp_event.NoOpDpEvent()
    return events[0] if len(events) == 1 else dp_event.ComposedDpEvent(list(events))


def repeat(event: dp_event.DpEvent, count: int) -> dp_event.DpEvent:
    """The same event `count` times.

    >>> repeat(dp_event.GaussianDpEvent(2.0), 3)
    SelfComposedDpEvent(event=GaussianDpEvent(noise_multiplier=2.0), count=3)
    """
    if isinstance(count, bool) or count != int(count) or count < 0:
        raise ValueError(f"count={count!r} must be a whole number, at least 0")
    return dp_event.NoOpDpEvent() if count == 0 else dp_event.SelfComposedDpEvent(event, int(count))


Run = tuple[dp_event.DpEvent, int]
_MAX_RUNS = 200_000


def leaves(event: dp_event.DpEvent) -> list[Run]:
    """The leaves of the tree in the order they were run, neighbouring equal ones counted together.

    >>> step = compose(dp_event.LaplaceDpEvent(1.0), dp_event.GaussianDpEvent(3.0))
    >>> [(type(e).__name__, n) for e, n in leaves(repeat(step, 2))]
    [('LaplaceDpEvent', 1), ('GaussianDpEvent', 1), ('LaplaceDpEvent', 1), ('GaussianDpEvent', 1)]
    >>> leaves(repeat(repeat(dp_event.LaplaceDpEvent(1.0), 3), 4))
    [(LaplaceDpEvent(noise_multiplier=1.0), 12)]
    """
    runs: list[Run] = []
    for leaf, count in _walk(event):
        if runs and runs[-1][0] == leaf:
            runs[-1] = (leaf, runs[-1][1] + count)
        else:
            runs.append((leaf, count))
            if len(runs) > _MAX_RUNS:
                raise ValueError(f"more than {_MAX_RUNS} different steps in a row; count equal steps with repeat()")
    return runs


def tally(event: dp_event.DpEvent) -> list[Run]:
    """Distinct leaves with how often each occurs, in order of first appearance.

    >>> step = compose(dp_event.LaplaceDpEvent(1.0), dp_event.GaussianDpEvent(3.0))
    >>> [n for _, n in tally(repeat(step, 500_000))]
    [500000, 500000]
    """
    buckets: dict[Any, list[list[Any]]] = {}  # by text, as lists inside make some events unhashable; then by equality
    order: list[list[Any]] = []
    for leaf, count in _bag(event):
        bucket = buckets.setdefault((type(leaf), repr(leaf)), [])
        for entry in bucket:
            if entry[0] == leaf:
                entry[1] += count
                break
        else:
            bucket.append([leaf, count])
            order.append(bucket[-1])
    return [(leaf, count) for leaf, count in order]


def _children(event: dp_event.DpEvent) -> tuple[list[dp_event.DpEvent], int] | None:
    if isinstance(event, dp_event.ComposedDpEvent):
        return list(event.events), 1
    if isinstance(event, dp_event.SelfComposedDpEvent):
        if event.count < 0:
            raise ValueError(f"count={event.count} of a repeated event must not be negative")
        return [event.event], int(event.count)
    return None


def _ours(leaf: dp_event.DpEvent) -> dp_event.DpEvent:
    """A batch of fixed size, which the library knows under replace-one only, as the event of ours that prices it."""
    if isinstance(leaf, dp_event.SampledWithoutReplacementDpEvent):
        from discreet.accounting.events import ReplaceOneSampledDpEvent

        return ReplaceOneSampledDpEvent(leaf.sample_size / leaf.source_dataset_size, leaf.event, True)
    return leaf


def _walk(event: dp_event.DpEvent) -> Iterator[Run]:
    if isinstance(event, dp_event.NoOpDpEvent):
        return
    family = _children(event)
    if family is None:
        yield _ours(event), 1
        return
    children, count = family
    inner = [run for child in children for run in leaves(child)]
    if len(inner) == 1:
        yield inner[0][0], inner[0][1] * count
        return
    for _ in range(count if inner else 0):
        yield from inner


def _bag(event: dp_event.DpEvent) -> Iterator[Run]:
    if isinstance(event, dp_event.NoOpDpEvent):
        return
    family = _children(event)
    if family is None:
        yield _ours(event), 1
        return
    for child in family[0]:
        for leaf, count in _bag(child):
            if count * family[1]:
                yield leaf, count * family[1]
