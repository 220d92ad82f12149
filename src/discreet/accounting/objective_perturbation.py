r"""The flagship's event: one exact minimum of a convex objective with a Gaussian linear term.

Released is the minimiser of ``sum_i f(<x_i, theta>, y_i) + psi(theta) + <b, theta>`` with ``b ~ N(0, sigma^2 I)`` and
``psi`` strongly convex with a public Hessian of at least ``lambda``.  Two numbers describe it,

    ``mu = L R / sigma``  and  ``kappa = R^2 / lambda``,

together with how much the loss can still bend where it is steep.  Where steep means straight (logistic,
pseudo-Huber), the whole fit costs no more than one Gaussian release of the gradient.  What is *not* true, and is
guarded here: that it composes as a Gaussian whatever kappa is, and that a softmax behaves as a scalar loss.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal

import attr
import numpy as np
from dp_accounting import dp_event
from numpy.typing import ArrayLike, NDArray

from discreet.accounting import gdp
from discreet.accounting.dominating_pair import (
    Bound,
    best_split,
    discretise,
    ordered_bounds,
    reach_of,
    replace_one_bound,
    with_gaussian,
)
from discreet.accounting.events import Direction, DominatedDpEvent, positive
from discreet.accounting.objective_curvature import SHAPES, Curvature
from discreet.accounting.objective_profile import LineEnvelope, LossBound, directions
from discreet.accounting.pmf import LossPmf
from discreet.accounting.softmax_profile import log_determinant, softmax_directions
from discreet.privacy import Neighbours

__all__ = ["ObjectivePerturbationDpEvent"]

Array = NDArray[np.float64]
_UP = 1 + 4e-16


def _shape(shape: str | Curvature, apart: bool) -> Curvature:
    if isinstance(shape, str):
        if shape not in SHAPES:
            names = ", ".join(repr(n) for n in (*SHAPES, "softmax"))
            raise ValueError(f"shape={shape!r} is not a known curvature; choose one of {names}, or build one")
        shape = SHAPES[shape]
    return shape.nonincreasing() if apart else shape


@lru_cache(maxsize=256)
def _losses(
    mu: float, kappa: float, shape: str | Curvature, apart: bool, n_classes: int
) -> tuple[LossBound, LossBound]:
    if shape == "softmax":
        return softmax_directions(mu, kappa, n_classes, step=0.03)
    return directions(mu, kappa, _shape(shape, apart))


@attr.s(frozen=True, slots=True, auto_attribs=True)
class ObjectivePerturbationDpEvent(DominatedDpEvent):
    r"""One release of an exact minimum (or, with `tolerance_mu`, of a certified approximate one).

    Parameters
    ----------
    mu : float
        ``L R / sigma``: Lipschitz constant times the largest row norm, over the noise (softmax: ``R / sigma``).
    kappa : float
        ``R^2 / lambda``, times the smoothness relative to that of `shape`.
    shape : str or Curvature
        ``"logistic"``, ``"logistic_soft"`` (labels in [0, 1]), ``"pseudo_huber"``, ``"softmax"``, or ``"one_sided"``
        and ``"two_sided"`` for a loss of smoothness 1 of which no more is known than whether the target fixes the
        sign of its slope.
    neighbors : {"zero_out", "add_remove", "replace_one"}
        The relation; unlike for other events, `mu` and `kappa` are those of *one* record under each.
    n_classes : int
        For the softmax.
    apart : bool
        True when mu and kappa are bounded by different records (Lemma 4), for instance with a weakly regularised
        intercept.
    tolerance_mu : float
        ``2 tau / (lambda sigma_2)`` when a minimum with gradient norm at most tau is released with noise sigma_2.

    Notes
    -----
    *Privacy.* Guarantee: hockey-stick bounds for every real epsilon, each ordered direction apart.
    Neighbours: `neighbors`.  Public: all fields; lambda, sigma and R must not depend on the rows.
    Bounded by: the row norm, the Lipschitz constant, the curvature of the loss.
    Proof: ``proofs/objective_perturbation.md``.

    Examples
    --------
    >>> one_fit = ObjectivePerturbationDpEvent(mu=0.2367, kappa=1.0)
    >>> one_fit.delta(1.0) <= 1e-6  # the price of a Gaussian release with noise multiplier 4.225
    True
    >>> one_fit.gaussian_mu is None, ObjectivePerturbationDpEvent(mu=0.2367, kappa=0.028).gaussian_mu
    (True, 0.2367)
    """

    mu: float
    kappa: float
    shape: str | Curvature = "logistic"
    neighbors: str = "zero_out"
    n_classes: int = 2
    apart: bool = False
    tolerance_mu: float = 0.0

    def __attrs_post_init__(self) -> None:
        positive(self.mu, "mu")
        positive(self.kappa, "kappa")
        positive(self.tolerance_mu, "tolerance_mu", zero=True)
        Neighbours.of(self.neighbors)
        if self.shape == "softmax":
            if self.n_classes < 2:
                raise ValueError(f"n_classes={self.n_classes!r} must be at least 2")
        else:
            _shape(self.shape, self.apart)

    @property
    def twice(self) -> bool:
        """Whether neighbours differ by replacing a record."""
        return Neighbours.of(self.neighbors) is Neighbours.REPLACE_ONE

    @property
    def gaussian_mu(self) -> float | None:
        """The mu of the Gaussian mechanism that dominates this event under composition, where there is one.

        ``kappa <= mu^2 / 2`` with the logistic loss (Corollary 6 iii); doubled under replace-one.
        """
        if self.shape != "logistic" or self.apart or self.kappa > self.mu**2 / 2 * (1 - 1e-14):
            return None
        total = self.mu if not self.tolerance_mu else gdp.compose(self.mu, self.tolerance_mu)
        if not self.twice:
            return total
        return 2 * self.mu if not self.tolerance_mu else gdp.compose(2 * self.mu, self.tolerance_mu)

    def _directions(self) -> tuple[LossBound, LossBound]:
        return _losses(self.mu, self.kappa, self.shape, self.apart, self.n_classes)

    def _single(self) -> tuple[Bound, Bound]:
        """Both ordered directions for one record there or not; the solver's tolerance included."""
        one, two = ordered_bounds(*self._directions())
        if self.tolerance_mu:
            least = 100 if self.shape == "softmax" else 400
            cells = round(min(max(20 * least * self.tolerance_mu / self.mu, least), 20_000))
            return with_gaussian(one, self.tolerance_mu, cells), with_gaussian(two, self.tolerance_mu, cells)
        return one, two

    def _reach(self) -> float:
        one, two = ordered_bounds(*self._directions())
        reach = reach_of(lambda la: np.maximum(one(la), two(la)), 4 * self.mu)
        return reach + 10 * self.tolerance_mu

    def _bound(self, direction: Direction) -> Bound:
        one, two = self._single()
        if self.twice:
            return replace_one_bound(one, two, self._reach())
        return two if direction == "remove" else one  # "remove": the record is in the data set of the numerator

    def profile(self, direction: Direction, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
        """See :class:`~discreet.accounting.events.DominatedDpEvent`."""
        eps = np.atleast_1d(np.asarray(epsilon, dtype=float))
        mu = self.gaussian_mu
        if mu is not None:
            return np.array([gdp.delta(mu, e) for e in eps.ravel().tolist()]).reshape(eps.shape)
        values = self._bound(direction)(eps.ravel())
        if self.twice:
            values = np.minimum(values, self._direct(eps.ravel()))
        return np.asarray(values.reshape(eps.shape))

    def loss_range(self, direction: Direction, tail: float) -> tuple[float, float]:
        """See :class:`~discreet.accounting.events.DominatedDpEvent`."""
        reach = self._reach() * (2 if self.twice else 1)
        return -reach, reach

    def pmf(self, direction: Direction, step: float, tail: float) -> LossPmf:
        """See :class:`~discreet.accounting.events.DominatedDpEvent`."""
        low, high = self.loss_range(direction, tail)
        spacing = max(self.mu / 200.0, (high - low) / (2_000 if self.shape == "softmax" else 20_000))
        if self.gaussian_mu is not None:
            return discretise(lambda la: self.profile(direction, la), step, low, high, spacing)
        bound = self._bound(direction)  # built once: profile() would build it again
        if self.twice:
            return discretise(lambda la: np.minimum(bound(la), self._direct(la)), step, low, high, spacing)
        return discretise(bound, step, low, high, spacing)

    def delta(self, epsilon: float) -> float:
        """The delta at `epsilon` of this event on its own, by the sharpest of the statements that apply."""
        eps = float(epsilon)
        if self.gaussian_mu is not None:
            return gdp.delta(self.gaussian_mu, eps)
        one, two = self._single()
        if not self.twice:
            at = np.array([eps])
            return float(min(1.0, max(one(at)[0], two(at)[0])))
        guides = ordered_bounds(*self._directions())
        half = 12 if self.shape == "softmax" else 64
        return min(best_split(one, two, eps, self._reach(), guides, half), float(self._direct(np.array([eps]))[0]))

    def _vertices(self) -> tuple[float, Array]:
        """Theorem 7': the log determinant's largest value, and the norms whose Gaussian profiles are added."""
        shape = _shape(self.shape, self.apart)
        mu = self.mu
        norms = np.array([1.0, 1.0, 2.0] if shape.sign_fixed else [2.0, 2.0, math.sqrt(2.0), math.sqrt(2.0)]) * mu
        return math.log1p(self.kappa * shape.beta) * _UP, norms * _UP

    def _direct(self, log_alpha: Array) -> Array:
        """Theorem 7' at each alpha (1 where it says nothing: below the log determinant, softmax, inexact minima)."""
        if self.shape == "softmax" or self.tolerance_mu:
            return np.ones(log_alpha.shape)
        a, norms = self._vertices()
        total = np.zeros(log_alpha.shape)
        for v in norms.tolist():
            line = LineEnvelope(np.array([v]), np.array([v * v / 2 + a]), two_sided=False)
            total += line.hockey_stick(log_alpha)
        return np.where(log_alpha >= a, np.minimum(total, 1.0), 1.0)

    def rdp(self, orders: ArrayLike) -> NDArray[np.float64]:
        """Renyi divergences from the dominating pair, its tail replaced by the exact tail of the bound."""
        wanted = np.asarray(orders, dtype=float)
        mu = self.gaussian_mu
        if mu is not None:
            return np.asarray(wanted * (mu * mu / 2) * _UP)
        if self.shape == "softmax" and self.twice:
            return np.full(wanted.shape, np.inf)
        exact = attr.evolve(self, tolerance_mu=0.0)
        values = np.array([exact._renyi(a) if a > 1 else math.nan for a in wanted.ravel().tolist()])
        return np.asarray(values.reshape(wanted.shape) + wanted * self.tolerance_mu**2 / 2 * _UP)

    def _renyi(self, order: float) -> float:
        worst = -math.inf
        for direction, index in _ORDERED[: 1 if self.twice else 2]:
            pair = _rough_pair(self, direction)
            top = float(pair.losses[-1])
            terms = [pair.log_mgf(order - 1)]
            if self.twice:
                a, norms = self._vertices()
                lines = (LineEnvelope(np.array([v]), np.array([v * v / 2 + a]), two_sided=False) for v in norms)
                terms += [line.log_moment_above(order - 1, top) for line in lines]
                terms.append(math.log(order * max(pair.infinity, 1e-300)) + (order - 1) * top)
            else:
                terms.append(self._directions()[index].log_moment_above(order - 1, top))
            worst = max(worst, float(np.logaddexp.reduce(terms)))
        return max(worst * (1 + 1e-9) + 1e-12, 0.0) / (order - 1)

    def spread(self) -> float:
        """See :class:`~discreet.accounting.events.DominatedDpEvent`."""
        return min(math.hypot(self.mu, self.tolerance_mu) * (2 if self.twice else 1), 10.0)

    def standard(self, kind: Literal["pld", "rdp"]) -> dp_event.DpEvent:
        """An event of ``dp_accounting`` that is no more private: a Gaussian where that is so, else zCDP."""
        mu = self.gaussian_mu
        if mu is not None:
            return dp_event.GaussianDpEvent(math.nextafter(1 / mu, 0))
        if kind == "rdp" and self.shape != "softmax":
            return dp_event.ZCDpEvent(rho=self._rho())
        return super().standard(kind)

    def _rho(self) -> float:
        """A rho of zero-concentrated privacy: the largest Renyi divergence over its order, with the gaps covered.

        Between two orders the divergence is at most that of the larger one.  Beyond the last, the loss is at most
        ``v |Z| + v^2 / 2 + a``, whose divergence is below ``order v^2 / 2 + a + log 4 / (order - 1)``.
        """
        orders = np.concatenate([1 + np.geomspace(1e-3, 1, 60), np.geomspace(2.02, 2000, 400)])
        values = self.rdp(orders)
        between = float(np.max(values / np.concatenate([[1.0], orders[:-1]])))
        a, _ = self._vertices()
        v2, last = (self.mu * (2 if self.twice else 1)) ** 2 + self.tolerance_mu**2, float(orders[-1])
        return max(between, v2 / 2 + (a + math.log(4.0) / (last - 1)) / last) * (1 + 1e-12)


_ORDERED: tuple[tuple[Direction, int], ...] = (("remove", 1), ("add", 0))


@lru_cache(maxsize=64)
def _rough_pair(event: ObjectivePerturbationDpEvent, direction: Direction) -> LossPmf:
    """A dominating pair on a grid of its own, fine enough for Renyi divergences."""
    return event.pmf(direction, max(event.mu / 200.0, 1e-6), 1e-18)


def largest_determinant(kappa: float, shape: str | Curvature, n_classes: int = 2) -> float:
    """The largest log determinant ratio that adding one record can cause.

    >>> largest_determinant(4.0, "logistic") == math.log(2.0)
    True
    """
    if shape == "softmax":
        at = 1.0 - 1.0 / n_classes  # log det(I + kappa A(pi)) is concave and symmetric in pi: largest at uniform pi
        return float(log_determinant(np.array([at]), kappa, n_classes)[0][0]) * (1 + 1e-12)
    return math.log1p(kappa * _shape(shape, False).beta)
