"""The page Cost: figures of the simulation, and what it says when it cannot have any."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.recorded.days import DaysRecorder

from penstock.dashboard.application import create_application
from penstock.dashboard.known_pipeline import KnownPipeline
from penstock.dashboard.log.live_log import LiveLog


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = str(tmp_path_factory.mktemp("storage"))
    DaysRecorder(folder).always_on(4 * 3600, trigger=60)
    return folder


def _client(storage: str, prices: Path | None = None) -> TestClient:
    return TestClient(
        create_application(LiveLog(storage), pipeline=KnownPipeline(prices=prices)), base_url="http://127.0.0.1:8420"
    )


def _points(text: str) -> dict[str, Any]:
    found = re.search(r"data-points='([^']*)'", text)
    assert found is not None
    points: dict[str, Any] = json.loads(html.unescape(found.group(1)))
    return points


def test_it_draws_each_schedule_and_marks_the_frontier(storage: str, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yml"
    prices.write_text("currency: EUR\nas_of: 2026-01-31\ncluster: {hour: 2.5}\n")
    text = _client(storage, prices).get("/cost").text
    points = _points(text)
    assert points["unit"] == "EUR a day"
    names = [each["name"] for each in points["schedules"]]
    assert {"always on", "AvailableNow every 1 hour"} <= set(names)
    assert any(each["frontier"] for each in points["schedules"])
    assert [each["seconds"] for each in points["schedules"]] == sorted(each["seconds"] for each in points["schedules"])
    assert "as of 2026-01-31" in text
    assert "days of history" in text


def test_price_and_goal_of_the_form_count(storage: str) -> None:
    text = _client(storage).get("/cost", params={"price": "15 USD", "goal": "30 minutes"}).text
    assert _points(text)["goal"] == 1800
    assert [each["name"] for each in _points(text)["schedules"] if each["recommended"]]
    assert 'value="30 minutes"' in text
    assert "360.00" in text


def test_without_prices_it_shows_hours_of_the_cluster(storage: str) -> None:
    text = _client(storage).get("/cost").text
    assert _points(text)["unit"] == "cluster a day"
    assert "--hourly-price" in text


@pytest.mark.parametrize(
    ("query", "condition"),
    [({"price": "<b>cheap"}, "CONFIG_INVALID_VALUE"), ({"goal": "soon"}, "INVALID_INTERVAL")],
)
def test_what_the_form_has_wrong_is_said_and_escaped(storage: str, query: dict[str, str], condition: str) -> None:
    answer = _client(storage).get("/cost", params=query)
    assert answer.status_code == 200
    assert condition in answer.text
    assert "<b>cheap" not in answer.text


def test_a_wrong_price_file_is_said_with_its_fix(storage: str, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yml"
    prices.write_text("currency: EUR\nclutser: {hour: 2.5}\ncluster: {hour: 2.5}\n")
    text = _client(storage, prices).get("/cost").text
    assert "CONFIG_UNKNOWN_KEY" in text
    assert "cluster" in text


def test_a_pipeline_that_never_ran(tmp_path: Path) -> None:
    assert "No update yet" in _client(str(tmp_path)).get("/cost").text


def test_one_batch_is_not_enough(tmp_path: Path) -> None:
    DaysRecorder(str(tmp_path)).always_on(120, trigger=60)
    assert "COST_NOT_MEASURED" in _client(str(tmp_path)).get("/cost").text


def test_an_answer_is_good_for_a_minute(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    client = _client(storage)
    first = client.get("/cost").text
    monkeypatch.setattr("penstock.care.cost.estimate.estimate", None)
    assert _points(client.get("/cost").text) == _points(first)
