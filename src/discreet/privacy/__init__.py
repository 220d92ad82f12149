"""Values that promise something: a budget, a neighbouring relation, a sealed statistic.

Nothing in this package draws noise or computes an epsilon.  A :class:`Budget` is what may be spent, in exact
numbers; :class:`Neighbours` says what "one row" means; a :class:`Bounded` is a statistic of private rows together
with the exact amount by which one row can change it, and refuses to be looked at.
"""

from __future__ import annotations

from discreet.privacy.bounded import Bounded
from discreet.privacy.budget import Budget, Number, exact
from discreet.privacy.contribution import Contribution, Norm, isqrt_up
from discreet.privacy.errors import unquoted
from discreet.privacy.neighbours import Neighbours, PrivacyError
from discreet.privacy.sealed import Sealed, unseal

__all__ = [
    "Bounded",
    "Budget",
    "Contribution",
    "Neighbours",
    "Norm",
    "Number",
    "PrivacyError",
    "Sealed",
    "exact",
    "isqrt_up",
    "unquoted",
    "unseal",
]
