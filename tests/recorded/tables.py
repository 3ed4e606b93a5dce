"""Makes tables for the recorded log: three versions of one, and as many quarantined and late rows as it tells of.

`recorded_storage(storage)` makes log and tables. Everything but the time of the commits is the same each time.
`recorded_damage(storage)` spoils it, so that there are findings: a table that cannot be opened, a line of the log
that is none, and the lock of a process that is gone.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Final

import pyarrow as pa
from deltalake import write_deltalake
from tests.recorded.build import START, late_rows, quarantined_rows, recorded_orders

from penstock.graph.companions import late_rows as late
from penstock.graph.companions import quarantine
from penstock.graph.identifier import Identifier
from penstock.storage import LockHolder, LockOwner, StorageLayout
from penstock.storage.process import machine

SILVER, HOURLY = Identifier("shop", "silver_orders"), Identifier("shop", "hourly_revenue")
QUARANTINED: Final = sum(quarantined_rows(batch) for batch in range(12))
LATE: Final = sum(late_rows(batch) for batch in range(10))

_MICROSECONDS: Final = pa.timestamp("us", tz="UTC")


def _schema(*fields: pa.Field[Any]) -> pa.Schema:
    return pa.schema(fields)


_ORDER: Final = _schema(
    pa.field("order_id", pa.int64()),
    pa.field("customer_id", pa.string()),
    pa.field("amount", pa.float64()),
    pa.field("order_time", _MICROSECONDS),
)
_HOURS: Final = _schema(pa.field("hour", _MICROSECONDS), pa.field("revenue", pa.float64()))
_OF_QUARANTINE: Final = _schema(
    pa.field(quarantine.ROW_ID, pa.string()),
    pa.field(quarantine.RULES, pa.list_(pa.string())),
    pa.field(quarantine.FLOW, pa.string()),
    pa.field(quarantine.BATCH, pa.int64()),
    pa.field(quarantine.TIME, _MICROSECONDS),
    pa.field(quarantine.REPLAY, pa.string()),
)
_OF_LATE_ROWS: Final = _schema(
    pa.field(late.EVENT_TIME, _MICROSECONDS),
    pa.field(late.WATERMARK, _MICROSECONDS),
    pa.field(late.SECONDS, pa.float64()),
    pa.field(late.FLOW, pa.string()),
    pa.field(late.BATCH, pa.int64()),
    pa.field(late.TIME, _MICROSECONDS),
)


def recorded_storage(storage: str) -> None:
    """Makes the recorded log and its tables in an empty folder."""
    recorded_orders(storage)
    recorded_tables(storage)


def recorded_tables(storage: str) -> None:
    """Makes the tables."""
    layout, random = StorageLayout(storage), Random(7)
    silver, hourly = layout.table(SILVER), layout.table(HOURLY)
    for version in range(3):
        _write(silver, [_order(random, 1000 * version + number) for number in range(40)], _ORDER)
    _write(hourly, [{"hour": START + timedelta(hours=at - 3), "revenue": 1000.5 + at} for at in range(3)], _HOURS)
    aside = [_aside(random, batch, number) for batch in range(12) for number in range(quarantined_rows(batch))]
    _write(quarantine.quarantine_path(silver), aside, _schema(*_ORDER, *_OF_QUARANTINE))
    behind = [_behind(random, batch, number) for batch in range(10) for number in range(late_rows(batch))]
    _write(late.late_rows_path(hourly), behind, _schema(*_ORDER, *_OF_LATE_ROWS))


def recorded_damage(storage: str) -> None:
    """Makes an error and two warnings for `penstock doctor`."""
    layout = StorageLayout(storage)
    log = Path(layout.table(Identifier("shop", "revenue_report"))) / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text("{")
    with sorted(Path(layout.events).glob("*.jsonl"))[-1].open("a") as segment:
        segment.write("edited by hand\n")
    ended = START + timedelta(minutes=91)
    owner = LockOwner(2**22 + 1, "laptop.example", START, "penstock run")
    holder = LockHolder(owner, ended, token="gone", machine=machine(), birth="gone")
    Path(layout.lock).write_text(json.dumps(holder.to_json()))


def _write(uri: str, rows: list[dict[str, Any]], schema: pa.Schema) -> None:
    write_deltalake(uri, pa.Table.from_pylist(rows, schema), mode="append")


def _order(random: Random, order_id: int, customer: str | None = None) -> dict[str, Any]:
    return {
        "order_id": order_id,
        "customer_id": customer or random.choice(["ada", "grace", "edsger", None]),
        "amount": random.randint(100, 30000) / 100,
        "order_time": START + timedelta(seconds=order_id),
    }


def _aside(random: Random, batch: int, number: int) -> dict[str, Any]:
    return {
        **_order(random, 100 * batch + number, customer=f"test-{number + 1}"),
        quarantine.ROW_ID: f"{batch}-{number}",
        quarantine.RULES: ["no test order"],
        quarantine.FLOW: SILVER.name,
        quarantine.BATCH: batch,
        quarantine.TIME: _committed(batch),
    }


def _behind(random: Random, batch: int, number: int) -> dict[str, Any]:
    order, seconds = _order(random, 100 * batch + number), 600.0 + 2100 * (number % 2)
    return {
        **order,
        late.EVENT_TIME: order["order_time"],
        late.WATERMARK: order["order_time"] + timedelta(seconds=seconds),
        late.SECONDS: seconds,
        late.FLOW: HOURLY.name,
        late.BATCH: batch,
        late.TIME: _committed(batch),
    }


def _committed(batch: int) -> datetime:
    return datetime(2026, 11, 20, 10, 30, tzinfo=UTC) + timedelta(seconds=3 * batch)
