from __future__ import annotations

from tests.projected import projected
from tests.recorded.build import RECORDED
from tests.unit.observe.story import Story

from penstock.events import FlowStatus, read_events
from penstock.observe.quality import ExpectationQuality, QualityProjection
from penstock.observe.status.pipeline_status import project_status

T = "s.t"


def quality_of(story: Story, dataset: str = T) -> ExpectationQuality:
    (found,) = projected(QualityProjection(), story.events).of(dataset)
    return found


def test_totals_are_those_of_the_status() -> None:
    events = list(read_events(str(RECORDED)))
    for dataset in project_status(events).datasets:
        shown = [(check.name, check.passed, check.failed, check.action) for check in dataset.expectations]
        found = projected(QualityProjection(), events).of(dataset.name)
        assert [(check.name, check.passed, check.failed, check.action) for check in found] == shown
    silver = projected(QualityProjection(), events).of("SHOP.silver_orders")
    assert [len(check.points) for check in silver] == [12] * 4
    assert 0.99 < silver[0].passed / (silver[0].passed + silver[0].failed) < 1


def test_first_and_last_failure() -> None:
    story = Story()
    story.update("u1")
    times = []
    for batch_id, failed in enumerate([0, 2, 0, 1, 0]):
        story.batch(T, batch_id, 10, failed=failed)
        times.append(story.clock.now())
    quality = quality_of(story)
    assert (quality.first_failure_at, quality.last_failure_at) == (times[1], times[3])
    assert [point.failed for point in quality.points] == [0, 2, 0, 1, 0]
    assert (quality.passed, quality.failed) == (47, 3)


def test_nothing_failed_and_nothing_checked() -> None:
    story = Story()
    story.update("u1")
    assert projected(QualityProjection(), story.events).of(T) == ()
    story.batch(T, 0, 0)
    quality = quality_of(story)
    assert (quality.passed, quality.failed, quality.first_failure_at) == (0, 0, None)


def test_repeated_and_refreshed_batches_count_as_in_the_status() -> None:
    story = Story()
    story.update("u1")
    story.batch(T, 0, 10, failed=1)
    story.batch(T, 0, 10, failed=2)
    assert (quality_of(story).passed, quality_of(story).failed, len(quality_of(story).points)) == (8, 2, 1)
    story.update("u2", full_refresh="all")
    story.status(T, FlowStatus.STARTING)
    assert projected(QualityProjection(), story.events).of(T) == ()
    story.batch(T, 0, 5)
    assert (quality_of(story).passed, quality_of(story).failed) == (5, 0)


def test_a_materialized_view_counts_its_last_refresh_and_keeps_the_points() -> None:
    story = Story()
    for rows in (10, 20):
        story.update(f"u{rows}")
        story.dataset(T, "MATERIALIZED_VIEW")
        story.batch(T, 0, rows, failed=1)
    quality = quality_of(story)
    assert (quality.passed, quality.failed) == (19, 1)
    assert [(point.update_id, point.passed) for point in quality.points] == [("u10", 9), ("u20", 19)]


def test_flows_into_one_table_are_merged_by_time() -> None:
    story = Story()
    story.update("u1")
    story.batch(T, 0, 10)
    story.batch(T, 0, 5, flow="more", failed=1)
    story.batch(T, 1, 1)
    quality = quality_of(story)
    assert (quality.passed, quality.failed) == (15, 1)
    assert [point.passed for point in quality.points] == [10, 4, 1]
