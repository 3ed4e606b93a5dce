"""`pipelines.trigger.interval` is a length of time."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.config import parse_interval
from penstock.errors import ConfigError, DefinitionError, PenstockError
from penstock.graph.resolved import ResolvedGraph

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
                yield DefinitionError(
                    "TRIGGER_INTERVAL_INVALID",
                    location=flow.declaration.location,
                    dataset=str(flow.declaration.target),
                    name=flow.declaration.name,
                    interval=interval,
                    suggestion=error.facts.get("suggestion", ""),
                )
