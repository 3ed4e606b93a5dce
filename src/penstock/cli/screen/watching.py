"""A view of the event log that is redrawn until it is closed: `status --watch` and `top`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

from penstock.cli.screen.console import print_json, say, stdout
from penstock.cli.screen.report import Report

LOOK_SECONDS: Final = 0.5

T = TypeVar("T")


def watch(look: Callable[[], T], report: Callable[[T], Report], *, document: Callable[[T], Any] | None) -> None:
    """Shows what `look` returns until Ctrl-C.

    A terminal shows what it has room for in place, and has the last report in full when it ends. Elsewhere each report
    that differs from the one before is written below it, after an empty line; with `document` a line of JSON instead,
    on a terminal too.
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

    last: Report | None = None
    try:
        with Live(console=stdout(), screen=True, auto_refresh=False) as live:
            while True:
                last = report(look())
                live.update(last, refresh=True)
                time.sleep(LOOK_SECONDS)
    finally:
        if last is not None:
            last.print()


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
                report(seen).print()
            before = now
        time.sleep(LOOK_SECONDS)
