"""Bounds bought from the data: where each column lies, how long rows are, where the target lies.

Two rounds of histograms locate every column: signed powers of two for the magnitude, then sixteen equal bins for the
place.  A third, of row norms, chooses where to clip.  All are noisy counts; everything after them is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

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
from discreet.estimators.ranges import (
    ODD_SIZES,
    POWERS,
    SIZES,
    boxed,
    held,
    located,
    paired,
    shortest,
    sizes,
    tidy,
    usual_size,
)
from discreet.mechanisms import Gaussian, Laplace
from discreet.privacy import Bounded, Budget
from discreet.randomness import Source

__all__ = ["BoundsBuyer", "PaidBounds"]

Floats = NDArray[np.float64]
Edges = Floats

MAGNITUDES: Edges = np.concatenate([-POWERS[::-1], POWERS])
TARGETS: Edges = np.concatenate([-POWERS[::-2], POWERS[::2]])
PLACES: Edges = np.linspace(0.0, 1.0, 17)[1:-1]
SHRINKING: Edges = 1.07 ** np.arange(-70.0, 1.0)
SHARES = {
    "entries": 0.01, "columns": 0.03, "places": 0.03, "norms": 0.01, "target": 0.03, "target places": 0.03,
    "lengths": 0.01, "centre": 0.03, "sizes": 0.01, "odd entries": 0.01, "odd columns": 0.06, "frequencies": 0.05,
}  # fmt: skip
AMPLE = 600.0  # rows times mu, per column: with more, public bounds are kept as they are
DEAR, WIDE = 300.0, 2000.0  # rows times mu: below, ranges of targets get a greater part; public ones are narrowed
ROOM = 0.25  # beyond the range of a column, in its width
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
        usual = usual_size(*self._counts(pooled_magnitudes(self.survey, SIZES), "sizes"))
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
        """`unknown` with the range of each column, or of all together where that is all that can be afforded.

        Regressors get some room beyond: what is cut there bends a line, and rows are cut by their norm later on.
        """
        p = self.survey.n_features
        if self._noise("columns", math.sqrt(p) if not self.budget.is_pure else p) * 8 > self.n_rows / 8:
            return self._common(unknown, scaled)
        places = Places(self.survey, MAGNITUDES)
        cap = self._cap(places, p)
        low, high = tidy(*self._ranges(places, "columns", cap))
        if not self.survey.sparse:
            low, high = self._narrowed(low, np.maximum(high - low, 1e-300), cap)
            room = ROOM * (high - low) if unknown.y is not None else 0.0
            low, high = low - room, high + room
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
        usual = usual_size(counts, tall)
        self.paid["feature bounds"] = "one scale for all columns, from a noisy histogram of the sizes of entries"
        scale = np.full(p, usual)
        if p <= MOST_COLUMNS:
            edges = 2.0 ** np.arange(0.0, math.ceil(math.log2(p)) + 1)
            cap = self._seldom_exceeded(uncommon_entries(self.survey, usual / 8, usual, edges), "odd entries", edges, p)
            histogram = column_magnitudes(self.survey, ODD_SIZES, usual / 8, usual, cap)
            odd, tall = self._counts(histogram, "odd columns")
            scale = sizes(odd.reshape(p, -1), tall, usual, self.n_rows)
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
        """The range of the target, and room for its rarest values; -1 to 1 where too few rows say what it is."""
        counts, tall = self._counts(self.survey.target_histogram(TARGETS), "target")
        tall *= 0.85  # one time in a hundred; the rounds that follow mend small errors
        counts = paired(counts, tall, int(TARGETS.size // 2))
        low, high = (float(v[0]) for v in located(counts[None], TARGETS, tall, self.n_rows))
        if counts.max() < tall:
            low, high = -1.0, 1.0
        low, high = (0.0 if abs(v) <= POWERS[0] else v for v in (low, high))
        if not low < high:
            low, high = -POWERS[0], POWERS[0]
        return self.target_within(low, high, rounds=3)

    def target_within(self, low: float, high: float, rounds: int = 2) -> tuple[float, float]:
        """Where targets lie in a range: twice the sixteenths that hold nearly all, then room for what may be hidden."""
        self.paid["range of the target"] = "from noisy histograms"
        one = self._noise("target places", 1.0) / self.n_rows
        for _ in range(rounds):
            counts, _ = self._counts(self.survey.target_histogram(low + PLACES * (high - low)), "target places")
            places = np.concatenate([[0.0], PLACES, [1.0]]) * (high - low) + low
            a, b = shortest(counts / self.n_rows, one)
            low, high = float(places[a]), float(places[b])
        room = (high - low) * (min(max(50 * one, 0.5), 1.25) if b - a > 3 else 0.5)
        return low - room, high + room

    @property
    def unsure(self) -> bool:
        """Whether a public range of the target may be much wider than what so few rows can be learnt from."""
        return self.n_rows * strength(self.budget) < WIDE and not self.budget.is_pure

    # noise -----------------------------------------------------------------------------------------------------------
    def _mechanism(self, name: str) -> Gaussian | Laplace:
        source, share = self.source.child("bounds", name), SHARES[name]
        if name.startswith("target"):
            dear = (DEAR / (self.n_rows * strength(self.budget))) ** 2
            share *= min(max(dear, 1.0), 5.0 if name == "target" else 2.7)
        if self.budget.is_pure:
            part = self.budget.split([share, 1 - share])[0]
            return Laplace(part.epsilon, source=source)
        mu = accounting.gdp.mu_for(self.budget.epsilon, self.budget.delta)
        return Gaussian(math.nextafter(1 / (mu * math.sqrt(share)), math.inf), source=source)

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
