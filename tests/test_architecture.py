"""The rules of the house hold for every file, and each rule's alarm is known to ring."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from tests import house
from tests.house import Source

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "discreet"
SOURCES = [Source(str(p.relative_to(PACKAGE)), p.read_text()) for p in sorted(PACKAGE.rglob("*.py"))]
PROOFS = {p.name for p in (ROOT / "proofs").glob("*.md")}
PYTHON = [p for d in ("src", "tests", "benchmarks", "examples", "docs") for p in sorted((ROOT / d).rglob("*.py"))]
NOT_OURS = {"LICENSE", ".coverage", ".git"}  # in a worktree, .git is a file
SPEAKS_OF_THEM = {"house.py", "test_architecture.py"}  # they name what they forbid
TEXTS = [
    p
    for d in ("src", "tests", "benchmarks", "examples", "docs", "proofs", "changelog.d", ".ci")
    for p in sorted((ROOT / d).rglob("*"))
    if p.is_file()
    and p.suffix in {".py", ".md", ".toml", ".yml", ".json", ".csv", ".typed", ""}
    and p.name not in SPEAKS_OF_THEM
] + [p for p in sorted(ROOT.iterdir()) if p.is_file() and p.name not in NOT_OURS and p.suffix != ".db"]

PER_FILE = [
    house.imports_point_down,
    house.randomness_has_one_room,
    house.only_mechanisms_open,
    house.no_private_sklearn,
    house.solvers_are_blind,
    house.no_warnings,
    lambda source: house.privacy_sections(source, PROOFS),
]
RULES = [getattr(rule, "__name__", "privacy_sections").replace("<lambda>", "privacy_sections") for rule in PER_FILE]


def report(broken: list[str]) -> str:
    return "\n".join(["", *broken])


@pytest.mark.parametrize("rule", PER_FILE, ids=RULES)
def test_every_source_file_keeps_the_rule(rule):
    broken = [line for source in SOURCES for line in rule(source)]
    assert not broken, report(broken)


@pytest.mark.parametrize("folder", sorted(house.PROMISING))
def test_what_promises_says_what(folder):
    broken = house.promises_are_stated(folder, [s for s in SOURCES if s.folder == folder])
    assert not broken, report(broken)


def test_what_is_public_is_shown_at_work():
    broken = house.documented(SOURCES)
    assert not broken, report(broken)


def test_files_and_functions_are_short():
    broken = [b for p in PYTHON for b in house.short_enough(Source(str(p.relative_to(ROOT)), p.read_text()))]
    assert not broken, report(broken)


def test_nothing_is_left_over():
    broken = [b for p in TEXTS for b in house.no_leftovers(Source(str(p.relative_to(ROOT)), p.read_text()))]
    assert not broken, report(broken)


def test_every_registered_name_exists():
    for source in SOURCES:
        if source.path.endswith("__init__.py") and source.folder not in {"data"}:
            module = ".".join(["discreet", *Path(source.path).parts[:-1]])
            loaded = importlib.import_module(module)
            for name in house.registry(source):
                assert hasattr(loaded, name), f"{module} lists {name} and does not have it"


def test_the_front_door_shows_type_checkers_what_it_opens():
    source = next(s for s in SOURCES if s.path == "__init__.py")
    block = next(n for n in source.tree.body if isinstance(n, ast.If))
    typed = {a.name: n.module for n in block.body if isinstance(n, ast.ImportFrom) for a in n.names}
    table = next(n for n in source.tree.body if isinstance(n, ast.Assign) and n.targets[0].id == "_HOME")
    assert typed == ast.literal_eval(table.value)


def test_importing_the_package_is_light():
    heavy = ["numpy", "scipy", "numba", "sklearn", "dp_accounting", "pyarrow", "typer", "matplotlib", "pandas"]
    code = f"import discreet, sys; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT / "src")
    assert done.stdout.strip() == "[]"


def test_an_unknown_name_is_refused_by_name():
    import discreet

    with pytest.raises(AttributeError, match="no attribute 'Logistics'"):
        _ = discreet.Logistics


FINE = '''
"""A module."""
import numpy as np
from discreet.privacy import Budget

__all__ = ["f"]

def f(rng: np.random.Generator) -> None:
    """Nothing.

    Examples
    --------
    >>> f(None)
    """
'''

PRIVACY = '''
class C:
    """A thing.

    Notes
    -----
    *Privacy.* Guarantee: mu-GDP.  Neighbours: as given.  Public: all.  Bounded by: {item}.  Proof: ``proofs/{page}``.
    """
'''

PLANTED = [
    (house.imports_point_down, "losses/a.py", "from discreet.mechanisms import Gaussian"),
    (house.imports_point_down, "losses/a.py", "from discreet.penalties import L1"),
    (house.imports_point_down, "losses/a.py", "from ..solvers import base"),
    (house.imports_point_down, "losses/a.py", "def f():\n    import discreet.cli"),
    (house.imports_point_down, "losses/a.py", "import importlib\nimportlib.import_module('discreet.estimators')"),
    (house.imports_point_down, "curator/a.py", "from discreet import LogisticRegression"),
    (house.imports_point_down, "attic/a.py", ""),
    (house.randomness_has_one_room, "mechanisms/a.py", "import random"),
    (house.randomness_has_one_room, "mechanisms/a.py", "from secrets import randbits"),
    (house.randomness_has_one_room, "mechanisms/a.py", "import os\nos.urandom(8)"),
    (house.randomness_has_one_room, "mechanisms/a.py", "import os as o\nfrom os import urandom"),
    (house.randomness_has_one_room, "mechanisms/a.py", "import numpy as np\nnp.random.laplace(0, 1)"),
    (house.randomness_has_one_room, "mechanisms/a.py", "import numpy as np\nnp.random.Generator(bits)"),
    (house.randomness_has_one_room, "mechanisms/a.py", "from numpy.random import default_rng"),
    (house.randomness_has_one_room, "mechanisms/a.py", "from discreet.randomness import data_generator"),
    (house.randomness_has_one_room, "mechanisms/a.py", "from scipy.stats import norm\nnorm.rvs()"),
    (house.only_mechanisms_open, "solvers/a.py", "from discreet.privacy.sealed import unseal"),
    (house.only_mechanisms_open, "estimators/a.py", "sealed._opener(key)"),
    (house.no_private_sklearn, "estimators/a.py", "from sklearn.linear_model._logistic import LogisticRegression"),
    (house.no_private_sklearn, "estimators/a.py", "from sklearn.utils.validation import _check_sample_weight"),
    (house.solvers_are_blind, "solvers/a.py", "def run(X):\n    return X"),
    (house.solvers_are_blind, "solvers/a.py", "def run(curator):\n    return curator.rows"),
    (house.solvers_are_blind, "solvers/a.py", "def run(ask):\n    return ask.curator._table"),
    (house.solvers_are_blind, "solvers/a.py", "noise = 1 / budget.epsilon"),
    (house.solvers_are_blind, "solvers/a.py", "from discreet.randomness import system"),
    (house.solvers_are_blind, "solvers/a.py", "\n" * 200),
    (house.no_warnings, "estimators/a.py", "import warnings\nwarnings.warn('your data leaked')"),
    (house.no_warnings, "estimators/a.py", "from warnings import warn"),
    (house.short_enough, "losses/a.py", "x = 1\n" * 401),
    (house.short_enough, "losses/a.py", "def f():\n" + "    x = 1\n" * 61),
    (house.no_leftovers, "losses/a.py", "# TODO: think"),
    (house.no_leftovers, "losses/a.py", "raise NotImplementedError"),
    (house.no_leftovers, "Makefile", "cd /work/main"),
    (house.no_leftovers, "requirements.lock", "--extra-index-url somewhere"),
]


@pytest.mark.parametrize(("rule", "path", "text"), PLANTED)
def test_the_alarm_rings(rule, path, text):
    assert rule(Source(path, text))


@pytest.mark.parametrize("rule", [*PER_FILE, house.short_enough, house.no_leftovers], ids=lambda r: r.__name__)
def test_the_alarm_is_quiet_on_what_is_fine(rule):
    assert not rule(Source("accounting/a.py", FINE))


def test_alarms_for_privacy_sections_ring():
    good = Source("mechanisms/a.py", PRIVACY.format(item="the clip", page="a.md"))
    assert not house.privacy_sections(good, {"a.md"})
    assert house.privacy_sections(good, set())
    assert house.privacy_sections(Source("mechanisms/a.py", good.text.replace("Public:", "Open:")), {"a.md"})
    assert house.privacy_sections(Source("mechanisms/a.py", good.text.replace("proofs/a.md", "a book")), {"a.md"})
    listed = Source("mechanisms/__init__.py", "__all__ = ['C']")
    assert not house.promises_are_stated("mechanisms", [listed, good])
    bare = Source("mechanisms/a.py", "class C:\n    'A thing.'")
    assert house.promises_are_stated("mechanisms", [listed, bare])
    lazy = Source("mechanisms/__init__.py", "_HOME = {'C': 'a'}\n__all__ = list(_HOME)")
    assert house.promises_are_stated("mechanisms", [lazy, bare])


def test_alarms_for_examples_ring():
    fine, room = Source("losses/a.py", FINE), Source("losses/__init__.py", "_HOME = {'f': 'a'}\n__all__ = list(_HOME)")
    mute = Source("losses/a.py", "__all__ = ['f']\ndef f():\n    'Says nothing by example.'")
    bare = Source("losses/a.py", "__all__ = ['f']\ndef f():\n    pass")
    assert not house.documented([room, fine])
    assert not house.documented([mute])
    assert house.documented([room, mute])
    assert house.documented([bare])
    assert house.documented([Source("plan.py", mute.text)])


def test_randomness_may_be_random():
    assert not house.randomness_has_one_room(Source("randomness.py", "import os\nos.urandom(8)"))
