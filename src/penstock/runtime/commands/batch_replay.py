"""One batch of a streaming flow again, into a table of its own, and how that compares with what it wrote.

It is an update of one flow in a scratch folder: the plan makes the tables there, and the flow's own writer fills them,
from a copy of the checkpoint as it was before the batch. The pipeline's tables and checkpoints are only read, so a run
may be at work on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.config import PipelineConfig
from penstock.errors import PenstockError, StateError
from penstock.graph.elements import has_uniqueness
from penstock.graph.flows.flow_type import FlowType
from penstock.graph.identifier import DefaultSchema, Identifier
from penstock.graph.protection import stored_protection
from penstock.graph.resolved import ResolvedFlow, ResolvedGraph
from penstock.plan.planner import plan_update
from penstock.plan.selection import RefreshSelection
from penstock.plan.stages import CreateTable, RunStreamingFlow, UpdatePlan
from penstock.plan.state import RecordedBatch, StateSnapshot
from penstock.runtime.flows.services import FlowQueries, FlowQuery
from penstock.runtime.flows.targets import stream_writer
from penstock.runtime.project.watched_workspace import watched_workspace
from penstock.runtime.project.workspace import Progress, Workspace
from penstock.runtime.set_up import set_up_tables
from penstock.runtime.storage_state.catalog import StoredCatalog
from penstock.spark.delta.tables import changes_between, clone_table
from penstock.spark.failures.source_loss import LOSSES, lost_planned_files, source_loss
from penstock.spark.failures.translate import translate_failure
from penstock.spark.plans.row_difference import RowDifference, compare_rows
from penstock.spark.sources.auto_loader import describe_failure
from penstock.spark.sources.spark_sources import only_reading
from penstock.spark.streams.writes import start_batch_in_flight
from penstock.spark.writers.checking_writer import CheckingWriter
from penstock.storage import Storage
from penstock.storage.checkpoint.one_batch import copy_before
from penstock.storage.checkpoint.state import state_partitions
from penstock.storage.delta.table import table_properties
from penstock.storage.scratch import scratch_folder


@dataclass(frozen=True, slots=True)
class ReplayedBatch:
    """How a replay compares: left is the replay, right the table.

    `kept` is where the rows of the replay lie, None when they are gone. With `hides_rows` the table has a row filter
    or masks, and the rows of the difference are left out.
    """

    difference: RowDifference
    kept: str | None
    hides_rows: bool


def replay_batch(
    config: PipelineConfig,
    batch: RecordedBatch,
    *,
    progress: Progress,
    limit: int = 20,
    keep: bool = False,
    data: Path | None = None,
    spark: SparkSession | None = None,
) -> ReplayedBatch:
    """Runs a recorded batch again with the pipeline's code as it is now, and compares.

    It reads what it read then, and with a state begins with what it found then; other tables of the storage that it
    reads are as they are now. Takes no lock: a run may be at work.

    Args:
        config: the pipeline, its storage the one that holds the batch.
        batch: as `plan_replay` returns it.
        limit: how many rows of the difference are returned.
        keep: whether the table with the replayed rows stays.
        data: the folder into which relative paths in the code lead; the pipeline's own by default.
        progress: called with a line before each slow step.
        spark: a session to run on; without one Spark is started.

    Raises:
        PipelineInvalid, ConfigError, ExternalError: the pipeline does not load, or Spark does not start.
        StateError: REPLAY_NOT_POSSIBLE, REPLAY_SOURCE_LOST.
        PenstockError: the batch fails; with the same code it might have then.
    """
    with watched_workspace(config, progress, spark=spark, data=data) as workspace:
        graph = workspace.resolve(progress)
        return replay_in(workspace, graph, batch, progress=progress, limit=limit, keep=keep)


def replay_in(
    workspace: Workspace,
    graph: ResolvedGraph,
    batch: RecordedBatch,
    *,
    progress: Progress,
    limit: int = 0,
    keep: bool = False,
    look: Callable[[str], None] = lambda _: None,
) -> ReplayedBatch:
    """As `replay_batch`, of a pipeline whose queries are analysed already.

    `look` is called with the checkpoint of the replay, in which the batch is finished, and which goes afterwards.

    Raises:
        StateError, PenstockError: as `replay_batch`; whatever `look` raises.
    """
    flow = _flow(graph, batch)
    name = f"{batch.dataset.name}-batch-{batch.number}"
    with scratch_folder(Storage(workspace.config.storage), name, keep=keep) as folder:
        replay = _Replay(workspace, graph, flow, batch, f"{folder}/table", f"{folder}/checkpoint/0")
        progress(f"Copying the checkpoint of {batch.label} as it was before batch {batch.number}")
        replay.copy_checkpoint()
        progress(f"Running batch {batch.number} again")
        replay.run()
        progress("Comparing the rows")
        hides = stored_protection(table_properties(batch.path)) is not None
        difference = replay.compare(0 if hides else limit)
        look(replay.checkpoint)
    return ReplayedBatch(difference, f"{folder}/table" if keep else None, hides)


def _flow(graph: ResolvedGraph, batch: RecordedBatch) -> ResolvedFlow:
    for flow in graph.flows_to(batch.dataset):
        if flow.declaration.name.casefold() == batch.flow.casefold() and flow.stream is not None:
            if flow.type in {FlowType.APPEND, FlowType.COMPLETE, FlowType.UPDATE}:
                return flow
            raise _impossible(batch, f"the pipeline declares it as '{flow.type.value}' now")
    raise _impossible(batch, "the pipeline does not declare this streaming flow (now)")


@dataclass(frozen=True, slots=True)
class _Replay:
    """`table` and `checkpoint` are of the scratch folder."""

    workspace: Workspace
    graph: ResolvedGraph
    flow: ResolvedFlow
    batch: RecordedBatch
    table: str
    checkpoint: str

    def copy_checkpoint(self) -> None:
        try:
            copy_before(self.batch.folder, self.batch.number, Storage(self.workspace.config.storage), self.checkpoint)
        except FileNotFoundError as error:
            raise _impossible(self.batch, "the flow runs, and has just deleted what belongs to this batch") from error
        if lost := lost_planned_files(self.checkpoint):
            raise _lost(self.batch, str(lost))

    def run(self) -> None:
        built: FlowQuery | None = None
        try:
            stage = self._set_up()
            queries = self._queries()
            built = self._beside(queries.query(self.flow, checkpoint=self.checkpoint))
            with queries.configured(self.flow):
                query = start_batch_in_flight(
                    built.frame,
                    stream_writer(stage, queries, built),
                    query_name=f"replay of {self.batch.label}",
                    checkpoint=self.checkpoint,
                    partitions=state_partitions(Storage(self.checkpoint)),
                )
            query.awaitTermination()
        except PenstockError:
            raise
        except Exception as error:
            raise self._translated(_cause(error, built)) from error

    def compare(self, limit: int) -> RowDifference:
        """The rows that were replaced count for the other side: what one has taken out, the other one still has."""
        spark, batch = self.workspace.spark, self.batch
        ours = changes_between(spark, self.table, 0)
        theirs = changes_between(spark, batch.path, batch.before, batch.version or batch.before)
        left, right = ours.added, theirs.added
        if self._looks_back:
            left = left.unionByName(theirs.removed, allowMissingColumns=True)
            right = right.unionByName(ours.removed, allowMissingColumns=True)
        return compare_rows(left, right, limit=limit)

    @property
    def _looks_back(self) -> bool:
        """Whether what the batch writes depends on the rows that its table has already."""
        return self.flow.type is FlowType.UPDATE or has_uniqueness(self.graph.tables[self.batch.dataset])

    def _set_up(self) -> RunStreamingFlow:
        """Makes the table, and its quarantine; the former with the rows that the batch found, if they matter."""
        state = StateSnapshot(paths=self._paths, pipeline=self.workspace.config.name)
        chosen = RefreshSelection((str(self.batch.dataset),)).resolve(
            self.graph, default_schema=DefaultSchema(self.workspace.config.schema, self.graph.catalog)
        )
        plan = plan_update(self.graph, state, chosen, overlap=False)
        made: Iterable[CreateTable] = plan.of_type(CreateTable)
        if self._looks_back:
            clone_table(self.workspace.spark, self.batch.path, self.batch.before, self.table)
            made = (stage for stage in made if stage.path != self.table)
        set_up_tables(UpdatePlan(self.graph, tuple(made)), self.workspace.spark)
        return next(stage for stage in plan.of_type(RunStreamingFlow) if stage.flow == self.flow)

    @property
    def _paths(self) -> dict[Identifier, str]:
        return {**self.workspace.paths(self.graph), self.batch.dataset: self.table}

    def _queries(self) -> FlowQueries:
        workspace, names = self.workspace, DefaultSchema(self.workspace.config.schema, self.graph.catalog)
        catalog = StoredCatalog(self.graph, workspace.paths(self.graph), workspace.layout, names)
        return replace(
            FlowQueries.for_command(workspace, self.graph, catalog, self._paths), source_options=only_reading
        )

    def _beside(self, built: FlowQuery) -> FlowQuery:
        """What a writer notes beside the flow's checkpoints belongs into the scratch folder too."""
        if built.checking is None:
            return built
        return replace(built, checking=replace(built.checking, checkpoints=self.checkpoint.rpartition("/")[0]))

    def _translated(self, error: BaseException) -> PenstockError:
        dataset, flow = str(self.batch.dataset), self.batch.flow
        loss = source_loss(error, dataset=dataset, flow=flow, checkpoint=self.checkpoint)
        if loss is not None and loss.condition in LOSSES:
            return _lost(self.batch, loss.facts["lost"])
        return describe_failure(error, dataset=dataset) or translate_failure(error, dataset=dataset, flow=flow)


def _cause(error: BaseException, built: FlowQuery | None) -> BaseException:
    """Spark keeps only the text of what failed in a writer of Python."""
    checking: CheckingWriter | None = None if built is None else built.checking
    failure = None if checking is None else checking.failure
    return error if failure is None else failure.cause


def _lost(batch: RecordedBatch, lost: str) -> StateError:
    return _refusal(batch, "REPLAY_SOURCE_LOST", lost=lost)


def _impossible(batch: RecordedBatch, reason: str) -> StateError:
    return _refusal(batch, "REPLAY_NOT_POSSIBLE", reason=reason)


def _refusal(batch: RecordedBatch, condition: str, **facts: object) -> StateError:
    dataset = str(batch.dataset)
    placeholders: dict[str, object] = {"flow": batch.label, "name": dataset, "batch": batch.number, **facts}
    return StateError(condition, dataset=dataset, **placeholders)  # type: ignore[arg-type]
