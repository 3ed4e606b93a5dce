"""Plays a web shop: keeps dropping JSON files of orders into a folder, some rows of them bad on purpose.

    python generate_orders.py                          a file of 50 orders each second, until Ctrl-C
    python generate_orders.py --seconds 60             the same for a minute
    python generate_orders.py --files 20 --rate 0      20 files at once
    python generate_orders.py --oracle                 what a correct pipeline makes of the files that are there

File k of a seed always holds the same rows, so the truth is known without reading a file back. The shop's
clock runs fast: 15 minutes pass from one file to the next, so that hourly windows close while you watch.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

OPENING = datetime(2026, 1, 1, 6, 0, tzinfo=UTC)
FILE_SPAN = timedelta(minutes=15)
LATENESS = timedelta(hours=6)
PRICES = {
    "Teapot": 24.90,
    "Coffee grinder": 59.00,
    "Kettle": 34.50,
    "Cup": 6.20,
    "Saucer": 4.10,
    "Tea strainer": 7.80,
    "Espresso machine": 249.00,
    "Milk jug": 12.40,
    "Sugar bowl": 9.90,
    "Green tea": 8.60,
    "Black tea": 7.40,
    "Coffee beans": 14.20,
}
FAULTS = ("negative", "no_customer", "broken", "late")


@dataclass(frozen=True)
class Order:
    """One order as the shop wrote it; `fault` is what is wrong with it, or None."""

    order_id: str
    customer_id: str | None
    product: str
    quantity: int
    amount: float
    order_time: datetime
    sent_at: datetime
    fault: str | None

    def line(self) -> str:
        """The order's line in its file; a broken one is cut in the middle, as by a crashed writer."""
        document = {
            "order_id": self.order_id,
            "customer_id": self.customer_id,
            "product": self.product,
            "quantity": self.quantity,
            "amount": self.amount,
            "order_time": self.order_time.isoformat().replace("+00:00", "Z"),
            "sent_at": self.sent_at.isoformat().replace("+00:00", "Z"),
        }
        text = json.dumps(document)
        return text[: len(text) // 2] if self.fault == "broken" else text


def orders_of(seed: int, file_number: int, count: int, fault_shares: dict[str, float]) -> Iterator[Order]:
    """Yields the `count` orders of one file, the same for the same arguments."""
    chance = random.Random(f"{seed}/{file_number}")
    opens = OPENING + file_number * FILE_SPAN
    for position in range(count):
        product = chance.choice(list(PRICES))
        quantity = chance.randint(1, 5)
        customer = f"customer-{chance.randint(1, 200):03d}"
        draw = chance.random()
        fault = None
        for name, share in fault_shares.items():
            if draw < share:
                fault = name
                break
            draw -= share
        moment = opens + FILE_SPAN * position / count
        yield Order(
            order_id=f"order-{file_number:05d}-{position:05d}",
            customer_id=None if fault == "no_customer" else customer,
            product=product,
            quantity=quantity,
            amount=round(PRICES[product] * quantity * (-1 if fault == "negative" else 1), 2),
            order_time=(moment - LATENESS if fault == "late" else moment).replace(microsecond=0),
            sent_at=moment.replace(microsecond=0),
            fault=fault,
        )


def file_name(file_number: int) -> str:
    """The name of one file; names sort as the files were written."""
    return f"orders-{file_number:05d}.json"


def file_numbers(folder: Path) -> list[int]:
    """The numbers of the files that are in `folder`, sorted."""
    return sorted(int(path.stem.split("-")[1]) for path in folder.glob("orders-*.json"))


def drop_file(folder: Path, file_number: int, orders: Iterator[Order]) -> None:
    """Writes one file under a temporary name and renames it, so that a reader never sees half a file."""
    temporary = folder / f".{file_name(file_number)}.writing"
    temporary.write_text("".join(order.line() + "\n" for order in orders), encoding="utf-8")
    os.replace(temporary, folder / file_name(file_number))


def truth(orders: list[Order]) -> dict[str, Any]:
    """Returns what the pipeline's tables must hold, computed from the orders alone.

    A broken line has no readable column, and NULL breaks a rule; so it fails every expectation. Orders that
    are late are listed apart in `hourly_revenue`: whether a window still takes one depends on what was
    processed before it (within one batch nothing is late). Only closed windows are in that table.
    """
    faults = {fault: sum(order.fault == fault for order in orders) for fault in FAULTS}
    good = [order for order in orders if order.fault in (None, "late")]
    expectations = {
        "readable": faults["broken"],
        "positive_amount": faults["negative"] + faults["broken"],
        "known_customer": faults["no_customer"] + faults["broken"],
        "sent_within_an_hour": faults["late"] + faults["broken"],
    }
    products: dict[str, dict[str, Any]] = defaultdict(lambda: {"orders": 0, "revenue": 0.0})
    hours: dict[str, dict[str, Any]] = defaultdict(
        lambda: {"orders": 0, "revenue": 0.0, "late_orders": 0, "late_revenue": 0.0}
    )
    for order in good:
        products[order.product]["orders"] += 1
        products[order.product]["revenue"] += order.amount
        hour = hours[order.order_time.replace(minute=0, second=0).isoformat().replace("+00:00", "Z")]
        prefix = "late_" if order.fault == "late" else ""
        hour[f"{prefix}orders"] += 1
        hour[f"{prefix}revenue"] += order.amount
    for entry in [*products.values(), *hours.values()]:
        entry.update({name: round(value, 2) for name, value in entry.items() if name.endswith("revenue")})
    best = sorted(products.items(), key=lambda item: (-item[1]["revenue"], item[0]))
    newest = max((order.order_time for order in good), default=None)
    return {
        "lines": len(orders),
        "faults": faults,
        "newest_order_time": newest.isoformat().replace("+00:00", "Z") if newest else None,
        "bronze_orders": {"rows": len(orders)},
        "silver_orders": {
            "rows": len(good),
            "dropped": len(orders) - len(good),
            "expectations": {
                name: {"passed": len(orders) - failed, "failed": failed} for name, failed in expectations.items()
            },
        },
        "top_products": [{"product": product, **numbers} for product, numbers in best],
        "hourly_revenue": dict(sorted(hours.items())),
    }


def arguments(argv: list[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=Path(__file__).parent / "data" / "orders", help="target folder")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--files", type=int, help="stop after this many files")
    parser.add_argument("--seconds", type=float, help="stop after this time")
    parser.add_argument("--rate", type=float, default=50.0, help="orders a second; 0 means without a pause")
    parser.add_argument("--orders-per-file", type=int, default=50)
    for fault, share in (("negative", 0.03), ("no-customer", 0.02), ("broken", 0.01), ("late", 0.01)):
        parser.add_argument(f"--{fault}", type=float, default=share, metavar="SHARE", help=f"default {share}")
    parser.add_argument("--oracle", action="store_true", help="print the truth as JSON and write nothing")
    parsed = parser.parse_args(argv)
    if parsed.rate == 0 and parsed.files is None and not parsed.oracle:
        parser.error("--rate 0 needs --files: without a pause there is no end")
    return parsed


def main(argv: list[str] | None = None) -> None:
    """Drops files, or prints the truth."""
    given = arguments(argv)
    shares = {fault: getattr(given, fault) for fault in FAULTS}
    if given.oracle:
        numbers = list(range(given.files)) if given.files is not None else file_numbers(given.into)
        rows = [row for number in numbers for row in orders_of(given.seed, number, given.orders_per_file, shares)]
        json.dump({"files": len(numbers), **truth(rows)}, sys.stdout, indent=2)
        sys.stdout.write("\n")
        return
    given.into.mkdir(parents=True, exist_ok=True)
    first = max(file_numbers(given.into), default=-1) + 1
    pause = given.orders_per_file / given.rate if given.rate else 0.0
    started = time.monotonic()
    written = 0
    while given.files is None or written < given.files:
        due = started + written * pause
        if given.seconds is not None and due - started >= given.seconds:
            break
        time.sleep(max(0.0, due - time.monotonic()))
        number = first + written
        drop_file(given.into, number, orders_of(given.seed, number, given.orders_per_file, shares))
        written += 1
    sys.stderr.write(f"{written} files, {written * given.orders_per_file} orders in {given.into}\n")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(0)
    except BrokenPipeError:  # `--oracle | head`: whoever read has seen enough
        os._exit(0)
