"""Turns the declared graph into the resolved graph: each dataset after those that it reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from penstock.analysis.catalog import AnalysisCatalog, Known, NotYetResolved, UpstreamFailed, plain_schema
from penstock.analysis.query import QueryAnalyser
from penstock.analysis.rules import check
from penstock.analysis.table_layout import (
    check_protection,
    check_types,
    with_cluster_columns,
    with_column_mapping,
    with_partition_fields,
)
from penstock.analysis.view_quarantine import view_behind
from penstock.errors import ConfigError, DefinitionError, ExternalError, PenstockError, PipelineInvalid
from penstock.graph.companions.quarantine import quarantine_schema
from penstock.graph.companions.quarantining import has_quarantine, with_event_parts
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import (
    AnySink,
    Dataset,
    FormatSink,
    LikelyStreamingTable,
    MaterializedView,
    OutputMode,
    Sink,
    StreamingTable,
    Table,
    TemporaryView,
    UniqueKey,
    UnresolvedFlow,
    declared_mode,
)
from penstock.graph.flows.flow_type import FlowType
from penstock.graph.identifier import Identifier
from penstock.graph.reading_order import reading_order
from penstock.graph.resolved import FailedFlow, ResolvedFlow, ResolvedGraph, ResolvedView
from penstock.graph.schema.table_schema import Schema
from penstock.spark.delta.conform import spark_schema
from penstock.spark.evaluation import EvaluationSettings, table_path
from penstock.spark.failures.causes import reason_of
from penstock.spark.failures.translate import translate_analysis
from penstock.spark.session.query_settings import query_settings, spark_settings
from penstock.spark.sinks.formats import check_sink, promise_of
from penstock.spark.sql.column_definitions import parse_columns
from penstock.storage import StorageLayout

_RESULT_SETTINGS = ("spark.sql.ansi.enabled", "spark.sql.session.timeZone", "spark.sql.caseSensitive")


@dataclass(slots=True)
class Resolver:
    """Analyses a whole pipeline, once: functions run one after the other in this thread, and nothing is written."""

    spark: SparkSession
    graph: DataflowGraph
    layout: StorageLayout
    settings: EvaluationSettings
    default_schema: str
    stored_table: Callable[[Identifier], str | None]
    runs_complete: Callable[[UnresolvedFlow], bool] = lambda _: False
    strict: bool = False
    _known: dict[Identifier, Known] = field(default_factory=dict)
    _tables: dict[Identifier, StreamingTable | MaterializedView] = field(default_factory=dict)
    _views: dict[Identifier, ResolvedView] = field(default_factory=dict)
    _flows: list[ResolvedFlow] = field(default_factory=list)
    _notices: list[PenstockError] = field(default_factory=list)
    _failed: dict[Identifier, list[FailedFlow]] = field(default_factory=dict)
    _promises: dict[Identifier, str | None] = field(default_factory=dict)

    def resolve(self) -> ResolvedGraph:
        """Returns the resolved graph.

        Raises:
            PipelineInvalid: everything that is wrong, direct causes first.
            ExternalError: JVM_DIED and whatever else is not the fault of the pipeline, at once.
        """
        for identifier in reading_order(self.graph):
            self._resolve_with_upstream(identifier)
        for sink in self.graph.sinks.values():
            self._resolve_sink(sink)
        errors = [flow.error for failures in self._failed.values() for flow in failures if flow.because_of is None]
        downstream = [
            str(identifier)
            for identifier, failures in self._failed.items()
            if all(flow.because_of is not None for flow in failures)
        ]
        if errors or downstream:
            raise PipelineInvalid(_flattened(errors), downstream)
        schemas = {identifier: known.schema for identifier, known in self._known.items()}
        resolved = ResolvedGraph(
            self._tables,
            self._views,
            tuple(self._flows),
            tuple(self._known),
            schemas,
            sinks=self.graph.sinks,
            promises={sink: promise for sink, promise in self._promises.items() if promise is not None},
            event_hooks=self.graph.event_hooks,
            catalog=self.graph.catalog,
        )
        broken, warnings = check(resolved, strict=self.strict)
        if broken:
            raise PipelineInvalid(broken)
        once = {notice.message: notice for notice in reversed(self._notices)}
        return replace(resolved, warnings=(*reversed(once.values()), *warnings))

    def take_over(self, before: Resolver, unchanged: Collection[Identifier]) -> None:
        """Takes what another resolver has found about datasets, instead of analysing them again; call it first.

        Each of `unchanged` must be declared as it was there, and so must be all that it reads; only the places of the
        declarations may differ.
        """
        found = {flow.declaration.key: flow for flow in before._flows}
        names = set(map(str, unchanged))
        for identifier, known in before._known.items():
            if identifier not in unchanged:
                continue
            declared = self.graph.datasets[identifier]
            self._known[identifier] = known
            if isinstance(declared, TemporaryView):
                self._views[identifier] = replace(before._views[identifier], view=declared)
                continue
            self._tables[identifier] = replace(
                before._tables[identifier],
                location=declared.location,
                expectations=declared.expectations,
            )
            self._flows += [replace(found[flow.key], declaration=flow) for flow in self.graph.flows_to(identifier)]
        self._notices += [each for each in before._notices if each.dataset in names]

    def _resolve_with_upstream(self, identifier: Identifier) -> None:
        """Resolves a dataset and, first, all that it reads; `path` is the way there."""
        path = [identifier]
        while path:
            current = path[-1]
            if current in self._known or current in self._failed:
                path.pop()
                continue
            try:
                self._resolve(current)
            except NotYetResolved as needed:
                if needed.identifier in path:
                    self._fail_cycle(path[path.index(needed.identifier) :])
                else:
                    path.append(needed.identifier)
            else:
                path.pop()

    def _resolve(self, identifier: Identifier) -> None:
        dataset = self.graph.datasets[identifier]
        if isinstance(dataset, TemporaryView):
            self._resolve_view(dataset)
        else:
            assert isinstance(dataset, Table)
            self._resolve_table(dataset)

    def _resolve_view(self, view: TemporaryView) -> None:
        flow = UnresolvedFlow(
            name=view.identifier.name, target=view.identifier, function=view.function, location=view.location
        )
        query = self._analyse(flow, view, ())
        if isinstance(query, FailedFlow):
            self._failed[view.identifier] = [query]
        else:
            self._views[view.identifier] = ResolvedView(
                view, query.schema, query.streaming, query.inputs, query.lineage
            )
            self._known[view.identifier] = Known(query.schema, query.streaming, rewritten=None)

    def _resolve_table(self, table: Table) -> None:
        failed: list[FailedFlow] = []
        resolved: list[ResolvedFlow] = []
        for flow in self.graph.flows_to(table.identifier):
            declared = declared_mode(flow, table)
            modes = (OutputMode.APPEND, OutputMode.COMPLETE) if declared is None else (declared,)
            query = self._analyse(flow, table, modes)
            if isinstance(query, FailedFlow):
                failed.append(query)
            else:
                resolved.append(query)
        try:
            own = None if table.schema is None else declared_schema(self.spark, table)
            schema = own or _merged(flow.schema for flow in resolved)
            if own is not None:
                check_types(self.spark, table, resolved, own)
            if resolved:
                check_protection(self.spark, table, schema)
        except DefinitionError as error:
            failed.insert(0, _failed_target(table, error))
        if failed or not resolved:
            self._failed[table.identifier] = failed
            return
        decided, schema = with_partition_fields(with_event_parts(_decide(table, resolved), resolved), schema)
        decided = with_cluster_columns(with_column_mapping(decided, resolved), schema)
        self._tables[table.identifier] = decided
        if isinstance(table, LikelyStreamingTable) and isinstance(decided, MaterializedView):
            self._notices.append(table.error("TABLE_IS_MATERIALIZED_VIEW", name=table.identifier))
        self._flows.extend(resolved)
        rewritten = _why_rewritten(decided, [flow for flow in resolved if flow.type.rewrites])
        streaming = isinstance(decided, StreamingTable)
        self._known[table.identifier] = Known(schema, streaming, rewritten, _known_quarantine(decided, resolved))

    def _resolve_sink(self, sink: AnySink) -> None:
        """Resolves the flows into a sink, after all datasets: nothing reads it."""
        failed: list[FailedFlow] = []
        for flow in self.graph.flows_to(sink.identifier):
            query = self._analyse(flow, sink, (OutputMode.UPDATE if flow.updates else OutputMode.APPEND,))
            if isinstance(query, FailedFlow):
                failed.append(query)
            else:
                self._flows.append(query)
        try:
            if isinstance(sink, FormatSink):
                wrong = check_sink(self.spark, sink, self.graph.flows_to(sink.identifier))
                failed[:0] = [_failed_target(sink, error) for error in wrong]
                self._promises[sink.identifier] = promise_of(sink, self.graph.sinks)
        except (ConfigError, DefinitionError) as error:
            error.location = error.location or sink.location
            failed.insert(0, _failed_target(sink, error))
        if failed:
            self._failed[sink.identifier] = failed

    def _analyse(
        self, flow: UnresolvedFlow, target: Table | TemporaryView | AnySink, modes: Sequence[OutputMode]
    ) -> ResolvedFlow | FailedFlow:
        analyser = QueryAnalyser(
            self.spark,
            AnalysisCatalog(self.graph, self.default_schema, self._lookup, self.stored_table),
            self.settings,
            tuple(map(str, self.graph.datasets)),
            self._target_path,
        )
        try:
            with query_settings(self.spark, spark_settings(_spark_conf(flow, target))):
                resolved, notices = analyser.analyse(
                    flow,
                    target,
                    schemas=lambda source: self.layout.schemas(flow.target, flow.name, source),
                    modes=modes,
                    runs_complete=partial(self.runs_complete, flow),
                    around=lambda: self._around(flow, target),
                )
                self._notices.extend(notices)
                return resolved
        except UpstreamFailed as upstream:
            reason = DefinitionError("UPSTREAM_FAILED", dataset=str(target.identifier), name=upstream.identifier)
            return FailedFlow(flow, reason, because_of=upstream.identifier)
        except ExternalError:  # of no dataset: without a JVM the others would only say the same
            raise
        except PenstockError as error:
            view = view_behind(self.graph, flow)
            reported = view is not None and view.identifier in self._failed
            return FailedFlow(flow, error, because_of=view.identifier if view is not None and reported else None)
        except PySparkException as error:  # of a setting: what the query meets, the analyser translates
            dataset = str(target.identifier)
            return FailedFlow(flow, translate_analysis(error, known=(), location=flow.location, dataset=dataset))

    def _around(self, flow: UnresolvedFlow, dataset: Table | TemporaryView | AnySink) -> object:
        """What the stored rows of a batch query depend on, besides the query and its inputs.

        The rules of uniqueness, and what becomes of the rows that break one, are not in the query's plan.
        """
        layout: list[object] = []
        if isinstance(dataset, Table):
            schema = dataset.schema.json() if isinstance(dataset.schema, StructType) else dataset.schema
            layout = [schema, dataset.partition_columns, dataset.cluster_by]
        rules = [
            (each.name, each.on_violation.value, str(each.constraint) if isinstance(each.constraint, UniqueKey) else "")
            for each in (dataset.expectations if isinstance(dataset, Dataset) else ())
        ]
        session = {key: self.spark.conf.get(key, None) for key in _RESULT_SETTINGS}
        return [self.spark.version, {**session, **_spark_conf(flow, dataset)}, layout, rules]

    def _target_path(self, identifier: Identifier) -> str:
        table = self.graph.datasets[identifier]
        assert isinstance(table, Table), "snapshots are applied to a table"
        return table_path(table, self.layout, self.settings)

    def _lookup(self, identifier: Identifier) -> Known | None:
        if identifier in self._failed:
            raise UpstreamFailed(identifier)
        return self._known.get(identifier)

    def _fail_cycle(self, cycle: list[Identifier]) -> None:
        path = " -> ".join(str(each) for each in [*cycle, cycle[0]])
        first = min(cycle)
        for identifier in cycle:
            dataset = self.graph.datasets[identifier]
            error = dataset.error("FLOW_CYCLE", path=path, name=identifier)
            because_of = None if identifier == first else first
            self._failed[identifier] = [_failed_target(dataset, error, because_of=because_of)]


def _spark_conf(flow: UnresolvedFlow, target: Table | TemporaryView | AnySink) -> dict[str, str]:
    """The settings of a flow's query: its own win over those of its dataset."""
    return {**(target.spark_conf if isinstance(target, Dataset) else {}), **flow.spark_conf}


