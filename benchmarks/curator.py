"""Exact whole-number gradients against a plain float64 pass of the same shape, one thread each.

The plain pass is ``X.T @ derivative(X @ w, y)`` on the float64 rows, by BLAS or by scipy.sparse, with the same
derivative and no promise of any kind.  A ratio is the plain pass's time over ours (above 1: ours is faster), the
fastest of several turns each, taken in alternation so that a machine that gets slower slows both.  The worst shape
counts.  The time to put rows on the grid, paid once, is printed beside.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from discreet.curator import RowBounds, make_curator
from discreet.losses import LogisticLoss

DENSE = [(1_000_000, 20), (100_000, 500)]
CSR = [(1_000_000, 1_000, 50), (1_000_000, 100_000, 50)]


def seconds(work: Callable[[], Any]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def dense_rows(n: int, p: int, rng: np.random.Generator) -> Any:
    """Rows of norm about one half."""
    return rng.standard_normal((n, p)) * (0.5 / np.sqrt(p))


def sparse_rows(n: int, p: int, entries: int, rng: np.random.Generator) -> Any:
    """CSR rows with that many entries each (fewer where columns collide)."""
    columns = rng.integers(0, p, (n, entries), dtype=np.int32)
    columns.sort(axis=1)
    data, starts = rng.random(n * entries) / entries, np.arange(0, n * entries + 1, entries, dtype=np.int32)
    rows = sp.csr_array((data, columns.ravel(), starts), shape=(n, p))
    rows.sum_duplicates()
    return rows


def compare(X: Any, repeats: int, rng: np.random.Generator) -> float:
    """Print one shape's figures and return its ratio."""
    loss, (n, p) = LogisticLoss(), X.shape
    y, w = rng.choice([-1.0, 1.0], n), rng.standard_normal(p)
    bounds = RowBounds(l2=1.0)
    make_curator(X[:10], y[:10], bounds=bounds).gradient(loss, w)  # compiled from here on
    start = time.perf_counter()
    curator = make_curator(X, y, bounds=bounds)
    conversion = time.perf_counter() - start
    pairs = []
    for _ in range(repeats):
        plain = seconds(lambda: X.T @ loss.derivative(X @ w, y))
        pairs.append((plain, seconds(lambda: curator.gradient(loss, w))))
    plain, ours = (min(column) for column in zip(*pairs, strict=True))
    kind = "dense" if isinstance(X, np.ndarray) else f"CSR, {len(X.data) / n:.0f} a row"
    print(
        f"{kind:15} {n:>9,} x {p:<7,} plain {plain * 1e3:7.1f} ms   ours {ours * 1e3:7.1f} ms   "
        f"ratio {plain / ours:.2f}   once: to the grid {conversion:.2f} s",
        flush=True,
    )
    return float(plain / ours)


def main() -> None:
    """Measure every shape and say the worst ratios as JSON in the last line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, fewer turns")
    quick = parser.parse_args().quick
    shrink, repeats = (10, 7) if quick else (1, 15)
    rng = np.random.default_rng(0)
    with threadpool_limits(1):
        dense = [compare(dense_rows(n // shrink, p, rng), repeats, rng) for n, p in DENSE]
        csr = [compare(sparse_rows(n // shrink, p, k, rng), repeats, rng) for n, p, k in CSR]
    print(json.dumps({"dense_ratio": min(dense), "csr_ratio": min(csr)}))


if __name__ == "__main__":
    main()
