r"""Amplification by iteration: when only the last iterate of noisy gradient descent is released.

If nobody sees the way, each step's noise also hides the steps before it.  For
:math:`w \leftarrow \Pi(w - \eta(\nabla F(w) + N(0, \sigma^2 I)))` with a gradient that a row can move by at most s, and
a step that contracts distances by c, the release is :math:`\mu`-GDP with a :math:`\mu` that stops growing with the
number of steps (Bok, Su and Altschuler, 2024).  The conditions are easy to break and can't be seen from a plan, so
they have to be stated, one by one, in :class:`Conditions`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from discreet.accounting.events import positive
from discreet.privacy import PrivacyError

__all__ = ["Conditions", "contraction", "cyclic_mu", "last_iterate_mu"]


@dataclass(frozen=True)
class Conditions:
    """What must be true of the run; each is False until somebody says otherwise.

    Parameters
    ----------
    only_last_iterate : bool
        Nothing but the last iterate leaves: no averages, no traces, no validation scores along the way.
    convex_smooth_records : bool
        Every row's loss is convex and smooth *after* clipping.  Clipping a gradient vector destroys this; clipping
        the derivative of a generalised linear loss does not.
    constant_step : bool
        Step size and noise are the same in every step, and fixed in advance.
    fixed_length : bool
        The number of steps does not depend on the data.
    full_batch : bool
        Every step uses all rows (or all rows of its turn, for :func:`cyclic_mu`), not a random sample.

    Examples
    --------
    >>> Conditions(only_last_iterate=True).broken()
    ['convex_smooth_records', 'constant_step', 'fixed_length', 'full_batch']
    """

    only_last_iterate: bool = False
    convex_smooth_records: bool = False
    constant_step: bool = False
    fixed_length: bool = False
    full_batch: bool = False

    def broken(self) -> list[str]:
        """Names of the conditions that don't hold."""
        return [f.name for f in fields(self) if getattr(self, f.name) is not True]

    def check(self) -> None:
        """Refuse unless all of them hold."""
        if self.broken():
            raise PrivacyError(
                f"the last-iterate bound needs {', '.join(self.broken())}; charge every step instead "
                "(repeat(GaussianDpEvent(...), n_steps))"
            )


def contraction(step_size: float, smoothness: float, strong_convexity: float = 0.0) -> float:
    r"""How much a gradient step shrinks distances: :math:`\max(|1-\eta m|, |1-\eta\beta|)`, for eta at most 2/beta.

    >>> contraction(0.5, smoothness=2.0, strong_convexity=0.2)
    0.9
    """
    eta, beta = positive(step_size, "step_size"), positive(smoothness, "smoothness")
    m = positive(strong_convexity, "strong_convexity", zero=True)
    if m > beta:
        raise ValueError(f"strong_convexity={m} can't be above smoothness={beta}")
    if eta * beta > 2:
        raise PrivacyError(
            f"step_size={eta:g} is above 2 / smoothness = {2 / beta:g}: the step does not contract, and the bound fails"
        )
    return max(abs(1 - eta * m), abs(1 - eta * beta))


