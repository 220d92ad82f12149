r"""Pure differential privacy: what it costs, what it implies.

The worst :math:`\epsilon`-private mechanism is randomised response, so everything here is read off two points.
"""

from __future__ import annotations

import math

import numpy as np
from dp_accounting import dp_event
from numpy.typing import ArrayLike, NDArray

from discreet.accounting.events import DominatedDpEvent, positive, tally

__all__ = ["epsilon_of", "rdp", "to_zcdp"]


def to_zcdp(epsilon: float) -> float:
    r"""The smallest rho for which every `epsilon`-private mechanism is rho-zCDP: :math:`\epsilon\tanh(\epsilon/2)`.

    Notes
    -----
    *Privacy.* Guarantee: rho-zCDP.  Neighbours: those of `epsilon`.  Public: `epsilon`.  Bounded by: the Renyi
    divergence of randomised response, largest relative to its order at order 1.  Proof: ``proofs/accounting.md``.

    Examples
    --------
    >>> round(to_zcdp(1.0), 6)
    0.462117
    """
    eps = positive(epsilon, "epsilon", zero=True)
    return eps * math.tanh(eps / 2) * (1 + 1e-15)


def rdp(epsilon: float, orders: ArrayLike) -> NDArray[np.float64]:
    r"""Renyi divergence of randomised response, and so a bound for every `epsilon`-private mechanism.

    With a the order: :math:`\log(\cosh((a - 1/2)\epsilon) / \cosh(\epsilon/2)) / (a - 1)`.

    >>> rdp(1.0, [2.0, 1e9]).round(6).tolist()
    [0.735326, 1.0]
    """
    a = np.asarray(orders, dtype=float)
    eps = positive(epsilon, "epsilon", zero=True)
    small = np.minimum(a * eps, 30.0) / 2
    lift = 2 * np.sinh(small) * np.sinh(np.minimum((a - 1) * eps, 30.0) / 2) / math.cosh(min(eps, 700) / 2)
    near = np.log1p(lift)
    far = np.logaddexp(a * eps, (1 - a) * eps) - np.logaddexp(0.0, eps)
    return np.asarray(np.minimum(np.where(a * eps < 30, near, far) / (a - 1) * (1 + 1e-14), eps))


def epsilon_of(event: dp_event.DpEvent) -> float:
    """The epsilon of the tree under pure differential privacy, by basic composition; infinite if a leaf has none.

    Notes
    -----
    *Privacy.* Guarantee: epsilon-DP.  Neighbours: those of the events.  Public: the events.
    Bounded by: the sum (Dwork et al., 2006).  Proof: ``proofs/composition.md``.

    Examples
    --------
    >>> epsilon_of(dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(4.0), 6))
    1.5
    """
    terms = [count * _leaf(leaf) for leaf, count in tally(event)]
    return math.fsum(terms) if all(map(math.isfinite, terms)) else math.inf


def _leaf(leaf: dp_event.DpEvent) -> float:
    if isinstance(leaf, DominatedDpEvent):
        return leaf.pure()
    if isinstance(leaf, dp_event.LaplaceDpEvent):
        return 1 / positive(leaf.noise_multiplier, "noise_multiplier") if leaf.noise_multiplier else math.inf
    if isinstance(leaf, dp_event.DiscreteLaplaceDpEvent):
        return float(leaf.noise_parameter * leaf.sensitivity)
    if isinstance(leaf, dp_event.RandomizedResponseDpEvent):
        lie = leaf.noise_parameter / leaf.num_buckets
        return math.log((1 - leaf.noise_parameter + lie) / lie) if lie and leaf.num_buckets > 1 else math.inf
    if isinstance(leaf, dp_event.PoissonSampledDpEvent):
        from discreet.accounting.subsampling import amplify

        return amplify(epsilon_of(leaf.event), 0.0, leaf.sampling_probability)[0]
    if isinstance(leaf, dp_event.RepeatAndSelectDpEvent):
        return float(2 + leaf.shape) * epsilon_of(leaf.event)  # infinite for the Poisson law, whose shape is
    return math.inf
