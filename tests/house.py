"""The rules of the house, as functions of source text: each returns the list of what breaks it.

`tests/test_architecture.py` runs them over the repository and, so that we know that the alarms ring, over planted
sources that break each of them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

ROWS = (
    ("privacy", "randomness", "kernels", "losses", "penalties", "datasets"),
    ("accounting", "theory"),
    ("mechanisms",),
    ("curator",),
    ("solvers", "moments", "local"),
    ("inference", "estimators", "metrics", "preprocessing", "model_selection", "audit"),
    ("plan", "report", "plots", "testing", "catalogue"),
    ("cli",),
)
ROW = {name: row for row, names in enumerate(ROWS) for name in names}
FACADES = {"linear_model"}  # modules that only re-export; they belong to no row and nothing inside imports them

PROMISING = {"mechanisms", "curator", "solvers", "estimators", "moments", "local"}
# what solvers share; everything else there is one algorithm
SOLVER_HOUSE = {"__init__.py", "ask.py", "base.py", "composites.py", "queries.py"}
CARRIERS = {"curator": "Curator"}  # grids, clips and bounds are public values, which promise nothing
PROMISES_NOTHING = {"Estimate", "ReportError", "poisoned_shift"}  # results, errors, and a bound on what liars can do
ITEMS = ("Guarantee", "Neighbours", "Public", "Bounded by", "Proof")


@dataclass(frozen=True)
class Source:
    """One file: its path inside `src/discreet` (or the repository) and its text."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def folder(self) -> str:
        """The first part of the path: `losses` for `losses/huber.py`, `cli` for `cli.py`; kernels are one room."""
        first = PurePosixPath(self.path).parts[0].removesuffix(".py")
        return "kernels" if first.startswith("kernels") else first

    def nodes(self) -> Iterator[ast.AST]:
        return ast.walk(self.tree)


def dotted(node: ast.AST) -> str:
    """`a.b.c` for an attribute chain over a name, else the empty string."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def imported(source: Source) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything imported, at any depth, by statement or by `import_module("...")`."""
    package = ["discreet", *PurePosixPath(source.path).parts[:-1]]
    for node in source.nodes():
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and dotted(node.func).endswith("import_module"):
            yield from ((node.lineno, str(arg.value)) for arg in node.args[:1] if isinstance(arg, ast.Constant))


def imports_point_down(source: Source) -> list[str]:
    """A module imports from lower rows, from its own folder, or from a file beside it that is named in its own row."""
    if source.path == "__init__.py" or source.folder in FACADES:
        return []
    if source.folder not in ROW:
        return [f"{source.path}: {source.folder!r} has no row in the import table"]
    broken = []
    own, row = source.folder, ROW[source.folder]
    for line, name in imported(source):
        parts = name.split(".")
        if parts[0] != "discreet":
            continue
        other = parts[1] if len(parts) > 1 else ""
        other = "kernels" if other.startswith("kernels") else other
        if other == own or (row == len(ROWS) - 1 and other in {"", "__version__"}):
            continue
        if other not in ROW:
            broken.append(f"{source.path}:{line}: imports {name}; import it from the module where it lives")
        elif ROW[other] > row or (ROW[other] == row and ROWS[row].index(other) > ROWS[row].index(own)):
            broken.append(f"{source.path}:{line}: {own} (row {row}) imports {name} (row {ROW[other]})")
    return broken


def randomness_has_one_room(source: Source) -> list[str]:
    """No generator outside `randomness.py`; `data_generator` makes data, never noise."""
    if source.path == "randomness.py":
        return []
    broken = []
    for line, name in imported(source):
        if name.split(".")[0] in {"random", "secrets", "uuid"} or name.startswith(("numpy.random", "scipy.stats.qmc")):
            broken.append(f"{source.path}:{line}: imports {name}")
        if name in {"os.urandom", "os.getrandom"}:
            broken.append(f"{source.path}:{line}: imports {name}")
        if name.endswith("randomness.data_generator") and source.folder not in {"datasets", "theory", "audit"}:
            broken.append(f"{source.path}:{line}: a predictable generator, which is for data, where noise is made")
    types = {"Generator", "RandomState"}
    called = {id(node.func) for node in source.nodes() if isinstance(node, ast.Call)}
    for node in source.nodes():
        name = dotted(node)
        parts = name.split(".")
        numpys = len(parts) == 3 and parts[1] == "random" and (parts[2] not in types or id(node) in called)
        if numpys or name in {"os.urandom", "os.getrandom"}:
            broken.append(f"{source.path}:{node.lineno}: {name}")
        elif isinstance(node, ast.Attribute) and node.attr == "rvs":
            broken.append(f"{source.path}:{node.lineno}: draws with .rvs")
    return broken


