"""Rows that break a rule are kept, with the rules that they break."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.oracle.tables import assert_table
from tests.spark.published.conftest import Published
from tests.spark.published.published_pipeline import PublishedPipeline

Row = dict[str, Any]


def test_python(published: Published) -> None:
    pipeline = published("quarantine_python")
    _check(pipeline, _arrive(pipeline))


@pytest.mark.slow  # as in Python
def test_sql(published: Published) -> None:
    pipeline = published("quarantine_sql")
    _check(pipeline, _arrive(pipeline))


def _arrive(pipeline: PublishedPipeline) -> list[Row]:
    chance = random.Random(71)
    payments: list[Row] = [
        {
            "id": None if n % 6 == 5 else n,
            "amount": chance.choice((None, -4.0, 5.5, 70.0)),
            "currency": chance.choice(("EUR", "USD", "XXX")),
            "customer": "test" if n % 7 == 6 else "ann",
        }
        for n in range(40)
    ]
    pipeline.json("payments/1.json", payments[:25])
    pipeline.json("payments/2.json", payments[25:])
    pipeline.run()
    return payments


def _broken(row: Row) -> list[str]:
    broken = {
        "positive amount": row["amount"] is None or row["amount"] <= 0,
        "known currency": row["currency"] == "XXX",
        "has id": row["id"] is None,
    }
    return [rule for rule, is_broken in broken.items() if is_broken]


def _check(pipeline: PublishedPipeline, payments: list[Row]) -> None:
    pipeline.check("payments", [row for row in payments if not _broken(row) and row["customer"] != "test"])
    kept = [row | {"_quarantine_rules": set(row["_quarantine_rules"])} for row in pipeline.rows("payments__quarantine")]
    wanted = [
        row | {"_quarantine_rules": {*_broken(row), *(["no test rows"] if row["customer"] == "test" else [])}}
        for row in payments
        if _broken(row)
    ]
    for row in (*kept, *wanted):
        row["_quarantine_rules"] = sorted(row["_quarantine_rules"])
    assert_table(kept, wanted, ["id", "amount", "currency", "customer", "_quarantine_rules"])
