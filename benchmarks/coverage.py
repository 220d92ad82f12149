"""How often nominal 95 % intervals of coefficients cover, over simulated tables and fits, regime by regime.

``python -m benchmarks.coverage [--quick] [--only WORD]`` prints a table and, as its last line, one JSON object with
``coverage_mean`` (over coefficients), ``coverage_worst_low`` and ``coverage_worst_high`` (the coefficient that is
covered least, and most) of each regime, and over the regimes within the stated limits.

The target is the coefficient of the *clipped population*: rows are cut to the bounds that the fit bought, the whitened
solver's map and weights are those of the fit, and the loss is averaged over the population.  The average over targets
is worked out, not sampled (there are eight values of the noise, or two classes); the one over rows is a quasi-random
sum, so that the target's own error is small beside an interval.  Infinite intervals ("nothing can be said") count
neither as hits nor as misses; `finite` is the share of the others.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import qmc

from discreet import HuberRegressor, LinearRegression, LogisticRegression
from discreet.losses import LogisticLoss, Loss, PseudoHuberLoss, SquaredLoss
from discreet.randomness import data_generator
from discreet.solvers import ObjectivePerturbation, SufficientStatistics, WhitenedObjectivePerturbation
from discreet.solvers.whitened_objective_perturbation import CAP

Floats = NDArray[np.float64]
HALF = 2.0  # of the public range of a regression's target
NOISE = np.array([-0.9, -0.7, -0.5, -0.3, -0.1, 0.2, 0.6, 1.7]) * 0.4  # equally likely; their sum is zero


@dataclass(frozen=True)
class Recorder(WhitenedObjectivePerturbation):
    """The whitened solver, which writes down the released map, so that the target can be worked out for it."""

    seen: list[Floats] = field(default_factory=list, compare=False, repr=False)

    def _whitening(self, noisy: Floats, deviation: float, n_rows: int, exponent: float) -> Floats:
        found = super()._whitening(noisy, deviation, n_rows, exponent)
        self.seen.append(found)
        return found


SOLVERS: dict[str, Any] = {
    "plain": ObjectivePerturbation,
    "whitened": Recorder,
    "sufficient_statistics": SufficientStatistics,
    "auto": lambda: "auto",
}


@dataclass(frozen=True)
class Regime:
    """One population, one model, one budget.

    `design` is "independent" or "correlated" (every pair of columns at 0.6); `misspecified` bends the truth, which no
    linear model is then right about, and lets the noise grow with the first column.  Regimes not `within` the stated
    limits are measured and printed, to show where intervals stop meaning what they say.
    """

    kind: str
    solver: str
    p: int
    n: int
    epsilon: float
    design: str = "independent"
    misspecified: bool = False
    within: bool = True

    @property
    def name(self) -> str:
        """All of it, for the table."""
        bent = ", misspecified" if self.misspecified else ""
        return f"{self.kind} {self.solver}, p={self.p}, n={self.n}, epsilon={self.epsilon:g}, {self.design}{bent}"

    @cached_property
    def truth(self) -> Floats:
        """Coefficients of alternating sign, some small, whatever p."""
        size = np.resize([1.0, -0.6, 0.3, 0.0, -0.1], self.p) * (1.5 if self.kind == "logistic" else 0.4)
        return np.asarray(size * np.sqrt(5 / self.p))

    def rows(self, uniform: Floats) -> Floats:
        """Rows in [-1, 1]^p from numbers in [0, 1] (one more column than there are features)."""
        each, common = 2 * uniform[:, :-1] - 1, 2 * uniform[:, -1:] - 1
        return each if self.design == "independent" else (0.45 * each + 0.55 * common)

    def middle(self, X: Floats) -> Floats:
        """The log odds of a row, or its mean target."""
        line = X @ self.truth + (0.4 if self.kind == "logistic" else 0.2)
        bend = X[:, 0] ** 2 - 0.5 * X[:, 0] * X[:, 1] if self.misspecified else 0.0
        return np.asarray(line + bend * (1.0 if self.kind == "logistic" else 0.3))

    def outcomes(self, X: Floats) -> list[tuple[Floats, Floats]]:
        """Every target that rows can have, with its probability."""
        middle = self.middle(X)
        if self.kind == "logistic":
            one = np.ones(len(X))
            return [(one, expit(middle)), (-one, expit(-middle))]
        spread = 1 + 0.5 * X[:, 0] if self.misspecified else np.ones(len(X))
        return [(middle + spread * e, np.full(len(X), 1 / NOISE.size)) for e in NOISE]

    def table(self, seed: int) -> tuple[Floats, Floats]:
        """A sample."""
        rng = data_generator(seed)
        X = self.rows(rng.uniform(size=(self.n, self.p + 1)))
        cases = self.outcomes(X)
        chosen = (rng.uniform(size=self.n)[:, None] > np.cumsum([q for _, q in cases[:-1]], axis=0).T).sum(axis=1)
        return X, np.choose(chosen, [y for y, _ in cases])

    @cached_property
    def population(self) -> tuple[Floats, list[tuple[Floats, Floats]]]:
        """Quasi-random rows, and all targets they can have."""
        X = self.rows(qmc.Sobol(self.p + 1, rng=data_generator(1)).random_base2(15))
        return X, self.outcomes(X)

    @property
    def loss(self) -> Loss:
        """As the estimator has it, for targets over HALF."""
        if self.kind == "logistic":
            return LogisticLoss()
        return SquaredLoss() if self.kind == "linear" else PseudoHuberLoss(0.25)

    def model(self, seed: int) -> Any:
        """The estimator of one fit."""
        options: dict[str, Any] = {
            "epsilon": self.epsilon, "bounds": (-1, 1), "inference": True, "solver": SOLVERS[self.solver](),
            "random_state": seed,
        }  # fmt: skip
        if self.kind == "logistic":
            return LogisticRegression(**options)
        return (LinearRegression if self.kind == "linear" else HuberRegressor)(bounds_y=(-HALF, HALF), **options)


class Targets:
    """Minima of the average loss over a population, each found from the one before."""

    def __init__(self, regime: Regime) -> None:
        self.regime, self.start = regime, np.zeros(regime.p + 1)
        self.known: dict[float, Floats] = {}

    def __call__(self, model: Any) -> Floats:
        """The coefficients (intercept last) that this fit's intervals are about."""
        bounds, solver = model.bounds_, model.solver
        if isinstance(solver, Recorder):
            return self._minimum(bounds, solver.seen[-1])
        if bounds.l2 not in self.known:
            self.known[bounds.l2] = self._minimum(bounds, None)
        return self.known[bounds.l2]

    def _minimum(self, bounds: Any, towards: Floats | None) -> Floats:
        X, outcomes = self.regime.population
        z = X * np.minimum(1.0, bounds.l2 / np.maximum(np.linalg.norm(X, axis=1), 1e-300))[:, None]
        rows, weights = np.column_stack([z, np.full(len(z), bounds.intercept)]), np.ones(len(z))
        if towards is not None:
            rows = rows @ towards.T
            norm = np.linalg.norm(rows, axis=1)
            rows = rows * np.minimum(1.0, Recorder.longest / norm)[:, None]
            weights = np.minimum(1.0, CAP / norm)
        unit = 1.0 if self.regime.kind == "logistic" else HALF
        loss, theta = self.regime.loss, np.zeros(rows.shape[1])
        for _ in range(30):
            slope, bend = np.zeros(len(rows)), np.zeros(len(rows))
            for y, chance in outcomes:
                margin, target = rows @ theta, y / unit
                slope += chance * loss.derivative(margin, target)
                bend += chance * loss.curvature(margin, target)
            gradient = rows.T @ (weights * slope)
            move = np.linalg.solve((rows * (weights * bend)[:, None]).T @ rows, gradient)
            theta = theta - move
            if np.abs(move).max() < 1e-9:
                break
        if towards is not None:
            theta = towards.T @ theta
        return np.asarray(np.append(theta[:-1], theta[-1] * bounds.intercept) * unit)


