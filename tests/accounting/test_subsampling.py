"""What sampling saves, under each relation; the mistakes of the sources are refuted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.privacy_accountant import NeighboringRelation
from dp_accounting.rdp import RdpAccountant
from hypothesis import given
from hypothesis import strategies as st

from discreet import accounting
from discreet.accounting import leaf_losses, pld, rdp, subsampling
from discreet.accounting.events import PureDpEvent, ReplaceOneSampledDpEvent, repeat

GAUSS = dp_event.GaussianDpEvent


def test_amplification_and_the_lemma_that_is_too_good():
    """(q eps, q delta), as one source prints, is false: sampled randomised response attains log(1 + q (e^eps - 1))."""
    q, eps = 0.1, 1.0
    sampled, _ = subsampling.amplify(eps, 0.0, q)
    p = 1 / (1 + math.exp(-eps))
    attained = math.log((q * p + (1 - q) * (1 - p)) / (1 - p))  # a record that answers, against one that is not there
    assert attained == pytest.approx(sampled, rel=1e-12) and sampled == pytest.approx(0.1586, abs=1e-4)
    assert sampled > q * eps
    assert subsampling.amplify(math.inf, 0.5, 0.5) == (math.inf, 0.25)
    assert subsampling.amplify(800.0, 0.0, 0.5)[0] == pytest.approx(800 + math.log(0.5))
    assert subsampling.amplify(3.0, 0.1, 0.0) == (0.0, 0.0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        subsampling.amplify(1.0, 0.0, 1.5)


def test_the_event_depends_on_the_relation():
    assert isinstance(subsampling.poisson(GAUSS(1.0), 0.1, "zero_out"), dp_event.PoissonSampledDpEvent)
    assert isinstance(subsampling.poisson(GAUSS(1.0), 0.1, "add_remove"), dp_event.PoissonSampledDpEvent)
    assert isinstance(subsampling.poisson(GAUSS(1.0), 0.1, "replace_one"), ReplaceOneSampledDpEvent)
    with pytest.raises(ValueError, match="between 0 and 1"):
        subsampling.poisson(GAUSS(1.0), -0.1, "zero_out")


@given(
    st.floats(0.02, 0.98), st.floats(0.2, 2.5), st.floats(-2, 3), st.floats(0, 1), st.floats(0, 1), st.floats(0, 3.14)
)
def test_no_pair_of_rows_in_the_plane_beats_the_antipodal_pair(q, mu, eps, r, s, angle):
    """(1-q) N(0) + q N(x) against (1-q) N(0) + q N(y), |x|, |y| at most mu/2: by integration on a fine mesh."""
    grid = np.linspace(-7, 7, 281)
    a, b = np.meshgrid(grid, grid)

    def density(radius: float, direction: float) -> np.ndarray:
        x, y = radius * math.cos(direction), radius * math.sin(direction)
        return np.exp(-((a - x) ** 2 + (b - y) ** 2) / 2) / (2 * math.pi)

    blank = density(0, 0)
    one = (1 - q) * blank + q * density(r * mu / 2, 0.0)
    other = (1 - q) * blank + q * density(s * mu / 2, angle)
    attained = float(np.maximum(one - math.exp(eps) * other, 0).sum()) * (grid[1] - grid[0]) ** 2
    bound = leaf_losses.replaced_gaussian(q, mu / 2, 1e-3, 1e-16).delta(eps)
    assert attained <= bound + 2e-4 * (1 + math.exp(eps))


@pytest.mark.parametrize(("q", "z", "count"), [(0.01, 1.0, 300), (0.1, 1.0, 10), (0.5, 2.0, 4)])
def test_replace_one_agrees_with_the_library_told_about_half_the_sensitivity(q, z, count):
    """Its accountant doubles the sensitivity under that relation; ours has the doubling in the event."""
    ours = accounting.epsilon(repeat(ReplaceOneSampledDpEvent(q, GAUSS(z)), count), 1e-6)
    accountant = PLDAccountant(NeighboringRelation.REPLACE_ONE)
    theirs = accountant.compose(repeat(dp_event.PoissonSampledDpEvent(q, GAUSS(2 * z)), count)).get_epsilon(1e-6)
    assert ours == pytest.approx(theirs, rel=1e-4)
    by_curve = accounting.epsilon(repeat(ReplaceOneSampledDpEvent(q, GAUSS(z)), count), 1e-6, accountant="rdp")
    assert ours <= by_curve <= 2 * ours


def test_replace_one_without_sampling_is_the_plain_mechanism():
    for q, fixed in ((1.0, False), (1.0, True)):
        event = repeat(ReplaceOneSampledDpEvent(q, GAUSS(2.0), fixed), 4)
        assert accounting.epsilon(event, 1e-6) == pytest.approx(accounting.epsilon(GAUSS(1.0), 1e-6), rel=1e-4)


def test_batches_of_a_fixed_size():
    """Below the library's curve, and above what the two batches with and without the row tell apart."""
    event = repeat(dp_event.SampledWithoutReplacementDpEvent(100, 10, GAUSS(2.0)), 20)
    theirs = RdpAccountant(neighboring_relation=NeighboringRelation.REPLACE_ONE).compose(event).get_epsilon(1e-6)
    ours = accounting.epsilon(event, 1e-6)
    poisson = accounting.epsilon(repeat(ReplaceOneSampledDpEvent(0.1, GAUSS(2.0)), 20), 1e-6)
    assert poisson < ours < theirs


