"""Broken twins of a search (numbers refer to PITFALLS): each must be caught, by a price or by the auditor."""

from __future__ import annotations

import numpy as np
from dp_accounting import dp_event
from numpy.typing import NDArray

from discreet.accounting.events import PureDpEvent
from discreet.accounting.repeats import ParallelDpEvent, RepeatedDpEvent
from discreet.model_selection.methods import Plan
from discreet.privacy import Budget


def winners_price(plan: Plan) -> dp_event.DpEvent:
    """23: a search over many settings reported at the epsilon of the winner's own fit."""
    return PureDpEvent(plan.each.epsilon)


def full_budget_in_each_fit(budget: Budget, settings: int) -> list[Budget]:
    """21: the whole budget for every candidate."""
    return [budget] * settings


def choice_on_the_same_rows(plan: Plan) -> dp_event.DpEvent:
    """21: fits and choice priced in parallel although the same rows train and score; what they really cost."""
    return dp_event.ComposedDpEvent([PureDpEvent(plan.choice), PureDpEvent(plan.choice)])


def fixed_number_of_runs(plan: Plan) -> dp_event.DpEvent:
    """23: the price of a random number of runs for a number that is fixed: the theorem doesn't cover it."""
    return RepeatedDpEvent(ParallelDpEvent((PureDpEvent(plan.each.epsilon),)), plan.gamma, plan.shape)


Outputs = NDArray[np.float64]


def best_score(there: bool, times: int, rng: np.random.Generator, epsilon: float, runs: NDArray[np.int64]) -> Outputs:
    """The best of so many noisy scores of one row, `times` times over; each score is epsilon-private."""
    shift = 1.0 if there else 0.0
    best = np.array([rng.laplace(loc=shift, scale=1 / epsilon, size=k).max() for k in runs[:times]])[:, None]
    return np.rint(best * 2.0**20) / 2.0**20  # on a public lattice: plain floats are told apart by their last bits
