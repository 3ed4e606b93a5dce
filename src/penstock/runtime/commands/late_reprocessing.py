"""Computes windows again to which late rows belong, from all that their flow has read, and puts them into the table.

One commit replaces the windows. Then the late rows go, by a second one: a process that dies between them leaves rows
whose windows are computed once more, with the same result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from delta.tables import DeltaTable
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.config import PipelineConfig
from penstock.errors import ConfigError, PenstockError
from penstock.events import EventLog, EventType, builders
from penstock.events.flows.late_rows import reprocessed
from penstock.graph.companions import late_rows as names
from penstock.graph.companions.late_rows import late_rows_path
from penstock.graph.elements import StreamingTable
from penstock.graph.flows.flow_type import FlowType
from penstock.graph.identifier import DefaultSchema, Identifier
from penstock.graph.resolved import ResolvedFlow, ResolvedGraph
from penstock.plan.state import TableState
from penstock.runtime.commands.replay import newest_update
from penstock.runtime.flows.services import FlowQueries
from penstock.runtime.project.watched_workspace import watched_workspace
from penstock.runtime.project.workspace import Progress, Workspace
from penstock.runtime.storage_state.catalog import StoredCatalog
from penstock.runtime.storage_state.state import table_state
from penstock.spark.delta.conform import conform
from penstock.spark.evaluation import Evaluation
from penstock.spark.failures.causes import reason_of
from penstock.spark.failures.translate import translate_failure
from penstock.spark.late.late_rows import late_windows
from penstock.spark.plans.definition import query_definition
from penstock.spark.plans.grouping import NotGrouped, window_column
from penstock.storage import lock_for_command
from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.delta.table import is_delta_table, open_delta_table

_LIMITS: Final = frozenset({"maxfilespertrigger", "maxbytespertrigger"})
"""Options of a streaming read that say how much a batch reads, and not what is read in all."""


@dataclass(frozen=True, slots=True)
class ReprocessedWindows:
    """How many windows of the table were computed again, and how many late rows they had."""

    table: Identifier
    windows: int
    late_rows: int


def reprocess_late_rows(
    config: PipelineConfig, name: str, *, progress: Progress, spark: SparkSession | None = None
) -> ReprocessedWindows:
    """Replaces the windows of a streaming table that have late rows by what they are with them.

    They are computed by the query as it is now, of what the tables that it reads held when the flow had read them. The
    storage is locked meanwhile. `spark` is a session to run on; without one Spark is started.

    Raises:
        ConfigError: LATE_ROWS_NOT_FOUND, LATE_ROWS_NOT_REPROCESSABLE with the reason why it would not be exact.
        StateError: another run holds the storage.
        PenstockError: the pipeline does not load, or a write failed; to repeat it is safe.
    """
    with lock_for_command(config.storage), watched_workspace(config, progress, spark=spark) as workspace:
        graph = workspace.resolve(progress)
        names = DefaultSchema(config.schema, graph.catalog)
        work = _Reprocessing.of(workspace, graph, Identifier.parse(name, default_schema=names))
        try:
            return work.run(progress)
        except PenstockError:
            raise
        except Exception as error:
            table, flow = work.table.identifier, work.flow.declaration.name
            raise translate_failure(error, dataset=str(table), flow=flow) from error


def _refusal(name: Identifier, reason: str) -> ConfigError:
    return ConfigError("LATE_ROWS_NOT_REPROCESSABLE", name=name, reason=reason)


@dataclass(frozen=True, slots=True)
class _Reprocessing:
    """`table` is filled by `flow` alone, and `late` is where its late rows are."""

    workspace: Workspace
    graph: ResolvedGraph
    table: StreamingTable
    flow: ResolvedFlow
    path: str
    generation: int

    @classmethod
    def of(cls, workspace: Workspace, graph: ResolvedGraph, name: Identifier) -> _Reprocessing:
        table = graph.tables.get(name)
        if not isinstance(table, StreamingTable):
            hint = "The pipeline declares no such streaming table."
            raise ConfigError("LATE_ROWS_NOT_FOUND", name=name, hint=hint)
        path = workspace.paths(graph)[name]
        if not all(map(is_delta_table, (path, late_rows_path(path)))):
            raise ConfigError("LATE_ROWS_NOT_FOUND", name=name, hint="No row of it was late.")
        [flow, *others] = graph.flows_to(name)
        if others:
            raise _refusal(name, "several flows fill it")
        _check_flow(graph, table, flow)
        own = table_state(open_delta_table(path), path)
        _check_tables(name, own, late_rows_path(path))
        return cls(workspace, graph, table, flow, path, own.generation)

    def run(self, progress: Progress) -> ReprocessedWindows:
        name, spark = self.table.identifier, self.workspace.spark
        frame = self._computed()
        try:
            column = window_column(frame)
        except NotGrouped as unknown:
            raise _refusal(name, str(unknown)) from None
        late = late_windows(spark, late_rows_path(self.path), column, flow=self.flow.declaration.name)
        if late is None:
            raise _refusal(name, f"its late rows do not tell their window in a column '{column.given}'")
        done = ReprocessedWindows(name, late.windows, late.rows)
        if not late.windows:
            return done
        with EventLog.open(
            self.workspace.config.storage,
            pipeline_name=self.workspace.config.name,
            update_id=newest_update(self.workspace.config.storage),
        ) as log:
            arguments = {"table": str(name), "windows": late.windows, "late_rows": late.rows}
            log.append(
                EventType.USER_ACTION,
                *builders.user_action("REPROCESS_LATE_ROWS", arguments=arguments),
                dataset=str(name),
            )
            progress(f"Computing {late.windows:,} window{'s' if late.windows != 1 else ''} of {name} again")
            rows = frame.where(late.in_table).write.format("delta").mode("overwrite")
            rows.option("replaceWhere", late.in_table).save(self.path)
            DeltaTable.forPath(spark, late_rows_path(self.path)).delete(late.in_late_rows)
            brought_in = reprocessed(
                self.flow.declaration.name, str(names.late_rows_of(name)), windows=late.windows, rows=late.rows
            )
            log.append(EventType.LATE_ROWS, *brought_in, dataset=str(name), flow=self.flow.declaration.name)
        return done

    def _computed(self) -> DataFrame:
        """The flow's query as a batch, over all that the flow has read."""
        name = self.table.identifier
        workspace, paths = self.workspace, self.workspace.paths(self.graph)
        names = DefaultSchema(workspace.config.schema, self.graph.catalog)
        catalog = _ReadSoFar(self.graph, paths, workspace.layout, names, name, self._offsets())
        try:
            built = FlowQueries.for_command(workspace, self.graph, catalog, paths).query(self.flow)
        except PySparkException as error:
            raise _refusal(name, f"its query does not run as a batch: {reason_of(error)}") from error
        definition = query_definition(built.frame, around=None)
        if definition.moving:
            raise _refusal(name, definition.always or "its query is not deterministic")
        if built.checking is None:
            return built.frame
        if self.table.expectations:
            raise _refusal(name, "its expectations are not part of its query (a quarantine, unique keys, update mode)")
        declared = built.checking.declared
        return built.frame if declared is None else conform(built.frame, declared)

    def _offsets(self) -> Mapping[str, Any]:
        flow = self.flow.declaration
        folder = CheckpointFolder.open_without_state(
            self.workspace.layout.checkpoint(flow.target, flow.name, self.generation)
        )
        if folder.committed is None or folder.in_flight is not None:
            raise _refusal(flow.target, "its last batch is not finished; 'penstock run' does that")
        offsets = folder.planned_batch(folder.committed).offsets
        assert self.flow.stream is not None, "_check_flow lets no flow of batches pass"
        if (apart := read_to_different_ends(self.flow.stream.sources, offsets)) is not None:
            raise _refusal(flow.target, f"it reads {apart} at several places, not up to the same version; run it again")
        return offsets


