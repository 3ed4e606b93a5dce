"""A sink of several sinks names those that the pipeline declares, and that can be written batch by batch."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import PenstockError, did_you_mean
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import FormatSink
from penstock.graph.rules.file_sink_shared import FILE_FORMATS
from penstock.graph.sink_group import GROUP, SELECT, groups, member_names, members
from penstock.graph.sink_refusals import flow_refused, options_refused

_ONLY_STREAMED = FILE_FORMATS | {"console", "memory", "noop"}


def sink_groups(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports options of such a sink that name nothing, and update flows into sinks that only add rows."""
    for group in groups(graph.sinks.values()):
        for reason, way_out in _problems(graph, group):
            yield options_refused(group, reason, way_out)
        for flow in graph.flows:
            if flow.target == group.identifier and flow.updates and (only_adds := _adding(graph, group)):
                reason = f"has the sink {only_adds}, to which rows can only be added"
                yield flow_refused(flow, reason, "Use append_flow, or leave that sink out of the group")


def _problems(graph: DataflowGraph, group: FormatSink) -> Iterator[tuple[str, str]]:
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


def _adding(graph: DataflowGraph, group: FormatSink) -> str | None:
    """A sink of the group that cannot take a row again."""
    for member in members(group):
        sink = graph.sinks.get(member)
        if isinstance(sink, FormatSink) and (sink.kind == "delta" or (sink.kind == "jdbc" and not sink.option("keys"))):
            return member.name
    return None
