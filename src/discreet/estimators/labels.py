"""Which labels occur, bought from the rows: ``classes="private"``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.curator.survey import Survey
from discreet.estimators.statement import Look
from discreet.mechanisms import LabelSet
from discreet.privacy import Budget
from discreet.randomness import Source

__all__ = ["BoughtLabels", "buy_labels"]

SHARE = 0.05  # of epsilon and of delta


@dataclass(frozen=True)
class BoughtLabels:
    """The labels that were released, what is left of the budget, and which rows stay.

    Attributes
    ----------
    labels : array
        The labels, sorted.
    codes : array
        The place of each row's label among them; 0 for rows of labels that were not released.
    stay : array of bool
        Rows of released labels.
    left : Budget
        What is left.
    event : DpEvent
        What was bought.
    look : Look
        The line of the statement.
    """

    labels: NDArray[Any]
    codes: NDArray[np.int64]
    stay: NDArray[np.bool_]
    left: Budget
    event: Any
    look: Look


def buy_labels(
    seen: NDArray[Any], places: NDArray[Any], survey: Survey, budget: Budget, source: Source
) -> BoughtLabels:
    """Release which of the labels seen occur often enough, for a share of the budget that is split off for good.

    Parameters
    ----------
    seen : array
        The labels of these rows, sorted; they are private until released.
    places : array
        The place of each row's label among them.
    survey : Survey
        The rows, with these places for targets.
    budget : Budget
        What one row may spend in all.
    source : Source
        Where noise comes from.

    Notes
    -----
    *Privacy.* Guarantee: ``LabelSet`` at a twentieth of the budget.  Neighbours: the survey's.  Public: the share.
    Bounded by: a row has one label; rows of labels that aren't released become blank rows, which is a rule about each
    row alone.  Proof: ``proofs/label_set.md``.
    """
    part = budget.split([SHARE, 1 - SHARE])[0]
    mechanism = LabelSet(part.epsilon, part.delta, source=source.child("labels"))
    left = budget - Budget(part.epsilon, part.delta, neighbors=budget.neighbors)
    counts = survey.label_histogram(np.arange(len(seen)))
    labels = mechanism.release(counts, seen)
    threshold = mechanism.threshold(budget.neighbors.moves)
    if len(labels) < 2:
        raise ValueError(
            f"a classifier needs at least 2 classes; {len(labels)} labels reached the noisy count of {threshold} from "
            "which on they are released at this budget: give classes=[...] where the labels are public, or more rows "
            "or budget"
        )
    codes = np.minimum(np.searchsorted(labels, seen), len(labels) - 1)
    known = labels[codes] == seen
    at = places.astype(np.int64)
    note = f"those with a noisy count of {threshold} or more; rows of other labels count as blank"
    look = Look("label set", "paid", note)
    return BoughtLabels(labels, np.where(known, codes, 0)[at], known[at], left, mechanism.event, look)
