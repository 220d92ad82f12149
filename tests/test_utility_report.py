"""What the utility benchmark says of its lines: floors, and whether more budget ever costs accuracy."""

from __future__ import annotations

import math

from benchmarks._utility import Floor, Line, distances, least_excess, order, report


def one(model: str, epsilon: float, accuracy: float, rows: int = 1000, sd: float = 0.01) -> Line:
    return Line("t", rows, 3, epsilon, 1e-6, "public", model, {"accuracy": accuracy}, {"accuracy": sd}, 4, 0.0)


def test_order_sees_falls_beyond_noise_and_models_below_the_constant() -> None:
    lines = [one("default", 0.1, 0.8), one("default", 1.0, 0.6), one("constant", math.inf, 0.7)]
    found = order(lines)
    assert math.isclose(found["largest_fall"], 0.2 - 2 * math.hypot(0.01, 0.01) / 2, abs_tol=1e-5)
    assert found["fall_at"].endswith("epsilon 1")
    assert math.isclose(found["most_below_constant"], 0.1, abs_tol=1e-9)
    assert order([one("default", 0.1, 0.80), one("default", 1.0, 0.795)])["largest_fall"] == 0.0  # within noise
    assert order([one("default", 0.1, 0.1), one("constant", math.inf, 0.7)])["most_below_constant"] == 0.0  # too few


def test_floors_are_compared_with_the_lines_they_name(capsys) -> None:
    floors = [Floor("a", "t", 1.0, "public", "accuracy", 0.7), Floor("b", "other", 1.0, "public", "accuracy", 0.7)]
    found = report([one("default", 1.0, 0.6)], floors)
    assert found["floors_missed"] == ["a"] and found["floors_unmeasured"] == 1
    assert "MISSED" in capsys.readouterr().out


def test_distances_are_those_to_the_model_without_privacy_beside_what_none_avoids() -> None:
    lines = [one("default", 0.1, 0.8), one("reference", math.inf, 0.95), one("other", 0.1, 0.2)]
    assert distances(lines) == [
        {"data": "t", "bounds": "public", "delta": 1e-6, "epsilon": 0.1, "accuracy": 0.15, "least_excess": 0.02}
    ]
    assert least_excess(one("default", 0.1, 0.8)) == 2.0 / 100  # four weights: the root
    assert least_excess(one("default", 1e-9, 0.8)) == 1.0
