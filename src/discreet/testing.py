"""For tests of private code: switching noise off."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from discreet.randomness import _disable_noise

__all__ = ["without_privacy"]


@contextlib.contextmanager
def without_privacy() -> Iterator[None]:
    """Inside this context mechanisms add no noise, and zero or infinite noise parameters are let through.

    It holds for the thread (and the asynchronous task) that entered it; threads started inside it add noise as ever.

    Notes
    -----
    *Privacy.* Guarantee: none inside the context.  Neighbours: none.  Public: nothing is protected.
    Bounded by: nothing.  Proof: none needed to see it.

    Examples
    --------
    >>> import numpy as np
    >>> from fractions import Fraction
    >>> from discreet.mechanisms import Gaussian
    >>> from discreet.privacy import Bounded, Contribution, Neighbours
    >>> secret = Bounded(np.array([42]), Contribution(l2=1), Fraction(1), Neighbours.ZERO_OUT)
    >>> with without_privacy():
    ...     Gaussian(0.0).release(secret)
    array([42.])
    """
    with _disable_noise():
        yield
