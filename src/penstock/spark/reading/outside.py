"""The seam at which a test replaces what is outside of a pipeline: its sources, and where it writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import SparkSession

from penstock.graph.dataflow_graph import DataflowGraph
from penstock.spark.sources.stream_read import Load, StreamRead


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """Where in a pipeline something from outside is read.

    `dataset` is the table or view whose function reads it, `name` the source's name in the checkpoint; `schemas` is
    where Auto Loader keeps the source's schema.
    """

    dataset: str
    name: str
    schemas: str


class Outside(Protocol):
    """What a pipeline meets outside of itself."""

    def source(self, spark: SparkSession, read: StreamRead, load: Load, place: SourcePlace) -> tuple[StreamRead, Load]:
        """Returns the read to serve instead; called each time a dataset function reads, without a read handler."""

    def targets(self, graph: DataflowGraph) -> DataflowGraph:
        """Returns the pipeline as it writes; called when its files were read and found right."""
