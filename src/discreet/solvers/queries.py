"""The kinds of question a solver may ask, each with its price per unit of noise."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

from dp_accounting import dp_event

from discreet.accounting.events import ReplaceOneSampledDpEvent
from discreet.mechanisms import Exponential, Gaussian, KNorm, Laplace, NoisyTopK, Peeling, PermuteAndFlip
from discreet.mechanisms.base import Mechanism
from discreet.privacy import Neighbours

__all__ = ["LinearTerm", "NoisySum", "Peel", "Purse", "Query", "Selection", "TopK", "VectorSum"]


@dataclass(frozen=True)
class Query(ABC):
    """One kind of question, asked `times` times for `share` of the budget.

    Noise is measured against one Gaussian query that spends the whole budget: at noise ``z`` (one over mu) a query
    with share ``s`` asked ``T`` times gets ``mu = sqrt(s / T) / z`` for each time.

    Parameters
    ----------
    times : int
        How often it is asked.
    share : float
        Its part of the squared noise budget (of epsilon, when the budget is pure).
    rate : float
        The Poisson sampling rate of the rows behind each answer.
    parts : int
        When above 1, it is asked `times` times of each of that many disjoint parts of the rows, for the price of one
        part.

    Examples
    --------
    >>> NoisySum(times=4).at(2.0).noise_multiplier
    4.0
    """

    times: int = 1
    share: float = 1.0
    rate: float = 1.0
    parts: int = 1

    def __post_init__(self) -> None:
        if min(self.times, self.parts) < 1 or not 0 < self.share <= 1 or not 0 < self.rate <= 1:
            raise ValueError(f"a query is asked at least once, for a share and at a rate in (0, 1]; got {self}")

    def each(self, noise: float) -> float:
        """One over the mu of a single answer, at the given overall noise.

        For sampled rows it is what the central limit of many answers asks for: T answers at rate q and noise z cost
        about ``mu^2 = T q^2 (exp(1 / z^2) - 1)``.  The exact price is the accountant's business.
        """
        if self.rate == 1.0:
            return noise * math.sqrt(self.times / self.share)
        return 1 / math.sqrt(math.log1p(self.share / (noise**2 * self.times * self.rate**2)))

    @abstractmethod
    def at(self, noise: float) -> Mechanism:
        """The mechanism at overall noise `noise` (one over mu)."""

    @abstractmethod
    def pure(self, epsilon: float) -> Mechanism:
        """The mechanism when each answer may cost pure `epsilon`."""

    @abstractmethod
    def answer(self, mechanism: Any, sealed: Any, **options: Any) -> Any:
        """Put the question."""

    def event(self, mechanism: Mechanism, neighbors: Neighbours) -> dp_event.DpEvent:
        """The event of one answer."""
        if self.rate == 1.0:
            return mechanism.event
        if neighbors is Neighbours.REPLACE_ONE:
            return ReplaceOneSampledDpEvent(self.rate, mechanism.event)
        return dp_event.PoissonSampledDpEvent(self.rate, mechanism.event)


@dataclass(frozen=True)
class NoisySum(Query):
    """A sum with Gaussian noise (Laplace noise when the budget is pure).

    Examples
    --------
    >>> NoisySum().pure(0.5).epsilon
    0.5
    """

    def at(self, noise: float) -> Mechanism:
        """Gaussian noise."""
        return Gaussian(self.each(noise))

    def pure(self, epsilon: float) -> Mechanism:
        """Laplace noise, scaled to the l1 sensitivity."""
        return Laplace(epsilon)

    def answer(self, mechanism: Any, sealed: Any, **options: Any) -> Any:
        """The noisy statistic in real units."""
        return mechanism.release(sealed, **options)


@dataclass(frozen=True)
class VectorSum(NoisySum):
    """A sum with Gaussian noise; when the budget is pure, with the K-norm noise of a ball or a cube, block by block.

    Examples
    --------
    >>> VectorSum(norm="linf", blocks=2).pure(0.5)
    KNorm(epsilon=0.5, norm='linf', blocks=2)
    """

    norm: Literal["l2", "linf", "least"] = "l2"
    blocks: int = 1

    def pure(self, epsilon: float) -> Mechanism:
        """K-norm noise, scaled to the sensitivity in `norm`."""
        return KNorm(epsilon, self.norm, self.blocks)


@dataclass(frozen=True)
class Selection(Query):
    """The index of a large score, by the exponential mechanism (permute-and-flip when the budget is pure).

    Examples
    --------
    >>> Selection(times=1).at(4.0).eta
    0.5
    """

    def at(self, noise: float) -> Mechanism:
        """The exponential mechanism: bounded range eta costs what mu = eta / 2 does, to first order."""
        return Exponential(2.0 / self.each(noise))

    def pure(self, epsilon: float) -> Mechanism:
        """Permute-and-flip, whose error is never above the exponential mechanism's at the same epsilon."""
        return PermuteAndFlip(epsilon)

    def answer(self, mechanism: Any, sealed: Any, **options: Any) -> Any:
        """The chosen index."""
        return mechanism.select(sealed, **options)


