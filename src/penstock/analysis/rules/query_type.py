"""A streaming table and a sink take streaming queries, a materialized view a batch query."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.elements import MaterializedView
from penstock.graph.flow_type import FlowType
from penstock.graph.resolved import ResolvedGraph


def query_type(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses a batch query for a streaming table or a sink (but for `once` flows) and the other way round."""
    for flow in graph.flows:
        table = graph.tables.get(flow.declaration.target)
        wants_batch = (
            isinstance(table, MaterializedView) or flow.declaration.once or flow.type is FlowType.SNAPSHOT_CHANGE
        )
        if flow.streaming != wants_batch:
            continue
        if isinstance(table, MaterializedView):
            target, fix = "a materialized view", "Read with spark.read, or declare a streaming table"
        elif flow.declaration.once:
            target, fix = "a flow with once=True", "Read with spark.read, or remove once=True"
        elif flow.type is FlowType.SNAPSHOT_CHANGE:
            target, fix = (
                "a flow of snapshots",
                "Read with spark.read, or use create_auto_cdc_flow for a stream of changes",
            )
        elif table is None:
            target, fix = "a sink", "Read with spark.readStream; a materialized view's changes cannot be streamed"
        else:
            target, fix = (
                "a streaming table",
                "Read with spark.readStream or STREAM(name), or declare a materialized view",
            )
        yield DefinitionError(
            "INVALID_FLOW_QUERY_TYPE",
            location=flow.declaration.location,
            dataset=str(flow.declaration.target),
            flow=flow.declaration.name,
            got="streaming" if flow.streaming else "batch",
            target=target,
            way_out=fix,
        )
