"""Each rule over a log told line by line: when it finds something wrong, since when, and when it is well again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.unit.observe.story import Story

from penstock.alerts.finding import Finding
from penstock.alerts.watch import Watch, watch_over
from penstock.config import AlertSettings, TableAlerts
from penstock.errors import DataError, ExternalError, StateError
from penstock.events import (
    BatchAccounts,
    ClusterResources,
    ClusterState,
    EventType,
    FlowStatus,
    Level,
    MaintenanceProgress,
    UpdateState,
    WatermarkState,
    WatermarkStatus,
    builders,
)
from penstock.events.cluster import cluster_resources

T = "s.t"
MINUTE = timedelta(minutes=1)


def settings(**asked: Any) -> AlertSettings:
    return AlertSettings({"T": TableAlerts(**asked)})


def test_an_entry_is_of_the_table_in_its_catalog() -> None:
    story = Story()
    story.update("u1")
    for name in ("sales.orders", "silver.sales.orders", "sales.other"):
        story.dataset(name)
        story.flow(name, flow="orders")
    story.state(UpdateState.RUNNING)

    def stale(*entries: str) -> set[str | None]:
        asked = AlertSettings({name: TableAlerts(freshness=60.0) for name in entries}).within("bronze")
        assert watch_over(story.events, asked).unknown_tables() == []
        return {each.dataset for each in wrong(story, asked, 2 * MINUTE)}

    for own in ("bronze.sales.orders", "Bronze.`sales`.Orders", "sales.orders", "orders"):
        assert stale(own) == {"sales.orders"}
    assert stale("silver.Sales.orders") == {"silver.sales.orders"}
    assert stale("*") == {"sales.orders", "silver.sales.orders", "sales.other"}
    unknown = AlertSettings({"copper.sales.orders": TableAlerts(freshness=60.0)}).within("bronze")
    [error] = watch_over(story.events, unknown).unknown_tables()
    assert error.condition == "ALERT_TABLE_UNKNOWN"


def begun(update: str = "u1") -> Story:
    story = Story()
    story.update(update)
    define(story)
    return story


def define(story: Story) -> None:
    story.dataset(T, expectations=[("ok", "x > 0", "drop")])
    story.flow(T)
    story.state(UpdateState.RUNNING)


def wrong(story: Story, asked: AlertSettings, after: timedelta = timedelta()) -> list[Finding]:
    return [each for each in all_of(story, asked, after) if each.error is not None]


def all_of(story: Story, asked: AlertSettings, after: timedelta = timedelta()) -> list[Finding]:
    return watch_over(story.events, asked).findings(story.clock.now() + after)


def condition(findings: Sequence[Finding]) -> tuple[str, str | None, datetime]:
    (found,) = findings
    assert found.error is not None
    return found.error["condition"], found.subject, found.since


def test_a_table_is_stale_when_its_newest_commit_is_older_than_its_freshness() -> None:
    story = begun()
    story.batch(T, 0, 5)
    committed = story.clock.now()
    asked = settings(freshness=300.0)
    assert wrong(story, asked, 5 * MINUTE) == []
    late = wrong(story, asked, 5 * MINUTE + timedelta(seconds=1))
    assert condition(late) == ("TABLE_STALE", None, committed + 5 * MINUTE)
    assert late[0].error is not None
    assert "5 min 1 s old" in late[0].error["message"]
    story.clock.step(600)
    story.batch(T, 1, 5)
    (well,) = [each for each in all_of(story, asked) if each.rule == "freshness"]
    assert (well.error, well.since) == (None, story.clock.now())


def test_a_table_that_was_never_filled_gets_its_time_from_its_definition_on() -> None:
    story = begun()
    assert wrong(story, settings(freshness=60.0), timedelta(seconds=50)) == []
    assert condition(wrong(story, settings(freshness=60.0), 2 * MINUTE))[0] == "TABLE_STALE"


def test_a_flow_that_completes_without_news_makes_its_table_fresh() -> None:
    story = begun()
    story.clock.step(600)
    story.status(T, FlowStatus.COMPLETED)
    assert wrong(story, settings(freshness=60.0), timedelta(seconds=30)) == []


def test_a_view_is_not_stale() -> None:
    story = Story()
    story.update("u1")
    story.dataset("s.v", "VIEW")
    assert (
        watch_over(story.events, AlertSettings({"*": TableAlerts(freshness=1.0)})).findings(
            story.clock.now() + 9 * MINUTE
        )
        == []
    )


def test_a_flow_whose_batches_are_empty_has_no_input() -> None:
    story = begun()
    story.batch(T, 0, 5)
    read = story.clock.now()
    story.clock.step(700)
    story.batch(T, 1, 0)
    found = wrong(story, settings(no_input=600.0))
    assert condition(found) == ("SOURCE_SILENT", "t", read + 10 * MINUTE)


def test_only_flows_that_are_fed_can_be_without_input() -> None:
    story = Story()
    story.update("u1")
    story.dataset(T, "MATERIALIZED_VIEW")
    story.flow(T, "materialized_view")
    assert wrong(story, settings(no_input=1.0), 9 * MINUTE) == []


def behind(story: Story, first: int, count: int = 4) -> None:
    for number in range(first, first + count):
        story.batch(T, number, 100, backlog_records=number * 1000)


def test_a_flow_falls_behind_for_longer_than_it_may() -> None:
    story = begun()
    behind(story, 1)
    assert wrong(story, settings(falling_behind=60.0)) == []
    found = wrong(story, settings(falling_behind=60.0), 2 * MINUTE)
    assert condition(found)[:2] == ("FLOW_FALLING_BEHIND", "t")
    assert found[0].error is not None
    assert "the backlog grew from 1,000 to" in found[0].error["message"]
    for number in range(9, 20):
        story.batch(T, number, 100, backlog_records=0)
    assert wrong(story, settings(falling_behind=60.0), 9 * MINUTE) == []


@pytest.mark.parametrize("ends", [True, False])
def test_a_flow_that_does_not_run_does_not_fall_behind(ends: bool) -> None:
    story = begun()
    behind(story, 1)
    if ends:
        story.status(T, FlowStatus.STOPPED)
    else:
        story.update("u2")
    assert wrong(story, settings(falling_behind=60.0), 9 * MINUTE) == []


def test_too_few_of_the_newest_rows_meet_an_expectation() -> None:
    story = begun()
    story.batch(T, 0, 1000, failed=9)
    assert wrong(story, settings(expectations=0.99)) == []
    story.batch(T, 1, 1000, failed=12)
    began = story.clock.now()
    story.batch(T, 2, 1000, failed=12)
    found = wrong(story, settings(expectations=0.99))
    assert condition(found) == ("EXPECTATION_RATE_LOW", "ok", began)
    assert found[0].error is not None
    assert "98.9 % of the last 3,000 rows met" in found[0].error["message"]
    for number in range(3, 13):
        story.batch(T, number, 10)
    assert wrong(story, settings(expectations=0.99)) == []


def test_a_batch_that_is_repeated_and_rows_of_before_a_full_refresh_do_not_count() -> None:
    story = begun()
    story.batch(T, 0, 100, failed=2)
    story.batch(T, 0, 100, failed=2)
    found = wrong(story, settings(expectations=0.99))
    assert found[0].error is not None
    assert "of the last 100 rows" in found[0].error["message"]
    story.update("u2", full_refresh="all")
    define(story)
    story.batch(T, 0, 100)
    assert wrong(story, settings(expectations=0.99)) == []


def test_a_watermark_that_stands_still() -> None:
    story = begun()
    stalled = WatermarkStatus(WatermarkState.STALLED, "2026-01-01T00:00:00Z", None, 10)
    error = DataError("WATERMARK_STALLED", flow="t", watermark="x", batches=10, newest="y", name=T)
    story.say(EventType.WATERMARK, builders.watermark("t", stalled), dataset=T, flow="t", error=error)
    assert condition(wrong(story, settings())) == ("WATERMARK_STALLED", "t", story.clock.now())
    assert wrong(story, settings(watermark_stalled=False)) == []
    moving = WatermarkStatus(WatermarkState.MOVING, "2026-01-01T00:00:00Z", None, 10)
    story.say(EventType.WATERMARK, builders.watermark("t", moving), dataset=T, flow="t")
    assert wrong(story, settings()) == []


def account(story: Story, written: int) -> None:
    accounts = BatchAccounts(0, read=10, evaluated=10, written=written)
    error = None if written == 10 else DataError("ACCOUNTING_BROKEN", flow="t", batch=0, equation="…", name=T)
    story.say(EventType.ACCOUNTING, builders.accounting("t", accounts), dataset=T, flow="t", error=error)


def test_rows_that_do_not_add_up() -> None:
    story = begun()
    account(story, 10)
    assert wrong(story, settings()) == []
    account(story, 9)
    began = story.clock.now()
    account(story, 9)
    assert condition(wrong(story, settings()))[1:] == ("t", began)
    account(story, 10)
    assert wrong(story, settings()) == []


def fail(story: Story) -> None:
    error = ExternalError("KAFKA_UNREACHABLE", servers="b")
    story.status(T, FlowStatus.FAILED, error=error)


def test_a_failed_flow_works_again_when_it_commits_not_when_it_starts() -> None:
    story = begun()
    fail(story)
    began = story.clock.now()
    assert condition(wrong(story, settings())) == ("KAFKA_UNREACHABLE", "t", began)
    story.state(UpdateState.FAILED, error=None)
    assert len(wrong(story, settings())) == 1, "the update failed because of the flow: that is told already"
    story.update("u2")
    define(story)
    story.status(T, FlowStatus.RUNNING)
    assert condition(wrong(story, settings())) == ("KAFKA_UNREACHABLE", "t", began)
    story.batch(T, 0, 1)
    assert wrong(story, settings()) == []


def test_a_flow_that_is_tried_again_for_minutes_counts_as_failed() -> None:
    story = begun()
    story.retry(T, 5)
    assert wrong(story, settings(), 4 * MINUTE) == []
    assert condition(wrong(story, settings(), 5 * MINUTE))[0] == "KAFKA_UNREACHABLE"
    story.retry(T, 60)
    story.batch(T, 0, 1)
    assert wrong(story, settings(), 9 * MINUTE) == []


def test_an_update_that_fails_before_any_flow() -> None:
    story = begun()
    story.state(UpdateState.FAILED, error=StateError("STORAGE_LOCK_LOST", storage="x"))
    (found,) = wrong(story, settings())
    assert (found.dataset, condition([found])[0]) == (None, "STORAGE_LOCK_LOST")
    story.update("u2")
    assert len(wrong(story, settings())) == 1
    define(story)
    assert wrong(story, settings()) == []


def test_a_run_whose_process_is_gone_has_failed_with_its_last_event() -> None:
    story = begun()
    watch = watch_over(story.events, settings())
    assert [each for each in watch.findings(story.clock.now()) if each.error] == []
    watch.run_is_gone()
    found = [each for each in watch.findings(story.clock.now() + MINUTE) if each.error]
    assert condition(found) == ("UPDATE_INTERRUPTED", None, story.clock.now())


@pytest.mark.parametrize(
    ("after", "told"),
    [
        (EventType.MAINTENANCE_PROGRESS, builders.maintenance(T, MaintenanceProgress())),
        (EventType.HOOK_PROGRESS, builders.hook_progress("told_late", "FAILED", reason="no network")),
    ],
)
def test_an_update_that_is_over_was_not_interrupted(after: EventType, told: builders.Built) -> None:
    story = begun()
    story.state(UpdateState.CANCELED)
    story.say(after, told)
    watch = watch_over(story.events, settings())
    watch.run_is_gone()
    assert [each for each in watch.findings(story.clock.now()) if each.error] == []


def test_what_the_pipeline_no_longer_declares_is_not_watched() -> None:
    story = begun()
    fail(story)
    story.update("u2")
    story.dataset("s.other")
    assert len(wrong(story, settings())) == 1, "the update has not defined everything yet"
    story.flow("s.other")
    story.state(UpdateState.RUNNING)
    assert wrong(story, settings()) == []


def test_a_cluster_without_executors_until_they_come_or_the_update_ends() -> None:
    story = begun()
    none = ClusterResources(ClusterState.NO_EXECUTORS, 0)
    error = ExternalError("CLUSTER_NO_EXECUTORS", master="spark://m:7077", reason="x", log="y")
    story.say(EventType.CLUSTER_RESOURCES, cluster_resources("spark://m:7077", none), error=error)
    assert condition(wrong(story, settings())) == ("CLUSTER_NO_EXECUTORS", None, story.clock.now())
    assert wrong(story, AlertSettings({"*": TableAlerts(cluster=False)})) == []
    story.say(
        EventType.CLUSTER_RESOURCES,
        cluster_resources("x", ClusterResources(ClusterState.AVAILABLE, 1)),
        level=Level.INFO,
    )
    assert wrong(story, settings()) == []
    story.say(EventType.CLUSTER_RESOURCES, cluster_resources("x", none), error=error)
    story.say(EventType.UPDATE_PROGRESS, builders.update_progress(UpdateState.COMPLETED, pipeline="p"))
    assert wrong(story, settings()) == []


def test_an_entry_of_a_table_wins_over_that_of_all_tables() -> None:
    asked = AlertSettings(
        {"*": TableAlerts(freshness=60.0, no_input=5.0, failed=False), "s.T": TableAlerts(freshness=5.0, failed=True)}
    )
    assert asked.of("S.t") == TableAlerts(5.0, 5.0, None, None, True, True, True, True)
    assert asked.of("s.other") == TableAlerts(60.0, 5.0, None, None, True, False, True, True)


def test_a_table_that_the_pipeline_does_not_have_is_named() -> None:
    story = begun()
    asked = AlertSettings({"*": TableAlerts(), "T": TableAlerts(), "s.tt": TableAlerts()})
    (error,) = watch_over(story.events, asked).unknown_tables()
    assert (error.condition, error.facts["table"]) == ("ALERT_TABLE_UNKNOWN", "s.tt")
    assert "'s.t'" in error.facts["suggestion"]
    assert Watch(asked).unknown_tables() == [], "nothing ran yet"
