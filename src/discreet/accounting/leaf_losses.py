r"""Loss distributions of single mechanisms, in closed form where there is one.

Masses of cells of the loss are computed as masses of cells of the output, from distribution functions in whichever
tail is small, with upper bounds under P and lower bounds under Q: accurate and on the private side in the far tail too.
"""

from __future__ import annotations

import math

import numpy as np
from dp_accounting import dp_event
from dp_accounting.pld import privacy_loss_distribution as library
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from discreet.accounting.events import Direction
from discreet.accounting.pmf import LossPmf

__all__ = [
    "discrete_laplace",
    "gaussian",
    "laplace",
    "randomized_response",
    "replaced_gaussian",
    "sampled",
    "sampled_gaussian",
    "tabulated",
]

Floats = NDArray[np.float64]
_NDTR_ERROR = 2e-15  # relative error of scipy's normal distribution function, with room


def _normal_mass(edges: Floats) -> tuple[Floats, Floats]:
    """Upper and lower bounds on the standard normal mass between consecutive edges, accurate in both tails."""
    low, high = edges[:-1], edges[1:]
    flip = low > 0
    far, near = np.where(flip, -high, low), np.where(flip, -low, high)
    big, small = ndtr(near), ndtr(far)
    error = _NDTR_ERROR * (big + small)
    return big - small + error, np.maximum(big - small - error, 0.0)


def gaussian(mu: float, step: float, tail: float) -> LossPmf:
    """The loss is N(mu^2/2, mu^2) under P and N(-mu^2/2, mu^2) under Q, in both directions."""
    reach = -float(ndtri(max(tail, 1e-300))) + 1
    first = math.floor((mu * mu / 2 - mu * reach) / step)
    last = math.ceil((mu * mu / 2 + mu * reach) / step)
    z = np.arange(first, last + 1, dtype=np.float64) * step / mu
    p, q = _normal_mass(z - mu / 2)[0], _normal_mass(z + mu / 2)[1]
    p[0] += float(ndtr(z[0] - mu / 2)) * (1 + _NDTR_ERROR)  # what lies below the grid counts as lying in its first cell
    return LossPmf.from_cells(p, q, step, first, float(ndtr(mu / 2 - z[-1])) * (1 + _NDTR_ERROR))


def sampled_gaussian(q: float, mu: float, direction: Direction, step: float, tail: float) -> LossPmf:
    """P = (1 - q) N(0, 1) + q N(mu, 1) against N(0, 1), or the other way round; the loss is monotone in the output."""
    reach = -float(ndtri(max(tail, 1e-300))) + 1
    sign = 1.0 if direction == "remove" else -1.0
    ends = [sign * _sampled_loss(q, mu, x) for x in (-reach, mu + reach)]
    first, last = math.floor(min(ends) / step), math.ceil(max(ends) / step)
    losses = sign * np.arange(first, last + 1) * step  # of the mixture against N(0, 1)
    # log(1 - q + q e^(mu x - mu^2/2)) = loss, solved for x
    ratio = (np.expm1(losses) + q) / q
    x = np.full(losses.size, -math.inf)
    inside = ratio > 0
    x[inside] = np.log(ratio[inside]) / mu + mu / 2
    x = x if sign > 0 else x[::-1]
    blank, blank_low = _normal_mass(x)
    shifted, shifted_low = _normal_mass(x - mu)
    mixed, mixed_low = (1 - q) * blank + q * shifted, (1 - q) * blank_low + q * shifted_low
    below = float(ndtr(x[0])), float(ndtr(x[0] - mu))
    above = float(ndtr(-x[-1])), float(ndtr(mu - x[-1]))
    grow = 1 + 2 * _NDTR_ERROR
    if sign > 0:
        mixed[0] += ((1 - q) * below[0] + q * below[1]) * grow
        return LossPmf.from_cells(mixed, blank_low, step, first, ((1 - q) * above[0] + q * above[1]) * grow)
    p, lower = blank[::-1].copy(), mixed_low[::-1]
    p[0] += above[0] * grow
    return LossPmf.from_cells(p, lower, step, first, below[0] * grow)


def replaced_gaussian(q: float, m: float, step: float, tail: float) -> LossPmf:
    """(1 - q) N(0, 1) + q N(m, 1) against (1 - q) N(0, 1) + q N(-m, 1), the same in both directions.

    The loss is increasing in the output x and odd.  With A = 1 - q, B = q e^(-m^2/2) and w = e^(m x), it is
    ``log((A + B w) / (A + B / w))``: a quadratic equation in w gives the edges of its cells.
    """
    reach = -float(ndtri(max(tail, 1e-300))) + 1
    a, b = 1 - q, q * math.exp(-m * m / 2)
    log_a, log_b, exponent = math.log(a) if a else -math.inf, math.log(b), m * (m + reach)
    top = math.ceil(float(np.logaddexp(log_a, log_b + exponent) - np.logaddexp(log_a, log_b - exponent)) / step)
    loss = np.arange(1, top + 1, dtype=np.float64) * step
    high = (
        loss + np.log((a * -np.expm1(-loss) + np.hypot(a * np.expm1(-loss), 2 * b * np.exp(-loss / 2))) / (2 * b))
    ) / m
    x = np.concatenate([-high[::-1], [0.0], high])
    masses = [_normal_mass(x - centre) for centre in (0.0, m, -m)]
    p = (1 - q) * masses[0][0] + q * masses[1][0]
    lower = ((1 - q) * masses[0][1] + q * masses[2][1]) * (1 - 1e-14)
    p[0] += float(ndtr(x[0])) * (1 + _NDTR_ERROR)
    above = ((1 - q) * float(ndtr(-x[-1])) + q * float(ndtr(m - x[-1]))) * (1 + _NDTR_ERROR)
    return LossPmf.from_cells(p, lower, step, -top, above)


