"""Budgets add up exactly; sealed values stay sealed; sensitivities hold for whole-number statistics."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from discreet.privacy import (
    Bounded,
    Budget,
    Contribution,
    Neighbours,
    PrivacyError,
    Sealed,
    isqrt_up,
    unseal,
)

RELATIONS = list(Neighbours)
NORMS = ("l1", "l2", "linf", "range")


def bounded(values, contribution=None, neighbors=Neighbours.ZERO_OUT, **kwargs):
    return Bounded(np.asarray(values), contribution or Contribution(linf=1), Fraction(1), neighbors, **kwargs)


@given(st.floats(1e-9, 1e3), st.floats(0, 0.5), st.integers(1, 300))
def test_equal_shares_add_up_to_the_whole(epsilon, delta, k):
    whole = Budget(epsilon, delta)
    shares = whole.split(k)
    assert sum(shares[1:], shares[0]) == whole
    left = whole
    for share in shares:  # PITFALLS 24: the last of 20 equal shares must not be refused
        left = left - share
    assert left == Budget(0)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=8).filter(lambda w: sum(w) > 0), st.floats(1e-6, 10))
def test_weighted_shares_of_mu_add_in_squares(weights, mu):
    shares = Budget(mu=mu).split(weights)
    assert sum(shares[1:], shares[0]) == Budget(mu=mu)


def test_overspending_is_refused_by_the_smallest_amount():
    with pytest.raises(PrivacyError, match="more than what is left"):
        Budget(1) - Budget(Fraction(1) + Fraction(1, 10**30))


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({}, "exactly one"),
        ({"epsilon": 1, "rho": 1}, "exactly one"),
        ({"epsilon": -1}, "negative"),
        ({"epsilon": float("inf")}, "finite"),
        ({"epsilon": float("nan")}, "finite"),
        ({"epsilon": 1, "delta": 1}, "below 1"),
        ({"mu": 1, "delta": 0.1}, "goes with epsilon"),
        ({"epsilon": 1, "neighbors": "adjacent"}, "zero_out"),
    ],
)
def test_impossible_budgets_say_why(kwargs, message):
    with pytest.raises(ValueError, match=message):
        Budget(**kwargs)


def test_budgets_of_different_relations_do_not_mix():
    with pytest.raises(ValueError, match="do not combine"):
        Budget(1) + Budget(1, neighbors="replace_one")
    with pytest.raises(ValueError, match="do not combine"):
        assert Budget(1) <= Budget(rho=1)


SECRET = [4_107_259_381, 6_902_817_443, 8_315_604_977]  # of ten digits, which no address in a repr happens to hold
LOOKS = {
    "array": np.asarray,
    "index": lambda s: s[0],
    "slice": lambda s: s[:],
    "iterate": list,
    "length": len,
    "truth": bool,
    "float": float,
    "int": int,
    "equal": lambda s: s == SECRET[1],
    "less": lambda s: s < SECRET[1],
    "hash": hash,
    "pickle": pickle.dumps,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "numpy add": lambda s: np.add(s, 1),
    "numpy sum": np.sum,
    "set attribute": lambda s: setattr(s, "unit", Fraction(2)),
}


@pytest.mark.parametrize("make", [Sealed, bounded], ids=["Sealed", "Bounded"])
@pytest.mark.parametrize("look", LOOKS)
def test_a_sealed_value_refuses_every_look(make, look):
    with pytest.raises((PrivacyError, TypeError, AttributeError)):
        LOOKS[look](make(np.array(SECRET)))


@pytest.mark.parametrize("make", [Sealed, bounded], ids=["Sealed", "Bounded"])
def test_nothing_printable_holds_the_secret(make):
    sealed = make(np.array(SECRET))
    shown = [repr(sealed), str(sealed), f"{sealed}", repr(getattr(sealed, "__dict__", ""))]
    shown += [repr(getattr(sealed, name)) for name in dir(sealed) if not name.startswith("__")]
    assert str(SECRET[1]) in repr(np.array(SECRET))
    assert not any(str(secret) in text for text in shown for secret in SECRET)


def test_only_the_key_opens():
    sealed = Sealed(7)
    with pytest.raises(PrivacyError):
        sealed._opener(object())
    assert unseal(sealed) == 7


@given(st.integers(0, 10**40))
def test_isqrt_up_is_the_smallest_root_above(square):
    root = isqrt_up(square)
    assert root * root >= square
    assert root == 0 or (root - 1) ** 2 < square


def norms_of(change):
    change = [int(c) for c in change]
    return {
        "l1": sum(abs(c) for c in change),
        "l2": sum(c * c for c in change),  # squared
        "linf": max(abs(c) for c in change),
        "range": max(change) - min(change),
    }


small_vectors = st.integers(1, 6).flatmap(
    lambda p: st.tuples(*[st.lists(st.integers(-50, 50), min_size=p, max_size=p)] * 2)
)


@given(small_vectors, st.sampled_from(RELATIONS), st.sampled_from(["l1", "l2", "linf"]), st.booleans())
def test_sensitivity_bounds_every_pair_of_rows(rows, neighbors, known, monotone):
    a, b = (np.abs(r) if monotone else np.asarray(r) for r in rows)
    measured = [norms_of(a), norms_of(b)]
    bound = max(isqrt_up(m["l2"]) if known == "l2" else m[known] for m in measured)
    stat = bounded(np.zeros(len(a), int), Contribution(**{known: bound}, monotone=monotone), neighbors)
    change = norms_of(a - b if neighbors is Neighbours.REPLACE_ONE else a)
    for norm in NORMS:
        limit = stat.sensitivity(norm)
        assert change[norm] <= (limit * limit if norm == "l2" else limit), norm


@given(small_vectors)
def test_replaced_outer_products_are_root_two_apart(rows):
    """Acute contributions: at most root two times the bound apart in l2, reached by orthogonal rows; l1 doubles."""
    a, b = (np.outer(r, r).ravel() for r in rows)
    bound = max(isqrt_up(norms_of(v)["l2"]) for v in (a, b))
    stat = bounded(np.zeros(len(a), int), Contribution(l2=bound, acute=True), Neighbours.REPLACE_ONE)
    assert norms_of(a - b)["l2"] <= stat.sensitivity("l2") ** 2
    plain = bounded(np.zeros(len(a), int), Contribution(l2=bound), Neighbours.REPLACE_ONE)
    assert stat.sensitivity("l2") == isqrt_up(2 * bound * bound) and plain.sensitivity("l2") == 2 * bound
    assert stat.sensitivity("l1") == plain.sensitivity("l1")
    assert not stat.absolute().contribution.acute
    assert stat.linear(np.eye(len(a), dtype=int)).sensitivity("l2") == 2 * bound  # a map may turn them apart
    far = np.outer([bound, 0], [bound, 0]) - np.outer([0, bound], [0, bound])
    assert norms_of(far.ravel())["l2"] == 2 * bound**4


matrices = st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(
    lambda s: st.tuples(
        st.lists(st.lists(st.integers(-9, 9), min_size=s[1], max_size=s[1]), min_size=s[0], max_size=s[0]),
        st.lists(st.integers(-50, 50), min_size=s[1], max_size=s[1]),
    )
)


@given(matrices, st.sampled_from(["l1", "l2", "linf"]), st.booleans())
def test_linear_maps_carry_values_and_bounds(case, known, sparse):
    matrix, row = np.array(case[0]), np.array(case[1])
    m = norms_of(row)
    bound = isqrt_up(m["l2"]) if known == "l2" else m[known]
    stat = bounded(row, Contribution(**{known: bound}))
    image = stat.linear(sp.csr_array(matrix) if sparse else matrix)
    assert np.array_equal(unseal(image), matrix @ row)
    for norm, value in norms_of(matrix @ row).items():
        limit = image.sensitivity(norm)
        assert value <= (limit * limit if norm == "l2" else limit)


def test_a_rotation_keeps_the_l2_bound():
    rotated = bounded([1, 2], Contribution(l2=5)).linear(np.array([[3, 4], [-4, 3]]), Fraction(1, 5))
    assert rotated.sensitivity("l2") * rotated.unit == 5


def test_linear_maps_refuse_fractions_and_overflow():
    with pytest.raises(ValueError, match="whole-number"):
        bounded([1, 2]).linear(np.array([[0.5, 1.0]]))
    with pytest.raises(OverflowError):
        bounded([2**50, 0]).linear(np.array([[2**20, 0]]))


@pytest.mark.parametrize("entry", [1, 2**31, 2**32, 2**40, 2**52 + 1])
def test_bounds_of_sparse_maps_are_those_of_dense_ones_however_large_the_entries(entry):
    """Squares and sums of entries beyond 2**31 leave 64 bits; a wrapped sum of squares would be a bound of zero."""
    matrix = np.array([[entry, -entry, 1], [0, entry, 0]])
    stat = bounded([1, 0, 0], Contribution(l2=5))
    dense, sparse = (stat.linear(m) for m in (matrix, sp.csr_array(matrix)))
    for norm in ("linf", "range"):
        assert dense.sensitivity(norm) == sparse.sensitivity(norm)
    assert sparse.sensitivity("linf") >= 5 * entry
    assert sparse.sensitivity("l2") >= dense.sensitivity("l2") >= 5 * entry
    many = sp.csr_array(np.full((1, 2**12), 2**52))
    assert bounded(np.zeros(2**12, int), Contribution(linf=1)).linear(many).sensitivity("linf") == 2**64


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=5))
def test_signed_pair_and_absolute(row):
    a = np.array(row)
    stat = bounded(a, Contribution(linf=int(np.max(np.abs(a)))))
    pair, size = stat.signed_pair(), stat.absolute()
    assert np.array_equal(unseal(pair), np.r_[a, -a])
    assert np.array_equal(unseal(size), np.abs(a))
    m = norms_of(np.r_[a, -a])
    assert m["range"] <= pair.sensitivity("range")
    assert m["l2"] <= pair.sensitivity("l2") ** 2
    assert m["l1"] <= pair.sensitivity("l1")


def test_scaling_changes_the_unit_and_not_the_integers():
    doubled = bounded([3]).scaled(2)
    assert doubled.unit == 2
    assert doubled.sensitivity("l1") == 1
    with pytest.raises(ValueError, match="positive"):
        bounded([3]).scaled(-1)


def test_a_triangle_must_have_the_size_of_its_order():
    with pytest.raises(ValueError, match="packed triangle"):
        bounded([1, 2], symmetric=2)
    assert bounded([1, 2, 3], Contribution(linf=1), symmetric=2).sensitivity("l2") == 2


def test_contributions_must_be_whole_and_given():
    with pytest.raises(ValueError, match="at least one"):
        Contribution()
    with pytest.raises(ValueError, match="whole grid units"):
        Contribution(l1=1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="complete"):
        Contribution(l1=1).sensitivity("linf", Neighbours.ZERO_OUT)


def test_planted_missing_doubling_is_caught():
    """PITFALLS 12: a twin without the factor 2 under replace-one breaks the law above."""

    class Twin(Contribution):
        def sensitivity(self, norm, neighbors):
            return Contribution.sensitivity(self, norm, Neighbours.ZERO_OUT)

    rows = np.array([5, -3]), np.array([-5, 3])
    bound = Twin(**vars(Contribution(linf=5).complete(2)))
    change = norms_of(rows[0] - rows[1])
    assert change["linf"] > bound.sensitivity("linf", Neighbours.REPLACE_ONE)
    assert change["linf"] <= Contribution(linf=5).complete(2).sensitivity("linf", Neighbours.REPLACE_ONE)
