"""Times updates of one materialized view: `python -m benchmarks.refresh [--rows N] [--repeat N]`.

The view counts and sums the rows of a Delta table by product. Each time is that of a whole update in a running session,
analysis, lock and event log included: after a row was added to the table, then with nothing new.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.arguments import parse, parser_of
from benchmarks.compare import publish

_PIPELINE = """\
import penstock as ps


@ps.materialized_view
def by_product():
    orders = spark.read.format("delta").load({source!r})
    return orders.groupBy("product").agg({{"amount": "sum", "*": "count"}}).toDF("product", "revenue", "orders")
"""
_ORDERS = "SELECT id % 1000 AS product, id % 977 + 0.25 AS amount FROM range({first}, {last})"


def main() -> int:
    given = _arguments()
    with tempfile.TemporaryDirectory(prefix="refresh-", dir=given.work) as folder:
        changed, unchanged = _measure(Path(folder), given.rows, given.repeat)
    runs: list[dict[str, Any]] = [
        {"what": f"one of {given.rows:,} rows is new", "goal": None, "seconds": changed},
        {"what": "nothing is new", "goal": 1.0, "seconds": unchanged},
    ]
    publish("refresh", {"rows": given.rows, "repeat": given.repeat}, runs, given.results)
    return 0


def _measure(folder: Path, rows: int, repeat: int) -> tuple[list[float], list[float]]:
    from benchmarks.session import start_session, stop_session
    from penstock.config import load_project
    from penstock.spark.session.launch import SessionConfig

    source = folder / "orders"
    (folder / "penstock.yml").write_text("name: refresh\nschema: bench\n")
    (folder / "pipeline.py").write_text(_PIPELINE.format(source=str(source)))
    config = load_project(folder)
    spark = start_session(SessionConfig("refresh", python_roots=(folder,)))
    changed: list[float] = []
    unchanged: list[float] = []
    first = 0
    for turn in range(repeat + 1):
        last = rows if turn == 0 else first + 1
        spark.sql(_ORDERS.format(first=first, last=last)).write.format("delta").mode("append").save(str(source))
        first = last
        # The first turn, unmeasured, makes the table and warms the compiler up.
        for seconds, expected in ((changed, 1), (unchanged, 0)):
            took = _seconds(config, spark, refreshes=expected)
            if turn:
                seconds.append(took)
    stop_session(spark)
    return changed, unchanged


def _seconds(config: Any, spark: Any, *, refreshes: int) -> float:
    """Returns the time of one update; one that did not do what is measured is no result."""
    from penstock.events import EventType
    from penstock.plan.selection import RefreshSelection
    from penstock.runtime import run_update

    batches: list[Any] = []

    def count(event: Any) -> None:
        if event.event_type is EventType.FLOW_PROGRESS and "metrics" in event.details["flow_progress"]:
            batches.append(event)

    started = time.monotonic()
    outcome = run_update(config, RefreshSelection(), spark=spark, on_event=count)
    took = round(time.monotonic() - started, 3)
    if outcome.errors or len(batches) != refreshes:
        raise SystemExit(f"{len(batches)} refreshes instead of {refreshes}; {outcome.errors}")
    print(f"{refreshes} refresh: {took:.2f} s", flush=True)
    return took


def _arguments() -> argparse.Namespace:
    parser = parser_of("refresh", __doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    return parse(parser)


if __name__ == "__main__":
    raise SystemExit(main())
