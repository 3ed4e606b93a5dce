"""Runs that go on until they are stopped, and readers beside them."""

from __future__ import annotations

import shutil
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from deltalake import DeltaTable
from tests.spark.pipeline_project import PipelineProject

from penstock.events import Event, FlowStatus, Level, UpdateState
from penstock.observe.status.pipeline_status import project_status
from penstock.runtime import UpdateOutcome

PIPELINE = """
@dlt.table
def bronze():
    return spark.readStream.schema("id LONG").option("maxFilesPerTrigger", 1).json("in")

@dlt.table
def silver():
    return dlt.read_stream("bronze").where("id % 2 = 0")

@dlt.table(spark_conf={"pipelines.trigger.interval": "100 milliseconds"})
def total():
    return spark.sql("SELECT count(*) AS orders FROM silver")
"""
AT_THE_START = """
@dlt.table(spark_conf={"pipelines.trigger": "AvailableNow"})
def at_the_start():
    return spark.readStream.schema("id LONG").json("in")
"""
_PATIENCE = 90.0


def test_a_continuous_run_takes_files_as_they_arrive_and_stops_after_the_batch(project: PipelineProject) -> None:
    project.write(PIPELINE + AT_THE_START)
    project.settings["configuration"] = "{spark.sql.streaming.noDataProgressEventInterval: 200}"
    project.arrive("1", [{"id": 1}, {"id": 2}])
    ended: list[Event] = []
    stop = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(
            project.run, trigger="200 milliseconds", stop=stop, on_event=lambda event: _note_end(event, ended)
        )
        try:
            _wait(lambda: _count(project) == 1, running.done)
            _wait(lambda: bool(ended), running.done)
            _wait(lambda: _idle(project, "bronze", "total"), running.done)
            project.arrive("2", [{"id": 3}, {"id": 4}])
            _wait(lambda: _count(project) == 2, running.done)
            seen = _read_while(project, lambda: _count(project) == 4, running.done)
        finally:
            stop.set()
        outcome: UpdateOutcome = running.result(_PATIENCE)
    assert outcome.state is UpdateState.CANCELED
    assert outcome.errors == ()
    assert seen <= {1}, "a reader saw a materialized view without its row"
    assert project.statuses(outcome, "bronze")[-1] == "STOPPED"
    assert project.statuses(outcome, "total")[-1] == "STOPPED"
    assert "IDLE" not in project.statuses(outcome, "at_the_start"), "a flow that ends waits for nothing"
    assert project.rows("at_the_start", "id") == [1, 2], "this flow ended while the others went on"
    states = [event.details.get("update_progress", {}).get("state") for event in project.events(outcome)]
    assert states[-1] == "CANCELED"

    after = project.run()
    assert after.state is UpdateState.COMPLETED
    assert project.rows("bronze", "id") == project.rows("at_the_start", "id") == list(range(1, 9))
    assert project.rows("silver", "id") == [2, 4, 6, 8]
    assert project.rows("total", "orders") == [4]


@pytest.mark.slow  # test_bad_files.py of Auto Loader has its stream with such a folder
def test_a_folder_that_is_deleted_is_waited_for(project: PipelineProject) -> None:
    project.write("""
        @dlt.table
        def orders():
            files = spark.readStream.format("cloudFiles").option("cloudFiles.format", "json").schema("id LONG")
            return files.load("in")
        """)
    project.arrive("1", [{"id": 1}])
    stop = threading.Event()

    def has(count: int) -> bool:
        return DeltaTable.is_deltatable(str(project.path("orders"))) and len(project.rows("orders", "id")) == count

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(project.run, trigger="100 milliseconds", stop=stop)
        try:
            _wait(lambda: has(1), running.done)
            shutil.rmtree(project.directory / "in")
            time.sleep(0.5)  # some looks into nothing
            project.arrive("2", [{"id": 2}])
            _wait(lambda: has(2), running.done)
        finally:
            stop.set()
    assert running.result(_PATIENCE).errors == ()
    assert project.rows("orders", "id") == [1, 2]


def test_a_new_materialized_view_does_not_wait_for_new_data(project: PipelineProject) -> None:
    project.write(PIPELINE.partition("@dlt.table(spark_conf")[0])
    project.arrive("1", [{"id": 1}, {"id": 2}])
    assert project.run().errors == ()
    project.write(PIPELINE)
    stop = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(project.run, trigger="1 second", stop=stop)
        try:
            _wait(lambda: _count(project) == 1, running.done)
        finally:
            stop.set()
    assert running.result(_PATIENCE).errors == ()


