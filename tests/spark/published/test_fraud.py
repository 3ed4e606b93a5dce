"""Payments joined to fraud reports that follow within ten minutes; columns computed from those of other tables."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.spark.published.conftest import Published

Row = dict[str, Any]
_COUNTRIES = {"FRA": "48.8", "USA": "38.9"}
_CUSTOMERS = [{"id": f"c{n}", "name": f"Customer\n{n}", "secret_pin": "0000"} for n in range(4)]


@pytest.mark.slow
def test_fraud(published: Published) -> None:
    pipeline = published("fraud_detection")
    pipeline.csv("country_code.csv", [{"code": code, "latitude": value} for code, value in _COUNTRIES.items()])
    pipeline.csv("customers/1.csv", _CUSTOMERS)
    payments = _payments(30)
    reports = _reports(payments)
    pipeline.json("transactions/1.json", payments[:18])
    pipeline.csv("fraud_report/1.csv", reports[:10])
    pipeline.run()
    pipeline.json("transactions/2.json", payments[18:])
    pipeline.csv("fraud_report/2.csv", reports[10:])
    pipeline.run()

    pipeline.check("silver_customers", [{"id": each["id"], "name": each["name"]} for each in _CUSTOMERS])
    silver = _joined(payments, reports)
    pipeline.check("silver_transactions", silver)
    names = {each["id"]: each["name"] for each in _CUSTOMERS}
    pipeline.check(
        "gold_transactions",
        [
            row
            | {"is_fraud": bool(row["is_fraud"]), "customer_name": names[row["customer_id"]]}
            | {
                "orig_code": row["country_orig"] if row["country_orig"] in _COUNTRIES else None,
                "orig_latitude": _COUNTRIES.get(row["country_orig"]),
            }
            for row in silver
            if row["customer_id"] in names
        ],
    )


def _payments(count: int) -> list[Row]:
    chance = random.Random(13)
    start = datetime(2026, 2, 1, 10, tzinfo=UTC)
    return [
        {
            "id": None if n % 12 == 11 else f"t{n}",
            "customer_id": None if n % 10 == 8 else f"c{chance.randrange(0, 6)}",
            "amount": 7.5 * chance.randrange(1, 9),
            "country_orig": chance.choice(("FRA", "--FRA", "USA", "XYZ")),
            "ts": (start + timedelta(minutes=3 * n)).isoformat(),
        }
        for n in range(count)
    ]


def _reports(payments: list[Row]) -> list[Row]:
    """For two payments of three, from five minutes before to twelve after it."""
    chance = random.Random(14)
    return [
        {
            "id": payment["id"],
            "is_fraud": chance.choice(("true", "false", None)),
            "reported_at": (datetime.fromisoformat(payment["ts"]) + timedelta(minutes=minutes)).isoformat(),
        }
        for n, payment in enumerate(payments)
        if n % 3 and (minutes := chance.choice((-5, 0, 4, 10, 12))) is not None
    ]


def _joined(payments: list[Row], reports: list[Row]) -> list[Row]:
    rows = []
    for payment in payments:
        moment = datetime.fromisoformat(payment["ts"])
        for report in reports:
            wait = datetime.fromisoformat(report["reported_at"]) - moment
            if payment["id"] is None or payment["customer_id"] is None or report["id"] != payment["id"]:
                continue
            if timedelta(0) <= wait <= timedelta(minutes=10):
                fraud = {"true": True, "false": False, None: None}[report["is_fraud"]]
                country = payment["country_orig"].replace("--", "")
                rows.append(payment | {"ts": moment, "country_orig": country, "is_fraud": fraud})
    return rows
