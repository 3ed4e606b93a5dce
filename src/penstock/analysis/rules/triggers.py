"""A trigger is one that the flow can run with."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.config import Trigger, TriggerKind, is_continuous, parse_interval, trigger_kind
from penstock.errors import ConfigError, PenstockError, did_you_mean
from penstock.graph.elements import FormatSink
from penstock.graph.flows.flow_type import FlowType
from penstock.graph.resolved import ResolvedFlow, ResolvedGraph

_MODE = "pipelines.trigger"
_OF_FLOWS = {
    TriggerKind.PROCESSING_TIME: "ProcessingTime",
    TriggerKind.AVAILABLE_NOW: "AvailableNow",
    TriggerKind.REAL_TIME: "RealTime",
}
# docs/decisions/no-continuous-processing.md
_IN_THE_WAY_OF_ALL = (
    "it cannot continue from the checkpoint of a triggered run, nor a triggered run from its checkpoint",
    "it refuses the counters of expectations and accounts",
    "it repeats rows after a failure",
)
# Those that Spark 4.2 can run without batches.
_SINKS = ("kafka", "console")


def trigger_mode(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses a `pipelines.trigger` that is unknown, or that Spark would refuse, with everything that is in the way."""
    for flow in graph.flows:
        mode = graph.flow_settings(flow).get(_MODE)
        if mode is None:
            continue
        kind = trigger_kind(str(mode))
        if is_continuous(str(mode)):
            yield _continuous(graph, flow)
            continue
        if kind not in _OF_FLOWS:
            yield flow.declaration.error(
                "FLOW_TRIGGER_INVALID",
                flow=flow.declaration.name,
                trigger=mode,
                suggestion=did_you_mean(str(mode), _OF_FLOWS.values(), also=f"Known: {', '.join(_OF_FLOWS.values())}."),
            )
        elif kind is TriggerKind.REAL_TIME and (reasons := "; ".join(_in_the_way(graph, flow))):
            yield flow.declaration.error("REAL_TIME_MODE_REFUSED", flow=flow.declaration.name, reasons=reasons)


def _continuous(graph: ResolvedGraph, flow: ResolvedFlow) -> PenstockError:
    in_the_way = "; ".join(_in_the_way(graph, flow))
    return flow.declaration.error(
        "FLOW_TRIGGER_CONTINUOUS",
        flow=flow.declaration.name,
        reasons="; ".join([*_IN_THE_WAY_OF_ALL, *_of_the_query(graph, flow)]),
        real_time=f"cannot run it either: {in_the_way}" if in_the_way else "can run it",
    )


def pipeline_trigger(graph: ResolvedGraph, trigger: Trigger) -> Iterator[PenstockError]:
    """Refuses real-time mode of the whole pipeline, flow by flow, where a flow without a trigger of its own cannot."""
    for flow in graph.flows if trigger.kind is TriggerKind.REAL_TIME else ():
        if not flow.streaming or _MODE in graph.flow_settings(flow):
            continue
        if reasons := "; ".join(_in_the_way(graph, flow)):
            yield flow.declaration.error("PIPELINE_TRIGGER_REFUSED", flow=flow.declaration.name, reasons=reasons)


def _in_the_way(graph: ResolvedGraph, flow: ResolvedFlow) -> Iterator[str]:
    """Why Spark would not start the flow in real-time mode."""
    if flow.type is not FlowType.UPDATE:
        yield "it is not an update_flow"
    yield from _of_the_query(graph, flow)


def _of_the_query(graph: ResolvedGraph, flow: ResolvedFlow) -> Iterator[str]:
    """What neither of Spark's two ways without batches can run."""
    sink = graph.sinks.get(flow.declaration.target)
    if not isinstance(sink, FormatSink) or sink.kind not in _SINKS:
        yield f"its target '{flow.declaration.target}' is not a kafka sink"
    if flow.stateful:
        yield f"it keeps state ({', '.join(flow.stateful)})"
    for read in graph.stored_inputs(flow.inputs):
        if not read.streaming or read.format.casefold() != "kafka":
            yield f"it reads {read.format} {read.description}, not a Kafka topic as a stream"


_INTERVAL = "pipelines.trigger.interval"


def trigger_interval(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses intervals that cannot be read, in a flow's or table's settings, before a continuous run needs them."""
    for flow in graph.flows:
        table = graph.tables.get(flow.declaration.target)
        properties = table.table_properties if table is not None else {}
        for interval in filter(None, (graph.flow_settings(flow).get(_INTERVAL), properties.get(_INTERVAL))):
            try:
                parse_interval(str(interval))
            except ConfigError as error:
                yield flow.declaration.error(
                    "TRIGGER_INTERVAL_INVALID",
                    name=flow.declaration.name,
                    interval=interval,
                    suggestion=error.facts.get("suggestion", ""),
                )
