"""Fits that count rows where they promise to count persons: what the auditor must catch.

Each twin takes the place of one function behind ``fit(..., groups=)`` and is otherwise the sound estimator.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.estimators import people
from discreet.privacy import Budget


def every_row(codes: Any, most: int, source: Any) -> Any:
    """All rows of a person are used, whatever was promised."""
    del most, source
    return np.arange(len(codes))


def undivided(self: people.People, budget: Budget) -> Budget:
    """Each of a person's rows spends what was promised for all of them."""
    return budget


# name -> (what is replaced, by what, rows per person)
TWINS: dict[str, tuple[Any, str, Any, int]] = {
    "uses every row": (people, "chosen_rows", every_row, 1),
    "spends the budget on each row": (people.People, "each", undivided, 20),
}
