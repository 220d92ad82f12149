"""Laws that every constraint set and every penalty of the registry obeys."""

from __future__ import annotations

import dataclasses
import functools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet.penalties as registry
from discreet.penalties import ConstraintSet, Penalty

P = 5
rng = np.random.default_rng(11)
SETS: list[ConstraintSet] = [
    registry.L1Ball(),
    registry.L1Ball(2.5),
    registry.L2Ball(),
    registry.L2Ball(0.7),
    registry.LqBall(1.5),
    registry.LqBall(1.2, 2.0, resolution=2),
    registry.LqBall(1.8, 0.5, resolution=3),
    registry.Simplex(),
    registry.Simplex(3.0),
    registry.GroupL1Ball(),
    registry.GroupL1Ball(2, 1.5),
    registry.Box(),
    registry.Box(-0.5, 2.0),
    registry.Box((-1.0, 0.0, -2.0, 0.0, -0.25), (1.0, 1.0, 0.0, 0.5, 0.25)),
    registry.Polytope(rng.normal(0, 1, (9, P))),
    registry.Polytope(np.vstack([np.eye(P), -np.eye(P)]) * 1.5),
    registry.Polytope(np.round(rng.normal(0, 2, (4, P)))),
    registry.Sparsity(2, radius=1.5),
]
CONVEX = [c for c in SETS if c.is_convex]
PRICES: list[Penalty] = [
    registry.L1(0.5),
    registry.L2(2.0),
    registry.ElasticNet(1.5, 0.3),
    registry.ElasticNet(1.0, 1.0),
]
entries = st.floats(-20, 20).map(lambda x: 0.0 if abs(x) < 1e-6 else x)
vectors = st.lists(entries, min_size=P, max_size=P).map(np.array)
every_set = pytest.mark.parametrize("body", SETS, ids=lambda c: f"{c.name}{SETS.index(c)}")
every_convex_set = pytest.mark.parametrize("body", CONVEX, ids=lambda c: f"{c.name}{SETS.index(c)}")
fast = settings(max_examples=20, deadline=None)


def test_the_registry_is_covered() -> None:
    covered = {type(c).__name__ for c in [*SETS, *PRICES]}
    assert covered == set(registry.__all__)
    assert len({getattr(registry, name).name for name in registry.__all__}) == len(registry.__all__)


def size(body: ConstraintSet) -> float:
    return body.radius_in("l2", P)


@functools.cache
def some_points(body: ConstraintSet) -> list[np.ndarray]:
    others = np.random.default_rng(0).normal(0, 1, (30, P)) * size(body)
    return [*map(body.project, others), *map(body.linear_oracle, others)]


@every_set
@fast
@given(v=vectors)
def test_projection_is_inside_and_idempotent(body: ConstraintSet, v: np.ndarray) -> None:
    w = body.project(v)
    assert body.contains(w) and body.value(w) == 0.0
    np.testing.assert_allclose(body.project(w), w, atol=1e-9 * size(body))
    np.testing.assert_array_equal(body.prox(v, 3.0), w)
    if np.linalg.norm(v - w) > 1e-6 * size(body):
        assert not body.contains(v, 1e-12) and body.value(v) == math.inf


@every_convex_set
@fast
@given(v=vectors)
def test_projection_is_the_nearest_point(body: ConstraintSet, v: np.ndarray) -> None:
    """For a convex set `w` is nearest exactly when ``<v - w, u - w> <= 0`` for every allowed `u`."""
    w = body.project(v)
    scale = (np.linalg.norm(v) + size(body)) * size(body)
    assert float(body.support(v - w)) <= float((v - w) @ w) + 1e-8 * scale


@every_set
@fast
@given(v=vectors)
def test_no_allowed_point_is_nearer(body: ConstraintSet, v: np.ndarray) -> None:
    w = body.project(v)
    for u in some_points(body):
        assert np.linalg.norm(v - w) <= np.linalg.norm(v - u) + 1e-8 * (np.linalg.norm(v) + size(body))


@every_convex_set
@fast
@given(a=vectors, b=vectors)
def test_projection_brings_points_no_further_apart(body: ConstraintSet, a: np.ndarray, b: np.ndarray) -> None:
    moved = np.linalg.norm(body.project(a) - body.project(b))
    assert moved <= np.linalg.norm(a - b) + 1e-8 * (1 + size(body))


