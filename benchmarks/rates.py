"""Measured rates against the theorems, in parts: ``rates_sparse`` (high dimension), ``rates_smooth`` (descent).

Run ``python -m benchmarks.rates [--quick] [--part NAME]``.  A part is a module ``benchmarks/rates_NAME.py`` with
``measure(quick)``, which prints tables and returns numbers and tables by name, and ``plot(found, folder)``.  A full run
writes its pictures into docs/plots.  The last line is one JSON object of all numbers.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PARTS = sorted(path.stem.removeprefix("rates_") for path in HERE.glob("rates_*.py"))


def main() -> None:
    """Measure, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and smaller cells, and no pictures")
    parser.add_argument("--part", action="append", choices=PARTS, help="only this part (may be given more than once)")
    options = parser.parse_args()
    numbers: dict[str, float] = {}
    for name in options.part or PARTS:
        part = importlib.import_module(f"benchmarks.rates_{name}")
        start = time.perf_counter()
        found = part.measure(options.quick)
        numbers |= {key: value for key, value in found.items() if isinstance(value, int | float)}
        numbers[f"{name}_seconds"] = round(time.perf_counter() - start, 1)
        if not options.quick:
            for path in part.plot(found, HERE.parent / "docs" / "plots"):
                print(f"wrote {path.relative_to(HERE.parent)}")
    print(json.dumps(numbers))


if __name__ == "__main__":
    main()
