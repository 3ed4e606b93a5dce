"""What all flows of one update share, and how a flow's query is built."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from penstock.config import RetrySettings, Trigger, TriggerKind, trigger_kind
from penstock.errors import PenstockError
from penstock.graph.companions.lateness_counting import LatenessCounting
from penstock.graph.companions.quarantining import has_quarantine
from penstock.graph.elements import ChangeFlow, FlowFunction, OutputMode, SnapshotChangeFlow, Table, has_uniqueness
from penstock.graph.flows.flow_type import FlowType
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import ROWS_AS_QUERIED, ResolvedFlow, ResolvedGraph
from penstock.graph.schema.declared_columns import undeclared_column, undeclared_columns
from penstock.graph.schema.table_schema import Schema
from penstock.runtime.flows.accepted_loss import ReportedLoss
from penstock.runtime.flows.board import UpdateBoard
from penstock.runtime.flows.retry import run_with_retries
from penstock.runtime.project.workspace import Workspace
from penstock.runtime.reporting.reporter import Reporter
from penstock.spark.accelerators.own_classes import SHARED_TABLE_FOLDER
from penstock.spark.delta.conform import conform
from penstock.spark.evaluation import DatasetCatalog, Evaluation, EvaluationSettings
from penstock.spark.expectations.observed import ObservedExpectations, count_output, with_judgements
from penstock.spark.expectations.quarantine import with_source
from penstock.spark.failures.source_loss import reading_without, settings_without
from penstock.spark.plans.inspection import append_distinct, observe_runs_twice
from penstock.spark.session.query_settings import query_settings, spark_settings
from penstock.spark.sources.auto_loader import AutoLoaderSource
from penstock.spark.streams.listener import ProgressListener
from penstock.spark.writers.changes.resolve import judged_expectations
from penstock.spark.writers.checking_writer import CheckingWriter
from penstock.storage import StorageLayout, local_path

_INTERVAL = "pipelines.trigger.interval"
_MODE = "pipelines.trigger"
# Otherwise Spark passes over the hint behind which rows are counted once.
_REBALANCES = {"spark.sql.adaptive.enabled": "true"}
_OUTPUT_MODES = {FlowType.COMPLETE: OutputMode.COMPLETE, FlowType.UPDATE: OutputMode.UPDATE}


@dataclass(frozen=True, slots=True)
class FlowQuery:
    """A flow's query, ready to be written: expectations applied, counters in place.

    With `checking`, the target's expectations are not applied yet, but by this writer; its counters come
    in addition to those of `observed`.
    """

    frame: DataFrame
    observed: tuple[ObservedExpectations, ...]
    auto_loader_sources: tuple[AutoLoaderSource, ...]
    checking: CheckingWriter | None = None

    @property
    def counted(self) -> tuple[ObservedExpectations, ...]:
        """How to read all counters of a batch, the target's own last."""
        return self.observed if self.checking is None else (*self.observed, self.checking.observed)

    @property
    def overwritable_sources(self) -> frozenset[str]:
        """The names of the sources that read a file again when it was modified."""
        return frozenset(each.source_name for each in self.auto_loader_sources if each.options.allow_overwrites)


