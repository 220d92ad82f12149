"""One-line defaults against other methods, each at the best of a grid that was chosen by looking at test scores.

Run ``python -m benchmarks.peers [--quick] [--splits S] [--data NAMES]``.  Every peer's setting is picked by its mean
score on the test rows of the even splits, and judged on the odd ones; our default is fitted once, with nothing but
epsilon, delta and bounds, the same public bounds of each column that the peers get.  Scores are accuracy (classes) and
R2 (regression), delta is 1/n^2.  `p` is that of a one-sided paired t-test that the peer is better than the default,
Holm-corrected over everything in the run; `regret` is how far the best of all, judged so, is above the default.

diffprivlib runs in an environment of its own, ``.venv-peers``, which is made when it is missing
(``--without-diffprivlib`` leaves it out).  Its logistic regression knows delta = 0 only.  ``--keep`` writes every
table's rows into ``benchmarks/results/peers.json`` as it is done, in place of what was kept of that table, and reports
on all that is there; ``--kept`` reports without a run.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import r2_score

from benchmarks._peers import CLASSIFIERS, REGRESSORS, Peer
from benchmarks._utility import cuts, rows_of
from discreet.linear_model import LinearRegression, LogisticRegression

HERE = Path(__file__).resolve().parent
OTHER = HERE.parent / ".venv-peers"
NEEDS = ("diffprivlib==0.6.6", "scikit-learn==1.5.2", "numpy<2.3", "scipy<1.16")
TABLES = {
    "classifier": ("adult", "bank_full", "credit_default", "electricity", "phishing", "mushrooms", "breast_cancer"),
    "regressor": ("california", "wine_quality", "abalone", "bike_hour", "uci_elevators"),
}
EPSILONS = (0.1, 1.0)
KEPT = HERE / "results" / "peers.json"
DEFAULT = "discreet"
Array = NDArray[np.float64]
Scores = dict[str, list[list[float]]]  # method -> split -> setting


def table(name: str, kind: str) -> tuple[Array, Array] | None:
    """Columns that vary, and targets: -1 and 1, or real."""
    if name == "breast_cancer":
        X, y = load_breast_cancer(return_X_y=True)
    else:
        found = rows_of(name)
        if found is None:
            return None
        X, y, _ = found
        X = X.toarray() if hasattr(X, "toarray") else X
    varied = X.min(axis=0) < X.max(axis=0)
    y = np.asarray(y, dtype=np.float64)
    target = np.where(y > y.min(), 1.0, -1.0) if kind == "classifier" else y
    return np.ascontiguousarray(X[:, varied], dtype=np.float64), target


def environment() -> Path:
    """The interpreter that has diffprivlib, in an environment that is made when it is missing."""
    python = OTHER / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(OTHER)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *NEEDS], check=True)
    return python


def elsewhere(peer: Peer, kind: str, X: Array, y: Array, T: Array, epsilon: float, seed: int) -> list[Array]:
    """Scores of every setting from the other environment."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        names = list(peer.settings[0])
        rows = np.array([[s[k] for k in names] for s in peer.settings])
        np.savez(path / "in.npz", X=X, y=y, T=T, epsilon=epsilon, seed=seed, kind=kind, names=names, settings=rows)
        quiet = {**os.environ, "PYTHONPATH": "", "OMP_NUM_THREADS": "1"}
        command = [str(environment()), str(HERE / "_peers_other.py"), str(path / "in.npz"), str(path / "out.npz")]
        subprocess.run(command, check=True, env=quiet)
        with np.load(path / "out.npz") as out:
            return list(out["scores"])


def scored(kind: str, y: Array, scores: Array) -> float:
    """Accuracy or R2; what has blown up scores as a constant."""
    if not np.isfinite(scores).all():
        scores = np.zeros(len(y))
    return float(((scores > 0) == (y > 0)).mean()) if kind == "classifier" else float(r2_score(y, scores))


def of_split(
    kind: str, data: tuple[Array, Array], part: tuple[Any, Any], budget: tuple[float, float], seed: int, others: bool
) -> dict[str, list[float]]:
    """The score of each method and setting on one split."""
    (X, y), (a, b), (epsilon, delta) = data, part, budget
    low, high = X.min(axis=0), X.max(axis=0)
    unit = (X - low) / (high - low)
    middle, half = (0.0, 1.0) if kind == "classifier" else ((y.max() + y.min()) / 2, (y.max() - y.min()) / 2)
    target = (y - middle) / half
    options: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "bounds": (low, high), "random_state": seed}
    if kind == "classifier":
        mine = LogisticRegression(**options).fit(X[a], y[a]).decision_function(X[b])
    else:
        mine = LinearRegression(**options, bounds_y=(y.min(), y.max())).fit(X[a], y[a]).predict(X[b])
    found = {DEFAULT: [scored(kind, y[b], mine)]}
    for peer in CLASSIFIERS if kind == "classifier" else REGRESSORS:
        rng = np.random.default_rng([seed, 7])
        if peer.fit is not None:
            margins = [peer.fit(unit[a], target[a], unit[b], epsilon, delta, rng, s) for s in peer.settings]
        elif others:
            margins = elsewhere(peer, kind, unit[a], target[a], unit[b], epsilon, seed)
        else:
            continue
        found[peer.name] = [scored(kind, target[b], m) for m in margins]
    return found


