"""A private classifier on census data, at several budgets, beside the answer that never looks at a person.

Run with ``python examples/quickstart.py``.
"""

from __future__ import annotations

from discreet import LogisticRegression
from discreet.datasets import load_adult


def main() -> None:
    adult = load_adult()
    X_train, X_test, y_train, y_test = adult.split()
    print(f"constant answer  accuracy {max(y_test.mean(), 1 - y_test.mean()):.3f}")
    for epsilon in (0.1, 1.0, 4.0):
        model = LogisticRegression(epsilon=epsilon, delta=1e-6, bounds=adult.bounds).fit(X_train, y_train)
        print(f"epsilon {epsilon:<7g}  accuracy {model.score(X_test, y_test):.3f}")


if __name__ == "__main__":
    main()
