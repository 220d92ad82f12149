"""Newton's method with a certificate, and gradient steps with a theorem, for the curator's minimiser."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.curator.objective import Objective

__all__ = ["fallback", "newton"]

Floats = NDArray[np.float64]

NEWTON_STEPS = 100  # public; each certificate is tried only when the float gradient says that it should hold
DIRECT_SIZE = 2000  # up to this many weights the Hessian is formed


def newton(objective: Objective, tau: float, composite: Any) -> tuple[Floats, bool]:
    """Newton steps from zero until the certificate holds; whether it does."""
    direct = objective.outputs == 1 and objective.size <= DIRECT_SIZE
    return _direct(objective, tau) if direct and composite is None else _general(objective, tau, composite, direct)


def _direct(objective: Objective, tau: float) -> tuple[Floats, bool]:
    """With the Hessian formed, and used again for as long as its steps divide the gradient's norm by eight."""
    theta, margins = np.zeros(objective.size), np.zeros(objective.n)
    gradient = objective.gradient(theta, margins)
    best, stalled = math.inf, 0
    for _ in range(NEWTON_STEPS):
        size = float(np.linalg.norm(gradient))
        stalled, best = stalled + 1 if size > best / 2 else 0, min(best, size)
        if stalled >= 20 or not math.isfinite(size):
            break
        solve = objective.solver(objective.hessian(margins))
        drop = 0.0
        while drop <= 1 / 8:
            if size <= 8 * tau or stalled >= 3:
                theta, proved = _refine(objective, theta, solve, tau)
                if proved:
                    return theta, True
                margins = objective.margins(theta)
                gradient = objective.gradient(theta, margins)
                break
            direction = solve(gradient)
            if not np.isfinite(direction).all():
                return theta, False
            there = np.empty_like(margins)
            ahead = objective.gradient(theta + direction, keep=there)
            if ahead @ direction > -0.1 * float(gradient @ direction):  # too far: the objective rises again
                change = there - margins
                step = _line_search(objective, theta, margins, direction, change, None)
                theta, margins = theta + step * direction, margins + step * change
                gradient = objective.gradient(theta, margins)
                break
            theta, margins, gradient = theta + direction, there, ahead
            drop, size = float(np.linalg.norm(gradient)) / size, float(np.linalg.norm(gradient))
    return theta, False


def _refine(objective: Objective, theta: Floats, solve: Any, tau: float) -> tuple[Floats, bool]:
    """Steps with a known Hessian and certified gradients, until proved, or no longer halved."""
    size = math.inf
    for _ in range(6):
        gradient, error = objective.certified(theta)
        if _norm_up(gradient) + error <= tau:
            return theta, True
        now = float(np.linalg.norm(gradient))
        if not now <= size / 2:
            break
        size = now
        theta = theta + solve(gradient)
    return theta, False


def _general(objective: Objective, tau: float, composite: Any, direct: bool) -> tuple[Floats, bool]:
    """With a composite term (a model of it is minimised at each step), or by conjugate gradients."""
    theta = np.zeros(objective.size)
    if composite is not None:
        theta = np.asarray(composite.prox(theta, 1.0))
    margins = objective.margins(theta)
    stalled, best = 0, math.inf
    for _ in range(NEWTON_STEPS):
        gradient = objective.gradient(theta, margins)
        size = _distance(objective, theta, gradient, composite)
        if size <= tau / 4 or stalled >= 3:
            final, proved = certify(objective, theta, tau, composite)
            if proved:
                return final, True
        stalled = stalled + 1 if size > best / 2 else 0
        best = min(best, size)
        if stalled >= 20 or not math.isfinite(size) or (composite is not None and not direct):
            break
        if composite is not None:
            hessian = objective.hessian(margins)
            direction = _model_minimiser(objective, theta, gradient, hessian, composite) - theta
        else:
            direction = _conjugate_gradients(objective, margins, gradient)
        change = objective.margins(direction)
        step = _line_search(objective, theta, margins, direction, change, composite)
        theta = theta + step * direction
        # sums of changes lose their last digits
        margins = objective.margins(theta) if size <= 100 * tau else margins + step * change
    return theta, False


def _norm_up(v: Floats) -> float:
    """The l2 norm, rounded up."""
    return float(np.linalg.norm(v)) * (1 + (v.size + 8) * 2.0**-52)