def read_to_different_ends(sources: Mapping[str, str], offsets: Mapping[str, Any]) -> str | None:
    """Returns what a flow has read at several of its places to different ends; a batch would read it to one.

    `sources` says by the name of each source what it reads.
    """
    ends: dict[str, Any] = {}
    for name, read in sources.items():
        if ends.setdefault(read, offsets.get(name)) != offsets.get(name):
            return read
    return None


def _check_tables(name: Identifier, own: TableState, late_path: str) -> None:
    """Refuses late rows that are not those of the table as it is, and a table that keeps its rows for ever.

    Raises:
        ConfigError: LATE_ROWS_NOT_FOUND, LATE_ROWS_NOT_REPROCESSABLE.
    """
    late = table_state(open_delta_table(late_path), late_path)
    if late.dataset_type != names.LATE_ROWS:
        raise ConfigError("LATE_ROWS_NOT_FOUND", name=name, hint=f"{late_path} is another table.")
    if late.generation != own.generation:
        raise _refusal(name, "a full refresh emptied it, and did not come to its late rows")
    if own.properties.get("delta.appendOnly") == "true":
        raise _refusal(name, "its property delta.appendOnly keeps rows from being replaced")


def _check_flow(graph: ResolvedGraph, table: StreamingTable, flow: ResolvedFlow) -> None:
    """Refuses what a batch over the tables behind the flow does not compute as the flow does.

    Raises:
        ConfigError: LATE_ROWS_NOT_REPROCESSABLE.
    """
    name = table.identifier
    if flow.type not in {FlowType.APPEND, FlowType.UPDATE} or flow.stateful != ("aggregate",):
        operators = ", ".join(flow.stateful) or "none"
        raise _refusal(name, f"that takes an aggregation as its only operator with state; it has: {operators}")
    for read in graph.stored_inputs(flow.inputs):
        if not read.streaming:
            raise _refusal(name, f"it reads {read.source} as it is now, and not as it was for each batch")
        if read.dataset is None or read.from_quarantine:
            raise _refusal(name, f"it reads {read.source}, and not a table of the pipeline that keeps its rows")
    for reader in graph.flows:
        if any(read.streaming and read.dataset == name for read in graph.stored_inputs(reader.inputs)):
            target = reader.declaration.target
            raise _refusal(name, f"{target} reads it as a stream, and a stream does not take rows back")


