"""What surrounds a pipeline under test: rows that are fed come in, and nothing gets out of the test's folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import AnySink, FormatSink, FunctionSink, Table
from penstock.graph.identifier import Identifier
from penstock.spark.reading.outside import SourcePlace
from penstock.spark.sources.stream_read import Load, StreamRead
from penstock.testing.fed_sources import FedSources


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Is handed to `run_update` as what is outside. `sinks` is the folder that keeps what flows write to sinks."""

    sources: FedSources
    sinks: Path

    def source(self, spark: SparkSession, read: StreamRead, load: Load, place: SourcePlace) -> tuple[StreamRead, Load]:
        """See `FedSources.source`."""
        return self.sources.source(spark, read, load, place)

    def targets(self, graph: DataflowGraph) -> DataflowGraph:
        """Returns the pipeline with its tables in the storage and its sinks in a folder, without event hooks.

        The function of a `foreach_batch_sink` belongs to the pipeline, and is called as it is.
        """
        return DataflowGraph.of(
            [replace(each, path=None) if isinstance(each, Table) else each for each in graph.declared],
            graph.flows,
            sinks=[self._into_folder(each) for each in graph.declared_sinks],
            refused=graph.refused,
            incomplete=graph.incomplete,
            catalog=graph.catalog,
        )

    def sink(self, identifier: Identifier) -> str:
        """Returns where the Delta table is that has the rows of a sink."""
        return str(self.sinks / str(identifier).casefold())

    def _into_folder(self, sink: AnySink) -> AnySink:
        if not isinstance(sink, FormatSink):
            return sink
        path = self.sink(sink.identifier)

        def keep(batch: DataFrame, _: int) -> None:
            batch.write.format("delta").mode("append").option("mergeSchema", "true").save(path)

        return FunctionSink(identifier=sink.identifier, location=sink.location, function=keep)
