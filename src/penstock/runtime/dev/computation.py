"""What the query of a dataset gives for samples of what it reads, computed as one batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import DataFrame

from penstock.declare.user_frames import failure_location
from penstock.errors import DefinitionError
from penstock.graph.elements import ChangeFlow, Dataset, Expectation, SnapshotChangeFlow, Table, UnresolvedFlow
from penstock.graph.identifier import DefaultSchema, Identifier
from penstock.graph.resolved import ResolvedGraph
from penstock.graph.schema.table_schema import Schema
from penstock.runtime.dev.pipeline_state import PipelineState
from penstock.runtime.dev.results import SampleResult
from penstock.runtime.dev.sample_catalog import SampleCatalog
from penstock.runtime.dev.samples import Samples
from penstock.runtime.project.workspace import Workspace
from penstock.spark.delta.conform import conform
from penstock.spark.evaluation import Evaluation
from penstock.spark.expectations.sampled import JudgedSample, judge_sample
from penstock.spark.failures.translate import translate_analysis, translate_failure
from penstock.spark.plans.inspection import streaming_only_operators
from penstock.spark.session.query_settings import query_settings, spark_settings
from penstock.spark.sql.collecting import collect_rows
from penstock.spark.writers.changes.resolve import judged_expectations, resolve_changes

_CHANGES = "changes are shown as they arrive, not applied by key"
_SNAPSHOTS = "snapshots that a function returns are not computed"


@dataclass(frozen=True, slots=True)
class Computation:
    """Computes results. `check` raises unless the user may read a table of the storage."""

    workspace: Workspace
    samples: Samples
    check: Callable[[Identifier], None]

    def result(self, state: PipelineState, identifier: Identifier) -> SampleResult:
        """Computes a dataset of `state`, which has the results of all that it reads.

        Raises:
            PenstockError: what is wrong with the query, or with the rows that it meets.
        """
        graph, workspace, taken = state.graph, self.workspace, set[int]()
        dataset = graph.dataset(identifier)
        catalog = SampleCatalog(
            graph,
            workspace.paths(graph),
            workspace.shared,
            DefaultSchema(workspace.config.schema, graph.catalog),
            state.results,
            state.edited,
            lambda frame: self.samples.take(frame, taken),
            self.check,
        )
        frames, notes, rules = list[DataFrame](), list[str](), dataset.expectations
        flows = _flows(graph, identifier)
        with query_settings(workspace.spark, spark_settings(dataset.spark_conf)):
            for flow in flows:
                if isinstance(flow, SnapshotChangeFlow) and flow.next_snapshot is not None:
                    notes.append(_SNAPSHOTS)
                    continue
                frame = self._query(graph, flow, dataset, catalog)
                if isinstance(flow, ChangeFlow):
                    notes.append(_CHANGES)
                if isinstance(flow, ChangeFlow | SnapshotChangeFlow):
                    rules = judged_expectations(flow, frame, dataset.expectations)
                frames.append(frame)
            judged = self._judge(graph, dataset, flows, frames, rules)
        private = catalog.is_private() or any(
            isinstance(each, Table) and bool(each.row_filter or each.masks) for each in _with_upstream(graph, dataset)
        )
        return SampleResult(
            identifier,
            dataset.dataset_type,
            Schema(judged.frame.schema.json()),
            judged.rows,
            judged.frame,
            judged.counts,
            judged.whole,
            frozenset(catalog.stored_reads),
            frozenset(taken),
            private,
            tuple(dict.fromkeys(notes)),
        )

    def _query(self, graph: ResolvedGraph, flow: UnresolvedFlow, dataset: Dataset, catalog: SampleCatalog) -> DataFrame:
        workspace, name = self.workspace, str(dataset.identifier)
        settings = replace(workspace.settings(persist=False), batch=True, sample=catalog.sample)
        evaluation = Evaluation(
            workspace.spark,
            catalog,
            settings,
            lambda source: workspace.layout.schemas(flow.target, flow.name, source),
            name,
        )
        try:
            frame = evaluation.call(flow.function)
            if operators := streaming_only_operators(frame):
                reason = f"what {', '.join(dict.fromkeys(operators))} returns depends on the batches of a stream"
                raise DefinitionError("BATCH_NOT_POSSIBLE", reason=reason, way_out="Test it with 'penstock test'")  # noqa: TRY301
            if isinstance(flow, ChangeFlow):
                resolve_changes(flow, frame)
        except Exception as error:
            place = failure_location(error.__traceback__, settings.directory) or flow.location
            known = tuple(map(str, graph.order))
            raise translate_analysis(error, known=known, location=place, dataset=name) from error
        return frame

    def _judge(
        self,
        graph: ResolvedGraph,
        dataset: Dataset,
        flows: tuple[UnresolvedFlow, ...],
        frames: list[DataFrame],
        rules: tuple[Expectation, ...],
    ) -> JudgedSample:
        identifier = dataset.identifier
        try:
            if not frames:
                frames = [self.workspace.spark.createDataFrame([], "unknown STRING")]
            frame = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)
            declares = isinstance(dataset, Table) and dataset.schema is not None
            if declares and not any(isinstance(flow, ChangeFlow | SnapshotChangeFlow) for flow in flows):
                frame = conform(frame, graph.stored_schemas[identifier])
            return judge_sample(frame, rules, dataset=identifier, limit=self.samples.rows, collect=collect_rows)
        except Exception as error:
            known = translate_failure(error, dataset=str(identifier), flow=flows[0].name)
            known.location = known.location or flows[0].location
            raise known from error


def _flows(graph: ResolvedGraph, identifier: Identifier) -> tuple[UnresolvedFlow, ...]:
    if identifier in graph.views:
        view = graph.views[identifier].view
        return (
            UnresolvedFlow(name=identifier.name, target=identifier, function=view.function, location=view.location),
        )
    return tuple(flow.declaration for flow in graph.flows_to(identifier))


def _with_upstream(graph: ResolvedGraph, dataset: Dataset) -> Iterator[Dataset]:
    seen, waiting = set[Identifier](), [dataset.identifier]
    while waiting:
        identifier = waiting.pop()
        if identifier not in seen:
            seen.add(identifier)
            yield graph.dataset(identifier)
            waiting += graph.upstream(identifier)
