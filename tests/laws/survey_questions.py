"""What the laws of curators ask of rows without bounds."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.curator.magnitudes import column_magnitudes, pooled_magnitudes, uncommon_entries
from discreet.curator.places import Places
from discreet.curator.ranks import rank_scores
from discreet.curator.tournament import tournament_scores
from discreet.privacy import Bounded

P = 6  # columns

SURVEYS: dict[str, Callable[[Any], Bounded]] = {
    "count": lambda s: s.count(),
    "norms": lambda s: s.norm_histogram(2.0 ** np.arange(-5, 10)),
    "scaled norms": lambda s: s.norm_histogram([0.1, 1.0, 1e200], norm="l1", scale=np.arange(1.0, P + 1)),
    "columns": lambda s: s.column_histogram([-1.0, 0.0, 0.5]),
    "column": lambda s: s.column_histogram([0.1, 0.7], column=3, absolute=True),
    "targets": lambda s: s.target_histogram([-0.5, 0.5]),
    "labels": lambda s: s.label_histogram([1, -1, 4]),
    "presence": lambda s: s.column_presence(cap=2),
    "pooled sizes": lambda s: pooled_magnitudes(s, 2.0 ** np.arange(-3, 4)),
    "uncommon entries": lambda s: uncommon_entries(s, 0.5, 1.5, [1, 2, 4]),
    "sizes of columns": lambda s: column_magnitudes(s, [0.1, 1.0, 2.0], 0.5, 1.5, cap=2),
    "all sizes of columns": lambda s: column_magnitudes(s, [0.1, 1.0, 2.0], 1e300, 1e301, cap=P),
    "many entries": lambda s: Places(s, [0.0, 0.5]).entries([1, 2, 4]),
    "places": lambda s: Places(s, [-0.5, 0.1, 0.5, 2.0]).histogram(cap=2),
    "scaled places": lambda s: Places(s, [0.5, 3.0], scale=np.arange(1.0, P + 1)).histogram(cap=P),
    "ranks": lambda s: rank_scores(s, [-2.0, 0.0, 0.5, 3.0], Fraction(1, 3)),
    "tournament": lambda s: tournament_scores(s, np.array([np.zeros(P), np.ones(P), np.eye(P)[0] * 9]), 0.05),
}
