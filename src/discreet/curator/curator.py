"""The whole curator: sums and gradients, second moments, objectives, views and the minimiser."""

from __future__ import annotations

from discreet.curator.minimise import Minimiser

__all__ = ["Curator"]


class Curator(Minimiser):
    """Private rows behind a counter: statistics come out sealed, whole, and with their bound.

    Made by :func:`make_curator`; see there for what goes in.
    """
