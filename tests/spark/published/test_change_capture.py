"""Change data capture: events out of order, deletes, truncates; and whole tables that are compared."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from tests.spark.published import changes_model
from tests.spark.published.conftest import Published

Row = dict[str, Any]
_START = datetime(2026, 5, 1, tzinfo=UTC)


def customer_events(count: int) -> list[Row]:
    """Changes of eight customers in a shuffled order; bad ones and one sent twice among them."""
    chance = random.Random(31)
    events = []
    for n in range(count):
        key = None if n % 19 == 18 else chance.randrange(8)
        operation = chance.choice(("APPEND", "UPDATE", "UPDATE", "DELETE")) if n % 16 != 15 else "NOPE"
        events.append(
            {
                "id": key,
                "address": f"{n} Street",
                "email": f"c{key}@{chance.choice(('a', 'b'))}.example" if operation != "DELETE" else None,
                "firstname": f"Name {n}",
                "operation": operation,
                "operation_date": (_START + timedelta(minutes=n)).isoformat(),
            }
        )
    chance.shuffle(events)
    return [*events, events[0]]


def clean(events: list[Row]) -> list[Row]:
    kept = [each for each in events if each["id"] is not None and each["operation"] != "NOPE"]
    return [each | {"operation_date": datetime.fromisoformat(each["operation_date"])} for each in kept]


CUSTOMERS: dict[str, Any] = {
    "keys": ["id"],
    "order": lambda event: event["operation_date"],
    "columns": ["address", "email", "id", "firstname"],
    "deletes": lambda event: event["operation"] == "DELETE",
}


@pytest.mark.slow  # in Python as the documented example of test_change_flows.py, in SQL as test_sql_clauses.py
@pytest.mark.parametrize("folder", ["cdc_customers", "sql_change_capture"])
def test_customers(published: Published, folder: str) -> None:
    pipeline = published(folder)
    events = customer_events(60)
    for n, part in enumerate((events[:25], events[25:40], events[40:])):
        pipeline.json(f"customers/{n}.json", part)
        if n != 1:
            pipeline.run()

    good = clean(events)
    pipeline.check("customers_cdc_clean", good)
    customers = changes_model.current(good, **CUSTOMERS)
    pipeline.check("customers", customers)
    pipeline.check("customers_history", changes_model.history(good, **CUSTOMERS))
    domains = [str(each["email"]).split("@")[1] for each in customers]
    pipeline.check("customers_by_domain", [{"domain": name, "customers": domains.count(name)} for name in set(domains)])


@pytest.mark.slow
def test_debezium(published: Published) -> None:
    pipeline = published("debezium_orders")
    messages = _debezium(70)
    for n, part in enumerate((messages[:30], messages[30:])):
        lines = [json.dumps({"schema": {}, "payload": payload}) for payload in part]
        pipeline.text(f"orders/{n}.txt", "\n".join([*lines, json.dumps({"payload": None}), "", "{"]) + "\n")
        pipeline.run()

    columns = ["order_id", "customer", "status", "total"]
    events = [
        (payload["after"] or payload["before"] or dict.fromkeys(columns))
        | {"op": payload["op"], "ts_ms": payload["ts_ms"], "lsn": payload["source"]["lsn"]}
        for payload in messages
    ]
    for event in events:
        event["total"] = None if event["total"] is None else Decimal(str(event["total"])).quantize(Decimal("0.01"))
    pipeline.check(
        "orders",
        changes_model.current(
            events,
            keys=["order_id"],
            order=lambda event: (event["ts_ms"], event["lsn"]),
            columns=columns,
            deletes=lambda event: bool(event["op"] == "d"),
            truncates=lambda event: bool(event["op"] == "t"),
        ),
    )
    pipeline.check(
        "orders_history",
        changes_model.history(
            [event for event in events if event["op"] != "t"],
            keys=["order_id"],
            order=lambda event: event["lsn"],
            columns=columns,
            deletes=lambda event: bool(event["op"] == "d"),
            tracked=["status"],
        ),
    )


def _debezium(count: int) -> list[Row]:
    chance = random.Random(41)
    table: dict[int, Row] = {}
    messages: list[Row] = []
    for n in range(count):
        stamp = {"ts_ms": 1_770_000_000_000 + n // 3, "source": {"lsn": 500 + n, "table": "orders"}}
        if n == 20:
            messages.append({"before": None, "after": None, "op": "t"} | stamp)
            table.clear()
            continue
        key = chance.randrange(9)
        before = table.get(key)
        if before is not None and chance.random() < 0.25:
            del table[key]
            messages.append({"before": before, "after": None, "op": "d"} | stamp)
            continue
        after = {"order_id": key, "customer": f"c{n}", "status": chance.choice("NPS"), "total": n + 0.25}
        table[key] = after
        messages.append({"before": before, "after": after, "op": "u" if before else chance.choice("cr")} | stamp)
    middle = messages[40:60]
    chance.shuffle(middle)  # a repartitioned topic
    return [*messages[:40], *middle, *messages[60:]]


@pytest.mark.slow
def test_tables_of_a_replication_service(published: Published) -> None:
    pipeline = published("dms_tables_loop")
    loaded = [
        {"product_id": n, "name": f"p{n}", "price": n * 1.5, "changed_at": "2026-01-01 00:00:00"} for n in range(6)
    ]
    suppliers = [{"supplier_id": n, "city": f"s{n}", "changed_at": "2026-01-01 00:00:00"} for n in range(4)]
    pipeline.csv("products/LOAD00000001.csv", loaded)
    pipeline.csv("suppliers/LOAD00000001.csv", suppliers)
    pipeline.run()
    changes = [
        {"Op": op, "product_id": key, "name": f"{op}{n}", "price": n / 4, "changed_at": f"2026-01-02 00:00:{n:02}"}
        for n, (op, key) in enumerate([("U", 2), ("D", 3), ("I", 9), ("U", 9), ("D", 4), ("I", 4)])
    ]
    pipeline.csv("products/20260102-1.csv", changes)  # a column more: the stream evolves, the function runs again
    pipeline.run()

    products = changes_model.current(
        [{"Op": "I"} | row for row in loaded] + changes,
        keys=["product_id"],
        order=lambda event: event["changed_at"],
        columns=["product_id", "name", "price"],
        deletes=lambda event: bool(event["Op"] == "D"),
    )
    pipeline.check("products", products)
    pipeline.check("suppliers", [{"supplier_id": row["supplier_id"], "city": row["city"]} for row in suppliers])


@pytest.mark.slow
def test_periodic_snapshots(published: Published) -> None:
    pipeline = published("snapshot_periodic")
    snapshots: dict[int, list[Row]] = {
        1: [{"employee_id": n, "name": f"e{n}", "team": "red"} for n in range(6)],
        2: [{"employee_id": n, "name": f"E{n}", "team": "blue" if n == 2 else "red"} for n in range(1, 8)],
    }
    for snapshot in snapshots.values():
        pipeline.json("employees/all.json", snapshot)
        pipeline.run()

    pipeline.check("employees", snapshots[2])
    found = [
        {"employee_id": r["employee_id"], "name": r["name"], "team": r["team"], "open": r["__END_AT"] is None}
        for r in pipeline.rows("employees_history")
    ]
    gone = [{"employee_id": 0, "name": "e0", "team": "red"}, {"employee_id": 2, "name": "e2", "team": "red"}]
    expected = [row | {"open": True} for row in snapshots[2]] + [row | {"open": False} for row in gone]
    assert sorted(found, key=repr) == sorted(expected, key=repr)


@pytest.mark.slow
def test_historical_snapshots(published: Published) -> None:
    pipeline = published("snapshot_historical")
    chance = random.Random(51)
    snapshots: dict[int, list[Row]] = {
        version: [
            {"sku": f"k{n}", "shelf": shelf, "pieces": chance.randrange(1, 4)}
            for n in range(5)
            for shelf in "AB"
            if chance.random() < 0.7
        ]
        for version in (1, 2, 3, 4)
    }
    for version, rows in snapshots.items():
        pipeline.csv(f"snapshots/stock_{version}.csv", rows)
        if version in {2, 4}:
            pipeline.run()  # each update finds two
    pipeline.check("stock", snapshots[4])
    pipeline.check("stock_history", changes_model.snapshot_history(snapshots, ["sku", "shelf"]))
