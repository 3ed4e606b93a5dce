"""A pipeline in a folder, run in this process on the tests' session, and looked at without Spark."""

from __future__ import annotations

import json
import os
import textwrap
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from tests.oracle.tables import read_table, stored, table_version

from penstock.config import PipelineConfig, RetrySettings, load_project
from penstock.events import Event, read_events
from penstock.plan.selection import RefreshSelection
from penstock.runtime import UpdateOutcome, ValidationReport, run_update, validate

_IMPORTS = """\
import dlt
import penstock as ps
from pyspark import pipelines as dp
from pyspark.sql import functions as F

"""
QUICK_RETRIES = RetrySettings(max_flow_retries=2, first_delay=0.01, longest_delay=0.02)


@dataclass(slots=True)
class PipelineProject:
    """A folder with a pipeline of one schema, `shop`; its tables lie under `.penstock`."""

    directory: Path
    spark: SparkSession
    retries: RetrySettings = QUICK_RETRIES
    settings: dict[str, str] = field(default_factory=dict)
    _newest_file: int = 0  # when it was changed, in nanoseconds

    def write(self, code: str, file: str = "pipeline.py") -> None:
        """Writes one pipeline file, with the usual imports; its line numbers are not the test's subject."""
        (self.directory / file).write_text(_IMPORTS + textwrap.dedent(code), encoding="utf-8")

    def arrive(self, name: str, rows: list[dict[str, Any]], folder: str = "in") -> None:
        """Lets one JSON file arrive, whole, and later than those before it by a clock of milliseconds, as Spark's."""
        target = self.directory / folder
        target.mkdir(exist_ok=True)
        hidden = target / f".{name}.tmp"
        hidden.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        self._newest_file = max(time.time_ns(), self._newest_file + 1_000_000)
        os.utime(hidden, ns=(self._newest_file, self._newest_file))
        hidden.rename(target / f"{name}.json")

    @property
    def config(self) -> PipelineConfig:
        """The configuration as read from the disk, with retries that do not wait."""
        lines = {"name": "shop", "schema": "shop"} | self.settings
        text = "".join(f"{key}: {value}\n" for key, value in lines.items())
        (self.directory / "penstock.yml").write_text(text, encoding="utf-8")
        return replace(load_project(self.directory), retries=self.retries)

    def validate(self) -> ValidationReport:
        """Validates the pipeline."""
        return validate(self.config, spark=self.spark)

    def run(
        self,
        *,
        refresh: tuple[str, ...] = (),
        full_refresh: tuple[str, ...] = (),
        full_refresh_all: bool = False,
        accept_data_loss: tuple[str, ...] = (),
        on_event: Callable[[Event], None] | None = None,
        trigger: str | None = None,
        stop: threading.Event | None = None,
    ) -> UpdateOutcome:
        """Runs one update to its end."""
        return run_update(
            self.config.with_run_options(trigger=trigger),
            RefreshSelection(refresh, full_refresh, full_refresh_all),
            accept_data_loss=accept_data_loss,
            on_event=on_event,
            stop=stop,
            spark=self.spark,
        )

    def path(self, table: str) -> Path:
        """Returns where a table is stored."""
        return stored(self.directory / ".penstock", "shop", table)

    def rows(self, table: str, *columns: str) -> list[Any]:
        """Returns a table's rows, sorted, NULLs last: tuples of `columns`, or the values of a single one."""
        found = [tuple(row[column] for column in columns) for row in read_table(self.path(table))]
        found.sort(key=lambda row: tuple((value is None, value) for value in row))
        return [row[0] if len(columns) == 1 else row for row in found]

    def version(self, table: str) -> int:
        """Returns the newest version of a table."""
        return table_version(self.path(table))

    def events(self, update: UpdateOutcome | None = None) -> list[Event]:
        """Returns the event log, or what one update wrote."""
        events = list(read_events(str(self.directory / ".penstock")))
        return [each for each in events if update is None or each.origin.update_id == update.update_id]

    def statuses(self, update: UpdateOutcome, table: str) -> list[str]:
        """Returns the states that a table's flows went through in one update."""
        found = []
        for event in self.events(update):
            progress = event.details.get("flow_progress")
            if progress and "metrics" not in progress and event.origin.dataset_name == f"shop.{table}":
                found.append(progress["status"])
        return found

    def written(self, update: UpdateOutcome) -> Mapping[str, int]:
        """Returns the rows that each table got in one update, as the event log tells."""
        counts: dict[str, int] = {}
        for event in self.events(update):
            metrics = event.details.get("flow_progress", {}).get("metrics")
            if metrics:
                name = str(event.origin.dataset_name).removeprefix("shop.")
                counts[name] = counts.get(name, 0) + metrics["num_output_rows"]
        return counts

    def quality(self, update: UpdateOutcome) -> dict[tuple[str, str], tuple[int, int, str]]:
        """Returns `(dataset, expectation) -> (passed, failed, action)` summed over one update."""
        totals: dict[tuple[str, str], tuple[int, int, str]] = {}
        for event in self.events(update):
            quality = event.details.get("flow_progress", {}).get("data_quality") or {"expectations": []}
            for each in quality["expectations"]:
                key = (each["dataset"].removeprefix("shop."), each["name"])
                passed, failed, _ = totals.get(key, (0, 0, ""))
                totals[key] = (passed + each["passed_records"], failed + each["failed_records"], each["action"])
        return totals
