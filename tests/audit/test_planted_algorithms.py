"""Each of others' mistakes rings the auditor's alarm, and the same algorithm without it doesn't.

A sound twin is caught with probability at most 5 %; the seeds are fixed, so that either always passes or always fails.
"""

from __future__ import annotations

import numpy as np
import pytest

from discreet.audit.distinguishing import distinguish
from tests.planted.algorithms import DELTA, EPSILON, TWINS

RUNS = 20_000


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
