"""Clicks in files of text: parsed, freed of duplicates, grouped into sessions."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.spark.published.conftest import Published

Row = dict[str, Any]
_GAP = timedelta(minutes=30)
_DELAY = timedelta(hours=1)


@pytest.mark.slow
def test_sessions(published: Published) -> None:
    pipeline = published("clickstream_sessions")
    events = _events(80)
    for name, part in (("monday", events[:45]), ("tuesday", events[45:])):
        lines = [json.dumps(event) for event in part]
        repeated = lines[::7]  # sent twice, as trackers do
        pipeline.text(f"clicks/{name}.txt", "\n".join([*lines, *repeated, "not json"]) + "\n")
        pipeline.run()

    silver = [
        {"event_id": e["event_id"], "user_id": e["user_id"], "page": e["page"], "event_time": _moment(e["ts"])}
        for e in events
        if e["user_id"] is not None and e["ts"] is not None
    ]
    pipeline.check("events_silver", silver)
    pipeline.check("sessions_gold", _sessions(silver))
    views: dict[str, list[str]] = defaultdict(list)
    for row in silver:
        views[row["page"]].append(row["user_id"])
    pipeline.check(
        "page_counts",
        [{"page": page, "views": len(users), "visitors": len(set(users))} for page, users in views.items()],
    )
    assert not Path("dbfs:").exists(), "the schema location of another platform is not a folder of this one"
    assert {row["file_name"] for row in pipeline.rows("events_bronze")} == {"monday.txt", "tuesday.txt"}


def _events(count: int) -> list[Row]:
    chance = random.Random(3)
    moment = datetime(2026, 6, 1, 8, tzinfo=UTC)
    rows: list[Row] = []
    for n in range(count):
        moment += timedelta(minutes=chance.choice((1, 2, 5, 9, 25)), seconds=1)
        rows.append(
            {
                "event_id": f"e{n}",
                "user_id": None if n % 13 == 4 else chance.choice(("ann", "bob", "cy")),
                "page": chance.choice(("/", "/cart", "/pay")),
                "ts": None if n % 17 == 6 else moment.isoformat(),
            }
        )
    return rows


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _sessions(clicks: list[Row]) -> list[Row]:
    """The sessions that the watermark has closed."""
    watermark = max(click["event_time"] for click in clicks) - _DELAY
    by_user: dict[str, list[Row]] = defaultdict(list)
    for click in clicks:
        by_user[click["user_id"]].append(click)
    found = []
    for user, theirs in by_user.items():
        sessions: list[list[Row]] = []
        for click in sorted(theirs, key=lambda row: row["event_time"]):
            if sessions and click["event_time"] < sessions[-1][-1]["event_time"] + _GAP:
                sessions[-1].append(click)
            else:
                sessions.append([click])
        found += [
            {
                "user_id": user,
                "started": each[0]["event_time"],
                "ended": each[-1]["event_time"] + _GAP,
                "clicks": len(each),
                "exit_page": each[-1]["page"],
            }
            for each in sessions
            if each[-1]["event_time"] + _GAP <= watermark
        ]
    return found
