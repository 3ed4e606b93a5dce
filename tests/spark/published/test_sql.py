"""SQL files in the current spelling: one statement a dataset, parameters, flows, and Python beside them."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from datetime import date
from decimal import Decimal
from typing import Any

from tests.spark.published.conftest import Published

Row = dict[str, Any]


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
