"""Says in the event log what an update does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import assert_never

from penstock.errors import PenstockError
from penstock.events import (
    BatchAccounts,
    BatchProgress,
    CheckpointedBatch,
    ClusterResources,
    EventLog,
    EventType,
    FlowStatus,
    LateRows,
    Level,
    MaintenanceProgress,
    RefreshChoice,
    UpdateState,
    WatermarkStatus,
    builders,
)
from penstock.events.background import BackgroundThread
from penstock.events.cluster import cluster_resources
from penstock.events.flows.refresh import refresh_planned
from penstock.graph.elements import EMPTY, AnySink, FormatSink, FunctionSink
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import Input, ResolvedFlow, ResolvedGraph
from penstock.graph.schema.column_lineage import ColumnLineage
from penstock.graph.schema.table_schema import Schema
from penstock.plan.explain import flow_label
from penstock.plan.stages import UpdatePlan


class Reporter:
    """Writes one update's events; every method may be called from any thread.

    `redacted` takes secrets out of texts that came from elsewhere, such as a broker's answer.
    """

    def __init__(self, log: EventLog, pipeline: str, redacted: Callable[[str], str] = str) -> None:
        self._log = log
        self._pipeline = pipeline
        self._redacted = redacted

    def background_thread(self, work: Callable[[], object], name: str) -> BackgroundThread:
        """Returns a thread that the update can do without; that it ended too early is an event."""
        return BackgroundThread(work, name, self._log)

    def update(self, state: UpdateState, *, error: PenstockError | None = None, reason: str | None = None) -> None:
        """The update enters a state."""
        said = self._said(reason, error)
        self._log.append(
            EventType.UPDATE_PROGRESS,
            *builders.update_progress(state, pipeline=self._pipeline, reason=said),
            error=error,
        )

    def definitions(self, graph: ResolvedGraph, paths: dict[Identifier, str]) -> None:
        """What the pipeline's datasets, sinks and flows are, in this update."""
        for identifier in graph.order:
            dataset = graph.dataset(identifier)
            self._log.append(
                EventType.DATASET_DEFINITION,
                *builders.dataset_definition(
                    str(identifier),
                    dataset_type=dataset.dataset_type,
                    schema=_columns(graph.stored_schemas[identifier]),
                    comment=dataset.comment,
                    path=paths.get(identifier),
                    inputs=[str(upstream) for upstream in graph.upstream(identifier)],
                    expectations=[
                        (each.name, str(each.constraint), each.on_violation.value) for each in dataset.expectations
                    ],
                    location=str(dataset.location),
                ),
                dataset=str(identifier),
            )
        for sink in graph.sinks.values():
            self._sink_definition(sink, graph)
        for identifier, view in graph.views.items():
            self._flow_definition(
                identifier.name, identifier, "view", inputs=view.inputs, schema=view.schema, lineage=view.lineage
            )
        for flow in graph.flows:
            self._flow_definition(
                flow.declaration.name,
                flow.declaration.target,
                flow.type.value,
                inputs=flow.inputs,
                schema=flow.schema,
                lineage=flow.lineage,
                flow=flow,
            )
        for warning in graph.warnings:
            self.warning(warning)

    def plan(self, plan: UpdatePlan) -> None:
        """What the update is going to do."""
        steps = [(stage.kind, str(stage.dataset), stage.flow_name, stage.explanation) for stage in plan.stages]
        self._log.append(EventType.PLANNING_INFORMATION, *builders.planning_information(steps))
        for notice in plan.notices:
            self.warning(notice)

    def warning(self, warning: PenstockError) -> None:
        """Something that does not stop the run."""
        self._log.append(
            EventType.PLANNING_INFORMATION,
            *builders.planning_warning(warning.message, name=warning.dataset),
            level=Level.WARN,
            dataset=warning.dataset,
            error=warning,
        )

    def excluded(self, dataset: Identifier, reason: str) -> None:
        """A dataset is left as it is."""
        self._log.append(
            EventType.FLOW_PROGRESS,
            *builders.flow_status(str(dataset), FlowStatus.EXCLUDED, reason=reason),
            dataset=str(dataset),
        )

    def retry(self, flow: ResolvedFlow, error: PenstockError, pause: float) -> None:
        """A flow failed and is tried again after `pause` seconds."""
        reason = self._said(None, error) or error.condition
        at = datetime.now(UTC) + timedelta(seconds=pause)
        built = builders.flow_retry(flow_label(flow), pause=pause, at=at, reason=reason)
        self._of_flow(flow, EventType.FLOW_PROGRESS, built, level=Level.WARN, error=error)

    def set_up_again(self, error: PenstockError, pause: float) -> None:
        """A table could not be set up, and is tried again after `pause` seconds."""
        reason = f"tries {error.dataset} again in {pause:g} s: {error.message}"
        self.update(UpdateState.SETTING_UP_TABLES, reason=reason)

    def accepted_loss(self, flow: tuple[Identifier, str], condition: str, facts: Mapping[str, str]) -> None:
        """A flow, given by its target and name, goes on without data that it reported lost: a person accepted it."""
        target, name = flow
        lost = facts.get("lost") or facts.get("detail")
        arguments = {"dataset": str(target), "flow": name, "condition": condition, "lost": lost}
        self._log.append(
            EventType.USER_ACTION,
            *builders.user_action("ACCEPT_DATA_LOSS", arguments=arguments),
            level=Level.WARN,
            dataset=str(target),
            flow=name,
        )

    def flow(
        self,
        flow: ResolvedFlow,
        status: FlowStatus,
        *,
        reason: str | None = None,
        error: PenstockError | None = None,
        level: Level | None = None,
        lateness_not_measured: str | None = None,
    ) -> None:
        """A flow enters a state."""
        said = self._said(reason, error)
        built = builders.flow_status(flow_label(flow), status, reason=said, lateness_not_measured=lateness_not_measured)
        self._of_flow(flow, EventType.FLOW_PROGRESS, built, level=level, error=error)

    def batch(self, flow: ResolvedFlow, progress: BatchProgress, checkpointed: CheckpointedBatch | None = None) -> None:
        """A flow has committed a batch; `checkpointed` is what its checkpoint says about it."""
        built = builders.flow_batch(flow_label(flow), progress, checkpointed=checkpointed)
        self._of_flow(flow, EventType.FLOW_PROGRESS, built, batch_id=progress.batch_id)

    def refresh(self, flow: ResolvedFlow, choice: RefreshChoice) -> None:
        """How a materialized view is about to be refreshed."""
        choice = replace(choice, why=self._redacted(choice.why))
        built = refresh_planned(str(flow.declaration.target), choice)
        self._of_flow(flow, EventType.PLANNING_INFORMATION, built)

    def accounting(self, flow: ResolvedFlow, accounts: BatchAccounts, *, error: PenstockError | None) -> None:
        """The accounts of a batch that a flow has committed; with the error when they do not add up."""
        built = builders.accounting(flow_label(flow), accounts)
        self._of_flow(flow, EventType.ACCOUNTING, built, batch_id=accounts.batch_id, error=error)

    def late_rows(self, flow: ResolvedFlow, late: LateRows) -> None:
        """What became of the rows of a batch that came behind the watermark."""
        redacted = replace(late, reason=self._said(late.reason, None))
        level = Level.INFO if late.kept == 0 and late.reason is None else Level.WARN
        built = builders.late_rows(flow_label(flow), redacted)
        self._of_flow(flow, EventType.LATE_ROWS, built, level=level, batch_id=late.batch_id)

    def watermark(self, flow: ResolvedFlow, stand: WatermarkStatus, *, error: PenstockError | None) -> None:
        """A flow's watermark stands still, for which `error` says why, or moves again."""
        level = Level.INFO if error is None else Level.WARN
        self._of_flow(flow, EventType.WATERMARK, builders.watermark(flow_label(flow), stand), level=level, error=error)

    def cluster(self, master: str, resources: ClusterResources, *, error: PenstockError | None) -> None:
        """The cluster has more executors or fewer, or no master; `error` says what is wrong with it."""
        if error is not None:
            error.redact(self._redacted)
        self._log.append(
            EventType.CLUSTER_RESOURCES,
            *cluster_resources(master, resources),
            level=Level.INFO if error is None else Level.WARN,
            error=error,
        )

    def maintenance(self, table: Identifier, done: MaintenanceProgress, error: PenstockError | None = None) -> None:
        """A table was looked after, or could not be; that fails no update."""
        if error is not None:
            error.redact(self._redacted)
        self._log.append(
            EventType.MAINTENANCE_PROGRESS,
            *builders.maintenance(str(table), done),
            level=None if error is None else Level.WARN,
            dataset=str(table),
            error=error,
        )

    def _of_flow(
        self,
        flow: ResolvedFlow,
        kind: EventType,
        built: builders.Built,
        *,
        level: Level | None = None,
        batch_id: int | None = None,
        error: PenstockError | None = None,
    ) -> None:
        target, name = str(flow.declaration.target), flow.declaration.name
        self._log.append(kind, *built, level=level, dataset=target, flow=name, batch_id=batch_id, error=error)

    def _sink_definition(self, sink: AnySink, graph: ResolvedGraph) -> None:
        match sink:
            case FormatSink():
                sink_format, options = sink.format, sink.options
            case FunctionSink():
                sink_format, options = "foreach_batch", EMPTY
            case _:
                assert_never(sink)
        self._log.append(
            EventType.SINK_DEFINITION,
            *builders.sink_definition(
                str(sink.identifier),
                sink_format=sink_format,
                options=options,
                inputs=[str(upstream) for upstream in graph.upstream(sink.identifier)],
                location=str(sink.location),
            ),
            dataset=str(sink.identifier),
        )

    def _said(self, reason: str | None, error: PenstockError | None) -> str | None:
        """Returns the text of an event, without secrets; `error` loses its own as well."""
        if error is not None:
            error.redact(self._redacted)
        if reason is not None:
            return self._redacted(reason)
        return None if error is None else error.message

    def _flow_definition(
        self,
        name: str,
        output: Identifier,
        flow_type: str,
        *,
        inputs: tuple[Input, ...],
        schema: Schema,
        lineage: ColumnLineage | None,
        flow: ResolvedFlow | None = None,
    ) -> None:
        self._log.append(
            EventType.FLOW_DEFINITION,
            *builders.flow_definition(
                name,
                output_dataset=str(output),
                flow_type=flow_type,
                input_datasets=list(dict.fromkeys(str(each.dataset) for each in inputs if each.dataset is not None)),
                schema=_columns(schema),
                sources=[(each.format, each.description, each.name) for each in inputs if each.dataset is None],
                stateful=() if flow is None else flow.stateful,
                watermark=None if flow is None else flow.watermark,
                once=flow is not None and flow.declaration.once,
                comment=None if flow is None else flow.declaration.comment,
                location=None if flow is None else str(flow.declaration.location),
                lineage=lineage,
                limits={each.name or each.source: dict(each.limits) for each in inputs if each.limits},
            ),
            dataset=str(output),
            flow=name,
        )


def _columns(schema: Schema) -> list[tuple[str, str, str | None]]:
    return [(column.name, column.type, column.comment) for column in schema.columns]
