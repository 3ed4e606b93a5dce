"""SQL files in the current spelling: one statement a dataset, parameters, flows, and Python beside them."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.published.conftest import Published

Row = dict[str, Any]


@pytest.mark.slow
def test_medallion(published: Published) -> None:
    pipeline = published("sql_medallion_modern")
    products: list[Row] = [{"sku": f"s{n}", "category": chr(97 + n % 3), "weight": n / 4} for n in range(6)]
    pipeline.csv("products/all.csv", products)
    orders = _orders(24)
    pipeline.json("orders/1.json", orders[:14])
    pipeline.json("orders/2.json", orders[14:])
    pipeline.run()

    kept = [order for order in orders if order["order_id"] is not None]
    items: list[Row] = [
        {
            "order_id": order["order_id"],
            "customer": order["customer"],
            "sku": item["sku"],
            "price": Decimal(item["price"]),
            "day": date.fromisoformat(order["ordered_at"][:10]),
        }
        for order in kept
        for item in order["items"]
        if Decimal(item["price"]) > 0
    ]
    pipeline.check("items", items)
    assert Counter(row["source"] for row in pipeline.rows("bronze_orders")) == _sources(orders)
    known = {product["sku"]: product for product in products}
    days: dict[tuple[date, str], list[Row]] = defaultdict(list)
    customers: dict[str, Decimal] = defaultdict(Decimal)
    for item in items:
        days[item["day"], known.get(item["sku"], {}).get("category", "unknown; new")].append(item)
        customers[item["customer"]] += item["price"]
    pipeline.check(
        "revenue_by_day",
        [
            {"day": day, "category": category, "revenue": sum(i["price"] for i in each), "weight": _weight(each, known)}
            for (day, category), each in days.items()
        ],
    )
    best = sorted(customers.values(), reverse=True)[:2]
    pipeline.check(
        "best_customers",
        [{"customer": name, "revenue": total} for name, total in customers.items() if total >= best[-1]],
    )


def _orders(count: int) -> list[Row]:
    chance = random.Random(61)
    return [
        {
            "order_id": None if n % 10 == 6 else n,
            "customer": chance.choice(("ann", "bob", "cy", "dee")),
            "items": [
                {"sku": f"s{chance.randrange(8)}", "price": f"{chance.randrange(-300, 9000) / 100:.2f}"}
                for _ in range(chance.randrange(4))
            ],
            "ordered_at": f"2026-03-0{n % 4 + 1}T12:00:00Z",
        }
        for n in range(count)
    ]


def _sources(orders: list[Row]) -> Counter[str]:
    return Counter(f"{1 + (n >= 14)}.json" for n, order in enumerate(orders) if order["order_id"] is not None)


def _weight(items: list[Row], known: dict[str, Row]) -> float | None:
    weights = [known[item["sku"]]["weight"] for item in items if item["sku"] in known]
    return sum(weights) if weights else None


@pytest.mark.slow
def test_sql_and_python_read_each_other(published: Published) -> None:
    pipeline = published("sql_and_python")
    chance = random.Random(62)
    tickets: list[Row] = [
        {
            "id": n,
            "team": chance.choice(("red", "blue")),
            "minutes": None if n % 8 == 7 else 30 * chance.randrange(1, 20),
            "closed": chance.random() < 0.5,
        }
        for n in range(30)
    ]
    pipeline.json("tickets/1.json", tickets[:20])
    pipeline.json("tickets/2.json", tickets[20:])
    pipeline.run()

    kept = [ticket | {"hours": ticket["minutes"] / 60} for ticket in tickets if ticket["minutes"] is not None]
    files = {ticket["id"]: "1.json" if ticket["id"] < 20 else "2.json" for ticket in kept}
    pipeline.check("silver", [ticket | {"file": files[ticket["id"]]} for ticket in kept])
    teams: list[Row] = [
        {
            "team": team,
            "hours": round(sum(t["hours"] for t in kept if t["team"] == team), 3),
            "closed": sum(t["closed"] for t in kept if t["team"] == team),
        }
        for team in ("red", "blue")
    ]
    pipeline.check("hours_by_team", teams)
    oldest = sorted((t for t in kept if not t["closed"]), key=lambda t: (-t["hours"], t["id"]))[:4]
    pipeline.check("oldest_open", [{"id": t["id"], "team": t["team"], "closed": False} for t in oldest])
    pipeline.check(
        "report", [{"team": row["team"], "over": row["hours"] > 10, "closed": row["closed"]} for row in teams]
    )


def test_parameters_and_schemas(published: Published) -> None:
    pipeline = published("sql_parameters")
    payments: list[Row] = [
        {"id": n, "amount": n * 1.25, "currency": ("EUR", "USD")[n % 2], "paid_on": f"2026-02-{n % 3 + 1:02}"}
        for n in range(24)
    ]
    pipeline.csv("payments/1.csv", payments, separator="|")
    pipeline.run()

    kept = [row | {"paid_on": date.fromisoformat(str(row["paid_on"]))} for row in payments if row["id"] * 1.25 >= 10]
    pipeline.check("landing.payments", kept)
    amounts: dict[str, float] = defaultdict(float)
    for row in kept:
        amounts[row["currency"]] += row["amount"]
    pipeline.check("marts.by_currency_v2", [{"currency": c, "amount": a} for c, a in amounts.items()])
    days = Counter(row["paid_on"] for row in kept)
    pipeline.check("marts.by_day", [{"paid_on": day, "payments": count} for day, count in days.items()])
    pipeline.check("marts.busiest", [{"payments": max(days.values()), "text": "${not.a.parameter"}])


def test_flows(published: Published) -> None:
    pipeline = published("sql_flows")
    logins = _logins(40)
    archive = [{"login": f"old{n}", "seen_at": datetime(2026, 7, 31, n, tzinfo=UTC)} for n in range(3)]
    folder = pipeline.directory / "data" / "archive"
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(archive), folder / "1.parquet")
    for part in (0, 1):
        for site in ("east", "west"):
            rows = [login for n, login in enumerate(logins) if login["site"] == site and (n >= 20) == bool(part)]
            pipeline.json(
                f"{site}/{part}.json", [{"login": row["login"], "seen_at": row["seen_at"].isoformat()} for row in rows]
            )
        pipeline.run()

    kept = [row for row in logins if row["login"] is not None] + [row | {"site": "archive"} for row in archive]
    pipeline.check("logins", kept)
    counts = Counter((row["seen_at"].replace(minute=0), row["site"]) for row in kept)
    watermark = max(row["seen_at"] for row in kept) - timedelta(minutes=10)
    pipeline.check(
        "logins_per_hour",
        [
            {"hour": hour, "site": site, "logins": count}
            for (hour, site), count in counts.items()
            if hour + timedelta(hours=1) <= watermark
        ],
    )
    last_seen: dict[str, datetime] = {}
    for row in kept:
        last_seen[row["login"]] = max(row["seen_at"], last_seen.get(row["login"], row["seen_at"]))
    limit = datetime(2026, 8, 1, 6, tzinfo=UTC)
    pipeline.check("inactive", [{"login": login} for login, seen in last_seen.items() if seen < limit])


def _logins(count: int) -> list[Row]:
    chance = random.Random(63)
    return [
        {
            "login": chance.choice((None, *(f"u{i}" for i in range(12)))),
            "seen_at": datetime(2026, 8, 1, tzinfo=UTC) + timedelta(minutes=17 * n),
            "site": chance.choice(("east", "west")),
        }
        for n in range(count)
    ]
