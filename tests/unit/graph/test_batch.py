"""A declared pipeline as one batch."""

from __future__ import annotations

from penstock.errors import SourceLocation
from penstock.graph.batch import OF_A_BATCH_RUN, as_batch
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import (
    RESET_ALLOWED,
    Dataset,
    FunctionSink,
    MaterializedView,
    OutputMode,
    SnapshotChangeFlow,
    StreamingTable,
    TemporaryView,
    UndecidedTable,
    UnresolvedFlow,
)
from penstock.graph.identifier import Identifier

_PLACE = SourceLocation("orders.py", 3)


def _named(name: str) -> Identifier:
    return Identifier("shop", name)


def _flow(name: str, target: str, *, updates: bool = False) -> UnresolvedFlow:
    return UnresolvedFlow(name=name, target=_named(target), function=lambda: None, location=_PLACE, updates=updates)


def _graph() -> DataflowGraph:
    kept = {RESET_ALLOWED: "false", "delta.appendOnly": "true"}
    datasets: list[Dataset] = [
        StreamingTable(identifier=_named("orders"), location=_PLACE, table_properties=kept, path="/lake/orders"),
        StreamingTable(identifier=_named("history"), location=_PLACE),
        UndecidedTable(identifier=_named("one"), location=_PLACE, output_mode=OutputMode.UPDATE, keys=("id",)),
        UndecidedTable(identifier=_named("two"), location=_PLACE),
        MaterializedView(identifier=_named("view"), location=_PLACE),
        TemporaryView(identifier=_named("temporary"), location=_PLACE, function=lambda: None),
    ]
    snapshots = SnapshotChangeFlow(
        name="s", target=_named("history"), function=lambda: None, location=_PLACE, keys=("id",), scd_type=2
    )
    flows = [
        _flow("a", "orders", updates=True),
        _flow("b", "orders"),
        _flow("one", "one"),
        _flow("two", "two"),
        _flow("more", "two"),
        _flow("view", "view"),
        _flow("out", "sink"),
        snapshots,
    ]
    sink = FunctionSink(identifier=_named("sink"), location=_PLACE, function=lambda rows, batch: None)
    return DataflowGraph.of(datasets, flows, sinks=[sink])


def test_flows_into_streaming_tables_run_once() -> None:
    batch = as_batch(_graph())
    once = {flow.name: flow.once for flow in batch.flows}
    assert once == {"a": True, "b": True, "one": False, "two": True, "more": True, "view": False, "s": False}
    assert not any(flow.updates for flow in batch.flows)


def test_nothing_leads_out_of_the_storage() -> None:
    batch = as_batch(_graph())
    assert batch.sinks == {}
    assert [table.path for table in batch.tables] == [None] * 5
    orders = next(table for table in batch.tables if table.identifier.name == "orders")
    assert orders.table_properties == {"delta.appendOnly": "true", OF_A_BATCH_RUN: "true"}


def test_tables_that_no_stream_may_fill_are_marked() -> None:
    batch = as_batch(_graph())
    marked = {table.identifier.name for table in batch.tables if OF_A_BATCH_RUN in table.table_properties}
    assert marked == {"orders", "history", "two"}, "the others turn out to be materialized views, which no stream fills"
    assert all((table.output_mode, table.keys) == (None, ()) for table in batch.tables)
    assert [view.identifier.name for view in batch.views] == ["temporary"]
