"""One-line classifiers over seven budgets: more budget doesn't hurt, and none is worse than saying nothing.

Figures are means over tables of a design, each with noise of its own, on 4,000 rows that no fit has seen.  Everything
is seeded, so a test either always passes or always fails.  False alarms: of ten sets of seeds (``first`` = 0, 100, ...,
900), each of 48 tests, one failed in one test.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from discreet.accounting.published import strength
from discreet.linear_model import LogisticRegression
from discreet.privacy import Budget

EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
TABLES, TEST = 3, 4000
SIZES = ((1000, 2), (1000, 10), (5000, 10))
KINDS = ("balanced", "rare", "nothing", "separable", "categories", "classes")


def design(kind: str, n: int, p: int, seed: int) -> tuple[Any, Any]:
    """Rows within [-4, 4] and codes of classes; what is true of a design doesn't depend on the seed."""
    rng, fixed = np.random.default_rng(seed), np.random.default_rng(7)
    w = fixed.normal(size=(p, 4)) / np.sqrt(p)
    X = rng.normal(size=(n + TEST, p)).clip(-4, 4)
    if kind == "categories":
        X = np.eye(p)[rng.choice(p, n + TEST, p=(1 / np.arange(1, p + 1)) / (1 / np.arange(1, p + 1)).sum())]
        w *= 3
    margins = 2 * X @ w
    if kind == "classes":
        return X, (margins + rng.gumbel(size=margins.shape)).argmax(axis=1)
    first = margins[:, 0]
    if kind == "separable":
        return X, (first > 0).astype(int)
    chance = 0.2 if kind == "nothing" else 1 / (1 + np.exp(-(first - 4.2 * (kind == "rare"))))
    return X, (rng.random(n + TEST) < chance).astype(int)


@cache
def measured(kind: str, n: int, p: int, bounds: str, pure: bool, first: int = 0) -> Any:
    """For each epsilon accuracy and log-loss, and those of the constant predictor."""
    found = np.zeros((TABLES, len(EPSILONS), 4))
    for k in range(TABLES):
        X, y = design(kind, n, p, first + k)
        classes = np.unique(y)
        at = np.searchsorted(classes, y[n:])
        rate = np.maximum(np.bincount(np.searchsorted(classes, y[:n]), minlength=classes.size), 1) / n
        constant = float((at == rate.argmax()).mean()), float(-np.log(rate[at]).mean())
        for j, epsilon in enumerate(EPSILONS):
            model = LogisticRegression(
                epsilon=epsilon, delta=0.0 if pure else 1 / n**2, bounds=(-4, 4) if bounds == "public" else "private",
                classes=classes.tolist(), random_state=first + k,
            ).fit(X[:n], y[:n])  # fmt: skip
            chances = np.maximum(model.predict_proba(X[n:])[np.arange(TEST), at], 1e-12)
            found[k, j] = (model.predict(X[n:]) == y[n:]).mean(), -np.log(chances).mean(), *constant
    return found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(TABLES)


CASES = [
    (kind, n, p, bounds, False)
    for kind in KINDS for n, p in SIZES for bounds in ("public", "private") if bounds == "public" or p == 10
]  # fmt: skip
CASES += [(kind, 1000, 2, "public", True) for kind in KINDS]


def below(case: Any, first: int = 0) -> list[str]:
    """Where accuracy, or log-loss, is worse than the constant predictor's by more than a hundredth (of it)."""
    n, pure = case[1], case[4]
    mean, error = measured(*case, first)
    found = []
    for epsilon, (accuracy, loss, usual, least), (spread, width, _, _) in zip(EPSILONS, mean, error, strict=True):
        size = n * strength(Budget(epsilon, 0.0 if pure else 1 / n**2)) / (10 if pure else 1)
        if n * epsilon >= 500 and accuracy + spread < usual - 0.01:
            found.append(f"{case}: accuracy {accuracy:.3f} at epsilon {epsilon}, constant {usual:.3f}")
        # the level of a rare class alone takes about a thousand rows times mu to be known that well
        slack = 0.01 if size >= 1000 else 0.25
        if n * epsilon >= 500 and loss - width > (1 + slack) * least:
            found.append(f"{case}: log-loss {loss:.3f} at epsilon {epsilon}, constant {least:.3f}")
    return found


def falls(case: Any, first: int = 0) -> list[str]:
    """Where three times the budget, or more, makes it worse, beyond two standard errors and a hundredth."""
    mean, error = measured(*case, first)
    rows = case[1] * np.asarray(EPSILONS)
    found = []
    for a in range(len(EPSILONS)):
        for b in range(a + 1, len(EPSILONS)):
            if rows[a] < 100:  # fewer hardly beat guessing, and guesses differ
                continue
            for name, column, sign in (("accuracy", 0, 1.0), ("log-loss", 1, -1.0)):
                fall = sign * (mean[a, column] - mean[b, column])
                if fall > 0.02 + 2 * np.hypot(error[a, column], error[b, column]):
                    found.append(f"{case}: {name} worse by {fall:.3f} at epsilon {EPSILONS[b]} than {EPSILONS[a]}")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_default_is_worse_than_the_constant(case: Any) -> None:
    assert not below(case)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
def test_more_budget_does_not_hurt(case: Any) -> None:
    assert not falls(case)
