"""The lower bound for private LASSO: its rate, its hard instance, and the tracing attack that the instance invites.

Source: section 3 of the LASSO paper (Theorems 3.1 and 3.2, Lemma 3.3), which pads a Tardos fingerprinting code and
stacks it on an orthogonal block.  The printed constants need more than 10^9 features; here the sizes are arguments.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.randomness import data_generator
from discreet.theory.checks import at_least_one

__all__ = [
    "FingerprintingInstance",
    "fingerprinting_instance",
    "hadamard",
    "theorem_3_1",
    "tracing_auc",
    "tracing_scores",
]

Signs = NDArray[np.int8]


def theorem_3_1(n: int) -> float:
    """``(n log n)^(-2/3)``: the lower bound of Theorems 1.2 and 3.1 of the LASSO paper (constant read as 1).

    For epsilon at most 0.1 and delta below 1/n^2 no private algorithm does better in the worst case, so the exponent
    -2/3 of private Frank-Wolfe is the right one.

    Examples
    --------
    >>> round(theorem_3_1(10**6), 8)
    1.737e-05
    """
    at_least_one(n=n)
    return math.pow(n * math.log(max(n, 2)), -2.0 / 3.0)


def hadamard(order: int) -> Signs:
    """A matrix of -1 and 1 with orthogonal columns; `order` must be a power of two (Sylvester's construction).

    The printed proof asks for any number of orthogonal sign columns; they exist only at such (Hadamard) orders.

    Examples
    --------
    >>> h = hadamard(8).astype(int)
    >>> bool((h.T @ h == 8 * np.eye(8)).all())
    True
    """
    at_least_one(order=order)
    if order & (order - 1):
        raise ValueError(f"order={order} must be a power of two; the next one is {1 << order.bit_length()}")
    matrix = np.ones((1, 1), dtype=np.int8)
    while matrix.shape[0] < order:
        matrix = np.asarray(np.block([[matrix, matrix], [matrix, -matrix]]), dtype=np.int8)
    return matrix


@dataclass(frozen=True, eq=False)
class FingerprintingInstance:
    """A hard regression problem for every private algorithm, and what the attack on it needs.

    Attributes
    ----------
    X : array of shape (n_users + p, p)
        The users' code words (features of size 1), then the orthogonal block.
    y : array
        1 for users, 0 for the block.
    outsiders : array
        Code words drawn the same way that are *not* in `X`: what tracing compares with.
    bias : array
        Per column the chance of a 1; 0 or 1 for padding.

    Examples
    --------
    >>> hard = fingerprinting_instance(n_users=8, code_length=100, p=128, n_outsiders=50, seed=0)
    >>> hard.X.shape, hard.n_users, float(hard.y.sum())
    ((136, 128), 8, 8.0)
    """

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    outsiders: NDArray[np.float64]
    bias: NDArray[np.float64]

    @property
    def n_users(self) -> int:
        """The number of users, the first rows."""
        return int(self.y.sum())

    def consensus(self, without: int | None = None) -> NDArray[np.float64]:
        """Per column 1 or -1 where all users (but one) agree, else 0.

        >>> hard = fingerprinting_instance(n_users=8, code_length=64, p=128, n_outsiders=1, seed=0)
        >>> int((hard.consensus() != 0).sum()) >= 64
        True
        """
        users = np.delete(self.X[: self.n_users], [] if without is None else [without], axis=0)
        return np.asarray(np.where(np.all(users == users[:1], axis=0), users[0], 0.0))

    def loss(self, theta: ArrayLike) -> float:
        """The sum of squared residuals, in which the orthogonal block counts ``p |theta|^2``."""
        return float(np.sum((self.X @ np.asarray(theta, dtype=np.float64) - self.y) ** 2))

    def reference(self) -> NDArray[np.float64]:
        """The comparison point of the proof: ``1/p`` with the sign of every consensus column (l1 norm at most 1)."""
        return np.asarray(self.consensus() / self.X.shape[1])


def fingerprinting_instance(
    n_users: int = 24,
    code_length: int = 1000,
    p: int = 1024,
    *,
    n_outsiders: int = 200,
    cutoff: float | None = None,
    seed: int | None = 0,
) -> FingerprintingInstance:
    """A padded Tardos code on an orthogonal block, scaled to sizes that can be run.

    Each of `code_length` columns gets a bias from the arcsine law on ``[cutoff, 1 - cutoff]``, and users' signs
    are drawn by it; the other ``p - code_length`` columns are constant, half of them 1 and half -1; columns are
    shuffled.  Below come the `p` rows of a Hadamard matrix with target 0, so that the loss is
    ``sum (<x, theta> - 1)^2 + p |theta|^2`` and an accurate `theta` must take the sign of the consensus columns.

    Parameters
    ----------
    n_users : int, default=24
        `w`, the rows at risk.
    code_length : int, default=1000
        Columns of Tardos code.
    p : int, default=1024
        All columns, a power of two.
    n_outsiders : int, default=200
        Code words kept aside for the attack.
    cutoff : float, optional
        How near to 0 and 1 a bias can come; by default ``1 / (300 n_users)``.
    seed : int or None
        For the data; nothing here is private.

    Examples
    --------
    >>> hard = fingerprinting_instance(seed=1)
    >>> hard.X.shape, float(np.abs(hard.X).max())
    ((1048, 1024), 1.0)
    """
    at_least_one(n_users=n_users, code_length=code_length, p=p, n_outsiders=n_outsiders)
    if code_length > p:
        raise ValueError(f"code_length={code_length} can't exceed p={p}")
    block = hadamard(p)
    edge = 1.0 / (300.0 * n_users) if cutoff is None else float(cutoff)
    if not 0 <= edge < 0.5:
        raise ValueError(f"cutoff={cutoff!r} must be at least 0 and below one half")
    draw = data_generator(seed)
    low = math.asin(math.sqrt(edge))
    angles = draw.uniform(low, math.pi / 2 - low, code_length)
    padding = (np.arange(p - code_length) % 2).astype(np.float64)
    bias = draw.permutation(np.concatenate([np.sin(angles) ** 2, padding]))
    words = np.where(draw.random((n_users + n_outsiders, p)) < bias, 1.0, -1.0)
    return FingerprintingInstance(
        X=np.vstack([words[:n_users], block.astype(np.float64)]),
        y=np.concatenate([np.ones(n_users), np.zeros(p)]),
        outsiders=words[n_users:],
        bias=bias,
    )


def tracing_scores(
    instance: FingerprintingInstance, theta: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The symmetric Tardos score of every user and of every outsider against the signs of a fitted `theta`.

    Where the fit has the sign of a word, the word gains ``sqrt((1-b)/b)`` for a 1 of bias `b` (``sqrt(b/(1-b))`` for
    a -1), else it loses as much: for an outsider the score has mean 0 and variance 1 per column, whatever the fit.

    Examples
    --------
    >>> hard = fingerprinting_instance(n_users=8, code_length=1000, p=1024, seed=0)
    >>> users, outsiders = tracing_scores(hard, hard.X[:8].sum(axis=0))
    >>> bool(users.mean() > 2 * outsiders.std()), users.shape, outsiders.shape
    (True, (8,), (200,))
    """
    signs = np.sign(np.asarray(theta, dtype=np.float64))
    code = (instance.bias > 0) & (instance.bias < 1)
    b, s = instance.bias[code], signs[code]

    def score(words: NDArray[np.float64]) -> NDArray[np.float64]:
        gain = np.where(words[:, code] > 0, np.sqrt((1.0 - b) / b), -np.sqrt(b / (1.0 - b)))
        return np.asarray(gain @ s)

    return score(instance.X[: instance.n_users]), score(instance.outsiders)


def tracing_auc(instance: FingerprintingInstance, theta: ArrayLike) -> float:
    """The chance that a user outscores an outsider: 1/2 means that the fit betrays nobody, 1 that it betrays all.

    Examples
    --------
    >>> hard = fingerprinting_instance(n_users=8, seed=0)
    >>> tracing_auc(hard, hard.X[:8].sum(axis=0)) > 0.95, tracing_auc(hard, np.ones(1024)) < 0.9
    (True, True)
    """
    users, outsiders = tracing_scores(instance, theta)
    above = users[:, None] > outsiders[None, :]
    equal = users[:, None] == outsiders[None, :]
    return float(np.mean(above + 0.5 * equal))
