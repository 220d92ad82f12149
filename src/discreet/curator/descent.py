"""Newton's method with a certificate, and accelerated gradient steps with a theorem, for the curator's minimiser."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.curator.objective import Objective

__all__ = ["accelerated", "newton"]

Floats = NDArray[np.float64]

NEWTON_STEPS = 100  # public; each certificate is tried only when the float gradient says that it should hold
DIRECT_SIZE = 2000  # up to this many weights the Hessian is formed


def newton(objective: Objective, tau: float, composite: Any) -> tuple[Floats, bool]:
    """Newton steps from zero until the certificate holds; whether it does."""
    theta = np.zeros(objective.size)
    if composite is not None:
        theta = np.asarray(composite.prox(theta, 1.0))
    direct = objective.outputs == 1 and objective.size <= DIRECT_SIZE
    margins = objective.margins(theta)
    stalled, best = 0, math.inf
    for _ in range(NEWTON_STEPS):
        hessian = None
        if direct:
            gradient, hessian = objective.newton_system(theta, margins)
        else:
            gradient = objective.gradient(theta, margins)
        size = _distance(objective, theta, gradient, composite)
        if size <= tau / 4 or stalled >= 3:
            final, proved = certify(objective, theta, tau, composite)
            if proved:
                return final, True
        stalled = stalled + 1 if size > best / 2 else 0
        best = min(best, size)
        if stalled >= 20 or not math.isfinite(size):
            break
        if hessian is not None and composite is not None:
            target = _model_minimiser(objective, theta, gradient, hessian, composite)
            direction = target - theta
        elif hessian is not None:
            direction = objective.solve(hessian, gradient)
            if not np.isfinite(direction).all():
                break
        elif composite is not None:
            break
        else:
            direction = _conjugate_gradients(objective, margins, gradient)
        change = objective.margins(direction)
        step = _line_search(objective, theta, margins, direction, change, composite)
        theta = theta + step * direction
        margins = margins + step * change
    return theta, False


def _distance(objective: Objective, theta: Floats, gradient: Floats, composite: Any) -> float:
    """The norm that has to come down: of the gradient, or of the step that the prox takes, scaled."""
    if composite is None:
        return float(np.linalg.norm(gradient))
    step = 1.0 / objective.smoothness
    moved = np.asarray(composite.prox(theta - step * gradient, step))
    return float(np.linalg.norm(theta - moved)) / step


def certify(objective: Objective, theta: Floats, tau: float, composite: Any) -> tuple[Floats, bool]:
    """A point near `theta` and whether its subgradient is proved to be at most `tau` in norm."""
    if composite is None:
        theta = objective.on_margin_grid(theta)
        gradient, error = objective.certified(theta)
        return theta, float(np.linalg.norm(gradient)) * (1 + 1e-12) + error <= tau
    # v = M (theta - moved) + gradient(moved) - gradient(theta) is a subgradient of the whole objective at `moved`
    theta = objective.on_margin_grid(theta)
    gradient, error = objective.certified(theta)
    m = objective.smoothness
    exact = np.asarray(composite.prox(theta - gradient / m, 1.0 / m))
    moved = objective.on_margin_grid(exact)
    there, error_there = objective.certified(moved)
    v = m * (theta - moved) + there - gradient
    slack = error + error_there + 2 * m * float(np.linalg.norm(moved - exact))
    slack += 2.0**-44 * m * float(np.linalg.norm(exact))  # the prox itself, to a few roundings
    return exact, float(np.linalg.norm(v)) * (1 + 1e-12) + slack <= tau


def _line_search(
    objective: Objective, theta: Floats, margins: Floats, direction: Floats, change: Floats, composite: Any
) -> float:
    """A step at which the convex objective has come down along the direction, found by its derivative alone.

    Values of the objective would lose their digits near the minimum; derivatives don't.  With a composite term only
    the smooth part is followed, from its model's decrease.
    """
    slope_q = float(objective.quadratic.times(direction) @ direction)
    base = float(objective.smooth(theta) @ direction)

    def slope(t: float) -> float:
        return objective.directional(margins, change, t) + base + t * slope_q

    if composite is not None:
        return _composite_search(theta, direction, composite, slope)
    start = slope(0.0)
    end = slope(1.0)
    if start >= 0 or end <= -0.1 * start:
        return 1.0
    low, high, at_low, at_high = 0.0, 1.0, start, end
    for _ in range(60):
        t = low - at_low * (high - low) / (at_high - at_low)
        t = min(max(t, low + 0.05 * (high - low)), high - 0.05 * (high - low))
        here = slope(t)
        if abs(here) <= -0.1 * start:
            return t
        if here < 0:
            low, at_low = t, here
        else:
            high, at_high = t, here
    return low if low > 0 else high


def _composite_search(theta: Floats, direction: Floats, composite: Any, slope: Any) -> float:
    """Halve the step until smooth decrease (by the trapezoid of a convex slope) plus the penalty's has come down."""
    before = float(composite.value(theta))
    t = 1.0
    for _ in range(40):
        # convexity: f(t) - f(0) <= t * slope(t)
        gain = t * slope(t) + float(composite.value(theta + t * direction)) - before
        if not gain > 0:
            return t
        t *= 0.5
    return t


