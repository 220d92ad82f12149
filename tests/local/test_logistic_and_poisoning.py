"""Learning without a curator, and what liars do to it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from discreet import local
from discreet.local.wire import ReportError, encode_all
from discreet.privacy import PrivacyError
from discreet.randomness import SeededSource


def problem(n: int = 20_000, d: int = 5, seed: int = 1):
    data = np.random.default_rng(seed)
    X = data.normal(size=(n, d))
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1)
    w = np.array([3.0, -2.0, 1.0, 0.0, 0.0])[:d]
    y = np.where(data.random(n) < 1 / (1 + np.exp(-X @ w)), 1, -1)
    return X, y, w


@pytest.mark.parametrize("kind", ["privunit_g", "privunit", "hemisphere"])
@pytest.mark.parametrize("rounds", [1, 8])
def test_learns_the_direction(kind: str, rounds: int) -> None:
    """The angle to the truth: a random direction would have cosine about 0 (standard deviation 0.45)."""
    X, y, w = problem()
    model = local.LogisticProtocol(2.0, 5, rounds=rounds, randomizer=kind, source=SeededSource(3)).simulate(X, y)
    cosine = model.weights @ w / np.linalg.norm(model.weights) / np.linalg.norm(w)
    assert cosine > 0.9
    assert len(model.path) == rounds


def test_more_rounds_fit_better_when_noise_is_small() -> None:
    X, y, _ = problem(30_000)

    def loss(weights):
        return np.mean(np.logaddexp(0, -y * (X @ weights)))

    one, many = (
        local.LogisticProtocol(4.0, 5, rounds=k, radius=8.0, randomizer="hemisphere", source=SeededSource(3)).simulate(
            X, y
        )
        for k in (1, 20)
    )
    assert loss(many.weights) < loss(one.weights) - 0.005


def test_rounds_over_the_wire() -> None:
    X, y, _ = problem(200)
    model = local.LogisticProtocol(4.0, 5, rounds=2, source=SeededSource(1))
    assert json.loads(model.broadcast())["round"] == 0
    device = local.LogisticProtocol(4.0, 5, rounds=2, source=SeededSource(9))  # another machine, told nothing else

    def reports(mine: slice) -> list:
        device.follow(model.broadcast())
        return [device.report(x, label, report_id=str(x)) for x, label in zip(X[mine], y[mine], strict=True)]

    first = reports(slice(0, 100))
    model.step([*first, "junk"])
    assert json.loads(model.broadcast())["round"] == 1
    with pytest.raises(ValueError, match=r"no report was counted .*'parameters': 100"):
        model.step(first)  # gradients at the old weights, of persons who were asked already
    with pytest.raises(ReportError, match="another round"):
        model.step(local.Aggregator(local.PrivUnitG(4.0, 5)))
    model.step(reports(slice(100, 200)))
    with pytest.raises(PrivacyError, match="nobody may be asked twice"):
        model.step(first)
    assert "one of 2 rounds" in model.statement()


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"round": 0, "weights": [0.0] * 5, "epsilon": 1.0}, "another epsilon"),
        ({"round": 0, "weights": [0.0] * 4, "epsilon": 4.0}, "number of features"),
        ({"round": 0, "weights": [float("nan")] * 5, "epsilon": 4.0}, "number of features"),
        ({"round": 2, "weights": [0.0] * 5, "epsilon": 4.0}, "round 2"),
    ],
)
def test_a_device_follows_only_its_own_protocol(message: dict, words: str) -> None:
    with pytest.raises(ReportError, match=words):
        local.LogisticProtocol(4.0, 5, rounds=2).follow(json.dumps(message))


def test_long_rows_are_shortened_before_the_gradient() -> None:
    model = local.LogisticProtocol(1.0, 3, row_norm=2.0)
    gradient = model.gradient([[30.0, 0.0, 40.0]], [-1])
    assert np.linalg.norm(gradient) == pytest.approx(1.0)  # half (the slope at 0) of 2


@pytest.mark.parametrize(
    ("options", "words"), [({"rounds": 0}, "rounds=0"), ({"radius": 0}, "radius"), ({"randomizer": "x"}, "not one of")]
)
def test_refusals(options, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        local.LogisticProtocol(1.0, 3, **options)


def test_labels_are_checked() -> None:
    with pytest.raises(ValueError, match="-1 or 1"):
        local.LogisticProtocol(1.0, 3).gradient([[1, 0, 0]], [0])


@pytest.mark.parametrize(
    "r", [local.BinaryResponse(0.5), local.KaryResponse(1.0, 4), local.Duchi(1.0), local.Piecewise(1.0),
          local.TruncatedLaplace(1.0), local.Hybrid(1.0)], ids=lambda r: r.name
)  # fmt: skip
def test_liars_move_the_estimate_by_exactly_what_is_said(r) -> None:
    """The worst honest message replaced by the worst lie, for a share of the clients: the bound is met, not passed."""
    n, liars = 1000, 50
    if isinstance(r, local.KaryResponse):
        low, high = np.zeros((n, 1), dtype=int), np.full((n, 1), 1)
    else:
        end = r.alphabet[1] - isinstance(r, local.Hybrid)  # a hybrid's two end points stand for smaller numbers
        low, high = np.full((n, 1), -end), np.full((n, 1), end)
    mixed = np.vstack([high[:liars], low[liars:]])

    def value(messages):
        return np.atleast_1d(local.Aggregator(r).add_messages(messages).estimate().value)

    moved = np.max(np.abs(value(mixed) - value(low)))
    assert moved == pytest.approx(local.poisoned_shift(r, n, liars), rel=1e-9)


def test_measured_poisoning_of_a_share() -> None:
    """One client in a hundred lies at epsilon 0.5: the share of ones rises by about liars' pull, six errors allowed."""
    r, n, liars = local.BinaryResponse(0.5, source=SeededSource(2)), 100_000, 1000
    honest = encode_all(r, r.randomize(np.zeros(n - liars, dtype=int)))
    lies = encode_all(r, np.ones((liars, 1), dtype=int))
    estimate = local.Aggregator(r).add([*honest, *lies]).estimate()
    # a liar always says 1, an honest client with value 0 says 1 with probability q: the pull is (1 - q)/(p - q) each
    pull = (1 - 1 / (1 + np.exp(0.5))) * r.influence
    assert estimate.value == pytest.approx(0.01 * pull, abs=6 * estimate.standard_error)
    assert 0.01 * pull > 2 * 0.01  # more than twice what a truthful one would add
    assert 0.01 * pull <= local.poisoned_shift(r, n, liars)


def test_poisoning_refuses_nonsense() -> None:
    with pytest.raises(ValueError, match="liars=3"):
        local.poisoned_shift(local.Duchi(1.0), 2, 3)
