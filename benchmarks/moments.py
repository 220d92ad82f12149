"""Errors of private moments against n, d and epsilon, with theory's exponents; CoinPress; local against central.

``python -m benchmarks.moments [--quick] [--plots FOLDER]`` prints tables and, as its last line, one JSON object.  Every
exponent is the slope of a least-squares line through log error against log n (or d, or epsilon).  The error is taken
against the same rows' own mean or moments, so that the privacy noise is what is left.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import local, moments
from discreet.moments.coinpress import tail_radius
from discreet.randomness import SeededSource, data_generator

Floats = NDArray[np.float64]
Job = Callable[[int, int, float, int], float]  # (n, d, epsilon, seed) -> error


def slope(x: Any, y: Any) -> float:
    """The exponent: the slope of log y against log x."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def root_mean_square(job: Job, n: int, d: int, epsilon: float, repetitions: int) -> float:
    """Over seeds."""
    return math.sqrt(sum(job(n, d, epsilon, seed) ** 2 for seed in range(repetitions)) / repetitions)


def cube(n: int, d: int, seed: int) -> Floats:
    """Rows in the cube [-1, 1]^d."""
    return data_generator(seed).uniform(-1, 1, (n, d))


def mean_zcdp(n: int, d: int, epsilon: float, seed: int) -> float:
    """Norm of the noise of the mean at rho = epsilon^2 / 2."""
    X = cube(n, d, seed)
    found = moments.mean(X, rho=epsilon**2 / 2, bounds=(-1, 1), random_state=seed)
    return float(np.linalg.norm(found.value - X.mean(axis=0)))


def mean_pure(n: int, d: int, epsilon: float, seed: int, pure_noise: str = "laplace") -> float:
    """The same under pure DP, coordinate by coordinate."""
    X = cube(n, d, seed)
    found = moments.mean(X, epsilon=epsilon, bounds=(-1, 1), random_state=seed, pure_noise=pure_noise)
    return float(np.linalg.norm(found.value - X.mean(axis=0)))


def mean_k_norm(n: int, d: int, epsilon: float, seed: int) -> float:
    """Pure DP for the whole vector: the same rate, a factor sqrt(2) less noise."""
    return mean_pure(n, d, epsilon, seed, "k_norm")


def covariance_of(budget: dict[str, Any], n: int, d: int, seed: int) -> float:
    """Frobenius error of second moments."""
    X = cube(n, d, seed)
    found = moments.second_moments(X, bounds=(-1, 1), psd=False, random_state=seed, **budget)
    return float(np.linalg.norm(found.value - X.T @ X / n))


def covariance_zcdp(n: int, d: int, epsilon: float, seed: int) -> float:
    """At rho = epsilon^2 / 2."""
    return covariance_of({"rho": epsilon**2 / 2}, n, d, seed)


def covariance_pure(n: int, d: int, epsilon: float, seed: int) -> float:
    """Under pure DP, entry by entry."""
    return covariance_of({"epsilon": epsilon, "pure_noise": "laplace"}, n, d, seed)


def mean_local(n: int, d: int, epsilon: float, seed: int) -> float:
    """The lecture's local mean of one number; d is not used."""
    x = cube(n, 1, seed)[:, 0]
    r = local.TruncatedLaplace(epsilon, source=SeededSource(seed))
    value, _ = r.estimate(r.tally(r.randomize(x)), n)
    return float(value - x.mean())


def mean_central(n: int, d: int, epsilon: float, seed: int) -> float:
    """The central one, pure."""
    return mean_pure(n, 1, epsilon, seed)


