r"""Standard errors and confidence intervals that count both kinds of noise: of sampling, and of privacy.

A fit with ``inference=True`` sets a tenth of its budget aside for two matrices at the released weights, the curvature
of the loss and the variance of its slopes.  With the known law of the noise they give the covariance of the estimate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from discreet.accounting import gdp
from discreet.curator import Curator
from discreet.losses import Loss
from discreet.mechanisms import Gaussian
from discreet.privacy import Budget
from discreet.solvers.base import Plan, Problem, Refusal, Solver
from discreet.solvers.objective_perturbation import ObjectivePerturbation
from discreet.solvers.released import goe_level, raised
from discreet.solvers.sufficient_statistics import SufficientStatistics
from discreet.solvers.whitened_objective_perturbation import CAP, WhitenedObjectivePerturbation

__all__ = ["Inference", "Law", "check", "infer", "law_of", "purchase"]

Floats = NDArray[np.float64]

SHARE = 0.1  # of mu squared
WIDEST = 1000  # weights: matrices of that order are released and decomposed
BOTH = {  # losses for which s^4 + (a h)^2 <= 1 wherever the slope is s: proofs/inference.md
    "logistic": (1.0, 0.95), "smoothed_hinge": (1.0, 0.95), "pseudo_huber": (1.0, 1.0),
}  # fmt: skip
ANY = (math.sqrt(0.5), math.sqrt(0.5))
LARGEST_RATIO = 0.3  # of the noise on a coefficient's curvature to that curvature, for an interval to be given
FEWEST_DEGREES = 3.0


@dataclass(frozen=True, eq=False)
class Law:
    """What is known about a released estimate: it solves ``sum f' z + ridge v + noise = 0``, nearly.

    Attributes
    ----------
    estimate : array
        The released weights, in the coordinates in which they were estimated.
    curator : Curator
        The rows in these coordinates.
    ridge : float
        What pulls the weights to zero.
    noise : array
        The covariance of the noise in the equation.
    final : float
        The standard deviation of what was added to the solution.
    shares : (float, float)
        How the bought matrices share one row's bound.
    towards : array, optional
        The weights for a row are ``towards' estimate``; default: the estimate itself.
    curvature : array, optional
        A curvature that was released already, with the deviation of its noise in `curvature_noise`.

    Examples
    --------
    >>> from discreet.curator import RowBounds, make_curator
    >>> curator = make_curator(np.eye(2), np.ones(2), bounds=RowBounds(l2=1))
    >>> Law(np.zeros(2), curator, 1.0, np.eye(2), 0.0, ANY).ridge
    1.0
    """

    estimate: Floats
    curator: Curator
    ridge: float
    noise: Floats
    final: float
    shares: tuple[float, float]
    towards: Floats | None = None
    curvature: Floats | None = None
    curvature_noise: float = 0.0


@dataclass(frozen=True, eq=False)
class Inference:
    """Coefficients (the intercept last), each with its standard error.

    Attributes
    ----------
    estimate : array
        Coefficients in original units, corrected for the ridge.
    error : array
        Their standard errors.
    privacy : array
        The part of each standard error that is due to privacy: what it would be with endless rows' sampling noise gone.
    degrees : array
        Degrees of freedom of the standard errors, which are noisy themselves; 0 where nothing can be said.
    n_rows : int
        The number of rows, public or bought.

    Examples
    --------
    >>> found = Inference(np.ones(1), np.ones(1), np.zeros(1), np.array([1e6]), 100)
    >>> found.conf_int(0.95).round(2)
    array([[-0.96,  2.96]])
    """

    estimate: Floats
    error: Floats
    privacy: Floats
    degrees: Floats
    n_rows: int

    def conf_int(self, level: float = 0.95) -> Floats:
        """Lower and upper ends, one row for each coefficient."""
        if not 0 < level < 1:
            raise ValueError(f"level={level!r} must be between 0 and 1, such as 0.95")
        known = self.degrees > 0
        reach = np.full(len(self.estimate), math.inf)
        reach[known] = stats.t.ppf((1 + level) / 2, self.degrees[known]) * self.error[known]
        return np.column_stack([self.estimate - reach, self.estimate + reach])

    @property
    def statistic(self) -> Floats:
        """Estimates over standard errors."""
        return np.where(self.degrees > 0, self.estimate / self.error, 0.0)

    @property
    def p_values(self) -> Floats:
        """Two-sided, of the hypothesis that a coefficient is zero; 1 where nothing can be said."""
        known = self.degrees > 0
        return np.where(known, 2 * stats.t.sf(np.abs(self.statistic), np.where(known, self.degrees, 1.0)), 1.0)


# what can be inferred from ---------------------------------------------------------------------------------------
@singledispatch
def law_of(
    solver: Solver, problem: Problem, plan: Plan, curator: Curator, weights: Floats, released: Mapping[str, Any]
) -> Law:
    """The law of what this solver has released; a solver without one is refused.

    >>> from discreet.solvers import Newton
    >>> law_of(Newton(), None, None, None, None, {})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    discreet.solvers.base.Refusal: 'newton' has no law from which standard errors follow: ...
    """
    raise Refusal(
        f"{solver.name!r} has no law from which standard errors follow: leave inference=False, or take "
        "'objective_perturbation' ('sufficient_statistics' for least squares)"
    )


@law_of.register
def _(
    solver: ObjectivePerturbation, problem: Problem, plan: Plan, curator: Curator, weights: Floats,
    released: Mapping[str, Any],
) -> Law:  # fmt: skip
    del solver, released
    return _tilted(problem, plan, curator, weights)


@law_of.register
def _(
    solver: WhitenedObjectivePerturbation, problem: Problem, plan: Plan, curator: Curator, weights: Floats,
    released: Mapping[str, Any],
) -> Law:  # fmt: skip
    del solver, weights
    towards = np.asarray(released["towards"], dtype=np.float64)
    rows = curator.transformed(towards, plan.schedule["bounds"], weight_norm=CAP)
    return _tilted(problem, plan, rows, np.asarray(released["weights"], dtype=np.float64), towards)


def _tilted(problem: Problem, plan: Plan, rows: Curator, estimate: Floats, towards: Floats | None = None) -> Law:
    tilt: Any = plan.mechanisms["tilt"]
    last: Any = plan.mechanisms["weights"]
    schedule = plan.schedule
    final = last.noise_multiplier * 2 * (schedule["tau"] + schedule["slack"]) / schedule["ridge"]
    noise = np.eye(len(estimate)) * tilt.sigma**2
    shares = BOTH.get(problem.loss.name, ANY)
    return Law(estimate, rows, schedule["ridge"], noise, final, shares, towards)


@law_of.register
def _(
    solver: SufficientStatistics, problem: Problem, plan: Plan, curator: Curator, weights: Floats,
    released: Mapping[str, Any],
) -> Law:  # fmt: skip
    del solver
    gram, cross = (float(plan.mechanisms[name].noise_multiplier) for name in ("gram", "cross"))  # type: ignore[attr-defined]
    level, one = goe_level(problem, gram), problem.budget.neighbors.moves * problem.bounds.weight
    steep = cross * one * problem.radius * plan.schedule["largest"]
    # E w for a symmetric Gaussian E of that level, and the noise on the products with the target
    noise = level**2 * (np.eye(len(weights)) * (weights @ weights) + np.outer(weights, weights))
    noise += np.eye(len(weights)) * steep**2
    curvature = np.asarray(released["gram"], dtype=np.float64)
    return Law(weights, curator, plan.schedule["ridge"], noise, 0.0, (1.0, 0.0), None, curvature, level)


def check(solver: Solver | None, penalty: Any, delta: Any, loss: Loss | None = None) -> None:
    """Refuse, before any data is read, what no law covers.

    >>> from discreet.penalties import L1Ball
    >>> check(None, L1Ball(1), 1e-6)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    discreet.solvers.base.Refusal: inference=True has no law for penalty 'l1_ball' ...
    """
    if penalty is not None and penalty.name != "l2":
        raise Refusal(
            f"inference=True has no law for penalty {penalty.name!r} (its minimum may sit on a corner or a border): "
            "take None or L2"
        )
    if delta == 0:
        raise Refusal("inference=True needs delta above 0: the noise of a pure budget isn't normal")
    if loss is not None and loss.n_outputs > 1:
        raise Refusal("inference=True is for one output; for many classes fit one against the rest, each paid for")
    if solver is not None:
        if law_of.dispatch(type(solver)) is law_of.dispatch(Solver):
            law_of.dispatch(Solver)(solver, None, None, None, None, {})  # refuses by name
        if getattr(solver, "accounting", "tight") != "tight":
            raise Refusal(f"inference=True with {solver.name!r} needs accounting='tight', whose noise it knows")


# what is bought, and what follows from it ------------------------------------------------------------------------
def purchase(budget: Budget) -> Gaussian:
    """The mechanism that will answer for the matrices, with the noise that a tenth of the budget buys.

    Notes
    -----
    *Privacy.* Guarantee: one Gaussian release, whose event the plan of the fit is priced with.
    Neighbours: the curator's.  Public: the budget.  Bounded by: the squared row norm.  Proof: ``proofs/inference.md``.

    Examples
    --------
    >>> round(purchase(Budget(1, 1e-6)).noise_multiplier, 2)
    13.36
    """
    return Gaussian(math.nextafter(1 / (gdp.mu_for(budget.epsilon, budget.delta) * math.sqrt(SHARE)), math.inf))


def infer(problem: Problem, law: Law, mechanism: Gaussian, original: Floats) -> Inference:
    """Buy the matrices and work out standard errors.

    Parameters
    ----------
    problem : Problem
        The public facts of the fit.
    law : Law
        Of the released estimate.
    mechanism : Gaussian
        From :func:`purchase`, with a source; its event must be in the plan.
    original : array of shape (coefficients, n_weights)
        The linear map from weights to coefficients in original units.

    Notes
    -----
    *Privacy.* Guarantee: the event of `mechanism`.  Neighbours: the curator's.  Public: everything else.
    Bounded by: the squared row norm, in Frobenius norm.  Proof: ``proofs/inference.md``.

    Examples
    --------
    >>> from discreet.curator import RowBounds, make_curator
    >>> from discreet.losses import LogisticLoss
    >>> from discreet.randomness import SeededSource
    >>> X, y = np.resize([[1.0], [-1.0]], (100_000, 1)), np.resize([1.0, -1.0, -1.0, 1.0], 100_000)
    >>> problem = Problem(LogisticLoss(), RowBounds(l2=1.0), 1, 100_000, Budget(1, 1e-6))
    >>> law = Law(np.zeros(1), make_curator(X, y, bounds=RowBounds(l2=1.0)), 1.0, np.zeros((1, 1)), 0.0, (1.0, 0.95))
    >>> found = infer(problem, law, Gaussian(4.0, source=SeededSource(0)), np.eye(1))
    >>> bool(abs(found.error[0] * np.sqrt(100_000) - 2) < 0.01)  # 1 / sqrt(n p (1 - p))
    True
    """
    slopes, bend, level_slopes, level_bend = _bought(problem, law, mechanism)
    values, vectors = raised(bend, max(level_bend, 1e-12 * float(np.abs(bend).max())), add=False)
    inverse = (vectors / (values + law.ridge)) @ vectors.T
    back = original if law.towards is None else original @ law.towards.T
    v, A, ridge = law.estimate, inverse, law.ridge
    near = back @ A  # rows: a coefficient's direction times A
    m = near + ridge * near @ A
    corrected = back @ v + ridge * near @ v
    spread = slopes + law.noise
    last = law.final**2 * np.einsum("ij,ij->i", back + ridge * near, back + ridge * near)
    private = np.einsum("ij,jk,ik->i", m, law.noise, m) + last
    pulled = (ridge * level_bend) ** 2 * _quadratic(near, np.broadcast_to(A @ v, near.shape))
    variance = np.maximum(np.einsum("ij,jk,ik->i", m, spread, m) + last, private) + pulled
    doubt = 2 * level_slopes**2 * np.einsum("ij,ij->i", m, m) ** 2 + 4 * level_bend**2 * _quadratic(m @ spread @ A, m)
    degrees = 2 * variance**2 / np.maximum(doubt, 1e-300)
    ratio = math.sqrt(2) * level_bend * np.einsum("ij,ij->i", near, near) / np.einsum("ij,ij->i", near, back)
    known = (ratio <= LARGEST_RATIO) & (degrees >= FEWEST_DEGREES)
    degrees = np.where(known, np.minimum(degrees, 1e9), 0.0)
    return Inference(corrected, np.sqrt(variance), np.sqrt(private), degrees, problem.rows)


def _quadratic(x: Floats, y: Floats) -> Floats:
    """The variance of ``x' E y``, row by row, for symmetric noise of level 1."""
    return np.asarray(
        np.einsum("ij,ij->i", x, x) * np.einsum("ij,ij->i", y, y) + np.einsum("ij,ij->i", x, y) ** 2, dtype=np.float64
    )


def _bought(problem: Problem, law: Law, mechanism: Gaussian) -> tuple[Floats, Floats, float, float]:
    """Variance of slopes and curvature, each with the deviation of its noise off the diagonal."""
    loss, p, weight = problem.loss, len(law.estimate), float(law.curator.bounds.weight)
    sealed = law.curator.sandwich(loss, law.estimate, law.shares, problem.lipschitz)
    level = mechanism.noise_multiplier * float(sealed.sensitivity("l2") * sealed.unit) / math.sqrt(2)
    matrix = np.asarray(mechanism.release(sealed), dtype=np.float64)
    first = (weight * problem.lipschitz) ** 2 / law.shares[0]
    slopes = matrix[:p, :p] * first
    if law.curvature is not None:
        return slopes, law.curvature, level * first, law.curvature_noise
    second = weight * float(loss.smoothness) / law.shares[1]
    return slopes, matrix[p:, p:] * second, level * first, level * second
