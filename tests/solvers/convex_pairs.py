"""Every convex solver, loss and penalty with settings long enough to converge, and reference minima for all of them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from discreet import losses, penalties
from discreet.curator import RowBounds, make_curator
from discreet.privacy import Budget
from discreet.solvers.adaptive_gradient_descent import AdaptiveGradientDescent
from discreet.solvers.base import Plan, Problem, Solver
from discreet.solvers.coordinate_descent import CoordinateDescent
from discreet.solvers.frank_wolfe import FrankWolfe
from discreet.solvers.gradient_descent import GradientDescent
from discreet.solvers.greedy_coordinate_descent import GreedyCoordinateDescent
from discreet.solvers.newton import Newton
from discreet.solvers.objective_perturbation import ObjectivePerturbation
from discreet.solvers.output_perturbation import OutputPerturbation
from discreet.solvers.sgd import StochasticGradientDescent
from discreet.solvers.sufficient_statistics import SufficientStatistics
from discreet.solvers.svrg import StochasticVarianceReduced
from discreet.solvers.whitened_gradient_descent import WhitenedGradientDescent
from discreet.solvers.whitened_objective_perturbation import CAP, WhitenedObjectivePerturbation
from discreet.testing import without_privacy

N, P = 300, 4
BUDGET = Budget(4, 1e-6)
LOSSES: dict[str, losses.Loss] = {
    "squared": losses.SquaredLoss(),
    "logistic": losses.LogisticLoss(),
    "huber": losses.HuberLoss(1.0),
    "pseudo_huber": losses.PseudoHuberLoss(1.0),
    "smoothed_hinge": losses.SmoothedHingeLoss(0.5),
    "huber_hinge": losses.HuberHingeLoss(1.0),
    "poisson": losses.PoissonLoss(1.0),
    "quantile": losses.QuantileLoss(0.5, 1.0),
    "softmax": losses.SoftmaxLoss(3),
}
PENALTIES: dict[str, penalties.Penalty | None] = {
    "none": None,
    "l1": penalties.L1(12.0),
    "l2": penalties.L2(20.0),
    "elastic_net": penalties.ElasticNet(20.0, 0.5),
    "l1_ball": penalties.L1Ball(0.5),
    "l2_ball": penalties.L2Ball(0.3),
    "lq_ball": penalties.LqBall(1.5, 0.3),
    "group_l1_ball": penalties.GroupL1Ball(2, 0.4),
    "simplex": penalties.Simplex(0.5),
    "polytope": penalties.Polytope(0.25 * np.vstack([np.eye(P), -np.eye(P), np.ones((1, P))])),
    "box": penalties.Box(-0.1, 0.2),
}
SOLVERS: dict[str, Solver] = {
    "gradient_descent": GradientDescent(steps=300, step_size=4.0, momentum=0.5, average="last"),
    "adaptive_gradient_descent": AdaptiveGradientDescent(
        steps=150, n_candidates=60, objective_clip=60.0, average="last"
    ),
    "coordinate_descent": CoordinateDescent(steps=1200, average="last", curvature="bounds"),
    "greedy_coordinate_descent": GreedyCoordinateDescent(steps=300, step_size=2.0),
    "sgd": StochasticGradientDescent(steps=300, batch=N, average="last"),
    "svrg": StochasticVarianceReduced(steps=400, rounds=100, batch=N, step_size=4.0),
    "frank_wolfe": FrankWolfe(steps=200),
    "objective_perturbation": ObjectivePerturbation(),
    "output_perturbation": OutputPerturbation(),
    "newton": Newton(steps=60, floor=1e-9),
    "sufficient_statistics": SufficientStatistics(ridge_factor=1e-12),
    "whitened_gradient_descent": WhitenedGradientDescent(steps=400, radius=20.0, floor=1e-9, momentum=0.5),
    "whitened_objective_perturbation": WhitenedObjectivePerturbation(floor=1e-12),
}
AT_A_RATE = {"frank_wolfe"}  # approach the minimum at the rate of their theorem only
NOT_CONVEX = {"iterative_hard_thresholding", "peeling", "heavy_tailed_peeling"}
# tested in files of their own: what they minimise, if anything, is another objective than the one that they are given
OF_THEIR_OWN = {"calibrated", "class_means", "selected_objective_perturbation", "steep_objective_perturbation",
                "whitened_poisson", "whitened_regression"}  # fmt: skip


@cache
def table(targets: str) -> tuple[Any, Any]:
    """Rows and targets that lie on every grid: whole multiples of 1/8."""
    rng = np.random.default_rng(11)
    X = rng.integers(-8, 9, (N, P)) / 8
    score = X @ np.array([1.0, -0.5, 0.25, 0.0])
    noise = rng.normal(size=N)
    return X, {
        "binary": np.where(score + noise > 0, 1.0, -1.0),
        "real": np.rint(8 * np.clip(score / 2 + noise / 4, -1, 1)) / 8,
        "count": rng.poisson(np.exp(score / 4)).clip(0, 2).astype(float),
        "classes": np.digitize(score + noise / 2, [-0.4, 0.4]).astype(float),
    }[targets]


def pair(loss: str, penalty: str) -> Problem:
    """The problem of a loss and a penalty; slopes are clipped where none of these rows comes."""
    targets = LOSSES[loss].targets
    y = {"real": (-1.0, 1.0), "count": (0.0, 2.0)}.get(targets)
    return Problem(
        LOSSES[loss], RowBounds(linf=1.0, y=y), P, N, BUDGET, penalty=PENALTIES[penalty],
        slope=8.0 if loss in ("squared", "poisson") else None,
    )  # fmt: skip


def settings(name: str, task: Problem) -> Solver:
    """The solver; the step size of SGD is one over the smoothness that these rows have, well below what is public."""
    solver = SOLVERS[name]
    if isinstance(solver, StochasticGradientDescent):
        return replace(solver, step_size=6.0 / task.smoothness)
    return solver


def fitted(task: Problem, solver: Solver, plan: Plan) -> Any:
    """The weights without noise."""
    X, y = table(task.loss.targets)
    with without_privacy():
        return solver.solve(task, plan, make_curator(X, y, bounds=task.bounds))


class Objective:
    """The sum of losses, half `ridge` times the squared norm and the penalty, in plain floats."""

    def __init__(self, task: Problem, ridge: float = 0.0) -> None:
        self.task, self.ridge = task, ridge
        self.X, self.y = table(task.loss.targets)
        self.w = np.ones(len(self.X))

    def margins(self, w: Any) -> Any:
        return self.X @ w if w.ndim == 1 else self.X @ w.T

    def smooth(self, w: Any) -> float:
        value = self.w @ self.task.loss.value(self.margins(w), self.y)
        return float(value) + self.ridge / 2 * float((w * w).sum())

    def __call__(self, w: Any) -> float:
        added = self.task.penalty.value(w.ravel()) if self.task.penalty is not None and self.task.composite else 0.0
        return self.smooth(w) + float(added)

    def gradient(self, w: Any) -> Any:
        slopes = self.task.loss.derivative(self.margins(w), self.y)
        return (self.w * slopes.T) @ self.X + self.ridge * w

    def best(self) -> tuple[Any, float]:
        """The best weights and their objective."""
        w = self.minimiser()
        return w, self(w)

    def minimiser(self) -> Any:
        """Accelerated proximal gradients with restarts, until a proximal step moves nothing."""
        lipschitz = self.task.loss.smoothness * float(np.linalg.norm(self.X, 2)) ** 2 + self.ridge
        w = z = self.task.prox(np.zeros(self.task.shape))
        t = 1.0
        for _ in range(20_000):
            new = self.task.prox(z - self.gradient(z) / lipschitz, 1 / lipschitz)
            if float(((z - new) * (new - w)).sum()) > 0:
                t = 1.0
            following = (1 + (1 + 4 * t * t) ** 0.5) / 2
            moved, z, w, t = np.abs(new - z).max(), new + (t - 1) / following * (new - w), new, following
            if moved < 1e-13:
                break
        still = self.task.prox(w - self.gradient(w) / lipschitz, 1 / lipschitz)
        assert np.abs(still - w).max() < 1e-8, "the reference has not converged"
        return w


class Whitened(Objective):
    """What whitened objective perturbation minimises: the transformed rows, on their grid, with capped weights."""

    def __init__(self, task: Problem, solver: WhitenedObjectivePerturbation, plan: Plan) -> None:
        super().__init__(task, float(plan.schedule["ridge"]))
        moments = self.X.T @ self.X
        self.towards = solver._whitening(moments, 0.0, N, plan.schedule["exponent"])
        curator = make_curator(self.X, self.y, bounds=task.bounds)
        mapped = curator.transformed(self.towards, plan.schedule["bounds"], weight_norm=CAP)
        rows = list(mapped._segments())
        self.X = np.vstack([np.asarray(r.K) for r in rows]) * float(mapped.grid.unit)
        self.y = np.concatenate([r.y for r in rows])
        self.w = np.concatenate([r.w for r in rows]) * float(mapped.grid.weight_unit)

    def __call__(self, w: Any) -> float:
        """Of weights as they are released: mapped back to the features."""
        return self.smooth(np.linalg.solve(self.towards.T, w))

    def best(self) -> tuple[Any, float]:
        """As above, in the coordinates of the transformed rows."""
        theta = self.minimiser()
        return self.towards.T @ theta, self.smooth(theta)