def exponents(quick: bool, curves: dict[str, Any]) -> dict[str, float]:
    """Fitted exponents, each named by what is varied."""
    reps = 12 if quick else 60
    base_n = 4000 if quick else 20_000
    plan: list[tuple[str, Job, dict[str, list[float]], float]] = [
        ("mean_zcdp", mean_zcdp, {"n": [1, 2, 4, 8], "d": [4, 8, 16, 32, 64], "epsilon": [0.25, 0.5, 1, 2]}, 1.0),
        ("mean_pure", mean_pure, {"n": [1, 2, 4, 8], "d": [4, 8, 16, 32, 64], "epsilon": [0.25, 0.5, 1, 2]}, 1.5),
        ("mean_k_norm", mean_k_norm, {"d": [4, 8, 16, 32, 64]}, 1.5),
        ("covariance_zcdp", covariance_zcdp, {"n": [1, 2, 4, 8], "d": [4, 8, 16, 32]}, 2.0),
        ("covariance_pure", covariance_pure, {"n": [1, 2, 4, 8], "d": [4, 8, 16, 32]}, 3.0),
        ("mean_local", mean_local, {"n": [1, 2, 4, 8, 16], "epsilon": [0.25, 0.5, 1, 2]}, 0.0),
        ("mean_central", mean_central, {"n": [1, 2, 4, 8, 16], "epsilon": [0.25, 0.5, 1, 2]}, 0.0),
    ]
    fitted: dict[str, float] = {}
    for name, job, varied, in_d in plan:
        for what, values in varied.items():
            repetitions = reps * (10 if name in ("mean_local", "mean_central") else 1)
            errors = []
            for v in values:
                n, d, epsilon = base_n, 8, 1.0
                n, d, epsilon = (int(base_n * v), d, epsilon) if what == "n" else (n, int(v), epsilon)
                if what == "epsilon":
                    n, d, epsilon = base_n, 8, v
                elif what == "n":
                    d = 8
                errors.append(root_mean_square(job, n, d, epsilon, repetitions))
            xs = [base_n * v for v in values] if what == "n" else values
            fitted[f"{name}_{what}"] = slope(xs, errors)
            curves[f"{name} against {what}"] = (xs, errors)
            expected = {"n": -0.5 if name == "mean_local" else -1.0, "d": in_d, "epsilon": -1.0}[what]
            print(f"{name:16s} against {what:8s} exponent {fitted[f'{name}_{what}']:6.3f}   theory {expected:g}")
    return fitted


# ---- CoinPress: the published method re-derived in floating point, and ours, on the same data ----


def published_mean(X: Floats, radius: float, shares: list[float], noise: np.random.Generator) -> Floats:
    """Algorithm 1 of the paper with the constants of its experiments, in plain floats (replace-one)."""
    n, d = X.shape
    c, r, g = np.zeros(d), radius, tail_radius(d, 0.01)
    for rho in shares:
        clip = min(math.sqrt(r * r + 6 * r + g * g), r + g)
        z = X - c
        z = z * np.minimum(1, clip / np.linalg.norm(z, axis=1))[:, None]
        sd = 2 * clip / n / math.sqrt(2 * rho)
        c = c + z.mean(axis=0) + noise.normal(0, sd, d)
        r = math.sqrt(1 / n + sd * sd) * g
    return c


def published_covariance(X: Floats, largest: float, shares: list[float], noise: np.random.Generator) -> Floats:
    """Algorithm 3 of the paper with the constants of its experiments, in plain floats (replace-one)."""
    n, d = X.shape
    A, g, eta = np.eye(d) / math.sqrt(largest), tail_radius(d, 0.1), math.sqrt(d / n) + d / n / 2
    for i, rho in enumerate(shares):
        W = X @ A
        W = W * np.minimum(1, g / np.linalg.norm(W, axis=1))[:, None]
        upper = np.triu(noise.normal(0, g * g / (n * math.sqrt(rho)), (d, d)))
        values, vectors = np.linalg.eigh(W.T @ W / n + upper + np.triu(upper, 1).T)
        Z = (vectors * np.maximum(values, 0)) @ vectors.T
        if i + 1 < len(shares):
            values, vectors = np.linalg.eigh(Z + eta * np.eye(d))
            A = (vectors / np.sqrt(values)) @ vectors.T @ A
    back = np.linalg.inv(A)
    return np.asarray(back @ Z @ back, dtype=np.float64)


