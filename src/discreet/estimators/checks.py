"""What is refused before any data is read, and what is refused about the rows before the curator opens."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, validate_data

from discreet import solvers
from discreet.curator import RowBounds
from discreet.estimators.ranges import boxed
from discreet.penalties.base import Penalty
from discreet.privacy import Neighbours, unquoted
from discreet.solvers.base import Problem, Refusal, Solver

__all__ = [
    "check_class_weight",
    "check_classes",
    "check_common",
    "chosen",
    "given_box",
    "given_range",
    "positive_number",
    "row_weights",
    "rows_and_targets",
]

Floats = NDArray[np.float64]
POLYTOPES = ("l1_ball", "simplex", "polytope")  # few corners, so choosing among them costs a logarithm of the features
OTHERS = ("objective_perturbation", "gradient_descent", "frank_wolfe", "iterative_hard_thresholding", "peeling")


def _number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and bool(np.isfinite(float(value)))


def _whole(value: Any, least: int) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= least


def check_common(model: Any) -> None:
    """Refuse parameters that mean nothing, each with its value, the rule and a remedy.

    >>> from discreet import LogisticRegression
    >>> check_common(LogisticRegression(epsilon=-1))
    Traceback (most recent call last):
    ...
    ValueError: epsilon=-1 must be positive and finite; usual values lie between 0.1 and 10
    """
    for name, other in (("epsilon", None), ("delta", "auto")):
        value = getattr(model, name)
        if isinstance(value, bool) or (not isinstance(value, numbers.Real) and value != other):
            raise TypeError(f"{name}={value!r} must be a number" + (f" or {other!r}" if other else ""))
    if not (_number(model.epsilon) and model.epsilon > 0):
        raise ValueError(f"epsilon={model.epsilon!r} must be positive and finite; usual values lie between 0.1 and 10")
    if model.delta != "auto" and not (_number(model.delta) and 0 <= model.delta < 1):
        raise ValueError(f"delta={model.delta!r} must be 'auto', or at least 0 and below 1; usual is far below 1/n")
    Neighbours.of(model.neighbors)
    if model.penalty is not None and not isinstance(model.penalty, Penalty):
        raise TypeError(f"penalty={model.penalty!r} must be None or a penalty object, such as discreet.L1Ball(10)")
    if isinstance(model.solver, str):
        if model.solver != "auto":
            solvers.by_name(model.solver)
    elif not isinstance(model.solver, Solver):
        raise TypeError(f"solver={model.solver!r} must be 'auto', a solver's name or a solver")
    if not isinstance(model.fit_intercept, (bool, np.bool_)):
        raise TypeError(f"fit_intercept={model.fit_intercept!r} must be True or False")
    if not isinstance(model.warm_start, (bool, np.bool_)):
        raise TypeError(f"warm_start={model.warm_start!r} must be True or False")
    if not isinstance(model.inference, (bool, np.bool_)):
        raise TypeError(f"inference={model.inference!r} must be True or False")
    if model.max_iter != "auto" and not _whole(model.max_iter, 1):
        raise ValueError(f"max_iter={model.max_iter!r} must be 'auto' or a whole number, at least 1")
    if model.n_jobs is not None and not _whole(model.n_jobs, 1) and model.n_jobs != -1:
        raise ValueError(f"n_jobs={model.n_jobs!r} must be None, a number of threads, or -1 for all")
    _check_bounds(model.bounds)


def _check_bounds(bounds: Any) -> None:
    if isinstance(bounds, RowBounds) or (isinstance(bounds, str) and bounds in ("private", "unit")):
        return
    if not (isinstance(bounds, (tuple, list)) and len(bounds) == 2):
        raise ValueError(f"bounds={bounds!r} must be 'private', (low, high), 'unit' or a RowBounds of public numbers")
    low, high = (np.asarray(b, dtype=np.float64) for b in bounds)
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
        raise ValueError(
            f"bounds={bounds!r} must be finite with every low below its high; widen them where a feature is constant"
        )


def positive_number(value: Any, name: str, meaning: str, below: float = np.inf) -> None:
    """Refuse a parameter that isn't a positive finite number (below a limit).

    >>> positive_number(0.25, "threshold", "a share")
    """
    if not (_number(value) and 0 < value < below):
        limit = f" and below {below:g}" if np.isfinite(below) else ""
        raise ValueError(f"{name}={value!r} must be positive and finite{limit}: {meaning}")


def check_classes(classes: Any, delta: Any = "auto", weights: Any = None) -> None:
    """A public label set has two different labels or more; one that is bought takes a delta above 0.

    >>> check_classes(["no", "yes"])
    """
    if classes is None:
        return
    if isinstance(classes, str) and classes == "private":
        if delta == 0:
            raise ValueError(
                "classes='private' needs delta above 0: under pure differential privacy a label that one person has "
                "can't be told from one that nobody has; give delta, or list the labels with classes=[...]"
            )
        if weights is not None:
            raise ValueError("class_weight names labels, which classes='private' keeps secret: give classes=[...]")
        return
    if isinstance(classes, str):
        raise ValueError(
            f"classes={classes!r} must be None (as seen, declared public), 'private' (bought) or the list of all labels"
        )
    labels = np.asarray(classes)
    if labels.ndim != 1 or np.unique(labels).size < 2 or np.unique(labels).size != labels.size:
        raise ValueError(f"classes={classes!r} must list at least two labels, each once")


def check_class_weight(weights: Any) -> None:
    """Weights of classes are public numbers; those that the data would choose are not.

    >>> check_class_weight({0: 1.0, 1: 4.0})
    """
    if weights is None:
        return
    if isinstance(weights, str):
        raise ValueError(
            f"class_weight={weights!r} would be read from the data's own class counts; give a dict of public weights, "
            "such as {0: 1, 1: 4} where one row in five is known to be of class 1"
        )
    if not isinstance(weights, Mapping):
        raise TypeError(f"class_weight={weights!r} must be None or a dict from label to weight")
    for label, weight in weights.items():
        if not (_number(weight) and weight > 0):
            raise ValueError(f"class_weight[{label!r}]={weight!r} must be positive and finite")


def rows_and_targets(model: Any, X: Any, *y: Any, reset: bool = False, sparse: bool = True) -> Any:
    """Rows (with targets, for a fit) as scikit-learn reads them; what can't be read is refused without quoting it.

    >>> from discreet import LogisticRegression
    >>> rows_and_targets(LogisticRegression(), [[1.0, float("nan")]], [1])
    Traceback (most recent call last):
    ...
    ValueError: Input X contains NaN; give X and y as finite numbers, ... discreet.preprocessing.Schema
    """
    options: dict[str, Any] = {"accept_sparse": ["csr", "csc"] if sparse else False, "dtype": np.float64}
    if not y:
        return unquoted("X", validate_data, model, X, reset=reset, **options)
    return unquoted("X and y", validate_data, model, X, *y, y_numeric=False, **options)


def row_weights(sample_weight: ArrayLike | None, X: Any, cap: float = 1.0) -> Floats | None:
    """Sample weights as numbers between 0 and a public cap, one per row.

    >>> row_weights([0.5, 7.0], np.eye(2)), row_weights([0.5, 7.0], np.eye(2), 4.0)
    (array([0.5, 1. ]), array([0.5, 4. ]))
    """
    if sample_weight is None:
        return None
    w: Floats = unquoted("sample_weight", np.asarray, sample_weight, dtype=np.float64)
    if w.ndim == 0:
        w = np.full(X.shape[0], float(w))
    if w.ndim != 1:
        raise ValueError("sample_weight must be 1D, one number per row")
    unquoted("sample_weight", check_consistent_length, X, w)
    if not np.isfinite(w).all() or (w < 0).any():
        raise ValueError("sample_weight must be finite and at least 0; larger than the public cap counts as that")
    if not (w > 0).any():
        raise ValueError("sample_weight is zero in every row; give a positive weight to the rows that count")
    return np.minimum(w, cap)


def given_box(
    unknown: RowBounds, limits: Sequence[Any], p: int, sparse: bool, *, scaled: bool, cut: float | None = None
) -> RowBounds:
    """Row bounds from public limits of each feature; with `cut`, centred, in half widths, and cut at that norm.

    >>> given_box(RowBounds(l2=1.0), (0, 2), 3, False, scaled=True).scale
    array([2., 2., 2.])
    >>> given_box(RowBounds(l2=1.0), (0, 2), 3, False, scaled=True, cut=1.5).centre
    array([1., 1., 1.])
    """
    sides = [np.asarray(b, dtype=np.float64) for b in limits]
    if any(b.shape not in ((), (1,), (p,)) for b in sides):
        raise ValueError(f"bounds=(low, high) must be numbers or have one entry for each of the {p} features")
    low, high = (np.broadcast_to(b, (p,)) for b in sides)
    if sparse and ((low > 0) | (high < 0)).any():
        raise ValueError("sparse features must have bounds that contain 0, since a zero is not stored")
    if cut is not None:
        return replace(unknown, low=low, high=high, centre=low / 2 + high / 2, scale=high / 2 - low / 2, l2=cut)
    return boxed(unknown, low, high, sparse=sparse, scaled=scaled)


def chosen(
    problem: Problem, decided: Solver | None, preferred: Sequence[str], limited: Callable[[Solver], Solver]
) -> Solver:
    """What was decided, or else the first solver in the order of preference for this penalty that takes the problem.

    >>> from discreet.losses import LogisticLoss
    >>> from discreet.privacy import Budget
    >>> problem = Problem(LogisticLoss(), RowBounds(l2=1.0), 10, 1000, Budget(1, 1e-6))
    >>> chosen(problem, None, ["objective_perturbation"], lambda s: s).name
    'objective_perturbation'
    """
    penalty = problem.penalty
    first = preferred if penalty is None else ("frank_wolfe",) if penalty.name in POLYTOPES else ()
    names = [name for name in dict.fromkeys([*first, *OTHERS]) if name in solvers.names()]
    reasons = []
    for solver in [*([] if decided is None else [decided]), *(solvers.by_name(name)() for name in names)]:
        try:
            limited(solver).check(problem)
        except Refusal as reason:
            reasons.append(str(reason))
        else:
            return solver
    raise Refusal("no solver takes this problem: " + "; ".join(reasons))


def given_range(limits: Any) -> tuple[float, float]:
    """The public range of a target.

    >>> given_range([0, 2])
    (0.0, 2.0)
    """
    try:
        low, high = (float(b) for b in limits)
    except (TypeError, ValueError):
        raise ValueError(
            f"bounds_y={limits!r} must be 'private' or (low, high), the public range of the target"
        ) from None
    if not (np.isfinite([low, high]).all() and low < high):
        raise ValueError(f"bounds_y={limits!r} must be finite, with low below high")
    return low, high
