"""Values, errors and promises of the central moments, under every budget and relation."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import accounting, moments
from discreet.curator import make_survey
from discreet.curator.ranks import rank_scores
from discreet.mechanisms.base import opened
from discreet.moments.purse import Purse, purse_for
from discreet.moments.ranges import find_ranges
from discreet.privacy import Budget, PrivacyError
from discreet.randomness import SeededSource, system
from discreet.testing import without_privacy

BUDGETS = [{"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}, {"rho": 0.05}, {"mu": 0.3}]
RELATIONS = ["zero_out", "replace_one", "add_remove"]
X = np.random.default_rng(5).normal([10.0, -3.0, 0.0], [1.0, 2.0, 0.5], (4000, 3))
LOW, HIGH = np.array([5.0, -12.0, -3.0]), np.array([15.0, 6.0, 3.0])


def fits(release: moments.Release) -> bool:
    """Whether the recorded event really costs no more than the promise, priced by the accountant."""
    budget, event = release.privacy.budget, release.privacy.event
    if budget.kind == "dp":
        return accounting.epsilon(event, budget.delta) <= budget.epsilon * (1 + 1e-9)
    if budget.kind == "zcdp":
        from discreet.accounting.zcdp import rho_of

        return rho_of(event) <= budget.rho * (1 + 1e-9)
    return accounting.delta(event, 1.0) <= accounting.gdp.delta(budget.mu, 1.0) * (1 + 1e-6)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("inference", [False, True])
def test_mean(budget, neighbors: str, inference: bool) -> None:
    """Within six standard errors of the rows' own mean (three coordinates: false alarm below 1e-8)."""
    options = {"neighbors": neighbors, "inference": inference, "random_state": 3}
    for bounds in ((LOW, HIGH), (-20, 20)):
        r = moments.mean(X, bounds=bounds, **budget, **options)
        assert (np.abs(r.value - X.mean(axis=0)) < 6 * r.noise).all()
        assert (r.standard_error >= r.noise).all()
        assert (r.standard_error > r.noise).all() == inference
        assert fits(r)
    ball = moments.mean(X, radius=12.0, centre=[10, -3, 0], **budget, **options)
    assert (np.abs(ball.value - X.mean(axis=0)) < 6 * ball.noise).all()


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_covariance(budget, neighbors: str) -> None:
    options = {"neighbors": neighbors, "random_state": 3, "psd": False}
    truth = np.cov(X.T, bias=True)
    r = moments.covariance(X, bounds=(LOW, HIGH), **budget, **options)
    assert (np.abs(r.value - truth) < 7 * r.noise).all()
    assert fits(r)
    second = moments.second_moments(X, bounds=(LOW, HIGH), **budget, **options)
    assert (np.abs(second.value - X.T @ X / len(X)) < 7 * second.noise).all()
    assert fits(second)
    assert np.array_equal(r.value, r.value.T)


def test_without_noise_the_numbers_are_the_rows_own() -> None:
    """Grids are fine enough: with noise off, mean, covariance and second moments agree to 1e-4 of the bounds."""
    inside = np.clip(X, LOW, HIGH)
    with without_privacy():
        mean = moments.mean(X, bounds=(LOW, HIGH), epsilon=1)
        covariance = moments.covariance(X, bounds=(LOW, HIGH), rho=1)
        second = moments.second_moments(X, bounds=(LOW, HIGH), rho=1)
    np.testing.assert_allclose(mean.value, inside.mean(axis=0), atol=2e-5)
    np.testing.assert_allclose(covariance.value, np.cov(inside.T, bias=True), atol=1e-3)
    np.testing.assert_allclose(second.value, inside.T @ inside / len(X), atol=3e-3)


