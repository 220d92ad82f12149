"""What a fitted model promised: the budget, what was spent, and one line for every look at the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dp_accounting import dp_event

from discreet.accounting.events import ApproximateDpEvent, PureDpEvent
from discreet.accounting.groups import group_epsilon
from discreet.privacy import Budget

__all__ = ["Look", "Statement"]

SEEDED = "NOT PRIVATE: seeded"


@dataclass(frozen=True)
class Look:
    """One thing that a fit needed to know, and where it had it from.

    Examples
    --------
    >>> print(Look("number of rows", "public", "1000"))
    number of rows: public (1000)
    """

    thing: str
    status: Literal["public", "paid"]
    note: str = ""

    def __str__(self) -> str:
        return f"{self.thing}: {self.status}" + (f" ({self.note})" if self.note else "")


@dataclass(frozen=True)
class Statement:
    """What was promised and what was spent; prints as a statement for the record.

    Attributes
    ----------
    budget : Budget
        What was promised.
    event : DpEvent or str
        Exactly what was run; its text, where the model was loaded from a file.
    solver : str
        The algorithm.
    looks : sequence of Look
        Everything that was declared public or paid for.
    seeded : bool
        Whether the noise came from a seed, so that it promises nothing.
    recorded : float, optional
        The planned epsilon as it was worked out when the model was saved.
    rows_per_person : int, optional
        Of how many rows of a person `event` is the price of one; None where every row counts as a person.

    Notes
    -----
    *Privacy.* Guarantee: `epsilon` and `delta`, as priced by the accountant for `event`.  Neighbours: `neighbors`.
    Public: all of it.  Bounded by: the plan, whose queries are counted.  Proof: ``proofs/accounting.md``.

    Examples
    --------
    >>> from discreet.privacy import Budget
    >>> s = Statement(Budget(1, 1e-6), dp_event.GaussianDpEvent(4.3), "gradient_descent", [])
    >>> s.epsilon <= 1, s.neighbors
    (True, 'zero_out')
    """

    budget: Budget
    event: dp_event.DpEvent | str
    solver: str
    looks: Sequence[Look]
    seeded: bool = False
    recorded: float | None = None
    rows_per_person: int | None = None

    @property
    def epsilon(self) -> float:
        """The epsilon that was spent, priced from the event; infinite when the noise came from a seed."""
        return math.inf if self.seeded else self.planned_epsilon

    @property
    def planned_epsilon(self) -> float:
        """The epsilon that the event costs when its noise is random.

        Under add/remove it is the whole budget: what follows the noisy count depends on it, so the parts are added
        by basic composition and a tighter price of the event would not hold.
        """
        if self.recorded is not None:
            return self.recorded
        if isinstance(self.event, str) or not self.budget.neighbors.public_n:
            return self.budget.epsilon
        return min(group_epsilon(self.event, self.budget, self.rows_per_person or 1), self.budget.epsilon)

    @property
    def person_event(self) -> dp_event.DpEvent | str:
        """What a person's rows cost together: `event`, or where they are several, what is known of all of them."""
        if isinstance(self.event, str) or self.rows_per_person in (None, 1):
            return self.event
        if self.delta == 0:
            return PureDpEvent(self.planned_epsilon)
        return ApproximateDpEvent(self.planned_epsilon, self.delta)

    @property
    def delta(self) -> float:
        """The delta of the promise."""
        return self.budget.delta

    @property
    def neighbors(self) -> str:
        """The neighbouring relation of the promise."""
        return self.budget.neighbors.value

    def to_dict(self) -> dict[str, Any]:
        """Everything above as plain values, for JSON (an infinite epsilon is null)."""
        return {
            "epsilon": None if self.seeded else self.epsilon,
            "planned_epsilon": self.planned_epsilon,
            "delta": self.delta,
            "neighbors": self.neighbors,
            "rows_per_person": self.rows_per_person,
            "promised_epsilon": self.budget.epsilon,
            "solver": self.solver,
            "event": str(self.event),
            "looks": [{"thing": k.thing, "status": k.status, "note": k.note} for k in self.looks],
            "seeded": self.seeded,
            "stamp": SEEDED if self.seeded else None,
        }

    def __str__(self) -> str:
        meaning = {
            "zero_out": "one person's row is there or blank; the number of rows is public",
            "replace_one": "one person's row becomes any other; the number of rows is public",
            "add_remove": "one person's row is there or gone; the number of rows is private",
        }[self.neighbors]
        if self.rows_per_person is not None:
            meaning = {
                "zero_out": "one person's rows are there or blank; the number of rows used is public",
                "replace_one": "one person's rows become any other's; the number of persons is public",
                "add_remove": "one person's rows are there or gone; the number of rows is private",
            }[self.neighbors]
        lines = [
            SEEDED if self.seeded else f"({self.epsilon:.6g}, {self.delta:g})-differential privacy",
            f"promised: epsilon = {self.budget.epsilon:g}, delta = {self.delta:g}",
            f"neighbours: {self.neighbors} ({meaning})",
            f"solver: {self.solver}",
            *(f"  {look}" for look in self.looks),
        ]
        return "\n".join(lines)
