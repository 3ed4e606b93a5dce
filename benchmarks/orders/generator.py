"""The benchmark's input: JSON orders in files, the same for the same seed, and what must come out of them."""

from __future__ import annotations

import json
import os
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

SEED = 20260101
FILES = 20
SCHEMA = "order_id LONG, customer_id LONG, product STRING, amount DOUBLE, order_time TIMESTAMP"
WATERMARK = timedelta(hours=1)
WINDOW = timedelta(hours=1)

_START = datetime(2026, 1, 1, tzinfo=UTC)
_SPAN_OF_A_FILE = timedelta(hours=3)
_PRODUCTS = ("tea", "coffee", "cocoa", "sugar", "honey", "milk", "cups", "saucers", "spoons", "kettles")
_BAD_AMOUNT = 0.01
_NO_CUSTOMER = 0.01
_TRUTH = "truth.json"


@dataclass(frozen=True, slots=True)
class GoldRow:
    """One window of one product; `start` in seconds since the epoch, `revenue` in cents."""

    start: int
    product: str
    orders: int
    revenue: int


@dataclass(frozen=True, slots=True)
class Truth:
    """What the tables must hold. `closed` are the windows that the watermark has passed, of all `gold` ones."""

    bronze_rows: int
    silver_rows: int
    gold: frozenset[GoldRow]
    closed: frozenset[GoldRow]


def generate(folder: Path, rows: int, files: int = FILES) -> Truth:
    """Writes `rows` orders into `folder`, unless they are there already, and returns what must come of them.

    Each file covers the three hours after the one before it, and is a second younger, so that every
    system reads them in the same order and no row is late.
    """
    orders = folder / "orders"
    known = folder / _TRUTH
    if not known.exists():
        orders.mkdir(parents=True, exist_ok=True)
        known.write_text(json.dumps(_write(orders, rows, files)))
    return _read(known)


def _write(folder: Path, rows: int, files: int) -> dict[str, Any]:
    chance = random.Random(SEED)
    gold: dict[tuple[int, str], list[int]] = defaultdict(lambda: [0, 0])
    good = order_id = newest = 0
    for number in range(files):
        count = rows // files + (number < rows % files)
        path = folder / f"orders-{number:03d}.json"
        with path.open("w", encoding="utf-8") as file:
            for row, moment in _orders(chance, order_id, number, count):
                file.write(json.dumps(row) + "\n")
                if row["amount"] > 0 and row["customer_id"] is not None:
                    good += 1
                    newest = max(newest, moment)
                    totals = gold[moment - moment % int(WINDOW.total_seconds()), row["product"]]
                    totals[0] += 1
                    totals[1] += round(row["amount"] * 100)
        order_id += count
        os.utime(path, (_START.timestamp() + number, _START.timestamp() + number))
    gold_rows = [[start, product, *totals] for (start, product), totals in sorted(gold.items())]
    return {"rows": order_id, "good": good, "newest": newest, "gold": gold_rows}


def _orders(chance: random.Random, first_id: int, file_number: int, count: int) -> Iterator[tuple[dict[str, Any], int]]:
    opens = _START + file_number * _SPAN_OF_A_FILE
    for position in range(count):
        moment = (opens + _SPAN_OF_A_FILE * position / count).replace(microsecond=0)
        amount = chance.randint(100, 50_000) / 100
        row = {
            "order_id": first_id + position,
            "customer_id": None if chance.random() < _NO_CUSTOMER else chance.randint(1, 100_000),
            "product": chance.choice(_PRODUCTS),
            "amount": -amount if chance.random() < _BAD_AMOUNT else amount,
            "order_time": moment.isoformat().replace("+00:00", "Z"),
        }
        yield row, int(moment.timestamp())


def _read(path: Path) -> Truth:
    told = json.loads(path.read_text())
    gold = frozenset(GoldRow(*row) for row in told["gold"])
    watermark = told["newest"] - WATERMARK.total_seconds()
    closed = frozenset(row for row in gold if row.start + WINDOW.total_seconds() <= watermark)
    return Truth(told["rows"], told["good"], gold, closed)