@dataclass(frozen=True)
class TopK(Query):
    """The indices of the k largest scores in order: k rounds of the exponential mechanism without replacement.

    Examples
    --------
    >>> TopK(k=4).at(1.0).eta
    1.0
    """

    k: int = 1

    def at(self, noise: float) -> Mechanism:
        """Exponential rounds, each with an equal part."""
        return NoisyTopK(self.k, 2.0 / (self.each(noise) * math.sqrt(self.k)))

    def pure(self, epsilon: float) -> Mechanism:
        """Exponential rounds at a k-th of epsilon each."""
        return NoisyTopK(self.k, epsilon / self.k)

    def answer(self, mechanism: Any, sealed: Any, **options: Any) -> Any:
        """The chosen indices."""
        return mechanism.select(sealed, **options)


@dataclass(frozen=True)
class Peel(Query):
    """The k entries of largest size and their noisy values: half of the noise budget finds, half reads them.

    Examples
    --------
    >>> peeling = Peel(k=2).at(1.0)
    >>> round(peeling.eta, 6), round(peeling.noise_multiplier**2, 6)
    (1.0, 2.0)
    """

    k: int = 1
    search: float = 0.5

    def at(self, noise: float) -> Mechanism:
        """Exponential rounds for a share `search`, Gaussian noise on what they found for the rest."""
        each = self.each(noise)
        eta = 2.0 * math.sqrt(self.search / self.k) / each
        return Peeling(self.k, eta, each / math.sqrt(1.0 - self.search))

    def pure(self, epsilon: float) -> Mechanism:
        """Refused: the values carry Gaussian noise."""
        raise TypeError(f"Peeling adds Gaussian noise, which is never pure; epsilon={epsilon!r} needs a delta as well")

    def answer(self, mechanism: Any, sealed: Any, **options: Any) -> Any:
        """The released entries, zeros elsewhere."""
        return mechanism.release(sealed, **options).dense()


@dataclass(frozen=True)
class LinearTerm(Query):
    """The sealed linear term of a perturbed objective; its noise is set by the plan, not by a share.

    Examples
    --------
    >>> LinearTerm().times
    1
    """

    def at(self, noise: float) -> Mechanism:
        """Refused: the noise of a perturbed objective follows from its ridge as well."""
        raise TypeError(f"a perturbed objective is not priced by a share of noise {noise!r}")

    def pure(self, epsilon: float) -> Mechanism:
        """Refused, for the same reason."""
        raise TypeError(f"a perturbed objective is not priced by a share of epsilon {epsilon!r}")

    def answer(self, mechanism: Any, sealed: Any, **options: Any) -> Any:
        """The term of that shape, sealed."""
        return mechanism.draw(sealed, **options)


@dataclass(frozen=True)
class Purse(Query):
    """Sums and selections whose prices are named when they are asked; the plan fills one purse for all of them.

    Examples
    --------
    >>> Purse(times=100).times
    100
    """

    def at(self, noise: float) -> Mechanism:
        """Refused: a purse has one price for all of its answers."""
        raise TypeError(f"a purse is not priced by a share of noise {noise!r}")

    def pure(self, epsilon: float) -> Mechanism:
        """Refused: a purse holds zero-concentrated privacy."""
        raise TypeError(f"a purse is not priced by a share of epsilon {epsilon!r}")

    def answer(self, mechanism: Any, sealed: Any, **options: Any) -> Any:
        """The noisy sum, or with ``select="smallest"`` or ``"largest"`` the chosen index."""
        select = options.pop("select", None)
        if select is None:
            return mechanism.release(sealed, **options)
        return mechanism.select(sealed, largest=select == "largest", **options)
