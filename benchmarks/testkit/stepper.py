"""A test of the quickstart's pipeline that does what each line on stdin says, and answers with the seconds it took.

The second number is processor time, that of Java included: it is nearly the same when something else runs.

Lines are `open`, `step`, `move`, `look` and `close`. Run with the code to measure on PYTHONPATH.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil

from penstock.testing import pipeline
from penstock.testing.session import shared_session

_OPENING = datetime(2026, 3, 1, tzinfo=UTC)
_ORDERS = 20  # a step


class Stepper:
    """The test: each step has orders of the next five minutes, of which silver drops one."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self._opened = ExitStack()
        self._steps = itertools.count()

    def do(self, name: str) -> tuple[float, float]:
        """Does one of the following; returns the seconds by the clock and of the processor."""
        act: Callable[[], None] = getattr(self, name)
        started, worked = time.monotonic(), _processor_time()
        act()
        return time.monotonic() - started, _processor_time() - worked

    def open(self) -> None:
        """Opens the pipeline and takes its first step."""
        self._steps = itertools.count()
        self._under_test = self._opened.enter_context(pipeline(self._project))
        self.step()

    def step(self) -> None:
        """Feeds orders, which move the watermark, and takes a step."""
        self._under_test.feed("bronze_orders", _orders(next(self._steps)))
        self._under_test.step()

    def move(self) -> None:
        """Moves the watermark by an hour, which closes windows."""
        steps = [next(self._steps) for _ in range(12)]
        self._under_test.advance_watermark("hourly_revenue", to=_time(steps[-1]))

    def look(self) -> None:
        """Reads the tables, as assertions do, and refreshes the view."""
        tables = ("bronze_orders", "silver_orders", "hourly_revenue", "top_products")
        if not all(self._under_test.table(name) for name in tables[:2]) or not self._under_test.table(tables[3]):
            raise SystemExit("a table is empty")

    def close(self) -> None:
        """Checks that nothing is missing, and closes the pipeline."""
        found = len(self._under_test.table("silver_orders"))
        fed = len(self._under_test.table("bronze_orders"))
        if fed % _ORDERS or found * _ORDERS != fed * (_ORDERS - 1):
            raise SystemExit(f"{found} of {fed} orders are in silver")
        self._opened.close()


def _orders(step: int) -> list[dict[str, Any]]:
    times = [_time(step) + timedelta(seconds=15 * number) for number in range(_ORDERS)]
    return [
        {
            "order_id": f"o{step}-{number}",
            "customer_id": f"c{number % 7}",
            "product": f"p{number % 5}",
            "quantity": 1,
            "amount": number * 1.25,  # the first is free, which silver takes for a mistake
            "order_time": time.isoformat(),
            "sent_at": time.isoformat(),
        }
        for number, time in enumerate(times)
    ]


def _time(step: int) -> datetime:
    return _OPENING + timedelta(minutes=5 * step)


def main() -> None:
    stepper = Stepper(Path(sys.argv[1]))
    shared_session()
    print("ready", flush=True)
    for line in sys.stdin:
        seconds, processor = stepper.do(line.strip())
        print(f"{seconds:.3f} {processor:.3f}", flush=True)


def _processor_time() -> float:
    me = psutil.Process()
    times = [each.cpu_times() for each in (me, *me.children(recursive=True))]
    return sum(each.user + each.system for each in times)


if __name__ == "__main__":
    main()
