"""Whole algorithms with one mistake each, and the same algorithms without it: what the auditor must tell apart.

Every function takes `there` (whether the row that differs is there), the number of runs and a generator, and returns
one output per run.  They are written in plain numpy, in one dimension or a few, so that thousands of runs cost nothing.
`EPSILON` and `DELTA` are what all of them promise.  A broken twin differs from the sound one by the mistake alone: no
factor is made larger than the mistake makes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from discreet.accounting import gdp
from discreet.accounting.objective_calibration import calibrate_objective
from discreet.privacy import Budget

EPSILON, DELTA = 1.0, 1e-2  # at so large a delta a noise that is sqrt(2) too small shows within 10^5 runs
Outputs = NDArray[np.float64]
Twin = Callable[[bool, int, np.random.Generator], Outputs]
MU = gdp.mu_for(EPSILON, DELTA)
STEPS = 9


def _noisy_min(sign: float) -> Twin:
    """Report noisy min with one-sided noise: subtracted from what is minimised (sound) or added to it (PITFALLS 4)."""

    def run(there: bool, runs: int, rng: np.random.Generator) -> Outputs:
        scores = np.zeros((runs, 21))
        scores[:, 1:] += 1.0 if there else 0.0
        noise = rng.exponential(1 / EPSILON, size=scores.shape)
        return (scores - sign * noise).argmin(axis=1).astype(float)[:, None]

    return run


def _gradient_descent(noise: float, steps: int = STEPS, *, fresh: bool = True) -> Twin:
    def run(there: bool, runs: int, rng: np.random.Generator) -> Outputs:
        total, kept = np.zeros((runs, steps)), rng.normal(0, noise, runs)
        for t in range(steps):
            drawn = rng.normal(0, noise, runs) if fresh else kept
            # a step whose gradient the row touches every second time, so that differences of outputs cancel old noise
            total[:, t] = (1.0 if there and t % 2 == 0 else 0.0) + drawn
        return total

    return run


def _objective(radius: float, sigma: float, ridge: float, release: float = 0.0, error: float = 0.0) -> Twin:
    """A logistic row of norm `radius` in one dimension, perturbed with `sigma`; solver off by `error` either way."""

    def run(there: bool, runs: int, rng: np.random.Generator) -> Outputs:
        b = rng.normal(0, sigma, runs)
        w = -b / ridge
        if there:
            for _ in range(200):  # bisection would be as good: the gradient is increasing in w
                slope = -radius * expit(-radius * w)
                curve = radius**2 * expit(radius * w) * expit(-radius * w)
                w = w - np.clip((slope + ridge * w + b) / (ridge + curve), -5.0, 5.0)
        w = w + (error if there else -error)
        return (w + rng.normal(0, release, runs) if release else w)[:, None]

    return run


def _vector(shift: list[float], noise: float) -> Twin:
    """A statistic that the row moves by `shift`, with Gaussian noise."""

    def run(there: bool, runs: int, rng: np.random.Generator) -> Outputs:
        moved = np.array(shift) if there else np.zeros(len(shift))
        return moved + rng.normal(0, noise, (runs, len(shift)))

    return run


def _batches(noise: float, batch: int = 10, rows: int = 100, steps: int = 1) -> Twin:
    """Means over batches of a fixed size, with the noise of means over all rows (PITFALLS 18)."""

    def run(there: bool, runs: int, rng: np.random.Generator) -> Outputs:
        joined = rng.random((runs, steps)) < batch / rows
        means = joined * (1.0 / batch if there else 0.0)
        return (means + rng.normal(0, noise, (runs, steps))).max(axis=1)[:, None]

    return run


def _full_batches(noise: float, steps: int = 1) -> Twin:
    def run(there: bool, runs: int, rng: np.random.Generator) -> Outputs:
        return (rng.normal(0, noise, (runs, steps)) + (0.01 if there else 0.0)).max(axis=1)[:, None]

    return run


def _phases(each: float) -> Twin:
    """Two phases, each at pure epsilon `each`."""

    def run(there: bool, runs: int, rng: np.random.Generator) -> Outputs:
        shift = 1.0 if there else 0.0
        return shift + rng.laplace(loc=0.0, scale=1 / each, size=(runs, 2))

    return run


def _branch(data_dependent: bool) -> Twin:
    """Zero is returned when the result 'explodes', judged by the exact value (PITFALLS 28)."""

    def run(there: bool, runs: int, rng: np.random.Generator) -> Outputs:
        exact = 1.0 if there else 0.0
        noisy = exact + rng.normal(0, 1 / MU, runs)
        return np.where((exact if data_dependent else noisy) > 0.5, 0.0, noisy)[:, None]

    return run


def _newton(exact_hessian: bool) -> Twin:
    """A step divided by the curvature: the exact one (PITFALLS 30) or a public bound on it."""

    def run(there: bool, runs: int, rng: np.random.Generator) -> Outputs:
        gradient = rng.normal(0, 1 / MU, runs) + (0.5 if there else 0.0)
        curvature = (0.25 if there else 0.0) + 0.05 if exact_hessian else 1.0
        return (gradient / curvature)[:, None]

    return run


RIDGE = 1.0
SIGMA = calibrate_objective(Budget(EPSILON, DELTA), ridge=RIDGE, share=0.0).sigma
TAU = 2.0  # a solver's tolerance, large against the noise so that ignoring it shows

#: PITFALLS number -> (what it is, broken twin, sound twin)
TWINS: dict[int, tuple[str, Twin, Twin]] = {
    4: ("noisy min with the noise pushing the wrong way", _noisy_min(-1.0), _noisy_min(1.0)),
    6: (
        "a share of mu multiplied by the root of the steps where it is divided",
        _vector([1.0] * STEPS, 1 / (MU * math.sqrt(STEPS))),
        _vector([1.0] * STEPS, math.sqrt(STEPS) / MU),
    ),
    7: (
        "one noise vector for all steps",
        _gradient_descent(math.sqrt(STEPS) / MU, fresh=False),
        _gradient_descent(math.sqrt(STEPS) / MU),
    ),
    10: (
        "a constant column beside a row of norm 1",
        _vector([1.0, 1.0], 1 / MU),
        _vector([math.sqrt(0.5), math.sqrt(0.5)], 1 / MU),
    ),
    11: (
        "the row norm where its square belongs",
        _objective(40.0, 40 * SIGMA, RIDGE * 40),
        _objective(40.0, 40 * SIGMA, RIDGE * 1600),
    ),
    12: ("no factor two when a row is replaced", _vector([2.0], 1 / MU), _vector([2.0], 2 / MU)),
    13: (
        "a softmax row taken to be bounded by 1",
        _vector([1.0, -1.0], 1 / MU),
        _vector([1.0, -1.0], math.sqrt(2.0) / MU),
    ),
    17: (
        "an inexact minimum released as it is",
        _objective(1.0, SIGMA, RIDGE, error=TAU / RIDGE),
        _objective(1.0, 2 * SIGMA, RIDGE, release=8 * TAU / RIDGE / MU, error=TAU / RIDGE),
    ),
    18: ("full-data noise on means of batches", _batches(0.01 / MU), _full_batches(0.01 / MU)),
    21: ("the full budget in each of two phases", _phases(EPSILON), _phases(EPSILON / 2)),
    28: ("a branch on the exact value", _branch(True), _branch(False)),
    30: ("a step from the exact curvature", _newton(True), _newton(False)),
}
