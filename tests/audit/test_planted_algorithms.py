"""Each of others' mistakes rings the auditor's alarm, and the same algorithm without it doesn't.

A sound twin is caught with probability at most 5 %; the seeds are fixed, so that either always passes or always fails.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from discreet.audit.distinguishing import distinguish, epsilon_lower
from discreet.mechanisms import PublishedPeeling
from tests.planted.algorithms import DELTA, EPSILON, TWINS
from tests.planted.selection import EpsilonInsideRoot

RUNS = 100_000


def attacked(twin, seed):
    rng = np.random.default_rng(seed)
    # on a public lattice, since plain float noise is told apart by its last bits (PITFALLS 8), whatever its scale
    there, gone = (np.rint(twin(side, RUNS, rng) * 2.0**20) / 2.0**20 for side in (True, False))
    return distinguish(there, gone, EPSILON, DELTA)


@pytest.mark.parametrize("number", TWINS)
def test_the_broken_twin_is_caught(number):
    name, broken, _ = TWINS[number]
    result = attacked(broken, number)
    assert result.caught, f"{name}: only epsilon {result.epsilon_lower:.2f} by {result.statistic}"


@pytest.mark.parametrize("number", TWINS)
def test_the_sound_twin_is_not(number):
    name, _, sound = TWINS[number]
    result = attacked(sound, number)
    assert not result.caught, f"{name}: {result}"


@pytest.mark.parametrize(("kind", "caught"), [(EpsilonInsideRoot, True), (PublishedPeeling, False)])
def test_epsilon_inside_the_root_is_caught_on_a_thousand_million_runs(kind, caught):
    """3: Peeling of ten values that a row moves by 1 each; the event is that nine are above the middle.

    The mistake costs twice the promise, and at so small an epsilon that takes many runs; how often an event happens in
    n runs is binomial, so that they need not be run one by one.
    """
    k, promised, delta, runs = 10, 0.01, 1e-6, 10**9
    below = 0.5 * np.exp(-0.5 / kind(k, promised, delta).noise_multiplier)  # Laplace noise beyond half the move
    rng = np.random.default_rng(3)
    hits, alarms = (int(rng.binomial(runs, stats.binom.sf(8, k, up))) for up in (1 - below, below))
    assert (epsilon_lower(hits, runs, alarms, runs, delta, 0.95) > 1.5 * promised) == caught
