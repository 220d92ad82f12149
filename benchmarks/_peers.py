"""Other ways to fit a private linear model, written from their papers, each with the grid that it is tuned on.

Every peer gets what our default gets: epsilon, delta, and public bounds of each column, by which columns are put on
[0, 1]; targets of regressions are put on [-1, 1].  Noise is that of adding or removing a row unless the peer's own
library says otherwise.  Arithmetic and noise are floating point; none of the care of ``discreet`` is taken here.

A peer's `fit` takes training columns on [0, 1] (without constant column), targets (-1 and 1, or real), test columns, a
budget, a generator and one setting; it returns scores of the test rows: margins, or predicted targets.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from dp_accounting import dp_event
from numpy.typing import NDArray
from scipy.special import expit

from discreet import accounting
from discreet.privacy import Budget

__all__ = ["CLASSIFIERS", "REGRESSORS", "Peer", "grid"]

Array = NDArray[np.float64]
Setting = Mapping[str, float]
Fit = Callable[[Array, Array, Array, float, float, np.random.Generator, Setting], Array]


@dataclass(frozen=True)
class Peer:
    """One algorithm and the settings it is tuned over; `fit` None stands for a library in its own environment."""

    name: str
    source: str
    settings: tuple[Setting, ...]
    fit: Fit | None


def grid(**options: tuple[float, ...]) -> tuple[Setting, ...]:
    """Every combination.

    >>> grid(a=(1.0, 2.0), b=(3.0,))
    ({'a': 1.0, 'b': 3.0}, {'a': 2.0, 'b': 3.0})
    """
    return tuple(dict(zip(options, values, strict=True)) for values in itertools.product(*options.values()))


def _with_constant(X: Array, norm: float) -> Array:
    """Rows with a constant 1 at the end, cut to that l2 norm."""
    rows = np.column_stack([X, np.ones(len(X))])
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return np.asarray(rows * np.minimum(1.0, norm / length)[:, None])


@functools.lru_cache(maxsize=4096)
def sampled_noise(epsilon: float, delta: float, rate: float, steps: int) -> float:
    """The noise multiplier of DP-SGD by loss distributions, as Opacus' PRV accountant has it to three digits."""
    budget = Budget(epsilon, delta)

    def event(noise: float) -> Any:
        one: Any = dp_event.GaussianDpEvent(noise)
        return dp_event.SelfComposedDpEvent(one if rate >= 1 else dp_event.PoissonSampledDpEvent(rate, one), steps)

    return float(accounting.calibrate(event, budget, rtol=1e-3))


def _slope(loss: str, margins: Array, y: Array) -> Array:
    return np.asarray(-y * expit(-y * margins) if loss == "logistic" else margins - y)


