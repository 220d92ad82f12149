"""Error of one-line private regressions over that of the constant predictor, on synthetic designs, delta 1/n^2.

Run ``python -m benchmarks.never_worse [--quick] [--repeats R] [--rows N ...] [--first SEED]``.  A design is a shape of
targets (gaussian, heavy-tailed, skewed, zero-inflated, counts) and how much of it rows explain; each repeat draws rows
anew, fits with public bounds and with everything private, and divides the error of fresh rows (mean squared error, or
Poisson deviance) by that of the training mean.  Two figures sum up: how far that ratio lies above 1 where rows times
epsilon are at least 500, and how much it ever rises with epsilon, each in units of the error.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.linear_model import LinearRegression, PoissonRegressor

__all__ = ["COUNTED", "MEASURED", "Design", "Ratio", "ratios", "rises", "worst"]

Array = NDArray[np.float64]
EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
TEST_ROWS = 4000


@dataclass(frozen=True)
class Design:
    """Rows and targets: a shape of noise, and the share of the (log) target's variance that rows explain."""

    shape: str
    share: float
    columns: int

    @property
    def name(self) -> str:
        """Shape, share and columns.

        >>> Design("gaussian", 0.5, 10).name
        'gaussian 0.5 p=10'
        """
        return f"{self.shape} {self.share:g} p={self.columns}"

    @property
    def counted(self) -> bool:
        """Whether targets are counts for Poisson regression."""
        return self.shape in COUNTS

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """`n` rows with correlated columns of sizes from 1 to 30, and their targets."""
        p = self.columns
        fixed = np.random.default_rng(p)  # the same truth in every repeat
        mix = np.eye(p) + fixed.normal(size=(p, p)) / (2 * math.sqrt(p))
        X = (rng.normal(size=(n, p)) @ mix) * np.geomspace(1, 30, p) + 3.0
        w = np.linalg.solve(mix * np.geomspace(1, 30, p), fixed.normal(size=p) / math.sqrt(p))
        signal = (X - 3.0) @ w
        signal /= math.sqrt(float(w @ (mix * np.geomspace(1, 30, p)).T @ (mix * np.geomspace(1, 30, p)) @ w))
        s, t = math.sqrt(self.share), math.sqrt(1 - self.share)
        if self.counted:
            base = {"counts": 3.0, "rare counts": 0.2, "large counts": 50.0, "zero-inflated counts": 6.0}[self.shape]
            y = rng.poisson(base * np.exp(s * signal - s * s / 2)).astype(float)
            return X, y * (rng.random(n) < 0.3) if self.shape == "zero-inflated counts" else y
        noise = rng.standard_t(3, size=n) / math.sqrt(3) if self.shape == "heavy-tailed" else rng.normal(size=n)
        y = s * signal + t * noise
        if self.shape == "skewed":
            y = np.exp(y)
        if self.shape == "zero-inflated":
            y = np.where(rng.random(n) < 0.2, np.exp(y), 0.0)
        if self.shape == "far off":
            y = 1000.0 + y
        return X, y


COUNTS = ("counts", "rare counts", "large counts", "zero-inflated counts")
SHAPES = ("gaussian", "heavy-tailed", "skewed", "zero-inflated", "far off")
MEASURED = tuple(Design(s, share, p) for s in SHAPES for share in (0.0, 0.1, 0.7) for p in (2, 10, 50))
COUNTED = tuple(Design(s, share, p) for s in COUNTS for share in (0.0, 0.3) for p in (2, 10, 50))


def deviance(y: Array, mean: Array) -> float:
    """Mean Poisson deviance.

    >>> deviance(np.array([1.0, 0.0]), np.array([1.0, 0.5]))
    0.5
    """
    return float(np.mean(2 * (np.where(y > 0, y * np.log(np.maximum(y, 1e-300) / mean), 0.0) - y + mean)))


