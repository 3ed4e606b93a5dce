"""The scenarios of `examples/scenarios` on little data: each runs, and its tables are what plain Python computes."""

from __future__ import annotations

import runpy
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.oracle.tables import read_table, stored
from tests.repo.documents import ROOT
from typer.testing import CliRunner

from penstock.care.doctor.checklist import Status
from penstock.care.doctor.examination import examine
from penstock.cli.doctor_settings import settings_of
from penstock.cli.main import app
from penstock.config import load_project
from penstock.plan.selection import RefreshSelection
from penstock.runtime import run_update

SCENARIOS = ROOT / "examples/scenarios"
Row = dict[str, Any]
Expected = dict[str, Counter[tuple[Any, ...]]]


def at(row: Row, column: str) -> datetime:
    return datetime.fromisoformat(row[column])


def readings(rows: list[Row]) -> Expected:
    plausible = (row for row in rows if -60 <= row["celsius"] <= 150)
    return {"plausible_readings": Counter((row["device"], at(row, "at")) for row in plausible)}


def views(rows: list[Row]) -> Expected:
    minutes = Counter((at(row, "viewed_at").replace(second=0), row["page"]) for row in rows)
    return {"views_per_minute": Counter((*key, views) for key, views in minutes.items())}


def sales(rows: list[Row]) -> Expected:
    days: defaultdict[tuple[Any, ...], list[int]] = defaultdict(list)
    for row in rows:
        if row["amount"] > 0:
            days[row["shop"], at(row, "sold_at").date()].append(row["amount"])
    return {"revenue_per_day": Counter((*key, len(each), float(sum(each))) for key, each in days.items())}


def clicks(rows: list[Row]) -> Expected:
    """Windows and sessions that end before the watermark, which follows the newest click of the only batch."""
    watermark = max(at(row, "clicked_at") for row in rows) - timedelta(minutes=20)
    hours: Counter[tuple[Any, ...]] = Counter()
    of_customers: defaultdict[str, list[datetime]] = defaultdict(list)
    for row in rows:
        clicked = at(row, "clicked_at")
        of_customers[row["customer"]].append(clicked)
        newest = clicked.replace(minute=clicked.minute // 10 * 10, second=0)
        for start in (newest - timedelta(minutes=10 * each) for each in range(6)):
            if start + timedelta(hours=1) <= watermark:
                hours[start, row["product"]] += 1
    visits = Counter(
        (customer, visit[0], len(visit))
        for customer, clicked in of_customers.items()
        for visit in _sessions(sorted(clicked))
        if visit[-1] + timedelta(minutes=30) <= watermark
    )
    return {"clicks_of_the_last_hour": Counter((*key, n) for key, n in hours.items()), "visits": visits}


def _sessions(clicked: list[datetime]) -> Iterator[list[datetime]]:
    session = clicked[:1]
    for before, after in pairwise(clicked):
        if after - before > timedelta(minutes=30):
            yield session
            session = []
        session.append(after)
    yield session


COLUMNS: dict[str, Callable[[Row], tuple[Any, ...]]] = {
    "plausible_readings": lambda row: (row["device"], row["at"]),
    "views_per_minute": lambda row: (row["window"]["start"], row["page"], row["views"]),
    "revenue_per_day": lambda row: (row["shop"], row["day"], row["receipts"], row["revenue"]),
    "clicks_of_the_last_hour": lambda row: (row["window"]["start"], row["product"], row["clicks"]),
    "visits": lambda row: (row["customer"], row["session_window"]["start"], row["clicks"]),
}
CASES = {
    "high-volume-iot": ([10], readings),
    "real-time-dashboard": ([90], views),
    "periodic-aggregates": ([5, 3], sales),
    "complex-windows": ([24], clicks),
}


def test_each_scenario_is_tested_and_its_page_shows_what_it_prints() -> None:
    assert set(CASES) == {folder.name for folder in SCENARIOS.iterdir() if folder.is_dir()}
    page = (ROOT / "docs/how-to/scenarios.md").read_text(encoding="utf-8")
    outputs = [f"<!-- output: {name} {command} -->\n```text" for name in CASES for command in ("run", "doctor", "cost")]
    assert [each for each in outputs if each not in page] == []


# Slow: streams without state and with one window; the two that stay have windows too, sessions, and several runs.
_SLOW = {"high-volume-iot", "real-time-dashboard"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in _SLOW else name for name in CASES]
)
def test_a_scenario_runs_and_doctor_has_nothing_to_say(name: str, spark: SparkSession, tmp_path: Path) -> None:
    runs, oracle = CASES[name]
    project = tmp_path / name
    shutil.copytree(SCENARIOS / name, project, ignore=shutil.ignore_patterns(".penstock", "data"))
    config = load_project(project).with_run_options(trigger="available_now")
    generator, rows = runpy.run_path(str(project / "make_data.py")), list[Row]()
    for files in runs:
        arriving = range(len(rows) // generator["ROWS"], len(rows) // generator["ROWS"] + files)
        generator["write"](arriving)
        rows += [row for number in arriving for row in generator["rows"](number)]
        outcome = run_update(config, RefreshSelection(), spark=spark)
        assert outcome.errors == ()
    for table, expected in oracle(rows).items():
        assert len(expected) > 2
        found = read_table(stored(project / ".penstock", config.schema, table))
        assert Counter(map(COLUMNS[table], found)) == expected
    failed = [
        each.rule.name for each in examine(config.storage, settings_of(config)).checks if each.status is Status.FAIL
    ]
    assert failed == ["storage-durable"], "the test's folder is a temporary one"
    if len(runs) > 1:
        cost = CliRunner().invoke(app, ["cost", str(project), "--hourly-price", "15", "--run-time", "2 minutes"])
        assert cost.exit_code == 0, cost.output
