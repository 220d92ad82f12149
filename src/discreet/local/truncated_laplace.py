"""The lecture's local mean: truncation and Laplace noise, with its constant put right."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.local.base import Ints, real_numbers
from discreet.local.scalars import ScalarRandomizer
from discreet.privacy import PrivacyError
from discreet.randomness import Source

if TYPE_CHECKING:
    from discreet.accounting.shuffling import Variation

__all__ = ["TruncatedLaplace", "lecture_bound"]


def lecture_bound(n: int, mean_bound: float = 1.0, deviation: float = 1.0) -> float:
    """A bound that n draws of N(mu, deviation**2) with ``|mu| <= mean_bound`` stay below, but for probability 1/n.

    The lecture's ``sqrt(log n)`` is too small (``docs/errata.md``): it leaves out the mean and a factor sqrt(2).

    >>> round(lecture_bound(1000), 2)
    6.39
    """
    return mean_bound + deviation * math.sqrt(2 * math.log(2 * max(n, 2) * max(n, 2)))


@dataclass(frozen=True)
class TruncatedLaplace(ScalarRandomizer):
    """The lecture's local mean: truncate to the bounds, add Laplace noise of scale (length of the bounds) / epsilon.

    Parameters
    ----------
    epsilon : float
        The local promise.
    bounds : (float, float)
        Public bounds [low, high]; for a Gaussian see :func:`lecture_bound`.
    outside : {"clip", "zero"}
        A value outside moves to the nearer bound, or (the lecture's indicator) to zero, which must lie inside.
    scale : {"correct", "as_published"}
        The lecture prints the scale B / epsilon for the bounds [-B, B].  That is 2 epsilon-private, and refused.

    Notes
    -----
    *Privacy.* Guarantee: epsilon-local differential privacy, exact (discrete Laplace noise, then a public clamp far
    out).  Neighbours: replace-one.  Public: all parameters.  Bounded by: two grid values are at most ``2 grid`` apart.
    Proof: ``proofs/local.md``.

    Examples
    --------
    >>> lecture = TruncatedLaplace(1.0, (-3, 3), outside="zero")
    >>> lecture.noise_scale * lecture.worth  # the length of the bounds over epsilon
    6.0
    """

    outside: str = "clip"
    scale: str = "correct"

    name: ClassVar[str] = "laplace"
    code: ClassVar[int] = 5

    def check(self) -> None:
        super().check()
        if self.outside not in ("clip", "zero"):
            raise ValueError(f"outside={self.outside!r} is not one of 'clip', 'zero'")
        if self.outside == "zero" and not self.bounds[0] <= 0 <= self.bounds[1]:
            raise ValueError(f"outside='zero' needs bounds around zero, not {self.bounds!r}")
        if self.scale == "as_published":
            raise PrivacyError("scale='as_published' promises 2 epsilon on [-B, B]; use scale='correct'")
        if self.scale != "correct":
            raise ValueError(f"scale={self.scale!r} is not one of 'correct', 'as_published'")
        if self.noise_scale > 1e12:
            raise ValueError(f"epsilon={self.epsilon!r} asks for noise beyond 10**12 grid steps; use a coarser grid")

    def parameters(self) -> dict[str, str]:
        return {**super().parameters(), "outside": self.outside}

    @property
    def noise_scale(self) -> float:
        """The scale of the noise in grid steps, rounded up."""
        exact_scale = Fraction(2 * self.grid) / self.budget
        scale = float(exact_scale)
        return scale if Fraction(scale) >= exact_scale else math.nextafter(scale, math.inf)

    @cached_property
    def clamp(self) -> int:
        """Messages end here: beyond 45 noise scales from any value, which happens with probability exp(-45)."""
        return self.grid + math.ceil(45 * self.noise_scale)

    @property
    def alphabet(self) -> tuple[int, int, int]:
        return -self.clamp, self.clamp, 1

    @property
    def worth(self) -> float:
        return self.half / self.grid

    def on_grid(self, values: ArrayLike, source: Source) -> Ints:
        if self.outside == "zero":
            raw = real_numbers(values, 1)
            values = np.where((raw < self.bounds[0]) | (raw > self.bounds[1]), 0.0, raw)
        return super().on_grid(values, source)

    def from_grid(self, whole: Ints, source: Source) -> Ints:
        from discreet.mechanisms.exact import sampler

        noise = sampler("laplace", self.noise_scale, discrete=True).draw(source, len(whole))
        return np.asarray(np.clip(whole + noise, -self.clamp, self.clamp)[:, None], dtype=np.int64)

    @property
    def variation(self) -> Variation:
        from discreet.accounting.shuffling import Variation

        return Variation.laplace(float(self.epsilon))
