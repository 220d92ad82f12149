"""Logistic regression without a curator: each person is asked once, for one noisy gradient."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.local.aggregator import Aggregator
from discreet.local.caps import PrivUnit, PrivUnitG
from discreet.local.vectors import Hemisphere
from discreet.local.wire import ReportError
from discreet.privacy import PrivacyError
from discreet.randomness import Source, system

__all__ = ["LogisticProtocol"]

Floats = NDArray[np.float64]
_KINDS = {"hemisphere": Hemisphere, "privunit": PrivUnit, "privunit_g": PrivUnitG}


@dataclass
class LogisticProtocol:
    r"""One-round or multi-round gradient descent on local reports.

    The server publishes weights; the persons of that round each send one report of their gradient
    :math:`-y\,s(-y\,x\cdot w)\,x`, whose norm is at most `row_norm`; the server averages and steps.  Each person is
    asked in **one** round only, so that rounds cost nobody anything twice.  With one round this is the direction in
    which the classes' means differ, to scale.

    Parameters
    ----------
    epsilon : float
        The local promise of a person's one report.
    dim : int
        The number of features, a constant one included if an intercept is wanted.
    rounds : int
        How many groups the persons are divided into.
    row_norm : float
        Public bound of the rows' l2 norm; longer rows are shortened to it.
    radius : float
        The weights are kept in the ball of this radius.
    randomizer : {"privunit_g", "privunit", "hemisphere"}
        How gradients are reported.
    source : Source
        Where random words come from.

    Notes
    -----
    *Privacy.* Guarantee: epsilon-local differential privacy of each person's one report, whatever weights the server
    publishes; the model is post-processing.  Neighbours: replace-one.  Public: all parameters, the published weights.
    Bounded by: the vector randomiser.  Proof: ``proofs/local.md``.

    Examples
    --------
    >>> from discreet.randomness import SeededSource
    >>> X = np.tile([[0.6, 0.8], [0.6, -0.8]], (500, 1)); y = np.tile([1, -1], 500)
    >>> model = LogisticProtocol(2.0, 2, rounds=2, source=SeededSource(1)).simulate(X, y)
    >>> bool(model.weights[1] > abs(model.weights[0]))
    True
    """

    epsilon: float
    dim: int
    rounds: int = 1
    row_norm: float = 1.0
    radius: float = 4.0
    randomizer: str = "privunit_g"
    source: Source = field(default_factory=system, repr=False)

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise ValueError(f"rounds={self.rounds!r} must be 1 or more")
        if not self.radius > 0:
            raise ValueError(f"radius={self.radius!r} must be positive")
        if self.randomizer not in _KINDS:
            raise ValueError(f"randomizer={self.randomizer!r} is not one of {', '.join(map(repr, _KINDS))}")
        kind = _KINDS[self.randomizer]
        self.mechanism = kind(self.epsilon, self.dim, radius=float(self.row_norm), source=self.source)
        self.current: Floats = np.zeros(self.dim)
        self.path: list[Floats] = []
        self._open()

    def _open(self) -> None:
        """Reports name the round and the weights they were made for, so that none is counted for others."""
        weights = hashlib.blake2b(self.current.astype("<f8").tobytes(), digest_size=8).hexdigest()
        self.mechanism = replace(self.mechanism, purpose=f"round {len(self.path)} at {weights}")

    # ---- the client ----

    def follow(self, broadcast: str) -> LogisticProtocol:
        """Take over the round and the weights that the server published with :meth:`broadcast`."""
        data = json.loads(broadcast)
        weights = np.asarray(data["weights"], dtype=np.float64)
        if data["epsilon"] != float(self.epsilon) or weights.shape != (self.dim,) or not np.isfinite(weights).all():
            raise ReportError("parameters", "this was published for another epsilon or another number of features")
        if not 0 <= data["round"] < self.rounds:
            raise ReportError("parameters", f"round {data['round']} of a protocol that has {self.rounds}")
        self.path, self.current = [weights] * data["round"], weights
        self._open()
        return self

    def gradient(self, X: ArrayLike, y: ArrayLike) -> Floats:
        """The persons' gradients at the published weights, rows shortened to `row_norm` first."""
        rows = np.atleast_2d(np.asarray(X, dtype=np.float64))
        signs = np.atleast_1d(np.asarray(y, dtype=np.float64))
        if not np.isin(signs, (-1, 1)).all():
            raise ValueError("a label is not -1 or 1; recode the labels on the device")
        norm = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = rows * np.minimum(1.0, self.row_norm / np.maximum(norm, 1e-300))
        slope = -signs * (1 - np.tanh(signs * (rows @ self.current) / 2)) / 2  # the logistic function
        return np.asarray(slope[:, None] * rows, dtype=np.float64)

    def report(self, x: ArrayLike, y: float, *, report_id: str | None = None, form: str = "json") -> str | bytes:
        """One person's report for the current round."""
        return self.mechanism.report(self.gradient(x, [y])[0], report_id=report_id, form=form)

    # ---- the server ----

    def broadcast(self) -> str:
        """What clients need to know, as JSON."""
        return json.dumps({"round": len(self.path), "weights": self.current.tolist(), "epsilon": float(self.epsilon)})

    def step(self, reports: Iterable[Any] | Aggregator) -> LogisticProtocol:
        """Close the round with its reports (or an aggregator that holds them)."""
        if len(self.path) >= self.rounds:
            raise PrivacyError(f"all rounds={self.rounds} are done; nobody may be asked twice")
        counted = reports if isinstance(reports, Aggregator) else Aggregator(self.mechanism).add(reports)
        if counted.wire.print != self.mechanism.fingerprint:
            raise ReportError("parameters", "this aggregator was made for another round, or another protocol")
        return self._move(counted)

    def _move(self, counted: Aggregator) -> LogisticProtocol:
        estimate = counted.estimate()
        noise = float(np.sqrt(np.sum(estimate.standard_error**2)))
        length = self.row_norm + (noise if math.isfinite(noise) else 0.0)
        # projected SGD's step (radius over the gradient's root mean square, over sqrt of the rounds), but never
        # longer than the loss's curvature row_norm**2 / 4 allows
        step = min(self.radius / (length * math.sqrt(self.rounds)), 4 / self.row_norm**2)
        w = self.current - step * estimate.value
        self.current = w * min(1.0, self.radius / max(float(np.linalg.norm(w)), 1e-300))
        self.path.append(self.current)
        self._open()
        return self

    @property
    def weights(self) -> Floats:
        """The mean of the second half of the path: steadier than its end."""
        if not self.path:
            return self.current
        return np.asarray(np.mean(self.path[len(self.path) // 2 :], axis=0), dtype=np.float64)

    def statement(self) -> str:
        """What each person is promised, in words."""
        return f"{self.mechanism.statement()}  Each person is asked in one of {self.rounds} rounds."

    def simulate(self, X: ArrayLike, y: ArrayLike) -> LogisticProtocol:
        """Play all the clients: rows are dealt to the rounds in turn."""
        rows, signs = np.asarray(X, dtype=np.float64), np.asarray(y)
        for r in range(self.rounds):
            mine = slice(r, None, self.rounds)
            messages = self.mechanism.randomize(self.gradient(rows[mine], signs[mine]))
            self.step(Aggregator(self.mechanism).add_messages(messages))
        return self
