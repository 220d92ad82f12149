"""Private models under attack: unseeded copies of one, fitted many times on neighbours that suit its bounds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from discreet.audit.distinguishing import AuditResult, distinguish
from discreet.audit.neighbours import Pair, worst_pairs
from discreet.curator import RowBounds
from discreet.privacy import Neighbours

__all__ = ["attack", "harmless", "outputs"]

Floats = NDArray[np.float64]
Promise = tuple[float | None, float | None]


def harmless(model: BaseEstimator) -> Any:
    """An unfitted copy that draws its noise from the system, charges no ledger and uses one thread.

    Its classes become whole numbers, so that data sets can be made for it.

    >>> from discreet import LogisticRegression
    >>> model = LogisticRegression(classes=["no", "yes"], random_state=3)
    >>> copy = harmless(model)
    >>> copy.classes, copy.random_state, model.classes
    ([0.0, 1.0], None, ['no', 'yes'])
    """
    copy: Any = clone(model)
    params = copy.get_params(deep=False)
    quiet: dict[str, Any] = {"random_state": None, "ledger": None, "n_jobs": None, "verbose": 0}
    changed = {name: value for name, value in quiet.items() if name in params}
    if "classes" in params and not isinstance(params["classes"], str):
        labels = sorted([0, 1] if params["classes"] is None else params["classes"])
        changed["classes"] = [float(code) for code in range(len(labels))]
        if params.get("class_weight") is not None:
            codes = {label: float(code) for code, label in enumerate(labels)}
            changed["class_weight"] = {codes.get(k, k): v for k, v in params["class_weight"].items()}
    return copy.set_params(**changed)


def outputs(fit: Callable[..., Any], data: tuple[Any, ...], runs: int, n_jobs: int) -> Floats:
    """What `runs` runs return, one per row, on `n_jobs` processes.

    >>> outputs(lambda X, y: X.sum(), (np.ones((2, 2)), None), 3, 1)
    array([[4.],
           [4.],
           [4.]])
    """
    chunks = np.array_split(np.arange(runs), min(runs, 64))
    parts = Parallel(n_jobs=n_jobs)(delayed(_repeat)(fit, data, len(chunk)) for chunk in chunks)
    return np.concatenate(list(parts))


def _repeat(fit: Callable[..., Any], data: tuple[Any, ...], times: int) -> Floats:
    return np.stack([np.ravel(np.asarray(fit(*data), dtype=np.float64)) for _ in range(times)])


class _Coefficients:
    """Fits a copy of a model and returns its coefficients; a class, so that processes can be sent it."""

    def __init__(self, model: BaseEstimator) -> None:
        self.model = model

    def __call__(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Floats:
        fresh: Any = clone(self.model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of bounds that clip, on data made to be clipped
            given = {"sample_weight": sample_weight, "groups": groups}
            fresh.fit(X, y, **{name: value for name, value in given.items() if value is not None})
        return np.concatenate([np.ravel(fresh.coef_), np.ravel(fresh.intercept_)])


def attack(
    model: BaseEstimator,
    neighbors: Sequence[tuple[Any, ...]] | None,
    promise: Promise,
    runs: int,
    confidence: float,
    n_features: int | None,
    n_jobs: int,
) -> AuditResult:
    """The distinguishing attack on a model: on the pair given, or on several that are made for it.

    >>> from discreet import LogisticRegression
    >>> found = attack(LogisticRegression(bounds="unit"), None, (None, None), 120, 0.95, None, 1)
    >>> found.promised, found.runs, found.caught
    (1.0, 120, False)
    """
    params = model.get_params(deep=False)
    promised = float(params["epsilon"]) if promise[0] is None else float(promise[0])
    pairs: list[Pair] = []
    if neighbors is not None:
        given: Any = tuple(neighbors)
        pairs, copy = [Pair("given", *given)], clone(model).set_params(**_unseeded(params))
    else:
        copy = harmless(model)
        pairs = _made_for(copy, _width(model, n_features))
        if params.get("rows_per_person", 1) > 1:
            pairs = [pair.of_one_person(int(params["rows_per_person"])) for pair in pairs]
    if promise[1] is not None:
        delta = float(promise[1])
    elif params["delta"] != "auto":
        delta = float(params["delta"])
    else:  # as the model itself sets it: no more than this, so the bound is no weaker for it
        delta = 1e-6
    share = 1 - (1 - confidence) / len(pairs)
    results = []
    for pair in pairs:
        sides = [outputs(_Coefficients(copy), data, runs // (2 * len(pairs)), n_jobs) for data in pair]
        found = distinguish(sides[0], sides[1], promised, delta, share)
        results.append(replace(found, statistic=f"{found.statistic} of one row {pair.name}"))
    best = max(results, key=lambda r: r.epsilon_lower)
    return replace(best, confidence=confidence, runs=sum(r.runs for r in results))


def _unseeded(params: dict[str, Any]) -> dict[str, Any]:
    return {name: None for name in ("random_state", "ledger") if name in params}


def _width(model: Any, n_features: int | None) -> int:
    """How many features the made-up rows have: as asked for, or as bounds or an earlier fit say."""
    if n_features is not None:
        return n_features
    bounds = model.get_params(deep=False)["bounds"]
    if isinstance(bounds, tuple):
        sizes = [np.size(b) for b in bounds if np.ndim(b) == 1]
    elif isinstance(bounds, RowBounds):
        sizes = [np.size(b) for b in (bounds.low, bounds.high) if np.ndim(b) == 1]
    else:
        sizes = []
    return max([*sizes, 1]) if sizes else int(getattr(model, "n_features_in_", 2))


def _made_for(copy: Any, p: int) -> list[Pair]:
    """Rows at the corners of the model's bounds, with its extreme targets."""
    params = copy.get_params(deep=False)
    bounds, targets, classes = params["bounds"], params.get("bounds_y"), params.get("classes")
    low, high = -np.ones(p), np.ones(p)
    if isinstance(bounds, tuple):
        low, high = (np.broadcast_to(np.asarray(b, dtype=np.float64), (p,)) for b in bounds)
    elif isinstance(bounds, RowBounds):
        far = next((float(b) for b in (bounds.linf, bounds.l2) if b is not None), 1.0)
        low, high = (
            np.broadcast_to(np.asarray(side if side is not None else plain, dtype=np.float64), (p,))
            for side, plain in ((bounds.low, -far), (bounds.high, far))
        )
    extremes = (0.0, 1.0)
    if isinstance(targets, tuple):
        extremes = (float(targets[0]), float(targets[1]))
    elif classes is not None and not isinstance(classes, str):
        extremes = (float(min(classes)), float(max(classes)))
    return worst_pairs(Neighbours.of(params["neighbors"]), p, low, high, extremes)
