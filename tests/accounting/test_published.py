"""Noise as printed: the formulas, and by how much the tight price beats them."""

from __future__ import annotations

import math

import pytest
from dp_accounting import dp_event

from discreet import accounting
from discreet.accounting import published
from discreet.accounting.events import BoundedRangeDpEvent, PureDpEvent, repeat
from discreet.privacy import Budget

RELATIONS = ("zero_out", "replace_one", "add_remove")


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_scales_are_those_of_the_sources(relation):
    budget = Budget(0.5, 1e-6, neighbors=relation)
    moves = 2 if relation == "replace_one" else 1
    # L = |C|_1 = 1, sum convention: one row's scores have a range of 2 moves
    printed = math.sqrt(8 * 100 * math.log(1e6)) / 0.5
    assert 2 * moves / published.lasso_selection(budget, 100) == pytest.approx(printed, rel=1e-12)
    assert 2 * moves / published.lecture_selection(budget, 100) == pytest.approx(2 * printed, rel=1e-12)
    gaussian = math.sqrt(32 * 100 * math.log(1e6)) / 0.5
    assert published.hard_thresholding_noise(budget, 100, 32.0) * moves == pytest.approx(gaussian, rel=1e-12)


def test_peelings_divide_or_keep_the_budget():
    assert published.lecture_peeling(Budget(1, 1e-6)) == (1.0, 1e-6)
    assert published.cai_peeling(Budget(1, 1e-6), 20) == pytest.approx((0.05, 5e-8))


def test_the_same_selections_cost_at_least_2_4_times_less():
    eta = published.lecture_selection(Budget(1, 1e-6, neighbors="replace_one"), 100)
    spent = accounting.epsilon(repeat(BoundedRangeDpEvent(eta), 100), 1e-6)
    assert 2.4 < 1 / spent < 2.8


@pytest.mark.parametrize(("target", "gain"), [(0.1, 2.9), (0.5, 2.61), (1.0, 2.49), (4.0, 2.2)])
def test_the_same_gaussians_need_that_much_less_noise(target, gain):
    printed = published.hard_thresholding_noise(Budget(target, 1e-6, neighbors="replace_one"), 100, 32.0)
    least = math.sqrt(100) / accounting.gdp.mu_for(target, 1e-6)
    assert printed / least == pytest.approx(gain, abs=0.01)
    assert accounting.epsilon(repeat(dp_event.GaussianDpEvent(printed), 100), 1e-6) < target / 2.3


@pytest.mark.parametrize(("steps", "certified"), [(10, 1.203), (100, 1.647), (1000, 1.669)])
def test_the_paper_scale_with_laplace_noise_breaks_its_promise(steps, certified):
    pure = published.lasso_selection(Budget(1, 1e-6, neighbors="replace_one"), steps)
    assert accounting.epsilon(repeat(PureDpEvent(pure), steps), 1e-6) == pytest.approx(certified, abs=0.02)


def test_strength_is_mu_or_epsilon():
    assert published.strength(Budget(0.3)) == 0.3
    assert published.strength(Budget(1, 1e-6)) == pytest.approx(0.2367, abs=1e-4)
