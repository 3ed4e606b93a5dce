from __future__ import annotations

from pathlib import Path

from penstock.errors import SourceLocation
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import (
    EventHook,
    FormatSink,
    FunctionSink,
    StreamingTable,
    TemporaryView,
    UndecidedTable,
    UnresolvedFlow,
)
from penstock.graph.identifier import Identifier
from penstock.testing.fed_sources import FedSources
from penstock.testing.surroundings import Surroundings

PLACE = SourceLocation("shop.py")


def _id(name: str) -> Identifier:
    return Identifier("shop", name)


def test_nothing_of_the_pipeline_writes_outside_of_the_test(tmp_path: Path) -> None:
    flow = UnresolvedFlow(name="raw", target=_id("raw"), function=lambda: None, location=PLACE)
    called = FunctionSink(identifier=_id("called"), location=PLACE, function=lambda rows, batch: None)
    graph = DataflowGraph.of(
        [
            StreamingTable(identifier=_id("raw"), location=PLACE, path="/lake/raw"),
            UndecidedTable(identifier=_id("silver"), location=PLACE, path="/lake/silver"),
            TemporaryView(identifier=_id("seen"), location=PLACE, function=lambda: None),
        ],
        [flow],
        sinks=[FormatSink(identifier=_id("alerts"), location=PLACE, format="kafka", options={"topic": "t"}), called],
        event_hooks=[EventHook("mail", print, PLACE)],
        refused=[_id("refused")],
        incomplete=True,
    )
    surroundings = Surroundings(FedSources(tmp_path, (), "shop", {}), tmp_path / "sinks")
    kept = surroundings.targets(graph)
    assert [table.path for table in kept.tables] == [None, None]
    assert list(kept.datasets) == list(graph.datasets)
    assert [type(sink) for sink in kept.declared_sinks] == [FunctionSink, FunctionSink]
    assert kept.sinks[_id("called")] is called
    assert (kept.flows, kept.event_hooks, kept.refused, kept.incomplete) == ((flow,), (), graph.refused, True)
    assert surroundings.sink(_id("Alerts")) == str(tmp_path / "sinks/shop.alerts")
