"""Bounds of Frank-Wolfe against runs of it, and the printed formulas against hand calculation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet import theory
from discreet.losses import LogisticLoss, Loss, SquaredLoss
from discreet.penalties import ConstraintSet, L1Ball, L2Ball, LqBall, Polytope, Simplex


def problem(n: int = 300, p: int = 20, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (n, p))
    return X, np.clip(X[:, 0] * 0.8 - X[:, 1] * 0.6 + rng.normal(0, 0.3, n), -1, 1)


def run(X, y, loss: Loss, body: ConstraintSet, steps: int, start: int = 0, noise=None, first=None) -> np.ndarray:
    """Frank-Wolfe with step 2/(t+2) from t = `start`; `noise(t)` is added to the gradient or, per vertex, to scores."""
    w = np.zeros(X.shape[1]) if first is None else first
    for t in range(start, start + steps):
        g = X.T @ loss.derivative(X @ w, y)
        s = body.linear_oracle(g) if noise is None else noise(g)
        w = w + 2.0 / (t + 2.0) * (s - w)
    return w


def best_value(X, y, loss: Loss, body: ConstraintSet) -> float:
    """The optimum, from below: the value minus the duality gap after many projected steps."""
    w = np.zeros(X.shape[1])
    step = 1.0 / (loss.smoothness * np.linalg.norm(X, 2) ** 2)
    v, t = w, 1.0
    for k in range(3000):
        new = body.project(v - step * (X.T @ loss.derivative(X @ v, y)))
        t_new = (1 + math.sqrt(1 + 4 * t * t)) / 2
        v, w, t = new + (t - 1) / t_new * (new - w), new, t_new
        g = X.T @ loss.derivative(X @ w, y)
        if k % 20 == 0 and float(g @ w + body.support(-g)) < 2e-5:
            break
    g = X.T @ loss.derivative(X @ w, y)
    gap = float(g @ w + body.support(-g))
    assert gap < 1e-4
    return float(loss.value(X @ w, y).sum()) - gap


CASES = [
    (SquaredLoss(), L1Ball(0.7)),
    (LogisticLoss(), L1Ball(3.0)),
    (SquaredLoss(), L2Ball(0.5)),
    (LogisticLoss(), Simplex(2.0)),
    (SquaredLoss(), LqBall(1.5, 0.8)),
]


@pytest.mark.parametrize(("loss", "body"), CASES, ids=repr)
def test_frank_wolfe_stays_below_its_bound_at_every_step(loss: Loss, body: ConstraintSet) -> None:
    X, y = problem()
    y = np.sign(y) if loss.targets == "binary" else y
    best = best_value(X, y, loss, body)
    curvature = theory.curvature_bound(loss, body, n=300, p=20, feature_bound=1.0, target_bound=1.0)
    for steps in (1, 2, 3, 5, 10, 30, 100):
        excess = float(loss.value(X @ run(X, y, loss, body, steps), y).sum()) - best
        assert excess <= theory.frank_wolfe_bound(curvature, steps, sharp=True)
        assert theory.frank_wolfe_bound(curvature, steps, sharp=True) <= theory.frank_wolfe_bound(curvature, steps)


@pytest.mark.parametrize(("loss", "body"), CASES, ids=repr)
def test_the_printed_start_keeps_a_trace_of_the_first_point(loss: Loss, body: ConstraintSet) -> None:
    X, y = problem()
    y = np.sign(y) if loss.targets == "binary" else y
    best = best_value(X, y, loss, body)
    first = -body.linear_oracle(X.T @ loss.derivative(np.zeros(300), y)) if body.symmetric else body.vertex(5, 20)
    curvature = theory.curvature_bound(loss, body, n=300, p=20, feature_bound=1.0, target_bound=1.0)
    gap = float(loss.value(X @ first, y).sum()) - best
    for steps in (1, 2, 5, 20, 60):
        excess = float(loss.value(X @ run(X, y, loss, body, steps, start=1, first=first), y).sum()) - best
        assert excess <= theory.theorem_2_2(curvature, steps, gap)


def test_without_curvature_only_the_printed_start_needs_the_gap() -> None:
    """A linear loss has no curvature: from t = 0 one step suffices, from t = 1 the first point is still felt."""
    g, body = np.array([1.0, -2.0]), L1Ball()
    w = np.array([0.0, -1.0])
    gap = float(g @ w + body.support(-g))
    for t in range(1, 6):
        w = w + 2.0 / (t + 2.0) * (body.linear_oracle(g) - w)
        assert float(g @ w + body.support(-g)) == pytest.approx(theory.theorem_2_2(0.0, t, gap))


def test_curvature_constants_of_the_dossier() -> None:
    """Logistic r^2 X^2 n; half of the squared residual 4 r^2 X^2 n; both reached by no data set passed."""
    bound = {"n": 50, "p": 7, "feature_bound": 2.0}
    assert theory.curvature_bound(LogisticLoss(), L1Ball(3.0), **bound) == 9 * 4 * 50
    assert theory.curvature_bound(SquaredLoss(), L1Ball(3.0), **bound) == 4 * 9 * 4 * 50
    assert theory.curvature_bound(SquaredLoss(), L2Ball(3.0), rows="l2", **bound) == 4 * 9 * 4 * 50
    with pytest.raises(ValueError, match="'linf' or 'l2'"):
        theory.curvature_bound(SquaredLoss(), L2Ball(3.0), rows="l7", **bound)


@pytest.mark.parametrize(
    "body", [L1Ball(1.5), L2Ball(0.8), Simplex(), Polytope([[1.0, 2.0], [-1.0, 0.5], [0.0, -1.0]])]
)
def test_remark_1_needs_a_factor_of_two(body: ConstraintSet) -> None:
    """Definition 2.1 for ``|A w|^2`` (LASSO paper): the supremum is twice what Remark 1 prints."""
    rng = np.random.default_rng(3)
    p = 2
    A = rng.normal(0, 1, (5, p))
    largest = 0.0
    points = [body.linear_oracle(d) for d in rng.normal(0, 1, (400, p))]
    for a in points[:60]:
        for b in points:
            for step in (1.0, 0.1):
                c = a + step * (b - a)
                gradient = 2 * A.T @ (A @ a)
                bend = np.sum((A @ c) ** 2) - np.sum((A @ a) ** 2) - (c - a) @ gradient
                largest = max(largest, 2 / step**2 * float(bend))
    exact, printed = theory.quadratic_curvature(A, body), theory.remark_1_printed(A, body)
    assert exact == 2 * printed
    assert printed * 1.5 < largest <= exact * (1 + 1e-9)
    assert largest >= 0.97 * exact


def test_private_bound_holds_for_gumbel_selections() -> None:
    """Mean excess of 40 runs with exponential-mechanism selections, 4 standard errors below the bound."""
    X, y = problem()
    loss, body, rho = LogisticLoss(), L1Ball(3.0), 0.2
    y = np.sign(y)
    best = best_value(X, y, loss, body)
    rng = np.random.default_rng(9)
    curvature = theory.curvature_bound(loss, body, n=300, p=20, feature_bound=1.0)
    for steps in (2, 8, 30):
        scale = theory.selection_scale(2 * 3.0, steps, rho)

        def pick(g: np.ndarray, scale: float = scale) -> np.ndarray:
            scores = 3.0 * np.concatenate([-g, g]) + rng.gumbel(0, scale, 40)
            return body.vertex(int(np.argmax(scores)), 20)

        excess = [float(loss.value(X @ run(X, y, loss, body, steps, noise=pick), y).sum()) - best for _ in range(40)]
        bound = theory.private_frank_wolfe_bound(curvature, 6.0, 40, steps, rho)
        assert np.mean(excess) + 4 * np.std(excess) / math.sqrt(40) <= bound


def test_gaussian_bound_holds_for_noisy_gradients() -> None:
    """The same for Gaussian noise on the gradient and the width (Theorem 2.6)."""
    X, y = problem()
    loss, mu = LogisticLoss(), 0.6
    y = np.sign(y)
    rng = np.random.default_rng(10)
    for body in (L1Ball(3.0), L2Ball(1.0)):
        best = best_value(X, y, loss, body)
        curvature = theory.curvature_bound(loss, body, n=300, p=20, feature_bound=1.0)
        for steps in (2, 8, 30):
            sd = math.sqrt(20) * math.sqrt(steps) / mu

            def pick(g: np.ndarray, sd: float = sd, body: ConstraintSet = body) -> np.ndarray:
                return body.linear_oracle(g + rng.normal(0, sd, 20))

            excess = [
                float(loss.value(X @ run(X, y, loss, body, steps, noise=pick), y).sum()) - best for _ in range(40)
            ]
            bound = theory.gaussian_frank_wolfe_bound(curvature, body.gaussian_width(20), math.sqrt(20), steps, mu)
            assert np.mean(excess) + 4 * np.std(excess) / math.sqrt(40) <= bound


def test_step_rules_find_the_least_bound() -> None:
    for curvature in (10.0, 1e3, 1e6):
        bounds = [theory.private_frank_wolfe_bound(curvature, 2.0, 500, t, 0.1) for t in range(1, 3001)]
        steps = theory.private_frank_wolfe_steps(curvature, 2.0, 500, 0.1, most=3000)
        assert bounds[steps - 1] == min(bounds)
        bounds = [theory.gaussian_frank_wolfe_bound(curvature, 3.0, 1.0, t, 0.5) for t in range(1, 3001)]
        assert bounds[theory.gaussian_frank_wolfe_steps(curvature, 3.0, 1.0, 0.5, most=3000) - 1] == min(bounds)
    assert theory.private_frank_wolfe_steps(1e12, 2.0, 500, 0.1, most=77) == 77


def test_the_best_bound_falls_with_the_exponent_of_the_theorem() -> None:
    """Means over rows: excess/n of order n^(-2/3) and (log p)^(2/3) at most (Theorems 1.1, 2.5)."""
    sizes = np.array([1e5, 1e6, 1e7, 1e8])
    errors = [
        theory.lasso_privacy_error(int(n), 1000, 0.1, lipschitz=1.0, radius=1.0, feature_bound=1.0) for n in sizes
    ]
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert slope == pytest.approx(-2 / 3, abs=0.01)
    wide = [
        theory.lasso_privacy_error(10**7, p, 0.1, lipschitz=1.0, radius=1.0, feature_bound=1.0) for p in (10**2, 10**5)
    ]
    assert wide[1] / wide[0] <= math.log(2 * 10**5) / math.log(200)


def test_printed_formulas() -> None:
    """Against the formulas typed out again from the sources."""
    n, eps, delta, k, T, tau = 5000, 0.7, 1e-5, 300, 40, 0.1
    log = math.log(1 / delta)
    assert theory.lecture_noise_scale(n, eps, delta, lipschitz=2.0, radius=3.0, n_steps=T) == pytest.approx(
        2 * 3 * 2 * math.sqrt(8 * T * log) / (n * eps)
    )
    assert theory.theorem_16_3_printed(n, eps, delta, lipschitz=2.0, k=k, n_steps=T, tau=tau) == pytest.approx(
        1 / T + 2 * math.log(k) * math.log(T / tau) * math.sqrt(T * math.log(T / delta)) / (n * eps)
    )
    assert theory.theorem_2_5(n, eps, delta, curvature=3.0, lipschitz=2.0, radius=5.0, n_vertices=k) == pytest.approx(
        3 ** (1 / 3) * 10 ** (2 / 3) * math.log(n * k) * math.sqrt(log) / (n * eps) ** (2 / 3)
    )
    assert theory.theorem_2_6(n, eps, delta, curvature=3.0, lipschitz=2.0, width=5.0) == pytest.approx(
        3 ** (1 / 3) * 10 ** (2 / 3) * math.log(n / delta) ** 2 / (n * eps) ** (2 / 3)
    )
    assert theory.corollary_2_7(n, 9, eps, delta) == pytest.approx(math.log(n * 9 / delta) / (n * eps) ** (2 / 3))
    assert theory.theorem_1_1(n, 9, eps, delta) == pytest.approx(
        math.log(n * 9) * math.sqrt(log) / (n * eps) ** (2 / 3)
    )
    assert theory.frank_wolfe_steps(n, eps, curvature=3.0, lipschitz=2.0, radius=5.0) == math.ceil(
        (3 * n * eps / 10) ** (2 / 3)
    )


def test_the_corrected_theorem_holds_with_its_probability() -> None:
    """Theorem 16.3 with Laplace noise: the excess passes the bound in fewer than 10 % of 50 runs (in fact in none)."""
    X, y = problem(n=2000)
    loss, body = LogisticLoss(), L1Ball(2.0)
    y = np.sign(y)
    best = best_value(X, y, loss, body) / 2000
    rng = np.random.default_rng(11)
    scale = theory.lecture_noise_scale(2000, 1.0, 1e-5, lipschitz=1.0, radius=2.0, n_steps=20)

    def pick(g: np.ndarray) -> np.ndarray:
        scores = 2.0 * np.concatenate([-g, g]) / 2000 + rng.laplace(0, scale, 40)
        return body.vertex(int(np.argmax(scores)), 20)

    bound = theory.theorem_16_3(2000, 1.0, 1e-5, curvature=4.0, lipschitz=1.0, radius=2.0, k=40, n_steps=20, tau=0.1)
    excess = [float(loss.value(X @ run(X, y, loss, body, 20, noise=pick), y).mean()) - best for _ in range(50)]
    assert np.mean(np.array(excess) > bound) < 0.1


@pytest.mark.parametrize(
    "call",
    [
        lambda: theory.frank_wolfe_bound(1.0, 0),
        lambda: theory.theorem_2_5(10, -1.0, 1e-5, curvature=1, lipschitz=1, radius=1, n_vertices=2),
        lambda: theory.theorem_2_6(10, 1.0, 0.0, curvature=1, lipschitz=1, width=1),
        lambda: theory.private_frank_wolfe_bound(1.0, 1.0, 4, 4, 0.1, factor=1.5),
        lambda: theory.selection_scale(1.0, 4, math.inf),
        lambda: theory.expected_selection_error(2.5, 1.0),
    ],
)
def test_impossible_numbers_are_refused(call) -> None:
    with pytest.raises(ValueError, match="must"):
        call()
