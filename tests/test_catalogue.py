"""The table of the mission leads somewhere in every cell, and misses no solver."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from discreet import solvers
from discreet.catalogue import entries, table

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("entry", entries(), ids=lambda e: f"{e.source}-{e.where}")
def test_every_cell_leads_somewhere(entry):
    assert (ROOT / entry.proof).is_file()
    assert (ROOT / entry.test).exists()
    if ":" in entry.where:
        module, name = entry.where.split(":")
        assert getattr(importlib.import_module(f"discreet.{module}"), name) is not None
    else:
        assert (ROOT / "src" / "discreet" / entry.where).is_file()
    assert entry.event != "see the proof page", "say which event a new solver has in discreet/catalogue.py"


def test_every_solver_and_every_source_has_rows():
    text = table()
    assert all(f'solver="{name}"' in text for name in solvers.names())
    assert {e.source for e in entries()} == {"000", "001", "002", "003", "004", "beyond"}