def only_mechanisms_open(source: Source) -> list[str]:
    """`unseal`, and the key behind it, appear in `privacy/`, `mechanisms/` and `curator/` only."""
    if source.folder in {"privacy", "mechanisms", "curator"}:
        return []
    words = {"unseal", "_opener", "_KEY"}
    return [f"{source.path}:{line}: {word} outside mechanisms and curators" for line, word in names(source, words)]


def names(source: Source, words: set[str]) -> Iterator[tuple[int, str]]:
    """Every place where one of `words` is a name, an attribute, an argument, a keyword or an import."""
    for node in source.nodes():
        found = {
            ast.Name: lambda n: n.id,
            ast.Attribute: lambda n: n.attr,
            ast.arg: lambda n: n.arg,
            ast.keyword: lambda n: n.arg,
            ast.alias: lambda n: n.name.split(".")[-1],
        }.get(type(node), lambda n: None)(node)
        if found in words:
            yield getattr(node, "lineno", 0), str(found)


def no_private_sklearn(source: Source) -> list[str]:
    """Nothing whose name begins with an underscore is imported from scikit-learn."""
    return [
        f"{source.path}:{line}: imports {name}, a private part of scikit-learn"
        for line, name in imported(source)
        if name.startswith("sklearn.")
        and any(part.startswith("_") and part != "__version__" for part in name.split("."))
    ]


def short_enough(source: Source, most: int = 400, function: int = 60) -> list[str]:
    """Files have at most `most` lines, functions at most `function` (their docstring not counted)."""
    lines = len(source.text.splitlines())
    broken = [f"{source.path}: {lines} lines, at most {most}"] if lines > most else []
    for node in source.nodes():
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0]
            doc = ast.get_docstring(node) and (first.end_lineno or 0) - first.lineno + 1
            length = (node.end_lineno or 0) - node.lineno + 1 - (doc or 0)
            if length > function:
                broken.append(f"{source.path}:{node.lineno}: {node.name} has {length} lines, at most {function}")
    return broken


def solvers_are_blind(source: Source) -> list[str]:
    """An algorithm's file is under 200 lines and touches no row, no generator and no epsilon."""
    if source.folder != "solvers" or PurePosixPath(source.path).name in SOLVER_HOUSE:
        return []
    broken = short_enough(source, most=199)
    rows = {"X", "unseal", "take_rows"}
    generators = {"rng", "random", "urandom", "SystemSource", "SeededSource", "source_for", "system", "data_generator"}
    for line, word in names(source, rows | generators | {"epsilon", "eps"}):
        what = "a row" if word in rows else "a generator" if word in generators else "an epsilon"
        broken.append(f"{source.path}:{line}: a solver touches {what} ({word})")
    for node in source.nodes():
        *owner, attribute = dotted(node).split(".")
        if owner and owner[-1] == "curator" and (attribute == "rows" or attribute.startswith("_")):
            broken.append(f"{source.path}:{node.lineno}: a solver reaches into its curator (curator.{attribute})")
    return broken


def no_warnings(source: Source) -> list[str]:
    """Nothing warns: what privacy forbids is refused, what it allows needs no warning."""
    broken = [f"{source.path}:{n.lineno}: {dotted(n)}" for n in source.nodes() if dotted(n) == "warnings.warn"]
    return broken + [f"{source.path}:{line}: {name}" for line, name in imported(source) if name == "warnings.warn"]


