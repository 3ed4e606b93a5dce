"""What stands in the way of Spark's real-time mode."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.elements import FormatSink
from penstock.graph.resolved import FlowType, ResolvedFlow, ResolvedGraph

# Those that Spark 4.2 can run without batches.
_SINKS = ("kafka", "console")


def real_time_mode(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses `pipelines.trigger: RealTime` where Spark would refuse to start, with everything that is in the way."""
    for flow in graph.flows:
        mode = graph.flow_settings(flow).get("pipelines.trigger")
        if mode is None:
            continue
        reasons = list(_reasons(graph, flow, str(mode)))
        if reasons:
            yield DefinitionError(
                "REAL_TIME_MODE_REFUSED",
                location=flow.flow.location,
                dataset=str(flow.flow.target),
                flow=flow.flow.name,
                reasons="; ".join(reasons),
            )


def _reasons(graph: ResolvedGraph, flow: ResolvedFlow, mode: str) -> Iterator[str]:
    if not is_real_time(mode):
        yield f"pipelines.trigger is '{mode}', and RealTime is the only value that it can have"
        return
    sink = graph.sinks.get(flow.flow.target)
    if flow.type is not FlowType.UPDATE:
        yield "it is not an update_flow"
    if not isinstance(sink, FormatSink) or sink.kind not in _SINKS:
        yield f"its target '{flow.flow.target}' is not a kafka sink"
    if flow.stateful:
        yield f"it keeps state ({', '.join(flow.stateful)})"
    for read in graph.stored_inputs(flow.inputs):
        if not read.streaming or read.format.casefold() != "kafka":
            yield f"it reads {read.format} {read.description}, not a Kafka topic as a stream"


def is_real_time(mode: str) -> bool:
    """Whether a value of `pipelines.trigger` means real-time mode, in the spelling of any documentation."""
    return mode.strip().casefold().replace("_", "").replace("-", "").replace(" ", "") == "realtime"
