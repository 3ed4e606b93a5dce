"""How soon a continuous run refreshes a materialized view again: by how it was refreshed, and how long that took."""

from __future__ import annotations

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.spark.pipeline_project import PipelineProject

from penstock.events import Event, EventType
from penstock.spark.accelerators.accelerator import TABLE_CHANGES

SHOP = """
@dlt.table
def orders():
    return spark.readStream.schema("id LONG, amount LONG").json("in")

@dlt.table(refresh_policy="incremental")
def total():
    return spark.sql("SELECT amount % 2 AS kind, sum(amount) AS amount FROM orders GROUP BY 1")

@dlt.table(spark_conf={"pipelines.trigger.interval": "30 minutes"})
def seldom():
    return dlt.read("orders").where("amount > 1")
"""
VIEWS = 2
_PATIENCE = 170.0


def test_an_incremental_view_is_refreshed_after_ten_times_its_duration(project: PipelineProject) -> None:
    if not TABLE_CHANGES.applies():
        pytest.skip("all views are computed in full without this accelerator")
    project.write(SHOP)
    project.arrive("0", [{"id": number, "amount": 1} for number in range(9)])
    assert project.run().errors == ()
    project.settings["continuous"] = "true"
    project.arrive("1", [{"id": 10, "amount": 1}])
    stop = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(project.run, stop=stop)
        try:
            for number, expected in enumerate((10, 11), 2):
                deadline = time.monotonic() + _PATIENCE
                while project.rows("total", "amount") != [expected]:
                    assert time.monotonic() < deadline, "not refreshed"
                    assert not running.done(), "the run ended by itself"
                    time.sleep(0.2)
                project.arrive(str(number), [{"id": 9 + number, "amount": 1}])
        finally:
            stop.set()
    update = running.result(_PATIENCE)
    assert update.errors == ()
    events = project.events(update)

    started, ended, pauses = (list[float]() for _ in range(3))
    for event in _of(events, "total"):
        at = event.timestamp.timestamp()
        if event.message.endswith("is RUNNING"):
            started.append(at)
        elif idle := re.search(r"is IDLE: runs again in ([\d.]+) s", event.message):
            ended.append(at)
            pauses.append(float(idle[1]))
    techniques = [str(event.message) for event in _of(events, "total", EventType.PLANNING_INFORMATION)]
    assert len(techniques) >= 2
    assert all("by what has changed" in technique for technique in techniques)
    for begin, end, pause, following in zip(started, ended, pauses, started[1:], strict=False):
        assert min(8 * VIEWS * (end - begin), 60) <= pause <= 60, "the events are written a moment earlier and later"
        assert pause < 60 or end - begin > 2
        assert following - end >= pause - 0.2
    [shown] = [event.message for event in _of(events, "seldom") if "is IDLE" in event.message]
    assert "in 1800.0 s at the earliest" in shown, "as its trigger says"


def test_a_full_refresh_is_repeated_after_a_minute(project: PipelineProject) -> None:
    project.write(SHOP.replace('"incremental"', '"full"'))
    project.arrive("0", [{"id": 1, "amount": 1}])
    project.settings["continuous"] = "true"
    stop = threading.Event()
    idle: list[str] = []

    def note(event: Event) -> None:
        if event.origin.dataset_name == "shop.total" and "is IDLE" in event.message:
            idle.append(event.message)
            stop.set()

    assert project.run(stop=stop, on_event=note).errors == ()
    assert [message.partition(": ")[2] for message in idle] == ["runs again in 60.0 s at the earliest"]


def _of(events: list[Event], table: str, kind: EventType = EventType.FLOW_PROGRESS) -> list[Event]:
    return [event for event in events if event.event_type == kind and event.origin.dataset_name == f"shop.{table}"]