def test_real_time_mode_of_the_whole_pipeline_is_refused_flow_by_flow(project: PipelineProject) -> None:
    project.write(PIPELINE + AT_THE_START)
    project.arrive("1", [{"id": 1}])
    project.settings["trigger"] = "real_time"
    report = project.validate()
    assert [(error.condition, error.facts["flow"]) for error in report.errors] == [
        ("PIPELINE_TRIGGER_REFUSED", "bronze"),
        ("PIPELINE_TRIGGER_REFUSED", "silver"),
    ]
    assert "it is not an update_flow; its target 'shop.bronze' is not a kafka sink" in report.errors[0].facts["reasons"]
    project.settings["trigger"] = "once"
    report = project.validate()
    assert [error.condition for error in (*report.errors, *report.warnings)] == ["CONFIG_TRIGGER_ONCE_REPLACED"]


class _Interrupted(BaseException):
    """Stands for KeyboardInterrupt, whose signal PySpark takes for itself."""


def test_an_interrupted_update_ends_its_flows_before_its_log(project: PipelineProject) -> None:
    project.write(PIPELINE)
    for number in range(4):
        project.arrive(str(number), [{"id": number * 2}, {"id": number * 2 + 1}])
    waiting = threading.main_thread().ident
    assert waiting is not None
    interrupted = threading.Event()

    def interrupt(event: Event) -> None:
        if event.level is Level.METRICS and not interrupted.is_set():
            interrupted.set()
            signal.pthread_kill(waiting, signal.SIGUSR1)

    def raise_interrupted(*_: object) -> None:
        raise _Interrupted

    before = signal.signal(signal.SIGUSR1, raise_interrupted)
    try:
        with pytest.raises(_Interrupted):
            project.run(trigger="100 milliseconds", on_event=interrupt)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("flow ")] == []
    last: dict[str, str] = {}
    for event in project.events():
        if (progress := event.details.get("flow_progress")) and "metrics" not in progress:
            last[str(event.origin.dataset_name)] = progress["status"]
    assert last == dict.fromkeys(("shop.bronze", "shop.silver", "shop.total"), "STOPPED")
    assert project.events()[-1].details["update_progress"]["state"] == "FAILED"

    assert project.run().errors == ()
    assert project.rows("bronze", "id") == list(range(8))
    assert project.rows("silver", "id") == list(range(0, 8, 2))
    assert project.rows("total", "orders") == [4]


def test_stop_before_anything_ran(project: PipelineProject) -> None:
    project.write(PIPELINE)
    project.arrive("1", [{"id": 1}])
    stop = threading.Event()
    stop.set()
    outcome = project.run(stop=stop)
    assert outcome.state is UpdateState.CANCELED
    assert project.written(outcome) == {}
    assert project.run(refresh=("bronze",)).errors == ()
    assert project.rows("bronze", "id") == [1]


def _count(project: PipelineProject) -> int:
    try:
        rows = project.rows("total", "orders")
    except Exception:  # noqa: BLE001 - the table does not exist yet
        return -1
    return rows[0] if rows else 0


def _read_while(project: PipelineProject, done: Callable[[], bool], ended: Callable[[], bool]) -> set[int]:
    """Reads the materialized view all the time while files arrive; returns the row counts seen."""
    seen: set[int] = set()
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            seen.add(DeltaTable(project.path("total")).to_pyarrow_table().num_rows)
            time.sleep(0.02)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(3, 5):
            project.arrive(str(number), [{"id": number * 2 - 1}, {"id": number * 2}])
            _wait(lambda number=number: _count(project) >= number, ended)  # type: ignore[misc]
        _wait(done, ended)
    finally:
        stop.set()
        reader.join()
    return seen


def _idle(project: PipelineProject, *tables: str) -> bool:
    found = {each.name: each.status for each in project_status(project.events()).datasets}
    return all(found[f"shop.{table}"] is FlowStatus.IDLE for table in tables)


def _wait(condition: Callable[[], bool], ended: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        assert not ended(), "the run ended by itself"
        time.sleep(0.3)


def _note_end(event: Event, ended: list[Event]) -> None:
    progress = event.details.get("flow_progress") or {}
    if event.origin.dataset_name == "shop.at_the_start" and progress.get("status") == "COMPLETED":
        ended.append(event)
