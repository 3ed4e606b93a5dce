"""A sink of the format `sinks`: one flow into several sinks. And what is reported of any sink or flow into one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from penstock.errors import DefinitionError
from penstock.graph.elements import AnySink, FormatSink, UnresolvedFlow
from penstock.graph.identifier import Identifier


def options_refused(sink: FormatSink, reason: str, way_out: str) -> DefinitionError:
    """Returns SINK_OPTIONS_INVALID, at the place of the sink."""
    return sink.error("SINK_OPTIONS_INVALID", name=sink.identifier, reason=reason, way_out=way_out)


def flow_refused(flow: UnresolvedFlow, reason: str, way_out: str) -> DefinitionError:
    """Returns FLOW_TARGET_UNSUITABLE, at the place of the flow; `reason` goes on after the name of the sink."""
    return flow.error("FLOW_TARGET_UNSUITABLE", flow=flow.name, target=flow.target, reason=reason, way_out=way_out)


GROUP: Final = "sinks"
"""The format, and the option that names the sinks."""

SELECT: Final = "select."
"""How the options begin that choose the columns of one of the sinks."""


def groups(sinks: Iterable[AnySink]) -> Iterator[FormatSink]:
    """Yields those that are several sinks."""
    return (sink for sink in sinks if isinstance(sink, FormatSink) and sink.kind == GROUP)


def member_names(group: FormatSink) -> tuple[str, ...]:
    """Returns the names of a group's sinks, as its author wrote them."""
    return tuple(name for name in (part.strip() for part in (group.option(GROUP) or "").split(",")) if name)


def members(group: FormatSink) -> tuple[Identifier, ...]:
    """Returns the sinks of a group; what is no name at all is no sink of the pipeline either."""
    return tuple(_identifier(name, group.identifier.schema) for name in member_names(group))


def selected(group: FormatSink, member: Identifier) -> str | None:
    """Returns the columns that one of a group's sinks gets, as SQL; None for all."""
    return group.option(f"{SELECT}{member.name}")


def _identifier(name: str, schema: str) -> Identifier:
    try:
        return Identifier.parse(name, default_schema=schema)
    except DefinitionError:
        return Identifier(schema, name)
