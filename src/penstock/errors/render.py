"""How an error looks to a person: condition, place, fix. Never a stack trace."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from penstock.errors.base import PenstockError, PipelineInvalid, SeveralErrors


def render(error: PenstockError) -> str:
    """Returns the lines that a terminal shows for `error`, without colour and without a newline.

    [CONDITION] what is wrong
      at file:line (dataset)
      Fix: the next command or edit
    """
    if isinstance(error, SeveralErrors):
        return _render_all(error)
    lines = [f"[{error.condition}] {error.message}"]
    if error.location is not None:
        place = f"{error.location}, {error.position}" if error.position else str(error.location)
        lines.append(f"  at {place}" + (f" ({error.dataset})" if error.dataset else ""))
    elif error.dataset:
        lines.append(f"  in {error.dataset}" + (f", {error.position}" if error.position else ""))
    elif error.position:
        lines.append(f"  at {error.position}")
    lines.append(f"  Fix: {error.fix}")
    return "\n".join(lines)


def render_error_record(entry: Mapping[str, Any]) -> str:
    """Returns the same lines for an error of the event log, `{condition, message, fix, file, line, dataset}`."""
    place = ":".join(str(entry[key]) for key in ("file", "line") if entry.get(key) is not None)
    lines = [f"[{entry['condition']}] {entry['message']}", f"  at {place}" if place else "", f"  Fix: {entry['fix']}"]
    return "\n".join(line for line in lines if line)


def _render_all(several: SeveralErrors) -> str:
    parts = [render(error) for error in several.errors]
    count = len(several.errors)
    summary = f"{count} error{'s' if count != 1 else ''}; nothing was run and nothing was written."
    if isinstance(several, PipelineInvalid) and several.downstream:
        summary += f" Not checked, because they read a failed dataset: {', '.join(several.downstream)}."
    return "\n\n".join([*parts, summary])


def first_line(error: BaseException) -> str:
    """Returns what another library's error says in its first line, or its class for one that says nothing."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def did_you_mean(name: str, known: Iterable[str], *, also: str = "") -> str:
    """Returns a sentence naming the closest known names, or `also` when none is close.

    The comparison ignores case; the names are returned as their owner spelt them.
    """
    by_folded = {candidate.casefold(): candidate for candidate in known}
    close = difflib.get_close_matches(name.casefold(), list(by_folded), n=2, cutoff=0.6)
    if not close:
        return also
    return "Did you mean " + " or ".join(f"'{by_folded[match]}'" for match in close) + "?"
