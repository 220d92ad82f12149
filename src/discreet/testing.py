"""For tests of private code: switching noise off."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from discreet.randomness import _disable_noise

__all__ = ["EXPECTED_FAILED_CHECKS", "without_privacy"]

_REPETITION = (
    "a row of weight k is one person with a weight, capped at 1, and not k persons: repeating a row changes the public "
    "number of rows and everybody's share of the noise"
)
_CHECKS = {
    "check_sample_weight_equivalence_on_dense_data": _REPETITION,
    "check_sample_weight_equivalence_on_sparse_data": _REPETITION,
}

# Estimator -> {check of scikit-learn: why it can't hold}; give it to ``check_estimator(expected_failed_checks=...)``.
EXPECTED_FAILED_CHECKS: dict[str, dict[str, str]] = {
    name: dict(_CHECKS)
    for name in (
        "HuberRegressor",
        "LinearRegression",
        "LinearSVC",
        "LogisticRegression",
        "PoissonRegressor",
        "QuantileRegressor",
    )
}


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
