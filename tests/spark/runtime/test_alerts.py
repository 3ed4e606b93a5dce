"""Alerts of a real run: what fails is told while the other flow goes on, and a receiver that hangs delays nothing."""

from __future__ import annotations

import json
import threading
import time
from functools import partial
from typing import Any

from tests.spark.pipeline_project import PipelineProject

from penstock.alerts.follower import Alerts
from penstock.alerts.message import Message
from penstock.alerts.sending import send
from penstock.config import Destination
from penstock.events import EventType, FlowStatus, read_events
from penstock.events.flows.progress import flow_status_of
from penstock.observe.status.pipeline_status import project_status
from penstock.plan.selection import RefreshSelection
from penstock.runtime import run_update

CODE = """
@dlt.table
def good():
    return spark.readStream.schema("id LONG").json("./in")

@dlt.table
@dlt.expect_or_fail("small", "id < 10")
def strict():
    return spark.readStream.schema("id LONG").json("./in")
"""
ALERTS = """
  keep_firing_for: 0 seconds
  destinations:
    pager: {command: {run: [sh, -c, "cat >> told"]}}
    hangs: {command: {run: [sleep, "1000"]}}
"""


def test_a_failed_flow_is_told_and_a_receiver_that_hangs_delays_nothing(project: PipelineProject) -> None:
    project.settings["alerts"] = ALERTS
    project.write(CODE)
    project.arrive("one", [{"id": 11}, {"id": 1}])
    released = threading.Event()

    def to(destination: Destination, message: Message) -> None:
        if destination.name == "hangs":
            released.wait(60)
        else:
            send(destination, message)

    def run() -> float:
        """Returns how long after the last flow the run ended."""
        ends: list[float] = []

        def note(event: Any) -> None:
            status = flow_status_of(event)
            if status is not None and status.terminal:
                ends.append(time.monotonic())

        config = project.config
        follower = partial(Alerts, config, send=to, close_seconds=1.0, interval=0.1)
        run_update(config, RefreshSelection(), on_event=note, followers=[follower], spark=project.spark)
        return time.monotonic() - ends[-1]

    assert run() < 10
    (alert,) = json.loads((project.directory / "told").read_text())["alerts"]
    assert (alert["state"], alert["rule"], alert["dataset"]) == ("FIRING", "failed", "shop.strict")
    assert alert["condition"] == "EXPECTATION_FAILED"
    status = project_status(read_events(project.config.storage))
    assert [(each.name, each.status) for each in status.datasets] == [
        ("shop.good", FlowStatus.COMPLETED),
        ("shop.strict", FlowStatus.FAILED),
    ]
    assert [one.rule for one in status.alerts] == ["failed"]

    project.write(CODE.replace("id < 10", "id < 100"))
    run()
    released.set()
    assert '"status":"resolved"' in (project.directory / "told").read_text()
    types = [event.event_type for event in read_events(project.config.storage)]
    assert types.count(EventType.ALERT) == 2
