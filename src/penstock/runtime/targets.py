"""Chooses how a streaming flow writes, by what the flow is and what its target asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from pyspark.sql import SparkSession

from penstock.errors import StateError
from penstock.graph.elements import ChangeFlow, FormatSink, FunctionSink
from penstock.graph.identifier import Identifier
from penstock.graph.jdbc_target import JdbcTarget
from penstock.graph.resolved import FlowType, ResolvedFlow, UpdateKeys
from penstock.graph.rules.file_sink_shared import FILE_FORMATS
from penstock.plan.stages import RunSinkFlow, RunStreamingFlow
from penstock.runtime.catalog import stored_table
from penstock.runtime.change_target import applying_changes
from penstock.runtime.services import FlowQueries, FlowQuery
from penstock.runtime.update_target import merging_updates
from penstock.spark.earlier_batches import holds_batches_of_another_query
from penstock.spark.evaluation import Evaluation, map_path
from penstock.spark.function_sink import FunctionWriter
from penstock.spark.jdbc import JdbcWriter, SinkPlace, prepare, with_defaults
from penstock.spark.sinks import SinkWriter, sink_options
from penstock.spark.sources.kafka import KafkaEndpoint, check_access
from penstock.spark.writes import DeltaWriter, StreamWriter
from penstock.storage import Storage
from penstock.storage.checkpoint import CheckpointFolder


def stream_writer(stage: RunStreamingFlow | RunSinkFlow, services: FlowQueries, query: FlowQuery) -> StreamWriter:
    """Returns the writer of a streaming flow's batches; called for each start of its `query`.

    Raises:
        StateError: SINK_FOLDER_IN_USE, or why a database's table cannot take the rows (`JDBC_…`).
        ExternalError: what a database refuses.
        PenstockError: what `check_access` says of a Kafka cluster.
    """
    match stage:
        case RunStreamingFlow(flow=ResolvedFlow(flow=ChangeFlow() as flow)):
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


def _sink_writer(stage: RunSinkFlow, services: FlowQueries, query: FlowQuery) -> StreamWriter:
    match stage.sink:
        case FunctionSink() as sink:
            return FunctionWriter(sink, _mode(stage), lambda spark: _reads(stage, services, spark))
        case FormatSink(kind="jdbc") as sink:
            return _jdbc_writer(stage, sink, services, query)
        case FormatSink() as sink:
            return _format_writer(stage, sink, services)
        case _:
            assert_never(stage.sink)


def _jdbc_writer(stage: RunSinkFlow, sink: FormatSink, services: FlowQueries, query: FlowQuery) -> JdbcWriter:
    name = stage.flow.flow.name
    checkpoint = services.layout.checkpoint(stage.dataset, name, stage.generation)
    options = sink_options(sink.format, sink.options, services.settings.secret)
    prepared = prepare(
        query.frame,
        JdbcTarget.of(sink),
        with_defaults(options),
        flow=f"{services.pipeline}/{stage.dataset}/{name}",
        checkpoint=CheckpointFolder.open_without_state(checkpoint),
        place=SinkPlace(str(stage.dataset), name, sink.location),
    )
    return JdbcWriter(prepared, _mode(stage))


def _format_writer(stage: RunSinkFlow, sink: FormatSink, services: FlowQueries) -> SinkWriter:
    divides = sink.kind == "delta" or sink.kind in FILE_FORMATS
    own = {"tablename", "partitionby"} if divides else {"tablename"}
    options = {
        key: map_path(value, services.settings) if key.casefold() == "path" else value
        for key, value in sink.options.items()
        if key.casefold() not in own
    }
    options = sink_options(sink.format, options, services.settings.secret)
    if sink.kind == "kafka":
        check_access(services.spark, KafkaEndpoint.of(options, writes=True))
    table = sink.option("tableName") if sink.kind == "delta" else None
    if table is not None and (path := _path_of(table, sink, services)) is not None:
        options, table = {**options, "path": path}, None
    _check_folder(stage, sink, options, services)
    return SinkWriter(sink.format, options, _mode(stage), table, sink.partition_columns if divides else ())


def _path_of(table: str, sink: FormatSink, services: FlowQueries) -> str | None:
    """Where the Delta table of that name is, or will be, in the storage; None for one of Spark's catalog."""
    identifier = Identifier.parse(table, default_schema=sink.identifier.schema)
    if stored_table(services.layout, identifier) is None and services.spark.catalog.tableExists(table):
        return None
    return services.layout.table(identifier)


def _check_folder(stage: RunSinkFlow, sink: FormatSink, options: Mapping[str, str], services: FlowQueries) -> None:
    path = next((value for key, value in options.items() if key.casefold() == "path"), None)
    if sink.kind not in FILE_FORMATS or path is None:
        return
    checkpoint = services.layout.checkpoint(stage.dataset, stage.flow.flow.name, stage.generation)
    if Storage(services.layout.uri).exists(f"{checkpoint}/offsets"):
        return
    if holds_batches_of_another_query(services.spark, path):
        raise StateError("SINK_FOLDER_IN_USE", dataset=str(stage.dataset), name=stage.dataset, path=path)


def _mode(stage: RunSinkFlow) -> str:
    return "update" if stage.flow.type is FlowType.UPDATE else "append"


def _reads(stage: RunSinkFlow, services: FlowQueries, spark: SparkSession) -> Evaluation:
    """Answers the reads of a sink's function by the names of the pipeline's tables; jobs are allowed in it."""
    return Evaluation(
        spark,
        services.catalog,
        services.settings,
        lambda source: services.layout.schemas(stage.dataset, stage.flow.flow.name, source),
        dataset=None,
    )