def _sampled_loss(q: float, mu: float, x: float) -> float:
    return float(np.logaddexp(math.log1p(-q) if q < 1 else -math.inf, math.log(q) + mu * x - mu * mu / 2))


def laplace(eps: float, step: float) -> LossPmf:
    """Atoms at +-eps, and in between density e^((loss - eps)/2) / 4 under P and e^(-(loss + eps)/2) / 4 under Q."""
    first, last = math.floor(-eps / step), math.ceil(eps / step)
    edges = np.clip(np.arange(first, last + 1) * step, -eps, eps)
    widths = np.diff(edges)
    p = 0.5 * np.exp((edges[:-1] - eps) / 2) * np.expm1(widths / 2)
    q = 0.5 * np.exp(-(edges[1:] + eps) / 2) * np.expm1(widths / 2)
    body = LossPmf.from_cells(p * (1 + 1e-14), q * (1 - 1e-14), step, first, 0.0)
    atoms = LossPmf.from_atoms(np.array([-eps, eps]), np.array([math.exp(-eps) / 2, 0.5]), step)
    return _sum(body, atoms)


def _sum(one: LossPmf, other: LossPmf) -> LossPmf:
    low = min(one.lowest, other.lowest)
    high = max(one.lowest + one.mass.size, other.lowest + other.mass.size)
    mass = np.zeros(high - low)
    for pmf in (one, other):
        mass[pmf.lowest - low : pmf.lowest - low + pmf.mass.size] += pmf.mass
    return LossPmf(one.step, low, mass, one.infinity + other.infinity)


def discrete_laplace(a: float, sensitivity: int, step: float) -> LossPmf:
    """Losses a (sensitivity - 2 k), k = 0 ... sensitivity."""
    k = np.arange(sensitivity + 1, dtype=np.float64)
    p = math.tanh(a / 2) * np.exp(-a * k)
    p[0], p[-1] = 1 / (1 + math.exp(-a)), math.exp(-a * sensitivity) / (1 + math.exp(-a))
    return LossPmf.from_atoms(a * (sensitivity - 2.0 * k), p * (1 + 1e-15), step)


def randomized_response(noise: float, buckets: int, step: float) -> LossPmf:
    """The worst of all relations: one true bucket against another (mixtures of which cover a blank row)."""
    if buckets == 1 or noise == 1:
        return LossPmf.from_atoms(np.zeros(1), np.ones(1), step)
    lie = noise / buckets
    truth = 1 - noise + lie
    loss = math.log(truth / lie)
    return LossPmf.from_atoms(np.array([-loss, 0.0, loss]), np.array([lie, (buckets - 2) * lie, truth]), step)


def sampled(pmf: LossPmf, q: float, direction: Direction) -> LossPmf:
    """Poisson subsampling of any pair, under add/remove (Zhu, Dong and Wang, 2022, Theorem 11).

    Removing compares ``(1 - q) Q + q P`` with Q, adding compares P with ``(1 - q) P + q Q``.
    """
    keep = pmf.mass > 0
    p, losses = pmf.mass[keep], pmf.losses[keep]
    lower = p * np.exp(-losses)
    if direction == "remove":
        mixed = np.logaddexp(math.log1p(-q) if q < 1 else -math.inf, math.log(q) + losses)
        missing = max(0.0, 1 - float(lower.sum()))  # Q where P has nothing: loss log(1 - q)
        masses = np.append((1 - q) * lower + q * p, (1 - q) * missing)
        at = np.append(mixed, math.log1p(-q) if q < 1 else 0.0)
        return LossPmf.from_atoms(at, masses * (1 + 1e-13), pmf.step, q * pmf.infinity)
    mixed = -np.logaddexp(math.log1p(-q) if q < 1 else -math.inf, math.log(q) - losses)
    if q == 1 or pmf.infinity == 0:
        return LossPmf.from_atoms(mixed, p * (1 + 1e-13), pmf.step, pmf.infinity)
    return LossPmf.from_atoms(
        np.append(mixed, -math.log1p(-q)), np.append(p, pmf.infinity) * (1 + 1e-13), pmf.step, 0.0
    )


def tabulated(leaf: dp_event.DpEvent, step: float, tail: float) -> LossPmf:
    """Tabulate the library's own divergences (the larger of its two directions) of an event used once."""
    if isinstance(leaf, dp_event.MixtureOfGaussiansDpEvent):
        single = library.from_mixture_gaussian_mechanism(
            leaf.standard_deviation, leaf.sensitivities, leaf.sampling_probs, value_discretization_interval=step
        )
    else:
        single = library.from_truncated_subsampled_gaussian_mechanism(
            leaf.dataset_size, leaf.sampling_probability, leaf.truncated_batch_size, leaf.noise_multiplier,
            value_discretization_interval=step,
        )  # fmt: skip
    high = 16 * step
    while high < 200 and float(single.get_delta_for_epsilon(high)) > max(tail, 1e-20):
        high *= 1.3
    # its sums run over a grid of losses in floating point: allow for that
    return LossPmf.from_profile(
        lambda e: np.asarray(single.get_delta_for_epsilon(e)) * (1 + 1e-9) + 1e-16, step, -high, high
    )
