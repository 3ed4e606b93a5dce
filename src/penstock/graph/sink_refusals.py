"""What is reported of a sink that cannot be written as it is declared, and of a flow that it cannot take."""

from __future__ import annotations

from penstock.errors import DefinitionError
from penstock.graph.elements import FormatSink, UnresolvedFlow


def options_refused(sink: FormatSink, reason: str, way_out: str) -> DefinitionError:
    """Returns SINK_OPTIONS_INVALID, at the place of the sink."""
    return sink.error("SINK_OPTIONS_INVALID", name=sink.identifier, reason=reason, way_out=way_out)


def flow_refused(flow: UnresolvedFlow, reason: str, way_out: str) -> DefinitionError:
    """Returns FLOW_TARGET_UNSUITABLE, at the place of the flow; `reason` goes on after the name of the sink."""
    return flow.error("FLOW_TARGET_UNSUITABLE", flow=flow.name, target=flow.target, reason=reason, way_out=way_out)
