"""Each flow has the kind of query that its target takes, and all flows of a table agree."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from penstock.errors import PenstockError
from penstock.graph.elements import MaterializedView
from penstock.graph.flows.flow_type import FlowType
from penstock.graph.resolved import AppliedChanges, ResolvedFlow, ResolvedGraph
from penstock.graph.rules.changes import disagreement
from penstock.graph.rules.refreshing import full_only


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
            target = "a flow of snapshots"
            fix = "Read with spark.read, or use create_auto_cdc_flow for a stream of changes"
        elif table is None:
            target, fix = "a sink", "Read with spark.readStream; a materialized view's changes cannot be streamed"
        else:
            target = "a streaming table"
            fix = "Read with spark.readStream or STREAM(name), or declare a materialized view"
        yield flow.declaration.error(
            "INVALID_FLOW_QUERY_TYPE",
            flow=flow.declaration.name,
            got="streaming" if flow.streaming else "batch",
            target=target,
            way_out=fix,
        )


def append_flow_of_materialized_view(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses an `append_flow` into a materialized view, whose rows each refresh replaces."""
    for identifier, table in graph.tables.items():
        flows = graph.flows_to(identifier)
        if not isinstance(table, MaterializedView) or len(flows) == 1:
            continue
        for flow in flows:
            if flow.declaration.name.casefold() != identifier.name.casefold():
                yield flow.declaration.error(
                    "APPEND_FLOW_INTO_MATERIALIZED_VIEW", flow=flow.declaration.name, name=identifier
                )


def complete_flow_shares_table(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses a complete-mode flow beside others: each batch would erase the others' rows."""
    for identifier in graph.tables:
        flows = graph.flows_to(identifier)
        for flow in flows:
            if flow.type is FlowType.COMPLETE and len(flows) > 1:
                others = ", ".join(other.declaration.name for other in flows if other is not flow)
                yield flow.declaration.error("COMPLETE_FLOW_SHARES_TABLE", flow=flow.declaration.name, others=others)


def output_mode_of_batch_query(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses `output_mode` and `keys` of a table whose query reads no stream: it is computed as a whole."""
    for table in graph.tables.values():
        if isinstance(table, MaterializedView) and (table.output_mode is not None or table.keys):
            yield table.error(
                "OUTPUT_MODE_CONFLICT",
                target=table.identifier,
                reason="its query reads no stream, so it is a materialized view, which is computed as a whole",
                way_out="Read with spark.readStream, or remove output_mode and keys",
            )


def not_incremental(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses a refresh policy that wants a view to follow its inputs when its query can only be computed in full."""
    for identifier, view in graph.tables.items():
        if not isinstance(view, MaterializedView) or not view.refresh_policy.incremental:
            continue
        for flow in graph.flows_to(identifier):
            schema = graph.stored_schemas.get(identifier)
            why = full_only(view, flow, constrained=schema is not None and schema.constrained)
            if why:
                yield flow.declaration.error(
                    "MATERIALIZED_VIEW_NOT_INCREMENTAL", name=identifier, policy=view.refresh_policy.value, reason=why
                )


def update_keys_differ(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Reports update flows into one table whose keys, declared or found in their queries, differ."""
    for identifier in graph.tables:
        updating = [flow for flow in graph.flows_to(identifier) if flow.keys is not None]
        for first, flow in pairwise(updating):
            if _folded_keys(first) != _folded_keys(flow):
                left, right = (", ".join(_folded_keys(each)) or "none" for each in (first, flow))
                yield disagreement(identifier, "the keys", (first.declaration, left), (flow.declaration, right))


def _folded_keys(flow: ResolvedFlow) -> list[str]:
    return sorted(key.casefold() for key in (flow.keys.columns if flow.keys is not None else ()))


def applied_changes_differ(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses flows into one target whose keys, sequences or partial updates differ: events could not be compared."""
    for identifier in graph.tables:
        flows = [flow for flow in graph.flows_to(identifier) if flow.changes is not None]
        for flow in flows[1:]:
            first, other = flows[0].changes, flow.changes
            assert first is not None
            assert other is not None
            for what, left, right in _differences(first, other):
                yield disagreement(identifier, what, (flows[0].declaration, left), (flow.declaration, right))


def _differences(first: AppliedChanges, other: AppliedChanges) -> Iterator[tuple[str, str, str]]:
    pairs = (
        ("the keys", first.keys, other.keys),
        ("the type of the sequence", (first.sequence_type,), (other.sequence_type,)),
        ("the columns whose NULLs are ignored", first.ignoring, other.ignoring),
        ("whether events name the columns that they update", _answer(first.partial), _answer(other.partial)),
    )
    for what, left, right in pairs:
        if {each.casefold() for each in left} != {each.casefold() for each in right}:
            yield what, ", ".join(left) or "none", ", ".join(right) or "none"


def _answer(given: bool) -> tuple[str]:
    return ("columns_to_update",) if given else ("none",)