def registry(source: Source) -> list[str]:
    """What a module offers: a written-out `__all__`, else the keys of its `_HOME`."""
    tables: dict[str, list[str]] = {}
    for node in source.tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in targets:
            value = getattr(node, "value", None)
            items = value.elts if isinstance(value, (ast.List, ast.Tuple)) else getattr(value, "keys", [])
            if isinstance(target, ast.Name) and target.id in {"__all__", "_HOME"}:
                tables[target.id] = [str(item.value) for item in items if isinstance(item, ast.Constant)]
    return tables.get("__all__") or tables.get("_HOME", [])


def definitions(source: Source) -> Iterator[ast.ClassDef | ast.FunctionDef]:
    """The classes and functions at the top of a file that its `__all__` lists."""
    offered = set(registry(source))
    for node in source.tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name in offered:
            yield node


def documented(sources: list[Source]) -> list[str]:
    """What a room offers has an example that runs; what its files share with each other, a docstring.

    A room offers the `__all__` of its `__init__`, or of its only file.  Kernels are rooms without visitors: typed
    arrays in, arrays out; their callers carry the examples.
    """
    offered = {
        (s.folder, name) for s in sources if s.path.count("/") == 0 or "__init__" in s.path for name in registry(s)
    }
    broken = []
    for source in sources:
        for node in definitions(source) if source.folder != "kernels" else ():
            text = ast.get_docstring(node) or ""
            if not text or ((source.folder, node.name) in offered and ">>>" not in text):
                broken.append(f"{source.path}:{node.lineno}: {node.name} has no {'example' if text else 'docstring'}")
    return broken


def privacy_sections(source: Source, proofs: set[str]) -> list[str]:
    """A *Privacy.* section has its five items, and the proof page that it names is there."""
    broken = []
    for node in source.nodes():
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.Module)):
            continue
        text = ast.get_docstring(node) or ""
        if "*Privacy.*" not in text:
            continue
        where = f"{source.path}:{getattr(node, 'lineno', 1)}: {getattr(node, 'name', 'module')}"
        section = text.split("*Privacy.*", 1)[1]
        broken += [f"{where}: its Privacy section lacks {item!r}" for item in ITEMS if f"{item}:" not in section]
        pages = re.findall(r"proofs/([\w.-]+\.md)", section)
        if not pages and not re.match(r"\s*Guarantee:\s*none", section):
            broken.append(f"{where}: names no proof page")
        broken += [f"{where}: proofs/{page} is not there" for page in pages if page not in proofs]
    return broken


def promises_are_stated(folder: str, sources: list[Source]) -> list[str]:
    """Every class and function in the registry of a folder that makes promises has a *Privacy.* section."""
    offered = {name for s in sources if s.path == f"{folder}/__init__.py" for name in registry(s)}
    broken = []
    for source in sources:
        if source.path == f"{folder}/__init__.py":
            continue
        for node in source.tree.body:
            if not isinstance(node, (ast.ClassDef, ast.FunctionDef)) or node.name not in offered:
                continue
            if folder in CARRIERS and not (isinstance(node, ast.ClassDef) and node.name.endswith(CARRIERS[folder])):
                continue
            if node.name in PROMISES_NOTHING:
                continue
            if "*Privacy.*" not in (ast.get_docstring(node) or ""):
                broken.append(f"{source.path}:{node.lineno}: {node.name} has no *Privacy.* section")
    return broken


LEFTOVERS = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK|NotImplemented" r"Error)\b")
PLACES = re.compile(r"(?<![\w.*])/(work|root|opt|home|tmp/w)/|(?<![\w.*])/(work|root)\b")
HOSTS = re.compile(r"py" r"pi\.org|python" r"hosted|--(extra-)?index" r"-url|--find" r"-links", re.IGNORECASE)


def no_leftovers(source: Source) -> list[str]:
    """No notes to self, no machine paths, no package hosts (an option that *suppresses* them may be named)."""
    broken = []
    for number, line in enumerate(source.text.splitlines(), 1):
        for pattern in (LEFTOVERS, PLACES, HOSTS):
            if found := pattern.search(line.replace("--no-emit", "")):
                broken.append(f"{source.path}:{number}: {found.group().strip()!r}")
    return broken