def last_iterate_mu(
    n_steps: int,
    noise_multiplier: float,
    *,
    conditions: Conditions,
    step_size: float,
    smoothness: float,
    sensitivity: float,
    strong_convexity: float = 0.0,
    diameter: float = math.inf,
) -> float:
    r"""The mu of releasing only the last iterate of full-batch noisy gradient descent.

    Parameters
    ----------
    n_steps : int
        How many steps.
    noise_multiplier : float
        Noise of a step over the sensitivity of the gradient sum.
    conditions : Conditions
        What is true of the run; refused unless all of it holds.
    step_size, smoothness, strong_convexity : float
        Of the objective as a sum over rows.
    sensitivity : float
        How far a row can move the gradient sum, in the units of ``diameter / step_size``.
    diameter : float, default=inf
        Of the set that every iterate is projected onto.

    Returns
    -------
    float
        Never more than ``sqrt(n_steps) / noise_multiplier``, the price of all the steps.

    Notes
    -----
    *Privacy.* Guarantee: mu-GDP.  Neighbours: those of `sensitivity`.  Public: every argument.
    Bounded by: shifted composition, the best of the start and of every later step.  Proof: ``proofs/iteration.md``.

    Examples
    --------
    >>> every = Conditions(True, True, True, True, True)
    >>> short, long = (last_iterate_mu(n, 10.0, conditions=every, step_size=0.1, smoothness=1.0, sensitivity=1.0,
    ...                                strong_convexity=0.5) for n in (10, 10_000))
    >>> round(short, 3), round(long, 3)
    (0.313, 0.624)
    """
    conditions.check()
    if n_steps < 0:
        raise ValueError(f"n_steps={n_steps} must not be negative")
    z, s = positive(noise_multiplier, "noise_multiplier"), positive(sensitivity, "sensitivity")
    c = contraction(step_size, smoothness, strong_convexity)
    if n_steps == 0:
        return 0.0
    best = _from_start(n_steps, c) / z
    if math.isfinite(diameter):
        away = positive(diameter, "diameter") / step_size / s  # in units of the sensitivity
        # in K the bound falls and then rises; beyond the point where a step adds more than it hides, stop looking
        for k in range(1, n_steps + 1):
            value = _from_distance(k, c, away) / z
            if value > 2 * best and k > away:
                break
            best = min(best, value)
    return best * (1 + 1e-12)


def _from_start(t: int, c: float) -> float:
    """Same start: sqrt((1 - c^T)/(1 + c^T) (1 + c)/(1 - c)), which is sqrt(T) at c = 1."""
    if c >= 1:
        return math.sqrt(t)
    power = c**t
    return math.sqrt((1 - power) / (1 + power) * (1 + c) / (1 - c))


def _from_distance(k: int, c: float, away: float) -> float:
    """K steps before the end at distance `away`: the shift to be hidden over the norm of the weights that hide it."""
    if c >= 1:
        return (away + k) / math.sqrt(k)
    power = c**k
    return (power * away + (1 - power) / (1 - c)) * math.sqrt((1 - c * c) / (1 - power * power))


def cyclic_mu(
    n_epochs: int,
    n_batches: int,
    noise_multiplier: float,
    *,
    conditions: Conditions,
    step_size: float,
    smoothness: float,
    strong_convexity: float,
) -> float:
    r"""The mu of the last iterate when disjoint batches take turns in a fixed order; strongly convex losses.

    With l batches and E epochs: :math:`\mu^2 = \frac{1}{z^2}\left(1 + c^{2l-2}\frac{1-c^2}{(1-c^l)^2}\cdot
    \frac{1-c^{l(E-1)}}{1+c^{l(E-1)}}\right)`; the row in the last batch, which the noise of one step hides, is worst.

    Notes
    -----
    *Privacy.* Guarantee: mu-GDP.  Neighbours: those of the noise multiplier; batches are assigned without looking at
    other rows.  Public: every argument.  Bounded by: shifted composition, and never above sqrt(E) / z.
    Proof: ``proofs/iteration.md``.

    Examples
    --------
    >>> every = Conditions(True, True, True, True, True)
    >>> round(cyclic_mu(100, 20, 10.0, conditions=every, step_size=0.1, smoothness=1.0, strong_convexity=0.5), 4)
    0.1017
    """
    conditions.check()
    if n_epochs < 1 or n_batches < 1:
        raise ValueError(f"n_epochs={n_epochs} and n_batches={n_batches} must be at least 1")
    z = positive(noise_multiplier, "noise_multiplier")
    c = contraction(step_size, smoothness, positive(strong_convexity, "strong_convexity"))
    if c >= 1:
        return math.sqrt(n_epochs) / z
    turn, rest = c**n_batches, c ** (n_batches * (n_epochs - 1))
    square = 1 + c ** (2 * n_batches - 2) * (1 - c * c) / (1 - turn) ** 2 * (1 - rest) / (1 + rest)
    return min(math.sqrt(square), math.sqrt(n_epochs)) / z * (1 + 1e-12)
