"""A warm session on a project: what was edited is analysed again, and computed on samples; no table is written."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import reduce

from pyspark.sql import DataFrame

from penstock.analysis import Resolver
from penstock.config import PipelineConfig
from penstock.declare.code.function_key import function_key
from penstock.declare.user_frames import failure_location
from penstock.errors import DefinitionError, PenstockError, SeveralErrors
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import (
    ChangeFlow,
    Dataset,
    Expectation,
    SnapshotChangeFlow,
    Table,
    TemporaryView,
    UnresolvedFlow,
)
from penstock.graph.identifier import DefaultSchema, Identifier
from penstock.graph.resolved import ResolvedGraph
from penstock.graph.schema.table_schema import Schema
from penstock.runtime.dev.results import (
    DatasetOutcome,
    EditOutcome,
    SampleResult,
    compare_results,
)
from penstock.runtime.dev.sample_catalog import SampleCatalog
from penstock.runtime.project.workspace import Progress, Workspace
from penstock.spark.delta.conform import conform
from penstock.spark.evaluation import Evaluation
from penstock.spark.expectations.sampled import JudgedSample, judge_sample
from penstock.spark.failures.translate import translate_analysis, translate_failure
from penstock.spark.plans.inspection import streaming_only_operators
from penstock.spark.session.query_settings import query_settings, spark_settings
from penstock.spark.sql.collecting import collect_rows
from penstock.spark.writers.changes.resolve import judged_expectations, resolve_changes
from penstock.storage import StorageLayout

_CHANGES = "changes are shown as they arrive, not applied by key"
_SNAPSHOTS = "snapshots that a function returns are not computed"


@dataclass(frozen=True, slots=True)
class _State:
    """A valid pipeline: its analysis, what each dataset was declared as, and its results."""

    resolver: Resolver
    graph: ResolvedGraph
    keys: dict[Identifier, str | None]
    results: dict[Identifier, SampleResult]
    failed: frozenset[Identifier] = frozenset()


@dataclass(slots=True)
class DevSession:
    """Computes what an edit has changed.

    `load` reads the pipeline file; `workspace` holds the Spark session. `check` is called with the tables of the
    pipeline before a row is read, and raises unless the user may see them. `rows` is the most that a sample has.
    """

    workspace: Workspace
    load: Callable[[], PipelineConfig]
    check: Callable[[Iterable[Identifier]], None] = lambda _: None
    rows: int = 1000
    _state: _State | None = None
    _edited: set[Identifier] = field(default_factory=set)
    _cached: list[DataFrame] = field(default_factory=list)

    def refresh(self, progress: Progress) -> EditOutcome:
        """Loads the project anew, validates it, and computes the datasets whose definition has changed.

        After an error the next call compares with the last valid pipeline.

        Raises:
            StateError: what `check` refuses.
            ExternalError: JVM_DIED.
        """
        started = time.monotonic()
        try:
            before, state = self._state, self._analyse(progress)
        except PenstockError as error:
            if error.condition == "JVM_DIED":
                raise
            errors = error.errors if isinstance(error, SeveralErrors) else (error,)
            return EditOutcome(errors=tuple(errors), seconds=time.monotonic() - started)
        validated = time.monotonic() - started
        self.check(state.graph.tables)
        unchanged = set() if before is None else _unchanged(before, state.keys, state.graph.upstream)
        changed = [each for each in state.graph.order if each not in unchanged or each in (before or state).failed]
        if before is not None:
            self._edited.update(changed)
        outcomes = tuple(self._outcomes(before, state, changed))
        failed = frozenset(each.dataset for each in outcomes if each.error is not None)
        self._state = replace(state, failed=failed)
        return EditOutcome(
            outcomes,
            () if before is None else tuple(each for each in before.graph.order if each not in state.graph.order),
            warnings=state.graph.warnings,
            count=len(state.graph.order),
            validated=validated,
            seconds=time.monotonic() - started,
        )

    def close(self) -> None:
        """Frees what Spark holds for the session."""
        for frame in self._cached:
            frame.unpersist()
        self._cached.clear()

    def _analyse(self, progress: Progress) -> _State:
        config = self.load()
        self.workspace = replace(self.workspace, config=config, layout=StorageLayout(config.storage))
        before, taken = self._state, list[Resolver]()
        keys: dict[Identifier, str | None] = {}

        def prepare(resolver: Resolver) -> None:
            taken.append(resolver)
            keys.update(_keys(resolver.graph, config))
            if before is not None:
                resolver.take_over(before.resolver, _unchanged(before, keys, before.graph.upstream))

        graph = self.workspace.resolve(progress, persist=False, prepare=prepare)
        return _State(taken[0], graph, keys, {} if before is None else dict(before.results))

    def _outcomes(self, before: _State | None, state: _State, changed: list[Identifier]) -> Iterator[DatasetOutcome]:
        old = {} if before is None else dict(before.results)
        for identifier in list(state.results):
            if identifier not in state.graph.order:
                del state.results[identifier]
        broken: set[Identifier] = set()
        for identifier in changed:
            if any(upstream in broken for upstream in state.graph.upstream(identifier)):
                broken.add(identifier)
                state.results.pop(identifier, None)
                continue
            try:
                result = self._compute(state.graph, identifier, state.results)
                known = self._before(before, identifier, old)
            except PenstockError as error:
                error.redact(self.workspace.config.redact)
                broken.add(identifier)
                yield DatasetOutcome(identifier, error=error)
                continue
            state.results[identifier] = result
            change = None if known is None else compare_results(known, result)
            yield DatasetOutcome(identifier, result, change)

    def _before(
        self, before: _State | None, identifier: Identifier, old: dict[Identifier, SampleResult]
    ) -> SampleResult | None:
        """Returns the result before the edit, computed again if it was of the stored rows of what is edited now."""
        known = old.get(identifier)
        if before is None or known is None or not known.stored & self._edited:
            return known
        try:
            old[identifier] = self._compute(before.graph, identifier, old)
        except PenstockError:
            return known
        return old[identifier]

    def _compute(
        self, graph: ResolvedGraph, identifier: Identifier, results: dict[Identifier, SampleResult]
    ) -> SampleResult:
        dataset = graph.dataset(identifier)
        workspace = self.workspace
        names = DefaultSchema(workspace.config.schema, graph.catalog)
        catalog = SampleCatalog(
            graph,
            workspace.paths(graph),
            workspace.shared,
            names,
            results,
            self._edited,
            self._sample,
            lambda table: self.check((table,)),
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
            private,
            tuple(dict.fromkeys(notes)),
        )

    def _query(self, graph: ResolvedGraph, flow: UnresolvedFlow, dataset: Dataset, catalog: SampleCatalog) -> DataFrame:
        workspace, name = self.workspace, str(dataset.identifier)
        settings = replace(workspace.settings(persist=False), batch=True, sample=self._sample)
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
            return judge_sample(frame, rules, dataset=identifier, limit=self.rows, collect=collect_rows)
        except Exception as error:
            known = translate_failure(error, dataset=str(identifier), flow=flows[0].name)
            known.location = known.location or flows[0].location
            raise known from error

    def _sample(self, frame: DataFrame) -> DataFrame:
        """Returns the first rows of what is read, the same ones in the whole session."""
        sample = frame.limit(self.rows).persist()
        self._cached.append(sample)
        return sample


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


def _keys(graph: DataflowGraph, config: PipelineConfig) -> dict[Identifier, str | None]:
    """Returns what each dataset is declared as, without places; None for what cannot be compared."""
    around = [dict(config.configuration), dict(config.spark_conf), dict(config.paths), config.schema]
    return {
        identifier: function_key(around, _declaration(dataset), [_flow(flow) for flow in graph.flows_to(identifier)])
        for identifier, dataset in graph.datasets.items()
    }


def _declaration(dataset: Dataset) -> list[object]:
    rules = [(each.name, str(each.constraint), each.on_violation.value) for each in dataset.expectations]
    common: list[object] = [type(dataset).__name__, dict(dataset.spark_conf), rules]
    if isinstance(dataset, TemporaryView):
        return [*common, dataset.function]
    assert isinstance(dataset, Table)
    return [
        *common,
        str(dataset.schema),
        dict(dataset.table_properties),
        dataset.partition_columns,
        dataset.cluster_by,
        dataset.path,
        str(dataset.row_filter),
        str(dataset.masks),
        str(dataset.output_mode),
        dataset.keys,
        str(dataset.refresh_policy),
    ]


def _flow(flow: UnresolvedFlow) -> list[object]:
    hidden = {"function", "location", "next_snapshot"}
    names = [name for kind in type(flow).__mro__ for name in getattr(kind, "__slots__", ())]
    return [flow.function, getattr(flow, "next_snapshot", None)] + [
        f"{name}={getattr(flow, name)}" for name in names if name not in hidden
    ]


def _unchanged(
    before: _State, keys: dict[Identifier, str | None], upstream: Callable[[Identifier], Iterable[Identifier]]
) -> set[Identifier]:
    """Returns the datasets that are declared as before, and so is all that they read."""
    found = set[Identifier]()
    for identifier in before.graph.order:
        same = identifier in keys and keys[identifier] is not None and keys[identifier] == before.keys.get(identifier)
        if same and all(each in found for each in upstream(identifier)):
            found.add(identifier)
    return found