def _descent(loss: str, X: Array, y: Array, T: Array, eps: float, delta: float, rng: Any, s: Setting) -> Array:
    """DP-SGD (Abadi et al. 2016) with Poisson batches, each row's gradient clipped; full batches where rate is 1."""
    rows, norm = _with_constant(X, s["norm"]), s["norm"]
    n, p = rows.shape
    steps = max(int(s["epochs"] / s["rate"]), 1)
    clip = s["clip"] * norm
    sigma = clip * sampled_noise(eps, delta, s["rate"], steps)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    w, mean = np.zeros(p), np.zeros(p)
    for t in range(steps):
        chosen = slice(None) if s["rate"] >= 1 else rng.random(n) < s["rate"]
        Z = rows[chosen]
        r = _slope(loss, Z @ w, y[chosen])
        r = r * np.minimum(1.0, clip / np.maximum(np.abs(r) * lengths[chosen], 1e-12))
        g = Z.T @ r + rng.normal(0, sigma, p)
        w = w - s["rate_of_learning"] / norm**2 * g / (n * s["rate"])
        if 2 * t >= steps:
            mean += w / (steps - (steps + 1) // 2)
    return np.asarray(np.column_stack([T, np.ones(len(T))]) @ mean)


def _classified(X: Array, y: Array, T: Array, eps: float, delta: float, rng: Any, s: Setting) -> Array:
    return _descent("logistic", X, y, T, eps, delta, rng, s)


def _regressed(X: Array, y: Array, T: Array, eps: float, delta: float, rng: Any, s: Setting) -> Array:
    return _descent("squared", X, y, T, eps, delta, rng, s)


def _minimum(rows: Array, y: Array, ridge: float, tilt: Array) -> Array:
    """The minimum of logistic losses, ridge and tilt, by Newton's method."""
    w = np.zeros(rows.shape[1])

    def value(v: Array) -> float:
        return float(np.logaddexp(0, -y * (rows @ v)).sum() + ridge / 2 * v @ v + tilt @ v)

    for _ in range(60):
        m = rows @ w
        g = rows.T @ _slope("logistic", m, y) + ridge * w + tilt
        if np.linalg.norm(g) < 1e-9 * len(y):
            break
        h = expit(m) * expit(-m)
        move = np.linalg.solve((rows * h[:, None]).T @ rows + ridge * np.eye(w.size), g)
        step, now = 1.0, value(w)
        while step > 1e-6 and value(w - step * move) > now - 1e-4 * step * float(g @ move):
            step /= 2
        w = w - step * move
    return w


def _kifer(X: Array, y: Array, T: Array, eps: float, delta: float, rng: Any, s: Setting) -> Array:
    """Objective perturbation of Kifer, Smith, Thakurta 2012 (approximate), for rows of norm `norm`."""
    norm = s["norm"]
    rows = _with_constant(X, norm)
    sigma = norm * math.sqrt(8 * math.log(2 / delta) + 4 * eps) / eps
    ridge = max(2 * norm**2 / 4 / eps, s["ridge"] * norm**2)
    w = _minimum(rows, y, ridge, rng.normal(0, sigma, rows.shape[1]))
    return np.asarray(np.column_stack([T, np.ones(len(T))]) @ w)


def _amp(X: Array, y: Array, T: Array, eps: float, delta: float, rng: Any, s: Setting) -> Array:
    """Approximate minima perturbation of Iyengar et al. 2019, Algorithm 1, at the noise of adding or removing a row."""
    norm, n = s["norm"], len(y)
    rows = _with_constant(X, norm)
    eps1, eps2, delta1, delta2 = 0.99 * eps, 0.01 * eps, 0.99 * delta, 0.01 * delta
    eps3 = max(s["share"] * eps1, eps1 - 0.99)
    ridge = max(norm**2 / 4 / (eps1 - eps3), s["ridge"] * norm**2)
    tilt = rng.normal(0, norm * (1 + math.sqrt(2 * math.log(1 / delta1))) / eps3, rows.shape[1])
    w = _minimum(rows, y, ridge, tilt)
    inexact = 1e-9 * n / ridge * (1 + math.sqrt(2 * math.log(1 / delta2))) / eps2
    w = w + rng.normal(0, inexact, w.size)
    return np.asarray(np.column_stack([T, np.ones(len(T))]) @ w)


def _class_means(X: Array, y: Array, T: Array, eps: float, delta: float, rng: Any, s: Setting) -> Array:
    """The difference of noisy class means, of rows centred on the middle of their box and cut to `norm`."""
    rows = X - 0.5
    rows = rows * np.minimum(1.0, s["norm"] / np.sqrt(np.einsum("ij,ij->i", rows, rows)).clip(1e-12))[:, None]
    share, p = s["share"], X.shape[1]
    counts = np.array([(y < 0).sum(), (y > 0).sum()]) + rng.laplace(0, 1 / (eps * share), 2)
    noise = s["norm"] * sampled_noise(eps * (1 - share), delta, 1.0, 1)
    sums = [rows[y < 0].sum(axis=0) + rng.normal(0, noise, p), rows[y > 0].sum(axis=0) + rng.normal(0, noise, p)]
    low, high = (total / max(count, 1.0) for total, count in zip(sums, counts, strict=True))
    bias = math.log(max(counts[1], 1.0) / max(counts[0], 1.0)) * s["prior"]
    return np.asarray((T - 0.5 - (low + high) / 2) @ (high - low) + bias)


def _adassp(X: Array, y: Array, T: Array, eps: float, delta: float, rng: Any, s: Setting) -> Array:
    """AdaSSP of Wang 2018, Algorithm 2, with failure probability 0.05 and a share of each range for bounds."""
    norm, top = s["norm"], s["range"]
    rows, target = _with_constant(2 * X - 1, norm), np.clip(y, -top, top)
    p = rows.shape[1]
    gram, part, log6 = rows.T @ rows, eps / 3, math.log(6 / delta)
    root = math.sqrt(log6) / part
    least = float(np.linalg.eigvalsh(gram)[0]) + root * norm**2 * rng.normal() - log6 / part * norm**2
    ridge = max(0.0, math.sqrt(p * log6 * math.log(2 * p**2 / 0.05)) * norm**2 / part - max(least, 0.0))
    upper = np.triu(rng.normal(size=(p, p)))
    gram = gram + root * norm**2 * (upper + upper.T - np.diag(np.diag(upper)))
    moment = rows.T @ target + root * norm * top * rng.normal(size=p)
    w = np.linalg.solve(gram + ridge * np.eye(p), moment)
    return np.asarray(np.column_stack([2 * T - 1, np.ones(len(T))]) @ w)


def _private_lasso(X: Array, y: Array, T: Array, eps: float, delta: float, rng: Any, s: Setting) -> Array:
    """Private Frank-Wolfe of Talwar, Thakurta, Zhang 2015, Algorithm 2, over the l1 ball, with its Laplace scale."""
    rows = np.column_stack([2 * X - 1, np.ones(len(X))])
    radius, steps = s["radius"], int(s["steps"])
    lipschitz = 1.0 + radius  # of a squared loss with entries, targets and predictions in these ranges
    scale = lipschitz * radius * math.sqrt(8 * steps * math.log(1 / delta)) / eps
    w = np.zeros(rows.shape[1])
    for t in range(steps):
        g = rows.T @ np.clip(rows @ w - y, -lipschitz, lipschitz)
        scores = radius * np.concatenate([g, -g]) + rng.laplace(0, scale, 2 * w.size)
        j = int(scores.argmin())
        corner = np.zeros_like(w)
        corner[j % w.size] = radius if j < w.size else -radius
        w = w + 2 / (t + 2) * (corner - w)
    return np.asarray(np.column_stack([2 * T - 1, np.ones(len(T))]) @ w)


NORMS = (1.0, 2.0, 3.5)
CLASSIFIERS = (
    Peer(
        "DP-SGD", "Abadi et al. 2016; loss distribution accounting; average of the later half",
        grid(norm=(1.0, 3.0), clip=(0.3, 1.0), rate_of_learning=(1.0, 4.0, 16.0), rate=(0.02,), epochs=(10.0,))
        + grid(norm=(3.0,), clip=(1.0,), rate_of_learning=(1.0, 4.0), rate=(0.05,), epochs=(40.0,)),
        _classified,
    ),
    Peer(
        "DP-GD", "full batches; one Gaussian mechanism; average of the later half",
        grid(norm=(1.0, 3.0), clip=(0.3, 1.0), rate_of_learning=(4.0, 16.0), rate=(1.0,), epochs=(20.0, 80.0)),
        _classified,
    ),
    Peer(
        "objective perturbation 2012", "Kifer, Smith, Thakurta 2012",
        grid(norm=NORMS, ridge=(0.0, 10.0, 100.0)), _kifer,
    ),
    Peer(
        "AMP", "Iyengar et al. 2019, Algorithm 1",
        grid(norm=NORMS, ridge=(0.0, 30.0), share=(0.5, 0.9)), _amp,
    ),
    Peer("class means", "noisy class means", grid(norm=NORMS, share=(0.1,), prior=(0.0, 0.1)), _class_means),
    Peer(
        "diffprivlib", "LogisticRegression of diffprivlib 0.6.6, delta 0",
        grid(norm=NORMS, C=(0.01, 0.1, 1.0, 10.0)), None,
    ),
)  # fmt: skip
REGRESSORS = (
    Peer("AdaSSP", "Wang 2018, Algorithm 2", grid(norm=(0.5, 1.0, 2.0, 3.5), range=(0.5, 1.0)), _adassp),
    Peer(
        "DP-GD", "full batches; one Gaussian mechanism; average of the later half",
        grid(norm=(1.0, 3.0), clip=(0.1, 0.5), rate_of_learning=(0.5, 2.0), rate=(1.0,), epochs=(20.0, 80.0)),
        _regressed,
    ),
    Peer(
        "private LASSO", "Talwar, Thakurta, Zhang 2015, Algorithm 2",
        grid(radius=(0.5, 1.0, 3.0), steps=(5.0, 20.0, 80.0)), _private_lasso,
    ),
    Peer(
        "diffprivlib", "LinearRegression of diffprivlib 0.6.6, delta 0", grid(norm=(1.0,)), None,
    ),
)  # fmt: skip