@every_set
@fast
@given(g=vectors)
def test_the_oracle_is_inside_and_attains_the_minimum(body: ConstraintSet, g: np.ndarray) -> None:
    s = body.linear_oracle(g)
    assert body.contains(s)
    assert float(g @ s) == pytest.approx(-float(body.support(-g)), rel=1e-9, abs=1e-9)
    for u in some_points(body):
        assert g @ s <= g @ u + 1e-8 * (1 + np.linalg.norm(g)) * size(body)


@every_set
@fast
@given(x=vectors, y=vectors)
def test_minkowski_and_dual_norm_bound_products(body: ConstraintSet, x: np.ndarray, y: np.ndarray) -> None:
    """``<x, y> <= |x|_C |y|_C*`` (lecture 16, section 16.3), with equality at the oracle's point."""
    gauge, dual = body.minkowski(x), body.dual_norm(y)
    if gauge < math.inf:
        assert x @ y <= gauge * dual + 1e-8 * (1 + abs(gauge * dual))
        assert body.minkowski(2.5 * x) == pytest.approx(2.5 * gauge, rel=1e-7, abs=1e-9)
    s = body.linear_oracle(-y)
    assert abs(s @ y) <= dual * (1 + 1e-9) + 1e-9
    if body.symmetric:
        assert body.minkowski(-x) == pytest.approx(gauge, rel=1e-7, abs=1e-9)
        assert s @ y == pytest.approx(dual, rel=1e-9, abs=1e-9)


@every_convex_set
@fast
@given(x=vectors)
def test_the_gauge_says_how_far_to_scale(body: ConstraintSet, x: np.ndarray) -> None:
    gauge = body.minkowski(x)
    if 1e-6 < gauge < math.inf:
        assert body.contains(x / gauge, 1e-7)
        if body.contains(np.zeros(P)):
            assert not body.contains(x / (0.99 * gauge), 1e-9)


@every_set
def test_radii_and_diameters_are_reached_and_not_passed(body: ConstraintSet) -> None:
    directions = np.random.default_rng(2).normal(0, 1, (400, P))
    directions = np.vstack([directions, np.sign(directions), np.eye(P), -np.eye(P)])
    found = np.array([body.linear_oracle(d) for d in directions])
    count = body.n_vertices(P)
    if count is not None:
        found = np.vstack([found, body.vertex_list(P)])
    for norm, order in (("l1", 1), ("l2", 2), ("linf", np.inf)):
        radius, diameter = body.radius_in(norm, P), body.diameter(norm, P)
        reached = max(np.linalg.norm(w, order) for w in found)
        apart = max(np.linalg.norm(found - w, order, axis=1).max() for w in found)
        assert reached <= radius * (1 + 1e-9) and apart <= diameter * (1 + 1e-9)
        assert reached >= 0.97 * radius and apart >= 0.97 * diameter


@every_set
def test_width_is_exact_or_a_bound(body: ConstraintSet) -> None:
    """20,000 draws, fixed seed; 4.5 standard errors: a false alarm in 150,000 sets."""
    estimate, error = body.gaussian_width_monte_carlo(P, 20_000, np.random.default_rng(5))
    width = body.gaussian_width(P)
    assert estimate - 4.5 * error <= width
    if body.exact_width:
        assert abs(width - estimate) <= 4.5 * error
    assert width <= 3.0 * estimate  # a bound, but not an empty one


@every_set
def test_support_works_on_tables(body: ConstraintSet) -> None:
    table = np.random.default_rng(3).normal(0, 1, (7, P))
    np.testing.assert_allclose(body.support(table), [float(body.support(row)) for row in table], rtol=1e-12)


