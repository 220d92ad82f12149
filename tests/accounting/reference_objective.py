"""Slow, plain versions of what the accounting of objective perturbation computes, and data to try it on."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from discreet.audit.one_dimensional import OneDimensional, random_background
from discreet.losses import LogisticLoss, PseudoHuberLoss

EPSILONS = np.array([-1.0, -0.2, 0.0, 0.1, 0.5, 1.0, 2.0, 4.0])


class SoftLogistic:
    """The logistic loss with labels anywhere in [0, 1]."""

    def derivative(self, margin, y):
        return 1 / (1 + np.exp(-np.clip(margin, -500, 500))) - y

    def curvature(self, margin, y):
        p = 1 / (1 + np.exp(-np.clip(margin, -500, 500)))
        return p * (1 - p) + 0 * y


class Linear:
    """Slope +-1 and no curvature: objective perturbation is then exactly the Gaussian mechanism."""

    def derivative(self, margin, y):
        return y + 0 * margin

    def curvature(self, margin, y):
        return 0 * (margin + y)


LOSSES = {"logistic": LogisticLoss(), "pseudo_huber": PseudoHuberLoss(), "logistic_soft": SoftLogistic()}


def curvature_of(shape, s):
    if shape == "logistic":
        return s * (1 - s)
    if shape == "pseudo_huber":
        return np.maximum(1 - s * s, 0) ** 1.5
    if shape == "logistic_soft":
        return np.where(s <= 0.5, 0.25, s * (1 - s))
    return np.ones_like(s)


def second_loss(z, mu, kappa, h, size=4001):
    """The supremum over s by a fine grid: never above the truth."""
    s = np.linspace(0, 1, size)
    base = s * s * mu * mu / 2 + np.log1p(kappa * h(s))
    return np.array([np.max(s * mu * v + base) for v in np.atleast_1d(z)])


def second_profile(mu, kappa, shape, epsilons, two_sided):
    """Direction 2 between a lower and an upper sum over Z, with a grid over s (the lower one is a true lower bound)."""
    z = np.linspace(0 if two_sided else -9, 9, 1501)
    loss = second_loss(z, mu, kappa, lambda s: curvature_of(shape, s))
    mass = (ndtr(-z[:-1]) - ndtr(-z[1:])) * (2 if two_sided else 1)
    gain = np.array([np.maximum(-np.expm1(np.minimum(e - loss, 0)), 0) for e in epsilons])
    return gain[:, :-1] @ mass, gain[:, 1:] @ mass


def configuration(rng, shape):
    """Random mu, kappa, R, a background, a record (short in four cases of ten), and the two laws."""
    mu, kappa, radius = 10 ** rng.uniform(-1.3, 0.5), 10 ** rng.uniform(-2, 2), 10 ** rng.uniform(-1, 1)
    real = shape != "logistic"
    rows = random_background(rng.random, radius, real_targets=real)
    if shape == "logistic_soft":
        rows = [(x, rng.random(), w) for x, _, w in rows]
    x = radius * (1.0 if rng.random() < 0.6 else rng.uniform(0.1, 1.0))
    y = {"logistic": rng.choice([-1.0, 1.0]), "logistic_soft": rng.random()}.get(shape, rng.normal(0, 3))
    return mu, kappa, laws(LOSSES[shape], rows, (x, y), radius / mu, radius**2 / kappa)


def laws(loss, rows, record, sigma, ridge):
    """The laws with and without the record."""
    table = np.asarray(rows, dtype=float).reshape(-1, 3)
    x, y, w = (np.append(table[:, i], v) for i, v in enumerate((*record, 1.0)))
    present = OneDimensional(loss, x, y, w, sigma, ridge)
    return present, present.without(len(x) - 1)
