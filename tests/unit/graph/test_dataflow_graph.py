"""Look-ups in the declared graph, and the facts of the structural rules' errors."""

from __future__ import annotations

from penstock.errors import SourceLocation
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import Dataset, EventHook, FormatSink, StreamingTable, TemporaryView, UnresolvedFlow
from penstock.graph.identifier import DefaultSchema, Identifier
from penstock.graph.rules import check


def _place(line: int) -> SourceLocation:
    return SourceLocation("p.py", line)


def _table(name: str, line: int = 1) -> StreamingTable:
    return StreamingTable(identifier=Identifier("shop", name), location=_place(line))


def _flow(name: str, target: str, line: int = 9) -> UnresolvedFlow:
    return UnresolvedFlow(name=name, target=Identifier("shop", target), function=lambda: None, location=_place(line))


def _facts(datasets: list[Dataset], flows: list[UnresolvedFlow]) -> list[tuple[str, dict[str, str]]]:
    return [(error.condition, error.facts) for error in check(DataflowGraph.of(datasets, flows))]


def test_lookup_ignores_case_and_the_pipelines_own_catalog() -> None:
    orders = _table("Orders")
    graph = DataflowGraph.of([orders], [])
    for name in ("orders", "LIVE.ORDERS", "Shop.orders", "main.SHOP.Orders", "`MAIN`.shop.orders"):
        assert graph.find(name, default_schema=DefaultSchema("shop", "main")) is orders
    for schema in ("shop", DefaultSchema("shop"), DefaultSchema("shop", "raw")):
        assert graph.find("main.shop.orders", default_schema=schema) is None
    assert graph.find("orders", default_schema="other") is None
    assert graph.get(Identifier("SHOP", "ORDERS")) is orders


def test_the_first_declaration_wins_and_all_are_kept() -> None:
    first, second = _table("a", 1), _table("A", 2)
    graph = DataflowGraph.of([first, second], [])
    assert graph.declared == (first, second)
    assert graph.tables == (first,)


def test_views_and_flows() -> None:
    view = TemporaryView(identifier=Identifier("shop", "v"), location=_place(3), function=lambda: None)
    flows = [_flow("b", "t"), _flow("a", "T"), _flow("c", "u")]
    graph = DataflowGraph.of([_table("t"), view], flows)
    assert graph.views == (view,)
    assert graph.flows_to(Identifier("shop", "t")) == (flows[0], flows[1])
    assert graph.flows_to(view.identifier) == ()


def test_duplicate_names_both_places() -> None:
    assert _facts([_table("a", 1), _table("a", 2)], [_flow("f", "a", 5), _flow("F", "a", 6)]) == [
        ("DUPLICATE_GRAPH_ELEMENT", {"kind": "dataset", "name": "shop.a", "first": "p.py:1", "second": "p.py:2"}),
        ("DUPLICATE_GRAPH_ELEMENT", {"kind": "flow", "name": "F", "first": "p.py:5", "second": "p.py:6"}),
    ]


def test_unknown_target_suggests_a_name() -> None:
    assert _facts([_table("orders")], [_flow("f", "orders"), _flow("g", "order")]) == [
        (
            "FLOW_TARGET_UNKNOWN",
            {"flow": "g", "target": "shop.order", "suggestion": "Did you mean 'orders'?"},
        )
    ]


def test_what_was_refused_is_not_reported_as_missing() -> None:
    sink = Identifier("shop", "sink")
    graph = DataflowGraph.of([_table("a")], [_flow("f", "sink")], refused=[sink, Identifier("shop", "a")])
    assert check(graph) == ()


def test_an_incomplete_graph_proves_no_absence() -> None:
    assert check(DataflowGraph.of([], [_flow("f", "t")], incomplete=True)) == ()
    assert check(DataflowGraph.of([_table("a")], [], incomplete=True)) == ()


def test_empty_pipeline() -> None:
    assert _facts([], []) == [("RUN_EMPTY_PIPELINE", {})]


def test_an_extended_graph_keeps_what_was_declared() -> None:
    sink = FormatSink(identifier=Identifier("shop", "out"), location=_place(3), format="kafka", options={})
    first = _table("a", 1)
    hook = EventHook("tell", lambda event: None, _place(4))
    graph = DataflowGraph.of(
        [first],
        [_flow("a", "a")],
        sinks=[sink],
        refused=[Identifier("shop", "b")],
        incomplete=True,
        event_hooks=[hook],
    )
    more = graph.extended([_table("c", 2), _table("A", 3)], [_flow("c", "c")])
    assert [dataset.identifier.name for dataset in more.declared] == ["a", "c", "A"]
    assert more.get(Identifier("shop", "a")) is first
    assert [flow.name for flow in more.flows] == ["a", "c"]
    assert (more.sinks, more.refused, more.incomplete) == (graph.sinks, graph.refused, True)
    assert list(more.sinks.values()) == [sink]
    assert more.event_hooks == (hook,)
