"""A sink says where it writes."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import Dataset, FormatSink
from penstock.graph.identifier import DefaultSchema, Identifier
from penstock.graph.rules.file_sink_shared import FILE_FORMATS
from penstock.graph.sink_refusals import options_refused


def sink_options(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports options that are missing, or that only Penstock may set; never an option's value, but for names."""
    for sink in graph.sinks.values():
        if isinstance(sink, FormatSink):
            for reason, way_out in _problems(graph, sink):
                yield options_refused(sink, reason, way_out)


def _problems(graph: DataflowGraph, sink: FormatSink) -> Iterator[tuple[str, str]]:
    if sink.option("checkpointLocation") is not None:
        yield "the checkpoints of its flows are kept in the pipeline's storage", "Remove checkpointLocation"
    if sink.kind == "kafka" and not sink.option("kafka.bootstrap.servers"):
        yield "kafka needs the brokers", "Add the option 'kafka.bootstrap.servers': 'host:port'"
    if sink.kind in FILE_FORMATS and not sink.option("path"):
        yield f"{sink.kind} needs a folder", "Add the option 'path'"
    if sink.kind == "delta":
        yield from _delta_problems(graph, sink)
    if sink.kind in {"kafka", "jdbc", "console"} and sink.option("partitionBy") is not None:
        yield f"partitionBy divides folders of files, and a {sink.kind} sink has none", "Remove partitionBy"
    if sink.kind == "memory":
        way_out = "Write to a table or to 'console', or look at any sink's rows in a test with penstock.testing"
        yield "the rows of a memory sink are gone when the process ends, and its checkpoint would not know it", way_out


def _delta_problems(graph: DataflowGraph, sink: FormatSink) -> Iterator[tuple[str, str]]:
    path, table = sink.option("path"), sink.option("tableName")
    if (path is None) == (table is None):
        said = "both are there" if path else "neither is there"
        yield f"delta needs either tableName or path, and {said}", "Give exactly one of 'tableName' and 'path'"
        return
    clash: Dataset | None = None
    if table is not None:
        try:
            clash = graph.get(
                Identifier.parse(table, default_schema=DefaultSchema(sink.identifier.schema, graph.catalog))
            )
        except DefinitionError as error:
            yield error.message.removesuffix("."), "Give a name of one to three parts"
    elif path is not None:
        clash = next((each for each in graph.tables if each.path and each.path.rstrip("/") == path.rstrip("/")), None)
    if clash is not None:
        way_out = f"Use append_flow(target='{clash.identifier}') instead of the sink"
        yield f"it would write into '{clash.identifier}', a table of this pipeline", way_out
