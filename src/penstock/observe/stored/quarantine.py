"""Reading the quarantine of a table without Spark."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.errors import ConfigError, StateError, first_line
from penstock.events.types import Event
from penstock.graph.companions.quarantine import RULES, TIME, quarantine_of
from penstock.observe.stored.tables import StoredTable, TableRows, find_companion_table, read_table
from penstock.storage.delta.table import open_delta_table, query_rows


@dataclass(frozen=True, slots=True)
class QuarantineSummary:
    """How many rows a quarantine holds, and how many of them break each rule, the most frequent first."""

    rows: int
    by_rule: tuple[tuple[str, int], ...]


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


def newest_rows(quarantine: StoredTable, *, limit: int) -> TableRows:
    """Returns up to `limit` rows, those quarantined last first, in the columns of the quarantine.

    Raises:
        StateError: TABLE_NOT_READABLE.
    """
    return read_table(quarantine, limit=limit, sort=TIME, descending=True)


def summarize(quarantine: StoredTable) -> QuarantineSummary:
    """Counts the rows of a quarantine by the rules that they break; a row that breaks two counts for both.

    Raises:
        StateError: TABLE_NOT_READABLE.
    """
    import pyarrow as pa
    from deltalake.exceptions import DeltaError

    try:
        query = query_rows(open_delta_table(quarantine.uri))
        rules = pa.table(query.execute(f"SELECT {RULES} AS rules FROM rows").read_all()).column("rules")  # noqa: S608 - a constant
    except (DeltaError, OSError, ValueError, pa.ArrowException) as error:
        name = str(quarantine.identifier)
        reason = first_line(error)
        raise StateError("TABLE_NOT_READABLE", dataset=name, name=name, reason=reason) from error
    counts: dict[str, int] = {}
    for names in rules.to_pylist():
        for name in names or ():
            counts[name] = counts.get(name, 0) + 1
    return QuarantineSummary(len(rules), tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0]))))
