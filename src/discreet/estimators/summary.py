"""What a fitted model says about its coefficients: intervals, and a table in the manner of statistics packages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from discreet.estimators.statement import SEEDED
from discreet.inference import Inference

__all__ = ["Inferential", "Summary"]

Floats = NDArray[np.float64]
COLUMNS = ("coef", "std err", "z", "P>|z|")
INTERCEPT = "intercept"
BOUNDS = ("feature bounds", "row norm", "range of the target")


@dataclass(frozen=True)
class Summary:
    """A table of coefficients; prints as one, and gives its numbers as rows.

    Attributes
    ----------
    header : dict of str to str
        What was fitted, how, and what was promised.
    names : list of str
        The coefficients, the intercept last.
    values : array of shape (coefficients, 6)
        Estimate, standard error, their quotient, its two-sided p-value, lower and upper end.
    level : float
        Of the intervals.
    notes : list of str
        What the numbers mean, and where they mean nothing.

    Examples
    --------
    >>> print(Summary({"Model": "m", "Rows": "9"}, ["x0"], np.array([[1.0, 0.5, 2.0, 0.0455, 0.02, 1.98]]), 0.95, []))
    Model:  m
    Rows:   9
    --------------------------------------------------------------
                  coef   std err         z   P>|z|  [0.025  0.975]
    x0           1.000     0.500     2.000   0.045   0.020   1.980
    --------------------------------------------------------------
    """

    header: dict[str, str]
    names: list[str]
    values: Floats
    level: float
    notes: list[str]

    def __str__(self) -> str:
        tail = (1 - self.level) / 2
        ends = (f"[{tail:.3g}", f"{1 - tail:.3g}]")
        left = max([len(n) for n in self.names] + [8])
        wide = max(len(k) for k in self.header) + 1
        texts = [_texts(row) for row in self.values]
        widths = [
            max([len(title)] + [len(row[j]) for row in texts]) + 2
            for j, title in enumerate([*(f"{c:>8}" for c in COLUMNS[:3]), f"{COLUMNS[3]:>6}", *ends])
        ]
        head = " " * left + "".join(f"{t:>{w}}" for t, w in zip((*COLUMNS, *ends), widths, strict=True))
        line = "-" * len(head)
        body = [
            f"{name:<{left}}" + "".join(f"{t:>{w}}" for t, w in zip(row, widths, strict=True))
            for name, row in zip(self.names, texts, strict=True)
        ]
        top = [f"{key + ':':<{wide}} {value}" for key, value in self.header.items()]
        return "\n".join([*top, line, head, *body, line, *self.notes])

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        columns = ("coef", "std_err", "z", "p", "low", "high")
        rows = [dict(zip(columns, map(float, row), strict=True)) for row in self.values]
        return {"header": dict(self.header), "level": self.level, "rows": dict(zip(self.names, rows, strict=True))}


def _texts(row: Floats) -> list[str]:
    """Estimate, error and ends to the same decimals, three digits of the error; quotient and p-value to three."""
    size = float(row[1]) if 0 < row[1] < math.inf else abs(float(row[0])) / 10
    places = max(2 - math.floor(math.log10(size)), 0) if size > 0 else 3
    plain = places <= 9 and np.abs(row[[0, 4, 5]][np.isfinite(row[[0, 4, 5]])]).max(initial=0.0) < 1e9

    def number(value: float) -> str:
        if not math.isfinite(value):
            return "inf" if value > 0 else "-inf"
        return f"{value:.{places}f}" if plain else f"{value:.3e}"

    return [number(v) if j not in (2, 3) else f"{v:.3f}" for j, v in enumerate(map(float, row))]


class Inferential:
    """The part of an estimator that speaks about its coefficients; needs a fit with ``inference=True``."""

    inference_: Inference

    def _inferred(self) -> Inference:
        check_is_fitted(self)
        if not hasattr(self, "inference_"):
            raise AttributeError(
                f"this {type(self).__name__} was fitted with inference=False, so nothing is known about its errors; "
                "fit again with inference=True, which sets a tenth of the budget aside for them"
            )
        return self.inference_

    def conf_int(self, level: float = 0.95) -> Floats:
        """Confidence intervals of the coefficients, which count sampling and privacy noise.

        Parameters
        ----------
        level : float, default=0.95
            How often such intervals cover the coefficient of the clipped population.

        Returns
        -------
        array of shape (n_features + 1, 2)
            Lower and upper ends, in the order of the features; the intercept last, where one was fitted.  Infinite
            where the noise on the curvature drowns it.

        Notes
        -----
        *Privacy.* Guarantee: that of the fit; nothing more is asked of the data.  Neighbours: those of the fit.
        Public: `level`.  Bounded by: released numbers alone.  Proof: ``proofs/inference.md``.

        Examples
        --------
        >>> from discreet import LogisticRegression
        >>> from discreet.randomness import data_generator
        >>> rng = data_generator(0)
        >>> X = rng.uniform(-1, 1, (20_000, 2))
        >>> y = rng.uniform(size=20_000) < 1 / (1 + np.exp(-2 * X[:, 0]))
        >>> model = LogisticRegression(inference=True, bounds=(-1, 1), random_state=0).fit(X, y)
        >>> model.conf_int().shape
        (3, 2)
        """
        return self._inferred().conf_int(level)

    def summary(self, level: float = 0.95) -> Summary:
        """A table of coefficients with standard errors, tests and intervals; print it.

        Coefficients are corrected for the pull of the ridge to first order, so they differ a little from ``coef_``.
        Names are those of a data frame's columns, where one was fitted.  ``docs/inference.md`` says what is covered.

        Notes
        -----
        *Privacy.* Guarantee: that of the fit; nothing more is asked of the data.  Neighbours: those of the fit.
        Public: `level`.  Bounded by: released numbers alone.  Proof: ``proofs/inference.md``.

        Examples
        --------
        >>> from discreet import LinearRegression
        >>> X = np.resize([-1.0, 0.0, 0.5, 1.0], 20_000).reshape(-1, 1)
        >>> options = dict(bounds=(-1, 1), bounds_y=(-1, 1), solver="sufficient_statistics", random_state=0)
        >>> table = LinearRegression(inference=True, **options).fit(X, 0.5 * X[:, 0]).summary()
        >>> table.names, table.header["Privacy"]
        (['x0', 'intercept'], 'NOT PRIVATE: seeded')
        """
        found = self._inferred()
        promise: Any = self.privacy_  # type: ignore[attr-defined]
        error = np.where(found.degrees > 0, found.error, math.inf)
        values = np.column_stack([found.estimate, error, found.statistic, found.p_values, found.conf_int(level)])
        known = promise.neighbors != "add_remove"
        names = self._names()
        paid = any(look.status == "paid" and look.thing in BOUNDS for look in promise.looks)
        header = {
            "Model": type(self).__name__,
            "Rows": f"{found.n_rows} ({'public' if known else 'noisy'})",
            "Coefficients": f"{len(names)}" + (", the intercept last" if names[-1] == INTERCEPT else ", no intercept"),
            "Bounds": "bought from the rows" if paid else "public",
            "Solver": promise.solver,
            "Privacy": SEEDED if promise.seeded else f"epsilon={promise.epsilon:.4g}, delta={promise.delta:.3g}",
            "Neighbours": promise.neighbors,
        }
        return Summary(header, names, values, level, _notes(found, paid))

    def _names(self) -> list[str]:
        p = int(self.n_features_in_)  # type: ignore[attr-defined]
        names = [str(n) for n in getattr(self, "feature_names_in_", [f"x{j}" for j in range(p)])]
        return names if len(self._inferred().estimate) == p else [*names, INTERCEPT]


def _notes(found: Inference, paid: bool) -> list[str]:
    """What the numbers mean, and where they mean nothing."""
    notes = ["Standard errors count sampling and privacy noise."]
    some = found.degrees > 0
    if some.any():
        shares = (found.privacy[some] / found.error[some]) ** 2
        notes[0] = f"Standard errors count sampling and privacy noise; privacy is {_span(shares)} of their squares."
    cut = "cut to the bounds that were bought" if paid else "cut to the bounds"
    notes.append(f"Coefficients are those of a population {cut}, corrected for the ridge: not quite coef_.")
    if not some.all():
        notes.append("Infinite intervals: privacy noise drowns the curvature there; more rows or budget are needed.")
    return notes


def _span(shares: Floats) -> str:
    """The range of some shares, in per cent.

    >>> _span(np.array([0.104, 0.31])), _span(np.array([0.2, 0.2]))
    ('10 to 31 %', '20 %')
    """
    low, high = (round(100 * float(v)) for v in (shares.min(), shares.max()))
    return f"{low} %" if low == high else f"{low} to {high} %"