@dataclass(frozen=True)
class Ratio:
    """The mean over repeats of the error over that of the constant, and its standard error."""

    design: str
    rows: int
    epsilon: float
    bounds: str
    mean: float
    error: float

    def __str__(self) -> str:
        start = f"{self.design:32s}{self.rows:7d} {self.epsilon:<6g}{self.bounds:8s}"
        return f"{start}{self.mean:9.4f} ({self.error:.4f})"


def one(design: Design, n: int, epsilon: float, bounds: str, seed: int) -> float:
    """One fit: error over that of the training mean, on fresh rows."""
    rng = np.random.default_rng([seed, n])
    X, y = design.draw(n, rng)
    T, z = design.draw(TEST_ROWS, rng)
    public: dict[str, Any] = {"bounds": (X.min(axis=0), X.max(axis=0)), "bounds_y": (float(y.min()), float(y.max()))}
    given = public if bounds == "public" else {}
    made: Any = PoissonRegressor if design.counted else LinearRegression
    predicted = made(epsilon=epsilon, delta=1 / n**2, random_state=seed, **given).fit(X, y).predict(T)
    level = max(float(y.mean()), 1e-3)
    if design.counted:
        return deviance(z, predicted) / deviance(z, np.full(len(z), level))
    return float(np.mean((z - predicted) ** 2) / np.mean((z - level) ** 2))


def ratios(
    designs: Sequence[Design], rows: Sequence[int], epsilons: Sequence[float], repeats: int, first: int = 1000
) -> Iterator[Ratio]:
    """One line for each design, size, epsilon and kind of bounds."""
    for design in designs:
        for n in rows:
            for bounds in ("public", "private"):
                for epsilon in epsilons:
                    found = np.array([one(design, n, epsilon, bounds, first + k) for k in range(repeats)])
                    error = float(found.std(ddof=1) / math.sqrt(repeats)) if repeats > 1 else math.inf
                    yield Ratio(design.name, n, epsilon, bounds, float(found.mean()), error)


def worst(found: Sequence[Ratio], least: float = 500.0) -> tuple[float, str]:
    """How far above 1 the ratio lies where rows times epsilon are at least `least`, less two standard errors."""
    tried = [(v.mean - 1 - 2 * v.error, str(v)) for v in found if v.rows * v.epsilon >= least]
    return max(tried, default=(0.0, ""))


def rises(found: Sequence[Ratio]) -> tuple[float, str]:
    """The largest rise of the ratio with epsilon, less two standard errors of the difference."""
    tried = [
        (b.mean - a.mean - 2 * math.hypot(a.error, b.error), f"{a} -> {b}")
        for a in found
        for b in found
        if (a.design, a.rows, a.bounds) == (b.design, b.rows, b.bounds) and a.epsilon < b.epsilon
    ]
    return max(tried, default=(0.0, ""))


def main() -> None:
    """Measure, and print one JSON object at the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="ten columns and 3 repeats")
    parser.add_argument("--repeats", type=int, default=0)
    parser.add_argument("--rows", type=int, nargs="+", default=[300, 1000, 5000, 30_000])
    parser.add_argument("--first", type=int, default=1000, help="seed of the first repeat")
    parser.add_argument("--epsilons", type=float, nargs="+", default=list(EPSILONS))
    parser.add_argument("--designs", nargs="+", default=None, help="only those whose names start so")
    options = parser.parse_args()
    designs = [d for d in (*MEASURED, *COUNTED) if d.columns == 10 or not options.quick]
    if options.designs:
        designs = [d for d in designs if d.name.startswith(tuple(options.designs))]
    found = []
    for line in ratios(
        designs, options.rows, options.epsilons, options.repeats or (3 if options.quick else 8), options.first
    ):
        print(line, flush=True)
        found.append(line)
    (above, where), (rise, there) = worst(found), rises(found)
    print(json.dumps({"above_constant": round(above, 5), "at": where, "rise": round(rise, 5), "rise_at": there}))


if __name__ == "__main__":
    main()
