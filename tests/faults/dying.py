"""Ends the process of a run with kill -9 at a write; this text stands before a pipeline's in its file.

`DIES_AT` says where: `before:2` is before the second call of what `dying` wraps, `orders:after:1` after the first one
that writes to the table `orders`.
"""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

_table, *_fatal = ["", *os.environ.get("DIES_AT", "before:0").split(":")][-3:]
_calls = itertools.count(1)


def dying(write: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a function whose calls are counted; where `DIES_AT` has a table, its second argument is a table's path."""

    def writes(*arguments: Any, **options: Any) -> Any:
        here = not _table or Path(arguments[1]).name == _table
        call = str(next(_calls)) if here else "another"
        if _fatal == ["before", call]:
            os.kill(os.getpid(), signal.SIGKILL)
        done = write(*arguments, **options)
        if _fatal == ["after", call]:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    return writes
