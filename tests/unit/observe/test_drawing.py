from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from tests.projected import projected
from tests.recorded.build import RECORDED

from penstock.events import EventReader, FlowStatus
from penstock.observe.drawing import to_mermaid, to_svg, to_terminal
from penstock.observe.drawing.layering import Bend, arrange, crossings
from penstock.observe.drawing.placement import vertical_centres
from penstock.observe.lineage import Lineage, LineageEdge, LineageNode, LineageProjection, NodeKind, source_node

_SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</svg><script>alert(1)</script>\"'&\x1b[31m\nname"


def _node(name: str, kind: NodeKind = NodeKind.STREAMING_TABLE, **numbers: object) -> LineageNode:
    return LineageNode(name, kind, name, **numbers)  # type: ignore[arg-type]


def _graph(*edges: tuple[str, str]) -> Lineage:
    names = dict.fromkeys(name for edge in edges for name in edge)
    return Lineage.of([_node(name) for name in names], [LineageEdge(*edge) for edge in edges])


def _hundred() -> Lineage:
    edges = [(f"layer{at}.table_number_{number}", f"layer{at + 1}.table_number_{number * 2 % 20}")
             for at in range(4) for number in range(20)]  # fmt: skip
    return _graph(*edges)


@pytest.fixture(scope="module")
def recorded() -> Lineage:
    return projected(LineageProjection(), EventReader(str(RECORDED)).poll()).lineage()


def test_terminal_draws_branches_joins_and_crossings() -> None:
    lineage = _graph(("a", "b"), ("a", "c"), ("b", "d"), ("b", "e"), ("c", "e"))
    rails = [line.split(" stream")[0].rstrip() for line in to_terminal(lineage).splitlines()[:5]]
    assert rails == ["● a", "├─● b", "│ ├─● d", "╰─│─● c", "  ╰─┴─● e"]


def test_terminal_tells_the_numbers_without_a_colour(recorded: Lineage) -> None:
    numbered = recorded.with_numbers({"shop.silver_orders": {"status": FlowStatus.FAILED, "rows": 12_345}})
    drawn = to_terminal(numbered)
    assert "\x1b" not in drawn
    assert "FAILED" in drawn
    assert "12.3k" in drawn


@pytest.mark.parametrize("width", [60, 80, 200])
def test_no_line_of_the_terminal_is_wider_than_asked(width: int) -> None:
    deep = _graph(*((f"a.rather_long_dataset_name_{at}", f"a.rather_long_dataset_name_{at + 1}") for at in range(60)))
    for lineage in (_hundred(), deep):
        drawn = to_terminal(lineage.with_numbers({node.name: {"status": FlowStatus.RUNNING, "rows": 10**9,
                                                             "rows_per_second": 1e5} for node in lineage.nodes}), width=width)  # fmt: skip # noqa: E501
        assert max(cell_len(line) for line in drawn.splitlines()) <= width
        assert sum("RUNNING" in line for line in drawn.splitlines()) == len(lineage.nodes)


def test_empty_graphs_draw() -> None:
    empty = Lineage.of([], [])
    assert to_terminal(empty) == ""
    assert to_mermaid(empty) == "flowchart LR\n"
    assert ET.fromstring(to_svg(empty)).tag == f"{_SVG}svg"


def test_names_cannot_leave_their_place() -> None:
    lineage = Lineage.of([_node(HOSTILE), source_node("kafka", HOSTILE)], [])
    svg = to_svg(lineage, link=lambda name: f"/datasets/{name}", embedded=True)
    root = ET.fromstring(svg)
    assert {element.tag.removeprefix(_SVG) for element in root.iter()} <= {
        "svg", "title", "desc", "defs", "marker", "path", "g", "a", "rect", "text",
    }  # fmt: skip
    assert "script>" not in svg
    mermaid = to_mermaid(lineage)
    assert "<script" not in mermaid
    assert all(line.count('"') in {0, 2} for line in mermaid.splitlines())
    terminal = to_terminal(lineage)
    assert "\x1b" not in terminal
    assert len(terminal.splitlines()) == 4


def test_svg_tells_a_screen_reader_what_it_shows(recorded: Lineage) -> None:
    numbered = recorded.with_numbers({"shop.silver_orders": {"status": FlowStatus.RUNNING, "rows": 7, "dropped": 2}})
    root = ET.fromstring(to_svg(numbered, link=lambda name: "/x", title="Lineage of orders"))
    assert root.get("role") == "group"
    titles = {element.get("id"): element.text for element in root if element.get("id")}
    assert titles["lineage-title"] == "Lineage of orders"
    assert "5 datasets and 1 external source, with 5 arrows" in str(titles["lineage-description"])
    labels = [link.get("aria-label") for link in root.iter(f"{_SVG}a")]
    assert "shop.silver_orders, streaming table, running, 7 rows, 2 dropped" in labels
    assert ET.fromstring(to_svg(numbered)).get("role") == "img"


def test_embedded_svg_has_no_inline_style(recorded: Lineage) -> None:
    assert "<style" in to_svg(recorded)
    embedded = to_svg(recorded, embedded=True)
    assert "<style" not in embedded
    assert " style=" not in embedded


def test_two_crossing_edges_are_untangled() -> None:
    lineage = Lineage.of(
        [_node(name) for name in "abcxyz"],
        [LineageEdge("a", "z"), LineageEdge("b", "y"), LineageEdge("c", "x")],
    )
    layering = arrange(lineage)
    assert crossings(layering.layers, layering.after) == 0


def test_a_source_stands_right_before_its_first_reader() -> None:
    late = source_node("kafka", "late")
    lineage = Lineage.of(
        [late, *(_node(name) for name in "abc")],
        [LineageEdge("a", "b"), LineageEdge("b", "c"), LineageEdge(late.name, "c")],
    )
    assert late.name in arrange(lineage).layers[1]


_edges = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("abcdefgh")), max_size=20)


@given(_edges)
@settings(max_examples=50)
def test_any_edges_are_drawn_even_cycles(edges: list[tuple[str, str]]) -> None:
    lineage = _graph(*edges)
    layering = arrange(lineage)
    level = {place: at for at, layer in enumerate(layering.layers) for place in layer}
    assert {node.name for node in lineage.nodes} == {place for place in level if not isinstance(place, Bend)}
    assert all(level[left] + 1 == level[right] for route in layering.routes.values() for left, right in pairwise(route))
    centres = vertical_centres(layering, lambda upper, lower: 10.0)
    for layer in layering.layers:
        assert all(centres[lower] - centres[upper] >= 10.0 - 1e-6 for upper, lower in pairwise(layer))
    ET.fromstring(to_svg(lineage))
    assert len(to_terminal(lineage).splitlines()) == (len(lineage.nodes) + 2 if lineage.nodes else 0)


@given(st.text(max_size=40))
@settings(max_examples=50)
def test_any_name_gives_wellformed_svg(name: str) -> None:
    ET.fromstring(to_svg(Lineage.of([_node(f"a.{name}"), source_node("f", name)], []), link=lambda each: "/" + each))
