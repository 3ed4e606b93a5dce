"""Reading the late rows of a table without Spark."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.errors import ConfigError, StateError, first_line
from penstock.events.types import Event
from penstock.graph.companions.late_rows import SECONDS, TIME, late_rows_of
from penstock.observe.stored.tables import StoredTable, TableRows, find_companion_table, read_table
from penstock.storage.delta.table import open_delta_table, query_rows


@dataclass(frozen=True, slots=True)
class LateSummary:
    """How many rows there are, and how many seconds the one that is farthest behind its watermark is behind it."""

    rows: int
    most_seconds: float | None


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


def newest_late_rows(late: StoredTable, *, limit: int) -> TableRows:
    """Returns up to `limit` rows, those that came last first.

    Raises:
        StateError: TABLE_NOT_READABLE, TABLE_IS_PROTECTED.
    """
    return read_table(late, limit=limit, sort=TIME, descending=True)


def summarize_late_rows(late: StoredTable) -> LateSummary:
    """Counts all rows.

    Raises:
        StateError: TABLE_NOT_READABLE.
    """
    import pyarrow as pa
    from deltalake.exceptions import DeltaError

    query = f"SELECT count(*) AS n, max({SECONDS}) AS s FROM rows"  # noqa: S608 - constants
    try:
        answer = query_rows(open_delta_table(late.uri)).execute(query)
        [row] = pa.table(answer.read_all()).to_pylist()
    except (DeltaError, OSError, ValueError, pa.ArrowException) as error:
        name, reason = str(late.identifier), first_line(error)
        raise StateError("TABLE_NOT_READABLE", dataset=name, name=name, reason=reason) from error
    return LateSummary(row["n"], row["s"])
