"""A view with quarantining expectations gets a table for their rows, and a flow that fills it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.graph.companions.quarantine import quarantine_of
from penstock.graph.companions.quarantining import has_quarantine
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import TemporaryView, UndecidedTable, UnresolvedFlow
from penstock.spark.expectations.quarantine import quarantine_rows


def with_view_quarantines(graph: DataflowGraph) -> DataflowGraph:
    """Adds `<view>__quarantine` for each view that quarantines rows, whoever reads the view.

    A view is part of the queries that read it, perhaps of several, and they may aggregate or join its
    rows: none of them can quarantine a row of the view once. So the table has a flow of its own, which
    calls the view's function and keeps what the readers leave out.
    """
    views = tuple(_views(graph))
    tables = [
        UndecidedTable(
            identifier=quarantine_of(view.identifier),
            location=view.location,
            comment=f"Rows of the view {view.identifier} that break an expectation",
            spark_conf=view.spark_conf,
        )
        for view in views
    ]
    flows = [
        UnresolvedFlow(
            name=table.identifier.name,
            target=table.identifier,
            function=_query(view),
            location=view.location,
            spark_conf=view.spark_conf,
        )
        for view, table in zip(views, tables, strict=True)
    ]
    return graph.extended(tables, flows)


def view_behind(graph: DataflowGraph, flow: UnresolvedFlow) -> TemporaryView | None:
    """Returns the view whose quarantine the flow fills, or None."""
    return next((view for view in _views(graph) if quarantine_of(view.identifier) == flow.target), None)


def _views(graph: DataflowGraph) -> Iterator[TemporaryView]:
    return (view for view in graph.views if has_quarantine(view))


def _query(view: TemporaryView) -> Callable[[], Any]:
    return lambda: quarantine_rows(view.function(), view.expectations, dataset=view.identifier)
