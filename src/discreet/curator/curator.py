"""The whole curator: sums and gradients, second moments, objectives, views and the minimiser."""

from __future__ import annotations

from discreet.curator.columns import Columns
from discreet.curator.minimise import Minimiser
from discreet.curator.scores import Scores
from discreet.curator.statistics import Statistics
from discreet.curator.views import Views

__all__ = ["Curator"]


class Curator(Statistics, Scores, Columns, Views, Minimiser):
    """Private rows behind a counter: statistics come out sealed, in whole numbers, and with their bound.

    Made by :func:`make_curator`, which says what goes in.

    Notes
    -----
    *Privacy.* Guarantee: every answer is sealed.  Neighbours: the relation it was built with.  Public: column count,
    bounds, and the number of rows unless ``"add_remove"``.  Bounded by: whole-number clipping of each row.
    Proof: ``proofs/curator.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.curator import RowBounds, make_curator
    >>> curator = make_curator(np.eye(3), np.ones(3), bounds=RowBounds(l2=1), neighbors="add_remove")
    >>> curator.n_rows  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    discreet.privacy.neighbours.PrivacyError: the number of rows is private here ...
    """
