"""Bounds bought from the data: where each column lies, how long rows are, where the target lies.

Two rounds of histograms locate every column: signed powers of two for the magnitude, then sixteen equal bins for the
place.  A third, of row norms, chooses where to clip.  All are noisy counts; everything after them is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from dp_accounting import dp_event
from numpy.typing import NDArray

from discreet import accounting
from discreet.accounting.events import compose
from discreet.accounting.published import strength
from discreet.curator import RowBounds
from discreet.curator.magnitudes import column_magnitudes, pooled_magnitudes, uncommon_entries
from discreet.curator.places import Places
from discreet.curator.survey import Survey
from discreet.mechanisms import Gaussian, Laplace
from discreet.privacy import Bounded, Budget
from discreet.randomness import Source

__all__ = ["BoundsBuyer", "PaidBounds", "located"]

Floats = NDArray[np.float64]
Edges = Floats

_POWERS: Floats = 2.0 ** np.arange(-46.0, 47.0)
MAGNITUDES: Edges = np.concatenate([-_POWERS[::-1], _POWERS])
TARGETS: Edges = np.concatenate([-_POWERS[::-2], _POWERS[::2]])
PLACES: Edges = np.linspace(0.0, 1.0, 17)[1:-1]
SHRINKING: Edges = 1.07 ** np.arange(-70.0, 1.0)
SIZES: Edges = 2.0 ** np.arange(-47.0, 48.0)
ODD_SIZES: Edges = 4.0 ** np.arange(-23.0, 24.0)
SHARES = {
    "entries": 0.01, "columns": 0.03, "places": 0.03, "norms": 0.01, "target": 0.03, "target places": 0.03,
    "lengths": 0.01, "centre": 0.03, "sizes": 0.01, "odd entries": 0.01, "odd columns": 0.06, "frequencies": 0.05,
}  # fmt: skip
MANY = 0.25  # of the rows: where half of the columns were narrowed by more, it was noise that did it
FEW, SURE = 0.05, 1.5  # rows that may then be cut off a column, or what noise reaches at that many deviations
AMPLE = 600.0  # rows times mu, per column: with more, public bounds are kept as they are
MOST_COLUMNS = 4096  # for a histogram of each
FEWEST_WORDS = 1000  # columns: fewer are hardly words
WORDS = 32  # different words that a row may say in full when words are counted
UNIT_NORM = 0.5  # of a row, below that of any single rare word: so rows differ in direction alone


@dataclass(frozen=True)
class PaidBounds:
    """Bounds, and what they cost.

    Examples
    --------
    >>> PaidBounds(RowBounds(l2=1.0), dp_event.NoOpDpEvent(), {}).paid
    {}
    """

    bounds: RowBounds
    event: dp_event.DpEvent
    paid: dict[str, str]


@dataclass
class BoundsBuyer:
    """Buys bounds from raw rows, each for a fixed share of the budget.

    The shares are constants, so what the solver has left never depends on the data.

    Parameters
    ----------
    survey : Survey
        The raw rows.
    budget : Budget
        The whole budget of the fit.
    n_rows : int
        The number of rows, public or bought.
    source : Source
        Where noise comes from.

    Notes
    -----
    *Privacy.* Guarantee: a few noisy histograms, with the events in :attr:`event`.  Neighbours: the survey's.
    Public: bin edges and shares.  Bounded by: a row is in one bin of each histogram.
    Proof: ``proofs/private_bounds.md``.

    Examples
    --------
    >>> from discreet.curator.survey import make_survey
    >>> from discreet.randomness import SeededSource
    >>> X = np.linspace(1990, 2010, 20_000).reshape(-1, 1)
    >>> buyer = BoundsBuyer(make_survey(X), Budget(1, 1e-6), 20_000, SeededSource(0))
    >>> bounds = buyer.features(RowBounds(l2=1.0))
    >>> bool(bounds.low[0] <= 1992 and 2008 <= bounds.high[0] <= 2050)
    True
    """

    survey: Survey
    budget: Budget
    n_rows: int
    source: Source
    events: list[dp_event.DpEvent] = field(default_factory=list)
    paid: dict[str, str] = field(default_factory=dict)

    @property
    def event(self) -> dp_event.DpEvent:
        """What was bought so far."""
        return compose(*self.events)

    @property
    def narrow(self) -> bool:
        """Whether a look at where rows lie within public bounds is worth its price."""
        few = self.n_rows * strength(self.budget) < AMPLE * self.survey.n_features
        return few and not self.budget.is_pure and not self.survey.sparse

    def are_words(self, *, scaled: bool) -> bool:
        """Whether rows of classes are taken for words: sparse, with more columns than rows times mu."""
        p = self.survey.n_features
        many = p >= FEWEST_WORDS and self.n_rows * strength(self.budget) < p
        return many and scaled and self.survey.sparse and not self.budget.is_pure

    def words(self, unknown: RowBounds) -> RowBounds:
        """Presence instead of size, weighted by ``log(n / frequency)`` of noisy frequencies; rows of one length.

        Frequencies below twice their noise count as that: rare words can't be told apart, and weigh most.
        """
        p = self.survey.n_features
        usual = _usual_size(*self._counts(pooled_magnitudes(self.survey, SIZES), "sizes"))
        sealed = self.survey.column_presence(WORDS)
        floor = 2 * math.sqrt(self._mechanism("frequencies").variance(sealed))
        counts, _ = self._counts(sealed, "frequencies")
        most = max(self.n_rows, math.e * floor)  # where nothing is known, words stay alike
        rarity = np.log(most / np.maximum(counts, floor)) / math.log(most / floor)
        scale = usual / np.clip(rarity, 2.0**-8, 1.0)
        self.paid["feature bounds"] = "presence, from a noisy histogram of the sizes of entries; rows cut to one length"
        self.paid["frequencies of columns"] = "from noisy counts of the rows that have an entry there"
        box = np.full(p, usual)
        return replace(unknown, low=-box, high=box, centre=np.zeros(p), scale=scale, l2=UNIT_NORM)

    def features(self, unknown: RowBounds, *, scaled: bool = True) -> RowBounds:
        """`unknown` with the range of each column, or of all together where that is all that can be afforded."""
        p = self.survey.n_features
        if self._noise("columns", math.sqrt(p) if not self.budget.is_pure else p) * 8 > self.n_rows / 8:
            return self._common(unknown, scaled)
        places = Places(self.survey, MAGNITUDES)
        cap = self._cap(places, p)
        low, high = _tidy(*self._ranges(places, "columns", cap))
        if not self.survey.sparse:
            low, high = self._narrowed(low, np.maximum(high - low, 1e-300), cap)
        self.paid["feature bounds"] = "a range for each column, from noisy histograms of its entries"
        return boxed(unknown, low, high, sparse=self.survey.sparse, scaled=scaled)

    def within(self, given: RowBounds) -> RowBounds:
        """`given`, with the range of each column cut to where more rows lie than noise alone could say.

        What lies in the rest of a wide public range is rare, and where rows are few too rare to learn from; what is
        left spreads over the whole scale.
        """
        p = self.survey.n_features
        low, high = (np.broadcast_to(side, (p,)) for side in (given.low, given.high))
        cap = self._cap(Places(self.survey, PLACES, low, high - low), p)
        self.paid["where rows lie within the bounds"] = "from noisy histograms of the entries of each column"
        return boxed(given, *self._narrowed(low, high - low, cap), sparse=False)

    def _narrowed(self, low: Floats, width: Floats, cap: int) -> tuple[Floats, Floats]:
        """The sixteenths of each range between which rows lie."""
        a, b = self._ranges(Places(self.survey, PLACES, low, width), "places", cap, keep=True)
        return low + np.maximum(a, 0.0) * width, low + np.minimum(b, 1.0) * width

    def _cap(self, places: Places, p: int) -> int:
        """A number of entries apart from zero that few rows exceed."""
        edges = 2.0 ** np.arange(0.0, math.ceil(math.log2(max(p, 2))) + 1)
        return self._seldom_exceeded(places.entries(edges), "entries", edges, p)

    def _seldom_exceeded(self, histogram: Bounded, name: str, edges: Edges, p: int) -> int:
        counts, tall = self._counts(histogram, name)
        above = np.cumsum(counts[::-1])[::-1][1:]  # rows with more entries than each edge
        few = np.flatnonzero(above < max(0.05 * self.n_rows, tall))
        return min(int(edges[few[0]]) if few.size else p, p)

    def _common(self, unknown: RowBounds, scaled: bool) -> RowBounds:
        """One scale for entries of the usual size, and other scales for columns that clearly differ from it.

        Entries beyond the scale are cut to it, so a column whose size stays unknown says where it isn't zero.
        """
        p = self.survey.n_features
        counts, tall = self._counts(pooled_magnitudes(self.survey, SIZES), "sizes")
        usual = _usual_size(counts, tall)
        self.paid["feature bounds"] = "one scale for all columns, from a noisy histogram of the sizes of entries"
        scale = np.full(p, usual)
        if p <= MOST_COLUMNS:
            edges = 2.0 ** np.arange(0.0, math.ceil(math.log2(p)) + 1)
            cap = self._seldom_exceeded(uncommon_entries(self.survey, usual / 8, usual, edges), "odd entries", edges, p)
            histogram = column_magnitudes(self.survey, ODD_SIZES, usual / 8, usual, cap)
            odd, tall = self._counts(histogram, "odd columns")
            scale = _sizes(odd.reshape(p, -1), tall, usual, self.n_rows)
            self.paid["feature bounds"] = "the usual size of entries, and that of columns that differ, from histograms"
        box = replace(unknown, low=-scale, high=scale, centre=np.zeros(p), l2=None)
        return replace(box, scale=scale) if scaled else box

    def centred(self, bounds: RowBounds, quantile: float) -> RowBounds:
        """`bounds` around the mean of the rows, as far as it is above the noise; rows are then as short as can be."""
        p, n = self.survey.n_features, self.n_rows
        total = self.survey.curator(self.norms(bounds, quantile, "lengths")).sum_rows()
        mechanism = self._mechanism("centre")
        self.events.append(mechanism.event)
        noise = math.sqrt(mechanism.variance(total)) / n
        mean = np.asarray(mechanism.release(total), dtype=np.float64) / n
        mean *= max(0.0, 1.0 - p * noise**2 / max(float(mean @ mean), 1e-300))
        self.paid["centre of the rows"] = "their mean, with noise"
        centre = np.zeros(p) if bounds.centre is None else bounds.centre
        return replace(bounds, centre=centre + bounds.scale * mean)

    def norms(self, bounds: RowBounds, quantile: float, name: str = "norms") -> RowBounds:
        """`bounds` with a clip at that quantile of the l2 norms of rows."""
        grid = bounds.grid(self.survey.n_features)
        edges = float(grid.l2 * grid.unit) * SHRINKING
        counts, tall = self._counts(self.survey.curator(bounds).norm_histogram(edges), name)
        above = np.cumsum(counts[::-1])[:-1]  # rows at or beyond each edge, from the longest down
        slack = np.sqrt(np.arange(1, edges.size + 1)) * tall / 4
        full = np.flatnonzero(above > (1 - quantile) * self.n_rows + slack)
        self.paid["row norm"] = "clipped near a quantile, from a noisy histogram"
        longest = edges[::-1][max(int(full[0]) - 1, 0)] if full.size else edges[-1]
        return replace(bounds, l2=float(longest))

    def target(self) -> tuple[float, float]:
        """The range of the target, without its rarest values; -1 to 1 where too few rows say what it is."""
        counts, tall = self._counts(self.survey.target_histogram(TARGETS), "target")
        low, high = (float(v[0]) for v in located(counts[None], TARGETS, tall, self.n_rows))
        if counts.max() < tall:
            low, high = -1.0, 1.0
        low, high = (0.0 if abs(v) <= _POWERS[0] else v for v in (low, high))
        if not low < high:
            low, high = -_POWERS[0], _POWERS[0]
        counts, tall = self._counts(self.survey.target_histogram(low + PLACES * (high - low)), "target places")
        a, b = _tails(counts, tall, self.n_rows)
        self.paid["range of the target"] = "from two noisy histograms"
        places = np.concatenate([[0.0], PLACES, [1.0]]) * (high - low) + low
        return float(places[a]), float(places[b])

    # noise -----------------------------------------------------------------------------------------------------------
    def _mechanism(self, name: str) -> Gaussian | Laplace:
        source = self.source.child("bounds", name)
        if self.budget.is_pure:
            part = self.budget.split([SHARES[name], 1 - SHARES[name]])[0]
            return Laplace(part.epsilon, source=source)
        mu = accounting.gdp.mu_for(self.budget.epsilon, self.budget.delta)
        return Gaussian(math.nextafter(1 / (mu * math.sqrt(SHARES[name])), math.inf), source=source)

    def _noise(self, name: str, sensitivity: float) -> float:
        """The scale of the noise on one count."""
        mechanism = self._mechanism(name)
        one = mechanism.noise_multiplier if isinstance(mechanism, Gaussian) else 1 / mechanism.epsilon
        return one * sensitivity * self.budget.neighbors.moves

    def _counts(self, histogram: Bounded, name: str) -> tuple[Floats, float]:
        """Noisy counts, and the height that noise alone reaches in one bin of a thousand histograms or fewer."""
        mechanism = self._mechanism(name)
        self.events.append(mechanism.event)
        deviation = math.sqrt(mechanism.variance(histogram))
        bins = math.log(1000.0 * histogram.size)
        tall = deviation * (math.sqrt(2 * bins) if isinstance(mechanism, Gaussian) else bins / math.sqrt(2))
        return mechanism.release(histogram), tall

    def _ranges(self, places: Places, name: str, cap: int, *, keep: bool = False) -> tuple[Floats, Floats]:
        sealed = places.histogram(cap)
        counts, tall = self._counts(sealed, name)
        counts = counts.reshape(-1, places.bins)
        every = np.arange(len(counts))
        counts[every, places.zero] = 0.0  # noise alone
        counts[every, places.zero] = self.n_rows - counts.sum(axis=1)
        low, high = located(counts, places.edges, tall, self.n_rows)
        return held(counts, places.edges, low, high, self._noise(name, math.sqrt(cap)), self.n_rows) if keep else (
            low, high)  # fmt: skip


def located(counts: Floats, edges: Edges, tall: float, n_rows: int) -> tuple[Floats, Floats]:
    """For each row of noisy counts the edges around its populated bins (the tallest one where none stands out).

    >>> located(np.array([[0.0, 90.0, 80.0, 3.0]]), np.array([0.0, 1.0, 2.0]), 10.0, 200)
    (array([0.]), array([2.]))
    """
    full = counts > max(tall, 0.002 * n_rows)
    best = counts.argmax(axis=1)
    full[np.arange(len(counts)), best] |= ~full.any(axis=1)
    first, last = full.argmax(axis=1), full.shape[1] - 1 - full[:, ::-1].argmax(axis=1)
    padded = np.concatenate([[2 * edges[0] - edges[1]], edges, [2 * edges[-1] - edges[-2]]])
    return padded[first], padded[last + 1]


def held(counts: Floats, edges: Edges, low: Floats, high: Floats, noise: float, n_rows: int) -> tuple[Floats, Floats]:
    """Ranges, widened while noisy sums say that rows lie outside, where most columns have lost many of theirs.

    What a few columns lose is rare values, and better lost.  Where noise is large and columns are spread evenly,
    single bins stand out in their middle alone, and rows would lose most of what they say.

    >>> counts = np.array([[10.0, 300.0, 400.0, 250.0, 0.0, 40.0]])
    >>> held(counts, np.arange(5.0), np.array([1.0]), np.array([2.0]), 10.0, 1000)
    (array([0.]), array([3.]))
    >>> held(np.array([[10.0, 0.0, 900.0, 90.0]]), np.arange(3.0), np.array([1.0]), np.array([2.0]), 10.0, 1000)
    (array([1.]), array([2.]))
    """
    ends = np.concatenate([[2 * edges[0] - edges[1]], edges, [2 * edges[-1] - edges[-2]]])
    first, last = np.searchsorted(ends, low), np.searchsorted(ends, high) - 1
    sums, every, top = np.cumsum(np.pad(counts, ((0, 0), (1, 0))), axis=1), np.arange(len(counts)), counts.shape[1] - 1
    lost = sums[every, first] + sums[:, -1] - sums[every, last + 1]
    if np.median(lost) <= MANY * n_rows:
        return low, high
    for _ in range(top):
        below, above = sums[every, first], sums[:, -1] - sums[every, last + 1]
        bins = first + top - last
        many = below + above > np.maximum(FEW * n_rows, SURE * noise * np.sqrt(bins))
        down = (first > 0) & ((below / np.maximum(first, 1) > above / np.maximum(top - last, 1)) | (last == top))
        first, last = first - (many & down), last + (many & ~down & (last < top))
    return ends[first], ends[last + 1]


def _usual_size(counts: Floats, tall: float) -> float:
    """The size below which the entries of the most common sizes lie; 1 where too few rows say what it is."""
    top = int(counts.argmax())
    if counts[top] < tall:
        return 1.0
    while top + 1 < SIZES.size and counts[top + 1] > max(0.4 * counts.max(), tall):
        top += 1
    return float(SIZES[min(top, SIZES.size - 1)])


def _sizes(odd: Floats, tall: float, usual: float, n_rows: int) -> Floats:
    """The scale of each column from noisy counts of its odd entries: `usual` unless enough rows say otherwise."""
    edges = np.append(ODD_SIZES, ODD_SIZES[-1] * 4)
    above = np.cumsum(odd[:, ::-1], axis=1)[:, ::-1]  # rows in each bin or beyond
    slack = np.sqrt(np.arange(edges.size, 0, -1.0))
    seen = above > np.maximum(0.05 * n_rows, 0.7 * tall * slack)
    top = edges.size - 1 - seen[:, ::-1].argmax(axis=1)
    found = np.where(seen.any(axis=1), edges[top], usual)
    small = (found < usual) & (above.max(axis=1) < 0.5 * n_rows)  # the rest of such a column is of the usual size
    return np.where(small, usual, found)


def _tails(counts: Floats, tall: float, n_rows: int) -> tuple[int, int]:
    """The bins between which all but the rarest rows lie, of one noisy histogram.

    >>> _tails(np.array([1.0, 0.0, 50.0, 60.0, 40.0, 1.0]), 10.0, 150)
    (2, 5)
    """
    size = np.arange(1.0, counts.size + 1)
    slack = np.maximum(0.005 * n_rows, tall / 3 * np.sqrt(size))
    low = int((np.cumsum(counts) > slack).argmax())
    high = counts.size - int((np.cumsum(counts[::-1]) > slack).argmax())
    return (low, high) if low < high else (0, counts.size)


def _tidy(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Zero for the bin around zero; columns of which only zeros were seen get the usual scale of the others."""
    tiny = _POWERS[0]
    low, high = np.where(np.abs(low) <= tiny, 0.0, low), np.where(np.abs(high) <= tiny, 0.0, high)
    empty = (low == 0) & (high == 0)
    usual = np.maximum(np.abs(low), np.abs(high))[~empty]
    high = np.where(empty, float(np.median(usual)) if usual.size else 1.0, high)
    return low, high


def boxed(bounds: RowBounds, low: Floats, high: Floats, *, sparse: bool, scaled: bool = True) -> RowBounds:
    """`bounds` with ranges of columns: a zero that is allowed stays zero, and the widest side becomes one.

    >>> boxed(RowBounds(l2=1.0), np.array([0.0, 1990.0]), np.array([2.0, 2010.0]), sparse=False).centre
    array([   0., 2000.])
    """
    centre = np.where((low > 0) | (high < 0), (low + high) / 2, 0.0)
    if sparse:
        low, high, centre = np.minimum(low, 0.0), np.maximum(high, 0.0), np.zeros_like(centre)
    reach = np.maximum(high - centre, centre - low)
    scale: Any = reach if scaled else 1.0
    return replace(bounds, low=low, high=high, centre=centre, scale=scale, l2=None)
