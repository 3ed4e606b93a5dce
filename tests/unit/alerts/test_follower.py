"""Alerts beside a log that is being written: told once over restarts, in time, whatever the receivers do."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.processes import wait_until
from tests.projected import projected
from tests.unit.alerts.receivers import WebReceiver, certificate, web_receiver

from penstock.alerts.follower import Alerts
from penstock.alerts.message import Message, NotDelivered
from penstock.config import PipelineConfig, load_project
from penstock.errors import ExternalError
from penstock.events import (
    BatchProgress,
    EventLog,
    EventType,
    FlowStatus,
    Level,
    UpdateState,
    builders,
    read_events,
)
from penstock.observe.status.alerts import AlertProjection
from penstock.observe.status.pipeline_status import project_status

CANARY = "canary-s3cret"


class Inbox:
    """A destination that remembers what it was told; `fails` are the errors of the next tries."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.tries = 0
        self.fails: list[Exception] = []
        self.hold = threading.Event()
        self.hold.set()

    def __call__(self, _: Any, message: Message) -> None:
        self.tries += 1
        self.hold.wait(20)
        if self.fails:
            raise self.fails.pop(0)
        self.messages.append(message.to_json())

    @property
    def told(self) -> list[tuple[str, str, str]]:
        return [(each["state"], each["rule"], each["dataset"]) for one in self.messages for each in one["alerts"]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, "pager: {command: {run: [notify]}}")
    return tmp_path


def write(folder: Path, destinations: str, tables: str = '{"*": {freshness: 1 hour}}', kept: str = "0 seconds") -> None:
    (folder / "penstock.yml").write_text(
        "name: orders\nsecrets: {hook: '${env:HOOK}'}\nalerts:\n"
        f"  tables: {tables}\n  keep_firing_for: {kept}\n  destinations:\n    {destinations}\n"
    )


def config_of(folder: Path) -> PipelineConfig:
    return load_project(folder, environ={"HOOK": CANARY})


class Run:
    """One run that does what a test tells it to."""

    def __init__(self, log: EventLog) -> None:
        self.log = log

    def begin(self) -> None:
        self.log.append(
            EventType.CREATE_UPDATE, *builders.create_update(pipeline="orders", cause="USER_ACTION", version="1")
        )
        dataset = builders.dataset_definition("shop.orders", dataset_type="STREAMING_TABLE")
        self.log.append(EventType.DATASET_DEFINITION, *dataset, dataset="shop.orders")
        flow = builders.flow_definition("orders", output_dataset="shop.orders", flow_type="append")
        self.log.append(EventType.FLOW_DEFINITION, *flow, dataset="shop.orders", flow="orders")
        self.state(UpdateState.RUNNING)

    def state(self, state: UpdateState) -> None:
        self.log.append(EventType.UPDATE_PROGRESS, *builders.update_progress(state, pipeline="orders"))

    def batch(self, number: int = 0) -> None:
        built = builders.flow_batch("orders", BatchProgress(number, 5, 5))
        self.log.append(EventType.FLOW_PROGRESS, *built, dataset="shop.orders", flow="orders")

    def fail(self) -> None:
        built = builders.flow_status("orders", FlowStatus.FAILED)
        error = ExternalError("KAFKA_UNREACHABLE", servers="broker")
        self.log.append(EventType.FLOW_PROGRESS, *built, dataset="shop.orders", flow="orders", error=error)


@contextmanager
def run(folder: Path, inbox: Callable[[Any, Message], None] | None = None, **more: Any) -> Iterator[Run]:
    config = config_of(folder)
    given = {"interval": 0.02, "first_pause": 0.02, **more} | ({} if inbox is None else {"send": inbox})
    with (
        EventLog.open(config.storage, pipeline_name="orders", update_id=f"u{time.monotonic()}") as log,
        Alerts(config, log, **given),
    ):
        told = Run(log)
        told.begin()
        yield told


def events(folder: Path) -> list[dict[str, Any]]:
    return [
        dict(event.details[event.event_type.value], level=event.level.value, error=event.error)
        for event in read_events(str(folder / ".penstock"))
        if event.event_type in {EventType.ALERT, EventType.ALERT_DELIVERY}
    ]


def states(folder: Path) -> list[str]:
    return [event["state"] for event in events(folder)]


def until(ready: Callable[[], bool]) -> None:
    wait_until(ready, timeout=10, what="the alert")


