"""What a fit knows before it sees a row: whether its parts go together, and where an earlier fit left off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from dp_accounting import dp_event
from numpy.typing import NDArray

from discreet.accounting.events import compose
from discreet.curator import RowBounds
from discreet.estimators.statement import Look, Statement
from discreet.losses import Loss
from discreet.privacy import Budget, Neighbours, PrivacyError
from discreet.solvers.base import Problem, Refusal, Solver

__all__ = ["Earlier", "check_resumes", "declared_problem"]

Floats = NDArray[np.float64]
START = "starting weights"


def declared_problem(
    model: Any, shape: Sequence[int], neighbors: Neighbours, loss: Loss, slope: float | None
) -> Problem:
    """The problem as far as parameters and public sizes say what it is, for refusing what doesn't go together.

    >>> from discreet import LogisticRegression
    >>> from discreet.losses import LogisticLoss
    >>> declared_problem(LogisticRegression(), (1000, 5), Neighbours.ZERO_OUT, LogisticLoss(), None).size
    6
    """
    bounds = RowBounds(
        l2=1.0,
        linf=1.0,
        intercept=0.1 if model.fit_intercept else 0.0,
        y=(0.0, 1.0) if loss.targets == "count" else (-1.0, 1.0) if loss.targets == "real" else None,
    )
    delta = 1e-6 if model.delta == "auto" else float(model.delta)
    buys = any(isinstance(b, str) and b == "private" for b in (model.bounds, getattr(model, "bounds_y", None)))
    bought = dp_event.GaussianDpEvent(1e9) if buys else dp_event.NoOpDpEvent()
    return Problem(
        loss, bounds, shape[1], max(shape[0], 1), Budget(model.epsilon, delta, neighbors=neighbors),
        penalty=model.penalty, spent=bought, slope=slope,
    )  # fmt: skip


def check_resumes(solver: Solver) -> None:
    """Refuse ``warm_start`` for a solver that starts nowhere.

    >>> from discreet.solvers import GradientDescent
    >>> check_resumes(GradientDescent())
    """
    if not solver.resumes:
        raise Refusal(
            f"{solver.name!r} doesn't depend on where it starts, so warm_start=True means nothing to it: leave it "
            "False, or choose 'gradient_descent' or another solver that goes step by step"
        )


@dataclass(frozen=True)
class Earlier:
    """A fit that was released before: its weights are where the next one starts, its price is part of the next's.

    Examples
    --------
    >>> from discreet import LogisticRegression
    >>> Earlier.of(LogisticRegression(warm_start=True)) is None
    True
    """

    coef: Floats
    intercept: Floats
    classes: Any
    privacy: Statement

    @classmethod
    def of(cls, model: Any) -> Earlier | None:
        """The earlier fit of a model that wants to start from it, or None."""
        if not model.warm_start or not hasattr(model, "privacy_"):
            return None
        if isinstance(model.privacy_.event, str):
            raise PrivacyError(
                "warm_start needs the event of the earlier fit, of which a file keeps the text only: fit a new model"
            )
        if model.privacy_.neighbors != Neighbours.of(model.neighbors).value:
            raise PrivacyError(
                f"warm_start adds the price of the earlier fit, which was under {model.privacy_.neighbors!r}, not "
                f"{model.neighbors!r}: keep the relation, or fit a new model"
            )
        return cls(
            np.atleast_2d(model.coef_),
            np.atleast_1d(model.intercept_),
            getattr(model, "classes_", None),
            model.privacy_,
        )

    def start(self, model: Any, problem: Problem, unit: float, centre: float) -> Problem:
        """The problem with the earlier weights, in its units, as the place to start."""
        outputs = problem.loss.n_outputs
        same = self.classes is None or list(self.classes) == list(getattr(model, "classes_", ()))
        if self.coef.shape != (outputs, problem.n_features) or not same:
            raise ValueError(
                f"warm_start needs the features and classes of the earlier fit, whose coefficients have shape "
                f"{self.coef.shape}, not {(outputs, problem.n_features)} with the same classes: fit a new model"
            )
        weights = problem.bounds.from_original(self.coef / unit, (self.intercept - centre) / unit)
        return replace(problem, initial=weights.reshape(problem.shape))

    def added(self, now: Statement) -> Statement:
        """The statement of both fits together, since the later model says something about the earlier one's rows."""
        before = self.privacy
        looks = [*now.looks, Look(START, "paid", f"an earlier fit, epsilon {before.planned_epsilon:.6g} of the total")]
        # events that were fixed before any look compose; else the later depends on the earlier, and promises add up
        fixed = all(k.status == "public" for k in [*before.looks, *now.looks] if k.thing != START)
        most = None if now.rows_per_person is None else max(now.rows_per_person, before.rows_per_person or 1)
        return Statement(
            before.budget + now.budget,
            compose(before.event, now.event),
            now.solver,
            looks,
            seeded=before.seeded or now.seeded,
            recorded=None if fixed else before.planned_epsilon + now.planned_epsilon,
            rows_per_person=most,
        )
