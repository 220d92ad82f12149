"""What the documentation build adds: API pages from the registries, proof pages, mathematics without scripts."""

from __future__ import annotations

import html
import importlib
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "discreet"


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages to those in ``docs/``."""
    pages = api_pages() | proof_pages()
    pages["mission.md"] = mission()
    pages["security.md"] = (ROOT / "SECURITY.md").read_text()
    pages["changelog.md"] = (ROOT / "CHANGELOG.md").read_text() + unreleased()
    for name, text in sorted(pages.items()):
        files.append(File.generated(config, name, content=text))
    return files


def on_page_content(content: str, **_: Any) -> str:
    """Turn mathematics into MathML, which browsers draw themselves."""
    return re.sub(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', _mathml, content, flags=re.DOTALL)


def _mathml(match: re.Match[str]) -> str:
    return convert(html.unescape(match[3]), display="block" if match[2] == "[" else "inline")


def home(module: ModuleType, name: str) -> str:
    """The dotted name of the place where `name` is defined (registries look names up lazily; the reader can't)."""
    defined = getattr(getattr(module, name), "__module__", "") or ""
    return f"{defined if defined.startswith('discreet') else module.__name__}.{name}"


def api_pages() -> dict[str, str]:
    """One page per module or folder of the package that has a registry; kernels are no interface."""
    pages = {}
    index = ["# Interface", "", "Written from the registries (`__all__`) of the package."]
    for path in sorted(PACKAGE.iterdir()):
        if path.name.startswith(("_", "kernels")) or not (path.suffix == ".py" or (path / "__init__.py").is_file()):
            continue
        module = importlib.import_module(f"discreet.{path.stem}")
        names = list(getattr(module, "__all__", ()))
        if names:
            blocks = "\n\n".join(f"::: {home(module, name)}" for name in names)
            pages[f"api/{path.stem}.md"] = f"# {module.__name__}\n\n{module.__doc__ or ''}\n\n{blocks}\n"
            index += ["", f"## [{module.__name__}]({path.stem}.md)", "", "| name | |", "|---|---|"]
            index += [f"| `{name}` | {summary(getattr(module, name))} |" for name in names]
    pages["api/index.md"] = "\n".join(index)
    return pages


def mission() -> str:
    """Where everything of the source documents is, from the registry of solvers and the catalogue."""
    from discreet.catalogue import table

    return f"# What is here, by source\n\n{table()}\n"


def summary(value: object) -> str:
    """The first line of a docstring, fit for a table cell."""
    text = value.__doc__ if callable(value) and value.__doc__ else ""
    return text.strip().splitlines()[0].replace("|", "\\|").replace("``", "`") if text else ""


def unreleased() -> str:
    """The fragments in ``changelog.d/``, as a list."""
    fragments = [p.read_text().strip() for p in sorted((ROOT / "changelog.d").glob("*.*.md"))]
    return "\n\n## Not yet released\n\n" + "\n".join(f"- {' '.join(text.split())}" for text in fragments)


def proof_pages() -> dict[str, str]:
    """The pages in ``proofs/``, as they are."""
    return {f"proofs/{p.name}": p.read_text() for p in sorted((ROOT / "proofs").glob("*.md"))}