@pytest.mark.parametrize("location", [0.0, 1e-6, 1e6, -1e12])
@pytest.mark.parametrize("scale", [1e-3, 1.0])
def test_mean_without_bounds_finds_its_scale(location: float, scale: float) -> None:
    """From a picometre to a parsec; the third zoom resolves a scale of about 1e-5 of the location."""
    spread = max(scale, abs(location) * 1e-3)
    x = np.random.default_rng(1).normal(location, spread, 20_000)
    r = moments.mean(x, rho=0.5, random_state=4)
    assert abs(r.value - x.mean()) < 0.02 * spread
    assert r.bounds[1][0] - r.bounds[0][0] < 40 * spread


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_private_bounds_cost_and_cover(budget) -> None:
    r = moments.mean(np.tile(X, (5, 1)), **budget, random_state=2, inference=True)
    assert fits(r)
    assert "bounds: paid" in str(r.privacy)
    assert (r.bounds[0] < X.mean(axis=0)).all()
    assert (r.bounds[1] > X.mean(axis=0)).all()


def test_few_rows_keep_the_wide_interval() -> None:
    """4000 rows and a pure budget over three columns: too few to look closer, and the mean still is not lost."""
    for seed in range(10):
        r = moments.mean(X, epsilon=1, random_state=seed)
        assert (np.abs(r.value - X.mean(axis=0)) < 6 * r.noise + 1.0).all()


def test_too_few_rows_still_give_an_answer() -> None:
    r = moments.mean(np.array([1.0, 2.0, 3.0]), epsilon=0.1, random_state=1)
    assert math.isfinite(r.value)


def test_ranges_hold_nearly_all_rows() -> None:
    """Over 20 seeds, at least 98 % of a skewed column lies inside (one run of twenty may fail a threshold)."""
    x = np.random.default_rng(3).lognormal(3, 1, 20_000)
    for seed in range(20):
        low, high = find_ranges(
            make_survey(x[:, None]), purse_for(1, 1e-6, None, None, "zero_out", seed).shares([1])[0]
        )
        assert np.mean((x >= low[0]) & (x <= high[0])) > 0.93


def test_intervals_cover() -> None:
    """95 % intervals of the population's mean, 200 repetitions: between 180 and 199 hits (false alarm about 1e-4)."""
    hits = 0
    for seed in range(200):
        x = np.random.default_rng(seed).normal(1.0, 1.0, 400)
        low, high = moments.mean(x, epsilon=1, bounds=(-4, 6), inference=True, random_state=seed).interval()
        hits += low <= 1.0 <= high
    assert 178 <= hits <= 200


def test_noise_is_what_is_said() -> None:
    """The spread of 400 releases against the stated deviation, within 20 % (false alarm below 1e-7)."""
    for budget in ({"rho": 0.5}, {"epsilon": 1}):
        runs = [moments.mean(X[:50], bounds=(LOW, HIGH), random_state=s, **budget) for s in range(400)]
        spread = np.std([r.value for r in runs], axis=0)
        np.testing.assert_allclose(spread, runs[0].noise, rtol=0.2)
    runs = [moments.second_moments(X[:50], bounds=(LOW, HIGH), rho=0.5, psd=False, random_state=s) for s in range(400)]
    np.testing.assert_allclose(np.std([r.value for r in runs], axis=0), runs[0].noise, rtol=0.2)


def test_pure_noise_is_the_smaller_of_two() -> None:
    """K-norm for vectors, Laplace for one number, exactly as their variances say."""
    from dp_accounting import dp_event

    vector = moments.mean(X, bounds=(-20, 20), epsilon=1).privacy.event
    number = moments.mean(X[:, 0], bounds=(-20, 20), epsilon=1).privacy.event
    assert not isinstance(vector, dp_event.LaplaceDpEvent)
    assert isinstance(number, dp_event.LaplaceDpEvent)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_histogram(budget, neighbors: str) -> None:
    x, edges = X[:, 0], [9.0, 10.0, 11.0]
    r = moments.histogram(x, edges, neighbors=neighbors, random_state=3, nonnegative=False, **budget)
    truth = np.bincount(np.searchsorted(edges, x, side="right"), minlength=4)
    assert (np.abs(r.value - truth) < 8 * r.noise).all()
    codes = moments.histogram(np.rint(x), categories=[9, 10, 11], neighbors=neighbors, random_state=3, **budget)
    assert (np.abs(codes.value - [(np.rint(x) == c).sum() for c in (9, 10, 11)]) < 8 * codes.noise).all()
    assert fits(r)
    assert fits(codes)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("q", [0.1, 0.5, 0.99])
