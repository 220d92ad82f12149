"""Exactness of the noise: against a slow second reading in 200 bits, and against exact probabilities.

Distribution tests use fixed seeds; each would raise a false alarm for about one seed in a million (p < 1e-6).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from scipy import special, stats

from discreet.mechanisms.exact import Stream, exp_bounds, rounded_gaussian, rounded_laplace, sampler, table
from discreet.randomness import SeededSource, Source
from tests.mechanisms import reference_exact as reference
from tests.mechanisms.reference_exact import mp

ALARM = 1e-6
FAMILIES = ["gaussian", "laplace"]
KINDS = [("gaussian", False), ("laplace", False), ("laplace", True)]


class Supplied(Source):
    """Words given beforehand; running out of them is an error."""

    private = False

    def __init__(self, words: list[int]) -> None:
        self.given, self.at = np.array(words, dtype=np.uint64), 0

    def words(self, n: int) -> np.ndarray:
        assert self.at + n <= len(self.given), "more words asked for than the draws need"
        self.at += n
        return self.given[self.at - n : self.at]

    def child(self, *labels: int | str) -> Source:
        raise AssertionError


class Tape:
    """Chosen words, then random ones; remembers what was read."""

    def __init__(self, chosen: list[int], rng: np.random.Generator) -> None:
        self.chosen, self.rng, self.read = chosen, rng, []

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        n = len(self.read)
        word = self.chosen[n] if n < len(self.chosen) else int(self.rng.integers(2**64, dtype=np.uint64))
        self.read.append(word)
        return word


def chunks(number: int, n: int) -> list[int]:
    """The last 64 n bits of a number, as words."""
    return [number >> 64 * (n - 1 - i) & 2**64 - 1 for i in range(n)]


def near(rng: np.random.Generator, digits: int) -> int:
    """A whole number within 2**(digits - 60) of zero, of any magnitude, and often 0 or +-1."""
    size = int(rng.integers(0, digits - 59))
    return int(rng.integers(-(2 ** min(size, 62)), 2 ** min(size, 62) + 1)) << max(0, size - 62)


def rounding_edge(family: str, scale: float, discrete: bool, rng: np.random.Generator) -> list[int]:
    """Words for a deviate whose product with the scale is within 2**-60 of where the rounding changes."""
    reach = 4 if family == "gaussian" else 8
    most = max(1, int(scale * reach))
    k = int(rng.integers(0, most))
    edge = (Fraction(k + 1) if discrete else Fraction(2 * k + 1, 2)) / Fraction(scale)
    point = 54 + 128  # digits of x that are chosen
    x = math.floor(edge * 2**point) + math.floor(Fraction(near(rng, 120), 2**120) / Fraction(scale) * 2**point)
    x = max(0, x)
    column = x >> 177
    if column >= 32 * reference.REACH[family]:
        return []
    full = reference.layout(family)[0]
    row = int(rng.integers(0, max(full[column], 1)))
    cell = reference.cell_of(family, column, row)
    first = cell << 50 | (x >> 128 & 2**49 - 1) << 1 | int(rng.integers(2))
    height = [] if row < full[column] else [0]  # in a border cell, low enough to be under the curve
    return [first, *height, *chunks(x, 2)]


def acceptance_edge(family: str, rng: np.random.Generator) -> list[int]:
    """Words for a point in a border cell whose height is within 2**-60 of the curve."""
    full = reference.layout(family)[0]
    column = int(rng.integers(len(full)))
    x = column << 177 | int(rng.integers(2**49)) << 128 | int.from_bytes(rng.bytes(16), "little")
    mp.prec = 500
    top = reference.ROWS[family] * reference.density(family, mp.ldexp(mp.mpf(x), -182))
    y = int(mp.floor(mp.ldexp(top, 192))) + near(rng, 192)
    cell = reference.cell_of(family, column, y >> 192)
    if cell < 0 or y >> 192 < full[column]:
        return []
    first = cell << 50 | (x >> 128 & 2**49 - 1) << 1 | int(rng.integers(2))
    (x1, x0), (y2, y1, y0) = chunks(x, 2), chunks(y, 3)
    return [first, y2, x1, y1, x0, y0]


def tail(family: str, rng: np.random.Generator) -> list[int]:
    """Words for a proposal in the tail; half of them near its acceptance edge."""
    piece = int(rng.geometric(0.5)) - 1
    first = reference.n_cells(family) << 50 | int(rng.integers(2**41)) << 1 | int(rng.integers(2))
    lead = 2 ** (63 - piece) + int(rng.integers(2**62)) % 2 ** (63 - piece)
    x = int.from_bytes(rng.bytes(16), "little")
    mp.prec = 500
    at = reference.REACH[family] + piece + mp.ldexp(mp.mpf(x), -128)
    ratio = reference.density(family, at) * reference.ROWS[family] * 32 * 256 * 2 ** (piece + 1)
    y = int(mp.floor(mp.ldexp(ratio, 128))) + near(rng, 128) if rng.random() < 0.5 else int(rng.integers(2**62))
    (x1, x0), (y1, y0) = chunks(x, 2), chunks(max(y, 0) % 2**128, 2)
    return [first, lead, x1, y1, x0, y0]


def agree(family: str, discrete: bool, scales: list[float], n: int, seed: int) -> None:
    """Draw from n streams, nine in ten of them forced near an edge, and compare word by word with the reference."""
    rng = np.random.default_rng(seed)
    for scale in scales:
        words: list[int] = []
        wanted: list[int] = []
        for _ in range(n // len(scales)):
            kind = rng.random()
            chosen: list[int] = []
            if kind < 0.6 and scale >= 0.3:
                chosen = rounding_edge(family, scale, discrete, rng)
            elif kind < 0.8:
                chosen = acceptance_edge(family, rng)
            elif kind < 0.9:
                chosen = tail(family, rng)
            tape = Tape(chosen, rng)
            wanted.append(reference.draw(family, scale, discrete, tape))
            words += tape.read
        source = Supplied(words)
        assert sampler(family, scale, discrete).draw(source, len(wanted)).tolist() == wanted
        assert source.at == len(words), "words were left over"


def odd(scale: float) -> float:
    """A scale of about that size with all 53 bits in use."""
    return scale * (1 + math.pi / 10)


SCALES = [2.0**-10, odd(0.4), 1.0, 100.0, odd(100), 2.0**20, odd(2.0**30), 2.0**40, odd(2.0**40)]


@pytest.mark.parametrize(("family", "discrete"), KINDS)
def test_equals_200_bit_reference(family: str, discrete: bool) -> None:
    agree(family, discrete, SCALES, 4500, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize(("family", "discrete"), KINDS)
def test_equals_200_bit_reference_on_a_million_streams(family: str, discrete: bool) -> None:
    agree(family, discrete, SCALES, 340_000, seed=2)


def test_edges_are_really_met() -> None:
    """The forced streams do what they are for: nearly all rounding edges need digits beyond the first 54."""
    rng = np.random.default_rng(3)
    longer = 0
    for _ in range(300):
        tape = Tape(rounding_edge("gaussian", 100.0, False, rng), rng)
        reference.draw("gaussian", 100.0, False, tape)
        longer += len(tape.read) >= 2
    assert longer > 270


@pytest.mark.parametrize(("family", "discrete"), KINDS)
@pytest.mark.parametrize("scale", [2.0**-20, 0.3, 7.0, 2.0**30, 2.0**52])
def test_loop_agrees_with_its_definition(family: str, discrete: bool, scale: float) -> None:
    s = sampler(family, scale, discrete)
    stream = Stream(SeededSource(4))
    assert s.draw(SeededSource(4), 4000).tolist() == [s.one(stream) for _ in range(4000)]


@pytest.mark.parametrize(("family", "discrete"), KINDS)
def test_one_call_or_many_is_the_same_stream(family: str, discrete: bool) -> None:
    s, source = sampler(family, 2.0**35, discrete), SeededSource(6)
    parts = np.concatenate([s.draw(source, n) for n in (0, 1, 2, 3, 997, 40_000, 1)])
    assert np.array_equal(parts, s.draw(SeededSource(6), len(parts)))


def exact_probabilities(family: str, discrete: bool, scale: float, most: int) -> np.ndarray:
    """P(|noise| = k) for k = 0..most, and P(|noise| > most)."""
    k = np.arange(most + 1)
    if discrete:
        beyond = 2 * np.exp(-(k + 1) / scale) / (1 + np.exp(-1 / scale))
    elif family == "gaussian":
        beyond = special.erfc((k + 0.5) / scale / math.sqrt(2))
    else:
        beyond = np.exp(-(k + 0.5) / scale)
    return np.concatenate([-np.diff(np.concatenate([[1.0], beyond])), beyond[-1:]])


def check_distribution(family: str, discrete: bool, scale: float, n: int, seed: int) -> None:
    s, source = sampler(family, scale, discrete), SeededSource(seed)
    most = int(scale * (4 if family == "gaussian" else 8)) + 1
    tails = [m * scale for m in ((4.0, 4.5, 5.0, 6.0) if family == "gaussian" else (8.0, 10.0, 12.0, 15.0))]
    counts, above, positive = np.zeros(most + 2, dtype=np.int64), np.zeros(len(tails), dtype=np.int64), 0
    for _ in range(-(-n // 10**6)):
        draws = s.draw(source, min(n, 10**6))
        size = np.abs(draws)
        counts += np.bincount(np.minimum(size, most + 1), minlength=most + 2)
        above += [(size > t).sum() for t in tails]
        positive += int((draws > 0).sum())
    n = int(counts.sum())
    p = exact_probabilities(family, discrete, scale, most)
    keep = p * n >= 10
    observed, expected = np.append(counts[keep], counts[~keep].sum()), n * np.append(p[keep], p[~keep].sum())
    statistic = float(((observed - expected) ** 2 / np.maximum(expected, 1e-9))[expected > 1e-6].sum())
    assert stats.chi2.sf(statistic, len(observed) - 1) > ALARM
    for t, seen in zip(tails, above, strict=True):
        chance = exact_probabilities(family, discrete, scale, math.floor(t))[-1]
        assert stats.binomtest(int(seen), n, chance).pvalue > ALARM
    assert stats.binomtest(positive, n - int(counts[0])).pvalue > ALARM


@pytest.mark.parametrize(("family", "discrete"), KINDS)
@pytest.mark.parametrize("scale", [0.6, 1.0, 20.3])
def test_distribution(family: str, discrete: bool, scale: float) -> None:
    check_distribution(family, discrete, scale, 300_000, seed=7)


@pytest.mark.slow
@pytest.mark.parametrize(("family", "discrete"), KINDS)
@pytest.mark.parametrize("scale", [0.6, 1.0, 20.3, 500.0])
def test_distribution_of_ten_million(family: str, discrete: bool, scale: float) -> None:
    check_distribution(family, discrete, scale, 10**7, seed=8)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("scale", [2.0**30, 2.0**40])
def test_large_scales_to_the_last_digit(family: str, scale: float) -> None:
    """Equal-chance bins of the continuous law, and uniform low bytes: columns and digits are joined without seams."""
    n = 400_000
    draws = sampler(family, scale).draw(SeededSource(9), n)
    cdf = stats.norm.cdf if family == "gaussian" else stats.laplace.cdf
    bins = np.floor(cdf(draws / scale) * 1000).astype(int)
    assert stats.chisquare(np.bincount(bins, minlength=1000)).pvalue > ALARM
    assert stats.chisquare(np.bincount(draws & 255, minlength=256)).pvalue > ALARM
    fine = np.floor(np.abs(draws) / scale * 512) % 16  # sixteenths of a column
    assert stats.chisquare(np.bincount(fine.astype(int), minlength=16), n * sixteenths(family)).pvalue > ALARM


def sixteenths(family: str) -> np.ndarray:
    edges = np.arange(0, 40 * 512 + 1) / 512
    below = special.erf(edges / math.sqrt(2)) if family == "gaussian" else -np.expm1(-edges)
    return np.diff(below).reshape(-1, 16).sum(axis=0)


def test_exp_bounds_hold_in_mpmath() -> None:
    rng = np.random.default_rng(10)
    with mp.workprec(900):
        for _ in range(2000):
            point, digits = int(rng.integers(0, 150)), int(rng.integers(1, 400))
            number = int.from_bytes(rng.bytes(20), "little") >> int(rng.integers(0, 160))
            low, high = exp_bounds(number, point, digits)
            true = mp.ldexp(mp.exp(-mp.ldexp(mp.mpf(number), -point)), digits)
            assert low <= true <= high
            assert high - low <= 2


@pytest.mark.parametrize("family", FAMILIES)
def test_the_cells_cover_the_curve_and_the_stairs_the_tail(family: str) -> None:
    t = table(family)
    assert t.n_inside == reference.layout(family)[2][-1]
    assert t.n_cells == reference.n_cells(family) < 2**14
    height, reach = reference.ROWS[family], reference.REACH[family]
    for piece in range(100):
        stair = mp.mpf(2) ** -(piece + 1) / (height * 32 * 256)
        assert reference.density(family, mp.mpf(reach + piece)) <= stair


@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan, 2.0**-21, 2.0**53])
def test_scales_out_of_reach_are_refused(scale: float) -> None:
    for draw in (rounded_gaussian, rounded_laplace):
        with pytest.raises(ValueError, match="scale must lie between"):
            draw(SeededSource(0), scale, 1)


def test_ten_million_at_once() -> None:
    draws = rounded_gaussian(SeededSource(11), 1.0, 10**7)
    assert draws.dtype == np.int64
    assert len(draws) == 10**7
    assert abs(draws.mean()) < 5 * math.sqrt((1 + 1 / 12) / 10**7)  # five standard errors
