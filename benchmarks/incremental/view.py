"""A view that is refreshed as a run does it, and the same query as a plain script computes it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from penstock.events import RefreshChoice
from penstock.events.flows.refresh_costs import NOTHING_MEASURED
from penstock.spark.plans.row_difference import compare_rows
from penstock.spark.streams.writes import Replacement
from penstock.spark.writers.incremental.refresh import View, choose_refresh
from penstock.spark.writers.incremental.write import write_refresh


class MeasuredView:
    """A view over the tables at `places`, with a history of its refreshes; and its query, computed by hand.

    `query` names the tables in braces. With `learns`, what its refreshes took decides how the next one is done.
    """

    def __init__(
        self, spark: SparkSession, name: str, query: str, places: Mapping[str, str], work: Path, *, learns: bool = False
    ) -> None:
        self.name = name
        self._spark = spark
        self._text = query.format(**{table: f"delta.`{path}`" for table, path in places.items()})
        self._names = {path: table for table, path in places.items()}
        self._path, self._by_hand = (str(work / f"{name.partition(',')[0]} {kind}") for kind in ("view", "by hand"))
        self._learns = learns
        self._last: dict[str, str] | None = None
        self._history = NOTHING_MEASURED

    @property
    def _query(self) -> DataFrame:
        return self._spark.sql(self._text)

    def refresh(self) -> tuple[RefreshChoice, float]:
        """Refreshes the view; returns how that was done, and the seconds."""
        began = time.monotonic()
        refresh = choose_refresh(self._query, View(self._path, self._names, self._last, history=self._history), {})
        if refresh.in_full is None:
            refresh.rows.write.format("delta").mode("overwrite").save(self._path)
        else:
            write_refresh(
                refresh, refresh.rows, [], path=self._path, replacement=Replacement(keeps_schema=True), conf={}
            )
        seconds = time.monotonic() - began
        self._last = None if refresh.versions is None else dict(refresh.versions)
        cost = refresh.cost
        if self._learns and cost is not None and cost.work is not None:
            before = 0.0 if cost.attempt is None else cost.attempt.seconds
            self._history = cost.history.with_measure(refresh.choice.method, seconds - before, cost.work, cost.changed)
            if cost.attempt is not None:
                self._history = self._history.with_attempt(cost.attempt)
        return refresh.choice, seconds

    def recompute(self) -> float:
        """Computes the query by hand; returns the seconds."""
        began = time.monotonic()
        self._query.write.format("delta").mode("overwrite").save(self._by_hand)
        return time.monotonic() - began

    def check(self) -> None:
        """Exits when the view has other rows than the query."""
        mine, by_hand = (self._spark.read.format("delta").load(path) for path in (self._path, self._by_hand))
        if not compare_rows(mine, by_hand, limit=1).same:
            raise SystemExit(f"{self.name}: the view has other rows than its query")
