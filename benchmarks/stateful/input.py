"""The input: orders and payments in files, the same each time, none late; and what the queries must make of them."""

from __future__ import annotations

import json
import os
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from benchmarks.stateful.queries import DELAY, FILES_IN_BATCH, GAP, ORDERS, PAID_WITHIN, PAYMENTS, WINDOW

WARM_UP = 1
"""So many batches of each run are not timed: they pay for the table's creation and the query's first plan."""

_START = datetime(2026, 1, 1, tzinfo=UTC)
_SPAN_MS = 150_000  # of a file: four of them, a batch, cover ten minutes
_STEP_MS = 10
_SHOPS, _CUSTOMERS = 500, 50_000
_REPEATED = 0.02
_PAID = 0.25


class Order(NamedTuple):
    """`at` is in milliseconds since the first moment."""

    id: int
    customer: int
    at: int


@dataclass(frozen=True, slots=True)
class Result:
    """How many rows a table must have, and the sum of the query's `checked` column."""

    rows: int
    total: int


@dataclass(slots=True)
class Truth:
    """Counts what the queries make of the input while that is written."""

    newest: int = 0
    read: Counter[str] = field(default_factory=Counter)
    """Rows by folder."""
    _windows: dict[tuple[int, int], int] = field(default_factory=lambda: defaultdict(int))
    _times: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    _copies: Counter[int] = field(default_factory=Counter)
    _paid: list[int] = field(default_factory=list)

    def add_order(self, order: Order) -> None:
        """Takes an order, or a repetition of one."""
        self.read[ORDERS] += 1
        self.newest = max(self.newest, order.at)
        self._windows[order.at - order.at % _ms(WINDOW), order.id % _SHOPS] += order.id
        self._times[order.customer].append((order.at, order.id))
        self._copies[order.id] += 1

    def add_payment(self, order: Order) -> None:
        """Takes a payment of this order in time."""
        self.read[PAYMENTS] += 1
        self._paid.append(order.id)

    def results(self) -> dict[str, Result]:
        """Returns what the tables must hold, by query."""
        closed = self.newest - _ms(DELAY)
        windows = [ids for (start, _), ids in self._windows.items() if start + _ms(WINDOW) <= closed]
        sessions = [ids for last, ids in self._sessions() if last + _ms(GAP) <= closed]
        pairs = Counter(self._paid)
        return {
            "windows": Result(len(windows), sum(windows)),
            "sessions": Result(len(sessions), sum(sessions)),
            "dedup": Result(len(self._copies), sum(self._copies)),
            "join": Result(
                sum(self._copies[order] * count for order, count in pairs.items()),
                sum(self._copies[order] * count * order for order, count in pairs.items()),
            ),
        }

    def _sessions(self) -> Iterator[tuple[int, int]]:
        """The last time of each session, and the sum of its ids."""
        for times in self._times.values():
            times.sort()
            last, ids = times[0][0], 0
            for at, number in times:
                if at - last > _ms(GAP):
                    yield last, ids
                    ids = 0
                last, ids = at, ids + number
            yield last, ids


def write_input(folder: Path, rows: int, batches: int) -> Truth:
    """Writes `rows` orders and the payments of some into `folder`, in so many batches of files."""
    truth, draw, files = Truth(), random.Random(7), batches * FILES_IN_BATCH
    for name in (ORDERS, PAYMENTS):
        (folder / name).mkdir(parents=True)
    for part in range(files):
        orders = list(_orders(draw, part, range(part * rows // files, (part + 1) * rows // files)))
        paid = [order for order in orders if draw.random() < _PAID]
        _write(folder / ORDERS / f"{part:02}.json", orders, truth.add_order, _order)
        _write(folder / PAYMENTS / f"{part:02}.json", paid, truth.add_payment, lambda order: _payment(draw, order))
    return truth


def _orders(draw: random.Random, part: int, numbers: range) -> Iterator[Order]:
    last: Order | None = None
    for number in numbers:
        if last is not None and draw.random() < _REPEATED:
            yield last
            continue
        at = part * _SPAN_MS + _STEP_MS * draw.randrange(_SPAN_MS // _STEP_MS)
        last = Order(number, draw.randrange(_CUSTOMERS), at)
        yield last


def _write(
    path: Path, orders: list[Order], counted: Callable[[Order], None], line: Callable[[Order], dict[str, object]]
) -> None:
    with path.open("w", encoding="utf-8") as file:
        for order in orders:
            counted(order)
            file.write(json.dumps(line(order)) + "\n")
    os.utime(path, (_START.timestamp() + int(path.stem),) * 2)  # the order in which files are read


def _order(order: Order) -> dict[str, object]:
    shop = f"shop-{order.id % _SHOPS:03}"
    return {"id": order.id, "shop": shop, "customer": order.customer, "at": _moment(order.at)}


def _payment(draw: random.Random, order: Order) -> dict[str, object]:
    return {"order_id": order.id, "paid_at": _moment(order.at + draw.randrange(_ms(PAID_WITHIN)))}


def _moment(at: int) -> str:
    return (_START + timedelta(milliseconds=at)).isoformat(timespec="milliseconds")


def _ms(length: timedelta) -> int:
    return length // timedelta(milliseconds=1)
