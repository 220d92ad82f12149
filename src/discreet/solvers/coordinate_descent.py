"""Coordinate descent: one partial derivative at a time, with its own noise, clip and step size."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import published_descent
from discreet.accounting.published import strength
from discreet.curator import Clip, Curator
from discreet.curator.choices import public_choices
from discreet.mechanisms import Gaussian
from discreet.mechanisms.base import Mechanism
from discreet.solvers.base import Ask, Problem, Solver, Weights
from discreet.solvers.queries import NoisySum, Query

__all__ = ["CoordinateDescent"]

Floats = NDArray[np.float64]
EDGES = 2.0 ** np.arange(-12.0, 1.0)  # for an adaptive clip: shares of the largest possible gradient


@dataclass(frozen=True)
class CoordinateDescent(Solver):
    r"""Mangold, Bellet, Salmon and Tommasi's DP-CD, with a prox, three clipping rules and the best noise.

    Parameters
    ----------
    steps : int or "auto"
        All updates together, over coordinates and outer rounds.
    rounds : int, default=1
        T: after each ``K = steps / rounds`` updates the run goes on from their average.
    sampling : {"uniform", "importance", "cyclic"}
        Which coordinate: drawn evenly, in proportion to the root of its smoothness, or in turn.
    clipping : {"lipschitz", "uniform", "adaptive"}
        ``C_j`` in proportion to the root of ``M_j``, all equal, or the first with a size found by a paid histogram of
        gradient lengths at the start of each round.
    clip : float or "auto"
        C, the length of all ``C_j``; "auto" is the longest gradient a row can have.
    curvature : {"auto", "bounds", "private"}
        Smoothness along each coordinate from the public bound of its column, or from one paid vector of column
        squares; "auto" pays where that is precise enough.
    average : {"rounds", "tail", "last"}
        Averages of every round as published, of the last half of each, or none.
    accounting : {"tight", "as_published"}
        Variance in proportion to ``Delta_j sqrt(M_j)``, or the printed ``8 Delta_j^2 T K log(1/delta)``.

    Notes
    -----
    *Privacy.* Guarantee: one Gaussian release per update; coordinates are public, so nothing is amplified.
    Neighbours: those of the curator.  Public: the sequence of coordinates, steps, clips.  Bounded by: each
    coordinate's own clip.  Proof: ``proofs/coordinate_descent.md``.

    Examples
    --------
    >>> from discreet.curator import RowBounds
    >>> from discreet.losses import LogisticLoss
    >>> from discreet.privacy import Budget
    >>> problem = Problem(LogisticLoss(), RowBounds(linf=1.0), 5, 1000, Budget(1, 1e-6))
    >>> round(CoordinateDescent(100, curvature="bounds").plan(problem).mechanisms["group_0"].noise_multiplier, 2)
    42.25
    """

    name: ClassVar[str] = "coordinate_descent"
    reference: ClassVar[str] = "Mangold, Bellet, Salmon, Tommasi 2021/2022 (DP-CD)"
    proof: ClassVar[str] = "proofs/coordinate_descent.md"
    composite: ClassVar[bool] = True
    pure: ClassVar[bool] = True
    resumes: ClassVar[bool] = True

    steps: int | Literal["auto"] = "auto"
    rounds: int = 1
    sampling: Literal["uniform", "importance", "cyclic"] = "uniform"
    clipping: Literal["lipschitz", "uniform", "adaptive"] = "lipschitz"
    clip: float | Literal["auto"] = "auto"
    curvature: Literal["auto", "bounds", "private"] = "auto"
    average: Literal["rounds", "tail", "last"] = "tail"
    accounting: Literal["tight", "as_published"] = "tight"
    step_size: float = 1.0

    def refuse(self, problem: Problem) -> str | None:
        """Penalties that don't split by coordinates have no prox along one."""
        if problem.penalty is not None and not problem.penalty.separable:
            return "needs a penalty that splits by coordinates: L1, L2, ElasticNet or Box; or choose 'gradient_descent'"
        if not math.isfinite(problem.loss.smoothness):
            return f"needs a smooth loss, which {problem.loss.name!r} isn't"
        if self.accounting == "as_published" and (problem.budget.is_pure or self.pays(problem, 1)):
            return "is published for delta > 0 and public constants: set curvature='bounds' and another clipping"
        return None

    def default_steps(self, problem: Problem) -> int:
        """About n mu / 2, where ``theory.coordinate_descent_steps`` has its optimum for margins of the loss's scale."""
        best = 0.5 * problem.rows * min(strength(problem.budget), 4.0)
        return round(min(max(best, problem.size), 50 * problem.size))

    def pays(self, problem: Problem, steps: int) -> list[str]:
        """What is bought beside partial derivatives, each for five per cent."""
        sd = math.sqrt(20 * problem.size) / strength(problem.budget)
        private = self.curvature == "private" or (self.curvature == "auto" and 40 * sd < problem.rows)
        extra = ["squares"] if private and (self.accounting == "tight" or self.curvature == "private") else []
        return extra + (["lengths"] if self.clipping == "adaptive" and steps else [])

    def schedule(self, problem: Problem) -> Mapping[str, Any]:
        """The coordinates in order, their public smoothness, and the clips."""
        steps = self.default_steps(problem) if self.steps == "auto" else self.steps
        inner = max(steps // self.rounds, 1)
        grid = problem.grid
        columns = np.array([float(grid.column(j) * grid.unit) for j in range(problem.n_weights)])
        columns = np.maximum(columns, float(grid.unit))
        smooth = problem.rows * problem.loss.smoothness * columns**2  # M_j
        root = np.sqrt(smooth)
        if self.sampling == "cyclic":
            order = np.arange(inner * self.rounds) % problem.n_weights
        else:
            even = np.full(problem.n_weights, root.mean())
            order = public_choices(even if self.sampling == "uniform" else root + 0.1 * even, inner * self.rounds)
        shape = np.full_like(root, 1 / math.sqrt(root.size)) if self.clipping == "uniform" else root / math.hypot(*root)
        longest = problem.lipschitz * math.hypot(*columns)
        size = longest if self.clip == "auto" else float(self.clip)
        # sigma_j^2 in proportion to Delta_j sqrt(M_j): an update of j costs Delta_j^2 / sigma_j^2 = Delta_j / sqrt(M_j)
        price = shape / root if self.accounting == "tight" else np.ones_like(root)
        prices, group = np.unique(np.round(price / price.max(), 12), return_inverse=True)  # equal prices, one query
        return {
            "steps": inner * self.rounds,
            "inner": inner,
            "order": order,
            "smoothness": smooth,
            "shape": shape,
            "clip": size,
            "longest": problem.lipschitz * problem.radius,
            "prices": prices,
            "group": group,
        }

    def queries(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Query]:
        """For each group of coordinates as many partial derivatives as the order asks for."""
        counts = np.bincount(schedule["group"][schedule["order"]], minlength=len(schedule["prices"]))
        extra = self.pays(problem, schedule["steps"])
        price = counts * schedule["prices"]
        share = price / price.sum() * (1 - 0.05 * len(extra))
        queries: dict[str, Query] = {
            f"group_{g}": NoisySum(times=int(counts[g]), share=float(share[g])) for g in np.flatnonzero(counts)
        }
        times = {"squares": 1, "lengths": self.rounds}
        return {**queries, **{name: NoisySum(times=times[name], share=0.05) for name in extra}}

    def published(self, problem: Problem, schedule: Mapping[str, Any]) -> Mapping[str, Mechanism] | None:
        """``sigma_j^2 = 8 Delta_j^2 T K log(1/delta) / epsilon^2`` for sums."""
        if self.accounting == "tight":
            return None
        noise = published_descent.descent_noise(problem.budget, schedule["steps"])
        return {name: Gaussian(noise) for name in self.queries(problem, schedule)}

    def run(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Weights:
        """Algorithm DP-CD; a prox follows each update."""
        w, inner = problem.start(), schedule["inner"]
        steps = self.step_size / self._smoothness(problem, schedule, curator, ask)  # eta_j = 1 / M_j
        first = {"rounds": 0, "tail": inner // 2, "last": inner - 1}[self.average]
        for t in range(self.rounds):
            clip = Clip(self._size(problem, schedule, curator, ask, w) * schedule["shape"], norm="per_coordinate")
            cursor = curator.cursor(problem.loss, w)  # theta^0 = w^t
            theta, total = np.array(w), np.zeros_like(w)
            for k in range(inner):
                j = int(schedule["order"][t * inner + k])
                name = f"group_{schedule['group'][j]}"
                g = float(getattr(ask, name)(cursor.partial(j, clip))[0])  # nabla_j f(theta^k) + b_j
                moved = theta[j] - steps[j] * g
                if problem.penalty is not None and j < problem.n_features:
                    moved = problem.penalty.prox_coordinate(float(moved), float(steps[j]), j)
                theta[j] += cursor.move(j, float(moved - theta[j]))
                if k >= first:
                    total += theta
            w = problem.prox(total / (inner - first), 0.0) if problem.constrained else total / (inner - first)
        return w

    def _smoothness(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask) -> Floats:
        public: Floats = schedule["smoothness"]
        if "squares" not in self.pays(problem, schedule["steps"]):
            return public
        squares = ask.squares(curator.column_squares())
        low = 4 * math.sqrt(20 * problem.size) / strength(problem.budget)  # about four standard deviations of the noise
        private: Floats = public / problem.rows * np.clip(squares + low / 4, low, problem.rows)
        return private

    def _size(self, problem: Problem, schedule: Mapping[str, Any], curator: Curator, ask: Ask, w: Weights) -> float:
        if self.clipping != "adaptive":
            return float(schedule["clip"])
        edges = EDGES * schedule["longest"]
        counts = np.maximum(ask.lengths(curator.slope_histogram(problem.loss, w, edges)), 0.0)
        below = np.cumsum(counts) / max(counts.sum(), 1.0)
        return float(edges[min(int(np.searchsorted(below, 0.9)), len(edges) - 1)])  # the length of 90 per cent
