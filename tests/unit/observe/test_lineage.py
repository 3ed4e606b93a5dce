from __future__ import annotations

from collections.abc import Iterable

from tests.projected import projected
from tests.recorded.build import RECORDED, SECOND_UPDATE

from penstock.errors import SourceLocation
from penstock.events import Event, EventReader, FlowStatus
from penstock.graph.elements import MaterializedView, StreamingTable, TemporaryView, UnresolvedFlow
from penstock.graph.flows.flow_type import FlowType
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import Input, ResolvedFlow, ResolvedGraph, ResolvedView
from penstock.graph.schema.table_schema import Schema
from penstock.observe.lineage import (
    Lineage,
    LineageEdge,
    LineageNode,
    LineageProjection,
    NodeKind,
    lineage_of_graph,
    source_node,
)
from penstock.observe.status.pipeline_status import project_status


def lineage_in(events: list[Event]) -> Lineage:
    return projected(LineageProjection(), events).lineage()


def _recorded() -> list[Event]:
    return EventReader(str(RECORDED)).poll()


def _node(name: str, kind: NodeKind = NodeKind.STREAMING_TABLE) -> LineageNode:
    return LineageNode(name, kind, name)


def _pairs(lineage: Lineage) -> set[tuple[str, str]]:
    return {(edge.upstream, edge.downstream) for edge in lineage.edges}


def test_the_recorded_pipeline() -> None:
    lineage = lineage_in(_recorded())
    assert {node.name: node.kind for node in lineage.nodes} == {
        "shop.bronze_orders": NodeKind.STREAMING_TABLE,
        "shop.paid_orders": NodeKind.VIEW,
        "shop.silver_orders": NodeKind.STREAMING_TABLE,
        "shop.hourly_revenue": NodeKind.STREAMING_TABLE,
        "shop.revenue_report": NodeKind.MATERIALIZED_VIEW,
        "cloudFiles ./data/orders": NodeKind.SOURCE,
    }
    assert _pairs(lineage) == {
        ("cloudFiles ./data/orders", "shop.bronze_orders"),
        ("shop.bronze_orders", "shop.paid_orders"),
        ("shop.paid_orders", "shop.silver_orders"),
        ("shop.silver_orders", "shop.hourly_revenue"),
        ("shop.hourly_revenue", "shop.revenue_report"),
    }


def test_a_dataset_that_the_newest_update_no_longer_defines_is_gone() -> None:
    def without_report(events: Iterable[Event]) -> list[Event]:
        return [
            event
            for event in events
            if event.origin.update_id != SECOND_UPDATE or event.origin.dataset_name != "shop.revenue_report"
        ]

    assert lineage_in(without_report(_recorded())).node("shop.revenue_report") is None


def test_an_update_that_defines_nothing_keeps_the_drawing() -> None:
    events = [event for event in _recorded() if event.event_type.value != "dataset_definition"]
    events = [event for event in events if event.event_type.value != "flow_definition"]
    assert lineage_in([*_recorded(), *events]) == lineage_in(_recorded())


def test_edges_that_cannot_be_drawn_are_left_out() -> None:
    lineage = Lineage.of(
        [_node("a.x"), _node("a.y")],
        [LineageEdge("a.x", "a.y"), LineageEdge("a.x", "a.x"), LineageEdge("gone", "a.y"), LineageEdge("a.x", "a.y")],
    )
    assert _pairs(lineage) == {("a.x", "a.y")}


def test_edges_name_datasets_in_any_case() -> None:
    lineage = Lineage.of([_node("shop.Orders"), _node("shop.gold")], [LineageEdge("SHOP.orders", "shop.GOLD")])
    assert _pairs(lineage) == {("shop.Orders", "shop.gold")}


def test_around_keeps_direct_neighbours_only() -> None:
    lineage = lineage_in(_recorded()).around("shop.silver_orders")
    assert [node.name for node in lineage.nodes] == ["shop.paid_orders", "shop.silver_orders", "shop.hourly_revenue"]


def test_numbers_of_the_status() -> None:
    events = _recorded()
    silver = lineage_in(events).with_status(project_status(events)).node("shop.silver_orders")
    assert silver is not None
    assert silver.status is FlowStatus.COMPLETED
    assert (silver.rows, silver.dropped) == (23_701, 210)


def test_the_schema_is_shown_only_when_there_are_two() -> None:
    one = Lineage.of([_node("shop.a"), source_node("kafka", "x.y")], [])
    two = Lineage.of([_node("shop.a"), _node("raw.b")], [])
    assert list(one.short_labels().values()) == ["a", "x.y"]
    assert list(two.short_labels().values()) == ["shop.a", "raw.b"]


def test_a_graph_that_never_ran() -> None:
    where = SourceLocation("a.py", 1)
    schema = Schema('{"fields": []}')
    bronze, view, gold = (Identifier("shop", name) for name in ("bronze", "v", "gold"))

    def flow(target: Identifier, kind: FlowType, *inputs: Input) -> ResolvedFlow:
        return ResolvedFlow(
            UnresolvedFlow(name=target.name, target=target, function=dict, location=where), kind, schema, True, inputs
        )

    graph = ResolvedGraph(
        tables={
            bronze: StreamingTable(identifier=bronze, location=where),
            gold: MaterializedView(identifier=gold, location=where),
        },
        views={
            view: ResolvedView(
                TemporaryView(identifier=view, location=where, function=dict),
                schema,
                True,
                (Input("delta", "shop.bronze", True, dataset=bronze),),
            )
        },
        flows=(
            flow(bronze, FlowType.APPEND, Input("kafka", "orders", True), Input("kafka", "orders", True)),
            flow(gold, FlowType.MATERIALIZED_VIEW, Input("view", "v", False, dataset=Identifier("SHOP", "V"))),
        ),
        order=(bronze, view, gold),
        stored_schemas={},
    )
    lineage = lineage_of_graph(graph)
    assert _pairs(lineage) == {("kafka orders", "shop.bronze"), ("shop.bronze", "shop.v"), ("shop.v", "shop.gold")}
    assert [node.kind for node in lineage.nodes if node.name == "shop.v"] == [NodeKind.VIEW]
