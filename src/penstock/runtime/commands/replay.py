"""One replay of a quarantine: from the lock to its event."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from deltalake import DeltaTable
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from penstock.config import PipelineConfig
from penstock.errors import ConfigError, PenstockError
from penstock.events import BatchProgress, EventLog, EventType, FlowStatus, builders, new_update_id, read_events
from penstock.graph.companions.quarantine import FLOW, quarantine_path
from penstock.graph.companions.quarantining import has_quarantine
from penstock.graph.elements import ChangeFlow, MaterializedView, StreamingTable
from penstock.graph.flows.flow_type import FlowType
from penstock.graph.identifier import DefaultSchema, Identifier
from penstock.graph.resolved import ResolvedGraph
from penstock.plan.change_capture import check_changes
from penstock.runtime.flows.change_target import change_writer, with_changes
from penstock.runtime.project.watched_workspace import watched_workspace
from penstock.runtime.project.workspace import Workspace
from penstock.runtime.storage_state.state import table_state
from penstock.spark.failures.causes import reason_of
from penstock.spark.failures.translate import translate_failure
from penstock.spark.session.query_settings import spark_settings
from penstock.spark.writers.changes.merge import MergedRows
from penstock.spark.writers.quarantine_replay import AppendedRows, Destination, QuarantineReplay, ReplayedEvents
from penstock.storage import lock_for_command
from penstock.storage.delta.table import is_delta_table, open_delta_table, queried_rows

REPLAY_FLOW = "quarantine replay"
"""The name under which the event log counts replayed rows; no flow of a pipeline."""


@dataclass(frozen=True, slots=True)
class ReplayOutcome:
    """How many rows moved into the table, and how many its quarantine still holds.

    `gone_flows` are those that quarantined events, and that the pipeline does not declare (any more):
    it is not known how to apply these events.
    """

    table: Identifier
    replayed: int
    remaining: int
    gone_flows: tuple[str, ...] = ()


def replay_quarantine(
    config: PipelineConfig,
    name: str,
    *,
    where: str | None = None,
    progress: Callable[[str], None],
    spark: SparkSession | None = None,
) -> ReplayOutcome:
    """Sends the rows that a streaming table quarantined through its expectations, as the pipeline declares them now.

    Rows that break none which would keep them out move into the table; events of a change flow are applied by it.
    `where` is a SQL condition on the quarantine's columns that chooses rows. The storage is locked meanwhile. A replay
    that died is finished first. `spark` is a session to run on; without one Spark is started.

    Raises:
        ConfigError: QUARANTINE_NOT_FOUND, QUARANTINE_NOT_REPLAYABLE, REPLAY_CONDITION_INVALID.
        StateError: another run holds the storage; CHANGE_CAPTURE_CHANGED.
        PenstockError: the pipeline does not load, or a write failed; repeating the replay is safe.
    """
    with lock_for_command(config.storage), watched_workspace(config, progress, spark=spark) as workspace:
        graph = workspace.resolve(progress)
        names = DefaultSchema(config.schema, graph.catalog)
        table = _replayable(graph, Identifier.parse(name, default_schema=names))
        path = workspace.paths(graph)[table.identifier]
        if not all(map(is_delta_table, (path, quarantine_path(path)))):
            raise ConfigError("QUARANTINE_NOT_FOUND", name=name, hint="Nothing has run since it was declared.")
        destinations = _destinations(workspace, graph, table, path)
        with EventLog.open(config.storage, pipeline_name=config.name, update_id=newest_update(config.storage)) as log:
            log.append(
                EventType.USER_ACTION,
                *builders.user_action("REPLAY_QUARANTINE", arguments={"table": str(table.identifier), "where": where}),
                dataset=str(table.identifier),
            )
            progress(f"Checking the quarantined rows of {table.identifier}")
            replay = QuarantineReplay(
                workspace.spark, path, destinations, lambda *moved: _report_batch(log, table.identifier, *moved)
            )
            try:
                moved = replay.run(where)
            except PenstockError:
                raise
            except AnalysisException as error:
                reason = (
                    f"a rule does not resolve against the columns of its rows: {reason_of(error).removesuffix('.')}"
                )
                raise ConfigError("QUARANTINE_NOT_REPLAYABLE", name=table.identifier, reason=reason) from error
            except Exception as error:
                raise translate_failure(error, dataset=str(table.identifier), flow=REPLAY_FLOW) from error
        quarantine = open_delta_table(quarantine_path(path))
        return ReplayOutcome(table.identifier, moved, quarantine.count(), tuple(_gone_flows(graph, table, quarantine)))


def _replayable(graph: ResolvedGraph, identifier: Identifier) -> StreamingTable:
    dataset, view, flows = graph.tables.get(identifier), graph.views.get(identifier), graph.flows_to(identifier)
    types = {flow.type for flow in flows}
    if view is not None and has_quarantine(view.view):
        reason = "a view stores no rows"
    elif dataset is None or not has_quarantine(dataset):
        known = ", ".join(str(each) for each, table in graph.tables.items() if has_quarantine(table))
        hint = f"These have one: {known}." if known else "No table of the pipeline has one."
        raise ConfigError("QUARANTINE_NOT_FOUND", name=identifier, hint=hint)
    elif isinstance(dataset, MaterializedView) or FlowType.COMPLETE in types:
        reason = "its rows are recomputed, with the quarantine"
    elif any(flow.keys is not None for flow in flows):
        reason = "its rows are updated, and a quarantined row may have got a newer value since"
    elif FlowType.SNAPSHOT_CHANGE in types:
        reason = "its rows are of whole snapshots, and the next snapshot states again which rows exist"
    else:
        return dataset
    raise ConfigError("QUARANTINE_NOT_REPLAYABLE", name=identifier, reason=reason)


def _destinations(
    workspace: Workspace, graph: ResolvedGraph, table: StreamingTable, path: str
) -> tuple[Destination, ...]:
    """Returns where the rows of the table's quarantine go: into the table, or through the flow that quarantined them.

    Raises:
        ConfigError: QUARANTINE_NOT_REPLAYABLE.
        StateError: CHANGE_CAPTURE_CHANGED.
    """
    state = table_state(open_delta_table(path), path)
    quarantine_folder = quarantine_path(path)
    if table_state(open_delta_table(quarantine_folder), quarantine_folder).generation != state.generation:
        reason = "a full refresh emptied the table, and did not come to its quarantine"
        raise ConfigError("QUARANTINE_NOT_REPLAYABLE", name=table.identifier, reason=reason)
    check_changes(graph, table, state)
    flows = graph.flows_to(table.identifier)
    if all(flow.changes is None for flow in flows):
        declared = None if table.schema is None else graph.stored_schemas[table.identifier]
        return (AppendedRows(table, path, declared, spark_settings(table.spark_conf)),)
    return tuple(
        ReplayedEvents(
            flow.declaration,
            table,
            flow.rows,
            change_writer(flow, flow.declaration, graph, workspace.layout, path=path, generation=state.generation),
            spark_settings(graph.flow_settings(flow)),
        )
        for flow in flows
        if isinstance(flow.declaration, ChangeFlow)
    )


def _gone_flows(graph: ResolvedGraph, table: StreamingTable, quarantine: DeltaTable) -> Iterator[str]:
    """Yields the flows whose events cannot be applied; rows that are only appended need no flow."""
    flows = [flow.declaration for flow in graph.flows_to(table.identifier)]
    if not any(isinstance(flow, ChangeFlow) for flow in flows):
        return
    known = {flow.name.lower() for flow in flows}
    # The query engine, and not the plain dataset: it knows mapped columns.
    for name in queried_rows(quarantine, f"SELECT DISTINCT {FLOW} FROM rows")[FLOW].to_pylist():  # noqa: S608
        if str(name).lower() not in known:
            yield str(name)


def newest_update(storage_uri: str) -> str:
    """Returns the update whose tables are changed by what begins no other."""
    newest = None
    for event in read_events(storage_uri, types=[each for each in EventType if each.of_its_update]):
        newest = event.origin.update_id
    return newest or new_update_id()


def _report_batch(log: EventLog, table: Identifier, number: int, rows: int, merged: MergedRows | None) -> None:
    moved = BatchProgress(batch_id=number, num_input_rows=rows, num_output_rows=rows, quarantined_records=-rows)
    log.append(
        EventType.FLOW_PROGRESS,
        *builders.flow_batch(
            REPLAY_FLOW, moved if merged is None else with_changes(moved, merged), status=FlowStatus.COMPLETED
        ),
        dataset=str(table),
        flow=REPLAY_FLOW,
        batch_id=number,
    )
