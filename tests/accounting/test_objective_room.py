"""A perturbed minimum is affordable exactly where less than a thousand times the Gaussian's noise meets the budget."""

from __future__ import annotations

import pytest

from discreet.accounting import gdp
from discreet.accounting.objective_calibration import calibrate_objective, free_kappa
from discreet.accounting.objective_room import affordable
from discreet.privacy import Budget


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("relation", ["zero_out", "replace_one"])
def test_what_is_nearly_free_is_affordable_and_what_only_absurd_noise_meets_is_not(
    epsilon: float, relation: str
) -> None:
    budget = Budget(epsilon, 1e-6, neighbors=relation)
    kappa = free_kappa(epsilon, 1e-6, neighbors=relation)
    assert affordable(budget, kappa, "logistic")
    assert not affordable(budget, 300 * kappa, "logistic")
    assert calibrate_objective(budget, ridge=1 / kappa).sigma < 3 / gdp.mu_for(epsilon, 1e-6)
    try:
        assert calibrate_objective(budget, ridge=1 / (300 * kappa)).sigma > 1000 / gdp.mu_for(epsilon, 1e-6)
    except ValueError as error:
        assert "no noise" in str(error)
