"""What README and the documentation show is run: Python blocks, and the lines of `console` blocks."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")


def blocks(page: Path, kind: str) -> list[str]:
    return [code for language, code in FENCE.findall(page.read_text()) if language == kind]


def with_blocks(kind: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, kind)]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def run(code: str, where: str) -> None:
    exec(compile(code, where, "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("page", with_blocks("python"), ids=name)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("\n".join(blocks(page, "python")), name(page))  # one after the other, as a reader would


@pytest.mark.parametrize("page", with_blocks("console"), ids=name)
def test_commands_run(page, tmp_path):
    for line in "".join(blocks(page, "console")).splitlines():
        command, *arguments = shlex.split(line.removeprefix("$ "), comments=True) or [""]
        if not command:
            continue
        assert command == "discreet", f"{name(page)} shows {line!r}; console blocks hold discreet commands"
        start = [sys.executable, "-c", "from discreet.cli import main; main()"]
        done = subprocess.run([*start, *arguments], capture_output=True, text=True, cwd=tmp_path, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip()


@pytest.mark.parametrize("page", [*PAGES, *sorted(ROOT.glob("*.md"))[1:]], ids=name)
def test_links_lead_somewhere(page):
    generated = {"security.md": ROOT / "SECURITY.md", "changelog.md": ROOT / "CHANGELOG.md",
                 "mission.md": ROOT / "src" / "discreet" / "catalogue.py"}  # fmt: skip
    for target in LINK.findall(FENCE.sub("", page.read_text())):
        where = generated.get(target, page.parent / target) if page.parent.name == "docs" else page.parent / target
        assert where.exists() or target.startswith(("api/", "proofs/", "../api/")), f"{name(page)} links to {target}"


def test_a_wrong_example_is_caught():
    with pytest.raises(AssertionError):
        run("assert 1 + 1 == 3", "a page")


def test_blocks_are_found():
    assert with_blocks("python")
    assert ROOT / "README.md" in with_blocks("console")
