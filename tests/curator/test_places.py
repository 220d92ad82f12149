"""Places count what lies apart from zero, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet.curator.places import STEPS, Places
from discreet.curator.survey import make_survey
from discreet.privacy import unseal

EDGES = [0.0, 0.25, 0.5, 0.75]


def expected(X: NDArray[np.float64], cap: int, centre: float, scale: float) -> NDArray[np.int64]:
    """Row by row, as the definition says."""
    p = X.shape[1]
    out = np.zeros((p, len(EDGES) + 1), dtype=np.int64)
    zero = sum(e <= -centre / scale for e in EDGES)
    for x in X:
        bins = [sum(e <= (v - centre) / scale for e in EDGES) for v in x]
        many = sum(b != zero for b in bins)
        share = STEPS if many <= cap else int(np.floor(STEPS * np.sqrt(cap / many)))
        for j, b in enumerate(bins):
            out[j, b] += share if b != zero else 0
    return out


@pytest.mark.parametrize("cap", [1, 2, 4])
@pytest.mark.parametrize("centre", [0.0, -0.6, 3.0])
def test_the_histogram_is_that_of_its_definition(cap: int, centre: float) -> None:
    X = np.random.default_rng(0).normal(size=(200, 4)) * (np.random.default_rng(1).random((200, 4)) < 0.5)
    found = unseal(Places(make_survey(X), EDGES, centre, 2.0).histogram(cap)).reshape(4, -1)
    assert found.tolist() == expected(X, cap, centre, 2.0).tolist()


def test_sparse_rows_and_large_blocks_count_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    X = sp.random(500, 30, density=0.1, random_state=0, format="csr")
    plain = unseal(Places(make_survey(X.toarray()), EDGES).histogram(3)).tolist()
    assert sum(plain) > 0
    assert unseal(Places(make_survey(X), EDGES).histogram(3)).tolist() == plain
    monkeypatch.setattr("discreet.curator.places.TILE_ENTRIES", 64)
    assert unseal(Places(make_survey(X.toarray()), EDGES).histogram(3)).tolist() == plain


def test_rows_of_zeros_say_nothing() -> None:
    places = Places(make_survey(np.zeros((50, 3))), EDGES)
    assert not unseal(places.histogram(1)).any()
    assert unseal(places.entries([1.0])).tolist() == [50, 0]


def test_what_makes_no_sense_is_refused() -> None:
    survey = make_survey(sp.csr_array(np.eye(3)))
    with pytest.raises(ValueError, match="zeros aren't stored"):
        Places(survey, EDGES, centre=1.0)
    with pytest.raises(ValueError, match="scale positive"):
        Places(survey, EDGES, scale=0.0)
    with pytest.raises(ValueError, match="cap=4"):
        Places(survey, EDGES).histogram(4)
