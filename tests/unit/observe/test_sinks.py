"""A sink in the projections of the log: lineage, drawings, status, definitions, `show`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.projected import projected

from penstock.errors import ConfigError
from penstock.events import BatchProgress, Event, EventLog, EventType, builders, read_events
from penstock.observe.definitions import DefinitionProjection
from penstock.observe.drawing import to_mermaid, to_svg, to_terminal
from penstock.observe.lineage import LineageEdge, LineageProjection, NodeKind
from penstock.observe.status.pipeline_status import project_status
from penstock.observe.stored.tables import find_table

OUT, ORDERS = "shop.out", "shop.orders"


def _log(storage: Path, sink_format: str = "kafka") -> list[Event]:
    """The events of an update in which two flows of one table go to a sink."""
    with EventLog.open(str(storage), pipeline_name="shop", update_id="u-1") as log:
        log.append(
            EventType.DATASET_DEFINITION,
            *builders.dataset_definition(ORDERS, dataset_type="STREAMING_TABLE"),
            dataset=ORDERS,
        )
        built = builders.sink_definition(
            OUT,
            sink_format=sink_format,
            options={"topic": "t", "password": "hunter2"},
            inputs=[ORDERS],
            location="a.py:3",
        )
        log.append(EventType.SINK_DEFINITION, *built, dataset=OUT)
        for flow, rows in (("low", 3), ("high", 4)):
            definition = builders.flow_definition(flow, output_dataset=OUT, flow_type="append", input_datasets=[ORDERS])
            log.append(EventType.FLOW_DEFINITION, *definition, dataset=OUT, flow=flow)
            batch = BatchProgress(batch_id=0, num_input_rows=rows, num_output_rows=rows)
            log.append(EventType.FLOW_PROGRESS, *builders.flow_batch(flow, batch), dataset=OUT, flow=flow)
    return list(read_events(str(storage)))


def test_lineage_and_its_drawings(tmp_path: Path) -> None:
    events = _log(tmp_path)
    lineage = projected(LineageProjection(), events).lineage().with_status(project_status(events))
    node = lineage.node(OUT)
    assert node is not None
    assert (node.kind, node.detail, node.kind_in_words, node.rows) == (NodeKind.SINK, "kafka", "kafka sink", 7)
    assert lineage.edges == (LineageEdge(ORDERS, OUT),)
    assert "kafka sink" in to_terminal(lineage, width=100)
    assert "▷" in to_terminal(lineage, width=100)
    assert '[/"shop.out<br>kafka sink' in to_mermaid(lineage)
    assert "kafka sink" in to_svg(lineage)


def test_a_format_too_long_for_a_line_is_a_sink(tmp_path: Path) -> None:
    text = to_terminal(projected(LineageProjection(), _log(tmp_path, "foreach_batch")).lineage(), width=80)
    assert next(line for line in text.splitlines() if "out" in line).rstrip().endswith("sink")


def test_status_adds_the_flows_up(tmp_path: Path) -> None:
    status = project_status(_log(tmp_path)).dataset(OUT)
    assert status is not None
    assert (status.type, status.rows) == ("SINK", 7)


def test_its_definition(tmp_path: Path) -> None:
    projection = DefinitionProjection()
    for event in _log(tmp_path):
        projection.apply(event)
    assert (projection.of(OUT).type, projection.of(OUT).location) == ("SINK", "a.py:3")
    assert not any("hunter2" in segment.read_text() for segment in (tmp_path / "events").iterdir())


def test_its_rows_cannot_be_shown(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        find_table(str(tmp_path), "OUT", default_schema="shop", events=_log(tmp_path))
    assert refused.value.condition == "SINK_NOT_READABLE"