def judged(scores: Mapping[str, Array], settings: Mapping[str, Sequence[Mapping[str, float]]]) -> list[dict[str, Any]]:
    """Each method at its best setting on even splits, judged on odd ones, with an uncorrected p."""
    default = scores[DEFAULT][1::2, 0]
    rows = []
    for name, values in scores.items():
        best = int(values[0::2].mean(axis=0).argmax())
        mine = values[1::2, best]
        difference = mine - default
        spread = float(difference.std(ddof=1)) if difference.size > 1 else 0.0
        if spread > 0:
            p = float(stats.t.sf(difference.mean() / (spread / math.sqrt(difference.size)), difference.size - 1))
        else:
            p = 1.0 if difference.mean() <= 0 else 0.0
        setting = dict(settings[name][best]) if name in settings else {}
        rows.append({
            "method": name, "mean": round(float(mine.mean()), 5), "sd": round(float(mine.std(ddof=1)), 5),
            "setting": setting, "p": 1.0 if name == DEFAULT else p,
        })  # fmt: skip
    return rows


def corrected(rows: list[dict[str, Any]]) -> None:
    """Holm's correction of `p` over all rows of peers, in place."""
    peers = sorted((r for r in rows if r["method"] != DEFAULT), key=lambda r: r["p"])
    worst = 0.0
    for rank, row in enumerate(peers):
        worst = max(worst, min(1.0, (len(peers) - rank) * row["p"]))
        row["holm_p"] = round(worst, 5)


def main() -> None:
    """Every table, epsilon and method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two tables, four splits, epsilon 1")
    parser.add_argument("--splits", type=int, default=0, help="default 10 (4 with --quick)")
    parser.add_argument("--data", nargs="+", default=None, help="only these tables")
    parser.add_argument("--without-diffprivlib", action="store_true", help="no second environment")
    parser.add_argument("--keep", action="store_true", help="write the rows into benchmarks/results")
    parser.add_argument("--kept", action="store_true", help="measure nothing, report what was kept")
    options = parser.parse_args()
    if options.kept:
        report(kept())
        return
    splits = options.splits or (4 if options.quick else 10)
    wanted = options.data or (["breast_cancer", "abalone"] if options.quick else None)
    rows: list[dict[str, Any]] = []
    for kind, names in TABLES.items():
        peers = {p.name: p.settings for p in (CLASSIFIERS if kind == "classifier" else REGRESSORS)}
        for name in names if wanted is None else [n for n in names if n in wanted]:
            data = table(name, kind)
            if data is None:
                continue
            parts = cuts(len(data[0]), splits)
            delta = 1 / len(parts[0][0]) ** 2
            for epsilon in EPSILONS[1:] if options.quick else EPSILONS:
                start, runs = time.perf_counter(), []
                for seed, part in enumerate(parts):
                    runs.append(of_split(kind, data, part, (epsilon, delta), seed, not options.without_diffprivlib))
                scores = {m: np.array([r[m] for r in runs]) for m in runs[0]}
                lines = [{"data": name, "epsilon": epsilon, "splits": splits, **row} for row in judged(scores, peers)]
                rows += lines
                print(f"{name}, epsilon {epsilon:g} ({time.perf_counter() - start:.0f} s)")
                for one in sorted(lines, key=lambda r: -r["mean"]):
                    print(f"  {one['method']:28s}{one['mean']:8.4f} ({one['sd']:.4f})  {one['setting']}", flush=True)
            if options.keep:
                write([r for r in kept() if r["data"] != name] + [r for r in rows if r["data"] == name])
    report(kept() if options.keep else rows)


def kept() -> list[dict[str, Any]]:
    """The rows of earlier runs."""
    found: list[dict[str, Any]] = json.loads(KEPT.read_text()) if KEPT.exists() else []
    return found


def write(rows: list[dict[str, Any]]) -> None:
    """Keep them, one to a line."""
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


def report(rows: list[dict[str, Any]]) -> None:
    """The last line: who is better, and the mean regret."""
    corrected(rows)
    cells = sorted({(r["data"], r["epsilon"]) for r in rows})
    regrets = []
    for cell in cells:
        here = {r["method"]: r["mean"] for r in rows if (r["data"], r["epsilon"]) == cell}
        regrets.append(max(here.values()) - here[DEFAULT])
    better = [f"{r['method']} on {r['data']} at {r['epsilon']:g}" for r in rows if r.get("holm_p", 1.0) < 0.05]
    result = {
        "mean_regret": round(float(np.mean(regrets)), 5), "worst_regret": round(float(np.max(regrets)), 5),
        "beaten_by": better, "cells": len(cells), "rows": rows,
    }  # fmt: skip
    print(json.dumps(result))


if __name__ == "__main__":
    main()