def test_quantile(budget, neighbors: str, q: float) -> None:
    x = X[:, 1]
    for bounds in ((-100.0, 100.0), None):
        r = moments.quantile(x, q, bounds=bounds, neighbors=neighbors, random_state=3, **budget)
        assert abs(np.mean(x <= r.value) - q) < 0.06
        assert fits(r)


def test_quantile_bracket() -> None:
    x = X[:, 1]
    r = moments.quantile(x, 0.5, bounds=(-100, 100), epsilon=3, inference=True, random_state=1)
    assert r.bounds[0] <= r.value <= r.bounds[1]
    assert r.bounds[0] < np.median(x) < r.bounds[1]


def test_quantile_of_a_coarse_grid() -> None:
    """Nearly all mass in one bin of the first level: a score of single points would choose the far tail."""
    x = np.random.default_rng(2).uniform(4.1, 7.9, 2000)
    for seed in range(20):
        assert abs(moments.quantile(x, 0.1, epsilon=1, random_state=seed).value - 4.48) < 0.5


def test_quantile_scores_are_the_definition() -> None:
    x, edges = np.array([0.5, 1.5, 1.5, 2.5, 9.0]), np.array([1.0, 2.0, 3.0, 10.0])
    scores = opened(rank_scores(make_survey(x[:, None]), edges, Fraction(1, 4)))
    below, upto = np.array([1, 3, 4]), np.array([3, 4, 5])
    assert scores.tolist() == np.maximum(0, np.maximum(4 * below - 5, 5 - 4 * upto)).tolist()


@pytest.mark.parametrize("q", [Fraction(3, 10), Fraction(1, 2), Fraction(9, 10)])
def test_replaced_and_removed_rows_move_scores_within_the_stated_range(q: Fraction) -> None:
    """All neighbours of a small column: the largest minus the smallest move is at most the stated range."""
    edges, base = np.array([0.0, 1.0, 2.0, 3.0, 4.0]), np.array([0.0, 1.5, 2.5, 3.5, 5.0])
    before = opened(rank_scores(make_survey(base[:, None]), edges, q))
    for relation, others in (
        ("replace_one", [np.r_[np.delete(base, i), v] for i in range(5) for v in (-1.0, 0.5, 1.5, 2.5, 9.0)]),
        ("add_remove", [np.delete(base, i) for i in range(5)]),
    ):
        limit = rank_scores(make_survey(base[:, None], neighbors=relation), edges, q).sensitivity("range")
        for other in others:
            move = opened(rank_scores(make_survey(other[:, None]), edges, q)) - before
            assert move.max() - move.min() <= limit


# ---- purses ----


def test_shares_add_up_and_are_spent_once() -> None:
    purse = Purse(Budget(epsilon=1), system())
    one, two = purse.shares([1, 2])
    assert one.epsilon + two.epsilon <= 1
    survey = make_survey(X)
    one.release(survey.count())
    with pytest.raises(PrivacyError, match="spent"):
        one.release(survey.count())
    parts = two.split(4)
    with pytest.raises(PrivacyError, match="spent"):
        two.select(survey.column_histogram([0.0], column=0))
    assert sum(p.part for p in parts) + one.part == 1


