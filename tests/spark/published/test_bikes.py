"""Bike rides from CSV files with a header nobody mentions, joined to the weather of the day."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.spark.published.conftest import Published

Row = dict[str, Any]
_WEATHER = {"2026-04-01": 8.5, "2026-04-02": 11.0}
_TIME = "%Y-%m-%d %H:%M:%S"


@pytest.mark.slow
def test_python_notebooks(published: Published) -> None:
    pipeline = published("bike_rides")
    pipeline.csv("weather.csv", [{"date": day, "temperature": value} for day, value in _WEATHER.items()])
    rides = _rides(30)
    pipeline.csv("rides/april-a.csv", rides[:16])
    pipeline.csv("rides/april-b.csv", rides[16:])
    pipeline.run()

    clean = _clean(rides)
    pipeline.check("rides_clean", clean)
    pipeline.check("rides_by_day", _by_day(clean))
    pipeline.check("bikes_to_check", _busiest(clean))
    assert Counter(row["source_file"] for row in pipeline.rows("rides_raw")) == {"april-a.csv": 16, "april-b.csv": 14}


@pytest.mark.slow
def test_sql_notebook(published: Published) -> None:
    pipeline = published("sql_bike_rides")
    pipeline.csv("weather.csv", [{"date": day, "temperature": value} for day, value in _WEATHER.items()])
    rides = _rides(30)
    pipeline.csv("rides/april-a.csv", rides)
    pipeline.run()

    clean = _clean(rides)
    pipeline.check("rides_clean", clean)
    pipeline.check("bikes_to_check", _busiest(clean))
    assert len(pipeline.rows("rides_raw")) == 30


def _rides(count: int) -> list[Row]:
    chance = random.Random(8)
    rows = []
    for n in range(count):
        start = datetime(2026, 4, 1, 5, tzinfo=UTC) + timedelta(minutes=97 * n)
        end = start + timedelta(seconds=chance.choice((-300, 90, 600, 1234, 5000)))
        rows.append(
            {
                "ride_id": f"r{n}",
                "started_at": start.strftime(_TIME),
                "ended_at": None if n % 9 == 5 else end.strftime(_TIME),
                "bike_id": chance.randrange(1, 7),
                "user_type": chance.choice(("member", "casual")),
            }
        )
    return rows


def _clean(rides: list[Row]) -> list[Row]:
    clean = []
    for ride in rides:
        if ride["ended_at"] is None:
            continue
        start, end = (datetime.strptime(ride[name], _TIME).replace(tzinfo=UTC) for name in ("started_at", "ended_at"))
        if end >= start:
            clean.append(
                {
                    "ride_id": ride["ride_id"],
                    "bike_id": ride["bike_id"],
                    "user_type": ride["user_type"],
                    "ride_date": start.date(),
                    "minutes": (end - start).total_seconds() / 60,
                    "temperature": _WEATHER.get(str(start.date())),
                }
            )
    return clean


def _by_day(clean: list[Row]) -> list[Row]:
    counts = Counter((ride["ride_date"], ride["user_type"]) for ride in clean)
    return [
        {"ride_date": day, "member": counts[day, "member"], "casual": counts[day, "casual"]}
        for day in {ride["ride_date"] for ride in clean}
    ]


def _busiest(clean: list[Row]) -> list[Row]:
    minutes: dict[int, float] = defaultdict(float)
    for ride in clean:
        minutes[ride["bike_id"]] += ride["minutes"]
    ranked = sorted(((round(value, 2), bike) for bike, value in minutes.items()), key=lambda each: (-each[0], each[1]))
    return [{"bike_id": bike, "minutes": value} for value, bike in ranked[:3]]
