"""Laws over the registry of mechanisms: what every mechanism has, states and refuses."""

from __future__ import annotations

import copy
import dataclasses
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dp_accounting import dp_event

import discreet
from discreet import mechanisms
from discreet.mechanisms.base import Additive, Mechanism
from discreet.privacy import Bounded, Contribution, Neighbours
from discreet.randomness import SeededSource, system
from discreet.testing import without_privacy

NAMES = list(mechanisms.__all__)
VALUES: dict[str, Any] = {"float": 0.5, "int": 3, "dp_event.DpEvent": dp_event.GaussianDpEvent(1.0)}
CALIBRATED = {"delta", "noise"}  # parameters whose bad values have tests of their own


def parameters(cls: type[Mechanism]) -> dict[str, Any]:
    """A valid value for each parameter of a mechanism."""
    given = {f.name: VALUES.get(str(f.type), f.default) for f in dataclasses.fields(cls) if f.name != "source"}
    return given | {f.name: f.default for f in dataclasses.fields(cls) if f.name in given and has_default(f)}


def has_default(f: dataclasses.Field[Any]) -> bool:
    return f.default is not dataclasses.MISSING


def noises(cls: type[Mechanism]) -> list[str]:
    """The parameters that set how much noise there is."""
    return [f.name for f in dataclasses.fields(cls) if str(f.type) == "float" and f.name not in CALIBRATED]


ADDITIVE = [n for n in NAMES if issubclass(getattr(mechanisms, n), Additive)]


@pytest.mark.parametrize("name", NAMES)
def test_is_a_frozen_mechanism_with_a_private_source_and_an_event(name: str) -> None:
    cls = getattr(mechanisms, name)
    made = cls(**parameters(cls))
    assert isinstance(made, Mechanism)
    assert made.source.private
    assert isinstance(made.event, dp_event.DpEvent)
    assert made == cls(**parameters(cls), source=SeededSource(0))
    assert "ource" not in repr(made)
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.source = system()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bad", [0.0, -0.5, math.inf, math.nan])
def test_refuses_noise_that_is_none(name: str, bad: float) -> None:
    cls = getattr(mechanisms, name)
    assert noises(cls)
    for parameter in noises(cls):
        with pytest.raises(ValueError, match=re.escape(parameter)):
            cls(**parameters(cls) | {parameter: bad})


@pytest.mark.parametrize("name", NAMES)
def test_documents_its_promise_in_five_items_with_a_page_that_exists(name: str) -> None:
    text = getattr(mechanisms, name).__doc__
    assert text
    assert "*Privacy.*" in text
    assert all(f"{item}:" in text for item in ("Guarantee", "Neighbours", "Public", "Bounded by", "Proof"))
    assert ">>>" in text
    page = re.search(r"``(proofs/\w+\.md)``", text)
    assert page
    assert (Path(discreet.__file__).parents[2] / page[1]).exists()


def test_unknown_names_are_refused_with_the_list() -> None:
    with pytest.raises(AttributeError, match="Gaussian"):
        _ = mechanisms.Gausian
    assert set(NAMES) <= set(dir(mechanisms))


def statistic(value: list[float], unit: Fraction = Fraction(1, 64)) -> Bounded:
    c = Contribution(l1=64, l2=64, linf=64)
    return Bounded(np.array(value), c, unit, Neighbours.ZERO_OUT)


@pytest.mark.parametrize("name", ADDITIVE)
def test_released_numbers_are_multiples_of_the_unit_for_all_data(name: str) -> None:
    """The event 'a multiple of the unit' has chance one for all data, so 'a multiple of 2^-53' tells nothing."""
    mechanism = getattr(mechanisms, name)(0.5)
    for unit in (Fraction(1, 64), Fraction(1, 2**40), Fraction(8)):
        for value in (0, 1, 63, 2**20 + 1):
            released = mechanism.release(statistic([value] * 200, unit))
            assert all((Fraction(v) / unit).denominator == 1 for v in released.tolist())


@pytest.mark.parametrize("name", ADDITIVE)
def test_noise_does_not_depend_on_the_statistic(name: str) -> None:
    """With the same words the releases of two statistics differ by just what the statistics differ by."""
    cls = getattr(mechanisms, name)
    a = cls(0.5, source=SeededSource(1)).release(statistic([0, 0, 0, 0]))
    b = cls(0.5, source=SeededSource(1)).release(statistic([1, -5, 64, 2**40]))
    assert ((b - a) * 64).tolist() == [1, -5, 64, 2**40]


@pytest.mark.parametrize("name", ADDITIVE)
def test_variance_is_that_of_the_release_and_follows_the_units(name: str) -> None:
    """Within 6 standard errors of 20,000 draws at least (K-norm: one coordinate at a time)."""
    mechanism = getattr(mechanisms, name)(0.5, source=SeededSource(2))
    one = statistic([0])
    noise = np.concatenate([mechanism.release(one) for _ in range(20_000)])
    claimed = mechanism.variance(one)
    assert abs((noise**2).mean() - claimed) < 6 * (noise**2).std() / math.sqrt(20_000)
    assert mechanism.variance(one.scaled(Fraction(3))) == pytest.approx(9 * claimed)


@pytest.mark.parametrize("name", ADDITIVE)
def test_a_copy_of_a_seeded_mechanism_has_noise_of_its_own(name: str) -> None:
    mechanism = getattr(mechanisms, name)(0.5, source=SeededSource(3))
    twin = copy.deepcopy(mechanism)
    b = statistic([0] * 30)
    assert (mechanism.release(b) != twin.release(b)).any()


@pytest.mark.parametrize("name", ADDITIVE)
def test_without_privacy_the_statistic_itself_comes_out(name: str) -> None:
    cls = getattr(mechanisms, name)
    with without_privacy():
        assert (cls(0.5).release(statistic([64, -3])) * 64).tolist() == [64, -3]
