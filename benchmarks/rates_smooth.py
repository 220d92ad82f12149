"""Rates of descent: coordinates against gradients, adaptive against fixed budgets, population risk, Gaussian width.

Run as a part of ``python -m benchmarks.rates [--quick]``.  All runs are seeded, zero-out, at delta 1e-6 and epsilon 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from benchmarks._pictures import loglog
from discreet import theory
from discreet.curator import RowBounds, make_curator
from discreet.datasets import make_coordinate_regression
from discreet.losses import HuberLoss, LogisticLoss
from discreet.penalties import GroupL1Ball, L1Ball, L2Ball
from discreet.privacy import Budget
from discreet.randomness import SeededSource
from discreet.solvers import (
    AdaptiveGradientDescent,
    CoordinateDescent,
    GradientDescent,
    ObjectivePerturbation,
    StochasticGradientDescent,
)
from discreet.solvers.base import Problem, Solver

__all__ = ["measure", "plot"]

BUDGET = Budget(1, 1e-6)
LOGISTIC = LogisticLoss()
Score = Callable[[Any], float]


def exponent(x: Any, y: Any) -> float:
    """The slope of a line through the points in double logarithms."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def mean(solver: Solver, problem: Problem, curator: Any, score: Score, repeats: int) -> float:
    """The mean score of seeded runs of one plan."""
    plan = solver.plan(problem)
    return float(np.mean([score(solver.solve(problem, plan, curator, SeededSource(s))) for s in range(repeats)]))


def least(loss: Any, X: Any, y: Any) -> float:
    """The least sum of losses, in plain floats."""
    Z = X / np.abs(X).max(axis=0)
    tight: Any = {"maxiter": 5000, "ftol": 1e-14, "gtol": 1e-8}
    solve: Any = minimize
    found = solve(
        lambda w: (float(loss.value(Z @ w, y).sum()), Z.T @ loss.derivative(Z @ w, y)),
        np.zeros(X.shape[1]),
        jac=True,
        method="L-BFGS-B",
        options=tight,
    )
    return float(found.fun)


def best(solvers: Iterable[Solver], *cell: Any) -> float:
    """The best of several settings: both methods are tuned in the same way, by looking."""
    return min(mean(solver, *cell) for solver in solvers)


def duel(X: Any, y: Any, high: Any, range_y: float, repeats: int, l2: float | None = None) -> dict[str, float]:
    """Excess of the best setting of each method on one design, features as they are, columns bounded by `high`."""
    n, p = X.shape
    loss = HuberLoss(3.0)
    floor = least(loss, X, y)

    def excess(w: Any) -> float:
        return float((loss.value(X @ w, y).sum() - floor) / n)

    boxed = Problem(loss, RowBounds(low=-high, high=high, centre=0, y=(-range_y, range_y)), p, n, BUDGET)
    round_ = Problem(loss, RowBounds(l2=l2, y=(-range_y, range_y)), p, n, BUDGET) if l2 else boxed
    steps = (10, 30, 100, 300)
    gradients = [GradientDescent(steps=t, step_size=s, momentum=0.0) for t in steps for s in (1.0, 4.0, 16.0)]
    passes = [
        CoordinateDescent(steps=k * p, step_size=s, curvature="bounds") for k in (2, 5, 15) for s in (1.0, 4.0, 16.0)
    ]
    found = {
        "gradient": best(gradients, round_, make_curator(X, y, bounds=round_.bounds), excess, repeats),
        "coordinate": best(passes, boxed, make_curator(X, y, bounds=boxed.bounds), excess, repeats),
    }
    return {**found, "gain": found["gradient"] / found["coordinate"]}


