"""Small pipelines of tutorials: parameters, a first notebook, verified counts, messages with a payload."""

from __future__ import annotations

import base64
import json
import random
from collections import Counter, defaultdict
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from tests.spark.published.conftest import Published

Row = dict[str, Any]


def test_parameters(published: Published) -> None:
    pipeline = published("parameters_and_dates")
    events: list[Row] = [
        {"id": n, "country": ("fr", "de", "us")[n % 3], "day": str(date(2026, 1, 1) + timedelta(days=n % 5))}
        for n in range(20)
    ]
    pipeline.json("events/1.json", events[:12])
    pipeline.json("events/2.json", events[12:])
    pipeline.run(overrides={"my_etl.full_load": "true"})

    kept = [each | {"day": date.fromisoformat(each["day"])} for each in events if each["day"] >= "2026-01-02"]
    pipeline.check("events", kept, ignoring=["processed_at"])
    for day in (2, 3, 4):
        pipeline.check(f"events_2026010{day}", [each for each in kept if each["day"] == date(2026, 1, day)])
    for country in ("fr", "de"):
        of_country = [{"id": each["id"], "day": each["day"]} for each in kept if each["country"] == country]
        pipeline.check(f"events_{country}", of_country)
    assert not pipeline.path("events_us").exists()
    pipeline.check("everything", [{"id": each["id"]} for each in events])


@pytest.mark.slow  # test_loans.py has a notebook
def test_first_notebook(published: Published) -> None:
    pipeline = published("baby_names")
    chance = random.Random(6)
    names: list[Row] = [
        {"Year": year, "First Name": chance.choice((None, "Ada", "Ben", "Cleo", "Dov", "Eve", "Finn")), "Count": n + 1}
        for n, year in enumerate([2020, 2021] * 12)
    ]
    pipeline.csv("names.csv", names)
    outcome = pipeline.run()

    pipeline.check(
        "names_clean",
        [{"Born": r["Year"], "Name": r["First Name"], "Count": r["Count"]} for r in names],
    )
    totals: Counter[str | None] = Counter()
    for row in names:
        if row["Year"] == 2021:
            totals[row["First Name"]] += row["Count"]
    assert len(set(totals.values())) == len(totals), "two names as frequent: the five would not be certain"
    pipeline.check("popular_2021", [{"Name": name, "Children": total} for name, total in totals.most_common(5)])
    nameless = sum(row["First Name"] is None for row in names)
    assert pipeline.quality(outcome)["names_clean", "name is known"] == (24 - nameless, nameless)


@pytest.mark.slow
def test_verified_counts(published: Published) -> None:
    pipeline = published("row_count_verification")
    orders = [{"id": n, "customer": None if n % 4 == 0 else n % 7} for n in range(30)]
    customers = [{"customer": n, "name": f"n{n}"} for n in range(10)]
    pipeline.json("orders/1.json", orders)
    pipeline.json("customers/1.json", customers)
    outcome = pipeline.run()

    ordered = {order["customer"] for order in orders} - {None}
    pipeline.check("report", [order for order in orders if order["customer"] is not None])
    missing = [each for each in customers if each["customer"] not in ordered]
    pipeline.check("customers_without_orders", missing)
    counted = pipeline.quality(outcome)
    assert counted["left_join_check", "report has all customers"] == (10 - len(missing), len(missing))
    assert counted["count_verification", "no_rows_dropped"] == (1, 0)
    assert counted["pk_verification", "unique_pk"] == (10, 0)


@pytest.mark.slow
def test_messages_in_an_ipynb(published: Published) -> None:
    pipeline = published("kafka_like_json")
    chance = random.Random(15)
    start = datetime(2026, 7, 1, tzinfo=UTC)
    edits: list[Row | None] = [
        None
        if n % 9 == 4
        else {
            "page": {"id": n % 4, "title": ("spark", "delta", "kafka", None)[n % 4]},
            "user": f"u{n % 3}",
            "tags": chance.sample(("minor", "bot", "new"), k=chance.randrange(0, 3)),
            "delta": chance.randrange(-50, 200),
        }
        for n in range(30)
    ]
    messages = [
        {
            "offset": n,
            "timestamp": (start + timedelta(seconds=n)).isoformat(),
            "value": base64.b64encode(json.dumps(edit).encode() if edit else b"{broken").decode(),
        }
        for n, edit in enumerate(edits)
    ]
    pipeline.json("topic/0.json", messages)
    pipeline.run()

    pipeline.check(
        "edits",
        [
            {"offset": n, "timestamp": start + timedelta(seconds=n), "edit": edit}
            for n, edit in enumerate(edits)
            if edit is not None
        ],
    )
    deltas: dict[tuple[str | None, str], list[int]] = defaultdict(list)
    for edit in filter(None, edits):
        title = edit["page"]["title"]
        for tag in edit["tags"]:
            deltas[title[:4].upper() if title else None, tag].append(edit["delta"])
    pipeline.check(
        "tags_by_page",
        [{"page": page, "tag": tag, "delta": sum(d), "edits": len(d)} for (page, tag), d in deltas.items()],
    )
