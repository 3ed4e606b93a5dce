"""A sink says where it writes, with options that it has."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError, did_you_mean
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import Dataset, FormatSink, UnresolvedFlow
from penstock.graph.identifier import DefaultSchema, Identifier
from penstock.graph.sinks.sink_group import GROUP, SELECT, flow_refused, groups, member_names, members, options_refused

FILE_FORMATS = frozenset({"avro", "csv", "json", "orc", "parquet", "text", "xml"})


def file_sink_shared(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Refuses a second flow into a folder: its log knows batches by number only, so one flow's would be skipped."""
    first_by_path: dict[str, UnresolvedFlow] = {}
    for flow in graph.flows:
        sink = graph.sinks.get(flow.target)
        if not isinstance(sink, FormatSink) or sink.kind not in FILE_FORMATS or not (path := sink.option("path")):
            continue
        first = first_by_path.setdefault(path.rstrip("/"), flow)
        if first is not flow:
            yield flow.error("FILE_SINK_SHARED", flow=flow.name, first=first.name, path=path)


def sink_options(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports options that are missing, or that only Penstock may set; never an option's value, but for names."""
    for sink in graph.sinks.values():
        if isinstance(sink, FormatSink):
            for reason, way_out in _option_problems(graph, sink):
                yield options_refused(sink, reason, way_out)


def _option_problems(graph: DataflowGraph, sink: FormatSink) -> Iterator[tuple[str, str]]:
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


_ONLY_STREAMED = FILE_FORMATS | {"console", "memory", "noop"}


def sink_groups(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports options of such a sink that name nothing, and update flows into sinks that only add rows."""
    for group in groups(graph.sinks.values()):
        for reason, way_out in _group_problems(graph, group):
            yield options_refused(group, reason, way_out)
        for flow in graph.flows:
            if flow.target == group.identifier and flow.updates and (only_adds := _only_adding(graph, group)):
                reason = f"has the sink {only_adds}, to which rows can only be added"
                yield flow_refused(flow, reason, "Use append_flow, or leave that sink out of the group")


def _group_problems(graph: DataflowGraph, group: FormatSink) -> Iterator[tuple[str, str]]:
    names = member_names(group)
    if len(names) < 2:
        yield "it needs two sinks or more", f"Add the option '{GROUP}': 'first, second'"
        return
    known = {sink.name: sink for sink in graph.sinks}
    for name, member in zip(names, members(group), strict=True):
        sink = graph.sinks.get(member)
        if sink is None:
            near = did_you_mean(member.name, known)
            yield (
                f"there is no sink '{name}'{near and f' ({near})'}",
                "Correct the name, or declare it with create_sink",
            )
        elif isinstance(sink, FormatSink) and sink.kind == GROUP:
            yield f"'{name}' is several sinks itself", "Name those"
        elif isinstance(sink, FormatSink) and sink.kind in _ONLY_STREAMED:
            yield (
                f"'{name}' is a {sink.kind} sink, which knows the batches of one stream only",
                "Give it a flow of its own",
            )
    if len(set(members(group))) < len(names):
        yield "a sink is named twice", "Name each once"
    chosen = {f"{SELECT}{member.name}".casefold() for member in members(group)} | {GROUP}
    for option in group.options:
        if option.casefold() not in chosen:
            yield f"it has no option '{option}'", f"Write '{GROUP}', and '{SELECT}NAME' for the columns of a sink"


def _only_adding(graph: DataflowGraph, group: FormatSink) -> str | None:
    """A sink of the group that cannot take a row again."""
    for member in members(group):
        sink = graph.sinks.get(member)
        if isinstance(sink, FormatSink) and (sink.kind == "delta" or (sink.kind == "jdbc" and not sink.option("keys"))):
            return member.name
    return None
