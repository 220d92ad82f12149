"""The linear term of a perturbed objective: Gaussian noise that stays sealed, and the event of the minimum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.mechanisms.base import Mechanism, positive_noise
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.k_norm import KNorm
from discreet.privacy import Sealed

if TYPE_CHECKING:
    from dp_accounting import dp_event

__all__ = ["Perturbation", "PurePerturbation"]

GRID_BITS = 39  # sigma is this many bits above the grid of the noise


@dataclass(frozen=True)
class Perturbation(Mechanism):
    """Draws ``b`` with standard deviation `sigma`, on a far finer grid, and never shows it.

    The rounding of ``b`` to its grid changes the gradient of the objective by at most half a grid unit in each
    coordinate, which the curator's tolerance has to cover: see ``proofs/objective_perturbation.md``.

    Parameters
    ----------
    sigma : float
        Standard deviation of each coordinate.
    price : DpEvent
        The event of one release of the minimum that ``b`` perturbs.
    source : Source
        Where random words come from.

    Notes
    -----
    *Privacy.* Guarantee: none by itself; the minimum has the event `price`.  Neighbours: those of `price`.
    Public: `sigma`.  Bounded by: the row norm, slope and ridge that `price` was computed from.
    Proof: ``proofs/objective_perturbation.md``.

    Examples
    --------
    >>> from dp_accounting import dp_event
    >>> Perturbation(4.2, dp_event.GaussianDpEvent(4.2)).draw(3)
    <Sealed: contents withheld>
    """

    sigma: float
    price: dp_event.DpEvent

    def check(self) -> None:
        """Refuse noise that is none."""
        positive_noise("sigma", self.sigma)

    @property
    def event(self) -> Any:
        """The event of the perturbed minimum."""
        return self.price

    @property
    def size(self) -> float:
        """`sigma`."""
        return self.sigma

    @property
    def unit(self) -> Fraction:
        """The grid of the noise: a drawn coordinate is within half of it of an exactly normal one."""
        return Fraction(2) ** (math.frexp(self.sigma)[1] - GRID_BITS)

    def draw(self, shape: int | tuple[int, ...]) -> Sealed:
        """The sealed linear term."""
        self.check()
        unit = self.unit
        return Gaussian.sealed_noise(shape, float(Fraction(self.sigma) / unit), unit, self.source)


@dataclass(frozen=True)
class PurePerturbation(Mechanism):
    """Draws ``b`` of density proportional to ``exp(-|b| / scale)``, on a far finer grid, and never shows it.

    Parameters
    ----------
    scale : float
        The scale of the length of ``b``, whose law is Gamma with as many degrees as there are coordinates.
    price : DpEvent
        The event of one release of the minimum that ``b`` perturbs.
    source : Source
        Where random words come from.

    Notes
    -----
    *Privacy.* Guarantee: none by itself; the minimum has the event `price`.  Neighbours: those of `price`.
    Public: `scale`.  Bounded by: the row norm, slope and ridge that `price` was computed from.
    Proof: ``proofs/objective_perturbation.md``, section 10.

    Examples
    --------
    >>> from dp_accounting import dp_event
    >>> PurePerturbation(2.0, dp_event.NoOpDpEvent()).draw(3)
    <Sealed: contents withheld>
    """

    scale: float
    price: dp_event.DpEvent

    def check(self) -> None:
        """Refuse noise that is none."""
        positive_noise("scale", self.scale)

    @property
    def event(self) -> Any:
        """The event of the perturbed minimum."""
        return self.price

    @property
    def size(self) -> float:
        """`scale`."""
        return self.scale

    @property
    def unit(self) -> Fraction:
        """The grid of the noise."""
        return Fraction(2) ** (math.frexp(self.scale)[1] - GRID_BITS)

    def draw(self, shape: int | tuple[int, ...]) -> Sealed:
        """The sealed linear term."""
        self.check()
        unit = self.unit
        return KNorm.sealed_noise(shape, float(Fraction(self.scale) / unit), unit, self.source)
