"""The distinguishing attack: run an algorithm many times on two neighbours and bound epsilon from below.

Half of the runs choose what to look at (a statistic and a threshold); the other half, untouched, decides.  The bound is
exact: Clopper-Pearson limits on two binomial frequencies, and nothing about the algorithm is assumed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

__all__ = ["AuditResult", "Statistic", "distinguish", "epsilon_lower"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class AuditResult:
    """What an audit found.

    Attributes
    ----------
    epsilon_lower : float
        The algorithm is not (epsilon, delta)-private for any epsilon below this, with the given confidence.
    confidence : float
        Probability that the bound is right, over the runs of the audit.
    promised : float
        The epsilon that was promised.
    delta : float
        The delta of the promise.
    runs : int
        Runs in all.
    statistic : str
        What told the neighbours apart best.

    Examples
    --------
    >>> AuditResult(1.4, 0.95, 1.0, 1e-6, 2000, "coordinate 0").caught
    True
    >>> print(AuditResult(0.4, 0.95, 1.0, 1e-6, 2000, "the norm"))
    epsilon is at least 0.4 (95 % confidence, 2000 runs, by the norm); promised 1 at delta 1e-06: not caught
    """

    epsilon_lower: float
    confidence: float
    promised: float
    delta: float
    runs: int
    statistic: str
    scores: tuple[Floats, Floats] = field(default=(np.zeros(0), np.zeros(0)), repr=False, compare=False)

    @property
    def caught(self) -> bool:
        """Whether the lower bound is above the promise."""
        return self.epsilon_lower > self.promised

    def __str__(self) -> str:
        """The verdict in a sentence."""
        verdict = "CAUGHT: that is more than was promised" if self.caught else "not caught"
        return (
            f"epsilon is at least {self.epsilon_lower:.3g} ({100 * self.confidence:g} % confidence, {self.runs} runs, "
            f"by {self.statistic}); promised {self.promised:g} at delta {self.delta:g}: {verdict}"
        )

    def plot(self, ax: Any = None) -> Any:
        """The two distributions of the chosen statistic; needs matplotlib (the extra ``plots``)."""
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots()[1]
        both = np.concatenate(self.scores)
        low, high = (float(q) for q in np.quantile(both, [0.001, 0.999]))
        bins = np.linspace(low, high, 60)
        for scores, name in zip(self.scores, ("first data set", "its neighbour"), strict=True):
            ax.hist(scores, bins=bins, alpha=0.5, label=name)
        ax.set_xlabel(self.statistic)
        ax.set_ylabel("runs")
        ax.set_title(f"epsilon at least {self.epsilon_lower:.2f} (promised {self.promised:g})")
        ax.legend()
        return ax


def epsilon_lower(hits: int, n_hits: int, alarms: int, n_alarms: int, delta: float, confidence: float) -> float:
    """A lower bound on epsilon from an event seen `hits` times under one data set and `alarms` times under the other.

    Each of the two frequencies may fail with half of ``1 - confidence``.

    >>> round(epsilon_lower(1000, 1000, 0, 1000, 0.0, 0.95), 2)
    5.6
    >>> epsilon_lower(10, 1000, 12, 1000, 0.0, 0.95)
    0.0
    """
    miss = (1 - confidence) / 2
    low = 0.0 if hits == 0 else float(betaincinv(hits, n_hits - hits + 1, miss))
    high = 1.0 if alarms == n_alarms else float(betaincinv(alarms + 1, n_alarms - alarms, 1 - miss))
    if low - delta <= high:
        return 0.0
    return math.log((low - delta) / high)


Statistic = Callable[[Floats], Floats]


def _statistics(a: Floats, b: Floats) -> dict[str, Statistic]:
    """Ways of turning an output into one number, learned from the first half of the runs."""
    both = np.concatenate([a, b])
    spread = both.std(axis=0)
    found: dict[str, Statistic] = {}
    middle = np.median(both, axis=0)
    order = np.argsort(-np.abs(a.mean(axis=0) - b.mean(axis=0)) / np.maximum(spread, 1e-300))
    wide = np.argsort(-np.abs(a.std(axis=0) - b.std(axis=0)) / np.maximum(spread, 1e-300))
    for j in {int(v) for v in (*order[:8], *wide[:4])}:
        found[f"coordinate {j}"] = lambda x, j=j: x[:, j]  # type: ignore[misc]
        found[f"coordinate {j}, distance from its middle"] = lambda x, j=j: np.abs(x[:, j] - middle[j])  # type: ignore[misc]
    found["norm"] = lambda x: np.linalg.norm(x, axis=1)
    if a.shape[1] > 1:
        cov = (np.cov(a.T) + np.cov(b.T)) / 2
        ridge = 1e-6 * np.trace(cov) / len(cov) + 1e-300
        direction = np.linalg.lstsq(cov + ridge * np.eye(len(cov)), a.mean(axis=0) - b.mean(axis=0), rcond=None)[0]
        found["best direction"] = lambda x: x @ direction
    # whether an output sits on a lattice that the other data set never reaches (floating-point leaks)
    found["on the lattice of 2**-53"] = lambda x: np.mean(np.mod(x * 2.0**53, 1.0) == 0.0, axis=1)
    return found


def _best_cut(a: Floats, b: Floats, delta: float, confidence: float) -> tuple[float, float, int]:
    """Threshold and side with the largest bound on these scores: (bound, threshold, sign)."""
    best = (-1.0, 0.0, 1)
    both = np.concatenate([a, b])
    for sign in (1, -1):
        cuts = np.unique(np.quantile(sign * both, np.concatenate([np.linspace(0, 1, 41), [0.005, 0.01, 0.99, 0.995]])))
        for cut in cuts:
            hits, alarms = int(np.sum(sign * a >= cut)), int(np.sum(sign * b >= cut))
            bound = epsilon_lower(hits, len(a), alarms, len(b), delta, confidence)
            # where nothing is proved yet, prefer what separates most
            value = bound if bound > 0 else (hits / len(a) - alarms / len(b)) * 1e-3
            if value > best[0]:
                best = (value, float(cut), sign)
    return best


def distinguish(first: Floats, second: Floats, promised: float, delta: float, confidence: float = 0.95) -> AuditResult:
    """Bound epsilon from below by outputs (one per row) of an algorithm on two neighbours.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(0, 1, (2000, 1)), rng.normal(3, 1, (2000, 1))
    >>> distinguish(a, b, promised=1.0, delta=1e-6).caught
    True
    """
    first, second = (np.asarray(x, dtype=np.float64).reshape(len(x), -1) for x in (first, second))
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise ValueError("the audited algorithm returned something that is not a finite number")
    h0, h1 = len(first) // 2, len(second) // 2
    best: tuple[float, str, Statistic, float, int, bool] | None = None
    for name, statistic in _statistics(first[:h0], second[:h1]).items():
        s0, s1 = statistic(first[:h0]), statistic(second[:h1])
        for swapped in (False, True):
            value, cut, sign = _best_cut(*((s1, s0) if swapped else (s0, s1)), delta, confidence)
            if best is None or value > best[0]:
                best = (value, name, statistic, cut, sign, swapped)
    assert best is not None
    _, name, statistic, cut, sign, swapped = best
    t0, t1 = statistic(first[h0:]), statistic(second[h1:])
    a, b = (t1, t0) if swapped else (t0, t1)
    bound = epsilon_lower(int(np.sum(sign * a >= cut)), len(a), int(np.sum(sign * b >= cut)), len(b), delta, confidence)
    return AuditResult(bound, confidence, promised, delta, len(first) + len(second), name, (t0, t1))