def test_planted_double_spending_is_seen_by_the_price() -> None:
    """PITFALLS 21: the full budget for bounds and again for the mean.  `fits` must notice."""
    purse = Purse(Budget(epsilon=1), SeededSource(1))
    survey = make_survey(X)
    for share in (purse.shares([1])[0], purse.shares([1])[0]):
        share.release(survey.count())
    broken = moments.Release(0.0, 0.0, 0.0, 1, "noise", None, purse.promise())
    assert not fits(broken)


def test_selections_under_gaussian_budgets() -> None:
    survey = make_survey(X)
    for budget in (Budget(rho=0.1), Budget(mu=0.5), Budget(epsilon=1, delta=1e-6)):
        purse = Purse(budget, SeededSource(1))
        for share in purse.shares([1, 1, 2]):
            share.select(survey.column_histogram([0.0], column=0))
        assert fits(moments.Release(0.0, 0.0, 0.0, 1, "noise", None, purse.promise()))


# ---- promises ----


def test_statement() -> None:
    seeded = moments.mean(X, bounds=(-20, 20), epsilon=1, random_state=1).privacy
    fresh = moments.mean(X, bounds=(-20, 20), epsilon=1, delta=1e-6, neighbors="replace_one").privacy
    assert math.isinf(seeded.epsilon)
    assert math.isinf(seeded.epsilon_at(1e-6))
    assert "NOT PRIVATE: seeded." in str(seeded)
    assert fresh.epsilon == 1
    assert fresh.delta == 1e-6
    assert fresh.neighbors == "replace_one"
    assert "any other" in str(fresh)
    assert "number of rows: public" in str(fresh)


def test_same_seed_same_bits() -> None:
    a, b = (moments.mean(X, epsilon=1, random_state=9) for _ in range(2))
    assert np.array_equal(a.value, b.value)


def test_release_is_an_array() -> None:
    r = moments.mean(X, bounds=(-20, 20), epsilon=1)
    assert np.asarray(r).shape == (3,)
    assert float(moments.mean(X[:, 0], bounds=(-20, 20), epsilon=1)) == pytest.approx(10, abs=1)
    with pytest.raises(ValueError, match="confidence"):
        r.interval(1.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: moments.mean(X, epsilon=1, rho=1), "exactly one"),
        (lambda: moments.mean(X, epsilon=0, bounds=(0, 1)), "buys nothing"),
        (lambda: moments.mean(X, bounds=(1, 0)), "below its high"),
        (lambda: moments.mean(X, bounds=(0, 1), radius=1.0), "give bounds"),
        (lambda: moments.mean(X, radius=-1.0), "radius"),
        (lambda: moments.mean(X, bounds=(0, 1), centre=0), "centre="),
        (lambda: moments.quantile(X[:, 0], 1.0), "strictly between"),
        (lambda: moments.quantile(X[:, 0], 0.5, levels=0), "levels"),
        (lambda: moments.quantile(X, 0.5), "one column"),
        (lambda: moments.quantile(X[:, 0], 0.5, bounds=(1, 1)), "bounds"),
        (lambda: moments.quantile(X[:, 0], 0.5, neighbors="add_remove", inference=True), "public number"),
        (lambda: moments.histogram(X[:, 0]), "edges, or categories"),
        (lambda: moments.histogram(X, [0.0]), "one column"),
    ],
)
def test_refusals(call, words: str) -> None:
    with pytest.raises((ValueError, PrivacyError), match=words):
        call()


def test_vector_noise_is_root_two_less() -> None:
    """In 40 dimensions the K-norm's stated noise is Laplace's over sqrt(2), nearly; both are announced truthfully."""
    rows = np.zeros((10, 40))
    ball, each = (moments.mean(rows, bounds=(-1, 1), epsilon=1, pure_noise=p).noise[0] for p in ("k_norm", "laplace"))
    assert each / ball == pytest.approx(math.sqrt(2), rel=0.02)
    assert moments.mean(rows, bounds=(-1, 1), epsilon=1).noise[0] == ball
    with pytest.raises(ValueError, match="not one of"):
        moments.mean(rows, bounds=(-1, 1), pure_noise="x")
