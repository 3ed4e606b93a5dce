"""Refreshes views over a trading company, and computes them by hand: `python -m benchmarks.incremental.trade_views`.

Twelve views of joins, groups, HAVING, windows, top rows, DISTINCT, semi and anti joins over five tables that change day
by day. Each is refreshed as a run does it, with the policy auto and what its own refreshes have taken, and computed by
hand into another table. The value is the median of refresh / recompute, turn by turn, of one kind of change; both use
the same warm session. After each turn the two tables of a view have the same rows, or the benchmark fails.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.arguments import parse, parser_of
from benchmarks.compare import publish
from benchmarks.incremental.trade_views.company import VIEWS, Company, table_names
from benchmarks.incremental.view import MeasuredView
from benchmarks.session import session_of
from penstock.events import RefreshChoice


def main() -> None:
    given = _arguments()
    work = Path(tempfile.mkdtemp(prefix="trade-views-", dir=given.work))
    try:
        with session_of("trade-views") as spark:
            runs = list(_measured(spark, work, given))
    finally:
        shutil.rmtree(work)
    publish("trade_views", {name: getattr(given, name) for name in ("lines", "repeat")}, runs, given.results)


def _measured(spark: SparkSession, work: Path, given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    places = {name: str(work / "tables" / name) for name in table_names()}
    company = Company(spark, places, given.lines)
    company.found()
    wanted = {name: query for number, (name, query) in enumerate(VIEWS.items()) if number % given.every == 0}
    views = [MeasuredView(spark, name, query, places, work, learns=True) for name, query in wanted.items()]
    for view in views:
        view.refresh()
        view.recompute()
    for what, change in company.changes.items():
        taken: dict[str, list[tuple[RefreshChoice, float, float]]] = {view.name: [] for view in views}
        for _ in range(1 if what.startswith("60") else given.repeat):
            change()
            for view in views:
                choice, refreshed = view.refresh()
                taken[view.name].append((choice, refreshed, view.recompute()))
                view.check()
        for name, turns in taken.items():
            yield _row(f"{name}: {what}", turns)


def _row(what: str, turns: list[tuple[RefreshChoice, float, float]]) -> dict[str, Any]:
    methods = Counter(choice.method.value for choice, _, _ in turns)
    return {
        "what": f"{what} ({', '.join(methods)})",
        "value": round(statistics.median(mine / by_hand for _, mine, by_hand in turns), 3),
        "goal": None,
        "unit": "of a recompute",
        "same rows": True,
        "turns": [
            {
                "method": choice.method.value,
                "why": choice.why,
                "changed share": choice.changed_share,
                "estimated seconds": {method.value: seconds for method, seconds in choice.estimated.items()},
                "refresh seconds": round(mine, 3),
                "recompute seconds": round(by_hand, 3),
            }
            for choice, mine, by_hand in turns
        ],
    }


def _arguments() -> argparse.Namespace:
    parser = parser_of("incremental.trade_views", __doc__)
    parser.add_argument("--lines", type=int, default=4_000_000, help="order lines at the beginning")
    parser.add_argument("--repeat", type=int, default=3, help="turns for each kind of change")
    parser.add_argument("--every", type=int, default=1, help="3 for each third view of the set, 1 for all")
    return parse(parser)


if __name__ == "__main__":
    main()