def _appending(flow: ResolvedFlow, frame: DataFrame) -> DataFrame:
    """Returns the query as it was analysed: see `append_distinct`."""
    return append_distinct(frame) if flow.type is FlowType.APPEND else frame


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowQueries:
    """What it takes to build the query of a flow.

    `pipeline` is its name. `accepted` gives, by target and name of a flow, the data loss with which it shall go on.
    `source_options` gives what the streaming sources of a format are read with beside the author's options and what
    such a loss asks for. `evaluation` guards the session's settings while a dataset function runs and its query starts.
    """

    pipeline: str
    spark: SparkSession
    graph: ResolvedGraph
    paths: Mapping[Identifier, str]
    catalog: DatasetCatalog
    settings: EvaluationSettings
    layout: StorageLayout
    accepted: Mapping[tuple[Identifier, str], ReportedLoss] = field(default_factory=dict)
    source_options: Callable[[str], Mapping[str, str]] = lambda _format: {}
    evaluation: threading.RLock = field(default_factory=threading.RLock)

    @classmethod
    def for_command(
        cls, workspace: Workspace, graph: ResolvedGraph, catalog: DatasetCatalog, paths: Mapping[Identifier, str]
    ) -> FlowQueries:
        """Returns the queries of `graph` for a command, which writes nothing but their results."""
        return cls(
            pipeline=workspace.config.name,
            spark=workspace.spark,
            graph=graph,
            paths=paths,
            catalog=catalog,
            settings=workspace.settings(persist=False),
            layout=workspace.layout,
        )

    def query(
        self, flow: ResolvedFlow, function: FlowFunction | None = None, *, checkpoint: str | None = None
    ) -> FlowQuery:
        """Calls the flow's function, or the `function` given instead, against the stored tables.

        Called for each start of the flow, so a restart sees new columns of its sources. `checkpoint` is a stream's.

        Raises:
            DefinitionError: COLUMN_NOT_IN_DECLARED_SCHEMA.
            PenstockError: what `check_access` says of a Kafka cluster, and `check_streams` of Kinesis.
            Exception: what the user's function or Spark raises.
        """
        target, function = flow.declaration.target, function or flow.declaration.function
        checking: CheckingWriter | None = None
        with self.configured(flow):
            evaluation = self._evaluation_of(flow, checkpoint)
            frame = _appending(flow, evaluation.call(function))
            if observe_runs_twice(frame):
                evaluation = self._evaluation_of(flow, checkpoint, count_once=True)
                with query_settings(self.spark, _REBALANCES):
                    frame = _appending(flow, evaluation.call(function))
            table = self.graph.tables.get(target)
            if table is not None and isinstance(flow.declaration, (ChangeFlow, SnapshotChangeFlow)):
                table = replace(table, expectations=judged_expectations(flow.declaration, frame, table.expectations))
            declared = self._declared(flow, table)
            if declared is not None:  # analysis has checked it, but a source can have new columns since
                for column in undeclared_columns(Schema(frame.schema.json()), declared):
                    raise undeclared_column(column, flow.declaration, declared)
            if table is not None and (flow.keys is not None or self._needs_checking(flow, table)):
                frame = with_judgements(with_source(frame), table.expectations)
                checking = self._checking_writer(flow, table, declared)
            else:
                if table is not None and table.expectations:
                    frame = evaluation.expect(table, frame)
                else:
                    frame, counted = count_output(frame, target)
                    evaluation.observed.append(counted)
                frame = frame if declared is None else conform(frame, declared)
        for check in evaluation.checks:
            try:
                check()
            except PenstockError as error:
                error.location = error.location or flow.declaration.location
                raise
        sources = tuple(evaluation.auto_loader_sources)
        return FlowQuery(frame, tuple(evaluation.observed), sources, checking)

    def _declared(self, flow: ResolvedFlow, table: Table | None) -> Schema | None:
        """The columns into which the flow's rows have to be brought, None for those of the query."""
        if table is None or table.schema is None or flow.type not in ROWS_AS_QUERIED:
            return None
        return self.graph.stored_schemas[table.identifier]

    def _needs_checking(self, flow: ResolvedFlow, table: Table) -> bool:
        """Whether rows are judged before one is written.

        Generated columns are among the reasons because Delta's streaming sink rewrites the query for them, and
        the counters of its batches are lost.
        """
        if has_quarantine(table) or has_uniqueness(table):
            return True
        stored = self.graph.stored_schemas[table.identifier]
        return flow.type in ROWS_AS_QUERIED and any(column.generated is not None for column in stored.columns)

    def _checking_writer(self, flow: ResolvedFlow, table: Table, declared: Schema | None) -> CheckingWriter:
        target, name = flow.declaration.target, flow.declaration.name
        checkpoints = self.layout.checkpoints(target, name)
        mode = _OUTPUT_MODES.get(flow.type, OutputMode.APPEND)
        return CheckingWriter(table, name, self.paths[target], checkpoints, declared, mode)

    def rows(self, flow: ResolvedFlow) -> DataFrame:
        """Calls the flow's function against the stored tables; nothing is judged or counted."""
        with self.configured(flow):
            return self._evaluation_of(flow, None).call(flow.declaration.function)

    def ask(self, flow: ResolvedFlow, function: FlowFunction) -> DataFrame:
        """Calls a function of the user that finds out what there is to read: it may run jobs for that."""
        with self.configured(flow):
            return replace(self._evaluation_of(flow, None), dataset=None).call(function)

    def _evaluation_of(self, flow: ResolvedFlow, checkpoint: str | None, *, count_once: bool = False) -> Evaluation:
        target = flow.declaration.target
        return Evaluation(
            self.spark,
            self.catalog,
            self.settings,
            lambda source: self.layout.schemas(target, flow.declaration.name, source),
            str(target),
            count_once,
            checkpoint,
            lambda kind: {**reading_without(self.accepted_by(flow), kind), **self.source_options(kind)},
        )

    def accepted_by(self, flow: ResolvedFlow) -> str | None:
        """Returns the condition of the data loss with which the flow shall go on in this update."""
        loss = self.accepted.get((flow.declaration.target, flow.declaration.name))
        return None if loss is None else loss.condition

    @contextmanager
    def configured(self, flow: ResolvedFlow) -> Iterator[None]:
        """Sets the flow's `spark_conf` on the session; a query keeps what was set when it started."""
        with self.evaluation, query_settings(self.spark, self.spark_conf(flow)):
            yield

    def describe_jobs(self, flow: ResolvedFlow) -> None:
        """Has the jobs that this thread starts share the cores fairly with other flows, and say where they write.

        On a cluster, an executor that does not see the folder of a table on a disk runs none of them.
        """
        target, context = flow.declaration.target, self.spark.sparkContext
        context.setLocalProperty("spark.scheduler.pool", f"{self.pipeline}/{target}/{flow.declaration.name}")
        place = local_path(self.paths.get(target, self.layout.uri))
        if "://" not in place and not Path(place).is_relative_to(local_path(self.layout.uri)):
            context.setLocalProperty(SHARED_TABLE_FOLDER, Path(place).absolute().as_uri())

    def spark_conf(self, flow: ResolvedFlow) -> dict[str, str]:
        """Returns the Spark settings of the flow and its table; `pipelines.*` are Penstock's, not Spark's."""
        return {**spark_settings(self.graph.flow_settings(flow)), **settings_without(self.accepted_by(flow))}


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowServices(FlowQueries):
    """What all flows of one update share.

    `stop` is set when the update shall end after the current batches, `abandon` when it shall not wait for
    them: another run has taken the storage over, or this one was interrupted. `trigger` is the pipeline's. `check`
    is called several times a second while flows run, and raises what is to end the update. `stop_timeout` is how
    many seconds the update may take to end once `stop` is set. `executors_lost` counts them since the session started.
    """

    listener: ProgressListener
    reporter: Reporter
    board: UpdateBoard
    retries: RetrySettings
    trigger: Trigger
    stop: threading.Event
    abandon: threading.Event
    check: Callable[[], None]
    stop_timeout: float
    executors_lost: Callable[[], int] = lambda: 0

    def with_retries(
        self, flow: ResolvedFlow, attempt: Callable[[], None], *, committed: Callable[[], int] = int
    ) -> None:
        """Calls `attempt`, one run of the flow, until it returns or fails for good; `committed` counts its batches.

        Raises:
            PenstockError: it failed for good.
            Stopped: the update was asked to stop while the flow waited.
        """
        run_with_retries(
            attempt,
            settings=self.retries,
            continuous=not self.trigger.stops,
            stop=self.stop,
            on_retry=partial(self.reporter.retry, flow),
            committed=committed,
        )

    def trigger_of(self, flow: ResolvedFlow) -> Trigger:
        """Returns the flow's trigger: in a run that keeps running its own mode and interval, else the pipeline's."""
        if self.trigger.stops:
            return self.trigger
        table = self.graph.tables.get(flow.declaration.target)
        properties = table.table_properties if table is not None else {}
        settings = self.graph.flow_settings(flow)
        interval = settings.get(_INTERVAL) or properties.get(_INTERVAL)
        kind = trigger_kind(settings.get(_MODE, self.trigger.kind.value))
        assert kind is not None, "analysis refuses unknown ones"
        if interval is None or kind is TriggerKind.AVAILABLE_NOW:
            return self.trigger if kind is self.trigger.kind else Trigger(kind)
        return Trigger(kind, interval)

    def counts_lateness(self, flow: ResolvedFlow) -> LatenessCounting:
        """Returns in which batches a flow counts how late its rows come."""
        return LatenessCounting.of(self.graph.flow_settings(flow))

    def drops_late_rows(self, flow: ResolvedFlow) -> bool:
        """Whether a moved watermark changes what the flow's query keeps and writes, batch by batch.

        Complete output keeps everything, and real-time mode does not report batches.
        """
        if flow.stream is None or not (flow.stream.operators and flow.stream.watermarks):
            return False
        return flow.type is not FlowType.COMPLETE and self.trigger_of(flow).kind is not TriggerKind.REAL_TIME