def measure(regime: Regime, fits: int, first: int = 0) -> dict[str, Any]:
    """Coverage of each coefficient over `fits` tables and fits."""
    targets, hit, finite, wide = Targets(regime), [], [], []
    for seed in range(first, first + fits):
        model = regime.model(seed).fit(*regime.table(seed))
        ends, target = model.conf_int(), targets(model)
        hit.append((ends[:, 0] <= target) & (target <= ends[:, 1]))
        finite.append(np.isfinite(ends).all(axis=1))
        wide.append(np.where(model.inference_.degrees > 0, model.inference_.error, np.nan))
    known = np.array(finite)
    counted = known.sum(axis=0)
    covered = (np.array(hit) & known).sum(axis=0) / np.maximum(counted, 1)
    seen = covered[counted >= max(fits // 5, 1)]
    found = {"finite": float(known.mean()), "fits": fits}
    if seen.size:
        found |= {
            "coverage_mean": float(seen.mean()), "coverage_worst_low": float(seen.min()),
            "coverage_worst_high": float(seen.max()), "standard_error": float(np.nanmedian(wide)),
        }  # fmt: skip
    return found


REGIMES = [
    *(Regime("logistic", s, 5, 5_000, 4) for s in ("plain", "whitened")),
    *(Regime("logistic", s, 5, 20_000, 1) for s in ("plain", "whitened")),
    *(Regime("logistic", s, 5, 50_000, 0.5, "correlated") for s in ("plain", "whitened")),
    *(Regime("logistic", s, 20, 20_000, 4) for s in ("plain", "whitened")),
    *(Regime("logistic", s, 5, 20_000, 1, misspecified=True) for s in ("plain", "whitened")),
    Regime("linear", "sufficient_statistics", 5, 5_000, 1),
    Regime("linear", "auto", 5, 20_000, 1),
    Regime("linear", "sufficient_statistics", 5, 20_000, 0.5, "correlated"),
    Regime("linear", "sufficient_statistics", 20, 20_000, 1),
    Regime("linear", "sufficient_statistics", 5, 5_000, 4, misspecified=True),
    *(Regime("huber", s, 5, 5_000, 4) for s in ("plain", "whitened")),
    *(Regime("huber", s, 5, 20_000, 1) for s in ("plain", "whitened")),
    *(Regime("huber", s, 5, 50_000, 0.5, "correlated") for s in ("plain", "whitened")),
    *(Regime("huber", s, 20, 20_000, 4) for s in ("plain", "whitened")),
    *(Regime("huber", s, 5, 20_000, 1, misspecified=True) for s in ("plain", "whitened")),
    Regime("logistic", "whitened", 5, 5_000, 1, within=False),
    Regime("logistic", "plain", 20, 5_000, 1, within=False),
    Regime("linear", "sufficient_statistics", 5, 1_000, 0.5, within=False),
    Regime("huber", "plain", 5, 1_000, 1, within=False),
]


def main() -> None:
    """Run the regimes, print the table and the JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the fits, and no table above 20,000 rows")
    parser.add_argument("--only", default="", help="regimes whose name has this in it")
    parser.add_argument("--fits", type=int, default=1000, help="fits of each regime")
    options = parser.parse_args()
    fits = options.fits // 10 if options.quick else options.fits
    found: dict[str, Any] = {}
    print(f"{'regime':76s}   mean    low   high  finite     s")
    for regime in REGIMES:
        if options.only not in regime.name or (options.quick and regime.n > 20_000):
            continue
        start = time.perf_counter()
        found[regime.name] = one = measure(regime, fits)
        numbers = [one.get(f"coverage_{k}", float("nan")) for k in ("mean", "worst_low", "worst_high")]
        print(
            f"{regime.name:76s} " + " ".join(f"{v:6.3f}" for v in (*numbers, one["finite"]))
            + f" {time.perf_counter() - start:6.0f}" + ("" if regime.within else "   (outside the limits)"), flush=True,
        )  # fmt: skip
    inside = [found[r.name] for r in REGIMES if r.within and r.name in found]
    whole = (
        {}
        if not inside
        else {
            "coverage_mean_low": min(one["coverage_mean"] for one in inside),
            "coverage_mean_high": max(one["coverage_mean"] for one in inside),
            "coverage_worst_low": min(one["coverage_worst_low"] for one in inside),
            "coverage_worst_high": max(one["coverage_worst_high"] for one in inside),
        }
    )
    print(json.dumps({"benchmark": "coverage", "quick": options.quick, **whole, "regimes": found}))


if __name__ == "__main__":
    main()
