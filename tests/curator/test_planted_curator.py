"""The alarms ring: each broken twin of the curator fails a law that the curator itself passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from discreet.curator import Curator, DenseCurator, RowBounds
from discreet.losses import LogisticLoss
from discreet.privacy import Bounded, Neighbours, unseal
from tests.curator.bounds import check, neighbours
from tests.planted import curator as planted

EMPTY = (np.zeros((1, 3)), np.ones(1), np.ones(1))
BIG = np.array([300.0, -40.0, 1.0])


def broken(
    kind: type[DenseCurator],
    relation: Neighbours,
    z: Any = BIG,
    ask: Callable[[Curator], Bounded] = lambda c: c.sum_rows(),
    **more: Any,
) -> bool:
    """Whether the law of neighbours fails for this kind of curator."""
    bounds = RowBounds(**({"l2": 2.0} | more))
    pair = neighbours(relation, EMPTY, z, 1.0, 1.0, 0)
    try:
        check(*(ask(planted.build(kind, data, bounds, relation)) for data in pair))
    except AssertionError:
        return True
    return False


SMALL = np.array([1.0, 1.0, 1.0]) / np.sqrt(3.0) * 1.0001


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        (planted.RadiusOne, {}),
        (planted.UnclippedRows, {}),
        (planted.UnclippedTargets, {"y": (-1.0, 1.0)}),
        (planted.LateConstant, {"intercept": 1.0}),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
@pytest.mark.parametrize("relation", [Neighbours.ZERO_OUT, Neighbours.ADD_REMOVE])
def test_a_broken_bound_is_caught(kind: type[DenseCurator], more: Any, relation: Neighbours) -> None:
    z = SMALL if kind is planted.UnclippedTargets else BIG
    data = neighbours(relation, EMPTY, z, 50.0, 1.0, 0)
    bounds = RowBounds(**({"l2": 2.0} | more))
    if "y" in more:
        good, bad = (
            [c.sum_rows() for c in (planted.build(k, d, bounds, relation) for d in data)] for k in (DenseCurator, kind)
        )
        check(*good)
        with pytest.raises(AssertionError):
            check(*bad)
        return
    assert broken(kind, relation, z, **more)
    assert not broken(DenseCurator, relation, z, **more)


def test_a_missing_factor_two_is_caught() -> None:
    assert broken(planted.NoFactorTwo, Neighbours.REPLACE_ONE)
    assert not broken(DenseCurator, Neighbours.REPLACE_ONE)
    assert not broken(planted.NoFactorTwo, Neighbours.ZERO_OUT)


def test_rounding_to_the_nearest_after_clipping_is_caught() -> None:
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=3) * 9 for _ in range(40)]
    assert any(broken(planted.ShrunkOnce, Neighbours.ZERO_OUT, z) for z in rows)
    assert not any(broken(DenseCurator, Neighbours.ZERO_OUT, z) for z in rows)


def test_float_sums_are_caught_by_a_permutation() -> None:
    rng = np.random.default_rng(1)
    data = (rng.normal(size=(5000, 3)), rng.choice([-1.0, 1.0], 5000), np.ones(5000))
    order = rng.permutation(5000)
    shuffled = tuple(part[order] for part in data)
    answers = {}
    for kind in (DenseCurator, planted.FloatSums):
        curators = [planted.build(kind, d, RowBounds(l2=1.0), Neighbours.ZERO_OUT) for d in (data, shuffled)]
        one, other = (unseal(c.gradient(LogisticLoss(), np.array([0.3, -0.7, 1.1]))) for c in curators)
        answers[kind] = np.array_equal(one, other)
    assert answers == {DenseCurator: True, planted.FloatSums: False}
