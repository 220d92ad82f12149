"""Laws that hold for every event, relation and accountant, the library's included.

The first: composing k copies equals k-fold self-composition.  Our trees are taken apart before anything is priced,
so ours can't break it; the raw library does, in one known place, and the law finds it.
"""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.privacy_accountant import NeighboringRelation, UnsupportedEventError
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import accounting
from discreet.accounting.events import (
    ApproximateDpEvent,
    BoundedRangeDpEvent,
    PureDpEvent,
    ReplaceOneSampledDpEvent,
    compose,
    leaves,
    repeat,
    tally,
)
from discreet.privacy import Budget, PrivacyError

GAUSS = dp_event.GaussianDpEvent
EVENTS = {
    "gaussian": GAUSS(3.0),
    "laplace": dp_event.LaplaceDpEvent(5.0),
    "discrete-laplace": dp_event.DiscreteLaplaceDpEvent(0.1, 2),
    "randomized-response": dp_event.RandomizedResponseDpEvent(0.9, 3),
    "poisson-gaussian": dp_event.PoissonSampledDpEvent(0.1, GAUSS(2.0)),
    "poisson-laplace": dp_event.PoissonSampledDpEvent(0.1, dp_event.LaplaceDpEvent(2.0)),
    "fixed-batch": dp_event.SampledWithoutReplacementDpEvent(100, 10, GAUSS(2.0)),
    "truncated-batch": dp_event.TruncatedSubsampledGaussianDpEvent(100, 0.05, 12, 4.0),
    "mixture": dp_event.MixtureOfGaussiansDpEvent(8.0, [0.0, 1.0], [0.5, 0.5]),
    "zcdp": dp_event.ZCDpEvent(0.01),
    "tree": dp_event.SingleEpochTreeAggregationDpEvent(6.0, 8),
    "repeat-and-select": dp_event.RepeatAndSelectDpEvent(GAUSS(20.0), 2.0, 1.0),
    "pure": PureDpEvent(0.2),
    "approximate": ApproximateDpEvent(0.2, 1e-9),
    "bounded-range": BoundedRangeDpEvent(0.2),
    "replace-one": ReplaceOneSampledDpEvent(0.1, GAUSS(2.0)),
    "nested": dp_event.ComposedDpEvent([GAUSS(9.0), dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(9.0), 2)]),
}
NAMES = sorted(EVENTS)
SLOW = {"mixture", "truncated-batch"}  # tabulated by the library, a second each
K = 6


def prices(event: dp_event.DpEvent, accountant: str) -> list[float]:
    return [accounting.epsilon(t, 1e-5, accountant=accountant) for t in (compose(*[event] * K), repeat(event, K))]


@pytest.mark.parametrize("accountant", ["auto", *accounting.ACCOUNTANTS])
@pytest.mark.parametrize("name", NAMES)
def test_k_copies_cost_what_a_k_fold_repetition_costs(name, accountant):
    if accountant != "auto" and not accounting.ACCOUNTANTS[accountant].reads(tally(EVENTS[name])):
        with pytest.raises(ValueError, match="can't read"):
            prices(EVENTS[name], accountant)
        return
    if name in SLOW and accountant not in {"auto", "basic"}:
        with_curve = accountant in {"rdp", "moments"}
        if with_curve:
            assert accounting.epsilon(EVENTS[name], 1e-5, accountant=accountant) == math.inf
        return
    copies, repeated = prices(EVENTS[name], accountant)
    assert copies == repeated
    once = accounting.epsilon(EVENTS[name], 1e-5, accountant=accountant)
    assert repeated >= once
    if 0 < once < math.inf:
        assert repeated > once * 1.2


def library_breaks() -> set[tuple[str, str, str]]:
    """Where the raw library's price of copies differs from that of a repetition."""
    broken = set()
    for name in NAMES:
        if name in SLOW:
            continue
        for reader, grid in ((PLDAccountant, {"value_discretization_interval": 1e-3}), (RdpAccountant, {})):
            for relation in NeighboringRelation:
                try:
                    copies, repeated = (
                        reader(neighboring_relation=relation, **grid).compose(tree).get_epsilon(1e-5)
                        for tree in (compose(*[EVENTS[name]] * K), repeat(EVENTS[name], K))
                    )
                except UnsupportedEventError:
                    continue
                if not math.isclose(copies, repeated, rel_tol=1e-3, abs_tol=1e-6):
                    broken.add((name, reader.__name__, relation.name))
    return broken


def test_the_law_detects_where_the_library_breaks_it():
    """A repetition priced once, for randomised response; and nowhere else in the version that is pinned."""
    assert library_breaks() == {
        ("randomized-response", "PLDAccountant", "REPLACE_ONE"),
        ("randomized-response", "PLDAccountant", "REPLACE_SPECIAL"),
    }