def test_a_failure_is_told_while_the_run_goes_on_and_its_end_too(folder: Path) -> None:
    inbox = Inbox()
    with run(folder, inbox) as running:
        running.fail()
        until(lambda: len(inbox.messages) == 1)
        status = project_status(read_events(str(folder / ".penstock")))
        assert [alert.rule for alert in status.alerts] == ["failed"]
        assert status.to_json()["alerts"][0]["condition"] == "KAFKA_UNREACHABLE"
        running.batch()
        until(lambda: len(inbox.messages) == 2)
        time.sleep(0.1)
    assert inbox.told == [("FIRING", "failed", "shop.orders"), ("RESOLVED", "failed", "shop.orders")]
    assert states(folder) == ["FIRING", "DELIVERED", "RESOLVED", "DELIVERED"]
    assert [event["level"] for event in events(folder)] == ["WARN", "INFO", "INFO", "INFO"]
    assert project_status(read_events(str(folder / ".penstock"))).alerts == ()


def test_a_run_that_ends_at_once_still_tells(folder: Path) -> None:
    inbox = Inbox()
    with run(folder, inbox, interval=60) as running:
        running.fail()
    assert inbox.told == [("FIRING", "failed", "shop.orders")]


def test_the_next_run_does_not_tell_again_and_tells_the_end(folder: Path) -> None:
    inbox = Inbox()
    for _ in range(3):
        with run(folder, inbox) as running:
            running.fail()
    assert inbox.told == [("FIRING", "failed", "shop.orders")]
    with run(folder, inbox) as running:
        running.batch()
    assert inbox.told[1:] == [("RESOLVED", "failed", "shop.orders")]


def test_what_a_destination_did_not_take_the_next_run_tells(folder: Path) -> None:
    dead, inbox = Inbox(), Inbox()
    dead.fails = [NotDelivered("it is away", passing=True)] * 1000
    with run(folder, dead, close_seconds=0.3) as running:
        running.fail()
        until(lambda: dead.tries > 3)
    assert states(folder) == ["FIRING", "FAILED"], "told once that it does not answer"
    assert events(folder)[1]["error"]["condition"] == "ALERT_NOT_DELIVERED"
    with run(folder, inbox, interval=60):
        pass
    assert inbox.told == [("FIRING", "failed", "shop.orders")]


def test_a_process_that_died_before_it_told_is_made_good(folder: Path) -> None:
    """The alert is in the log, and no word that anybody was told."""
    with run(folder, Inbox()) as running:
        running.fail()
    log = next((folder / ".penstock/events").glob("*.jsonl"))
    log.write_text("".join(line for line in log.read_text().splitlines(True) if "alert_delivery" not in line))
    inbox = Inbox()
    with run(folder, inbox):
        pass
    assert inbox.told == [("FIRING", "failed", "shop.orders")]


def test_after_an_outage_one_message_says_how_it_is_now(folder: Path) -> None:
    write(folder, "pager: {command: {run: [notify]}}", '{"*": {freshness: 1 second, failed: true}}')
    inbox = Inbox()
    inbox.hold.clear()
    inbox.fails = [NotDelivered("it is away", passing=True)]
    with run(folder, inbox, first_pause=0.3) as running:
        running.fail()
        until(lambda: inbox.tries == 1)
        until(lambda: states(folder).count("FIRING") == 2)
        running.batch()
        until(lambda: states(folder).count("RESOLVED") == 2)
        running.fail()
        until(lambda: states(folder).count("FIRING") >= 3)
        inbox.hold.set()
        until(lambda: len(inbox.messages) >= 1)
    assert inbox.told[0] == ("FIRING", "failed", "shop.orders")
    assert ("RESOLVED", "freshness", "shop.orders") not in inbox.told
    assert len(inbox.messages[0]["alerts"]) == 1


def test_a_dead_receiver_delays_neither_the_log_nor_the_other_receivers(folder: Path) -> None:
    write(folder, "dead: {command: {run: [a]}}\n    well: {command: {run: [b]}}")
    dead, well = Inbox(), Inbox()
    dead.hold.clear()

    def send(destination: Any, message: Message) -> None:
        {"dead": dead, "well": well}[destination.name](destination, message)

    with run(folder, send, close_seconds=0.5) as running:
        running.fail()
        until(lambda: dead.tries == 1 and len(well.messages) == 1)
        began = time.monotonic()
        for number in range(300):
            running.batch(number)
        assert time.monotonic() - began < 10
        until(lambda: len(well.messages) == 2)
        ending = time.monotonic()
    assert time.monotonic() - ending < 10
    dead.hold.set()


