"""Broken twins of the selections (numbers refer to PITFALLS): each must raise an alarm in the tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import mpmath
import numpy as np

from discreet.accounting.events import BoundedRangeDpEvent
from discreet.mechanisms import NoisyTopK, PermuteAndFlip, PublishedPeeling
from discreet.mechanisms.buckets import open_scores, selection_rate
from discreet.privacy import Bounded


class NegatedNoiseMin(PermuteAndFlip):
    """4: the noisy smallest, by negating scores and one-sided noise together: the noise pushes the wrong way."""

    def select_smallest(self, scores: Bounded) -> int:
        values = open_scores(scores)
        uniform = (self.source.words(values.size) >> np.uint64(11)).astype(float) * 2.0**-53
        noise = -np.log1p(-uniform) / float(selection_rate(scores, self.epsilon))
        return int(np.argmax(-(values + noise)))

    @staticmethod
    def probabilities(scores: Sequence[int], rate: Fraction) -> list[mpmath.mpf]:
        """Exact: exponential clocks that start at the scores; who is rung first."""
        r = mpmath.mpf(rate.numerator) / rate.denominator
        order = sorted(scores)
        out = [mpmath.mpf(0)] * len(scores)
        survival = mpmath.mpf(1)
        for m, start in enumerate(order, 1):
            length = order[m] - start if m < len(order) else mpmath.inf
            rung = survival * (1 - mpmath.exp(-m * r * length))
            for v, score in enumerate(scores):
                if score <= start:
                    out[v] += rung / sum(1 for q in scores if q <= start)
            survival -= rung
        return out


@dataclass(frozen=True)
class EpsilonInsideRoot(PublishedPeeling):
    """3: epsilon inside the square root of the noise."""

    @property
    def noise_multiplier(self) -> float:
        return 2 * math.sqrt(3 * self.k * math.log(1 / self.delta) / self.epsilon)


@dataclass(frozen=True)
class OneRoundPriced(NoisyTopK):
    """20: k rounds priced as one."""

    @property
    def event(self) -> BoundedRangeDpEvent:
        return BoundedRangeDpEvent(self.eta)


def single_change_rate(scores: Bounded, eta: float) -> Fraction:
    """12: the change of one score where the *range* of changes is meant: half the noise for scores of both signs."""
    return Fraction(eta) / scores.sensitivity("linf")
