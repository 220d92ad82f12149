"""The only code that touches rows."""

from __future__ import annotations

from discreet.curator.clip import Clip
from discreet.curator.curator import Curator
from discreet.curator.cursor import Cursor
from discreet.curator.grid import Grid, RowBounds
from discreet.curator.storage import ChunkedCurator, DenseCurator, SparseCurator, make_curator
from discreet.curator.survey import Survey, make_survey

__all__ = [
    "ChunkedCurator",
    "Clip",
    "Curator",
    "Cursor",
    "DenseCurator",
    "Grid",
    "RowBounds",
    "SparseCurator",
    "Survey",
    "make_curator",
    "make_survey",
]