def test_a_thousand_stale_tables_are_one_message(folder: Path) -> None:
    inbox = Inbox()
    late = datetime.now(UTC) + timedelta(hours=3)
    with run(folder, inbox, interval=60, now=lambda: late) as running:
        for number in range(1000):
            name = f"shop.t{number}"
            built = builders.dataset_definition(name, dataset_type="STREAMING_TABLE")
            running.log.append(EventType.DATASET_DEFINITION, *built, dataset=name)
    assert len(inbox.messages) == 1
    assert len(inbox.messages[0]["alerts"]) == 1001


def test_an_unknown_table_is_told_once_in_the_log(folder: Path) -> None:
    write(folder, "pager: {command: {run: [notify]}}", "{order: {freshness: 1 hour}}")
    with run(folder, Inbox()) as running:
        running.state(UpdateState.RUNNING)
        time.sleep(0.1)
    warnings = [
        event.error
        for event in read_events(str(folder / ".penstock"))
        if event.event_type is EventType.PLANNING_INFORMATION
    ]
    assert [(error or {})["condition"] for error in warnings] == ["ALERT_TABLE_UNKNOWN"]
    assert (warnings[0] or {})["file"].endswith("penstock.yml")


def test_a_log_that_cannot_be_written_is_no_reason_to_be_silent(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inbox = Inbox()
    with run(folder, inbox) as running:
        running.fail()
        full = ExternalError("EVENT_LOG_WRITE_FAILED", path="x", reason="No space left on device")

        def refuse(*_: Any, **__: Any) -> None:
            raise full

        monkeypatch.setattr(running.log, "append", refuse)
        until(lambda: len(inbox.messages) == 1)
    assert inbox.told == [("FIRING", "failed", "shop.orders")]


def test_a_bug_in_a_rule_ends_no_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.alerts.watch.Watch.findings", lambda *_: 1 / 0)
    with run(folder, Inbox()) as running:
        running.batch()
        time.sleep(0.1)
        running.batch(1)
    (ended,) = read_events(str(folder / ".penstock"), types={EventType.HOOK_PROGRESS})
    assert ended.error is not None
    assert (ended.level, ended.error["condition"], ended.error["facts"]["thread"]) == (
        Level.WARN,
        "BACKGROUND_THREAD_ENDED",
        "alerts",
    )


@pytest.fixture
def web(tmp_path: Path) -> Iterator[WebReceiver]:
    with web_receiver(certificate(tmp_path)) as receiver:
        yield receiver


def test_a_receiver_that_is_away_for_a_while_is_told_over_tls(folder: Path, web: WebReceiver) -> None:
    write(folder, f"on_call: {{webhook: {{url: '{web.url}', secret: '${{secret:hook}}', ca_file: localhost.pem}}}}")
    web.answers = [503, 503]
    with run(folder) as running:
        running.fail()
        until(lambda: len(web.requests) == 3)
    ids = {headers["webhook-id"] for _, headers, _ in web.requests}
    assert len(ids) == 1, "a repetition is known by its id"
    assert json.loads(web.requests[2][2])["alerts"][0]["condition"] == "KAFKA_UNREACHABLE"
    assert states(folder) == ["FIRING", "DELIVERED"]


def test_no_secret_gets_into_the_log_or_a_message(folder: Path, web: WebReceiver) -> None:
    """The receiver is refused under its secret name, answers 500, and a command says the secret itself."""
    secret_url = f"{web.url}/{CANARY}"
    write(
        folder,
        "slack: {webhook: {url: '${env:URL}', secret: '${secret:hook}'}}\n"
        "    on_call: {webhook: {url: '${env:URL}', secret: '${secret:hook}', ca_file: localhost.pem}}\n"
        "    pager: {command: {run: [sh, -c, 'echo canary-s3cret >&2; exit 1']}}",
    )
    web.answer = 500
    config = load_project(folder, environ={"HOOK": CANARY, "URL": secret_url})
    with (
        EventLog.open(config.storage, pipeline_name="orders", update_id="u1") as log,
        Alerts(config, log, interval=0.02, first_pause=0.01, close_seconds=0.2),
    ):
        told = Run(log)
        told.begin()
        told.fail()
        until(lambda: states(folder).count("FAILED") == 3)
    written = "".join(path.read_text() for path in (folder / ".penstock/events").glob("*"))
    assert CANARY not in written
    assert "***" in written
    assert CANARY.encode() not in b"".join(body for _, _, body in web.requests)
    assert projected(AlertProjection(), read_events(config.storage)).undelivered("slack") != ()
