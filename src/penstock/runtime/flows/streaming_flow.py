"""One streaming flow: one Spark query and its checkpoint, restarted when that helps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql.streaming.query import StreamingQuery

from penstock.config import Trigger, TriggerKind
from penstock.errors import PenstockError
from penstock.events import CheckpointedBatch, Event, FlowStatus, Level, OperatorState, tail_events
from penstock.graph.companions.quarantine import quarantine_path
from penstock.graph.companions.quarantining import has_quarantine
from penstock.plan.stages import RunSinkFlow, RunStreamingFlow
from penstock.runtime.flows.accepted_loss import needs_data_correction
from penstock.runtime.flows.accounting import StreamAccounts, report_accounts
from penstock.runtime.flows.board import TableProgress
from penstock.runtime.flows.change_target import with_merged
from penstock.runtime.flows.failures import damaged_checkpoint, sink_failure, with_place
from penstock.runtime.flows.files.read_files import FilesRead, warn_of_skipped
from penstock.runtime.flows.late.late_rows import LateRowRecorder
from penstock.runtime.flows.late.lateness import with_measured_lateness
from penstock.runtime.flows.late.stalled_watermark import StalledWatermark
from penstock.runtime.flows.late.watermark_recovery import WatermarkRecovery, batch_to_compute
from penstock.runtime.flows.retry import Stopped
from penstock.runtime.flows.services import FlowQuery, FlowServices
from penstock.runtime.flows.stop_after_batch import deadline_of_batch, stop_after_batch
from penstock.runtime.flows.targets import in_columns_of_target, stream_writer
from penstock.runtime.storage_state.stream_notes import FlowOwner, is_started, note_stream
from penstock.spark.accelerators.known_transactions import remember_transactions
from penstock.spark.failures.source_loss import FILES, check_planned_files, go_on_elsewhere, source_loss
from penstock.spark.failures.translate import is_upstream_schema_change, translate_failure
from penstock.spark.late.lateness import MeasuredLateness
from penstock.spark.plans.inspection import uses_processing_time_timers
from penstock.spark.sinks.batch_writer import BatchWriter
from penstock.spark.sources.auto_loader import describe_failure
from penstock.spark.sources.file_reports import missing_files
from penstock.spark.streams.progress import batch_progress
from penstock.spark.streams.writes import RecomputeBatch, StreamWriter, start_stream
from penstock.spark.writers.checking_writer import CheckingWriter
from penstock.storage import Storage
from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.checkpoint.logs import DamagedFile, UnknownVersion, parse_planned_batch
from penstock.storage.checkpoint.newest import remove_unfinished_plan, repair
from penstock.storage.checkpoint.partitions import SHUFFLE_PARTITIONS
from penstock.storage.checkpoint.state import state_partitions

_POLL_SECONDS = 0.5
_DRAIN_POLL_SECONDS = 0.1
_LISTENER_SECONDS = 10.0
_IDLE_BATCHES = 2  # the first may have begun before the last rows came
_AS_FAST_AS_POSSIBLE = Trigger(TriggerKind.PROCESSING_TIME)
_UNTIL_NOTHING_IS_LEFT = Trigger(TriggerKind.AVAILABLE_NOW)


class _Restart(Exception):
    """The query shall start again at once: its input has a new schema, or a batch without rows is due."""


class StreamingFlow:
    """Runs one streaming stage to its end.

    `upstream` are the tables that other flows of this update still fill: while they do, the query
    takes their rows as they come, and it ends when they have ended and everything is read.
    """

    def __init__(
        self, stage: RunStreamingFlow | RunSinkFlow, services: FlowServices, upstream: tuple[TableProgress, ...]
    ) -> None:
        self._stage = stage
        self._flow = stage.flow
        self._services = services
        self._upstream = upstream
        self._batches = 0  # of this run; Spark's listener thread counts
        self._state: tuple[OperatorState, ...] = ()  # after the newest batch of this run
        self._idle_batches = 0  # since the last one that read something
        self._query_name = f"{services.pipeline}/{stage.dataset}/{stage.flow.declaration.name}"
        self._checkpoint = services.layout.checkpoint(stage.dataset, stage.flow.declaration.name, stage.generation)
        self._late = LateRowRecorder(stage, services, self._checkpoint)
        self._deadline: float | None = None  # of the batch in which the update was asked to stop
        self._watermark = StalledWatermark(stage.flow, services)
        self._files = FilesRead(stage.flow, services, self._checkpoint)

    def run(self) -> None:
        """Blocks until the flow has ended.

        Raises:
            PenstockError: the flow failed for good; what its batches committed stays.
            Stopped: the update was asked to stop; the current batch was finished.
        """
        self._repair()
        self._services.with_retries(self._flow, self._run_to_the_end, committed=lambda: self._batches)

    def _repair(self) -> None:
        """Once, not before each attempt: the plan judged the files that the last run has left."""
        for each in self._stage.repairs:
            reason = f"repairs its checkpoint: {each.reason}"
            self._services.reporter.flow(self._flow, FlowStatus.STARTING, reason=reason, level=Level.WARN)
            repair(CheckpointFolder.open_without_state(self._checkpoint), each)

    def _run_to_the_end(self) -> None:
        while True:
            try:
                self._run_query()
            except _Restart:
                continue
            except Stopped:
                self._late.keep(until=self._deadline)
                self._files.after_stop()
                raise
            return

    def _run_query(self) -> None:
        services = self._services
        if services.stop.is_set():
            raise Stopped
        built: FlowQuery | None = None
        writer: StreamWriter | None = None
        query: StreamingQuery | None = None
        recovery = WatermarkRecovery.of(self._flow, services, self._checkpoint)
        newest_events = cache(lambda: tail_events(services.layout.uri))
        try:
            services.reporter.flow(self._flow, FlowStatus.STARTING)
            built = services.query(self._flow, checkpoint=self._checkpoint)
            self._check_sources(built, newest_events)
            follows = self._follows()
            writer = stream_writer(self._stage, services, built)
            built = replace(built, frame=in_columns_of_target(built.frame, writer))
            measured, not_measured = with_measured_lateness(built.frame, self._flow, services, self._checkpoint)
            self._note_stream()
            if not is_started(self._checkpoint):
                self._remember_transactions(built)  # none can be of this query
            again = batch_to_compute(self._flow, services, writer, self._checkpoint)
            if again is not None:
                reason = f"computes batch {again} once more and writes nothing: its target has the rows already"
                services.reporter.flow(self._flow, FlowStatus.STARTING, reason=reason, level=Level.WARN)
                writer = RecomputeBatch(again)
            remove_unfinished_plan(self._checkpoint)
            self._look_back(built, newest_events)
            query = self._start(built, writer, measured, follows=follows)
            services.reporter.flow(self._flow, FlowStatus.RUNNING, lateness_not_measured=not_measured)
            self._await_end(query, built, recovery, follows=follows)
        except Exception as error:
            if self._has_run_again(writer):
                raise _Restart from error
            failure = writer.failure if isinstance(writer, BatchWriter | CheckingWriter) else None
            cause = error if failure is None else failure.cause
            if built is not None and self._evolves(built, cause):
                raise _Restart from error
            if failure is not None and isinstance(writer, BatchWriter) and writer.code is not None:
                raise sink_failure(failure, self._flow, services.settings.directory, code=writer.code) from error
            raise self._translated(cause) from error
        finally:
            if query is not None:
                self._end(query)
        self._late.keep()
        self._files.after_end(built)
        if self._has_run_again(writer):
            raise _Restart
        if recovery is not None and (batch := recovery.plan()) is not None:
            self._say(f"batch {batch} has no rows, and closes what the watermark has passed since the last one")
            raise _Restart

    def _look_back(self, built: FlowQuery, newest_events: Callable[[], Sequence[Event]]) -> None:
        """Takes up what earlier starts have left, right before the query goes on."""
        self._late.catch_up(newest_events)
        self._watermark.start(newest_events)
        self._files.before_start(built)

    def _note_stream(self) -> None:
        if self._flow.stream is not None:
            owner = FlowOwner(self._services.pipeline, self._stage.dataset.dotted, self._flow.declaration.name)
            note_stream(self._checkpoint, self._flow.stream, owner)

    def _start(
        self, built: FlowQuery, writer: StreamWriter, measured: MeasuredLateness | None, *, follows: bool
    ) -> StreamingQuery:
        services = self._services
        accounts = StreamAccounts.of(self._stage, built, writer, services, checkpoint=self._checkpoint)
        trigger = _AS_FAST_AS_POSSIBLE if follows else services.trigger_of(self._flow)
        if isinstance(writer, RecomputeBatch):
            trigger = _UNTIL_NOTHING_IS_LEFT
        services.listener.handle(
            self._query_name,
            lambda progress: self._on_progress(built, measured, accounts, progress),
            idle=None if follows or trigger.stops else lambda: services.reporter.flow(self._flow, FlowStatus.IDLE),
        )
        with services.configured(self._flow):
            services.describe_jobs(self._flow)
            query = start_stream(
                built.frame if measured is None else measured.frame,
                writer,
                query_name=self._query_name,
                checkpoint=self._checkpoint,
                trigger=trigger,
                partitions=self._state_partitions(),
            )
        if measured is not None:
            measured.follow(query)
        return query

    def _end(self, query: StreamingQuery) -> None:
        """Stops the query, which goes on when something else has failed, and waits until Spark has reported it all."""
        with suppress(Py4JError, OSError):  # the JVM may be what has failed
            query.stop()
            self._services.listener.await_end(str(query.runId), _LISTENER_SECONDS)

    def _has_run_again(self, writer: StreamWriter | None) -> bool:
        """Whether this start was for a batch that the target holds, and the checkpoint knows now that it is done."""
        return isinstance(writer, RecomputeBatch) and Storage(self._checkpoint).exists(f"commits/{writer.batch}")

    def _state_partitions(self) -> int | None:
        """How many partitions the flow's state has, if there is any; says so where the settings say something else."""
        partitions = state_partitions(Storage(self._checkpoint))
        wanted = self._services.spark.conf.get(SHUFFLE_PARTITIONS)
        if partitions is not None and str(partitions) != wanted:
            reason = f"its state has {partitions} partitions and keeps them; {SHUFFLE_PARTITIONS} is {wanted}"
            self._services.reporter.flow(self._flow, FlowStatus.STARTING, reason=reason)
        return partitions

    def _check_sources(self, built: FlowQuery, newest_events: Callable[[], Sequence[Event]]) -> None:
        """Looks at what the checkpoint says was not read yet; a loss that a person has accepted is left behind."""
        flow = (self._flow.declaration.target, self._flow.declaration.name)
        accepted = self._services.accepted.get(flow)
        if accepted is not None:
            go_on_elsewhere(self._checkpoint, accepted.facts)
        if accepted is None or accepted.condition != FILES:
            match self._stage:
                case RunStreamingFlow(path=path) if built.checking is None:
                    table: str | None = path
                case _:
                    table = None
            check_planned_files(
                self._checkpoint,
                dataset=str(self._stage.dataset),
                flow=self._flow.declaration.name,
                table=table,
                corrected=lambda: needs_data_correction(newest_events(), flow),
                overwritable=built.overwritable_sources,
            )

    def _follows(self) -> bool:
        """Whether the query shall wait for rows that other flows are still writing."""
        return self._services.trigger.stops and not all(table.ended.is_set() for table in self._upstream)

    def _await_end(
        self, query: StreamingQuery, built: FlowQuery, recovery: WatermarkRecovery | None, *, follows: bool
    ) -> None:
        # Such a query runs batches without end: it is over after one that began when everything had been read.
        ends = self._services.trigger_of(self._flow).stops
        until_idle = ends and bool(self._flow.stateful) and uses_processing_time_timers(built.frame)
        pause = _DRAIN_POLL_SECONDS if follows or until_idle else _POLL_SECONDS
        while not query.awaitTermination(pause):  # type: ignore[arg-type]  # PySpark takes fractions
            if self._services.stop.is_set():
                self._stop_after_batch(query)
                raise Stopped
            self._late.keep()
            self._files.between_batches(built, self._batches)
            if not until_idle and recovery is not None and recovery.waits(query):
                query.stop()
                return
            if follows and all(table.ended.is_set() for table in self._upstream):
                if not until_idle:
                    query.processAllAvailable()
                    query.stop()
                    return
                follows, self._idle_batches = False, 0
            if until_idle and not follows and self._idle_batches >= _IDLE_BATCHES:
                query.stop()
                return

    def _stop_after_batch(self, query: StreamingQuery) -> None:
        """Lets the current batch commit.

        A batch of real-time mode is minutes long: its rows are written already, and written again later.
        """
        if self._services.trigger_of(self._flow).kind is TriggerKind.REAL_TIME:
            query.stop()
            return
        self._deadline = deadline_of_batch(self._services.stop_timeout)
        stop_after_batch(query, abandon=self._services.abandon, deadline=self._deadline)

    def _on_progress(
        self,
        built: FlowQuery,
        measured: MeasuredLateness | None,
        accounts: StreamAccounts,
        progress: dict[str, Any],
    ) -> None:
        self._services.board.table(self._stage.dataset).committed()
        self._batches += 1
        self._late.notice(progress)
        self._idle_batches = self._idle_batches + 1 if _read_nothing(progress) else 0
        self._remember_transactions(built)
        if built.checking is not None:
            counters = built.checking.take_counters(int(progress["batchId"]))
            progress["observedMetrics"] = {**(progress.get("observedMetrics") or {}), **counters}
        batch = batch_progress(progress, built.counted, self._state)
        self._state = batch.state_operators
        batch = with_merged(batch, built.checking, batch.batch_id)
        if measured is not None:
            batch = replace(batch, lateness=measured.of(progress))
        checkpointed = self._checkpointed(str(progress["id"]), batch.batch_id)
        self._services.reporter.batch(self._flow, batch, checkpointed)
        self._watermark.notice(batch, checkpointed)
        missing = missing_files(self._services.spark, self._checkpoint, progress)
        report_accounts(accounts.draw_up(progress, missing.gone), self._flow, self._services)
        for uri in missing.left_out:
            warn_of_skipped(uri, "it was gone and its source has ignoreMissingFiles", self._flow, self._services)

    def _checkpointed(self, query_id: str, batch: int) -> CheckpointedBatch | None:
        """What the checkpoint says about a batch, from which `penstock checkpoint rebuild` makes a lost one again."""
        try:
            planned = parse_planned_batch(Storage(self._checkpoint).read_bytes(f"offsets/{batch}"))
        except (FileNotFoundError, DamagedFile, UnknownVersion, PenstockError):
            return None  # the batch is done all the same
        return CheckpointedBatch(query_id, planned.offsets, planned.settings if self._batches == 1 else {})

    def _remember_transactions(self, built: FlowQuery) -> None:
        if isinstance(self._stage, RunStreamingFlow):
            remember_transactions(self._services.spark, self._stage.path)
            if built.checking is not None and has_quarantine(built.checking.table):
                remember_transactions(self._services.spark, quarantine_path(self._stage.path))

    def _evolves(self, built: FlowQuery, error: BaseException) -> bool:
        """Whether the failure only says that the input has new columns, which the next start reads."""
        if is_upstream_schema_change(error):
            self._say("a table that it reads has new columns")
            return True
        for source in built.auto_loader_sources:
            evolution = source.evolve(self._services.spark, error, checkpoint_location=self._checkpoint)
            if evolution is not None:
                self._say(evolution.message)
                return True
        return False

    def _translated(self, error: BaseException) -> PenstockError:
        dataset, flow = str(self._stage.dataset), self._flow.declaration.name
        known = (
            describe_failure(error, dataset=dataset)
            or source_loss(error, dataset=dataset, flow=flow, checkpoint=self._checkpoint)
            or translate_failure(error, dataset=dataset, flow=flow)
        )
        if known.condition != "FLOW_FAILED":
            return with_place(known, self._flow, self._services)
        return damaged_checkpoint(self._checkpoint, dataset=dataset, flow=flow) or known

    def _say(self, reason: str) -> None:
        self._services.reporter.flow(
            self._flow, FlowStatus.STARTING, reason=f"starts again: {reason}", level=Level.WARN
        )


def _read_nothing(progress: dict[str, Any]) -> bool:
    return all(source["startOffset"] == source["endOffset"] for source in progress["sources"])
