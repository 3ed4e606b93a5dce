"""Chooses how a streaming flow writes, by what the flow is and what its target asks for."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, assert_never

from pyspark.sql import DataFrame, SparkSession

from penstock.graph.elements import ChangeFlow, FormatSink, FunctionSink
from penstock.graph.flows.flow_type import FlowType
from penstock.graph.identifier import DefaultSchema, Identifier
from penstock.graph.resolved import ResolvedFlow, UpdateKeys
from penstock.graph.schema.table_schema import Schema
from penstock.graph.sinks.sink_group import members, selected
from penstock.plan.stages import RunSinkFlow, RunStreamingFlow
from penstock.runtime.flows.change_target import applying_changes
from penstock.runtime.flows.services import FlowQueries, FlowQuery
from penstock.runtime.storage_state.catalog import stored_table
from penstock.spark.evaluation import Evaluation, map_path
from penstock.spark.sinks.batch_writer import (
    FUNCTION,
    BatchWriter,
    FunctionBatches,
    Member,
    SeveralSinks,
    WrittenSinks,
    columns_of,
    function_writer,
)
from penstock.spark.sinks.formats import connector_writer, member_of_several
from penstock.spark.sinks.sink import SinkTarget
from penstock.spark.sinks.spark_sinks import SinkWriter
from penstock.spark.sources.option import secret_options
from penstock.spark.streams.writes import DeltaWriter, StreamWriter
from penstock.spark.writers.checking_writer import CheckingWriter
from penstock.spark.writers.update_writer import UpdateWriter


def merging_updates(
    stage: RunStreamingFlow, keys: UpdateKeys, services: FlowQueries, query: FlowQuery
) -> CheckingWriter:
    """Returns the writer of an update flow's `query`; called for each start of it."""
    assert query.checking is not None, "rows that are merged are held first"
    stored = services.graph.stored_schemas[stage.dataset]
    keys = replace(keys, distinct=keys.distinct and _keeps_keys(stage.flow, keys, stored))
    writer = UpdateWriter(stage.flow.declaration.name, str(stage.dataset), stage.path, keys)
    return replace(query.checking, apply=writer.apply)


def _keeps_keys(flow: ResolvedFlow, keys: UpdateKeys, stored: Schema) -> bool:
    """Whether the table has the keys in the query's types: a cast can make one of two."""
    own, there = ({each.name.casefold(): each.type for each in schema.columns} for schema in (flow.schema, stored))
    return all(own.get(key.casefold()) == there.get(key.casefold()) for key in keys.columns)


def stream_writer(stage: RunStreamingFlow | RunSinkFlow, services: FlowQueries, query: FlowQuery) -> StreamWriter:
    """Returns the writer of a streaming flow's batches; called for each start of its `query`.

    Raises:
        PenstockError: why the sink cannot take the rows, such as SINK_FOLDER_IN_USE, `JDBC_…`, `KAFKA_…`.
    """
    match stage:
        case RunStreamingFlow(flow=ResolvedFlow(declaration=ChangeFlow() as flow)):
            return applying_changes(stage, flow, services, query)
        case RunStreamingFlow(flow=ResolvedFlow(keys=UpdateKeys() as keys)):
            return merging_updates(stage, keys, services, query)
        case RunStreamingFlow() if query.checking is not None:
            return query.checking
        case RunStreamingFlow():
            return DeltaWriter(stage.path, complete=stage.flow.type is FlowType.COMPLETE)
        case RunSinkFlow():
            return _sink_writer(stage, services, query)
        case _:
            assert_never(stage)


def in_columns_of_target(frame: DataFrame, writer: StreamWriter) -> DataFrame:
    """Returns a query's rows as Delta's own sink writes them, which loses the counters of those that it has to cast."""
    return writer.aligned(frame) if isinstance(writer, DeltaWriter | SinkWriter) else frame


def _sink_writer(stage: RunSinkFlow, services: FlowQueries, query: FlowQuery) -> StreamWriter:
    match stage.sink:
        case FunctionSink() as sink:
            return function_writer(sink.function, _mode(stage), lambda spark: _reads(stage, services, spark))
        case FormatSink(kind="sinks") as group:
            checkpoint = services.layout.checkpoint(stage.dataset, stage.flow.declaration.name, stage.generation)
            into = tuple(_member(stage, group, each, services, query) for each in members(group))
            return BatchWriter(SeveralSinks(into, WrittenSinks.of(checkpoint)), _mode(stage))
        case FormatSink() as sink:
            return connector_writer(_target(stage, sink, services, query))
        case _:
            assert_never(stage.sink)


def _member(stage: RunSinkFlow, group: FormatSink, name: Identifier, services: FlowQueries, query: FlowQuery) -> Member:
    sink, select = services.graph.sinks[name], selected(group, name)
    if isinstance(sink, FunctionSink):
        taking = FunctionBatches(sink.function, lambda spark: _reads(stage, services, spark))
        return Member(name.name, taking, select, FUNCTION)
    target = _target(stage, sink, services, query)
    return member_of_several(replace(target, rows=columns_of(query.frame, select)), select)


def _target(stage: RunSinkFlow, sink: FormatSink, services: FlowQueries, query: FlowQuery) -> SinkTarget:
    name = stage.flow.declaration.name
    placed = {
        key: map_path(value, services.settings) if key.casefold() == "path" else value
        for key, value in sink.options.items()
    }
    return SinkTarget(
        declared=sink,
        options={**placed, **secret_options(placed, services.settings.secret)},
        rows=query.frame,
        mode=_mode(stage),
        flow=f"{services.pipeline}/{stage.dataset}/{name}",
        flow_name=name,
        checkpoint=services.layout.checkpoint(stage.dataset, name, stage.generation),
        table_path=lambda table: _path_of(table, sink, services),
    )


def _path_of(table: str, sink: FormatSink, services: FlowQueries) -> str | None:
    """Where the Delta table of that name is, or will be, in the storage; None for one of Spark's catalog."""
    names = DefaultSchema(sink.identifier.schema, services.graph.catalog)
    identifier = Identifier.parse(table, default_schema=names)
    if stored_table(services.layout, identifier) is None and (
        identifier.catalog is not None or services.spark.catalog.tableExists(table)
    ):
        return None
    return services.layout.table(identifier)


def _mode(stage: RunSinkFlow) -> Literal["append", "update"]:
    return "update" if stage.flow.type is FlowType.UPDATE else "append"


def _reads(stage: RunSinkFlow, services: FlowQueries, spark: SparkSession) -> Evaluation:
    """Answers the reads of a sink's function by the names of the pipeline's tables; jobs are allowed in it."""
    return Evaluation(
        spark,
        services.catalog,
        services.settings,
        lambda source: services.layout.schemas(stage.dataset, stage.flow.declaration.name, source),
        dataset=None,
    )
