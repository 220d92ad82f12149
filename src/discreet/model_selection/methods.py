"""The two ways to search: every candidate once with a share of the budget, or random ones a random number of times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from dp_accounting import dp_event
from numpy.typing import NDArray

from discreet.accounting.events import ApproximateDpEvent, PureDpEvent
from discreet.accounting.repeats import ParallelDpEvent, RepeatedDpEvent, base_promise, gamma_for, mean_of
from discreet.curator import RowBounds, make_curator
from discreet.curator.views import bernoulli, uniform_below
from discreet.mechanisms import Laplace, PermuteAndFlip
from discreet.metrics.classification import hits, row_losses
from discreet.metrics.ranking import auc
from discreet.metrics.regression import squared_residuals
from discreet.model_selection.candidates import Candidates, take
from discreet.privacy import Bounded, Budget, Neighbours
from discreet.randomness import Source

__all__ = ["Found", "Plan", "Rows", "Split", "ladder", "number_of_runs", "plan_for", "repeat_and_select"]

Floats = NDArray[np.float64]
PER_CANDIDATE = 5.0  # the mean number of runs of each candidate


@dataclass(frozen=True)
class Plan:
    """How a search spends its budget, from public values alone.

    Parameters
    ----------
    method : str
        ``"ladder"`` or ``"repeat_and_select"``.
    each : Budget
        What one fit may spend.
    choice : float
        The pure epsilon of the choice (ladder), or of one score.
    event : DpEvent
        What the search costs.
    gamma, shape, mean : float
        The law of the number of runs.

    Examples
    --------
    >>> plan = Plan("ladder", Budget(0.5), 1.0, PureDpEvent(1.0), Fraction(1, 5), "accuracy", 2, 5.0)
    >>> plan.mean
    1.0
    """

    method: str
    each: Budget
    choice: float
    event: dp_event.DpEvent
    validation: Fraction
    scoring: str
    n_candidates: int
    clip: float
    gamma: float = 1.0
    shape: float = 0.0
    mean: float = 1.0


@dataclass(frozen=True)
class Found:
    """The winner, and its noisy score where it has one."""

    index: int
    model: Any
    score: float | None = None


@dataclass(frozen=True)
class Split:
    """Rows that train and rows that score; nobody is in both."""

    X: Any
    y: NDArray[Any]
    X_scored: Any
    y_scored: NDArray[Any]
    neighbors: Neighbours


class Rows:
    """All rows of a search.

    >>> Rows(np.eye(4), np.arange(4), Neighbours.ZERO_OUT).split(Fraction(1, 2), None).y_scored.tolist()
    [1, 3]
    """

    def __init__(self, X: Any, y: NDArray[Any], neighbors: Neighbours) -> None:
        self.X, self.y, self.neighbors = X, y, neighbors
        self.n = int(X.shape[0]) if hasattr(X, "shape") else len(X)
        if y.ndim != 1 or len(y) != self.n:
            raise ValueError("X and y must have one entry for each row, and y one dimension")

    def split(self, share: Fraction, source: Source | None) -> Split:
        """By place, evenly spread, where the number of rows is public; else by a coin of each row's own."""
        if self.neighbors.public_n:
            at = np.arange(self.n + 1, dtype=object) * share.numerator // share.denominator
            scores = np.diff(at.astype(np.int64)) > 0
        else:
            assert source is not None
            scores = bernoulli(share, self.n, source)
        train, test = np.flatnonzero(~scores), np.flatnonzero(scores)
        return Split(take(self.X, train), self.y[train], take(self.X, test), self.y[test], self.neighbors)


def _down(value: float) -> float:
    return math.nextafter(value, 0.0)


def _event(budget: Budget) -> ApproximateDpEvent | PureDpEvent:
    return PureDpEvent(budget.epsilon) if budget.is_pure else ApproximateDpEvent(budget.epsilon, budget.delta)


def plan_for(search: Any, candidates: Candidates, budget: Budget) -> Plan:
    """The method, and how it divides the budget; ``"auto"`` takes the one whose fits have the larger epsilon.

    >>> from discreet import L2, LogisticRegression
    >>> from discreet.model_selection import PrivateSearchCV
    >>> from discreet.model_selection.candidates import check_search
    >>> search = PrivateSearchCV(LogisticRegression(), {"penalty": [L2(1), L2(2), L2(3), L2(4)]})
    >>> plan_for(search, check_search(search), Budget(1, 1e-6)).method
    'repeat_and_select'
    """
    m = len(candidates.settings)
    common: dict[str, Any] = {
        "validation": Fraction(search.validation).limit_denominator(1000),
        "scoring": candidates.scoring,
        "n_candidates": m,
        "clip": float(search.clip),
    }
    share = budget.split(m)[0]
    share = Budget(_down(share.epsilon), _down(share.delta) if share.delta else 0.0, neighbors=budget.neighbors)
    choice = _down(budget.epsilon)
    whole = ParallelDpEvent((_event(budget), PureDpEvent(choice)))
    climb = Plan("ladder", share, choice, whole, **common)
    if search.method == "ladder":
        return climb
    gamma = gamma_for(PER_CANDIDATE * m if search.repeats == "auto" else float(search.repeats), search.shape)
    one = base_promise(budget, gamma, search.shape)
    if search.method == "auto" and share.epsilon >= one.epsilon * (1 - 1e-6) and candidates.scoring != "auc":
        return climb
    event = RepeatedDpEvent(ParallelDpEvent((_event(one), PureDpEvent(one.epsilon))), gamma, float(search.shape))
    law: dict[str, Any] = {"gamma": gamma, "shape": float(search.shape), "mean": mean_of(gamma, search.shape)}
    return Plan("repeat_and_select", one, one.epsilon, event, **common, **law)


