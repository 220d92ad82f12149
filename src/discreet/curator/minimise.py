"""Minimising a perturbed objective inside the curator, to a public tolerance that is proved to be met."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.curator.base import MAX_ROWS, CuratorCore
from discreet.curator.clip import SupportsMargins
from discreet.curator.descent import fallback, newton
from discreet.curator.grid import Grid, power_of_two
from discreet.curator.objective import SLOPE_ERROR, UNIT_ROUNDOFF, Objective, Quadratic
from discreet.privacy import Bounded, Contribution, Neighbours, Sealed, unseal

__all__ = ["Minimiser", "provable_tolerance"]

Floats = NDArray[np.float64]


class Minimiser(CuratorCore):
    """The part of the curator that solves an optimisation problem over its rows."""

    def minimise(
        self,
        loss: SupportsMargins,
        penalty: Any,
        linear_term: Sealed | None = None,
        tau: float | None = None,
        *,
        composite: Any = None,
        slack: float = 0.0,
        n_rows: int | None = None,
        centre: ArrayLike | None = None,
    ) -> Bounded:
        r"""The minimiser of ``sum w f(<z, theta>, y) + theta' Lambda theta / 2 + <b, theta>``, to ``tau / lambda``.

        Newton's method (Cholesky, or conjugate gradients when wide) runs until a certificate that accounts for every
        rounding error proves ``|gradient| <= tau``; should that fail, gradient steps take over, whose number is fixed
        by a theorem.  Nothing is re-drawn, relaxed or refused because of the rows.

        Parameters
        ----------
        loss : Loss
            Convex and smooth.
        penalty : float, array, matrix or L2
            The public quadratic ``Lambda``; `lambda` is its smallest eigenvalue.
        linear_term : Sealed, optional
            The perturbation ``b``, sealed (``Gaussian.sealed_noise``).
        tau : float, optional
            The public tolerance on the gradient's norm; default: :meth:`tolerance`.
        slack : float, default=0
            How far (in norm) `linear_term` can be from the ideal perturbation that its proof speaks of: it counts as
            part of the tolerance.
        n_rows : int, optional
            Where the number of rows is private: a public or paid number that it does not exceed, on which the smallest
            provable `tau` depends.  Default: the most that a curator holds.
        composite : Penalty, optional
            A convex set (``L1Ball``...) or a penalty (``L1``...) to add, by its ``prox``.
        centre : array, optional
            Public weights at which the quadratic is least; default: zeros.  It adds ``-Lambda centre`` to the linear
            term, whose norm then counts in :func:`provable_tolerance`.

        Returns
        -------
        Bounded
            The weights, flat, on a public grid far finer than ``tau / lambda``.  With a `linear_term`, its bound covers
            the *error* of the solution alone, ``2 (tau / lambda + rounding)`` for any pair of neighbours (Theorem 8):
            what the perturbation costs is its own event.  Without one, the bound also covers the movement of the exact
            minimiser, ``lipschitz * row norm / lambda`` for each row there or gone (output perturbation).

        Notes
        -----
        *Privacy.* Guarantee: sealed.  Neighbours: the curator's.  Public: `loss`, `penalty`, `tau`, `composite` and
        `centre`.  Bounded by: strong convexity and a certified gradient.  Proof: ``proofs/minimise.md``.

        Examples
        --------
        >>> import numpy as np
        >>> from discreet.losses import LogisticLoss
        >>> from discreet.curator import RowBounds, make_curator
        >>> curator = make_curator(np.eye(4), np.array([1, -1, 1, 1]), bounds=RowBounds(l2=1))
        >>> theta = curator.minimise(LogisticLoss(), 2.0, tau=1e-8)
        >>> round(float(theta.sensitivity("l2") * theta.unit), 5)  # lipschitz * norm / lambda and 2 tau / lambda
        0.5
        """
        size = self.n_weights * int(loss.n_outputs)
        quadratic = Quadratic.of(penalty, size)
        if not math.isfinite(loss.smoothness):
            raise ValueError("this loss has a kink: its minimiser can't be certified; take its smoothed form")
        if not math.isfinite(loss.lipschitz):
            raise ValueError("no proof covers the minimiser of a loss of unbounded slope; take a Huber form of it")
        floor = self.tolerance(loss, penalty, n_rows, composite)
        tau = floor if tau is None else float(tau)
        if not floor <= tau < math.inf:
            raise ValueError(f"tau={tau:g} is below {floor:g}, what double precision can prove for this many rows")
        linear = np.zeros(size)
        if linear_term is not None:
            linear = np.asarray(unseal(linear_term), dtype=np.float64).reshape(-1)
            if linear.shape != (size,):
                raise ValueError(f"the linear term has {linear.size} entries for {size} weights")
        if centre is not None:
            linear = linear - quadratic.times(np.asarray(centre, dtype=np.float64).reshape(-1))
        unit = power_of_two(tau / (16 * quadratic.weakest * math.sqrt(size + 1)))
        theta = _solve(Objective(self, loss, quadratic, linear), tau, composite)
        whole = np.rint(np.clip(theta / float(unit), -(2.0**62), 2.0**62)).astype(np.int64)
        bound = self._stability(loss, quadratic, tau + slack, unit, size, perturbed=linear_term is not None)
        return self._sealed(whole, bound, unit)

    def _stability(
        self, loss: SupportsMargins, quadratic: Quadratic, tau: float, unit: Fraction, size: int, *, perturbed: bool
    ) -> Contribution:
        """What one row's presence moves, in grid units, such that :meth:`Bounded.sensitivity` is right.

        The solver's error moves by ``2 e`` between *any* two data sets.  ``sensitivity`` doubles a contribution under
        replace-one, where the contribution is therefore ``e``, so that it is never doubled twice.
        """
        weakest = Fraction(quadratic.weakest)
        e = Fraction(tau) / weakest / unit + Fraction(math.isqrt(size) + 1, 2)
        move = Fraction(0)
        if not perturbed:
            steepest = Fraction(float(loss.lipschitz)) * Fraction(self.bounds.weight)
            move = steepest * self.grid.l2 * self.grid.unit / weakest / unit
        once = move + (e if self.neighbors is Neighbours.REPLACE_ONE else 2 * e)
        return Contribution(l2=math.ceil(once))

    def tolerance(self, loss: SupportsMargins, penalty: Any, n_rows: int | None = None, composite: Any = None) -> float:
        """The smallest `tau` that double precision can prove, from public sizes alone.

        `n_rows` is a public bound on the number of rows for use where their number is private.

        >>> import numpy as np
        >>> from discreet.losses import LogisticLoss
        >>> from discreet.curator import RowBounds, make_curator
        >>> curator = make_curator(np.eye(4), np.ones(4), bounds=RowBounds(l2=1))
        >>> curator.tolerance(LogisticLoss(), 1.0) < 1e-6
        True
        """
        n = self._count() if not self._private_n else MAX_ROWS if n_rows is None else int(n_rows)
        return provable_tolerance(self.grid, loss, penalty, n, 0.0, composite)


def provable_tolerance(
    grid: Grid,
    loss: SupportsMargins,
    penalty: Any,
    n_rows: int,
    perturbation: float = 0.0,
    composite: Any = None,
) -> float:
    """The smallest `tau` that double precision can prove for that many rows; for plans, which have no curator yet.

    `perturbation` is a number that the norm of the linear term does not exceed.  What counts is the error of one
    certified gradient at a point no further away than the minimum can be (``proofs/minimise.md``).

    >>> from discreet.losses import LogisticLoss
    >>> from discreet.curator import RowBounds
    >>> provable_tolerance(RowBounds(l2=1).grid(4), LogisticLoss(), 1.0, 1000) < 1e-8
    True
    """
    outputs = int(loss.n_outputs)
    quadratic = Quadratic.of(penalty, grid.n_weights * outputs)
    row, weight = float(grid.l2 * grid.unit), grid.bounds.weight
    steepest = float(loss.lipschitz)
    total = n_rows * weight
    # J(minimum) <= J(0) with losses of at least 0: lambda |theta|^2 / 2 - |b| |theta| <= sum of the losses at 0
    at_zero = total * _largest_at_zero(grid, loss)
    far = 2 * perturbation / quadratic.weakest + math.sqrt(2 * at_zero / quadratic.weakest)
    bend = total * float(loss.smoothness) * row**2
    if composite is not None:  # the same from the point of the set that is nearest to 0, where losses may be larger
        start = float(np.linalg.norm(composite.prox(np.zeros(grid.n_weights * outputs), 1.0)))
        far += 3 * start + math.sqrt(2 * total * steepest * row * start / quadratic.weakest)
    slopes = (1 + math.sqrt(outputs)) * total * steepest * row * (SLOPE_ERROR + 10 * UNIT_ROUNDOFF)
    margins = UNIT_ROUNDOFF * far * (4 * bend + 16 * quadratic.strongest)
    ends = (1e-9 + 2.0**-36 * math.sqrt(grid.n_weights * outputs)) * weight * steepest * row
    return 2.5 * (slopes + margins + 8 * UNIT_ROUNDOFF * perturbation) + ends


def _largest_at_zero(grid: Grid, loss: SupportsMargins) -> float:
    """The largest loss at margin 0, which is convex in a real target and the same for every class."""
    if int(loss.n_outputs) > 1:
        return float(np.max(loss.value(np.zeros((1, int(loss.n_outputs))), np.zeros(1))))
    ends = np.array([-1.0, 1.0]) if grid.bounds.y is None else np.array(grid.bounds.y, dtype=np.float64)
    return float(np.max(loss.value(np.zeros(2), ends)))


def _solve(objective: Objective, tau: float, composite: Any) -> Floats:
    """Newton until certified; else gradient steps, as many as their theorem asks for."""
    theta, done = newton(objective, tau, composite)
    return theta if done else fallback(objective, tau, composite)
