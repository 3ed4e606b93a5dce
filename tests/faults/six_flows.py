"""A pipeline with one flow of each of six kinds over the same files, and what its tables must hold."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Final

from tests.oracle.tables import differences, read_table, stored
from tests.spark.changes.model import Event, Settings, histories, newest_rows

Row = dict[str, Any]
Tables = Mapping[str, list[Row]]

KINDS: Final = {
    "append": "orders",
    "quarantine": "checked",
    "SCD1": "latest",
    "SCD2": "history",
    "windows": "per_minute",
    "dedup": "kinds",
}
"""The six kinds of flows, each with its table."""

_ROWS: Final = 30  # in a file, two seconds apart: a minute
_OPENING: Final = datetime(2026, 1, 1, 7, tzinfo=UTC)
_DELAY: Final = timedelta(seconds=30)
_SCHEMA: Final = "id LONG, customer LONG, amount LONG, at LONG, op STRING, time TIMESTAMP"

# `bronze` is no kind of its own: windows and dedup read it, so that the six include flows from a Delta table.
PIPELINE: Final = f"""
import dlt
from pyspark.sql import functions as sf

FILES_A_BATCH = 1
PROPERTIES = {{"delta.checkpointInterval": "2"}}


def files():
    return spark.readStream.schema("{_SCHEMA}").option("maxFilesPerTrigger", FILES_A_BATCH).json("in")


@dlt.table
def bronze():
    return files()


@dlt.table(table_properties=PROPERTIES)
def orders():
    return files().select("id", "amount")


@dlt.table(table_properties=PROPERTIES)
@dlt.expect_or_quarantine("positive", "amount > 0")
def checked():
    return files().select("id", "amount")


@dlt.view
def events():
    return files().select(sf.col("customer").alias("id"), "at", "op", sf.col("amount").alias("a"))


for name, scd_type in (("latest", 1), ("history", 2)):
    dlt.create_streaming_table(name, table_properties=PROPERTIES)
    dlt.create_auto_cdc_flow(
        target=name,
        source="events",
        keys=["id"],
        sequence_by="at",
        apply_as_deletes="op = 'D'",
        except_column_list=["op", "at"],
        stored_as_scd_type=scd_type,
    )


@dlt.table(table_properties=PROPERTIES)
def per_minute():
    rows = dlt.read_stream("bronze").withWatermark("time", "{_DELAY.seconds} seconds")
    counted = rows.groupBy(sf.window("time", "1 minute")).agg(sf.count("*").alias("n"), sf.sum("amount").alias("total"))
    return counted.select(sf.col("window.end").alias("end"), "n", "total")


@dlt.table(table_properties={{"delta.checkpointInterval": "1"}})  # what a run finds in `bronze` is one batch
def kinds():
    return dlt.read_stream("bronze").select("customer", "op").dropDuplicates()
"""


def file_rows(number: int) -> list[Row]:
    """Returns the rows of one file: none late by its time, some late by `at`, the sequence of the changes."""
    chance = Random(f"six flows/{number}")
    rows = []
    for n in range(number * _ROWS, (number + 1) * _ROWS):
        late = chance.random() < 0.15
        rows.append(
            {
                "id": n,
                "customer": number * 3 + chance.randrange(10),  # new ones come, old ones stay as they are
                "amount": chance.randint(-3, 20),
                "at": 10 * (n - 40) + 5 if late else 10 * n,
                "op": "D" if chance.random() < 0.2 else "U",
                "time": (_OPENING + timedelta(seconds=2 * n)).isoformat(),
            }
        )
    return rows


def expected(files: int) -> Tables:
    """Returns what the tables must hold after so many files, computed from their rows alone."""
    rows = [row for number in range(files) for row in file_rows(number)]
    changes = [Event(row["customer"], row["at"], row["op"], {"a": row["amount"]}) for row in rows]
    plain = [{"id": row["id"], "amount": row["amount"]} for row in rows]
    return {
        "orders": plain,
        "checked": [row for row in plain if row["amount"] > 0],
        "checked__quarantine": [row for row in plain if row["amount"] <= 0],
        "latest": newest_rows(changes, Settings()),
        "history": histories(changes, Settings()),
        "per_minute": _windows(rows),
        "kinds": [{"customer": c, "op": op} for c, op in {(row["customer"], row["op"]) for row in rows}],
    }


def _windows(rows: list[Row]) -> list[Row]:
    """The minutes that the watermark has closed; Spark's starts a delay behind the newest row."""
    counts: Counter[datetime] = Counter()
    totals: Counter[datetime] = Counter()
    times = [datetime.fromisoformat(row["time"]) for row in rows]
    for row, time in zip(rows, times, strict=True):
        end = time.replace(second=0) + timedelta(minutes=1)
        counts[end] += 1
        totals[end] += row["amount"]
    closed = max(times) - _DELAY
    return [{"end": end, "n": counts[end], "total": totals[end]} for end in counts if end <= closed]


class SixFlows:
    """The project in `directory`, to which files arrive one after the other."""

    code = PIPELINE

    def __init__(self, directory: Path, *, files_a_batch: int = 1) -> None:
        self.directory = directory
        self.files = 0
        self.input.mkdir(parents=True)
        self.take(files_a_batch)
        (directory / "penstock.yml").write_text(
            # More cores than there are: a task that is held must not keep those of other flows waiting.
            "name: six\nschema: shop\nmaster: local[16]\n"
            "spark_conf:\n  spark.driver.memory: 1g\n  spark.sql.shuffle.partitions: 2\n"
        )

    def take(self, files_a_batch: int) -> None:
        """Says how many files a batch takes from now on, at most."""
        pipeline = self.code.replace("FILES_A_BATCH = 1", f"FILES_A_BATCH = {files_a_batch}")
        (self.directory / "pipeline.py").write_text(pipeline)

    @property
    def input(self) -> Path:
        """The folder of the arriving files."""
        return self.directory / "in"

    @property
    def storage(self) -> Path:
        """Where the tables, the checkpoints and the events are."""
        return self.directory / ".penstock"

    def arrive(self, count: int = 1) -> None:
        """Lets `count` more files arrive, each whole when it gets its name and a second younger than the last."""
        for _ in range(count):
            hidden = self.input / f".{self.files}"
            hidden.write_text("".join(json.dumps(row) + "\n" for row in file_rows(self.files)))
            moment = _OPENING.timestamp() + self.files
            os.utime(hidden, (moment, moment))
            hidden.rename(self.input / f"{self.files:06}.json")
            self.files += 1

    def tables(self) -> Tables:
        """Returns what the tables hold."""
        return {name: read_table(stored(self.storage, "shop", name)) for name in expected(1)}

    def differing(self, wanted: Tables | None = None) -> dict[str, str]:
        """Returns how the tables differ from what they must hold (of the files, or `wanted`), by kind of flow."""
        found: dict[str, str] = {}
        actual, right = self.tables(), expected(self.files) if wanted is None else wanted
        for kind, table in KINDS.items():
            for name in (name for name in actual if name.removesuffix("__quarantine") == table):
                columns = ("id", "amount") if name.endswith("__quarantine") else None
                if lines := differences(actual[name], right[name], columns):
                    found[kind] = f"{name}: " + "\n".join(lines)
        return found
