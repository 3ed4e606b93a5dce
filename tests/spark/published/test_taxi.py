"""Taxi trips: one file a dataset, names with catalog and schema, the three dearest rides."""

from __future__ import annotations

import random
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.spark.published.conftest import Published

Row = dict[str, Any]
_START = datetime(2026, 1, 5, tzinfo=UTC)  # a Monday


@pytest.mark.slow
def test_taxi(published: Published) -> None:
    pipeline = published("taxi_trips")
    trips = _trips(40)
    pipeline.csv("trips/a.csv", trips[:20])
    pipeline.csv("trips/b.csv", trips[20:])
    pipeline.run()

    kept = [trip for trip in trips if trip["trip_distance"] is not None and trip["trip_distance"] > 0.1]
    flagged = [
        {name: trip[name] for name in ("zip", "fare", "trip_distance")} | {"week": _week(trip)}
        for trip in kept
        if (trip["zip"] == "10001" and trip["fare"] > 50) or (trip["trip_distance"] < 5 and trip["fare"] > 45)
    ]
    weekly = _weekly(kept)
    pipeline.check("flagged_rides", flagged)
    pipeline.check("weekly_stats", weekly)
    average = {row["week"]: round(row["avg_fare"], 2) for row in weekly}
    dearest = sorted(flagged, key=lambda row: (-row["fare"], row["zip"]))[:3]
    pipeline.check(
        "top_n",
        [
            {"week": row["week"], "avg_fare": average[row["week"]], "fare": row["fare"], "zip": row["zip"]}
            for row in dearest
        ],
    )
    files = {row["file"].rpartition("/")[2] for row in pipeline.rows("taxi_raw_records")}
    assert files == {"a.csv", "b.csv"}


def _trips(count: int) -> list[Row]:
    chance = random.Random(21)
    rows = []
    for n in range(count):
        pickup = _START + timedelta(hours=9 * n)
        rows.append(
            {
                "pickup": pickup.isoformat(),
                "dropoff": (pickup + timedelta(minutes=chance.randrange(1, 50))).isoformat(),
                "trip_distance": None if n % 11 == 7 else chance.choice((0.05, 1.5, 4.0, 12.25)),
                "fare": 10.0 + 1.75 * chance.randrange(0, 40),
                "zip": chance.choice(("10001", "10002", "11201")),
            }
        )
    return rows


def _week(trip: Row) -> datetime:
    pickup = datetime.fromisoformat(trip["pickup"])
    return _START + timedelta(weeks=(pickup - _START).days // 7)


def _weekly(trips: list[Row]) -> list[Row]:
    weeks: dict[datetime, list[Row]] = defaultdict(list)
    for trip in trips:
        weeks[_week(trip)].append(trip)
    return [
        {
            "week": week,
            "avg_fare": sum(trip["fare"] for trip in each) / len(each),
            "avg_distance": sum(trip["trip_distance"] for trip in each) / len(each),
        }
        for week, each in weeks.items()
    ]
