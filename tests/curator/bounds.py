"""The law of neighbours: what changes between two sealed answers, against what they promise, in whole numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.privacy import Bounded, Neighbours, unseal

__all__ = ["check", "neighbours", "norms"]


def norms(change: list[int], symmetric: int) -> dict[str, int]:
    """Exact norms; those of the whole matrix for a packed triangle, and l2 squared."""
    times = [1] * len(change)
    if symmetric:
        times = [1 if i == j else 2 for i in range(symmetric) for j in range(i, symmetric)]
    return {
        "l1": sum(t * abs(c) for t, c in zip(times, change, strict=True)),
        "l2": sum(t * c * c for t, c in zip(times, change, strict=True)),
        "linf": max(map(abs, change)),
        "range": max(change) - min(change),
    }


def check(one: Bounded, other: Bounded) -> float:
    """That the change is within every bound, as integers; returns the share of its l2 bound that it takes."""
    a, b = unseal(one), unseal(other)
    change = [int(v) - int(u) for u, v in zip(a, b, strict=True)]
    size = norms(change, one.symmetric)
    for name in ("l1", "linf") + (("range",) if len(change) > 1 else ()):
        assert size[name] <= one.sensitivity(name), name
    assert size["l2"] <= one.sensitivity("l2") ** 2
    return math.sqrt(size["l2"]) / max(one.sensitivity("l2"), 1)


def neighbours(relation: Neighbours, rows: Any, z: Any, y: float, w: float, at: int) -> tuple[Any, Any]:
    """Two data sets that differ in one row, however that is meant."""
    X, t, v = rows
    at = at % (len(X) + 1)
    more = (np.insert(X, at, z, axis=0), np.insert(t, at, y), np.insert(v, at, w))
    if relation is Neighbours.ADD_REMOVE:
        return rows, more
    if relation is Neighbours.ZERO_OUT:
        return (more[0], more[1], np.where(np.arange(len(t) + 1) == at, 0.0, more[2])), more
    other = (more[0].copy(), more[1].copy(), more[2])
    other[0][at], other[1][at] = -np.asarray(z)[::-1], -y
    return other, more