def coordinates(quick: bool) -> dict[str, Any]:
    """The three designs; the first column growing to a hundred times the others; and rows of bounded length.

    Where all columns are alike the bound for convex losses lets coordinate descent lose by sqrt(p) at most, that for
    strongly convex ones (noise squared) by p.  It loses nothing when only columns are bounded; when rows are known to
    be shorter than their columns' bounds together, gradients gain and single derivatives don't.
    """
    n, p, repeats = (4000, 20, 2) if quick else (10_000, 50, 3)
    designs: list[dict[str, Any]] = []
    for kind in ("balanced", "lognormal", "first_big"):
        data = make_coordinate_regression(kind, n_rows=n, n_features=p, seed=1)
        assert data.bounds_y is not None
        designs.append({"design": kind, **duel(data.X, data.y, data.bounds[1], data.bounds_y[1], repeats)})
    even = make_coordinate_regression("balanced", n_rows=n, n_features=p, seed=1)
    assert even.bounds_y is not None
    long = 1.25 * math.sqrt(p)
    designs.append(
        {
            "design": "balanced, rows of length 1.25 sqrt(p)",
            **duel(even.X, even.y, even.bounds[1], even.bounds_y[1], repeats, l2=long),
        }
    )
    growing = []
    for big in (1.0, 10.0, 100.0) if quick else (1.0, 3.0, 10.0, 30.0, 100.0):
        X = even.X.copy()
        X[:, 0] *= big  # the first weight shrinks accordingly: the targets stay what they are
        high = even.bounds[1] * np.where(np.arange(p) == 0, big, 1.0)
        growing.append({"first": big, **duel(X, even.y, high, even.bounds_y[1], repeats)})
    gains = [row["gain"] for row in growing]
    return {
        "designs": designs,
        "growing": growing,
        "cd_gain_balanced": designs[0]["gain"],
        "cd_gain_lognormal": designs[1]["gain"],
        "cd_gain_first_big": designs[2]["gain"],
        "cd_loss_even": 1 / designs[0]["gain"],
        "cd_loss_even_limit": p**0.5,
        "cd_loss_short_rows": 1 / designs[3]["gain"],
        "cd_loss_short_rows_limit": float(p),
        "cd_gain_exponent": exponent([row["first"] for row in growing], gains),
        "cd_gain_grows": float(gains[-1] > gains[len(gains) // 2] > gains[0]),
    }


def noisy_labels(n: int, p: int, seed: int = 3) -> tuple[Any, Any, Any]:
    """Rows in [-1, 1] and logistic labels."""
    rng = np.random.default_rng(seed)
    X, w = rng.integers(-8, 9, (n, p)) / 8, np.linspace(-1, 1, p) * math.sqrt(5 / p)
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-2 * X @ w)), 1.0, -1.0), 2 * w