def _failed_target(target: Dataset | Sink, error: PenstockError, *, because_of: Identifier | None = None) -> FailedFlow:
    """The failure of a dataset or sink that is not the fault of one of its flows."""
    flow = UnresolvedFlow(
        name=target.identifier.name, target=target.identifier, function=lambda: None, location=target.location
    )
    return FailedFlow(flow, error, because_of)


def declared_schema(spark: SparkSession, table: Table) -> Schema:
    """Returns a table's declared `schema=` (StructType or DDL) as plain data.

    Raises:
        DefinitionError: DECLARED_SCHEMA_INVALID.
    """
    if isinstance(table.schema, StructType):
        return Schema(table.schema.json())
    try:
        return Schema(parse_columns(spark, str(table.schema)).json())
    except (PySparkException, ValueError) as error:
        raise table.error(
            "DECLARED_SCHEMA_INVALID",
            name=table.identifier,
            reason=reason_of(error) if isinstance(error, PySparkException) else error,
        ) from None


def _merged(queries: Iterable[Schema]) -> Schema:
    """Returns the columns of all flows of a table by name, in order of appearance."""
    merged = StructType()
    for query in queries:
        for column in spark_schema(query):
            if column.name.casefold() not in {name.casefold() for name in merged.fieldNames()}:
                merged.add(column)
    return plain_schema(merged)


