"""Reading a pipeline's tables without Spark: which there are, and their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from penstock.errors import ConfigError, StateError, did_you_mean, first_line
from penstock.events.log.reader import read_events
from penstock.events.types import Event, EventType
from penstock.graph.companions.late_rows import late_rows_of, late_rows_path
from penstock.graph.companions.quarantine import quarantine_of, quarantine_path
from penstock.graph.elements import STORED_TYPES
from penstock.graph.identifier import Identifier, split_name
from penstock.graph.protection import stored_protection
from penstock.storage import Storage, StorageLayout
from penstock.storage.cell_values import python_values
from penstock.storage.delta.data_files import missing_data_files
from penstock.storage.delta.table import (
    files_elsewhere,
    has_delta_log,
    open_delta_table,
    queried_rows,
    readable,
    store_root,
)
from penstock.storage.layout import dataset_name

if TYPE_CHECKING:
    from deltalake import DeltaTable


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table of a storage: its name as declared (lower case when only its folder is known), and where it is."""

    identifier: Identifier
    uri: str


@dataclass(frozen=True, slots=True)
class TableRows:
    """Some rows of one version of a table; cells are values of Python, as `python_values` gives them."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    version: int | None
    """None when it was not read."""
    truncated: bool
    """Whether the table holds more rows than these."""


def list_tables(storage_uri: str, events: Iterable[Event] = ()) -> tuple[StoredTable, ...]:
    """Returns the tables of a storage by name: those in its folders, and those that `events` place elsewhere.

    There are the quarantines and the late rows of both.

    A table that a pipeline no longer declares is still a table.

    Raises:
        ConfigError, ExternalError: as `has_delta_log`, for a place elsewhere that cannot be read.
    """
    return _existing(_possible_tables(storage_uri, events).values())


def _existing(tables: Iterable[StoredTable]) -> tuple[StoredTable, ...]:
    return tuple(sorted((table for table in tables if has_delta_log(table.uri)), key=lambda table: table.identifier))


def _possible_tables(storage_uri: str, events: Iterable[Event]) -> dict[Identifier, StoredTable]:
    """Returns where tables are or would be, without a look at any place outside of the storage."""
    found: dict[Identifier, StoredTable] = {}
    storage = Storage(storage_uri)
    layout = StorageLayout(storage_uri)
    for schema in storage.list(layout.tables):
        if not schema.is_directory:
            continue
        for table in storage.list(f"{layout.tables}/{schema.name}"):
            identifier = Identifier(*dataset_name(schema.name, table.name))
            if table.is_directory and has_delta_log(layout.table(identifier)):
                found[identifier] = StoredTable(identifier, layout.table(identifier))
    for event in events:
        definition = event.details.get("dataset_definition") or {}
        if event.event_type is not EventType.DATASET_DEFINITION or definition.get("dataset_type") not in STORED_TYPES:
            continue
        identifier = Identifier.recorded(str(definition.get("dataset")))
        own = layout.table(identifier)
        uri = str(definition.get("path") or own)
        if identifier in found and uri.endswith(own.removeprefix(layout.uri)):
            uri = own  # the log of a storage that was moved or copied names the place from before
        found.pop(identifier, None)  # the declared spelling replaces the folder's
        found[identifier] = StoredTable(identifier, uri)
    for stored in tuple(found.values()):
        if stored.uri != layout.table(stored.identifier):  # else what is beside it has a folder of its own above
            for beside in _beside(stored):
                found.setdefault(beside.identifier, beside)
    return found


def _beside(table: StoredTable) -> Iterator[StoredTable]:
    yield StoredTable(quarantine_of(table.identifier), quarantine_path(table.uri))
    yield StoredTable(late_rows_of(table.identifier), late_rows_path(table.uri))


def external_tables(storage_uri: str) -> dict[Identifier, str]:
    """Returns where the tables are that have a `path` elsewhere than in the storage, and what is beside them."""
    definitions = read_events(storage_uri, types=[EventType.DATASET_DEFINITION])
    layout = StorageLayout(storage_uri)
    tables = list_tables(storage_uri, definitions)
    return {table.identifier: table.uri for table in tables if table.uri != layout.table(table.identifier)}


def find_table(storage_uri: str, name: str, *, default_schema: str, events: Iterable[Event] = ()) -> StoredTable:
    """Returns the table called `name`, of one to three parts, compared without regard to case.

    A name without a schema is of `default_schema`, else that of the only table which has it. Of a table with exactly
    this name no other place is read, so that it does not matter whether they answer.

    Raises:
        DefinitionError: INVALID_DATASET_NAME.
        ConfigError: TABLE_NOT_FOUND, with the names that are close; SINK_NOT_READABLE.
    """
    wanted = Identifier.parse(name, default_schema=default_schema)
    recorded = list(events)
    possible = _possible_tables(storage_uri, recorded)
    if wanted in possible and has_delta_log(possible[wanted].uri):
        return possible[wanted]
    tables = _existing(possible.values())
    if any(_defines_sink(event, wanted) for event in recorded):
        raise ConfigError("SINK_NOT_READABLE", name=wanted)
    alike = [table for table in tables if table.identifier.name.casefold() == wanted.name.casefold()]
    if len(alike) == 1 and len(split_name(name)) == 1:
        return alike[0]
    same_schema = [t.identifier.name for t in tables if t.identifier.schema.casefold() == wanted.schema.casefold()]
    hint = did_you_mean(wanted.name, same_schema) if wanted.catalog is None else ""
    hint = hint or did_you_mean(f"{wanted.schema}.{wanted.name}", [str(table.identifier) for table in tables])
    if not hint and tables:
        hint = "There are: " + ", ".join(str(table.identifier) for table in tables[:20]) + "."
    raise ConfigError("TABLE_NOT_FOUND", name=name, storage=storage_uri, hint=hint or "It holds no table yet.")


def find_companion_table(
    storage_uri: str,
    table: str,
    name_of: Callable[[Identifier], Identifier],
    *,
    default_schema: str,
    events: Iterable[Event] = (),
) -> StoredTable | tuple[str, ...]:
    """Returns the table beside the one called `table`; its own name is understood too.

    `name_of` gives its name by that of its owner, to which it adds an ending. Without such a table returns the names of
    those that have one.

    Raises:
        DefinitionError: INVALID_DATASET_NAME.
    """
    wanted = Identifier.parse(table, default_schema=default_schema)
    possible = _possible_tables(storage_uri, events)
    ending = name_of(Identifier("", "")).name
    names = [name_of(wanted), *([wanted] if wanted.name.casefold().endswith(ending) else [])]
    for name in names:
        if name in possible and has_delta_log(possible[name].uri):
            return possible[name]
    alike = (stored for each, stored in possible.items() if each.name.casefold().endswith(ending))
    return tuple(str(stored.identifier)[: -len(ending)] for stored in _existing(alike))


def _defines_sink(event: Event, wanted: Identifier) -> bool:
    if event.event_type is not EventType.SINK_DEFINITION:
        return False
    return Identifier.recorded(str((event.details.get("sink_definition") or {}).get("dataset"))) == wanted


def read_table(
    table: StoredTable,
    *,
    limit: int,
    version: int | None = None,
    timestamp: datetime | None = None,
    sort: str | None = None,
    descending: bool = False,
) -> TableRows:
    """Returns up to `limit` rows of `table` as of its newest version, or the one requested.

    With `sort`, a column's name in any case, these are the first ones by that column, NULL last; without it the order
    means nothing. A `timestamp` without a time zone is UTC.

    Raises:
        ConfigError: COLUMN_NOT_FOUND for `sort`.
        StateError: TABLE_VERSION_NOT_FOUND, TABLE_NOT_READABLE, DATA_FILES_MISSING, TABLE_IS_PROTECTED by a row filter
            or masks, TABLE_IN_ANOTHER_STORE.
    """
    name = str(table.identifier)
    with readable(name):
        delta = open_delta_table(table.uri)
    check_open(table, delta.metadata().configuration)
    requested = version if version is not None else timestamp
    if requested is not None:
        load_version(table, delta, requested)
    check_reachable(table, delta)
    order = _order_by(table, [field.name for field in delta.schema().fields], sort, descending=descending)
    try:
        # The query engine, and not the plain dataset: it knows deletion vectors and column mapping.
        query = f"SELECT * FROM rows{order} LIMIT {int(limit) + 1}"  # noqa: S608 - order is quoted, limit a number
        content = queried_rows(delta, query)
    except Exception as error:  # the query engine raises plain ones
        if (missing := missing_data_files(delta, table.uri, name)) is not None:
            raise missing from error
        raise StateError("TABLE_NOT_READABLE", dataset=name, name=name, reason=first_line(error)) from error
    shown = content.slice(0, limit)
    columns = [python_values(column) for column in shown.columns]
    return TableRows(
        columns=tuple(shown.column_names),
        rows=tuple(zip(*columns, strict=True)) if columns else (),
        version=int(delta.version()),
        truncated=content.num_rows > limit,
    )


def load_version(table: StoredTable, delta: DeltaTable, requested: int | datetime) -> None:
    """Takes `delta`, which is at its newest version, to the one requested, by number or time.

    Raises:
        StateError: TABLE_VERSION_NOT_FOUND.
    """
    from deltalake.exceptions import DeltaError

    name, newest = str(table.identifier), delta.version()
    try:
        delta.load_as_version(requested)
    except (DeltaError, OSError, ValueError, OverflowError) as error:
        raise StateError(
            "TABLE_VERSION_NOT_FOUND", dataset=name, name=name, version=requested, newest=newest
        ) from error


def check_open(table: StoredTable, properties: Mapping[str, str]) -> None:
    """Refuses a table whose rows or values are not for every reader: what decides is a function of Spark.

    Raises:
        StateError: TABLE_IS_PROTECTED, TABLE_PROTECTION_FAILED.
    """
    name = str(table.identifier)
    try:
        protection = stored_protection(properties)
    except ValueError as error:
        raise StateError("TABLE_PROTECTION_FAILED", dataset=name, name=name, reason=error) from error
    if protection is not None:
        raise StateError("TABLE_IS_PROTECTED", dataset=name, name=name)


def check_reachable(table: StoredTable, delta: DeltaTable) -> None:
    """Refuses a shallow clone of a table in another bucket: deltalake reads one only.

    Raises:
        StateError: TABLE_IN_ANOTHER_STORE.
    """
    name, own = str(table.identifier), store_root(table.uri)
    for file in files_elsewhere(delta):
        if store_root(file) != own:
            raise StateError("TABLE_IN_ANOTHER_STORE", dataset=name, name=name, place=file.rpartition("/")[0])


def _order_by(table: StoredTable, columns: list[str], sort: str | None, *, descending: bool) -> str:
    if sort is None:
        return ""
    column = next((name for name in columns if name.casefold() == sort.casefold()), None)
    if column is None:
        hint = did_you_mean(sort, columns, also=f"Its columns: {', '.join(columns)}.")
        raise ConfigError("COLUMN_NOT_FOUND", dataset=str(table.identifier), column=sort, hint=hint)
    quoted = '"' + column.replace('"', '""') + '"'
    return f" ORDER BY {quoted} {'DESC' if descending else 'ASC'} NULLS LAST"