@pytest.mark.parametrize("fixed", [False, True])
def test_generic_replace_one_is_the_amplified_guarantee(fixed):
    event = ReplaceOneSampledDpEvent(0.2, PureDpEvent(1.0), fixed)
    assert event.pure() == pytest.approx(math.log1p(0.2 * math.expm1(1)))
    for eps in (0.0, 0.1, 0.2):
        inner = math.log1p(math.expm1(eps) / 0.2)
        expected = 0.2 * PureDpEvent(1.0).delta(inner)
        assert expected * (1 - 1e-9) <= event.delta(eps) <= expected * 1.01 + 1e-12
    orders = np.array([1.5, 2.0, 8.0])
    assert np.all(event.rdp(orders) >= 0) and np.all(event.rdp(orders) <= rdp.curve(PureDpEvent(1.0), orders))
    assert accounting.epsilon(repeat(event, 30), 1e-6) < 30 * event.pure()
    assert ReplaceOneSampledDpEvent(0.0, GAUSS(1.0)).delta(0.0) == 0
    assert np.all(ReplaceOneSampledDpEvent(0.0, GAUSS(1.0)).rdp(orders) == 0)


def test_rows_of_a_monotone_statistic_are_further_from_nothing_than_half_their_distance():
    """Orthogonal rows of norm C are sqrt(2) C apart: the pair with half of that does not cover them, sqrt(1/2) does."""
    q, c, eps = 0.05, 1.5, 0.02
    grid = np.linspace(-8, 8, 641)
    a, b = np.meshgrid(grid, grid)
    blank, one, other = (
        np.exp(-((a - x) ** 2 + (b - y) ** 2) / 2) / (2 * math.pi) for x, y in ((0, 0), (c, 0), (0, c))
    )
    gap = (1 - q) * blank + q * one - math.exp(eps) * ((1 - q) * blank + q * other)
    attained = float(np.maximum(gap, 0).sum()) * (grid[1] - grid[0]) ** 2
    event = dp_event.GaussianDpEvent(1 / (math.sqrt(2) * c))
    covered = ReplaceOneSampledDpEvent(q, event, missing=math.sqrt(0.5))
    assert attained < pld.delta(covered, eps) * 1.0001
    assert accounting.epsilon(covered, 1e-6) > accounting.epsilon(ReplaceOneSampledDpEvent(q, event), 1e-6)
    with pytest.raises(ValueError, match="missing"):
        ReplaceOneSampledDpEvent(q, event, missing=0.4)


def test_rate_outside_the_unit_interval_is_refused():
    with pytest.raises(ValueError, match="sampling_probability"):
        ReplaceOneSampledDpEvent(1.2, GAUSS(1.0))