def test_ours_is_right_where_the_library_is_not():
    """A hundred two-bucket responses against the binomial sum."""
    noise, count, delta = 0.9, 100, 1e-6
    event = repeat(dp_event.RandomizedResponseDpEvent(noise, 2), count)
    truth = 1 - noise / 2
    loss = math.log(truth / (1 - truth))
    eps = accounting.epsilon(event, delta)
    exact = sum(
        math.comb(count, k)
        * truth**k
        * (1 - truth) ** (count - k)
        * max(0.0, -math.expm1(eps - (2 * k - count) * loss))
        for k in range(count + 1)
    )
    assert delta * 0.99 < exact <= delta
    wrong = PLDAccountant(NeighboringRelation.REPLACE_ONE).compose(event).get_epsilon(delta)
    assert wrong < eps / 10


@pytest.mark.parametrize("name", sorted(set(NAMES) - SLOW))
def test_epsilon_falls_as_delta_grows_and_delta_as_epsilon_grows(name):
    event = repeat(EVENTS[name], 3)
    by_delta = [accounting.epsilon(event, d) for d in (1e-12, 1e-8, 1e-5, 1e-2)]
    assert all(a >= b for a, b in pairwise(by_delta))
    by_epsilon = [accounting.delta(event, e) for e in (0.0, 0.1, 0.5, 2.0)]
    assert all(a >= b for a, b in pairwise(by_epsilon))


@pytest.mark.parametrize("name", sorted(set(NAMES) - SLOW))
def test_epsilon_and_delta_are_two_views_of_one_curve(name):
    event = repeat(EVENTS[name], 3)
    for delta in (1e-7, 1e-3):
        eps = accounting.epsilon(event, delta)
        if math.isfinite(eps) and eps > 0:
            assert accounting.delta(event, eps) <= delta * (1 + 1e-4)
            assert accounting.delta(event, eps * 0.98) >= delta * (1 - 1e-6) or eps >= accounting.pure.epsilon_of(event)


@settings(max_examples=12)
@given(
    st.lists(st.sampled_from(sorted(set(NAMES) - SLOW)), min_size=1, max_size=4),
    st.sampled_from(sorted(set(NAMES) - SLOW)),
)
def test_one_more_event_never_costs_less(names, extra):
    tree = compose(*(EVENTS[n] for n in names))
    for delta in (1e-6, 1e-3):
        more = accounting.epsilon(compose(tree, EVENTS[extra]), delta)
        less = accounting.epsilon(tree, delta)
        # auto may know a leaf by its Renyi curve only, which prices the whole tree by its curve
        assert more >= less * (1 - 1e-6) - 1e-12


@given(st.lists(st.integers(0, 3), min_size=1, max_size=5), st.integers(1, 4))
def test_taking_a_tree_apart_keeps_counts(counts, outer):
    inner = compose(*(repeat(PureDpEvent(0.1 * (i + 1)), c) for i, c in enumerate(counts)))
    tree = repeat(inner, outer)
    assert sum(n for _, n in leaves(tree)) == sum(n for _, n in tally(tree)) == outer * sum(counts)
    assert accounting.pure.epsilon_of(tree) == pytest.approx(
        outer * sum(0.1 * (i + 1) * c for i, c in enumerate(counts))
    )


def test_bad_trees_are_refused():
    with pytest.raises(ValueError, match="count"):
        repeat(GAUSS(1.0), -1)
    with pytest.raises(ValueError, match="count"):
        leaves(dp_event.SelfComposedDpEvent(GAUSS(1.0), -2))
    with pytest.raises(ValueError, match="different steps"):
        leaves(repeat(compose(GAUSS(1.0), PureDpEvent(1.0)), 10**6))
    for bad in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="epsilon"):
            PureDpEvent(bad)
        with pytest.raises(ValueError, match="eta"):
            BoundedRangeDpEvent(bad)
    with pytest.raises(ValueError, match="delta"):
        ApproximateDpEvent(1.0, 1.5)
    with pytest.raises(ValueError, match="not an event"):
        accounting.epsilon(dp_event.UnsupportedDpEvent(), 1e-6)
    with pytest.raises(ValueError, match="noise_multiplier"):
        accounting.epsilon(GAUSS(-1.0), 1e-6)


@given(st.integers(1, 60), st.fractions(0, 10), st.fractions(0, "1/3"))
def test_budget_splits_compose_exactly(count, epsilon, delta):
    whole = Budget(epsilon=epsilon, delta=delta)
    shares = whole.split(count)
    assert sum(shares[1:], shares[0]) == whole
    left = whole
    for share in shares:
        left = left - share
    assert left == Budget(epsilon=0)
    with pytest.raises(PrivacyError):
        _ = left - Budget(epsilon=0.001)
