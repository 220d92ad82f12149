"""Pictures in double logarithms whose ticks can be read."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

__all__ = ["loglog"]

Rows = list[dict[str, Any]]


def loglog(path: Path, x: str, y: dict[str, str], rows: Rows, labels: tuple[str, str]) -> Path:
    """Draw columns of a table against one of them; a column called ``bound`` is dashed.

    Parameters
    ----------
    path : Path
        Where the PNG goes.
    x : str
        The column along the bottom.
    y : dict
        Columns to draw, with their names in the legend.
    rows : list of dict
        The table.
    labels : (str, str)
        Of the two axes.
    """
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
    for key, label in y.items():
        axes.loglog([r[x] for r in rows], [r[key] for r in rows], "--" if key == "bound" else "o-", label=label)
    axes.set(xlabel=labels[0], ylabel=labels[1])
    for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        _readable(axis, math.log10(limits[1] / limits[0]))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130, metadata={"Software": None})
    plt.close(figure)
    return path


def _readable(axis: Any, decades: float) -> None:
    """Powers of ten over many decades; 1, 2, 5 (over one, 1 to 7) over few, written out; nothing in between."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_minor_formatter(NullFormatter())
    if decades < 2.5:
        steps = (1.0, 2.0, 5.0) if decades > 0.8 else (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)
        axis.set_major_locator(LogLocator(subs=steps))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}" if value < 1e4 else f"{value:,.0f}"))
