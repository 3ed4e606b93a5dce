"""The "did you mean" of an unknown name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str], *, also: str = "") -> str:
    """Returns a sentence naming the closest known names, or `also` when none is close.

    The comparison ignores case; the names are returned as their owner spelt them.
    """
    by_folded = {candidate.casefold(): candidate for candidate in known}
    close = difflib.get_close_matches(name.casefold(), list(by_folded), n=2, cutoff=0.6)
    if not close:
        return also
    return "Did you mean " + " or ".join(f"'{by_folded[match]}'" for match in close) + "?"
