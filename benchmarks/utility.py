"""How good one-line private models are: every part of the benchmark, floors, one file of results.

Run ``python -m benchmarks.utility [--quick] [--splits S] [--data NAMES] [--kept] [--plot]``.  Parts are the modules
``benchmarks/utility_NAME.py``: dense binary tables, sparse and wide rows, regression, many classes, pure privacy.
Each runs alone, too, and with ``--keep`` leaves ``benchmarks/results/utility_NAME.json``; ``--kept`` here reports and
draws those files and measures nothing.  The last line is one JSON object with a key for each floor, the list
``floors_missed``, where more budget ever cost accuracy beyond two standard errors, and all lines.

What to know when reading it.  Public bounds are stated from outside in practice; here they are read from the whole
table.  Noise is seeded, so a table repeats.  Data: ``$DISCREET_DATA``, else ``../shared/data`` beside the repository;
tables that aren't there are left out.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

from benchmarks._utility import Floor, Line, arguments, collect, keep, kept, report

HERE = Path(__file__).resolve().parent
PARTS = sorted(path.stem for path in HERE.glob("utility_*.py"))


METRICS = ("accuracy", "auc", "r2")


def plot(found: list[Line], folder: Path) -> Path:
    """How far each default stays from the model without privacy, over epsilon, one panel a metric."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    best = {v.data: v for v in found if v.model == "reference"}
    given = {v.data for v in found if v.bounds == "public" and v.model == "default"}
    private = [v for v in found if v.model == "default" and v.data in best and v.delta > 0
               and v.bounds == ("public" if v.data in given else "private")]  # fmt: skip
    metrics = [m for m in METRICS if any(m in v.mean and m in best[v.data].mean for v in private)]
    figure, panels = plt.subplots(1, len(metrics), figsize=(5 * len(metrics), 4.2), squeeze=False, layout="constrained")
    for axes, metric in zip(panels[0], metrics, strict=True):
        for k, data in enumerate(sorted({v.data for v in private if metric in v.mean})):
            mine = sorted((v.epsilon, v.mean[metric]) for v in private if v.data == data)
            axes.plot(
                [e for e, _ in mine],
                [best[data].mean[metric] - m for _, m in mine],
                "o-" if k < 10 else "s--",
                label=data,
            )
        axes.axhline(0.0, color="grey", linewidth=0.8)
        axes.set(xscale="log", xlabel="epsilon", ylabel=f"{metric} below the model without privacy")
        axes.legend(fontsize=8)
    path = folder / "utility.png"
    figure.savefig(path, dpi=100)
    plt.close(figure)
    return path


def main() -> None:
    """Run every part; print, keep and draw."""
    options = arguments(__doc__)
    found: list[Line] = kept() if options.kept else []
    floors: list[Floor] = []
    for name in PARTS:
        part: Any = importlib.import_module(f"benchmarks.{name}")
        floors += part.FLOORS
        if not options.kept:
            mine = collect(part.lines(options.quick, options.splits, options.data))
            found += mine
            if options.keep:
                keep(name, report(mine, part.FLOORS))
    if options.plot:
        print(f"wrote {plot(found, HERE.parent / 'docs' / 'plots').relative_to(HERE.parent)}")
    print(json.dumps(report(found, floors)))


if __name__ == "__main__":
    main()
