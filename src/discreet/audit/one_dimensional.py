r"""Exact privacy of a perturbed minimum with one coefficient, to hold a bound against.

With one coefficient the output has the explicit distribution function ``P(theta <= t) = Phi(G(t) / sigma)``,
``G(t) = sum_i w_i x_i f'(x_i t, y_i) + lambda t``, so the divergence of two neighbouring data sets can be worked out to
many digits, in two ways that share nothing: from densities by quadrature, and from probabilities of cells alone.
The second is a lower bound of the exact value whatever the cells are, and so can't accuse a sound bound by accident.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

__all__ = ["OneDimensional", "Scalar", "exact_profile", "random_background"]

Array = NDArray[np.float64]


class Scalar(Protocol):
    """The two methods of a loss that are needed here."""

    def derivative(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """The slope in the margin."""

    def curvature(self, margin: ArrayLike, y: ArrayLike) -> Array:
        """The second derivative in the margin."""


@dataclass(frozen=True)
class OneDimensional:
    """A perturbed minimum with one coefficient on a data set (x, y, weight), by its exact law.

    Parameters
    ----------
    loss : Scalar
        A loss of :mod:`discreet.losses`, or anything with its `derivative` and `curvature`.
    x, y, weight : array
        The rows.
    sigma, ridge : float
        Standard deviation of the linear term, and lambda.

    Examples
    --------
    >>> from discreet.losses import LogisticLoss
    >>> law = OneDimensional(LogisticLoss(), np.array([1.0]), np.array([1.0]), np.ones(1), sigma=2.0, ridge=1.0)
    >>> float(law.distribution(law.quantiles(np.array([0.7])))[0])
    0.758036...
    """

    loss: Scalar
    x: Array
    y: Array
    weight: Array
    sigma: float
    ridge: float

    def gradient(self, t: Array) -> Array:
        """``G(t)``: increasing, and minus the noise that makes t the minimum."""
        rows = self.weight[:, None] * self.x[:, None] * self.loss.derivative(np.outer(self.x, t), self.y[:, None])
        return np.asarray(rows.sum(axis=0) + self.ridge * t)

    def hessian(self, t: Array) -> Array:
        """``G'(t)``."""
        square = self.x[:, None] ** 2 * self.loss.curvature(np.outer(self.x, t), self.y[:, None])
        return np.asarray((self.weight[:, None] * square).sum(axis=0) + self.ridge)

    def quantiles(self, z: Array) -> Array:
        """The t with ``G(t) = sigma z``, nearly: Newton within bisection.  Nothing here needs them to be exact."""
        wanted = self.sigma * z
        reach = float(np.abs(self.weight * self.x).sum()) * self._steepest() + float(np.abs(wanted).max())
        low, high = np.full(z.shape, -reach / self.ridge), np.full(z.shape, reach / self.ridge)
        t = (low + high) / 2
        for _ in range(200):
            error = self.gradient(t) - wanted
            low, high = np.where(error < 0, t, low), np.where(error < 0, high, t)
            newton = t - error / self.hessian(t)
            new: Array = np.where((newton > low) & (newton < high), newton, (low + high) / 2)
            if np.all(np.abs(new - t) <= 1e-7 * np.abs(t)) or np.all(np.abs(error) <= 1e-7 * self.sigma):
                return new
            t = new
        return np.asarray(t)

    def _steepest(self) -> float:
        far = np.array([-1e12, 1e12])
        return float(max(np.abs(self.loss.derivative(far[None, :], self.y[:, None])).max(initial=1.0), 1.0))

    def distribution(self, t: Array) -> Array:
        """``P(theta <= t)``."""
        return np.asarray(ndtr(self.gradient(t) / self.sigma))

    def masses(self, t: Array) -> Array:
        """Probabilities of the cells between consecutive t and of both tails, from the accurate side."""
        u = np.concatenate([[-np.inf], self.gradient(t) / self.sigma, [np.inf]])
        upper = np.minimum(u[:-1], u[1:]) > 0
        return np.maximum(np.where(upper, ndtr(-u[:-1]) - ndtr(-u[1:]), ndtr(u[1:]) - ndtr(u[:-1])), 0.0)

    def log_density(self, t: Array) -> Array:
        """Up to a constant that neighbours share: ``-(G / sigma)^2 / 2 + log G'``."""
        return np.asarray(-((self.gradient(t) / self.sigma) ** 2) / 2 + np.log(self.hessian(t)))

    def without(self, i: int) -> OneDimensional:
        """The data set less its row `i`."""
        keep = np.arange(len(self.x)) != i
        return OneDimensional(self.loss, self.x[keep], self.y[keep], self.weight[keep], self.sigma, self.ridge)


