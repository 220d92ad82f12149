"""How long it takes to get started: importing an estimator, and the first fit against the second.

``import_ratio``: ``from discreet import LogisticRegression`` over the same from ``sklearn.linear_model``.
``first_fit_ratio``: the first fit in a fresh process over the second.  Both are medians over fresh processes, and the
two imports take turns, so that a machine that gets slower slows both.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys

import discreet

IMPORT = "import time; t = time.perf_counter(); from {module} import LogisticRegression; print(time.perf_counter() - t)"
FIT = """
import time
from discreet import LogisticRegression
from discreet.datasets import load_adult
data = load_adult()
times = []
for _ in range(2):
    start = time.perf_counter()
    LogisticRegression(epsilon=1.0, bounds=data.bounds).fit(data.X, data.y)
    times.append(time.perf_counter() - start)
print(times[0] / times[1])
"""


def fresh(code: str) -> float:
    """The number that `code` prints in a process of its own."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    return float(done.stdout)


def main() -> None:
    """Measure, print, and say the result as JSON in the last line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    repeats = 5 if parser.parse_args().quick else 15
    if "LogisticRegression" not in discreet.__all__:
        sys.exit("there is no discreet.LogisticRegression yet, so there is nothing to compare")
    ours, theirs = IMPORT.format(module="discreet"), IMPORT.format(module="sklearn.linear_model")
    fresh(ours), fresh(theirs), fresh(FIT)  # compiled files and the disk cache are in place from here on
    pairs = [(fresh(ours), fresh(theirs)) for _ in range(repeats)]
    mine, reference = (statistics.median(column) for column in zip(*pairs, strict=True))
    fits = [fresh(FIT) for _ in range(max(3, repeats // 3))]
    print(f"import: discreet {mine:.3f} s, scikit-learn {reference:.3f} s (medians of {repeats})")
    print(f"first fit over second fit: {', '.join(f'{ratio:.2f}' for ratio in fits)}")
    print(json.dumps({"import_ratio": mine / reference, "first_fit_ratio": statistics.median(fits)}))


if __name__ == "__main__":
    main()