def budgets(quick: bool) -> dict[str, Any]:
    """The best fixed number of steps, a quarter and four times it (last iterates), against steps priced on the way."""
    n, p, repeats = (2000, 5, 10) if quick else (2000, 5, 20)
    X, y, _ = noisy_labels(n, p)
    floor = least(LOGISTIC, X, y)
    problem = Problem(LOGISTIC, RowBounds(linf=1.0), p, n, BUDGET)
    curator = make_curator(X, y, bounds=problem.bounds)

    def excess(w: Any) -> float:
        return float((LOGISTIC.value(X @ w, y).sum() - floor) / n)

    def fixed(t: int) -> float:
        return mean(GradientDescent(steps=t, momentum=0.0, average="last"), problem, curator, excess, repeats)

    rows = [{"steps": t, "fixed": fixed(t)} for t in (16, 32, 64, 128, 256, 512, 1024)]
    ours = mean(AdaptiveGradientDescent(), problem, curator, excess, repeats)
    star = min(rows, key=lambda row: row["fixed"])["steps"]
    few, many = fixed(int(star) // 4), fixed(int(star) * 4)
    return {
        "over_steps": [{**row, "adaptive": ours} for row in rows],
        "agd_best_fixed_steps": float(star),
        "agd_gain_quarter_steps": few / ours,
        "agd_gain_four_times_steps": many / ours,
        "agd_loss_best_steps": ours / min(row["fixed"] for row in rows),
    }


def population(quick: bool) -> dict[str, Any]:
    """Population risk of noisy SGD over n, against ``D L R`` times (1/sqrt(n) + sqrt(p log(1/delta))/(n epsilon))."""
    p, repeats = 10, 3 if quick else 5
    test, labels, truth = noisy_labels(200_000, p, seed=99)
    floor = float(LOGISTIC.value(test @ truth, labels).mean())
    scale = math.sqrt(p) * float(np.linalg.norm(truth))

    def risk(w: Any) -> float:
        return float(LOGISTIC.value(test @ w, labels).mean()) - floor

    rows = []
    for n in (2000, 8000, 32_000) if quick else (2000, 4000, 8000, 16_000, 32_000, 64_000):
        X, y, _ = noisy_labels(n, p, seed=n)
        problem = Problem(LOGISTIC, RowBounds(linf=1.0), p, n, BUDGET)
        excess = mean(StochasticGradientDescent(), problem, make_curator(X, y, bounds=problem.bounds), risk, repeats)
        bound = scale * (1 / math.sqrt(n) + theory.convex_rate(n, p, 1, 1e-6))
        rows.append({"n": n, "excess": excess, "bound": bound})
    return {
        "over_rows": rows,
        "sgd_population_exponent": exponent([r["n"] for r in rows], [r["excess"] for r in rows]),
        "sgd_worst_share_of_bound": max(r["excess"] / r["bound"] for r in rows),
    }


def width(quick: bool) -> dict[str, Any]:
    """The largest excess of objective perturbation on sets of one diameter and very different widths (Theorem 16.9)."""
    p, radius, repeats = (64, 0.1, 4) if quick else (144, 0.1, 8)
    rows: list[dict[str, Any]] = []
    for region in (L1Ball(radius), GroupL1Ball(p // 16, radius), GroupL1Ball(p // 4, radius), L2Ball(radius)):
        worst, share = 0.0, 0.0
        for n in (8, 32, 128) if quick else (4, 8, 16, 32, 64, 128, 256):
            X = np.zeros((n, p))
            X[:, 0] = 1.0
            problem = Problem(LOGISTIC, RowBounds(l2=1.0), p, n, BUDGET, penalty=region)
            solver = ObjectivePerturbation(ridge=1.0)
            tilt: Any = solver.plan(problem).mechanisms["tilt"]

            def excess(w: Any, n: int = n) -> float:
                return float(n * (np.log1p(np.exp(-w[0])) - np.log1p(np.exp(-radius))))

            found = mean(solver, problem, make_curator(X, np.ones(n), bounds=problem.bounds), excess, repeats)
            limit = tilt.sigma * region.gaussian_width(p) + radius**2 / 2
            worst, share = max(worst, found / tilt.sigma), max(share, found / limit)
        name = f"{region.name} {getattr(region, 'k', '')}".strip()
        rows.append({"set": name, "width": region.gaussian_width(p) / radius, "excess": worst / radius, "share": share})
    rows.sort(key=lambda row: float(row["width"]))
    return {
        "op_over_width": rows,
        "op_width_exponent": exponent([r["width"] for r in rows], [r["excess"] for r in rows]),
        "op_width_worst_share_of_bound": max(float(r["share"]) for r in rows),
    }


def measure(quick: bool) -> dict[str, Any]:
    """Everything, with the tables."""
    found: dict[str, Any] = {}
    for part in (coordinates, budgets, population, width):
        for name, value in part(quick).items():
            found[name] = value
            for row in value if isinstance(value, list) else ():
                cells = (f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items())
                print(f"{name:14s}" + "  ".join(cells), flush=True)
    return found


def plot(found: dict[str, Any], folder: Path) -> list[Path]:
    """Four pictures."""
    both = {"gradient": "gradient descent", "coordinate": "coordinate descent"}
    steps = {"fixed": "fixed number of steps", "adaptive": "adaptive budget"}
    risk = {"excess": "noisy SGD", "bound": "D L R (1/sqrt(n) + privacy)"}
    worst = {"excess": "objective perturbation"}
    pictures = [
        ("rates_coordinates", "first", both, "growing", ("scale of the first column", "excess risk")),
        ("rates_budgets", "steps", steps, "over_steps", ("steps", "excess risk")),
        ("rates_population", "n", risk, "over_rows", ("rows", "excess population risk")),
        ("rates_objective_width", "width", worst, "op_over_width", ("Gaussian width", "worst excess / noise")),
    ]
    return [loglog(folder / f"{name}.png", x, y, found[rows], labels) for name, x, y, rows, labels in pictures]
