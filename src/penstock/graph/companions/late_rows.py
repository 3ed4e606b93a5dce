"""The late rows of a table: a table beside it that keeps the rows which came behind a flow's watermark."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from penstock.graph.identifier import Identifier

RESERVED_PREFIX: Final = "_late_"
"""What the table's own columns begin with; columns of the rows that do are left out."""

EVENT_TIME: Final = "_late_event_time"
WATERMARK: Final = "_late_watermark"
SECONDS: Final = "_late_seconds"
OPERATOR: Final = "_late_operator"
FLOW: Final = "_late_flow"
BATCH: Final = "_late_batch_id"
TIME: Final = "_late_time"
SOURCE: Final = "_late_source"

SUFFIX: Final = "__late"
LATE_ROWS: Final = "LATE_ROWS"
"""The `DATASET_TYPE` of such a table."""

_REFUSED = " ,;{}()\n\t="  # by Delta, in the names of columns


def late_rows_of(table: Identifier) -> Identifier:
    """Returns the name of the table with a table's late rows, whether or not there is one."""
    return replace(table, name=table.name + SUFFIX)


def owner_of_late_rows(late_rows: Identifier) -> Identifier | None:
    """Returns the name of the table whose late rows would be called so; None when none would be."""
    if not late_rows.name.casefold().endswith(SUFFIX) or len(late_rows.name) == len(SUFFIX):
        return None
    return replace(late_rows, name=late_rows.name[: -len(SUFFIX)])


def late_rows_path(table_path: str) -> str:
    """Returns where the late rows of the table at `table_path` are stored: the folder beside it."""
    return table_path.rstrip("/") + SUFFIX


def stored_names(names: list[str], taken: dict[str, Any] | None = None) -> list[str]:
    """Returns names under which Delta stores columns called `names`: each is another one, without punctuation.

    `taken` are names, in lower case, that are not to be used either.
    """
    used = set(taken or ())
    found = []
    for name in names:
        plain = "".join("_" if character in _REFUSED else character for character in name)
        candidate, number = plain, 1
        while candidate.casefold() in used:
            number += 1
            candidate = f"{plain}_{number}"
        used.add(candidate.casefold())
        found.append(candidate)
    return found
