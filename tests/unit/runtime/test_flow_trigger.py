"""Which trigger a flow runs with."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from penstock.config import Trigger
from penstock.runtime.flows.services import FlowServices

_FLOW: Any = SimpleNamespace(declaration=SimpleNamespace(target="shop.orders"))
_MODE, _INTERVAL = "pipelines.trigger", "pipelines.trigger.interval"


def _trigger(pipeline: str, settings: dict[str, str], properties: dict[str, str] | None = None) -> str:
    tables = {} if properties is None else {"shop.orders": SimpleNamespace(table_properties=properties)}
    graph = SimpleNamespace(tables=tables, flow_settings=lambda _: settings)
    services: Any = SimpleNamespace(trigger=Trigger.parse(pipeline), graph=graph)
    return str(FlowServices.trigger_of(services, _FLOW))


@pytest.mark.parametrize(
    ("pipeline", "settings", "expected"),
    [
        ("available_now", {_MODE: "RealTime", _INTERVAL: "1 second"}, "available_now"),
        ("once", {_INTERVAL: "1 second"}, "once"),
        ("10 seconds", {}, "processing_time 10 seconds"),
        ("10 seconds", {_INTERVAL: "1 second"}, "processing_time 1 second"),
        ("10 seconds", {_MODE: "RealTime"}, "real_time"),
        ("10 seconds", {_MODE: "real_time", _INTERVAL: "1 minute"}, "real_time 1 minute"),
        ("10 seconds", {_MODE: "AvailableNow", _INTERVAL: "1 minute"}, "available_now"),
        ("10 seconds", {_MODE: "ProcessingTime"}, "processing_time 10 seconds"),
        ("real_time", {}, "real_time"),
        ("real_time", {_INTERVAL: "1 minute"}, "real_time 1 minute"),
        ("real_time", {_MODE: "ProcessingTime"}, "processing_time"),
    ],
)
def test_a_flow_has_its_own_trigger_in_a_run_that_keeps_running(
    pipeline: str, settings: dict[str, str], expected: str
) -> None:
    assert _trigger(pipeline, settings) == expected


def test_a_table_can_set_the_interval_of_its_flows() -> None:
    assert _trigger("processing_time", {}, {_INTERVAL: "5 seconds"}) == "processing_time 5 seconds"
    assert _trigger("processing_time", {_INTERVAL: "1 second"}, {_INTERVAL: "5 seconds"}) == "processing_time 1 second"
