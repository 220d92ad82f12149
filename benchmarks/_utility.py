"""What the parts of ``benchmarks.utility`` share: lines of results, floors, tables, splits and a command line.

A part is a module ``benchmarks/utility_NAME.py`` with ``lines(quick, splits, data)``, which yields :class:`Line`, with
``FLOORS``, a list of :class:`Floor`, and ``command(__doc__, lines, FLOORS)`` as its main.  Reported splits have seeds
0, 1, 2, ...; defaults were chosen on splits with seeds of 1000 and above, and on synthetic tables.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

__all__ = [
    "Floor",
    "Line",
    "command",
    "cuts",
    "distances",
    "folder",
    "keep",
    "kept",
    "least_excess",
    "line",
    "report",
    "rows_of",
]

Array = NDArray[np.float64]
Lines = Callable[[bool, int, Sequence[str] | None], Iterator["Line"]]
RESULTS = Path(__file__).resolve().parent / "results"
DEFAULT = "default"  # the model of one line, with nothing but epsilon, delta and bounds


@dataclass(frozen=True)
class Line:
    """Means and standard deviations over splits of one way to fit one table.

    `model` is ``"default"`` for the one-line default; `epsilon` is infinite without privacy.
    """

    data: str
    rows: int
    columns: int
    epsilon: float
    delta: float
    bounds: str
    model: str
    mean: Mapping[str, float]
    sd: Mapping[str, float]
    splits: int
    seconds: float

    def __str__(self) -> str:
        eps = f"{self.epsilon:<6g}" if self.epsilon < math.inf else "none  "
        scores = "  ".join(f"{k} {v:.4f} ({self.sd[k]:.4f})" for k, v in self.mean.items())
        start = f"{self.data:18s}{self.rows:8d}{self.columns:8d}  {eps} {self.bounds:8s}{self.model:12s}"
        return f"{start}{scores}  {self.seconds:6.1f} s"


@dataclass(frozen=True)
class Floor:
    """What the mean of `metric` of the default model must reach; `share_of` names a non-private model to divide by."""

    key: str
    data: str
    epsilon: float
    bounds: str
    metric: str
    least: float
    share_of: str | None = None
    model: str = DEFAULT

    def figure(self, found: Sequence[Line]) -> float | None:
        """The mean that is compared, None where it was not measured."""
        mine = [v for v in found if (v.data, v.epsilon, v.bounds, v.model) == (
            self.data, self.epsilon, self.bounds, self.model)]  # fmt: skip
        whole = [v for v in found if (v.data, v.model) == (self.data, self.share_of)]
        if not mine or (self.share_of is not None and not whole):
            return None
        return mine[0].mean[self.metric] / (whole[0].mean[self.metric] if self.share_of is not None else 1.0)


def folder() -> Path:
    """Where the tables are: ``$DISCREET_DATA``, else ``../shared/data`` beside the repository."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("DISCREET_DATA", str(beside)))


def rows_of(name: str) -> tuple[Any, Array, dict[str, Any]] | None:
    """Rows (dense or CSR), target and everything else in a file; None, with a printed word, where it is missing."""
    path = folder() / f"{name}.npz"
    if not path.is_file():
        print(f"{name}: no file in {folder()}, left out")
        return None
    with np.load(path, allow_pickle=False) as file:
        rest = {key: file[key] for key in file.files}
    X: Any = sp.csr_matrix(sp.load_npz(path)) if "indptr" in rest else rest["X"]
    return X, np.asarray(rest["y"], dtype=np.float64), rest


def cuts(n: int, splits: int, first: int = 0) -> list[tuple[Any, Any]]:
    """Training and test rows of 80/20 splits with seeds `first`, `first` + 1, ..."""
    return [train_test_split(np.arange(n), test_size=0.2, random_state=first + k) for k in range(splits)]


def line(
    data: str,
    shape: tuple[int, int],
    budget: tuple[float, float],
    bounds: str,
    model: str,
    scores: Sequence[Mapping[str, float]],
    start: float,
) -> Line:
    """One line from the scores of each split; `shape` is that of the training rows, `start` when the first began."""
    columns = {key: np.asarray([s[key] for s in scores]) for key in scores[0]}
    sd = {k: round(float(v.std(ddof=1)), 5) if v.size > 1 else 0.0 for k, v in columns.items()}
    mean = {k: round(float(v.mean()), 5) for k, v in columns.items()}
    seconds = round((time.perf_counter() - start) / len(scores), 3)
    return Line(data, *shape, *budget, bounds, model, mean, sd, len(scores), seconds)


