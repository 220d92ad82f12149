"""Rates in high dimension: private LASSO in n and p, Peeling against gradient noise in d, Frank-Wolfe in the width.

Run as a part of ``python -m benchmarks.rates [--quick]``.  All runs are seeded, at epsilon 1 and delta 1e-6, zero-out,
on the instance of ``benchmarks/orthogonal_signs.py`` (and one direction against a whole set, for the width).
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._pictures import loglog
from benchmarks.orthogonal_signs import OrthogonalSigns
from discreet import accounting, theory
from discreet.curator import RowBounds, make_curator
from discreet.losses import LogisticLoss
from discreet.penalties import GroupL1Ball, L1Ball, L2Ball, LqBall, Sparsity
from discreet.privacy import Budget
from discreet.randomness import SeededSource
from discreet.solvers import FrankWolfe, IterativeHardThresholding, PeelingDescent
from discreet.solvers.base import Problem, Solver

__all__ = ["measure", "plot"]

BUDGET = Budget(1, 1e-6)
MU = accounting.gdp.mu_for(1, 1e-6)


def exponent(x: Any, y: Any) -> float:
    """The slope of a line through the points in double logarithms."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def runs(solver: Solver, problem: Problem, curator: Any, score: Any, repeats: int) -> float:
    """The mean score of seeded runs of one plan."""
    plan = solver.plan(problem)
    return float(np.mean([score(solver.solve(problem, plan, curator, SeededSource(s))) for s in range(repeats)]))


def lasso_cell(p: int, copies: int, s: int, repeats: int) -> dict[str, float]:
    """Private LASSO with the theorem's number of steps: mean excess, and the bound with its constants."""
    hard = OrthogonalSigns(p, copies, s)
    n, spread, curvature = hard.n, 2 * hard.slope * hard.radius, 4.0 * hard.n * hard.radius**2
    steps = theory.private_frank_wolfe_steps(curvature, spread, 2 * p, MU**2 / 2, most=20_000)
    solver, problem = FrankWolfe(steps=steps), hard.problem(BUDGET, L1Ball(hard.radius))
    plan: Any = solver.plan(problem)
    rows: Any = hard  # answers gradients as a curator does
    found = [hard.excess(solver.solve(problem, plan, rows, SeededSource(s))) for s in range(repeats)]
    error = theory.expected_selection_error(2 * p, spread / plan.mechanisms["vertex"].eta)
    bound = theory.frank_wolfe_bound(curvature, steps, error) / n
    return {"n": n, "p": p, "steps": steps, "excess": float(np.mean(found)), "worst": max(found), "bound": bound}


def lasso(quick: bool) -> dict[str, Any]:
    """Excess risk over n (8 columns matter, p = 1000), and over p (4 columns matter, n = 2^14)."""
    copies, repeats = ((8, 64, 512), 3) if quick else ((8, 32, 128, 512, 2048, 8192), 5)
    over_n = [lasso_cell(1000, c, 8, repeats) for c in copies]
    columns = (100, 1000, 10_000) if quick else (100, 316, 1000, 3162, 10_000, 31_623, 100_000)
    over_p = [lasso_cell(p, 128, 4, repeats) for p in columns]
    first, last = over_p[0], over_p[-1]
    growth = (last["excess"] / first["excess"]) / (math.log(last["p"]) / math.log(first["p"]))
    return {
        "over_n": over_n,
        "over_p": over_p,
        "lasso_n_exponent": exponent([c["n"] for c in over_n], [c["excess"] for c in over_n]),
        "lasso_p_growth": growth,  # at most 1: no faster than log p
        "lasso_worst_share_of_bound": max(c["worst"] / c["bound"] for c in [*over_n, *over_p]),
    }


def thresholding(quick: bool) -> dict[str, Any]:
    """The squared error of both kinds of hard thresholding over d, at 2^20 rows of entries -1 and 1."""
    rows = []
    for d in (128, 1024, 8192) if quick else (128, 512, 2048, 8192, 32_768, 131_072):
        hard = OrthogonalSigns(d, copies=8192, s=4)
        problem = hard.problem(BUDGET, Sparsity(4), slope=1.5)
        row: dict[str, float] = {"d": d}
        for name, solver in (
            ("peeling", PeelingDescent(steps=10, step_size=1.0)),
            ("gradient_noise", IterativeHardThresholding(steps=10, step_size=1.0)),
        ):
            row[name] = runs(solver, problem, hard, hard.error, 3 if quick else 8)
        row["theory_gradient_noise"] = 4 * 1.5**2 * d * 10 / (MU * hard.n) ** 2
        rows.append(row)
    sizes = [row["d"] for row in rows]
    return {
        "over_d": rows,
        "iht_d_growth": exponent(sizes, [row["peeling"] for row in rows]),
        "ihtgauss_d_growth": exponent(sizes, [row["gradient_noise"] for row in rows]),
        **search(quick),
    }


