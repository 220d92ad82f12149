"""What a charged score gives back, and the till at which it is paid: noisy sums and counts of per-row numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import ndtri

from discreet.accounting import gdp
from discreet.curator import RowBounds, make_curator, make_survey
from discreet.estimators.checks import row_weights
from discreet.estimators.statement import Look, Statement
from discreet.moments.purse import Purse, Share
from discreet.moments.ranges import find_ranges
from discreet.privacy import Budget, Neighbours, PrivacyError
from discreet.randomness import RandomState, source_for

__all__ = ["Score", "Till", "total"]

Floats = NDArray[np.float64]
Delta = float | Literal["auto"]


@dataclass(frozen=True)
class Score:
    """A released score of a model.

    Attributes
    ----------
    metric : str
        What was measured.
    value : float
        The noisy score, within the range that the metric has.
    standard_error : float
        Of sampling the test rows and of the privacy noise together.
    noise : float
        The part of the standard error that is privacy noise alone.
    n_rows : float
        The number of test rows (their total weight, with sample weights): public, or as released.
    limits : (float, float)
        The range of the metric.
    privacy : Statement
        What was promised and spent, as ``model.privacy_``.

    Notes
    -----
    *Privacy.* Guarantee: that of `privacy`; reading a score costs nothing more.  Neighbours: those of `privacy`.
    Public: all of it.  Bounded by: the purse that paid for it.  Proof: ``proofs/metrics.md``.

    Examples
    --------
    >>> from discreet.metrics import accuracy
    >>> score = accuracy(np.ones(1000), np.r_[np.ones(900), np.zeros(100)], epsilon=1)
    >>> bool(abs(score.value - 0.9) < 0.02), score.privacy.epsilon
    (True, 1.0)
    """

    metric: str
    value: float
    standard_error: float
    noise: float
    n_rows: float
    limits: tuple[float, float]
    privacy: Statement

    @property
    def event(self) -> Any:
        """Exactly what was run."""
        return self.privacy.event

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """A normal confidence interval for the score of the population, cut to the range of the metric."""
        if not 0 < confidence < 1:
            raise ValueError(f"confidence={confidence!r} must be between 0 and 1, such as 0.95")
        half = float(ndtri((1 + confidence) / 2)) * self.standard_error
        low, high = self.limits
        return max(self.value - half, low), min(self.value + half, high)

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.metric} = {self.value:.4g} (standard error {self.standard_error:.2g})\n{self.privacy}"


class Till:
    """The test rows of one score and the budget that pays for it, divided before any row is read.

    Parameters
    ----------
    metric : str
        For the statement.
    y : array
        Targets: one per row.
    shares : dict of str to float
        What is bought, with the share of each; the first is the one whose noise matters most.
    epsilon, delta, neighbors, random_state
        The budget.  ``delta="auto"`` is 0: so few numbers cost less under pure differential privacy.
    sample_weight, weight_cap
        Weights, and the public cap beyond which they count as the cap.
    rows : float, default=0.5
        What the number of rows is worth, relative to everything else together, where it is private (or weighted).

    Notes
    -----
    *Privacy.* Guarantee: (epsilon, delta).  Neighbours: `neighbors`.  Public: shares, bounds, the number of rows unless
    add/remove.  Bounded by: clipped sums, and counts of cells of which a row is in one.  Proof: ``proofs/metrics.md``.

    Examples
    --------
    >>> till = Till("accuracy", np.zeros(10), {"hits": 1.0}, 1.0, "auto", "zero_out", None)
    >>> till.rows
    (10.0, 0.0)
    """

    def __init__(
        self,
        metric: str,
        y: Any,
        shares: Mapping[str, float],
        epsilon: float,
        delta: Delta,
        neighbors: str,
        random_state: RandomState,
        sample_weight: ArrayLike | None = None,
        weight_cap: float = 1.0,
        rows: float = 0.5,
    ) -> None:
        self.metric, self.neighbors = metric, Neighbours.of(neighbors)
        exact_delta = _checked(epsilon, delta)
        if not (math.isfinite(weight_cap) and weight_cap > 0):
            raise ValueError(f"weight_cap={weight_cap!r} must be positive and finite: no row counts for more")
        self.n = len(y)
        if self.n < 1 or (self.neighbors.public_n and self.n * exact_delta > 1):
            raise PrivacyError(f"delta={delta!r} is above one in the number of rows, or there are none; use less")
        self.cap = weight_cap if sample_weight is not None else 1.0
        self.weight = row_weights(sample_weight, np.zeros((self.n, 1)), self.cap)
        parts = {**shares}
        if rows and (not self.neighbors.public_n or self.weight is not None):
            parts["rows"] = rows * sum(parts.values())
        main = next(iter(parts.values())) / sum(parts.values())
        self.budget = Budget(epsilon, exact_delta, neighbors=self.neighbors)
        purse = Purse(_cheaper(self.budget, main), source_for(random_state))
        self.purse = purse
        self._shares = dict(zip(parts, purse.shares(list(parts.values())), strict=True))
        self.looks: list[Look] = []
        self.rows = self._counted()

    def share(self, name: str) -> Share:
        """The share of that name."""
        return self._shares[name]

    def _counted(self) -> tuple[float, float]:
        """The number (or total weight) of the rows, and the deviation of its noise."""
        if "rows" not in self._shares:
            return (float(self.n) if self.neighbors.public_n and self.weight is None else math.nan), 0.0
        if self.weight is None:
            value, noise = self.share("rows").release(self._survey(np.zeros(self.n)).count(), counts=True)
        else:
            ones = make_curator(np.ones((self.n, 1)), bounds=RowBounds(linf=1.0, weight=self.cap), **self._rows())
            value, noise = self.share("rows").release(ones.sum_rows())
        return max(float(value[0]), 1.0), noise

    def _rows(self) -> dict[str, Any]:
        return {"neighbors": self.neighbors, "sample_weight": self.weight}

    def _survey(self, values: Floats) -> Any:
        return make_survey(values[:, None], neighbors=self.neighbors)

    def sum(self, name: str, values: Floats, low: float, high: float) -> tuple[float, float]:
        """The (weighted) sum of what each row's value exceeds the middle of its range by, and its noise."""
        half = (high - low) / 2
        bounds = RowBounds(low=low, high=high, scale=half, weight=self.cap, bits=20)
        sealed = make_curator(np.clip(values, low, high)[:, None], bounds=bounds, **self._rows()).sum_rows()
        released, noise = self.share(name).release(sealed)
        return half * float(released[0]), half * noise

    def cells(self, name: str, code: NDArray[np.int64], n_cells: int) -> tuple[Floats, float]:
        """How many rows (or how much weight) each cell holds, and the noise of one."""
        if self.weight is None:
            sealed = self._survey(code.astype(np.float64)).column_histogram(np.arange(1, n_cells) - 0.5, column=0)
            return self.share(name).release(sealed, counts=True)
        one_hot = sparse.csr_array((np.ones(self.n), code, np.arange(self.n + 1)), shape=(self.n, n_cells))
        bounds = RowBounds(l1=1.0, l2=1.0, linf=1.0, weight=self.cap)
        return self.share(name).release(make_curator(one_hot, bounds=bounds, **self._rows()).sum_rows())

    def range(self, name: str, values: Floats) -> tuple[float, float]:
        """A range that holds nearly all values, bought."""
        low, high = find_ranges(self._survey(values), self.share(name))
        return float(low[0]), float(high[0])

    def score(
        self, value: float, sampling: float, noise: float, limits: tuple[float, float], *looks: Look,
        n_rows: float | None = None,
    ) -> Score:  # fmt: skip
        """The result: `sampling` and `noise` are variances."""
        about = "number of rows" if self.weight is None else "total weight of the rows"
        usual = [
            Look("predictions", "public", "of a released model, or given; each depends on its own row alone"),
            Look(about, "public" if self.neighbors.public_n and self.weight is None else "paid"),
            *([] if self.weight is None else [Look("largest weight", "public", f"{self.cap:g}")]),
            *looks,
        ]
        event = self.purse.promise().event
        n_rows = self.rows[0] if n_rows is None else n_rows
        seeded = not self.purse.source.private
        made = Statement(self.budget, event, self.metric, usual, seeded=seeded)
        inside = min(max(value, limits[0]), limits[1])
        error = math.sqrt(sampling + noise)
        return Score(self.metric, inside, error, math.sqrt(noise), n_rows, limits, made)


