"""A re-implementation of a typical published pipeline: files as an author writes them, and generated input."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from pyspark.sql import SparkSession
from tests.oracle.tables import differences, read_table, stored
from tests.spark.pipeline_project import QUICK_RETRIES

from penstock.config import load_project
from penstock.events import UpdateState, read_events
from penstock.plan.selection import RefreshSelection
from penstock.runtime import UpdateOutcome, run_update

PIPELINES = Path(__file__).parent / "pipelines"
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PublishedPipeline:
    """A copy of the pipeline's folder; its input lies below `data`."""

    directory: Path
    spark: SparkSession

    @property
    def schema(self) -> str:
        """The schema of the tables that are named without one."""
        return load_project(self.directory).schema

    def json(self, file: str, rows: Iterable[Any]) -> None:
        """Lets a file of JSON lines arrive."""
        self.text(file, "".join(json.dumps(row, default=str) + "\n" for row in rows))

    def csv(self, file: str, rows: Sequence[Row], *, separator: str = ",") -> None:
        """Lets a CSV file with a header arrive; None is an empty field."""
        path = self._arriving(file)
        with path.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, fieldnames=list(rows[0]), delimiter=separator)
            writer.writeheader()
            writer.writerows(rows)
        path.rename(self.directory / "data" / file)

    def text(self, file: str, content: str) -> None:
        """Lets a file arrive, whole."""
        path = self._arriving(file)
        path.write_text(content, encoding="utf-8")
        path.rename(self.directory / "data" / file)

    def _arriving(self, file: str) -> Path:
        path = self.directory / "data" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.with_name(f".{path.name}.arriving")

    def run(self, *, overrides: Mapping[str, str] | None = None) -> UpdateOutcome:
        """Runs one update, which must succeed."""
        config = replace(load_project(self.directory, overrides=overrides), retries=QUICK_RETRIES)
        outcome = run_update(config, RefreshSelection(), spark=self.spark)
        assert (outcome.state, outcome.errors) == (UpdateState.COMPLETED, ())
        return outcome

    def quality(self, update: UpdateOutcome) -> dict[tuple[str, str], tuple[int, int]]:
        """Returns `(table, expectation) -> (passed, failed)` of one update, as its events count them."""
        totals: dict[tuple[str, str], tuple[int, int]] = {}
        for event in read_events(str(self.directory / ".penstock")):
            quality = event.details.get("flow_progress", {}).get("data_quality")
            for each in quality["expectations"] if quality and event.origin.update_id == update.update_id else ():
                key = (each["dataset"].removeprefix(f"{self.schema}."), each["name"])
                passed, failed = totals.get(key, (0, 0))
                totals[key] = (passed + each["passed_records"], failed + each["failed_records"])
        return totals

    def path(self, table: str) -> Path:
        """Returns where a table (`name` or `schema.name`) is stored."""
        schema, _, name = table.rpartition(".")
        return stored(self.directory / ".penstock", schema or self.schema, name)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Returns the rows of a table, read without Spark."""
        return read_table(self.path(table))

    def columns(self, table: str) -> list[str]:
        """Returns the names of a table's columns, in order."""
        return [field.name for field in DeltaTable(str(self.path(table))).schema().fields]

    def check(self, table: str, expected: Sequence[Row], *, ignoring: Sequence[str] = ("_rescued_data",)) -> None:
        """Fails with the differences unless the table holds exactly these rows in all columns not ignored."""
        columns = [name for name in self.columns(table) if name not in ignoring]
        if expected:
            assert sorted(columns) == sorted(expected[0]), table
        lines = differences(self.rows(table), expected, columns)
        assert not lines, f"{table} differs: " + "\n".join(lines)
