"""Text of unknown origin on its way to a terminal or a log line."""

from __future__ import annotations

import re

_ESCAPES = re.compile(
    r"""\x1b\[[0-?]*[ -/]*[@-~]               # CSI: colours, cursor movement
      | \x1b[\]PX^_].*?(?:\x07|\x1b\\|\Z)     # OSC, DCS and other strings: titles, hyperlinks, clipboard
      | \x9b[0-?]*[ -/]*[@-~]                 # CSI as one byte
      | \x1b[ -/]*[0-~]                       # two-byte escapes
    """,
    re.VERBOSE | re.DOTALL,
)
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_INVISIBLE = re.compile(r"[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ud800-\udfff]")


def plural(count: int, noun: str) -> str:
    """Returns `1 row`, `2 rows`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def clean(text: str, *, limit: int | None = None) -> str:
    """Returns `text` as one harmless line of at most `limit` characters.

    Terminal escape sequences and characters that reorder or hide text are removed; newlines and
    other control characters become one space. Rendered messages, names and errors go through
    here, because file names, column names and Spark's messages are chosen by others. It does not
    escape HTML or markup: that is the renderer's own duty.
    """
    line = _INVISIBLE.sub("", _CONTROLS.sub(" ", _ESCAPES.sub("", text))).strip()
    if limit is not None and len(line) > limit:
        return line[: max(limit - 1, 0)] + "…"
    return line
