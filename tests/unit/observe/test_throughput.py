from __future__ import annotations

from typing import Any

from tests.unit.observe.story import Story

from penstock.observe.flows.throughput import FlowThroughput, ThroughputProjection

T = "s.t"


def throughput_of(story: Story) -> FlowThroughput:
    projection = ThroughputProjection()
    for event in story.events:
        projection.apply(event)
    (found,) = projection.of("S.T")
    return found


def told(*batches: dict[str, Any], rows: int = 100) -> FlowThroughput:
    story = Story()
    story.update("u1")
    for batch_id, numbers in enumerate(batches):
        story.batch(T, batch_id, rows, **numbers)
    return throughput_of(story)


def rates(arrived: float | None, done: float | None) -> dict[str, Any]:
    return {"input_rows_per_second": arrived, "processed_rows_per_second": done}


def test_rows_per_second_weighs_batches_by_their_time() -> None:
    story = Story()
    story.update("u1")
    story.batch(T, 0, 100, batch_duration_ms=1000)
    story.batch(T, 1, 300, batch_duration_ms=3000)
    story.batch(T, 2, 900)
    found = throughput_of(story)
    assert (found.dataset, found.flow, found.batches, found.rows_per_second) == (T, "t", 3, 100.0)


def test_a_growing_backlog_is_falling_behind_whatever_the_rates_say() -> None:
    found = told(*({"backlog_records": amount, **rates(1, 5)} for amount in (100, 150, 200)))
    assert found.falling_behind == "the backlog grew from 100 to 200 rows in 3 batches"
    assert found.drain_seconds is None
    first = told(*({"backlog_files": amount} for amount in (0, 1, 2)))
    assert first.falling_behind == "the backlog grew from 0 to 2 files in 3 batches"


def test_a_steady_or_shrinking_backlog_is_not() -> None:
    assert told(*({"backlog_records": 100, **rates(9, 1)} for _ in range(5))).falling_behind is None
    found = told(*({"backlog_records": amount} for amount in (300, 200, 100)))
    assert (found.falling_behind, found.drain_seconds) == (None, 1.0)  # 200 rows in 2 s, 100 left
    assert told(*({"backlog_bytes": amount} for amount in (9, 5, 0))).drain_seconds == 0.0


def test_without_a_backlog_three_batches_in_a_row_decide() -> None:
    behind = told(rates(200, 100), rates(200, 100), rates(200, 150))
    assert behind.falling_behind == "rows arrive at 200/s and are processed at 150/s"
    assert behind.drain_seconds is None
    assert told(rates(200, 100), rates(100, 100), rates(200, 100)).falling_behind is None
    assert told(rates(200, 100), rates(200, 100)).falling_behind is None
    assert told(rates(105, 100), rates(105, 100), rates(105, 100)).falling_behind is None
    assert told(rates(None, None), rates(200, 100), rates(200, 100)).falling_behind is None
    assert told(*([rates(200, 100)] * 5), rows=0).falling_behind is None


def test_a_new_update_starts_over() -> None:
    story = Story()
    story.update("u1")
    for batch_id in range(4):
        story.batch(T, batch_id, 10, **rates(200, 100))
    assert throughput_of(story).falling_behind is not None
    story.update("u2")
    story.batch(T, 4, 10, **rates(200, 100))
    assert (throughput_of(story).batches, throughput_of(story).falling_behind) == (1, None)
