"""How much state flows keep, from the events of their batches."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from penstock.events import BatchProgress, Event, EventType, Level, Origin, builders
from penstock.events.flows.state_size import StateGrowth, StateSize, state_sizes


def _batch(number: int, rows: int | None, flow: str = "Hourly") -> Event:
    progress = BatchProgress(number, 1, 1, state_rows=rows, state_bytes=None if rows is None else rows * 100)
    message, details = builders.flow_batch(flow, progress)
    origin = Origin("shop", "u", dataset_name="shop.Hourly", flow_name=flow)
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return Event(f"{flow}{number}", number, at, origin, Level.METRICS, EventType.FLOW_PROGRESS, message, details)


def test_what_the_newest_batch_kept_and_how_it_grew() -> None:
    events = [_batch(0, 10), _batch(1, 30), _batch(2, None), _batch(3, 16), _batch(7, 5, "other"), _batch(8, None, "n")]
    assert state_sizes(events) == {
        ("shop.hourly", "hourly"): StateSize(16, 1600, 2, 3.0),
        ("shop.hourly", "other"): StateSize(5, 500),
    }


def test_a_flow_that_began_anew_forgets_what_was_before() -> None:
    assert state_sizes([_batch(4, 90), _batch(5, 99), _batch(0, 1), _batch(1, 3)]) == {
        ("shop.hourly", "hourly"): StateSize(3, 300, 1, 2.0)
    }


def test_a_plan_says_so() -> None:
    assert StateSize(12_345, 5_600_000).describe() == "12,345 rows of state, 5.6 MB in memory"
    assert StateSize(5, 0, 8, -2.4).describe().endswith("0.0 MB in memory, 2 fewer with each of the last 8 batches")
    assert StateSize(1, 0, 1, 20.0).describe() == "1 row of state, 0.0 MB in memory, 20 more with the last batch"


def test_batches_that_span_an_hour_tell_the_growth_of_a_day() -> None:
    growth, start = StateGrowth(), datetime(2026, 1, 1, tzinfo=UTC)
    growth.add(start, BatchProgress(0, 1, 1, state_rows=100, state_bytes=8_000_000))
    growth.add(start + timedelta(minutes=59), BatchProgress(1, 1, 1, state_rows=150, state_bytes=9_000_000))
    assert growth.size == StateSize(150, 9_000_000, 1, 50.0)
    growth.add(start + timedelta(hours=12), BatchProgress(2, 1, 1, state_rows=1_100, state_bytes=9_000_000))
    assert growth.size is not None
    assert growth.size.describe() == (
        "1,100 rows of state, 9.0 MB in memory, 500 more with each of the last 2 batches, +2,000 a day"
    )
