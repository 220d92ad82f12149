"""Prices are worked out once per key, forgotten in order, and failures leave nothing behind."""

from __future__ import annotations

import numpy as np
import pytest
from dp_accounting.dp_event import NoOpDpEvent

from discreet.accounting import objective_choice, plan_cache
from discreet.accounting.objective_calibration import shape_of
from discreet.accounting.objective_curvature import curvature
from discreet.accounting.objective_perturbation import ObjectivePerturbationDpEvent
from discreet.accounting.plan_cache import cached, clear
from discreet.losses import QuantileLoss
from discreet.privacy import Budget


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


def test_curvatures_that_are_equal_are_priced_once_and_those_without_a_name_each_time(monkeypatch) -> None:
    """A quantile's price takes seconds; it used to be worked out for every fit."""
    clear()
    counted, real = [], objective_choice.calibrate_objective
    monkeypatch.setattr(objective_choice, "calibrate_objective", lambda *a, **k: counted.append(1) or real(*a, **k))

    def price(shape: object) -> float:
        event = ObjectivePerturbationDpEvent(1.0, 0.2, shape=shape, tolerance_mu=0.02)
        return objective_choice.least_noise(NoOpDpEvent(), Budget(1.0, 1e-4), event)

    assert price(shape_of(QuantileLoss())[0]) == price(shape_of(QuantileLoss())[0]) and len(counted) == 1
    wide = price(shape_of(QuantileLoss(width=1.0))[0])
    assert len(counted) == 2 and wide > 0
    for times in (1, 2):
        price(curvature("falling", lambda s: 0.2 * np.cos(s), sign_fixed=True, beta=0.2))
        assert len(counted) == 2 + times
    clear()
