"""Exact output probabilities of selections, by formula at 60 digits, and helpers to compare draws with them.

Nothing here shares code with the package: the formulas are the textbook ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

import mpmath
import numpy as np
from scipy import stats

from discreet.privacy import Bounded, Contribution, Neighbours
from discreet.randomness import SeededSource, Source

Real = mpmath.mpf
SLACK = Real(10) ** -40  # of the 60 digits at which tests/conftest.py starts every test
FALSE_ALARM = 1e-6  # of each chi-square test; seeds are fixed, so a pass stays a pass


def sealed(values: Iterable[int], linf: int = 1, monotone: bool = False, neighbors: str = "zero_out") -> Bounded:
    array = np.asarray(list(values) if not isinstance(values, np.ndarray) else values)
    return Bounded(array, Contribution(linf=linf, monotone=monotone), Fraction(1), Neighbours(neighbors))


def softmax(scores: Sequence[int], rate: Fraction) -> list[Real]:
    """Probabilities of the exponential mechanism at weights exp(rate * score)."""
    weights = [mpmath.exp(_mp(rate) * (q - max(scores))) for q in scores]
    return [w / sum(weights) for w in weights]


def permute_and_flip(scores: Sequence[int], rate: Fraction) -> list[Real]:
    """p_v times the integral over t in [0, 1] of the product over the others of (1 - t p_u)."""
    p = [mpmath.exp(_mp(rate) * (q - max(scores))) for q in scores]
    out = []
    for v in range(len(p)):
        poly = [Real(1)]
        for u, chance in enumerate(p):
            if u != v:
                poly = [a - chance * b for a, b in zip([*poly, Real(0)], [Real(0), *poly], strict=True)]
        out.append(p[v] * sum(c / (n + 1) for n, c in enumerate(poly)))
    return out


def laplace_max(scores: Sequence[int], scale: Fraction) -> list[Real]:
    """Report-noisy-max with round(Laplace(scale)): sums over the winning value; ties go to the first."""
    b = _mp(scale)

    def cdf(t: int) -> Real:  # P(round(Laplace) <= t)
        x = (t + Real(1) / 2) / b
        return mpmath.exp(x) / 2 if x < 0 else 1 - mpmath.exp(-x) / 2

    reach = int(60 * float(scale)) + 5
    out = [Real(0)] * len(scores)
    for t in range(min(scores) - reach, max(scores) + reach):
        at_most, below = [cdf(t - q) for q in scores], [cdf(t - 1 - q) for q in scores]
        for v in range(len(scores)):
            chance = at_most[v] - below[v]
            for u in range(len(scores)):
                if u != v:
                    chance *= below[u] if u < v else at_most[u]
            out[v] += chance
    return out


def top_k(scores: Sequence[int], rate: Fraction, k: int) -> dict[tuple[int, ...], Real]:
    """Probabilities of ordered choices: exponential mechanism rounds without replacement."""
    found: dict[tuple[int, ...], Real] = {(): Real(1)}
    for _ in range(k):
        longer: dict[tuple[int, ...], Real] = {}
        for chosen, chance in found.items():
            left = [v for v in range(len(scores)) if v not in chosen]
            for v, p in zip(left, softmax([scores[v] for v in left], rate), strict=True):
                longer[(*chosen, v)] = chance * p
        found = longer
    return found


def log_ratios(p: Sequence[Real], q: Sequence[Real]) -> list[Real]:
    return [mpmath.log(a / b) for a, b in zip(p, q, strict=True)]


def range_of_loss(p: Sequence[Real], q: Sequence[Real]) -> Real:
    """Largest minus smallest log-likelihood ratio: what eta-bounded range bounds."""
    losses = log_ratios(p, q)
    return max(losses) - min(losses)


def largest_loss(p: Sequence[Real], q: Sequence[Real]) -> Real:
    """What pure epsilon bounds."""
    return max(abs(loss) for loss in log_ratios(p, q))


def hockey_stick(p: Iterable[Real], q: Iterable[Real], epsilon: float) -> Real:
    return sum((max(a - mpmath.exp(epsilon) * b, Real(0)) for a, b in zip(p, q, strict=True)), Real(0))


def p_value(counts: Sequence[int], probabilities: Sequence[Real]) -> float:
    """Chi-square p-value, cells of expectation below 5 thrown together."""
    n = sum(counts)
    expected = np.array([float(p) * n for p in probabilities])
    observed = np.array(counts, dtype=float)
    big = expected >= 5
    if not big.all():
        small = float(expected[~big].sum()), float(observed[~big].sum())
        if small[0] < 1e-3 and small[1] > 0:
            return 0.0
        expected, observed = np.append(expected[big], small[0]), np.append(observed[big], small[1])
        keep = expected > 1e-3
        expected, observed = expected[keep], observed[keep]
    if len(expected) == 1:
        return 1.0
    return float(stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue)


def frequencies(draw: Callable[[], int], size: int, n: int) -> list[int]:
    counts = [0] * size
    for _ in range(n):
        counts[draw()] += 1
    return counts


def _mp(x: Fraction) -> Real:
    return Real(x.numerator) / x.denominator


class Scripted(Source):
    """Given words first, a seeded stream afterwards."""

    private = False

    def __init__(self, words: Iterable[int], seed: int = 0) -> None:
        self._first, self._rest = list(words), SeededSource(seed)

    def words(self, n: int) -> np.ndarray:
        first, self._first = self._first[:n], self._first[n:]
        return np.concatenate([np.array(first, dtype=np.uint64), self._rest.words(n - len(first))])

    def child(self, *labels: int | str) -> Source:
        return self._rest.child(*labels)