@dataclass(frozen=True, slots=True)
class _ReadSoFar(StoredCatalog):
    """Answers the streaming reads of a flow by what it has read, up to its `offsets`, as a batch.

    The flow reads nothing but tables and views of the pipeline.
    """

    target: Identifier
    offsets: Mapping[str, Any]

    def open(
        self, identifier: Identifier, evaluation: Evaluation, *, streaming: bool, options: Mapping[str, str]
    ) -> DataFrame:
        """Returns the rows that the flow has read of a table, or the inlined view."""
        if identifier in self.graph.views:
            return StoredCatalog.open(self, identifier, evaluation, streaming=streaming, options=options)
        for option in options:
            if option.casefold() not in _LIMITS:
                raise _refusal(self.target, f"it reads {identifier} with the option '{option}'")
        version = self._newest(self.offsets.get(evaluation.table_source_name(identifier)))
        if version is None:
            raise _refusal(self.target, f"it has not read {identifier} up to the end of a version; run it again")
        reader = evaluation.spark.read.format("delta").option("versionAsOf", version)
        return reader.load(self.paths[identifier])

    @staticmethod
    def _newest(offset: Any) -> int | None:
        """Returns the version up to which all was read; an offset without files is the beginning of the next one."""
        match offset:
            case {"reservoirVersion": int(version), "index": int(index), "isStartingVersion": False} if index < 0:
                return version - 1 if version else None
        return None
