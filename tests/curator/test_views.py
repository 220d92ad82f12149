"""Batches, parts and mapped rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

from discreet.curator import RowBounds, make_curator
from discreet.curator.views import bernoulli, uniform_below
from discreet.privacy import PrivacyError, unseal
from discreet.randomness import SeededSource, system


class Script:
    """Words from a list."""

    def __init__(self, *calls: list[int]) -> None:
        self.calls = list(calls)

    def words(self, n: int) -> np.ndarray:
        given = np.array(self.calls.pop(0), dtype=np.uint64)
        assert given.size == n
        return given


def test_a_coin_reads_digits_until_they_decide() -> None:
    third = Fraction(1, 3)  # the binary digits 0101...
    digit = (2**64 - 1) // 3
    source = Script([digit - 1, digit, digit + 1, digit], [digit, digit + 1], [digit - 1])
    assert bernoulli(third, 4, source).tolist() == [True, True, False, False]
    half = Script([2**63 - 1, 2**63])  # a rate that ends: no more digits are below it
    assert bernoulli(Fraction(1, 2), 2, half).tolist() == [True, False]
    assert bernoulli(Fraction(1), 3, Script()).all()


def test_uniform_numbers_refuse_the_last_words() -> None:
    last = 2**64 // 3 * 3
    assert uniform_below(3, 3, Script([0, last, 5], [7])).tolist() == [0, 1, 2]
    draws = uniform_below(5, 20_000, SeededSource(3))
    assert stats.chisquare(np.bincount(draws, minlength=5)).pvalue > 1e-6  # false alarms: one in a million


def test_a_batch_holds_the_rows_whose_coins_say_so() -> None:
    X = np.eye(20)
    for form in (X, sp.csr_array(X), [X[:7], X[7:]]):
        c = make_curator(form, bounds=RowBounds(l2=1))
        batch = c.batch(0.3, SeededSource(4))
        total = batch.sum_rows()
        assert total.rate == 0.3
        picked = unseal(total) > 0
        assert 0 < picked.sum() < 20
        with pytest.raises(PrivacyError, match="private"):
            _ = c.batch(0.3, system()).n_rows
    whole = make_curator(X, bounds=RowBounds(l2=1)).batch(1.0, system())
    assert (unseal(whole.sum_rows()) > 0).all()


def test_rates_multiply_and_a_batch_answers_once() -> None:
    c = make_curator(np.eye(20), bounds=RowBounds(l2=1))
    assert c.batch(0.5, system()).batch(0.5, system()).count().rate == 0.25
    batch = c.batch(0.5, system())
    batch.count()
    with pytest.raises(PrivacyError, match="fresh batch"):
        batch.sum_rows()
    with pytest.raises(ValueError, match="rate"):
        c.batch(0.0, system())


def test_fixed_batches_are_uniform() -> None:
    c = make_curator(np.eye(6), bounds=RowBounds(l2=1))
    source, counts = SeededSource(1), np.zeros(6)
    for _ in range(600):
        batch = c.fixed_batch(2, source)
        assert batch.n_rows == 2
        counts += unseal(batch.sum_rows()) > 0
    assert stats.chisquare(counts).pvalue > 1e-6  # false alarms: below one in a million
    with pytest.raises(ValueError, match="can't be drawn"):
        c.fixed_batch(7, source)
    with pytest.raises(PrivacyError):
        make_curator(np.eye(6), bounds=RowBounds(l2=1), neighbors="add_remove").fixed_batch(1, source)


@pytest.mark.parametrize("form", ["dense", "csr", "blocks"])
def test_parts_are_disjoint_and_complete(form: str) -> None:
    X = np.eye(11)
    rows = {"dense": X, "csr": sp.csr_array(X), "blocks": [X[:4], X[4:5], X[5:]]}[form]
    for neighbors, source in (("zero_out", None), ("zero_out", system()), ("add_remove", SeededSource(0))):
        c = make_curator(rows, bounds=RowBounds(l2=1), neighbors=neighbors)
        parts = c.parts(3, source)
        sums = np.array([unseal(part.sum_rows()) > 0 for part in parts])
        assert (sums.sum(axis=0) == 1).all()
        if source is None:
            assert sums.argmax(axis=0).tolist() == [i % 3 for i in range(11)]
            assert [part.n_rows for part in parts] == [4, 4, 3]
    with pytest.raises(PrivacyError, match="coin of its own"):
        make_curator(rows, bounds=RowBounds(l2=1), neighbors="add_remove").parts(3)
    with pytest.raises(ValueError, match="at least 1"):
        c.parts(0, system())


def test_mapped_rows_are_the_map_of_the_rows() -> None:
    rng = np.random.default_rng(0)
    X, A = rng.normal(size=(300, 4)), rng.normal(size=(3, 4))
    c = make_curator(X, np.ones(300), bounds=RowBounds(l2=10.0, intercept=1.0))
    total = c.transformed(A, RowBounds(l2=40.0, intercept=2.0)).sum_rows()
    np.testing.assert_allclose(unseal(total) * float(total.unit), [*(X @ A.T).sum(axis=0), 600.0], atol=0.2)
    whole = np.hstack([A, rng.normal(size=(3, 1))])  # a map of the constant column as well
    total = c.transformed(whole, RowBounds(l2=40.0)).sum_rows()
    np.testing.assert_allclose(
        unseal(total) * float(total.unit), (np.hstack([X, np.ones((300, 1))]) @ whole.T).sum(axis=0), atol=0.2
    )
    with pytest.raises(ValueError, match="4 columns"):
        c.transformed(np.ones((2, 3)), RowBounds(l2=1))


def test_long_rows_weigh_less_instead_of_being_shortened() -> None:
    X = np.diag([1.0, 4.0])
    c = make_curator(X, bounds=RowBounds(l2=4.0))
    total = c.transformed(np.eye(2), RowBounds(l2=4.0), weight_norm=1.0).sum_rows()
    np.testing.assert_allclose(unseal(total) * float(total.unit), [1.0, 1.0], atol=1e-2)  # 1 * 1, 4 * 1/4


@pytest.mark.parametrize("size", [1e-280, 1e-150, 1.0, 1e150, 1e280])
def test_maps_of_any_size_stay_in_range_or_are_refused_for_public_reasons(size: float) -> None:
    """An infinite image would turn into a row that no bound holds."""
    X = np.array([[50.0, 60.0], [0.0, 0.0], [-50.0, 0.0], [1e-300, 0.0]])
    for length in (1e-20, 100.0, 1e40):
        c = make_curator(X * (length / 100), bounds=RowBounds(l2=length))
        mapped, reach = np.array([[size, size], [size, -size]]), size * length
        if 1e-285 < reach < 1e285:
            total = unseal(s := c.transformed(mapped, RowBounds(l2=reach / 9)).sum_rows()) * float(s.unit)
            assert 0 < np.abs(total).max() <= 4 * reach / 9
        else:
            with pytest.raises(ValueError, match="range of floating-point numbers"):
                c.transformed(mapped, RowBounds(l2=1.0))