def trimmed(errors: list[float]) -> float:
    """The mean without the lowest and highest tenth, as in the paper's plots."""
    kept = np.sort(errors)[len(errors) // 10 : len(errors) - len(errors) // 10]
    return float(kept.mean())


def coinpress(quick: bool) -> dict[str, float]:
    """Trimmed errors at the published settings: d=50, R=10 sqrt(d), rho=1/2; d=10, u=10 sqrt(d), rho=1/2."""
    reps, worst, out = (10 if quick else 40), {"mean": 0.0, "covariance": 0.0}, {}
    print("\nCoinPress, rho 0.5, replace-one        n   steps   published   here   ratio   (non-private)")
    for kind, sizes in (("mean", (1000, 4000, 10_000)), ("covariance", (3000, 8000))):
        for n in sizes[:2] if quick else sizes:
            for steps in (2, 3, 4):
                shares = [0.5 * 0.25 / (steps - 1)] * (steps - 1) + [0.375]
                theirs, ours, plain = [], [], []
                for seed in range(reps):
                    d = 50 if kind == "mean" else 10
                    data = data_generator(1000 * n + seed)
                    X, noise = data.normal(size=(n, d)), data_generator(seed + 7)
                    options: dict[str, Any] = {
                        "rho": 0.5,
                        "neighbors": "replace_one",
                        "steps": steps,
                        "random_state": seed,
                    }
                    if kind == "mean":
                        bound = 10 * math.sqrt(d)
                        theirs.append(float(np.linalg.norm(published_mean(X, bound, shares, noise))))
                        ours.append(float(np.linalg.norm(moments.coinpress_mean(X, radius=bound, **options).value)))
                        plain.append(float(np.linalg.norm(X.mean(axis=0))))
                    else:
                        bound, one = 10 * math.sqrt(d), np.eye(d)
                        theirs.append(float(np.linalg.norm(published_covariance(X, bound, shares, noise) - one)))
                        found = moments.coinpress_covariance(X, largest=bound, **options).value
                        ours.append(float(np.linalg.norm(found - one)))
                        plain.append(float(np.linalg.norm(np.cov(X.T) - one)))
                a, b = trimmed(theirs), trimmed(ours)
                worst[kind] = max(worst[kind], b / a)
                out[f"{kind} n={n} steps={steps}"] = b / a
                print(f"  {kind:34s} {n:6d} {steps:5d} {a:10.4f} {b:9.4f} {b / a:6.3f}   ({trimmed(plain):.4f})")
    return {"coinpress_mean_ratio": worst["mean"], "coinpress_covariance_ratio": worst["covariance"]}


PICTURES: dict[str, tuple[str, str, list[tuple[str, str, float]]]] = {
    "moments_mean_dimension": ("dimension d", "noise of the mean, l2 norm", [
        ("mean_zcdp against d", "zCDP, Gaussian noise", 1.0),
        ("mean_pure against d", "pure, Laplace", 1.5),
        ("mean_k_norm against d", "pure, K-norm", 1.5),
    ]),
    "moments_covariance_dimension": ("dimension d", "noise of second moments, Frobenius norm", [
        ("covariance_zcdp against d", "zCDP", 2.0), ("covariance_pure against d", "pure", 3.0),
    ]),
    "moments_local_central": ("rows n", "error of the mean of one number", [
        ("mean_local against n", "local", -0.5), ("mean_central against n", "central", -1.0),
    ]),
    "moments_local_central_epsilon": ("epsilon", "error of the mean of one number", [
        ("mean_local against epsilon", "local", -1.0), ("mean_central against epsilon", "central", -1.0),
    ]),
}  # fmt: skip


def draw(curves: dict[str, Any], folder: Path) -> None:
    """One picture for each comparison of the lecture: measured points, and theory's slope through the last of them."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FixedLocator, NullLocator

    folder.mkdir(parents=True, exist_ok=True)
    for name, (x, y, lines) in PICTURES.items():
        figure, axes = plt.subplots(figsize=(5.6, 3.8))
        for label, what, theory in lines:
            xs, errors = (np.asarray(v, dtype=np.float64) for v in curves[label])
            (points,) = axes.loglog(xs, errors, "o", label=f"{what}: {slope(xs, errors):.2f} (theory {theory:g})")
            axes.loglog(xs, errors[-1] * (xs / xs[-1]) ** theory, "--", color=points.get_color())
            axes.xaxis.set_major_locator(FixedLocator(list(xs)))
            axes.xaxis.set_minor_locator(NullLocator())
            axes.set_xticklabels([f"{v:,.0f}" if v > 10 else f"{v:g}" for v in xs])
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.grid(visible=True, alpha=0.3)
        axes.set_ylim(top=axes.get_ylim()[1] * 3)  # room for the legend
        axes.legend(fontsize="small", title="slopes; dashed: theory's", title_fontsize="small")
        figure.tight_layout()
        figure.savefig(folder / f"{name}.png", dpi=110)
        plt.close(figure)


def main() -> None:
    """Run everything and print the JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rows and repetitions")
    parser.add_argument("--plots", type=Path, default=None, help="folder for pictures (needs matplotlib)")
    options = parser.parse_args()
    curves: dict[str, Any] = {}
    fitted = exponents(options.quick, curves)
    press = coinpress(options.quick)
    if options.plots is not None:
        draw(curves, options.plots)
    print(json.dumps({"benchmark": "moments", "quick": options.quick, "exponents": fitted, **press}))


if __name__ == "__main__":
    main()