def _conjugate_gradients(objective: Objective, margins: Floats, gradient: Floats) -> Floats:
    """An inexact Newton direction; the residual falls with the gradient, which makes convergence superlinear."""
    curvatures = objective.curvatures(margins)
    size = float(np.linalg.norm(gradient))
    wanted = size * min(0.1, math.sqrt(size / (1.0 + size)) * 0.1)
    x, r = np.zeros_like(gradient), -gradient
    d, rr = r.copy(), float(r @ r)
    for _ in range(250):
        hd = objective.hessian_times(curvatures, d)
        alpha = rr / float(d @ hd)
        x += alpha * d
        r -= alpha * hd
        new = float(r @ r)
        if math.sqrt(new) <= wanted:
            break
        d = r + (new / rr) * d
        rr = new
    return x


def _model_minimiser(objective: Objective, theta: Floats, gradient: Floats, hessian: Floats, composite: Any) -> Floats:
    """The minimiser of the quadratic model plus the composite term, by accelerated steps that touch no row."""
    m = float(np.linalg.eigvalsh(hessian)[-1]) * (1 + 1e-9)
    q = math.sqrt(min(objective.quadratic.weakest / m, 1.0))
    momentum = (1 - q) / (1 + q)
    x, z = theta, theta
    for _ in range(5000):
        step = np.asarray(composite.prox(z - (gradient + hessian @ (z - theta)) / m, 1.0 / m))
        moved = float(np.linalg.norm(step - z))
        z = step + momentum * (step - x)
        x = step
        if moved <= 1e-13 * (1.0 + float(np.linalg.norm(x))):
            break
    return x


def accelerated(objective: Objective, tau: float, composite: Any) -> Floats:
    """Nesterov's method for as many steps as the theorem asks for from zero; stops early once certified.

    Schmidt, Le Roux and Bach (2011), Proposition 4: with gradients within E of the truth and q = sqrt(lambda / M),
    ``sqrt(J(x_k) - J*) <= (1 - q)^(k/2) sqrt(2 (J(0) - J*)) + (2 E / q) sqrt(2 / lambda)``.
    """
    weakest, m = objective.quadratic.weakest, objective.smoothness
    q = math.sqrt(weakest / m)
    x = np.zeros(objective.size)
    if composite is not None:
        x = np.asarray(composite.prox(x, 1.0))
    start = _gap(objective, x, composite)
    steps = math.ceil(2 * math.log(max(4 * math.sqrt(start * weakest) / tau, 2.0)) / -math.log1p(-min(q, 0.5))) + 1
    z = x
    for k in range(steps):
        z = objective.on_margin_grid(z)
        gradient, _ = objective.certified(z)
        moved = z - gradient / m
        new = moved if composite is None else np.asarray(composite.prox(moved, 1.0 / m))
        z = new + (1 - q) / (1 + q) * (new - x)
        x = new
        if k % 50 == 49:
            final, proved = certify(objective, x, tau, composite)
            if proved:
                return final
    return x


def _gap(objective: Objective, x: Floats, composite: Any) -> float:
    """A bound on ``J(x) - J*``: by strong convexity, ``|subgradient|^2 / (2 lambda)``."""
    gradient, error = objective.certified(objective.on_margin_grid(x))
    size = float(np.linalg.norm(gradient)) + error
    if composite is not None and not getattr(composite, "is_constraint", False):
        size += float(np.linalg.norm(np.asarray(composite.prox(x + np.ones_like(x), 1.0)) - x))
    return size * size / (2 * objective.quadratic.weakest)
