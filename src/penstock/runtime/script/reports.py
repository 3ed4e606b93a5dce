"""Says in the event log what a script's queries do, in the words that pipelines use."""

from __future__ import annotations

from collections.abc import Callable

from penstock.errors import PenstockError
from penstock.events import (
    BatchProgress,
    CheckpointedBatch,
    EventLog,
    EventType,
    FlowStatus,
    Level,
    UpdateState,
    builders,
)
from penstock.graph.flows.flow_type import FlowType
from penstock.runtime.script.stream_write import StreamWrite
from penstock.spark.plans.inspection import stateful_operators, watermark

_FLOW_TYPES = {"append": FlowType.APPEND, "complete": FlowType.COMPLETE, "update": FlowType.UPDATE}


class ScriptReports:
    """Writes the events of one run of a script; every method may be called from any thread.

    A query is a flow of its own name; what it fills is a table, when that is a Delta table, else a sink. Of
    options only where the rows go is reported.
    """

    def __init__(self, log: EventLog, script: str, redacted: Callable[[str], str]) -> None:
        self._log = log
        self._script = script
        self._redacted = redacted

    def update(self, state: UpdateState, *, error: PenstockError | None = None, reason: str | None = None) -> None:
        """The run enters a state."""
        if error is not None:
            error.redact(self._redacted)
            reason = error.message
        self._log.append(
            EventType.UPDATE_PROGRESS,
            *builders.update_progress(state, pipeline=self._script, reason=reason),
            error=error,
        )

    def notice(self, notice: PenstockError) -> None:
        """Something that a person should know, and that stops nothing."""
        notice.redact(self._redacted)
        self._log.append(
            EventType.PLANNING_INFORMATION,
            *builders.planning_warning(notice.message, name=notice.dataset),
            level=Level.WARN,
            dataset=notice.dataset,
            error=notice,
        )

    def definition(self, write: StreamWrite) -> None:
        """A query that is about to start, and what it fills."""
        columns = [(each.name, each.dataType.simpleString(), None) for each in write.frame.schema.fields]
        dataset, place = str(write.dataset), str(write.location)
        if write.is_delta:
            self._log.append(
                EventType.DATASET_DEFINITION,
                *builders.dataset_definition(
                    dataset, dataset_type="STREAMING_TABLE", schema=columns, path=write.path, location=place
                ),
                dataset=dataset,
            )
        else:
            options = dict(write.options) if write.path is None else {**write.options, "path": write.path}
            self._log.append(
                EventType.SINK_DEFINITION,
                *builders.sink_definition(dataset, sink_format=write.format, options=options, location=place),
                dataset=dataset,
            )
        mark = watermark(write.frame)
        self._log.append(
            EventType.FLOW_DEFINITION,
            *builders.flow_definition(
                write.name,
                output_dataset=dataset,
                flow_type=_FLOW_TYPES.get(write.mode, FlowType.APPEND).value,
                schema=columns,
                stateful=stateful_operators(write.frame),
                watermark=mark,
                location=place,
            ),
            dataset=dataset,
            flow=write.name,
        )

    def status(self, write: StreamWrite, status: FlowStatus, error: PenstockError | None = None) -> None:
        """A query enters a state."""
        if error is not None:
            error.redact(self._redacted)
        reason = None if error is None else error.message
        self._log.append(
            EventType.FLOW_PROGRESS,
            *builders.flow_status(write.name, status, reason=reason),
            dataset=str(write.dataset),
            flow=write.name,
            error=error,
        )

    def batch(self, write: StreamWrite, progress: BatchProgress, checkpointed: CheckpointedBatch) -> None:
        """A query has committed a batch."""
        self._log.append(
            EventType.FLOW_PROGRESS,
            *builders.flow_batch(write.name, progress, checkpointed=checkpointed),
            dataset=str(write.dataset),
            flow=write.name,
            batch_id=progress.batch_id,
        )
