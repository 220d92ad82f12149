"""Batches, forgetting, and uniform order."""

from __future__ import annotations

import itertools

import pytest

from discreet import local
from discreet.local.shuffler import permutation
from discreet.privacy import PrivacyError
from discreet.randomness import SeededSource

RR = local.BinaryResponse(1.0)


@pytest.mark.parametrize("form", ["json", "bytes"])
def test_identifiers_and_spelling_are_gone(form: str) -> None:
    mixer = local.Shuffler(RR, 3, form=form, source=SeededSource(1))
    sent = [RR.report(1, report_id=f"person {i}") for i in range(4)] + [RR.report(0).replace(",", ", ")]
    assert mixer.submit(sent) == 5
    out = mixer.release()
    assert len(set(out)) <= 2  # nothing is left but the message itself
    assert local.Aggregator(RR, strict=True).add(out).n == 5
    with pytest.raises(PrivacyError, match="batch_size=3"):
        mixer.release()


def test_totals_survive() -> None:
    reports = [RR.report(i % 2) for i in range(50)]
    mixer = local.Shuffler(RR, 10)
    mixer.submit(reports)
    assert local.Aggregator(RR).add(mixer.release()).totals == local.Aggregator(RR).add(reports).totals


def test_bad_and_repeated_reports_stay_outside() -> None:
    mixer = local.Shuffler(RR, 2)
    report = RR.report(1, report_id="me")
    assert mixer.submit([report, report, "junk", RR.report(0)]) == 2
    assert mixer.rejected == {"duplicate": 1, "malformed": 1}
    mixer.release()
    assert mixer.submit(report) == 0  # not in the next batch either


def test_small_batches_are_refused() -> None:
    mixer = local.Shuffler(RR, 5)
    mixer.submit([RR.report(1)] * 4)
    with pytest.raises(PrivacyError, match="4 reports wait"):
        mixer.release()
    with pytest.raises(ValueError, match="batch_size=1"):
        local.Shuffler(RR, 1)


def test_order_is_uniform() -> None:
    """All 24 orders of four, 24,000 draws: chi-square below its one-in-a-million quantile."""
    source, seen = SeededSource(4), dict.fromkeys(itertools.permutations(range(4)), 0)
    for _ in range(24_000):
        seen[tuple(permutation(source, 4).tolist())] += 1
    assert sum((c - 1000) ** 2 / 1000 for c in seen.values()) < 70.5  # chi2.isf(1e-6, 23)


def test_central_promise_is_that_of_the_batch() -> None:
    mixer = local.Shuffler(RR, 10_000)
    assert mixer.central_epsilon(1e-6) == RR.central_epsilon(10_000, 1e-6)
    assert mixer.central_epsilon(1e-6, liars=5000) == RR.central_epsilon(5000, 1e-6)
    assert "replace_one" in mixer.statement(1e-6)
    assert "NOT PRIVATE" not in mixer.statement(1e-6)
    assert "NOT PRIVATE" in local.Shuffler(RR, 10_000, source=SeededSource(1)).statement(1e-6)
    with pytest.raises(ValueError, match="no honest"):
        mixer.central_epsilon(1e-6, liars=10_000)
