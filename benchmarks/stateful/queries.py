"""The queries, written once: plain PySpark starts them, and Penstock gets them as the function of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.streaming.readwriter import DataStreamReader

DELAY: Final = timedelta(minutes=10)
WINDOW: Final = timedelta(minutes=1)
GAP: Final = timedelta(milliseconds=299_995)
"""Of sessions; no two times of the input are so far apart, so nothing depends on whether that is a gap."""
PAID_WITHIN: Final = timedelta(minutes=5)
FILES_IN_BATCH: Final = 4

ORDERS, PAYMENTS = "orders", "payments"
Read = Callable[[str], DataFrame]
"""Takes the name of a folder."""

_SCHEMAS: Final = {
    ORDERS: "id LONG, shop STRING, customer LONG, at TIMESTAMP",
    PAYMENTS: "order_id LONG, paid_at TIMESTAMP",
}


@dataclass(frozen=True, slots=True)
class Query:
    """`checked` is the column whose sum is compared with the input; `goal` is the least of rows a second."""

    build: Callable[[Read], DataFrame]
    checked: str
    folders: tuple[str, ...] = (ORDERS,)
    goal: int | None = None


def files(reader: DataStreamReader, source: str, folder: str) -> DataFrame:
    """Returns the stream of a folder's files."""
    return reader.schema(_SCHEMAS[folder]).option("maxFilesPerTrigger", FILES_IN_BATCH).json(f"{source}/{folder}")


def _windows(read: Read) -> DataFrame:
    rows = _orders(read).groupBy(sf.window("at", _interval(WINDOW)), "shop")
    return rows.agg(sf.count("*").alias("orders"), sf.sum("id").alias("ids"))


def _sessions(read: Read) -> DataFrame:
    return _orders(read).groupBy(sf.session_window("at", _interval(GAP)), "customer").agg(sf.sum("id").alias("ids"))


def _dedup(read: Read) -> DataFrame:
    return _orders(read).dropDuplicatesWithinWatermark(["id"])


def _join(read: Read) -> DataFrame:
    paid = read(PAYMENTS).withWatermark("paid_at", _interval(DELAY))
    near = f"id = order_id AND paid_at BETWEEN at AND at + INTERVAL {_interval(PAID_WITHIN)}"
    return _orders(read).join(paid, sf.expr(near)).select("id", "shop", "at", "paid_at")


def _orders(read: Read) -> DataFrame:
    return read(ORDERS).withWatermark("at", _interval(DELAY))


def _interval(length: timedelta) -> str:
    return f"{length // timedelta(milliseconds=1)} milliseconds"


QUERIES: Final[Mapping[str, Query]] = {
    "windows": Query(_windows, "ids", goal=50_000),
    "sessions": Query(_sessions, "ids"),
    "dedup": Query(_dedup, "id"),
    "join": Query(_join, "id", (ORDERS, PAYMENTS)),
}
