"""A view of the event log that is drawn anew while somebody looks: `status --watch` and `top`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from penstock.cli.console import print_json, say, stdout

LOOK_SECONDS: Final = 0.5

Report = Iterable[Any]
"""Lines, as text, and tables, in the order that they are shown in."""


T = TypeVar("T")


def print_report(report: Report) -> None:
    """Writes a report to stdout once."""
    for part in report:
        if isinstance(part, str):
            say(part)
        else:
            stdout().print(part)


def watch(look: Callable[[], T], report: Callable[[T], Report], *, document: Callable[[T], Any] | None) -> None:
    """Shows what `look` returns until Ctrl-C.

    A terminal shows the report in place, and has the last one when it ends. Elsewhere each report that differs from the
    one before is written below it, after an empty line; with `document` a line of JSON instead, on a terminal too.
    """
    try:
        if document is None and stdout().is_terminal:
            _in_place(look, report)
        else:
            _below_each_other(look, report, document)
    except KeyboardInterrupt:
        return


def _in_place(look: Callable[[], T], report: Callable[[T], Report]) -> None:
    from rich.live import Live

    last: list[Any] = []
    try:
        with Live(console=stdout(), screen=True, auto_refresh=False) as live:
            while True:
                last = list(report(look()))
                live.update(_group(last), refresh=True)
                time.sleep(LOOK_SECONDS)
    finally:
        print_report(last)


def _below_each_other(
    look: Callable[[], T], report: Callable[[T], Report], document: Callable[[T], Any] | None
) -> None:
    before: Any = None
    while True:
        seen = look()
        now = document(seen) if document is not None else seen
        if now != before:
            if document is not None:
                print_json(now)
            else:
                if before is not None:
                    say("")
                print_report(report(seen))
            before = now
        time.sleep(LOOK_SECONDS)


def _group(parts: Report) -> Any:
    from rich.console import Group
    from rich.text import Text

    from penstock.cli.console import clean

    return Group(*(Text(clean(part, multiline=True)) if isinstance(part, str) else part for part in parts))
