r"""Exponential-mechanism selections: what one costs, and what many adaptive ones cost exactly.

A selection of range :math:`\eta` has all its log-likelihood ratios in an interval :math:`[t-\eta, t]`.  Given t, the
worst law of the loss has two points: t with probability :math:`a_t = (1-e^{t-\eta})/(1-e^{-\eta})` and :math:`t-\eta`
otherwise.  An adversary who sees each loss picks the next t, so T selections cost exactly

.. math:: \delta_k(\epsilon) = \sup_{0\le t\le\eta} a_t\,\delta_{k-1}(\epsilon-t)
          + (1-a_t)\,\delta_{k-1}(\epsilon-t+\eta), \qquad \delta_0(\epsilon) = (1-e^\epsilon)_+ ,

the *value function*.  Tabulated on a grid and joined by chords in :math:`e^\epsilon`, where it is convex, it can only
rise, so what comes out is an upper bound, and a finer (nested) grid only lowers it.  Everything else in the tree with
a fixed dominating pair is put *before* the selections, which can only help the adversary.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from dp_accounting import dp_event
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from discreet.accounting.events import BoundedRangeDpEvent, compose, leaves, positive
from discreet.kernels_accounting import selection_step

__all__ = ["delta", "epsilon", "gaussian_mu", "profile", "rdp", "value_function"]

Floats = NDArray[np.float64]
_EASY, _MOST = 3e7, 1e9  # kernel cells that a table may cost: about a tenth of a second, and four seconds


def profile(eta: float, epsilon: ArrayLike) -> Floats:
    r"""The largest hockey-stick divergence of one selection: :math:`(1-e^{(\epsilon-\eta)/2})^2/(1-e^{-\eta})`.

    Notes
    -----
    *Privacy.* Guarantee: delta of one selection at each epsilon.  Neighbours: those of `eta`.  Public: `eta`.
    Bounded by: the supremum over t in closed form.  Proof: ``proofs/bounded_range.md``.

    Examples
    --------
    >>> profile(1.0, [-1.0, 0.0, 1.0]).round(6).tolist()
    [0.632121, 0.244919, 0.0]
    """
    eps = np.asarray(epsilon, dtype=float)
    if eta == 0:
        return np.asarray(np.maximum(0.0, -np.expm1(eps)))
    inside = np.expm1((np.clip(eps, -eta, eta) - eta) / 2) ** 2 / -math.expm1(-eta)
    return np.asarray(np.where(eps <= -eta, -np.expm1(np.minimum(eps, 0.0)), inside * (1 + 4e-15)))


def rdp(eta: float, orders: ArrayLike) -> Floats:
    r"""Renyi divergence of one selection: the supremum over t of that of the two-point law, in closed form.

    >>> rdp(1.0, [1.000001, 2.0]).round(4).tolist()  # never above order * eta^2 / 8
    [0.1233, 0.2402]
    """
    a = np.asarray(orders, dtype=float)
    if eta == 0:
        return np.zeros_like(a)
    gap = -math.expm1(-eta)
    # e^((a-1) t) (A - B e^t), largest where (a-1) A = a B e^t; with c = e^-(a-1)eta, A = (1 - c e^-eta)/gap
    top_a, top_b = -np.expm1(-a * eta) / gap, -np.expm1(-(a - 1) * eta) * math.exp(-eta) / gap
    t = np.clip(np.log((a - 1) * top_a / (a * top_b)), 0.0, eta)
    excess = top_a - top_b * np.exp(t) - 1  # accurate unless (a - 1) eta is tiny, where order * eta^2 / 8 takes over
    value = ((a - 1) * t + np.log1p(excess)) / (a - 1) + 1e-15 / (a - 1)
    return np.asarray(np.minimum(np.maximum(value, 0.0), a * eta**2 / 8))


def gaussian_mu(eta: float) -> float:
    r"""The smallest mu for which one selection is mu-GDP: :math:`2\Phi^{-1}((1+\tanh(\eta/4))/2)`, rounded up.

    >>> round(gaussian_mu(0.1), 5)
    0.06266
    """
    share = 0.5 * (1 + math.tanh(positive(eta, "eta") / 4))
    return 2 * float(ndtri(share)) * (1 + 1e-12) if share < 1 - 1e-12 else eta + 12.0


class ValueFunction:
    """Upper bounds on delta for a fixed schedule of selections, as a function of epsilon.

    Notes
    -----
    *Privacy.* Guarantee: (epsilon, delta)-DP of the adaptive composition.  Neighbours: those of the ranges.
    Public: the schedule, fixed in advance.  Bounded by: the recursion of the module's introduction.
    Proof: ``proofs/bounded_range.md``.

    Examples
    --------
    >>> one = value_function(((0.5, 1),), edge=0.5)
    >>> bool(abs(one(0.1) / profile(0.5, 0.1) - 1) < 1e-3)
    True
    """

    def __init__(self, step: float, values: Floats, runs: tuple[tuple[float, int], ...]) -> None:
        self.step, self.values, self.runs = step, values, runs

    def log_moment(self, tilt: float) -> float:
        """A bound on log of sup over u of ``e^(tilt u) delta(u)``: from the Renyi curve at order ``1 + tilt``."""
        return tilt * math.fsum(n * float(rdp(eta, [1 + tilt])[0]) for eta, n in self.runs)

    def at(self, epsilon: Floats) -> Floats:
        """The bound for an array of real epsilons."""
        away = np.abs(epsilon)
        cell = np.minimum((away / self.step).astype(np.int64), self.values.size - 2)
        w = np.clip(np.expm1(away - cell * self.step) / math.expm1(self.step), 0.0, 1.0)
        value = (1 - w) * self.values[cell] + w * self.values[cell + 1]
        return np.asarray(np.where(epsilon >= 0, value, -np.expm1(-away) + np.exp(-away) * value))

    def __call__(self, epsilon: float) -> float:
        """The bound at one epsilon."""
        return float(self.at(np.array([float(epsilon)]))[0])


@lru_cache(maxsize=64)
def value_function(runs: tuple[tuple[float, int], ...], edge: float, cells: int = 32) -> ValueFunction:
    """Tabulate the value function of runs ``(eta, count)``, in the order in which they happen, up to epsilon `edge`.

    `cells` divides the smallest range; the others are rounded up to whole cells.

    Examples
    --------
    >>> table = value_function(((0.1, 10),), edge=1.0)
    >>> finer = value_function(((0.1, 10),), edge=1.0, cells=64)
    >>> bool(finer(0.3) <= table(0.3))
    True
    """
    smallest = min(eta for eta, _ in runs)
    edge = min(edge, math.fsum(eta * n for eta, n in runs))
    step = smallest / cells
    if len({eta for eta, _ in runs}) > 1:  # the grid, near the asked one, that wastes least in rounding up

        def waste(k: int) -> float:
            return sum(n * (math.ceil(eta * k / smallest - 1e-9) * smallest / k) ** 2 for eta, n in runs)

        step = smallest / min(range(cells, 2 * cells), key=waste)
    values = np.zeros(math.ceil(edge / step - 1e-9) + 2)
    total = 0
    for eta, count in reversed(runs):
        whole = max(1, math.ceil(eta / step - 1e-9))
        for _ in range(count):
            values = selection_step(values, step, whole)
        total += count
    # 1e-9 of a cell may have been rounded away above, and each step rounds a few times
    return ValueFunction(step, np.minimum(values * (1 + total * (64 * 2.0**-53 + 4e-9 * step)), 1.0), runs)


def _runs(event: dp_event.DpEvent) -> tuple[tuple[tuple[float, int], ...], dp_event.DpEvent]:
    """The selections of a tree in their order, and the rest."""
    runs: list[tuple[float, int]] = []
    rest: list[dp_event.DpEvent] = []
    for leaf, count in leaves(event):
        if not isinstance(leaf, BoundedRangeDpEvent):
            rest.append(dp_event.SelfComposedDpEvent(leaf, count))
        elif leaf.eta and runs and runs[-1][0] == leaf.eta:
            runs[-1] = (leaf.eta, runs[-1][1] + count)
        elif leaf.eta:
            runs.append((leaf.eta, count))
    return tuple(runs), compose(*rest)


def _table(runs: tuple[tuple[float, int], ...], edge: float, cells: int | None) -> ValueFunction | None:
    """The table, as fine as a little work allows, or as coarse as need be; None where even that is too much."""
    edge = min(edge, math.fsum(eta * n for eta, n in runs)) * (1 + 1e-9)
    smallest = min(eta for eta, _ in runs)

    def work(m: int) -> float:
        return sum(n * math.ceil(m * eta / smallest) for eta, n in runs) * (edge * m / smallest + 2)

    easy = [m for m in (512, 256, 128, 64, 32, 16) if work(m) <= _EASY]
    m = cells or (easy[0] if easy else next((m for m in (16, 12, 8) if work(m) <= _MOST), 0))
    return value_function(runs, edge, m) if m else None


def epsilon(event: dp_event.DpEvent, delta: float, *, cells: int | None = None) -> float:
    """An upper bound on epsilon at `delta` for selections in a fixed schedule, with anything of fixed pairs between.

    Infinite where the table would cost too much (some tens of thousands of selections): use zCDP there.

    Notes
    -----
    *Privacy.* Guarantee: (epsilon, delta)-DP.  Neighbours: those of the ranges.  Public: the schedule.
    Bounded by: the value function.  Proof: ``proofs/bounded_range.md``.

    Examples
    --------
    >>> run = dp_event.SelfComposedDpEvent(BoundedRangeDpEvent(0.1), 20)
    >>> round(epsilon(run, 1e-6), 3)
    0.932
    """
    from discreet.accounting import rdp as renyi

    if delta <= 0:
        return math.inf
    runs, rest = _runs(event)
    if not runs:
        raise ValueError("the value-function accountant needs at least one BoundedRangeDpEvent in the tree")
    high = renyi.epsilon(event, delta)
    table = _table(runs, renyi.epsilon(event, delta * 1e-4), cells)
    if table is None or not math.isfinite(high):
        return math.inf
    total = _before(rest, table, delta, high)
    return _invert(total, delta, high, max(2 * high, table.step * table.values.size))


def delta(event: dp_event.DpEvent, epsilon: float, *, cells: int | None = None) -> float:
    """An upper bound on delta at `epsilon`: the counterpart of :func:`epsilon`; 1 where a table would cost too much.

    >>> run = dp_event.SelfComposedDpEvent(BoundedRangeDpEvent(0.1), 20)
    >>> round(delta(run, 0.933) * 1e6, 1)
    1.0
    """
    from discreet.accounting import rdp as renyi

    runs, rest = _runs(event)
    if not runs:
        raise ValueError("the value-function accountant needs at least one BoundedRangeDpEvent in the tree")
    guess = max(renyi.delta(event, epsilon), 1e-300)
    table = _table(runs, renyi.epsilon(event, guess * 1e-5), cells)
    return 1.0 if table is None else _before(rest, table, guess, epsilon)(epsilon)


def _before(rest: dp_event.DpEvent, table: ValueFunction, size: float, near: float) -> Callable[[float], float]:
    """Delta as a function of epsilon when the pairs of `rest` come first: the larger of the two directions."""
    from discreet.accounting import pld

    sides = [c for c in pld.composition(rest, size * 1e-7).values() if c.parts]
    if not sides:
        return table
    parts = [c.ahead_of(table.at, table.log_moment, near) for c in sides]
    return lambda eps: min(1.0, max(part(eps) for part in parts))


def _invert(total: Callable[[float], float], goal: float, high: float, edge: float) -> float:
    """The least epsilon with total(epsilon) <= goal, from above; `total` decreases."""
    if total(0.0) <= goal:
        return 0.0
    low = 0.0
    while total(high) > goal:
        low, high = high, 1.5 * high
        if high > edge:
            high = edge
            if total(high) > goal:
                return math.inf
            break
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if total(middle) <= goal else (middle, high)
    return high
