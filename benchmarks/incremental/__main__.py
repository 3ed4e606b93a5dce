"""Refreshes views by what has changed, and in full by hand: `python -m benchmarks.incremental [--rows N] [--repeat N]`.

Each turn appends a share of new rows to a table of facts, refreshes each view as a run does, and computes the same
query by hand into another table, as a plain script does. The value is the median of refresh / recompute, turn by turn.
Both use the same warm session; the start of a process is in neither. At the end both tables have the same rows.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from benchmarks.arguments import parse, parser_of
from benchmarks.compare import publish
from benchmarks.incremental.view import MeasuredView
from benchmarks.session import session_of

_FACTS: Final = """
    SELECT id, id * 7919 % 100000 AS customer, id * 104729 % 1000 AS product,
        CAST(id % 9973 AS DECIMAL(12,2)) AS amount, timestamp_seconds(1700000000 + id DIV 100) AS at,
        concat('order ', id) AS note
    FROM range({first}, {last})
"""
_PRODUCTS: Final = "SELECT id AS product, concat('product ', id) AS name, id % 20 AS kind FROM range(1000)"
_VIEWS: Final = {
    "filter": "SELECT id, customer, amount, note FROM {facts} WHERE amount > 5000",
    "join with an unchanged table": "SELECT f.id, f.amount, p.name FROM {facts} AS f"
    " JOIN {products} AS p USING (product)",
    "sum, count, max in 100,000 groups": "SELECT customer, sum(amount) AS total, count(*) AS n, max(at) AS newest"
    " FROM {facts} GROUP BY customer",
    "sum of a join in 20 groups": "SELECT p.kind, sum(f.amount) AS total FROM {facts} AS f JOIN {products} AS p"
    " USING (product) GROUP BY p.kind",
    "avg in 100,000 groups": "SELECT customer, avg(amount) AS mean FROM {facts} GROUP BY customer",
}
_GOALS: Final = {0.01: 0.2, 0.0001: 0.05}
_BY_KEYS: Final = "avg in 100,000 groups"


def main() -> None:
    given = _arguments()
    work = Path(tempfile.mkdtemp(prefix="incremental-", dir=given.work))
    try:
        with session_of("incremental") as spark:
            runs = list(_measured(spark, work, given))
    finally:
        shutil.rmtree(work)
    publish("incremental", {name: getattr(given, name) for name in ("rows", "repeat")}, runs, given.results)


def _measured(spark: SparkSession, work: Path, given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    places = {name: str(work / name) for name in ("facts", "products")}
    spark.sql(_FACTS.format(first=0, last=given.rows)).write.format("delta").save(places["facts"])
    spark.sql(_PRODUCTS).write.format("delta").save(places["products"])
    views = [MeasuredView(spark, name, query, places, work) for name, query in _VIEWS.items()]
    for view in views:
        view.refresh()
        view.recompute()
    there = given.rows
    for share in given.shares:
        times: dict[str, list[tuple[float, float]]] = {}
        methods: dict[str, str] = {}
        for _ in range(given.repeat):
            more = max(int(given.rows * share), 1)
            new = spark.sql(_FACTS.format(first=there, last=there + more))
            new.coalesce(1).write.format("delta").mode("append").save(places["facts"])
            there += more
            for view in views:
                choice, refreshed = view.refresh()
                methods[view.name] = choice.method.value
                times.setdefault(view.name, []).append((refreshed, view.recompute()))
        for name, pairs in times.items():
            ratio = statistics.median(mine / by_hand for mine, by_hand in pairs)
            yield {
                "what": f"{name}, {share:.2%} new rows ({methods[name]})",
                "value": round(ratio, 3),
                "goal": None if name == _BY_KEYS else _GOALS.get(share),
                "unit": "of a recompute",
                "seconds": [[round(each, 3) for each in pair] for pair in pairs],
            }
    for view in views:
        view.check()


def _arguments() -> argparse.Namespace:
    parser = parser_of("incremental", __doc__)
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the facts at the beginning")
    parser.add_argument("--repeat", type=int, default=3, help="turns for each share of new rows")
    parser.add_argument("--shares", type=float, nargs="+", default=[0.0001, 0.01, 0.1], help="new rows in a turn")
    return parse(parser)


if __name__ == "__main__":
    main()