def _decide(table: Table, flows: list[ResolvedFlow]) -> StreamingTable | MaterializedView:
    """A `@table` over a streaming query is a streaming table, over a batch one a materialized view."""
    if isinstance(table, (StreamingTable, MaterializedView)):
        return table
    own = next(
        (flow for flow in flows if flow.declaration.name.casefold() == table.identifier.name.casefold()), flows[0]
    )
    kind = StreamingTable if own.streaming or own.declaration.once else MaterializedView
    return kind(**{each.name: getattr(table, each.name) for each in fields(table)})


def _why_rewritten(table: StreamingTable | MaterializedView, flows: Sequence[ResolvedFlow]) -> str | None:
    """Says what changes or replaces rows of a table; `flows` are those that do. None: its rows only become more."""
    if isinstance(table, MaterializedView):
        return "a materialized view is computed again"
    if not flows:
        return None
    [flow, *_] = flows
    match flow.type:
        case FlowType.COMPLETE if set(flow.stateful) == {"deduplicate"}:
            how = "replaces the whole result in each batch: its checkpoint is of a version that ran DISTINCT so"
        case FlowType.COMPLETE:
            how = "replaces the whole result in each batch: it aggregates without a watermark (complete mode)"
        case FlowType.UPDATE:
            how = "updates rows by their keys (update mode)"
        case _:
            how = "applies changes to rows by their keys"
    return f"the flow '{flow.declaration.name}' {how}"


def _known_quarantine(table: StreamingTable | MaterializedView, flows: Sequence[ResolvedFlow]) -> Known | None:
    """What a reader of the table's quarantine has to know: changes are applied to the table, not to its quarantine."""
    if not has_quarantine(table):
        return None
    rewritten = _why_rewritten(table, [flow for flow in flows if flow.type is FlowType.COMPLETE])
    return Known(quarantine_schema(flow.rows for flow in flows), isinstance(table, StreamingTable), rewritten)


def _flattened(errors: list[PenstockError]) -> list[PenstockError]:
    return [one for error in errors for one in (error.errors if isinstance(error, PipelineInvalid) else (error,))]
