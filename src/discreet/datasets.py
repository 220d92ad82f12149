"""Real data bundled with the package, and the designs of the papers, each with its public bounds.

A *public bound* is known before anyone looks at the data: from a data dictionary, or because a generator clips to it.
Nothing here is private, and nothing here is computed from the bundled rows: the constants are written out.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.randomness import data_generator

__all__ = [
    "Dataset",
    "load_adult",
    "load_breast_cancer",
    "make_coordinate_regression",
    "make_heavy_tailed_regression",
    "make_sparse_classification",
    "make_sparse_regression",
]

Array = NDArray[np.float64]
Pattern = Literal["spread", "block", "cancel"]
Kind = Literal["lognormal", "balanced", "first_big"]

CLIP = 4.0  # designs are cut at this many standard deviations, so that their bounds are true

# Lowest and highest value by the documentation of the survey: persons older than 16, ages reported up to 90, sixteen
# levels of schooling, hours in two digits, gains top-coded at 99999.  Losses have no stated limit; 5000 is a round cap.
ADULT_NUMBERS: dict[str, tuple[float, float]] = {
    "age": (17, 90),
    "education_num": (1, 16),
    "capital_gain": (0, 99999),
    "capital_loss": (0, 5000),
    "hours_per_week": (1, 99),
}
ADULT_LEVELS: dict[str, str] = {  # levels by the data dictionary, in the order of the codes in adult.npz; ? is missing
    "workclass": "Federal-gov Local-gov Never-worked Private Self-emp-inc Self-emp-not-inc State-gov Without-pay ?",
    "education": "10th 11th 12th 1st-4th 5th-6th 7th-8th 9th Assoc-acdm Assoc-voc Bachelors Doctorate HS-grad Masters "
    "Preschool Prof-school Some-college",
    "marital_status": "Divorced Married-AF-spouse Married-civ-spouse Married-spouse-absent Never-married Separated "
    "Widowed",
    "occupation": "Adm-clerical Armed-Forces Craft-repair Exec-managerial Farming-fishing Handlers-cleaners "
    "Machine-op-inspct Other-service Priv-house-serv Prof-specialty Protective-serv Sales Tech-support "
    "Transport-moving ?",
    "relationship": "Husband Not-in-family Other-relative Own-child Unmarried Wife",
    "race": "Amer-Indian-Eskimo Asian-Pac-Islander Black Other White",
    "sex": "Female Male",
    "native_country": "Cambodia Canada China Columbia Cuba Dominican-Republic Ecuador El-Salvador England France "
    "Germany Greece Guatemala Haiti Holand-Netherlands Honduras Hong Hungary India Iran Ireland Italy Jamaica Japan "
    "Laos Mexico Nicaragua Outlying-US(Guam-USVI-etc) Peru Philippines Poland Portugal Puerto-Rico Scotland South "
    "Taiwan Thailand Trinadad&Tobago United-States Vietnam Yugoslavia ?",
}
ADULT_COLUMNS = (  # in the order of the original file
    *("age", "workclass", "education", "education_num", "marital_status", "occupation", "relationship"),
    *("race", "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country"),
)
ADULT_TRAIN_ROWS = 32561

# Every measurement is non-negative; the upper ends are round numbers above the maxima printed in the published
# description of the set, in its order: ten measurements as mean, then as standard error, then as worst.
BREAST_CANCER_HIGH = [
    *(30, 40, 200, 3000, 0.2, 0.4, 0.5, 0.25, 0.4, 0.1),
    *(3, 5, 25, 600, 0.04, 0.2, 0.4, 0.06, 0.1, 0.03),
    *(40, 50, 300, 5000, 0.3, 1.1, 1.3, 0.3, 0.7, 0.25),
]


@dataclass(frozen=True)
class Dataset:
    """Rows, targets, and what is publicly known about them.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
    y : array of shape (n_rows,)
        Classes 0 and 1, or real targets.
    bounds : pair of arrays of length n_features
        Public lower and upper bound of each feature (infinite where there is none).
    feature_names : tuple of str
    bounds_y : pair of floats, optional
        Public range of a real target.
    target_names : tuple of str
        Names of the classes, empty for regression.
    coef : array, optional
        The coefficients that made `y`, for a synthetic design.
    n_train : int
        How many rows, from the first, belong to the published training part (all, if none was published).

    Examples
    --------
    >>> data = make_sparse_regression(n_rows=50, n_features=8, n_informative=2, seed=0)
    >>> data.X.shape, data.bounds[1].max(), int((data.coef != 0).sum())
    ((50, 8), np.float64(4.0), 2)
    """

    X: Array
    y: NDArray[Any]
    bounds: tuple[Array, Array]
    feature_names: tuple[str, ...]
    bounds_y: tuple[float, float] | None = None
    target_names: tuple[str, ...] = ()
    coef: Array | None = None
    n_train: int = 0

    def __repr__(self) -> str:
        kind = f"{len(self.target_names)} classes" if self.target_names else "regression"
        return f"<Dataset: {self.X.shape[0]} rows, {self.X.shape[1]} features, {kind}>"

    def scaled(self) -> Array:
        """The rows mapped to [0, 1] by the public bounds and by nothing else; what lies outside is clipped.

        >>> load_breast_cancer().scaled().max() <= 1
        np.True_
        """
        low, high = self.bounds
        if not np.all(np.isfinite(high - low)):
            raise ValueError("this design has features without bounds, so it can't be scaled by them; clip it first")
        return np.clip((self.X - low) / (high - low), 0.0, 1.0)

    def split(self) -> tuple[Array, Array, NDArray[Any], NDArray[Any]]:
        """Training rows, test rows, training targets, test targets: the published split.

        >>> X_train, X_test, y_train, y_test = load_adult().split()
        >>> len(y_train), len(y_test)
        (32561, 16281)
        """
        if not 0 < self.n_train < len(self.y):
            raise ValueError("this set was published without a split; use sklearn.model_selection.train_test_split")
        k = self.n_train
        return self.X[:k], self.X[k:], self.y[:k], self.y[k:]


def load_adult() -> Dataset:
    """Census income (UCI Adult, 1996): 48,842 persons, 107 columns, and whether they earn above 50,000 dollars a year.

    Numbers are raw; text columns are spread into one 0/1 column per level of the data dictionary ("?" is missing).
    Licensed CC BY 4.0; see ``discreet/data/ATTRIBUTION.md``.

    Examples
    --------
    >>> data = load_adult()
    >>> data
    <Dataset: 48842 rows, 107 features, 2 classes>
    >>> data.feature_names[0], data.bounds[0][0], data.bounds[1][0]
    ('age', np.float64(17.0), np.float64(90.0))
    """
    with as_file(files("discreet") / "data" / "adult.npz") as path, np.load(path, allow_pickle=False) as stored:
        codes = {name: stored[name] for name in stored.files}
    columns: list[Array] = []
    names: list[str] = []
    low: list[float] = []
    high: list[float] = []
    for name in ADULT_COLUMNS:
        if name in ADULT_NUMBERS:
            bottom, top = ADULT_NUMBERS[name]
            columns.append(codes[name].astype(np.float64)[:, None])
            names.append(name)
        else:
            bottom, top = 0.0, 1.0
            levels = ADULT_LEVELS[name].split()
            columns.append((codes[name][:, None] == np.arange(len(levels))).astype(np.float64))
            names.extend(f"{name}={level}" for level in levels)
        low.extend([bottom] * columns[-1].shape[1])
        high.extend([top] * columns[-1].shape[1])
    return Dataset(
        X=np.concatenate(columns, axis=1),
        y=codes["income"].astype(np.int64),
        bounds=(np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)),
        feature_names=tuple(names),
        target_names=("<=50K", ">50K"),
        n_train=ADULT_TRAIN_ROWS,
    )


def load_breast_cancer() -> Dataset:
    """The breast cancer data that comes with scikit-learn (569 rows, 30 features), with round public bounds.

    Examples
    --------
    >>> load_breast_cancer()
    <Dataset: 569 rows, 30 features, 2 classes>
    """
    from sklearn.datasets import load_breast_cancer as load

    bunch = load()
    return Dataset(
        X=np.asarray(bunch.data, dtype=np.float64),
        y=np.asarray(bunch.target, dtype=np.int64),
        bounds=(np.zeros(30), np.array(BREAST_CANCER_HIGH, dtype=np.float64)),
        feature_names=tuple(str(name) for name in bunch.feature_names),
        target_names=tuple(str(name) for name in bunch.target_names),
        n_train=569,
    )


def make_coordinate_regression(
    kind: Kind, *, n_rows: int = 1000, n_features: int = 100, noise: float = 1.0, seed: int = 0
) -> Dataset:
    """The three regression designs on which private coordinate descent is compared with private gradient descent.

    The squared scale of a column is its coordinate-wise smoothness ``M_j``.  ``"balanced"``: all equal.
    ``"lognormal"``: ``M_j = exp(2 z_j)`` with `z` standard normal.  ``"first_big"``: ``M_1 = 10^4``, the others 1, and
    ``|w_1|`` a hundredth of the others, the case in which working by coordinates gains most.
    The talk names the designs and prints no formula; these are ours.

    References
    ----------
    Mangold, Bellet, Salmon, Tommasi, CAp 2021 (talk): the comparison of DP-CD with DP-SGD on linear regression.

    Examples
    --------
    >>> data = make_coordinate_regression("first_big", n_rows=100, n_features=5)
    >>> data.bounds[1]
    array([400.,   4.,   4.,   4.,   4.])
    """
    rng = data_generator(seed)
    scale = np.ones(n_features)
    if kind == "lognormal":
        scale = np.exp(rng.standard_normal(n_features))
    elif kind == "first_big":
        scale[0] = 100.0
    elif kind != "balanced":
        raise ValueError(f"kind={kind!r} is not one of 'lognormal', 'balanced', 'first_big'")
    coef = rng.choice([-1.0, 1.0], n_features) / np.sqrt(n_features)
    if kind == "first_big":
        coef[0] /= scale[0]
    X = scale * np.clip(rng.standard_normal((n_rows, n_features)), -CLIP, CLIP)
    spread = float(np.sqrt(np.sum((scale * coef) ** 2) + noise**2))
    return _regression(X, coef, noise * rng.standard_normal(n_rows), spread, CLIP * scale)


def make_sparse_regression(
    *,
    n_rows: int = 1000,
    n_features: int = 1000,
    n_informative: int = 5,
    rho: float = 0.0,
    pattern: Pattern = "spread",
    noise: float = 1.0,
    seed: int = 0,
) -> Dataset:
    """Sparse linear regression: neighbouring columns correlate as ``rho``, ``rho^2``, ... (an AR(1) design).

    `pattern` places the non-zero coefficients, all of one size and of l2 norm 1 together: ``"spread"`` far apart,
    ``"block"`` side by side with one sign, ``"cancel"`` side by side with alternating signs, so that for ``rho`` near 1
    hardly any column correlates with the target by itself.

    Examples
    --------
    >>> data = make_sparse_regression(n_rows=10, n_features=6, n_informative=3, rho=0.9, pattern="cancel")
    >>> np.sign(data.coef)
    array([ 1., -1.,  1.,  0.,  0.,  0.])
    """
    rng = data_generator(seed)
    X, coef, spread = _sparse_design(rng, n_rows, n_features, n_informative, rho, pattern)
    spread = float(np.hypot(spread, noise))
    return _regression(X, coef, noise * rng.standard_normal(n_rows), spread, np.full(n_features, CLIP))


def make_sparse_classification(
    *,
    n_rows: int = 1000,
    n_features: int = 1000,
    n_informative: int = 5,
    rho: float = 0.0,
    pattern: Pattern = "spread",
    signal: float = 3.0,
    seed: int = 0,
) -> Dataset:
    """Sparse logistic regression on the design of :func:`make_sparse_regression`; `signal` is the norm of `coef`.

    Examples
    --------
    >>> data = make_sparse_classification(n_rows=200, n_features=10, n_informative=2)
    >>> sorted(set(data.y.tolist())), data.target_names
    ([0, 1], ('0', '1'))
    """
    rng = data_generator(seed)
    X, coef, _ = _sparse_design(rng, n_rows, n_features, n_informative, rho, pattern)
    coef = signal * coef
    y = (rng.logistic(size=n_rows) < X @ coef).astype(np.int64)
    top = np.full(n_features, CLIP)
    return Dataset(X, y, (-top, top), _names(n_features), target_names=("0", "1"), coef=coef, n_train=n_rows)


def make_heavy_tailed_regression(
    *,
    n_rows: int = 1000,
    n_features: int = 1000,
    n_informative: int = 5,
    degrees_of_freedom: float = 5.0,
    noise: float = 1.0,
    seed: int = 0,
) -> Dataset:
    """Sparse regression with Student-t features and noise of unit variance: no bounds, only moments.

    Five degrees of freedom leave a finite fourth moment and no sixth.  Features and targets have to be truncated
    before anything private can be done with them, which is what the heavy-tailed solver does.

    Examples
    --------
    >>> data = make_heavy_tailed_regression(n_rows=20, n_features=10)
    >>> bool(np.isinf(data.bounds[1]).all()), data.bounds_y
    (True, (-inf, inf))
    """
    if degrees_of_freedom <= 2:
        raise ValueError(f"degrees_of_freedom={degrees_of_freedom!r} must exceed 2 for a finite variance")
    rng = data_generator(seed)
    unit = np.sqrt((degrees_of_freedom - 2) / degrees_of_freedom)
    X = unit * rng.standard_t(degrees_of_freedom, (n_rows, n_features))
    coef = _coefficients(n_features, n_informative, "spread")
    y = X @ coef + noise * unit * rng.standard_t(degrees_of_freedom, n_rows)
    top = np.full(n_features, np.inf)
    return Dataset(X, y, (-top, top), _names(n_features), bounds_y=(-np.inf, np.inf), coef=coef, n_train=n_rows)


def _regression(X: Array, coef: Array, noise: Array, spread: float, top: Array) -> Dataset:
    """The data set ``y = X w + noise``, targets cut at `CLIP` times their standard deviation by design."""
    y = np.clip(X @ coef + noise, -CLIP * spread, CLIP * spread)
    n, p = X.shape
    return Dataset(X, y, (-top, top), _names(p), bounds_y=(-CLIP * spread, CLIP * spread), coef=coef, n_train=n)


def _sparse_design(
    rng: np.random.Generator, n: int, p: int, s: int, rho: float, pattern: Pattern
) -> tuple[Array, Array, float]:
    """An AR(1) design, its coefficients, and the standard deviation of ``X w`` (before clipping)."""
    if not -1 < rho < 1:
        raise ValueError(f"rho={rho!r} must lie strictly between -1 and 1")
    X = rng.standard_normal((n, p))
    for j in range(1, p if rho else 0):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    coef = _coefficients(p, s, pattern)
    where = np.flatnonzero(coef)
    variance = coef[where] @ (float(rho) ** np.abs(where[:, None] - where)) @ coef[where]
    return np.clip(X, -CLIP, CLIP), coef, float(np.sqrt(variance))


def _coefficients(p: int, s: int, pattern: Pattern) -> Array:
    if not 1 <= s <= p:
        raise ValueError(f"n_informative={s!r} must lie between 1 and n_features={p}")
    if pattern not in ("spread", "block", "cancel"):
        raise ValueError(f"pattern={pattern!r} is not one of 'spread', 'block', 'cancel'")
    coef = np.zeros(p)
    where = np.arange(s) * (p // s) if pattern == "spread" else np.arange(s)
    coef[where] = np.where(np.arange(s) % 2 == 0, 1.0, 1.0 if pattern == "block" else -1.0) / np.sqrt(s)
    return coef


def _names(p: int) -> tuple[str, ...]:
    return tuple(f"x{j}" for j in range(p))
