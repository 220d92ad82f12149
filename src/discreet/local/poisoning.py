"""What lying clients can do: a report that nobody can check may say anything in the alphabet."""

from __future__ import annotations

from discreet.local.base import Randomizer

__all__ = ["poisoned_shift"]


def poisoned_shift(randomizer: Randomizer, n: int, liars: int) -> float:
    """The most by which `liars` of `n` clients can move the estimate, in any one coordinate.

    A liar skips the randomiser and sends the message that counts most.  Its pull is the randomiser's `influence`,
    about ``2 / epsilon`` times that of an honest value for small epsilon: the stronger the local promise, the louder
    each liar.  Nothing in the reports tells a liar from an honest client with bad luck (Cheu, Smith and Ullman 2021);
    what helps is a trusted source of the randomness, fewer answers, and ids that are hard to get.

    Parameters
    ----------
    randomizer : Randomizer
        What the honest clients run.
    n : int
        All reports that are counted.
    liars : int
        How many of them lie.

    Examples
    --------
    >>> from discreet.local import BinaryResponse
    >>> round(poisoned_shift(BinaryResponse(0.1), 1000, 10), 3)  # one in a hundred, and the share moves by a fifth
    0.2
    """
    if not 0 <= liars <= n or n < 1:
        raise ValueError(f"liars={liars} of n={n}: give 0 <= liars <= n and at least one report")
    return liars * randomizer.influence / n
