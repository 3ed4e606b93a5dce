"""Where the command line writes: results to stdout, everything else to stderr.

Text that comes from a pipeline (names, messages, data) may hold anything, so it passes through
`clean` on its way to a terminal: a row cannot move the cursor or change a colour.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

Progress = Callable[[str], None]
"""Takes one line about what is being done; a long start-up would look like a hang without it."""


def clean(text: object, *, multiline: bool = False) -> str:
    """Returns `text` without escape sequences, control characters and characters that reorder or hide text.

    Line breaks become spaces, unless `multiline`, which keeps lines and their indentation.
    """
    from penstock.errors.text import clean as clean_line  # here, for help and the version need no events

    if not multiline:
        return clean_line(str(text))
    lines = str(text).expandtabs(4).split("\n")
    return "\n".join(" " * (len(line) - len(line.lstrip(" "))) + clean_line(line) for line in lines)


def stdout() -> Console:
    """Returns the console of results; lines are not wrapped when stdout is not a terminal."""
    return _console(sys.stdout)


def stderr() -> Console:
    """Returns the console of progress, errors and advice."""
    return _console(sys.stderr)


def _console(stream: Any) -> Console:
    from rich.console import Console

    # A pipe has no width: rich would cut a table at 80 columns, and `grep` would miss what was cut.
    width = None if stream.isatty() else 250
    return Console(file=stream, markup=False, highlight=False, emoji=False, width=width, soft_wrap=False)


def say(text: str) -> None:
    """Writes lines to stdout."""
    sys.stdout.write(clean(text, multiline=True) + "\n")
    sys.stdout.flush()


def note(text: str, *, multiline: bool = True) -> None:
    """Writes lines to stderr: progress and advice, never a result."""
    sys.stderr.write(clean(text, multiline=multiline) + "\n")
    sys.stderr.flush()


def progress_lines() -> Progress:
    """Returns the `progress` of a command: each message once, as a line on stderr."""

    @cache
    def show(message: str) -> None:
        note(message, multiline=False)

    return show


def print_json(document: Any) -> None:
    """Writes one JSON document and a newline to stdout, whatever values are in it; see `json_value`."""
    from penstock.storage.cell_values import json_scalar, json_value

    try:
        text = json.dumps(document, default=json_scalar, ensure_ascii=False, allow_nan=False)
    except (ValueError, TypeError):
        text = json.dumps(json_value(document), ensure_ascii=False, allow_nan=False)
    # A lone surrogate has no UTF-8: its escape sequence is the one that JSON has for it.
    sys.stdout.write(text.encode("utf-8", "backslashreplace").decode("utf-8") + "\n")
    sys.stdout.flush()


def print_table(columns: Iterable[tuple[str, bool]], rows: Iterable[Iterable[object]], *, title: str = "") -> None:
    """Writes a table to stdout. `columns` are (heading, whether it holds numbers)."""
    stdout().print(table(columns, rows, title=title))


def table(columns: Iterable[tuple[str, bool]], rows: Iterable[Iterable[object]], *, title: str = "") -> Any:
    """Builds a table; None is shown as an empty cell."""
    from penstock.cli.screen.fast_table import Cell, Column, FastTable

    cells = [[Cell("" if cell is None else clean(cell)) for cell in row] for row in rows]
    return FastTable([Column(clean(heading), numeric) for heading, numeric in columns], cells, title=title)


def plural(count: int, noun: str) -> str:
    """Returns `1 row`, `2 rows`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
