"""The thread that looks after tables beside flows outlives a storage that fails, and its own end is an event."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from deltalake.exceptions import DeltaError
from pyspark.sql import SparkSession

from penstock.config import MaintenanceSettings
from penstock.events import EventLog, read_events
from penstock.runtime.flows.services import FlowServices
from penstock.runtime.maintenance import continuous_maintenance
from penstock.runtime.maintenance.continuous_maintenance import looking_after_tables
from penstock.runtime.reporting.reporter import Reporter
from penstock.storage import StorageLayout


def test_a_storage_that_fails_does_not_end_it_and_what_does_is_recorded(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures: list[Exception] = [DeltaError("a commit is gone"), OSError("no disk"), ZeroDivisionError("a mistake")]
    looks, ended = 0, threading.Event()

    def fails(*_: Any) -> None:
        nonlocal looks
        looks += 1
        if looks == len(failures):
            ended.set()
        raise failures[looks - 1]

    monkeypatch.setattr(continuous_maintenance, "_LEAST_PAUSE", 0.01)
    monkeypatch.setattr(continuous_maintenance, "stored_tables", fails)
    layout = StorageLayout(str(tmp_path))
    with EventLog.open(str(tmp_path), pipeline_name="shop", update_id="u") as log:
        services = SimpleNamespace(
            trigger=SimpleNamespace(stops=False),
            spark=spark,
            layout=layout,
            reporter=Reporter(log, "shop"),
            graph=None,
            paths=None,
        )
        with looking_after_tables(cast("FlowServices", services), MaintenanceSettings(interval=0)):
            assert ended.wait(30)
    [event] = read_events(str(tmp_path))
    assert event.error is not None
    assert event.error["facts"] == {"thread": "maintenance", "detail": "ZeroDivisionError('a mistake')"}
    assert looks == len(failures)
