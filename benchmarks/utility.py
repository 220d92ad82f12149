"""Accuracy and AUC of one-line private logistic regression on public tables, against the non-private model.

Run ``python -m benchmarks.utility [--quick]``.  For each table, each epsilon (0.1 and 1, delta 1/n^2 of the training
rows) and each of several 80/20 splits: ``objective_perturbation``, ``whitened_objective_perturbation`` and the default,
with public bounds of each column and with ``bounds="private"`` (raw columns, nothing said about them).  Beside them
scikit-learn without privacy (features scaled to [0, 1]) and the constant predictor.

What to know when reading it.  Public bounds are stated from outside in practice; here they are read from the whole
table, and columns of one value are left out.  Tables of more than 100,000 rows are cut to that many, always the same.
Labels are 1 above their smallest value.  Noise is seeded, so the table repeats.

Data: ``$DISCREET_DATA``, else ``../shared/data`` beside the repository; tables that aren't there are left out.  With
``--data`` name some of them, with ``--splits`` say how many splits.  Prints the table, then how whitened and plain
differ by ``n mu / p`` (mu: the Gaussian parameter of the budget).  The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression as Reference
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from discreet.accounting import gdp
from discreet.linear_model import LogisticRegression

TABLES = (
    "bank_full", "credit_default", "adult", "kddcup99_10pct", "covtype", "electricity", "phishing", "mushrooms", "w8a",
)  # fmt: skip
QUICK = 3
EPSILONS = (0.1, 1.0)
SOLVERS = {"plain": "objective_perturbation", "whitened": "whitened_objective_perturbation", "default": "auto"}
MOST_ROWS = 100_000
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Line:
    """Means and standard deviations over splits of one way to fit one table."""

    data: str
    rows: int
    columns: int
    epsilon: float
    bounds: str
    model: str
    accuracy: float
    accuracy_sd: float
    auc: float
    auc_sd: float
    seconds: float
    ratio: float

    def __str__(self) -> str:
        eps = f"{self.epsilon:<6g}" if self.epsilon < np.inf else "none  "
        scores = f"{self.accuracy:.4f} ({self.accuracy_sd:.4f})  {self.auc:.4f} ({self.auc_sd:.4f})"
        size = f"{self.data:16s}{self.rows:8d}{self.columns:5d}"
        return f"{size}  {eps} {self.bounds:8s}{self.model:10s}{scores}  {self.seconds:6.1f}"


def folder() -> Path:
    """Where the tables are."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("DISCREET_DATA", str(beside)))


def table(name: str) -> tuple[Array, Array] | None:
    """Rows and labels 0 and 1, without columns of one value; None where the file is missing."""
    path = folder() / f"{name}.npz"
    if not path.is_file():
        return None
    file = np.load(path, allow_pickle=False)
    X: Any = sp.csr_array(sp.load_npz(path)) if "indptr" in file.files else file["X"]
    y = (file["y"] > file["y"].min()).astype(float)
    if len(X) > MOST_ROWS:
        kept = np.sort(np.random.default_rng(1).permutation(len(X))[:MOST_ROWS])
        X, y = X[kept], y[kept]
    X = X.toarray() if hasattr(X, "toarray") else X
    varied = X.min(axis=0) < X.max(axis=0)
    return np.ascontiguousarray(X[:, varied], dtype=np.float64), y


def score(model: Any, X: Array, y: Array) -> tuple[float, float]:
    """Accuracy and AUC on rows that the model has not seen."""
    margins = model.decision_function(X)
    return float(((margins > 0) == (y > 0)).mean()), float(roc_auc_score(y, margins))


def line(name: str, X: Array, train: int, epsilon: float, bounds: str, model: str, scores: Any, start: float) -> Line:
    """The figures of several splits, and the seconds of one."""
    (accuracy, auc), (a, b) = np.mean(scores, axis=0), np.std(scores, axis=0, ddof=1 if len(scores) > 1 else 0)
    ratio = train * gdp.mu_for(epsilon, 1 / train**2) / (X.shape[1] + 1) if epsilon < np.inf else np.inf
    seconds = (time.perf_counter() - start) / len(scores)
    figures = (round(float(v), 5) for v in (accuracy, a, auc, b, seconds, ratio))
    return Line(name, train, X.shape[1], epsilon, bounds, model, *figures)


def lines(name: str, splits: int) -> Iterator[Line]:
    """Every way to fit one table."""
    found = table(name)
    if found is None:
        print(f"{name}: no file in {folder()}, left out")
        return
    X, y = found
    low, high = X.min(axis=0), X.max(axis=0)
    cuts = [train_test_split(np.arange(len(X)), test_size=0.2, random_state=seed) for seed in range(splits)]
    n = len(cuts[0][0])
    start = time.perf_counter()
    constant = [(max(y[t].mean(), 1 - y[t].mean()), 0.5) for _, t in cuts]
    yield line(name, X, n, np.inf, "-", "constant", constant, start)
    unit = (X - low) / (high - low)
    start = time.perf_counter()
    best = [score(Reference(C=10.0, max_iter=300).fit(unit[a], y[a]), unit[b], y[b]) for a, b in cuts]
    yield line(name, X, n, np.inf, "public", "reference", best, start)
    for epsilon in EPSILONS:
        for kind, bounds in (("public", (low, high)), ("private", "private")):
            for model, solver in SOLVERS.items():
                start, scores = time.perf_counter(), []
                for seed, (a, b) in enumerate(cuts):
                    private = LogisticRegression(
                        epsilon=epsilon, delta=1 / n**2, bounds=bounds, solver=solver, random_state=seed
                    )
                    scores.append(score(private.fit(X[a], y[a]), X[b], y[b]))
                yield line(name, X, n, epsilon, kind, model, scores, start)


def gains(found: list[Line]) -> list[dict[str, Any]]:
    """What whitening adds to plain objective perturbation, by ``n mu / p``, with public bounds."""
    by = {(v.data, v.epsilon, v.model): v for v in found if v.bounds == "public" and v.epsilon < np.inf}
    out = []
    for (data, epsilon, model), w in by.items():
        if model == "whitened":
            plain = by[data, epsilon, "plain"]
            gain = {"accuracy": round(w.accuracy - plain.accuracy, 5), "auc": round(w.auc - plain.auc, 5)}
            out.append({"data": data, "epsilon": epsilon, "n_mu_over_p": round(w.ratio, 1), **gain})
    return sorted(out, key=lambda v: float(v["n_mu_over_p"]))


def main() -> None:
    """Print the table, the gains and one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"2 splits of {QUICK} tables")
    parser.add_argument("--splits", type=int, default=0)
    parser.add_argument("--data", nargs="+", default=None)
    args = parser.parse_args()
    names = args.data or (TABLES[:QUICK] if args.quick else TABLES)
    print("table               rows cols  epsilon bounds  model     accuracy (sd)    AUC (sd)          seconds a split")
    found: list[Line] = []
    for name in names:
        for one in lines(name, args.splits or (2 if args.quick else 10)):
            print(one, flush=True)
            found.append(one)
    print("\nwhitened less plain, public bounds, by n mu / p")
    for gain in gains(found):
        print(f"{gain['data']:16s} epsilon {gain['epsilon']:<5g} {gain['n_mu_over_p']:8.1f}  "
              f"accuracy {gain['accuracy']:+.4f}  AUC {gain['auc']:+.4f}")  # fmt: skip
    rows = [{k: (None if v == np.inf else v) for k, v in asdict(one).items()} for one in found]
    print(json.dumps({"lines": rows, "gains": gains(found)}))


if __name__ == "__main__":
    main()
