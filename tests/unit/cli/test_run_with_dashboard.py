"""`penstock run --ui`: the dashboard shows the run while it lasts. What stands for the update writes a recorded log."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.recorded.build import SECOND_UPDATE, recorded_orders
from typer.testing import CliRunner

import penstock.runtime
from penstock.cli.main import app
from penstock.config import PipelineConfig
from penstock.dashboard.serving import background
from penstock.dashboard.serving.background import Dashboard
from penstock.events import UpdateState
from penstock.runtime import UpdateOutcome
from penstock.spark.session import launch


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Dashboard]]:
    """The dashboards that were started, and no JVM."""
    found: list[Dashboard] = []
    start = background.start_in_background

    def started(storage: str, **settings: Any) -> Dashboard:
        found.append(start(storage, **settings))
        return found[-1]

    monkeypatch.setattr(background, "start_in_background", started)
    monkeypatch.setattr(launch, "launch_ahead", lambda *_, **__: None)
    yield found
    for each in found:
        each.stop()


def test_it_is_served_while_the_run_lasts(
    tmp_path: Path, served: list[Dashboard], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "penstock.yml").write_text("name: orders\n")
    monkeypatch.chdir(tmp_path)
    seen: list[str] = []

    def run_update(config: PipelineConfig, *_: Any, **__: Any) -> UpdateOutcome:
        seen.append(httpx.get(served[0].url, timeout=60).text)
        recorded_orders(config.storage)
        until = time.monotonic() + 60
        while "shop.silver_orders" not in seen[-1] and time.monotonic() < until:
            time.sleep(0.1)
            seen.append(httpx.get(served[0].url, timeout=60).text)
        return UpdateOutcome(UpdateState.COMPLETED, SECOND_UPDATE)

    monkeypatch.setattr(penstock.runtime, "run_update", run_update)
    done = CliRunner().invoke(app, ["run", "--ui"])
    assert done.exit_code == 0, done.output
    assert f"Dashboard: {served[0].url}" in done.stderr
    assert "No update yet" in seen[0]
    assert "shop.silver_orders" in seen[-1]


def test_without_ui_nothing_is_served(tmp_path: Path, served: list[Dashboard], monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "penstock.yml").write_text("name: orders\n")
    monkeypatch.chdir(tmp_path)
    outcome = UpdateOutcome(UpdateState.COMPLETED, SECOND_UPDATE)
    monkeypatch.setattr(penstock.runtime, "run_update", lambda *_, **__: outcome)
    done = CliRunner().invoke(app, ["run"])
    assert done.exit_code == 0, done.output
    assert served == []
    assert "Dashboard" not in done.stderr
