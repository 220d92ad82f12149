"""The only code that touches rows."""

from __future__ import annotations

from discreet.curator.clip import Clip
from discreet.curator.curator import Curator
from discreet.curator.grid import Grid, RowBounds
from discreet.curator.storage import ChunkedCurator, DenseCurator, SparseCurator, make_curator

__all__ = [
    "ChunkedCurator",
    "Clip",
    "Curator",
    "DenseCurator",
    "Grid",
    "RowBounds",
    "SparseCurator",
    "make_curator",
]
