"""Prices are worked out once per key, forgotten in order, and failures leave nothing behind."""

from __future__ import annotations

import pytest

from discreet.accounting import plan_cache
from discreet.accounting.plan_cache import cached, clear


def test_a_key_is_worked_out_once() -> None:
    clear()
    calls: list[int] = []
    for _ in range(3):
        assert cached(("a", 1.0), lambda: calls.append(1) or 7.0) == 7.0
    assert len(calls) == 1
    assert cached(("a", 1.5), lambda: 8.0) == 8.0


def test_a_failure_is_not_remembered() -> None:
    clear()
    with pytest.raises(ZeroDivisionError):
        cached("b", lambda: 1 / 0)
    assert cached("b", lambda: 2.0) == 2.0


def test_old_prices_give_way() -> None:
    clear()
    for i in range(plan_cache.LIMIT + 1):
        cached(i, lambda i=i: float(i))
    assert cached(0, lambda: -1.0) == -1.0
    assert cached(plan_cache.LIMIT, lambda: -1.0) == float(plan_cache.LIMIT)