def search(quick: bool) -> dict[str, Any]:
    """How many rows one Peeling needs to find nine tenths of s equal weights: sqrt(s) log d, and not d.

    With s entries each found up to sqrt(s) log d, the squared error is of the lecture's order, (s log d)^2.
    """
    rows: list[dict[str, int]] = []
    for s, d in (
        [(4, 128), (4, 8192), (16, 8192)] if quick else [(4, 128), (4, 2048), (4, 32_768), (8, 2048), (16, 2048)]
    ):
        solver = PeelingDescent(steps=1, step_size=1.0)
        copies, step = 2.0, 2.0**0.25
        while True:
            hard = OrthogonalSigns(d, copies=round(copies), s=s, radius=s / 8)  # weights of one eighth, whatever s
            problem = hard.problem(BUDGET, Sparsity(s), slope=2.0)
            if runs(solver, problem, hard, lambda w, s=s: np.count_nonzero(w[:s]) / s, 20) >= 0.9:
                break
            copies *= step
        rows.append({"s": s, "d": d, "rows_needed": hard.n})
    least, most = ([r for r in rows if r["s"] == 4][i] for i in (0, -1))
    many, few = rows[-1], next(r for r in rows if r["s"] == 4 and r["d"] == rows[-1]["d"])
    logs = math.log(most["d"]) / math.log(least["d"])
    return {
        "search": rows,
        "peeling_rows_over_log_d": most["rows_needed"]
        / least["rows_needed"]
        / logs,  # about 1; with d it would be >> 1
        "peeling_rows_s_exponent": exponent([few["s"], many["s"]], [few["rows_needed"], many["rows_needed"]]),
    }


def width(quick: bool) -> dict[str, Any]:
    """The largest excess that the gradient variant makes on sets of one diameter and very different widths.

    All rows are one direction of length 1, so that the objective is nearly linear; the number of rows is varied and
    the worst kept, as in a lower bound.  Sum convention, in units of the noise on one gradient entry.
    """
    p, radius, steps = (256, 0.1, 8) if quick else (1024, 0.1, 8)
    sizes = [2**k for k in (range(1, 8, 2) if quick else range(1, 10))]
    sets = [L1Ball(radius), LqBall(1.5, radius), GroupL1Ball(16, radius), GroupL1Ball(p // 4, radius), L2Ball(radius)]
    sigma = math.sqrt(steps) / MU
    rows: list[dict[str, Any]] = []
    for region in sets:
        worst, bound = 0.0, 0.0
        for n in sizes:
            X = np.zeros((n, p))
            X[:, 0] = 1.0
            problem = Problem(LogisticLoss(), RowBounds(l2=1.0), p, n, BUDGET, penalty=region)
            curator = make_curator(X, np.ones(n), bounds=problem.bounds)

            def excess(w: Any, n: int = n) -> float:
                return float(n * (np.log1p(np.exp(-w[0])) - np.log1p(np.exp(-radius))))

            found = runs(FrankWolfe(steps=steps, oracle="gradient"), problem, curator, excess, 10 if quick else 30)
            limit = theory.gaussian_frank_wolfe_bound(n * radius**2, region.gaussian_width(p), 1.0, steps, MU)
            worst, bound = max(worst, found / sigma), max(bound, found / limit)
        rows.append(
            {"set": region.name, "width": region.gaussian_width(p) / radius, "excess": worst / radius, "share": bound}
        )
    rows.sort(key=lambda row: row["width"])
    return {
        "over_width": rows,
        "width_exponent": exponent([r["width"] for r in rows], [r["excess"] for r in rows]),
        "width_worst_share_of_bound": max(r["share"] for r in rows),
    }


def measure(quick: bool) -> dict[str, Any]:
    """Everything, with the tables."""
    tables = {"lasso": lasso(quick), "thresholding": thresholding(quick), "width": width(quick)}
    for table in tables.values():
        for name, value in table.items():
            if isinstance(value, list):
                print(f"\n{name}")
                for row in value:
                    print(
                        "  " + "  ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items())
                    )
    return {name: value for table in tables.values() for name, value in table.items()}


def plot(found: dict[str, Any], folder: Path) -> list[Path]:
    """Four pictures."""
    bounds = {"excess": "measured (mean)", "bound": "bound, all constants"}
    errors = {"peeling": "Peeling", "gradient_noise": "gradient noise"}
    widths = {"excess": "Frank-Wolfe, Gaussian noise"}
    lasso_risk = "excess risk of private LASSO"
    pictures = [
        ("rates_lasso_n", "n", bounds, "over_n", ("rows", lasso_risk)),
        ("rates_lasso_p", "p", bounds, "over_p", ("features", lasso_risk)),
        ("rates_thresholding_d", "d", errors, "over_d", ("features", "squared error of hard thresholding")),
        ("rates_width", "width", widths, "over_width", ("Gaussian width", "worst excess / noise")),
    ]
    return [loglog(folder / f"{name}.png", x, y, found[rows], labels) for name, x, y, rows, labels in pictures]
