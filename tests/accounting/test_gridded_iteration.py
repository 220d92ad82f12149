"""Hidden steps on a grid: without slack the theorem, with it never less, and the slack is what rounding can do."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.accounting.gridded_iteration import gridded_last_iterate_mu
from discreet.accounting.iteration import Conditions, last_iterate_mu
from discreet.curator import Clip, RowBounds, make_curator
from discreet.curator.clip import Residuals
from discreet.losses import LogisticLoss
from discreet.privacy import PrivacyError, unseal

EVERY = Conditions(True, True, True, True, True)
CASE = {"conditions": EVERY, "step_size": 0.01, "smoothness": 150.0, "sensitivity": 1.0, "diameter": 0.5}


@pytest.mark.parametrize("steps", [1, 10, 1000, 100_000])
def test_without_slack_it_is_the_theorem(steps: int) -> None:
    plain = last_iterate_mu(steps, 50.0, **CASE)  # type: ignore[arg-type]
    assert gridded_last_iterate_mu(steps, 50.0, slack=0.0, **CASE) == pytest.approx(plain, rel=1e-9)  # type: ignore[arg-type]


def test_slack_costs_and_never_more_than_all_the_steps() -> None:
    values = [gridded_last_iterate_mu(10_000, 50.0, slack=s, **CASE) for s in (0.0, 0.1, 1.0, 1e6)]  # type: ignore[arg-type]
    assert values == sorted(values)
    assert values[0] < values[2]
    assert values[-1] == math.sqrt(10_000) / 50.0


def test_conditions_are_asked_for() -> None:
    with pytest.raises(PrivacyError, match="full_batch"):
        gridded_last_iterate_mu(
            10,
            5.0,
            slack=0.0,
            **{**CASE, "conditions": Conditions(True, True, True, True, False)},  # type: ignore[arg-type]
        )


def test_rounded_gradients_contract_up_to_the_slack() -> None:
    """Steps of one over the smoothness from pairs of close models: the grid alone can push them apart, so far only."""
    rng = np.random.default_rng(0)
    n, p, loss, bounds = 500, 4, LogisticLoss(), RowBounds(l2=1.0)
    X = rng.normal(size=(n, p))
    curator = make_curator(X, rng.choice([-1.0, 1.0], n), bounds=bounds)
    clip = Clip(1.0, "slope")
    plan = Residuals(loss, bounds.grid(p), clip)
    slack = n * float(plan.unit) + 2 * math.sqrt(p) * float(plan.gradient_unit)
    eta, apart = 1 / (0.25 * n), []
    for far in (0.0, 1e-6, 1e-4, 1e-2, 1.0):
        for _ in range(20):
            w = rng.normal(size=p)
            v = w + far * rng.normal(size=p)
            steps = [u - eta * unseal(curator.gradient(loss, u, clip)) * float(plan.gradient_unit) for u in (w, v)]
            apart.append(float(np.linalg.norm(steps[0] - steps[1]) - np.linalg.norm(w - v)))
    assert max(apart) <= eta * slack
    assert max(apart) > 0, "exact maps would never part: then no slack would be needed"
