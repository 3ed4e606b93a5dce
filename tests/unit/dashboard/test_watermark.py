"""A watermark that stands still, on the pages."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.dashboard.conftest import client_of

from penstock.errors import DataError
from penstock.events import (
    BatchProgress,
    EventLog,
    EventType,
    FlowStatus,
    Lateness,
    Level,
    WatermarkState,
    WatermarkStatus,
    builders,
)

DATASET = "shop.hours"


@pytest.mark.parametrize("moves", [False, True])
def test_the_warning_is_shown_until_the_watermark_moves(storage: str, moves: bool) -> None:
    mark, newest = "2026-01-01T00:00:00.000Z", "2026-01-01T08:00:00.000Z"
    facts: dict[str, Any] = {
        "flow": "hours",
        "watermark": mark,
        "newest": newest,
        "cause": "'b' delivered nothing",
        "name": DATASET,
    }
    error = DataError("WATERMARK_HELD_BACK", dataset=DATASET, **facts)
    with EventLog.open(storage, pipeline_name="p", update_id="u1") as log:
        log.append(EventType.CREATE_UPDATE, *builders.create_update(pipeline="p", cause="USER_ACTION", version="1"))
        definition = builders.dataset_definition(DATASET, dataset_type="STREAMING_TABLE")
        log.append(EventType.DATASET_DEFINITION, *definition, dataset=DATASET)
        stand = builders.watermark("hours", WatermarkStatus(WatermarkState.HELD_BACK, mark, newest, 4, ("b",)))
        log.append(EventType.WATERMARK, *stand, dataset=DATASET, flow="hours", level=Level.WARN, error=error)
        if moves:
            again = builders.watermark("hours", WatermarkStatus(WatermarkState.MOVING, newest, newest, 0))
            log.append(EventType.WATERMARK, *again, dataset=DATASET, flow="hours", level=Level.INFO)
    client = client_of(storage)
    for page in ("/", f"/datasets/{DATASET}"):
        text = client.get(page).text
        assert ('class="trouble warning"' in text) is not moves, page
    assert "WATERMARK_HELD_BACK" in client.get(f"/datasets/{DATASET}").text, "among the latest events, also afterwards"


def test_the_flow_page_says_why_lateness_is_not_measured(storage: str) -> None:
    reason = "it joins two streams, and predicates of the join would not get past the counting"
    with EventLog.open(storage, pipeline_name="p", update_id="u1") as log:
        log.append(EventType.CREATE_UPDATE, *builders.create_update(pipeline="p", cause="USER_ACTION", version="1"))
        definition = builders.dataset_definition(DATASET, dataset_type="STREAMING_TABLE")
        log.append(EventType.DATASET_DEFINITION, *definition, dataset=DATASET)
        for flow in ("hours", "more"):
            told = builders.flow_definition(
                flow, output_dataset=DATASET, flow_type="append", watermark=("at", "1 hour")
            )
            log.append(EventType.FLOW_DEFINITION, *told, dataset=DATASET, flow=flow)
        running = builders.flow_status("hours", FlowStatus.RUNNING, lateness_not_measured=reason)
        log.append(EventType.FLOW_PROGRESS, *running, dataset=DATASET, flow="hours")
    client = client_of(storage)
    page = client.get(f"/flows/{DATASET}?flow=hours").text
    assert f"Not measured: {reason}." in page
    assert "rows measured" not in page
    assert "lateness-card" not in client.get(f"/flows/{DATASET}?flow=more").text, "of another flow"

    with EventLog.open(storage, pipeline_name="p", update_id="u2") as log:
        batch = BatchProgress(0, 9, 9, lateness=Lateness(9, 60_000))
        log.append(EventType.FLOW_PROGRESS, *builders.flow_batch("hours", batch), dataset=DATASET, flow="hours")
    page = client_of(storage).get(f"/flows/{DATASET}?flow=hours").text
    assert "9 rows measured" in page, "before the query was changed"
    assert f"Not measured any more: {reason}." in page

    with EventLog.open(storage, pipeline_name="p", update_id="u3") as log:
        many = Lateness(1_000_000, 60_000, 0, {0: 500, 60_000: 3})
        batch = BatchProgress(1, 1_000_000, 1_000_000, lateness=many)
        log.append(EventType.FLOW_PROGRESS, *builders.flow_batch("hours", batch), dataset=DATASET, flow="hours")
    enough = client_of(storage).get(f"/flows/{DATASET}?flow=hours").text
    assert "without a loss" in page
    assert "without a loss" not in enough
    assert '100 milliseconds <span class="badge good">Enough</span>' in enough
    assert '1 minute <span class="badge active">Now</span>' in enough
