"""The lock file carries out what `pyproject.toml` asks for, and the version is the same everywhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

import discreet

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK = (ROOT / "requirements.lock").read_text()
PINS = {n.lower(): Version(v) for n, v in re.findall(r"^([\w.-]+)==(\S+)", LOCK, re.MULTILINE)}


def test_every_requirement_is_pinned_inside_its_range():
    extras = PROJECT["optional-dependencies"]
    for line in [*PROJECT["dependencies"], *extras["dev"], *extras["docs"], *extras["plots"], *extras["pandas"]]:
        wanted = Requirement(line)
        assert wanted.name.lower() in PINS, f"{wanted.name} is not in requirements.lock; run make lock"
        assert PINS[wanted.name.lower()] in wanted.specifier, f"{line} is locked at {PINS[wanted.name.lower()]}"


def test_every_pin_carries_hashes_and_nothing_else_is_installed():
    pins = [line for line in LOCK.splitlines() if line and not line.startswith((" ", "#"))]
    assert len(pins) == len(PINS)
    assert all(line.endswith("\\") for line in pins)
    assert "://" not in LOCK


def test_the_accounting_library_is_the_one_that_was_checked():
    assert "dp-accounting==0.6.0" in PROJECT["dependencies"]


def test_one_version():
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert discreet.__version__ == PROJECT["version"] == cited[1]


def test_what_a_user_installs_is_typed_and_licensed():
    assert (ROOT / "src" / "discreet" / "py.typed").is_file()
    assert all((ROOT / name).is_file() for name in PROJECT["license-files"])
    assert "CC BY 4.0" in (ROOT / "src" / "discreet" / "data" / "ATTRIBUTION.md").read_text()


def test_changelog_fragments_have_a_kind():
    kinds = {"added", "changed", "fixed", "removed"}
    for fragment in (ROOT / "changelog.d").glob("*.md"):
        assert fragment.name == "README.md" or fragment.name.split(".")[-2] in kinds, fragment.name
