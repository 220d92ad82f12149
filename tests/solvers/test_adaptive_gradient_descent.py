"""DP-AGD: the order of its payments, its averaging, its step sizes, and its printed noise."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import accounting
from discreet.accounting import published_descent, zcdp
from discreet.curator import make_curator
from discreet.mechanisms.metered import Metered
from discreet.privacy import Bounded, Budget, Contribution, Neighbours, PrivacyError
from discreet.solvers.adaptive_gradient_descent import AdaptiveGradientDescent
from discreet.solvers.gradient_descent import GradientDescent
from tests.solvers.smooth_problems import excess, problem, solved, table

ONE = Budget(1, 1e-6)


class Told:
    """An `ask` that pays from a list of prices and answers as told: gradients of a given kind, choices in order."""

    def __init__(self, purse: float, choices: list[int], gradients: list[Any]) -> None:
        self.left, self.choices, self.gradients = Fraction(purse), choices, gradients
        self.paid: list[tuple[str, float]] = []

    def room(self, name: str, *prices: float) -> bool:
        assert name == "purse"
        return sum(map(Fraction, prices), Fraction(0)) <= self.left

    def purse(self, sealed: Bounded, price: float, select: str | None = None) -> Any:
        assert Fraction(price) <= self.left, "spent before it was asked for"
        self.left -= Fraction(price)
        self.paid.append((select or "gradient", price))
        return self.choices.pop(0) if select else np.array(self.gradients.pop(0))


def told(solver: AdaptiveGradientDescent, purse: float, choices: list[int], gradients: list[Any]) -> tuple[Any, Told]:
    """A run on real rows with these answers; each share is 1."""
    task = problem(ONE)
    X, y = table()
    ask = Told(purse, choices, gradients)
    schedule = {**solver.schedule(task), "share": 1.0}
    return solver.run(task, schedule, make_curator(X, y, bounds=task.bounds), ask), ask  # type: ignore[arg-type]


def test_vectors_are_averaged_before_they_are_normalised() -> None:
    """The second, longer measurement counts by its length: averaging directions instead would give another step."""
    first, second = [1.0, 0, 0, 0, 0], [0, 100.0, 0, 0, 0]
    w, ask = told(AdaptiveGradientDescent(growth=0.5, n_candidates=1), 3.5, [0, 1], [first, second])
    merged = (1.0 * np.array(first) + 0.5 * np.array(second)) / 1.5
    assert np.allclose(w, -2.0 * merged / np.linalg.norm(merged))
    assert ask.paid == [("gradient", 1.0), ("smallest", 1.0), ("gradient", 0.5), ("smallest", 1.0)]


def test_a_grown_share_stays_grown() -> None:
    _, ask = told(AdaptiveGradientDescent(growth=0.5, n_candidates=20), 6.0, [0, 20, 20], [np.ones(5)] * 3)
    assert [price for kind, price in ask.paid if kind == "gradient"] == [1.0, 0.5, 1.5]


def test_what_does_not_fit_is_not_bought() -> None:
    """The purse would cover the second measurement but not the choice after it: neither is bought."""
    w, ask = told(AdaptiveGradientDescent(growth=0.5), 2.7, [0], [np.ones(5)])
    assert float(ask.left) == pytest.approx(0.7)
    assert not w.any()


def test_the_largest_step_follows_what_was_chosen() -> None:
    solver = AdaptiveGradientDescent(
        growth=0.5, n_candidates=4, spacing="even", window=2, largest_step=4.0, average="last"
    )
    w, _ = told(solver, 6.0, [1, 2, 4], [[1.0, 0, 0, 0, 0]] * 3)
    assert w[0] == pytest.approx(-(1.0 + 2.0 + 1.5 * 2.0))  # 1 of 4, 2 of 4, then all of 1.5 * max(1, 2)


def test_the_whole_is_the_inverse_conversion() -> None:
    plan = AdaptiveGradientDescent().plan(problem(ONE))
    assert float(plan.mechanisms["purse"].rho) == pytest.approx(zcdp.rho_for(1.0, 1e-6), rel=1e-6)  # type: ignore[attr-defined]


def test_published_noise_is_looser_and_refused_for_replaced_rows() -> None:
    task = problem(ONE)
    tight, printed = (AdaptiveGradientDescent(accounting=how).plan(task) for how in ("tight", "as_published"))
    rho = [float(plan.mechanisms["purse"].rho) for plan in (tight, printed)]  # type: ignore[attr-defined]
    assert rho[1] == pytest.approx(published_descent.zcdp_share(ONE))
    assert 1.3 < rho[0] / rho[1] < 1.5
    assert accounting.epsilon(printed.event, 1e-6) < 0.9
    with pytest.raises(PrivacyError, match="replace_one"):
        AdaptiveGradientDescent(accounting="as_published").plan(problem(replace_relation(ONE)))


def replace_relation(budget: Budget) -> Budget:
    return Budget(budget.epsilon, budget.delta, neighbors="replace_one")


def test_published_noise_runs() -> None:
    w = solved(AdaptiveGradientDescent(accounting="as_published", spacing="even"), problem(), seed=1)
    assert np.isfinite(w).all()


def test_selection_scales_are_those_of_the_dossier() -> None:
    """Gumbel: b = C / sqrt(8 rho) for rows there or not, twice that for replaced rows."""
    rho = 0.02
    for neighbours, factor in ((Neighbours.ZERO_OUT, 1), (Neighbours.REPLACE_ONE, 2)):
        scores = Bounded(np.array([1, 2]), Contribution(linf=1000, monotone=True), Fraction(1), neighbours)
        eta = math.sqrt(8 * rho)
        assert scores.sensitivity("range") / eta == pytest.approx(factor * 1000 / math.sqrt(8 * rho))


def test_a_purse_charges_before_it_opens_and_never_more_than_it_holds() -> None:
    value = Bounded(np.array([5, 7]), Contribution(linf=1, monotone=True), Fraction(1), Neighbours.ZERO_OUT)
    purse = Metered(0.3)
    for _ in range(3):
        purse.select(value, 0.05)
        purse.release(value, 0.05)
    assert not purse.fits(1e-3)
    with pytest.raises(PrivacyError, match="does not fit"):
        purse.release(value, 0.01)
    assert purse.purse.spent <= purse.purse.limit
    assert replace(purse).fits(0.29), "a copy is a new purse: each run has its own"


@pytest.mark.slow
def test_it_does_not_need_to_know_the_number_of_steps() -> None:
    """Fixed descent to its last iterate is best near 128 steps here; 32 and 512 lose to adaptive steps.

    Means of 10 seeds; each has a deviation of about 0.001 to 0.002.
    """
    task = problem(ONE)
    ours = excess(AdaptiveGradientDescent(), task, seeds=10)
    few, many = (excess(GradientDescent(steps=t, momentum=0.0, average="last"), task, seeds=10) for t in (32, 512))
    assert ours < min(few, many)