def _distance(objective: Objective, theta: Floats, gradient: Floats, composite: Any) -> float:
    """The norm that has to come down: of the gradient, or of the step that the prox takes, scaled."""
    if composite is None:
        return float(np.linalg.norm(gradient))
    step = 1.0 / objective.smoothness
    moved = np.asarray(composite.prox(theta - step * gradient, step))
    return float(np.linalg.norm(theta - moved)) / step


def certify(objective: Objective, theta: Floats, tau: float, composite: Any) -> tuple[Floats, bool]:
    """A point near `theta` and whether its subgradient is proved to be at most `tau` in norm."""
    gradient, error = objective.certified(theta)
    if composite is None:
        return theta, _norm_up(gradient) + error <= tau
    # v = M (theta - moved) + gradient(moved) - gradient(theta) is a subgradient of the whole objective at `moved`
    m = objective.smoothness
    moved = np.asarray(composite.prox(theta - gradient / m, 1.0 / m))
    there, error_there = objective.certified(moved)
    v = m * (theta - moved) + there - gradient
    slack = error + error_there
    slack += 2.0**-44 * m * float(np.linalg.norm(moved))  # the prox itself, to a few roundings
    return moved, _norm_up(v) + slack <= tau


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


def fallback(objective: Objective, tau: float, composite: Any) -> Floats:
    """Two phases with public numbers of steps, either of which ends early once certified.

    Nesterov's steps come near; then plain gradient steps of one over the smoothness M, each of which takes the distance
    to the minimum to at most ``(1 - lambda / M)`` of it plus ``E / M`` for gradients within E of the truth.  As
    ``E <= tau / 2``, the distance ends below ``tau / lambda`` (proofs/minimise.md).
    """
    start = np.zeros(objective.size)
    if composite is not None:
        start = np.asarray(composite.prox(start, 1.0))
    weakest, m = objective.quadratic.weakest, objective.public_smoothness
    gradient, error = objective.certified(start)
    size = _norm_up(gradient) + error  # lambda times the distance, at most: the set's cone and the penalty's hold 0
    near, proved = _accelerated(objective, tau, composite, start, size)
    if proved:
        return near
    x = near if _certified_size(objective, near, composite) <= size else start
    farthest = max(_public_size(objective, start), size)
    steps = math.ceil(m / weakest * math.log(max(2 * farthest / tau, 2.0))) + 1
    for k in range(steps):
        gradient, _ = objective.certified(x)
        x = x - gradient / m
        if composite is not None:
            x = np.asarray(composite.prox(x, 1.0 / m))
        if k % 50 == 49:
            final, proved = certify(objective, x, tau, composite)
            if proved:
                return final
    return x


def _public_size(objective: Objective, start: Floats) -> float:
    """What the gradient at the start can be, from public numbers and the perturbation, for a loss of bounded slope."""
    lipschitz, row = float(objective.loss.lipschitz), objective.curator.row_norm
    if not math.isfinite(lipschitz):
        return 0.0
    return objective.n * float(objective.curator.bounds.weight) * lipschitz * row + _norm_up(objective.smooth(start))


def _certified_size(objective: Objective, x: Floats, composite: Any) -> float:
    """A bound on lambda times the distance from the minimum."""
    gradient, error = objective.certified(x)
    if composite is None:
        return _norm_up(gradient) + error
    m = objective.smoothness
    moved = np.asarray(composite.prox(x - gradient / m, 1.0 / m))
    # the subgradient at `moved` is at most 2 M |x - moved| + 2 E, and `x` is |x - moved| further away
    return (2 * m + objective.quadratic.weakest) * _norm_up(x - moved) + 2 * error


def _accelerated(objective: Objective, tau: float, composite: Any, start: Floats, size: float) -> tuple[Floats, bool]:
    """Nesterov's method for as many steps as exact gradients would need (Schmidt, Le Roux and Bach, 2011, Prop. 4)."""
    weakest, m = objective.quadratic.weakest, objective.public_smoothness
    q, sharp = math.sqrt(weakest / m), objective.smoothness  # the rows' own smoothness is no larger
    faster = math.sqrt(min(weakest / sharp, 1.0))
    farthest = max(_public_size(objective, start), size)
    x = z = start
    for k in range(math.ceil(2 / q * math.log(max(4 * farthest / (q * tau), 2.0))) + 1):
        new = z - objective.gradient(z) / sharp
        if composite is not None:
            new = np.asarray(composite.prox(new, 1.0 / sharp))
        z = new + (1 - faster) / (1 + faster) * (new - x)
        x = new
        if k % 50 == 49:
            final, proved = certify(objective, x, tau, composite)
            if proved:
                return final, True
    return x, False