def test_sampling_a_composition_as_a_whole():
    """Two Gaussians on one sample are one Gaussian on it; two Laplaces are priced together."""
    two = dp_event.PoissonSampledDpEvent(0.1, repeat(GAUSS(2.0), 2))
    one = dp_event.PoissonSampledDpEvent(0.1, GAUSS(2 / math.sqrt(2)))
    assert accounting.epsilon(repeat(two, 9), 1e-6) == pytest.approx(accounting.epsilon(repeat(one, 9), 1e-6), rel=1e-9)
    pair = dp_event.PoissonSampledDpEvent(0.1, repeat(dp_event.LaplaceDpEvent(1.0), 2))
    apart = repeat(dp_event.PoissonSampledDpEvent(0.1, dp_event.LaplaceDpEvent(1.0)), 2)
    both = accounting.epsilon(pair, 1e-3)
    assert both <= subsampling.amplify(2.0, 0.0, 0.1)[0] * (1 + 1e-9)
    assert both > accounting.epsilon(apart, 1e-3)  # one sample for both hides less than two samples


def test_sampled_pairs_of_a_grid_match_the_closed_form():
    for direction in ("remove", "add"):
        fine = leaf_losses.gaussian(1.0, 1e-3, 1e-14)
        through_grid = leaf_losses.sampled(fine, 0.05, direction)
        exact = leaf_losses.sampled_gaussian(0.05, 1.0, direction, 1e-3, 1e-14)
        for eps in (-0.04, 0.0, 0.05, 0.5):
            assert through_grid.delta(eps) == pytest.approx(exact.delta(eps), rel=2e-3, abs=1e-12)


def test_sampled_gaussian_curve_is_the_moment():
    q, mu = 0.1, 0.8
    x = np.linspace(-15, 25, 400_001)
    blank = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    mixed = (1 - q) * blank + q * np.exp(-((x - mu) ** 2) / 2) / math.sqrt(2 * math.pi)
    for order in (2.0, 2.5, 7.0, 11.3):
        moment = math.log(np.trapezoid((mixed / blank) ** order * blank, x)) / (order - 1)
        value = float(rdp.curve(dp_event.PoissonSampledDpEvent(q, GAUSS(1 / mu)), [order])[0])
        assert moment * (1 - 1e-7) <= value <= moment * (1 + (1e-6 if order.is_integer() else 0.1))


def test_library_tabulated_events():
    event = dp_event.TruncatedSubsampledGaussianDpEvent(200, 0.05, 20, 2.0)
    theirs = PLDAccountant(value_discretization_interval=1e-3).compose(event).get_epsilon(1e-5)
    assert pld.epsilon(event, 1e-5) == pytest.approx(theirs, rel=5e-3)


def test_the_printed_sampling_lemma_in_full():
    """The table of the errata page, where the printed form is good to a tenth, and the short forms that hold."""
    table = {(0.1, 0.01): 1.05, (0.1, 0.1): 1.05, (0.1, 0.5): 1.03, (1, 0.01): 1.70, (1, 0.1): 1.59, (1, 0.5): 1.24,
             (4, 0.01): 10.7, (4, 0.1): 4.63, (4, 0.5): 1.66}  # fmt: skip
    for (epsilon, q), times in table.items():
        assert subsampling.amplify(epsilon, 0.0, q)[0] / (q * epsilon) == pytest.approx(times, rel=5e-3)
    for q in (1e-6, 1e-3, 0.1, 0.5, 0.9, 0.999):
        for epsilon in (1e-3, 0.1, 0.18, 1.0, 1.256, 5.0):
            right, delta = subsampling.amplify(epsilon, 1e-3, q)
            assert right > q * epsilon and delta == pytest.approx(q * 1e-3)
            assert right <= q * math.expm1(epsilon)
            if epsilon <= 0.18:
                assert right <= 1.1 * q * epsilon
            if epsilon <= 1.256:
                assert right <= 2 * q * epsilon
