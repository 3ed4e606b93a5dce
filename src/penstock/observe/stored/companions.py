"""Finding and counting the quarantine and the late rows of a table without Spark; `read_table` has their rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.errors import ConfigError, StateError, first_line
from penstock.events.types import Event
from penstock.graph.companions.late_rows import SECONDS, late_rows_of
from penstock.graph.companions.quarantine import RULES, quarantine_of
from penstock.observe.stored.tables import StoredTable, find_companion_table
from penstock.storage.delta.table import open_delta_table, queried_rows

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class QuarantineSummary:
    """How many rows a quarantine holds, and how many of them break each rule, the most frequent first."""

    rows: int
    by_rule: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class LateSummary:
    """How many rows there are, and how many seconds the one that is farthest behind its watermark is behind it."""

    rows: int
    most_seconds: float | None


def find_quarantine(storage_uri: str, table: str, *, default_schema: str, events: Iterable[Event] = ()) -> StoredTable:
    """Returns the quarantine of the table or view called `table`; the quarantine's own name is understood too.

    Raises:
        DefinitionError: INVALID_DATASET_NAME.
        ConfigError: QUARANTINE_NOT_FOUND, with the quarantines that there are.
    """
    found = find_companion_table(storage_uri, table, quarantine_of, default_schema=default_schema, events=events)
    if isinstance(found, StoredTable):
        return found
    hint = f"These have one: {', '.join(found)}." if found else "No table of this storage has one yet."
    raise ConfigError("QUARANTINE_NOT_FOUND", name=table, hint=hint)


def find_late_rows(storage_uri: str, table: str, *, default_schema: str, events: Iterable[Event] = ()) -> StoredTable:
    """Returns the table with the late rows of `table`; its own name is understood too.

    Raises:
        DefinitionError: INVALID_DATASET_NAME.
        ConfigError: LATE_ROWS_NOT_FOUND, with the tables that have late rows.
    """
    found = find_companion_table(storage_uri, table, late_rows_of, default_schema=default_schema, events=events)
    if isinstance(found, StoredTable):
        return found
    hint = f"These tables have some: {', '.join(found)}." if found else "No table of this storage has any."
    raise ConfigError("LATE_ROWS_NOT_FOUND", name=table, hint=hint)


def summarize_quarantine(quarantine: StoredTable) -> QuarantineSummary:
    """Counts the rows of a quarantine by the rules that they break; a row that breaks two counts for both.

    Raises:
        StateError: TABLE_NOT_READABLE.
    """
    rules = _select(quarantine, f"{RULES} AS rules").column("rules")
    counts = Counter(name for names in rules.to_pylist() for name in names or ())
    return QuarantineSummary(len(rules), tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0]))))


def summarize_late_rows(late: StoredTable) -> LateSummary:
    """Counts all rows.

    Raises:
        StateError: TABLE_NOT_READABLE.
    """
    [row] = _select(late, f"count(*) AS n, max({SECONDS}) AS s").to_pylist()
    return LateSummary(row["n"], row["s"])


def _select(table: StoredTable, columns: str) -> pa.Table:
    import pyarrow as pa
    from deltalake.exceptions import DeltaError

    try:
        return queried_rows(open_delta_table(table.uri), f"SELECT {columns} FROM rows")  # noqa: S608 - constants
    except (DeltaError, OSError, ValueError, pa.ArrowException) as error:
        name = str(table.identifier)
        raise StateError("TABLE_NOT_READABLE", dataset=name, name=name, reason=first_line(error)) from error