def ladder(plan: Plan, candidates: Candidates, rows: Split, source: Source) -> Found:
    """Every candidate once, on the rows that train; one selection on those that score."""
    models = [candidates.fitted(i, rows.X, rows.y, plan.each, source.child("fit", i)) for i in range(plan.n_candidates)]
    values = np.column_stack([row_values(plan, candidates, m, rows) for m in models])
    chosen = PermuteAndFlip(plan.choice, source=source.child("choice")).select(_sealed(values, rows.neighbors))
    return Found(chosen, models[chosen])


def repeat_and_select(plan: Plan, candidates: Candidates, rows: Split, source: Source) -> Found:
    """Random candidates a secret number of times, each trained and scored; the best run is what is left."""
    best: tuple[float, int, Any] | None = None
    for run in range(number_of_runs(Fraction(plan.gamma), Fraction(plan.shape), source.child("runs"))):
        own = source.child("run", run)
        index = int(uniform_below(plan.n_candidates, 1, own.child("candidate"))[0])
        model = candidates.fitted(index, rows.X, rows.y, plan.each, own.child("fit"))
        score = _noisy_score(plan, candidates, model, rows, own.child("score"))
        if best is None or score > best[0]:
            best = score, index, model
    assert best is not None
    score, index, model = best
    if plan.scoring == "auc":
        return Found(index, model, score)
    return Found(index, model, _mean(plan, candidates, score, rows) if rows.neighbors.public_n else None)


def number_of_runs(gamma: Fraction, shape: Fraction, source: Source) -> int:
    """A number of runs, at least 1, with exactly the truncated negative binomial law, for a shape of at most 1.

    A geometric number k is kept if coins of probability ``(j + shape) / (j + 1)`` fall for j from 1 to k - 1, whose
    product is the ratio of the two laws; else another is drawn.

    >>> from discreet.randomness import SeededSource
    >>> source = SeededSource(0)
    >>> draws = [number_of_runs(Fraction(1, 4), Fraction(1), source) for _ in range(400)]
    >>> min(draws), 3 < np.mean(draws) < 5
    (1, np.True_)
    """
    if not (0 < gamma <= 1 and -1 < shape <= 1):
        raise ValueError(f"gamma={gamma} must be above 0 and at most 1, shape={shape} above -1 and at most 1")
    while True:
        k = _geometric(gamma, source)
        if all(bernoulli((j + shape) / (j + 1), 1, source)[0] for j in range(1, k)):
            return k


def _geometric(gamma: Fraction, source: Source) -> int:
    """How many coins of probability gamma until one falls."""
    k = 0
    while True:
        fell = np.flatnonzero(bernoulli(gamma, 64, source))
        if fell.size:
            return k + int(fell[0]) + 1
        k += 64


def row_values(plan: Plan, candidates: Candidates, model: Any, rows: Split) -> Floats:
    """What each row that scores thinks of a model: a number from 0 to 1, larger being better."""
    if plan.scoring == "accuracy":
        return hits(model, rows.X_scored, rows.y_scored, rows.neighbors)
    if plan.scoring == "log_loss":
        return 1 - row_losses(model, rows.X_scored, rows.y_scored, rows.neighbors, plan.clip) / plan.clip
    low, high = candidates.target
    return 1 - squared_residuals(model, rows.X_scored, rows.y_scored, rows.neighbors, low, high, high - low) / (
        (high - low) ** 2
    )


def _sealed(values: Floats, neighbors: Neighbours) -> Bounded:
    """The sums of what rows think of each model, about one half."""
    bounds = RowBounds(low=np.zeros(values.shape[1]), high=np.ones(values.shape[1]), scale=0.5)
    return make_curator(values, bounds=bounds, neighbors=neighbors).sum_rows()


def _noisy_score(plan: Plan, candidates: Candidates, model: Any, rows: Split, source: Source) -> float:
    if plan.scoring == "auc":
        found = auc(
            model, rows.X_scored, rows.y_scored, epsilon=plan.choice, delta=0.0, neighbors=rows.neighbors.value,
            random_state=source,
        )  # fmt: skip
        return found.value
    sealed = _sealed(row_values(plan, candidates, model, rows)[:, None], rows.neighbors)
    return float(Laplace(plan.choice, source=source).release(sealed)[0])


def _mean(plan: Plan, candidates: Candidates, total: float, rows: Split) -> float:
    """A noisy sum about one half as a score: a share, or minus a mean loss."""
    value = 0.5 + total / 2 / max(len(rows.y_scored), 1)
    if plan.scoring == "accuracy":
        return value
    low, high = (0.0, math.sqrt(plan.clip)) if plan.scoring == "log_loss" else candidates.target
    return (value - 1) * (high - low) ** 2