def grid(numerator: OneDimensional, denominator: OneDimensional, size: int = 2001, span: float = 9.0) -> Array:
    """Points t that cover both laws, denser where either has its mass."""
    z = np.linspace(-span, span, size)
    return np.unique(np.concatenate([numerator.quantiles(z), denominator.quantiles(z)]))


def losses_and_masses(numerator: OneDimensional, denominator: OneDimensional, size: int = 2001) -> tuple[Array, Array]:
    """Cell by cell: log ratio of probabilities, and probability under the numerator (cells without any left out)."""
    t = grid(numerator, denominator, size)
    p, q = numerator.masses(t), denominator.masses(t)
    some = p > 0
    with np.errstate(divide="ignore"):
        return np.log(p[some]) - np.log(q[some]), p[some]


def hockey_stick(losses: Array, masses: Array, epsilon: float) -> float:
    """``sum p (1 - exp(epsilon - loss))_+``: a lower bound of the divergence, whatever the cells."""
    above = losses > epsilon
    return float(-(masses[above] @ np.expm1(epsilon - losses[above])))


def by_density(numerator: OneDimensional, denominator: OneDimensional, epsilon: float, size: int = 20001) -> float:
    """The divergence by quadrature over the noise, which is standard normal under the numerator."""
    t = np.unique(numerator.quantiles(np.linspace(-9.0, 9.0, size)))
    z = numerator.gradient(t) / numerator.sigma
    loss = numerator.log_density(t) - denominator.log_density(t)
    values = np.exp(-z * z / 2) / math.sqrt(2 * math.pi) * -np.expm1(np.minimum(epsilon - loss, 0.0))
    return float(np.trapezoid(values, z))


def exact_profile(
    loss: Scalar,
    background: Sequence[tuple[float, float, float]],
    record: tuple[float, float],
    sigma: float,
    ridge: float,
    epsilons: Sequence[float],
    *,
    size: int = 2001,
) -> tuple[Array, Array]:
    """Divergences of one record's presence, in both directions, by cells (a lower bound, to many digits).

    Parameters
    ----------
    loss : Scalar
    background : sequence of (x, y, weight)
        The other rows.
    record : (x, y)
        The row that is there or not.
    sigma, ridge : float
    epsilons : sequence of float

    Returns
    -------
    removed, added : array
        Direction 1 (numerator without the record) and direction 2 (numerator with it).

    Examples
    --------
    >>> from discreet.losses import LogisticLoss
    >>> removed, added = exact_profile(LogisticLoss(), [], (1.0, 1.0), sigma=10.0, ridge=0.01, epsilons=[-0.2])
    >>> round(float(removed[0]), 3)
    0.213
    """
    rows = np.asarray(background, dtype=float).reshape(-1, 3)
    x, y, w = (np.append(rows[:, i], v) for i, v in enumerate((*record, 1.0)))
    present = OneDimensional(loss, x, y, w, sigma, ridge)
    absent = present.without(len(x) - 1)
    pairs = [losses_and_masses(absent, present, size), losses_and_masses(present, absent, size)]
    removed, added = (np.array([hockey_stick(*pair, e) for e in epsilons]) for pair in pairs)
    return removed, added


def random_background(
    uniform: Callable[[int], Array], radius: float, *, real_targets: bool = False
) -> list[tuple[float, float, float]]:
    """Rows of any kind: none, one, many, all on one side, heavy ones.

    `uniform` returns so many numbers between 0 and 1; it makes data, and nothing private depends on it.

    >>> random_background(lambda n: np.full(n, 0.3), 1.0)
    [(-0.4, -1.0, 1.0)]
    """
    size, one_side, equal = uniform(3)
    n = (0, 1, 2, 5, 20)[min(int(size * 5), 4)]
    x = np.full(n, -radius) if one_side > 0.5 else radius * (2 * uniform(n) - 1)
    y = 12 * uniform(n) - 6 if real_targets else np.where(uniform(n) < 0.5, -1.0, 1.0)
    weight = np.ones(n) if equal < 0.5 else 10.0 ** (5 * uniform(n) - 2)
    return list(zip(x.tolist(), y.tolist(), weight.tolist(), strict=True))
