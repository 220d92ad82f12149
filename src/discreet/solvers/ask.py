"""The only way from a sealed statistic to an array: questions that were planned, counted, and answered with noise."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from discreet.curator import Curator
from discreet.privacy import Bounded, PrivacyError, Sealed
from discreet.randomness import Source

if TYPE_CHECKING:
    from discreet.solvers.base import Plan

__all__ = ["Ask"]


class Ask:
    """The only way from a sealed statistic to an array: ``ask.gradient(bounded)`` answers the query of that name.

    It counts.  A query that is asked more often than the plan says, or with a statistic of rows sampled at another
    rate than was priced, is refused; so a solver can't spend more than its plan.

    Attributes
    ----------
    released : dict
        The last answer of every query, and what a solver made of answers that others may want (post-processing).

    Examples
    --------
    >>> from discreet.privacy import Budget
    >>> from discreet.solvers.base import Plan
    >>> Ask(Plan(None, {}, {}, {}, Budget(1)), None).gradient
    Traceback (most recent call last):
    ...
    discreet.privacy.neighbours.PrivacyError: the plan holds no query named 'gradient'
    """

    def __init__(self, plan: Plan, source: Source | None) -> None:
        self._plan = plan
        self.released: dict[str, Any] = {}
        self._left = {name: query.times * query.parts for name, query in plan.queries.items()}
        self._parts: dict[str, dict[object, int]] = {}  # of each query of parts, what is left for every part
        self._draws: set[object] = set()  # the samples that were answered about
        self._armed = {  # copies: what a mechanism remembers of a run belongs to that run
            name: replace(mechanism, source=mechanism.source if source is None else source.child(name))
            for name, mechanism in plan.mechanisms.items()
        }

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._armed:
            raise PrivacyError(f"the plan holds no query named {name!r}")
        return lambda sealed, **options: self._answer(name, sealed, options)

    def _answer(self, name: str, sealed: Sealed, options: dict[str, Any]) -> Any:
        query = self._plan.queries[name]
        if self._left[name] <= 0:
            raise PrivacyError(f"query {name!r} was planned {query.times} times and is asked once more")
        rate = getattr(sealed, "rate", 1.0)
        if isinstance(sealed, Bounded) and rate != query.rate:
            raise PrivacyError(f"query {name!r} was priced for rows sampled at rate {query.rate}, not {rate}")
        replaced = isinstance(sealed, Bounded) and sealed.neighbors.moves > 1
        bound = sealed.contribution if replaced else None  # type: ignore[attr-defined]
        if query.rate < 1 and bound is not None and (bound.monotone or bound.acute):
            raise PrivacyError(
                f"query {name!r} on a sample was priced for contributions of either sign; under replace_one counts "
                "and clipped losses cost more there, see proofs/subsampling.md"
            )
        if query.rate < 1:
            draw = getattr(sealed, "part", None)
            if draw is None or draw in self._draws:
                raise PrivacyError(f"query {name!r} was priced for a fresh sample of the rows each time; draw another")
            self._draws.add(draw)
        if query.parts > 1:
            left = self._parts.get(name, {})
            part = getattr(sealed, "part", None)
            if left.get(part, 0) <= 0:
                raise PrivacyError(
                    f"query {name!r} was priced for {query.times} answers about each of {query.parts} disjoint parts; "
                    "this answer is about other rows, or one too many about its part"
                )
            left[part] -= 1
        self._left[name] -= 1
        answer = query.answer(self._armed[name], sealed, **options)
        self.released[name] = answer
        return answer

    def deviation(self, name: str, sealed: Bounded) -> float:
        """The standard deviation of the noise in one number of the answer, from the statistic's public bounds."""
        mechanism: Any = self._armed[name]
        return float(mechanism.variance(sealed) ** 0.5)

    def sample(self, name: str, curator: Curator) -> Curator:
        """A fresh Poisson sample of the rows, at the rate that query `name` was priced for."""
        return curator.batch(self._plan.queries[name].rate, self._armed[name].source)

    def room(self, name: str, *cost: float) -> bool:
        """Whether the purse of query `name` can pay for these answers; asked before they are worked out."""
        purse: Any = self._armed[name]
        return self._left[name] >= len(cost) and bool(purse.fits(*cost))

    def parts(self, name: str, curator: Curator, k: int) -> list[Curator]:
        """`k` disjoint parts of the rows: by position where their number is public, else by a coin for each row.

        Where query `name` is priced for `k` parts in parallel, its answers are held to these, each its own number of
        times.
        """
        query = self._plan.queries[name]
        if query.parts > 1 and (name in self._parts or k != query.parts):
            raise PrivacyError(f"query {name!r} was priced for {query.parts} parts made once, not for {k} (more)")
        coins = None if curator.neighbors.public_n else self._armed[name].source.child("parts")
        parts = curator.parts(k, coins)
        self._parts[name] = {part.part: query.times for part in parts}
        return parts