def order(found: Sequence[Line]) -> dict[str, Any]:
    """How much more budget ever costs, beyond two standard errors, and how far defaults fall below the constant.

    The second looks at lines with rows times epsilon of at least 500.
    """
    fall, below = (0.0, ""), (0.0, "")
    mine = [v for v in found if v.model == DEFAULT]
    for one in mine:
        metric = next(name for name in ("accuracy", "r2", "d2") if name in one.mean)
        where = f"{one.data}, {one.bounds} bounds, delta {one.delta:.1g}, epsilon {one.epsilon:g}"
        for other in mine:
            same = (other.data, other.bounds, other.delta > 0) == (one.data, one.bounds, one.delta > 0)
            if same and other.epsilon < one.epsilon:
                error = math.hypot(one.sd[metric], other.sd[metric]) / math.sqrt(max(min(one.splits, other.splits), 1))
                fall = max(fall, (other.mean[metric] - one.mean[metric] - 2 * error, where))
        for constant in (v for v in found if v.model == "constant" and v.data == one.data and metric in v.mean):
            if one.rows * one.epsilon >= 500:
                below = max(below, (constant.mean[metric] - one.mean[metric], where))
    return {"largest_fall": round(fall[0], 5), "fall_at": fall[1],
            "most_below_constant": round(below[0], 5), "below_at": below[1]}  # fmt: skip


def least_excess(one: Line) -> float:
    """The order of the excess risk that no private method avoids on every table of that size, constant read as 1.

    ``min(1, p / (n epsilon))``, and ``min(1, sqrt(p) / (n epsilon))`` with delta above 0, in units of the range of the
    loss: Bassily, Smith and Thakurta 2014 (Theorems 5.2 and 5.3), for Lipschitz losses over a ball.
    """
    weights = one.columns + 1
    return min(1.0, (math.sqrt(weights) if one.delta > 0 else weights) / (one.rows * one.epsilon))


def distances(found: Sequence[Line]) -> list[dict[str, Any]]:
    """How far each default stays from the model without privacy, beside :func:`least_excess`."""
    best = {v.data: v for v in found if v.model == "reference"}
    rows = []
    for one in (v for v in found if v.model == DEFAULT and v.data in best):
        whole = best[one.data].mean
        below = {
            k: round(whole[k] - v, 5) for k, v in one.mean.items() if k in whole and k in ("accuracy", "auc", "r2")
        }
        if "log_loss" in one.mean and "log_loss" in whole:
            below["log_loss"] = round(one.mean["log_loss"] - whole["log_loss"], 5)
        rows.append({"data": one.data, "bounds": one.bounds, "delta": one.delta, "epsilon": one.epsilon, **below,
                     "least_excess": float(f"{least_excess(one):.2g}")})  # fmt: skip
    return rows


def report(found: Sequence[Line], floors: Sequence[Floor]) -> dict[str, Any]:
    """One flat key for each floor that was measured, those that were missed, and all lines."""
    figures = {f.key: f.figure(found) for f in floors}
    measured = {key: round(v, 5) for key, v in figures.items() if v is not None}
    missed = [f.key for f in floors if f.key in measured and not measured[f.key] >= f.least]
    for f in floors:
        if f.key in measured:
            print(f"{f.key:40s}{measured[f.key]:8.4f}  floor {f.least:g}{'  MISSED' if f.key in missed else ''}")
    rows = [{k: (None if v in (math.inf, -math.inf) else v) for k, v in asdict(one).items()} for one in found]
    return {
        **measured,
        **order(found),
        "distances": distances(found),
        "floors_missed": missed,
        "floors_unmeasured": len(figures) - len(measured),
        "lines": rows,
    }


def collect(lines: Iterator[Line]) -> list[Line]:
    """All lines, printed as they come."""
    found = []
    for one in lines:
        print(one, flush=True)
        found.append(one)
    return found


def arguments(text: str | None) -> argparse.Namespace:
    """``--quick``, ``--splits``, ``--data``, ``--plot``."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few tables and 2 splits")
    parser.add_argument("--splits", type=int, default=0, help="default 10, or 2 with --quick")
    parser.add_argument("--data", nargs="+", default=None, help="only these tables")
    parser.add_argument("--keep", action="store_true", help="write the result into benchmarks/results")
    parser.add_argument("--kept", action="store_true", help="measure nothing, report what was kept")
    parser.add_argument("--plot", action="store_true", help="draw into docs/plots (needs matplotlib)")
    found = parser.parse_args()
    found.splits = found.splits or (2 if found.quick else 10)
    return found


def command(text: str | None, lines: Lines, floors: Sequence[Floor]) -> None:
    """The main of a part: print its lines, its floors and one JSON object."""
    options = arguments(text)
    found = collect(lines(options.quick, options.splits, options.data))
    result = report(found, floors)
    if options.keep:
        keep(Path(sys.argv[0]).stem, result)
    print(json.dumps(result))


def keep(name: str, result: Mapping[str, Any]) -> None:
    """Write a result beside the benchmarks."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(result) + "\n")


def kept() -> list[Line]:
    """The lines of all parts that were kept."""
    rows = [row for path in sorted(RESULTS.glob("utility_*.json")) for row in json.loads(path.read_text())["lines"]]
    return [Line(**{k: (math.inf if k == "epsilon" and v is None else v) for k, v in row.items()}) for row in rows]
