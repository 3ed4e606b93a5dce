"""Looks at a storage without Spark: which tables exist, in which generation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from penstock.errors import DefinitionError, PenstockError, StateError, first_line
from penstock.events import read_events, tail_events
from penstock.events.flows.records import FlowRecords
from penstock.events.flows.state_size import StateSize, state_sizes
from penstock.graph.companions.late_rows import late_rows_of, late_rows_path
from penstock.graph.companions.quarantine import quarantine_of, quarantine_path
from penstock.graph.companions.quarantining import has_quarantine
from penstock.graph.elements import MaterializedView, StreamingTable
from penstock.graph.identifier import Identifier
from penstock.graph.protection import is_restricted
from penstock.graph.resolved import ResolvedGraph
from penstock.graph.schema.table_schema import Schema
from penstock.graph.stream_definition import StreamDefinition
from penstock.plan.refresh import recorded_inputs
from penstock.plan.state import PIPELINE, RefreshRecord, StateSnapshot, TableState
from penstock.runtime.storage_state.checkpoint_checks import CheckpointChecks
from penstock.runtime.storage_state.refresh_notes import last_refresh, versions_of
from penstock.runtime.storage_state.stream_notes import is_started, known_definition
from penstock.spark.evaluation import EvaluationSettings, table_path
from penstock.storage import Storage, StorageLayout
from penstock.storage.checkpoint.folder import numbers_in
from penstock.storage.delta.table import added_files, is_delta_table, open_delta_table, table_properties
from penstock.storage.layout import dataset_name


def table_paths(graph: ResolvedGraph, layout: StorageLayout, settings: EvaluationSettings) -> dict[Identifier, str]:
    """Returns where each table of the pipeline lies: its own `path`, else its place in the storage.

    Raises:
        DefinitionError: DUPLICATE_TABLE_PATH, of paths that are spelt differently; as for `table_path`.
    """
    paths: dict[Identifier, str] = {}
    owners: dict[str, Identifier] = {}
    for identifier, table in graph.tables.items():
        paths[identifier] = path = table_path(table, layout, settings)
        first = owners.setdefault(path.rstrip("/"), identifier)
        if first is not identifier:
            name = str(identifier)
            raise DefinitionError(
                "DUPLICATE_TABLE_PATH", location=table.location, dataset=name, first=first, second=name, path=path
            )
    return paths


def snapshot(
    graph: ResolvedGraph, layout: StorageLayout, paths: Mapping[Identifier, str], *, pipeline: str
) -> StateSnapshot:
    """Returns the state of all tables and sinks of the pipeline; reads only logs and the names of checkpoints.

    Raises:
        StateError: TABLE_NOT_READABLE.
    """
    storage = Storage(layout.uri)
    tables: dict[Identifier, TableState] = {}
    opened: dict[Identifier, DeltaTable] = {}
    done: set[tuple[Identifier, str]] = set()
    highest: dict[Identifier, int] = {}
    refreshed: dict[Identifier, RefreshRecord] = {}
    read: dict[str, str] = {}
    for identifier in graph.targets:
        flows = graph.flows_to(identifier)
        if isinstance(graph.tables.get(identifier), MaterializedView):
            for flow in flows:
                read |= recorded_inputs(graph, flow, paths)
        folders = [layout.checkpoints(identifier, flow.declaration.name) for flow in flows]
        folders.append(layout.changes(identifier))
        highest[identifier] = max((number for folder in folders for number in numbers_in(storage, folder)), default=-1)
    for identifier, path, stored in _stored(graph, paths):
        tables[identifier] = state = table_state(stored, path)
        if identifier not in paths:
            continue
        opened[identifier] = stored
        if isinstance(graph.tables[identifier], MaterializedView) and (record := last_refresh(stored)) is not None:
            refreshed[identifier] = record
        for flow in graph.flows_to(identifier):
            if flow.declaration.once:
                app_id = once_transaction(pipeline, identifier, flow.declaration.name, state.generation)
                if stored.transaction_version(app_id) is not None:
                    done.add((identifier, flow.declaration.name))
    return StateSnapshot(
        tables,
        dict(paths),
        frozenset(done),
        highest,
        pipeline,
        tuple(_undeclared(layout, paths, pipeline)),
        refreshed,
        versions_of(read),
        dict(_streams(graph, layout, tables, highest)),
        dict(CheckpointChecks(pipeline, graph, layout, opened, paths, highest).found()),
        _rows_read(layout),
        _state_size(layout),
        _table_rows(opened),
        max((stored.get_add_actions().num_rows for stored in opened.values()), default=0),
    )


def _state_size(layout: StorageLayout) -> Callable[[Identifier, str], StateSize | None]:
    sizes = cache(lambda: state_sizes(tail_events(layout.uri)))
    return lambda target, flow: sizes().get((str(target).casefold(), flow.casefold()))


def _table_rows(opened: Mapping[Identifier, DeltaTable]) -> Callable[[Identifier], int | None]:
    def table_rows(table: Identifier) -> int | None:
        if table not in opened:
            return None
        files = added_files(opened[table])
        if "num_records" not in files.column_names:
            return None if files.num_rows else 0
        counts: list[int | None] = files["num_records"].to_pylist()
        return None if None in counts else sum(each or 0 for each in counts)

    return table_rows


def _rows_read(layout: StorageLayout) -> Callable[[Identifier, str | None], int]:
    records = cache(lambda: FlowRecords(read_events(layout.uri)))

    def rows_read(target: Identifier, flow: str | None) -> int:
        if flow is not None:
            return records().of(target, flow).read
        return sum(each.read for each in records() if each.dataset == target)

    return rows_read


def stored_tables(graph: ResolvedGraph, paths: Mapping[Identifier, str]) -> dict[Identifier, TableState]:
    """Returns the tables of the pipeline that exist, their quarantines and late rows; reads only logs.

    Raises:
        StateError: TABLE_NOT_READABLE.
    """
    return {identifier: table_state(stored, path) for identifier, path, stored in _stored(graph, paths)}


def _stored(graph: ResolvedGraph, paths: Mapping[Identifier, str]) -> Iterator[tuple[Identifier, str, DeltaTable]]:
    for identifier, path in paths.items():
        companions = (
            [(quarantine_of(identifier), quarantine_path(path))] if has_quarantine(graph.tables[identifier]) else []
        )
        late = (late_rows_of(identifier), late_rows_path(path))
        if isinstance(graph.tables[identifier], StreamingTable) and late[0] not in graph.tables:
            companions.append(late)
        for name, place in [*companions, (identifier, path)]:
            try:
                found = open_table(name, place) if is_delta_table(place) else None
            except PenstockError as error:
                error.dataset = error.dataset or str(name)
                raise
            if found is not None:
                yield name, place, found


def _streams(
    graph: ResolvedGraph,
    layout: StorageLayout,
    tables: Mapping[Identifier, TableState],
    highest: Mapping[Identifier, int],
) -> Iterator[tuple[tuple[Identifier, str], StreamDefinition | None]]:
    """Yields what is noted of each checkpoint that the next run goes on with."""
    for flow in graph.flows:
        target = flow.declaration.target
        table = tables.get(target)
        if flow.stream is None or (table is None and target in graph.tables):
            continue
        generation = highest[target] if table is None else table.generation
        checkpoint = layout.checkpoint(target, flow.declaration.name, generation)
        if is_started(checkpoint):
            yield (target, flow.declaration.name), known_definition(checkpoint)


def _undeclared(layout: StorageLayout, paths: Mapping[Identifier, str], pipeline: str) -> Iterator[Identifier]:
    """Yields the tables in the storage that this pipeline made and does not declare any more."""
    declared = {layout.table(identifier) for identifier in paths}
    for identifier in table_names(layout):
        path = layout.table(identifier)
        if path in declared or identifier in paths or not is_delta_table(path):
            continue
        with suppress(DeltaError):  # a table that no run writes any more stops no run
            if table_properties(path).get(PIPELINE) == pipeline:
                yield identifier


def table_names(layout: StorageLayout) -> Iterator[Identifier]:
    """Yields the names of the folders for tables, in lower case."""
    storage = Storage(layout.uri)
    for schema in storage.list(layout.tables):
        for table in storage.list(schema.uri) if schema.is_directory else ():
            yield Identifier(*dataset_name(schema.name, table.name))


def is_private(path: str) -> bool:
    """Whether the Delta table at `path` is for the pipeline that declares it only.

    One with a row filter or masks is: other pipelines would store what they keep from readers.
    """
    return is_restricted(table_properties(path))


def once_transaction(pipeline: str, target: Identifier, flow: str, generation: int) -> str:
    """Returns the Delta transaction id under which a once-flow writes; a full refresh changes it."""
    return f"{pipeline}/{target.dotted}/{flow}/{generation}"


def open_table(identifier: Identifier, path: str) -> DeltaTable:
    """Returns the Delta table at `path`, which a person knows as `identifier`.

    Raises:
        StateError: TABLE_NOT_READABLE.
    """
    try:
        return open_delta_table(path)
    except (DeltaError, OSError, ValueError) as error:
        name = str(identifier)
        raise StateError("TABLE_NOT_READABLE", dataset=name, name=name, reason=first_line(error)) from error


def table_state(stored: DeltaTable, path: str) -> TableState:
    """Returns what the log of the Delta table at `path` says of it."""
    metadata = stored.metadata()
    return TableState(
        path,
        Schema(stored.schema().to_json()),
        stored.version(),
        dict(metadata.configuration),
        tuple(metadata.partition_columns),
        metadata.description or None,
        metadata.created_time or 0,
    )