def total(till: Till, sums: tuple[float, float], middle: float) -> tuple[float, float]:
    """A mean from its sum about the middle, and the variance of its noise.

    >>> till = Till("accuracy", np.zeros(10), {"hits": 1.0}, 1.0, "auto", "zero_out", None)
    >>> total(till, (2.0, 1.0), 0.5)
    (0.7, 0.01)
    """
    (value, noise), (n, n_noise) = sums, till.rows
    above = value / n
    return middle + above, (noise**2 + (above * n_noise) ** 2) / n**2


def _checked(epsilon: Any, delta: Any) -> float:
    for name, value in (("epsilon", epsilon), ("delta", 0.0 if delta == "auto" else delta)):
        if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
            raise TypeError(f"{name}={value!r} must be a number")
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise ValueError(f"epsilon={epsilon!r} must be positive and finite; usual values lie between 0.1 and 10")
    number = 0.0 if delta == "auto" else float(delta)
    if not 0 <= number < 1:
        raise ValueError(f"delta={delta!r} must be 'auto', or at least 0 and below 1")
    return number


def _cheaper(budget: Budget, main: float) -> Budget:
    """The budget, without its delta where Laplace noise on the main share is the smaller: public numbers decide."""
    if budget.is_pure:
        return budget
    laplace = math.sqrt(2) / (budget.epsilon * main)
    gauss = 1 / (gdp.mu_for(budget.epsilon, budget.delta) * math.sqrt(main))
    return budget if gauss < laplace else Budget(budget.epsilon, neighbors=budget.neighbors)