@every_set
def test_vertices_are_inside_and_the_map_lists_them(body: ConstraintSet) -> None:
    count = body.n_vertices(P)
    if count is None and body.name != "lq_ball":
        with pytest.raises(TypeError, match="no finite list"):
            body.vertex_map(P)
        with pytest.raises(ValueError, match="too many to list"):
            body.vertex_list(P)
        return
    if body.name == "box" and not body.symmetric:
        with pytest.raises(TypeError, match="privately needs bounds -r and r"):
            body.vertex_map(P)
        return
    candidates = body.vertex_map(P)
    assert count is None or count == len(candidates)
    points = np.stack([candidates.point(i) for i in range(len(candidates))])
    assert all(body.contains(w) for w in points)
    if candidates.kind == "matrix":
        whole = candidates.matrix.toarray() if hasattr(candidates.matrix, "toarray") else candidates.matrix
        assert np.array_equal(whole, np.rint(whole))
        np.testing.assert_array_equal(points, whole * float(candidates.unit) * candidates.scale)
    if count is not None:
        np.testing.assert_allclose(sorted(map(tuple, points)), sorted(map(tuple, body.vertex_list(P))))
    # the best candidate reaches the promised share of the optimum in every direction
    for g in np.random.default_rng(4).normal(0, 1, (300, P)) ** 3:
        assert np.max(points @ g) >= candidates.factor * float(body.support(g)) - 1e-12
    with pytest.raises(IndexError, match="candidates"):
        candidates.sparse_point(len(candidates))


class Pair:
    """A stand-in for a sealed gradient: it records what is asked of it."""

    def __init__(self, g: np.ndarray) -> None:
        self.g = g

    def signed_pair(self) -> np.ndarray:
        return np.concatenate([self.g, -self.g])

    def linear(self, matrix: Any, unit: Fraction = Fraction(1)) -> np.ndarray:
        return np.asarray(matrix @ self.g * float(unit))


@every_set
def test_scores_are_products_with_candidates(body: ConstraintSet) -> None:
    try:
        candidates = body.vertex_map(P)
    except TypeError:
        return
    g = np.array([3.0, -1.0, 4.0, 1.0, -5.0])
    gradient = Pair(g)
    scores = candidates.scores(gradient)
    scores = scores.g if isinstance(scores, Pair) else scores
    expected = [candidates.point(i) @ g for i in range(len(candidates))]
    np.testing.assert_allclose(np.asarray(scores) * candidates.scale, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("price", PRICES, ids=repr)
@fast
@given(v=vectors, step=st.floats(0.01, 5))
def test_the_prox_minimises_what_it_should(price: Penalty, v: np.ndarray, step: float) -> None:
    w = price.prox(v, step)

    def objective(u: np.ndarray) -> float:
        return 0.5 * float(np.sum((u - v) ** 2)) + step * price.value(u)

    best = objective(w)
    for u in np.random.default_rng(6).normal(0, 1, (40, P)):
        for t in (1.0, 1e-3, 1e-6):
            moved = w + t * u  # strongly convex with modulus 1, so any other point is worse by that much
            assert objective(moved) >= best + 0.5 * t * t * float(u @ u) - 1e-9 * (1 + best)
    steps = np.full(P, step)
    np.testing.assert_allclose(price.prox(v, steps), w, rtol=1e-15)
    np.testing.assert_allclose([price.prox_coordinate(float(v[j]), step, j) for j in range(P)], w, rtol=1e-15)


@pytest.mark.parametrize("price", PRICES, ids=repr)
@fast
@given(a=vectors, b=vectors, t=st.floats(0, 1))
def test_prices_are_as_convex_as_they_say(price: Penalty, a: np.ndarray, b: np.ndarray, t: float) -> None:
    m = price.strong_convexity
    left = price.value(t * a + (1 - t) * b)
    right = t * price.value(a) + (1 - t) * price.value(b)
    bend = 0.5 * m * t * (1 - t) * float(np.sum((a - b) ** 2))
    assert left <= right - bend + 1e-9 * (1 + right)
    assert price.value(np.zeros(P)) == 0.0 and price.value(a) >= 0.0


@pytest.mark.parametrize("item", [*SETS, *PRICES], ids=lambda c: c.name)
def test_separable_says_what_coordinate_descent_may_use(item: Penalty) -> None:
    v = np.array([3.0, -2.0, 0.1, 5.0, -0.3])
    if item.separable:
        np.testing.assert_allclose([item.prox_coordinate(float(v[j]), 0.5, j) for j in range(P)], item.prox(v, 0.5))
    else:
        with pytest.raises(TypeError, match="does not split"):
            item.prox_coordinate(1.0, 1.0, 0)


@pytest.mark.parametrize("item", [*SETS, *PRICES], ids=lambda c: c.name)
def test_penalties_are_values(item: Penalty) -> None:
    fields = {field.name: getattr(item, field.name) for field in dataclasses.fields(item)}
    again = type(item)(**fields)
    assert item == again and hash(item) == hash(again)
