"""Retail orders through bronze, silver and gold."""

from __future__ import annotations

import random
from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.spark.published.conftest import Published

Row = dict[str, Any]
_CITIES = ("Los Angeles", "Chicago", "Boston")


@pytest.mark.slow  # a notebook as test_loans.py, SQL as test_flows of test_sql.py
@pytest.mark.parametrize("folder", ["retail_medallion", "sql_retail_live"])
def test_medallion(published: Published, folder: str) -> None:
    pipeline = published(folder)
    customers = [
        {"customer_id": str(n), "customer_name": f"Shop {n}, Inc.", "city": _CITIES[n % 3]} for n in range(1, 7)
    ]
    orders = _orders(40)
    pipeline.csv("customers/2026-05-01.csv", customers)
    pipeline.json("orders/1.json", orders[:25])
    pipeline.run()
    pipeline.json("orders/2.json", orders[25:])
    pipeline.run()

    pipeline.check("customers", customers)
    by_id = {each["customer_id"]: each for each in customers}
    cleaned = [_cleaned(order, by_id) for order in orders if order["order_number"] is not None]
    pipeline.check("orders_clean", cleaned)
    pipeline.check("orders_la", _by_city(cleaned, "Los Angeles"))
    pipeline.check("orders_chicago", _by_city(cleaned, "Chicago"))


def _orders(count: int) -> list[Row]:
    chance = random.Random(11)
    rows = []
    for n in range(count):
        products: list[Row] = [
            {"curr": chance.choice(("USD", "EUR")), "name": f"p{i}", "price": chance.randrange(1, 90), "qty": i + 1}
            for i in range(chance.randrange(1, 4))
        ]
        rows.append(
            {
                "customer_id": str(chance.randrange(1, 9)),  # 7 and 8 are not in the customers' file
                "number_of_line_items": len(products) + (n % 10 == 0),
                "order_datetime": 1_772_000_000 + n * 7_000,
                "order_number": None if n % 8 == 3 else 1000 + n,
                "ordered_products": products,
            }
        )
    return rows


def _cleaned(order: Row, customers: dict[str, Row]) -> Row:
    customer = customers.get(order["customer_id"], {})
    moment = datetime.fromtimestamp(order["order_datetime"], UTC)
    return order | {
        "customer_name": customer.get("customer_name"),
        "city": customer.get("city"),
        "order_datetime": moment,
        "order_date": moment.date(),
    }


def _by_city(cleaned: list[Row], city: str) -> list[Row]:
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for order in cleaned:
        if order["city"] == city:
            for product in order["ordered_products"]:
                key = (order["order_date"], city, order["customer_id"], order["customer_name"], product["curr"])
                groups[key].append(product)
    names = ("order_date", "city", "customer_id", "customer_name", "currency")
    return [
        dict(zip(names, key, strict=True))
        | {"sales": sum(p["price"] for p in each), "qty": sum(p["qty"] for p in each), "product_count": len(each)}
        for key, each in groups.items()
    ]
