"""Trees of the library's own events that dominate ours, for anybody's accountant to read."""

from __future__ import annotations

import math
from typing import Literal

from dp_accounting import dp_event

from discreet.accounting import pld, pure, zcdp
from discreet.accounting.events import DominatedDpEvent, leaves

__all__ = ["to_standard"]


def to_standard(event: dp_event.DpEvent, kind: Literal["pld", "rdp"]) -> dp_event.DpEvent:
    """A tree of ``dp_accounting``'s own events, no more private than `event`, that its accountants read.

    Notes
    -----
    *Privacy.* Guarantee: every bound on the result is one on `event`.  Neighbours: add/remove for the reader, whatever
    the relation.  Public: the events.  Bounded by: leaf-by-leaf domination.  Proof: ``proofs/accounting.md``.

    Examples
    --------
    >>> from discreet.accounting.events import BoundedRangeDpEvent
    >>> to_standard(BoundedRangeDpEvent(0.2), "rdp")
    ZCDpEvent(rho=0.005000000000000002, xi=0.0)
    """
    if kind not in ("pld", "rdp"):
        raise ValueError(f"kind={kind!r} must be 'pld' or 'rdp'")
    parts = [_standard_run(leaf, count, kind) for leaf, count in leaves(event)]
    if not parts:
        return dp_event.NoOpDpEvent()
    return parts[0] if len(parts) == 1 else dp_event.ComposedDpEvent(parts)


def _standard_run(leaf: dp_event.DpEvent, count: int, kind: Literal["pld", "rdp"]) -> dp_event.DpEvent:
    multiplier = pld.gaussian_multiplier(leaf)
    if multiplier is not None:
        leaf = dp_event.GaussianDpEvent(multiplier)
    elif isinstance(leaf, DominatedDpEvent):
        leaf = leaf.standard(kind)
    elif isinstance(leaf, dp_event.PoissonSampledDpEvent):
        mu = pld.gaussian_mu(leaf.event)
        inner = dp_event.GaussianDpEvent(1 / mu) if mu else to_standard(leaf.event, kind)
        leaf = dp_event.PoissonSampledDpEvent(leaf.sampling_probability, inner)
        if kind == "rdp" and not mu:
            leaf = _as_zcdp(leaf)
    elif isinstance(leaf, (dp_event.DiscreteLaplaceDpEvent, dp_event.RandomizedResponseDpEvent)) and kind == "rdp":
        leaf = _as_zcdp(leaf)
    elif isinstance(leaf, dp_event.RandomizedResponseDpEvent):
        leaf = dp_event.DiscreteLaplaceDpEvent(pure.epsilon_of(leaf), 1)
    elif isinstance(leaf, dp_event.ZCDpEvent) and kind == "pld":
        raise ValueError(f"{leaf!r} is known by its Renyi curve only; use to_standard(event, 'rdp')")
    return dp_event.SelfComposedDpEvent(leaf, count) if count > 1 else leaf


def _as_zcdp(leaf: dp_event.DpEvent) -> dp_event.DpEvent:
    rho = zcdp.rho_of(leaf)
    if not math.isfinite(rho):
        raise ValueError(f"{leaf!r} has no finite rho, so no event that the 'rdp' accountant reads dominates it")
    return dp_event.ZCDpEvent(rho)
