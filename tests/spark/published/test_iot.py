"""Sensor readings: windows under a watermark, the latest value of each device, and an alarm."""

from __future__ import annotations

import random
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.spark.published.conftest import Published

Row = dict[str, Any]
_START = datetime(2026, 3, 1, 6, tzinfo=UTC)
_LIMITS = {"d1": 60.0, "d2": 90.0, "d3": 20.0}


@pytest.mark.slow
def test_sensors(published: Published) -> None:
    pipeline = published("iot_sensors")
    pipeline.csv(
        "devices.csv", [{"device_id": name, "hall": "A", "max_temperature": limit} for name, limit in _LIMITS.items()]
    )
    readings = _readings(120)
    pipeline.json("readings/1.json", readings[:70])
    pipeline.json("readings/2.json", readings[70:])
    pipeline.run()

    good = [
        row | {"ts": datetime.fromisoformat(row["ts"])}
        for row in readings
        if row["device_id"] is not None and row["temperature"] is not None and -50 <= row["temperature"] <= 150
    ]
    pipeline.check("readings", good)
    pipeline.check("readings_5min", _windows(good))
    latest = _latest(good)
    pipeline.check("latest_reading", latest)
    pipeline.check(
        "overheated",
        [
            {"hall": "A", "device_id": row["device_id"], "temperature": row["temperature"]}
            for row in latest
            if row["temperature"] > _LIMITS[row["device_id"]]
        ],
    )


def _readings(count: int) -> list[Row]:
    """One a minute, up to nine minutes out of order."""
    chance = random.Random(5)
    return [
        {
            "device_id": chance.choice((*_LIMITS, None)),
            "ts": (_START + timedelta(seconds=60 * n - chance.randrange(0, 540))).isoformat(),
            "temperature": chance.choice((None, 300.0, *(chance.uniform(10, 100) for _ in range(5)))),
            "humidity": chance.uniform(-5, 105),
        }
        for n in range(count)
    ]


def _windows(readings: list[Row]) -> list[Row]:
    groups: dict[tuple[str, datetime], list[float]] = defaultdict(list)
    for row in readings:
        start = row["ts"].replace(minute=row["ts"].minute // 5 * 5, second=0)
        groups[row["device_id"], start].append(row["temperature"])
    watermark = max(row["ts"] for row in readings) - timedelta(minutes=10)
    return [
        {
            "device_id": device,
            "start": start,
            "avg_temperature": sum(values) / len(values),
            "max_temperature": max(values),
            "n": len(values),
        }
        for (device, start), values in groups.items()
        if start + timedelta(minutes=5) <= watermark
    ]


def _latest(readings: list[Row]) -> list[Row]:
    newest: dict[str, Row] = {}
    for row in readings:
        if row["device_id"] not in newest or row["ts"] > newest[row["device_id"]]["ts"]:
            newest[row["device_id"]] = row
    return [{name: row[name] for name in ("device_id", "ts", "temperature")} for row in newest.values()]
