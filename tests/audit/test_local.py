"""Every local randomiser, attacked through the program that draws: what is sent for one value, against another's.

The laws are checked exactly in ``tests/local``; this looks at draws alone and would see a sampler that doesn't follow
its law.  Seeds are fixed; were they not, one of 36 sound cases would be caught with probability 3.6 % (0.1 % for each).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest

from discreet import local
from discreet.audit.distinguishing import distinguish
from discreet.local.sampling import odds
from discreet.randomness import SeededSource

BALL = np.array([1.0, 0.0, 0.0])
PAIRS = {
    "rr": (local.BinaryResponse, (), 0, 1),
    "krr": (local.KaryResponse, (4,), 0, 1),
    "sue": (local.SymmetricUnary, (4,), 0, 1),
    "oue": (local.OptimizedUnary, (4,), 0, 1),
    "laplace": (local.TruncatedLaplace, (), -1.0, 1.0),
    "duchi": (local.Duchi, (), -1.0, 1.0),
    "piecewise": (local.Piecewise, (), -1.0, 1.0),
    "hybrid": (local.Hybrid, (), -1.0, 1.0),
    "duchi_vector": (local.DuchiVector, (3,), -np.ones(3), np.ones(3)),
    "hemisphere": (local.Hemisphere, (3,), -BALL, BALL),
    "privunit": (local.PrivUnit, (3,), -BALL, BALL),
    "privunit_g": (local.PrivUnitG, (3,), -BALL, BALL),
}
RUNS = 20_000


def draws(randomizer, value, seed: int) -> np.ndarray:
    values = np.repeat(np.asarray(value)[None, ...], RUNS, axis=0)
    return randomizer.randomize(values, SeededSource(seed)).astype(np.float64)


def attacked(randomizer, pair, promised: float):
    messages = [draws(randomizer, value, seed) for seed, value in enumerate(pair)]
    if isinstance(randomizer, local.SymmetricUnary):  # both bits that differ at once: the message that says most
        messages = [np.column_stack([m, m[:, 0] - m[:, 1]]) for m in messages]
    return distinguish(*messages, promised, 0.0, confidence=0.999)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("name", PAIRS)
def test_no_randomiser_is_caught(name: str, epsilon: float) -> None:
    make, arguments, *pair = PAIRS[name]
    result = attacked(make(epsilon, *arguments), pair, epsilon)
    assert not result.caught, result


@pytest.mark.parametrize("name", PAIRS)
def test_the_attack_sees_most_of_what_is_spent(name: str) -> None:
    """At epsilon 1 the lower bound is above a half, so that silence above says something."""
    make, arguments, *pair = PAIRS[name]
    assert attacked(make(1.0, *arguments), pair, 1.0).epsilon_lower > 0.5


@pytest.mark.parametrize("name", PAIRS)
def test_planted_double_epsilon_is_caught(name: str) -> None:
    """The odds of 2 epsilon under the name of epsilon: the range's factor two, forgotten (PITFALLS 12)."""
    make, arguments, *pair = PAIRS[name]
    result = attacked(make(2.0, *arguments), pair, 1.0)
    assert result.caught, result


@dataclass(frozen=True)
class WholeEpsilonPerBit(local.SymmetricUnary):
    """Epsilon spent on each of the two bits that differ."""

    @cached_property
    def chances(self):
        a, b = odds(self.budget)
        return a, b, a + b


def test_planted_epsilon_per_bit_is_caught() -> None:
    assert attacked(WholeEpsilonPerBit(1.0, 4), (0, 1), 1.0).caught


@dataclass(frozen=True)
class NoisePerValue(local.KaryResponse):
    """One draw of noise for each value, used again whenever the value is the same (PITFALLS 7)."""

    def randomize(self, values, source=None):
        once = super().randomize(np.arange(self.k), SeededSource(5))
        return once[np.asarray(values, dtype=np.int64)]


def test_planted_noise_drawn_once_is_caught() -> None:
    assert attacked(NoisePerValue(1.0, 64), (0, 1), 1.0).caught
