"""A folder of arriving files, a table, and the restart that the runtime does."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from tests.oracle.tables import read_table

from penstock.spark.sources.auto_loader import AutoLoaderSource, Evolution, load_auto_loader
from penstock.spark.sources.stream_read import StreamRead
from penstock.spark.streams.earlier_batches import repair_offset_log

SOURCE = "orders_files"


@dataclass
class Landing:
    """One cloudFiles source into one Delta table, run as the runtime runs it."""

    spark: SparkSession
    root: Path
    options: dict[str, str]
    schema: Any = None
    evolutions: list[Evolution] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)
    progress: list[dict[str, Any]] = field(default_factory=list)
    outstanding: list[tuple[int, int]] = field(default_factory=list)
    transform: Callable[[DataFrame], DataFrame] = field(default=lambda frame: frame)

    @property
    def files(self) -> Path:
        return self.root / "in"

    @property
    def schemas(self) -> Path:
        return self.root / "schemas"

    def put(self, name: str, content: str, *, modified: float | None = None) -> Path:
        path = self.files / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return _write(path, content, modified)

    def move_in(self, name: str, content: str, *, modified: float | None = None) -> Path:
        """Puts a file that is whole when it appears: a query that runs may read it at any moment."""
        written = _write(self.root / f".{Path(name).name}", content, modified)
        path = self.files / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return written.rename(path)

    def put_json(self, name: str, rows: Iterable[object]) -> Path:
        return self.put(name, "".join(json.dumps(row) + "\n" for row in rows))

    def read(self) -> StreamRead:
        return StreamRead("cloudFiles", self.options, self.schema, str(self.files))

    def load(self, *, persist: bool = True) -> tuple[DataFrame, AutoLoaderSource]:
        return load_auto_loader(
            self.spark, self.read(), schema_location=str(self.schemas), source_name=SOURCE, persist=persist
        )

    def run(self, *, restarts: int = 5) -> None:
        """Runs until nothing is left, restarting the checkpoint after each evolution."""
        for _ in range(restarts + 1):
            frame, source = self.load()
            repair_offset_log(str(self.root / "checkpoint"), 2)
            writer = self.transform(frame).writeStream.format("delta").option("mergeSchema", "true")
            writer = writer.option("checkpointLocation", str(self.root / "checkpoint")).trigger(availableNow=True)
            query = writer.start(str(self.root / "table"))
            try:
                query.awaitTermination()
            except StreamingQueryException as failure:
                evolution = source.evolve(self.spark, failure, str(self.root / "checkpoint"))
                if evolution is None:
                    raise
                self.evolutions.append(evolution)
            else:
                self.progress.extend(json.loads(each.json) for each in query.recentProgress)
                self.batches.extend(progress["numInputRows"] for progress in query.recentProgress)
                told = [progress["sources"][0]["metrics"] for progress in query.recentProgress]
                self.outstanding.extend(
                    (int(m["numFilesOutstanding"]), int(m["numBytesOutstanding"])) for m in told if m
                )
                return
        pytest.fail(f"still evolving after {restarts} restarts: {self.evolutions}")

    @contextmanager
    def streaming(self) -> Iterator[StreamingQuery]:
        """A query that takes files as they come, and has taken those that are there."""
        frame, _ = self.load()
        repair_offset_log(str(self.root / "checkpoint"), 2)
        writer = self.transform(frame).writeStream.format("delta")
        writer = writer.option("checkpointLocation", str(self.root / "checkpoint")).trigger(processingTime="0 seconds")
        query = writer.start(str(self.root / "table"))
        try:
            query.processAllAvailable()
            yield query
        finally:
            query.stop()

    @property
    def table(self) -> DataFrame:
        return self.spark.read.format("delta").load(str(self.root / "table"))

    def rows(self, *columns: str) -> list[tuple[Any, ...]]:
        """The table's rows, sorted by their text; rescued data as a dict without the file path.

        They are read without Spark, in which a table's first read takes longer than the query that filled it. A column
        may be a path to a field; of a list, it is that of each element.
        """
        place = self.root / "table"
        found: Iterable[Iterable[Any]]
        if "typeWidening" in (DeltaTable(str(place)).protocol().reader_features or ()):  # which only Spark reads
            found = self.table.select(*columns or "*").collect()
        else:
            rows = read_table(place)
            found = ([_at(row, name.split(".")) for name in columns] if columns else row.values() for row in rows)
        return sorted((tuple(map(_plain, row)) for row in found), key=repr)

    @property
    def batch_count(self) -> int:
        return len([name for name in (self.root / "checkpoint" / "commits").iterdir() if name.name.isdecimal()])


def _write(path: Path, content: str, modified: float | None) -> Path:
    path.write_text(content)
    if modified is not None:
        os.utime(path, (modified, modified))
    return path


def _at(value: Any, path: list[str]) -> Any:
    for name in path:
        if value is not None:
            value = [each[name] for each in value] if isinstance(value, list) else value[name]
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, str) and '"_file_path"' in value:
        document = json.loads(value)
        assert document.pop("_file_path").startswith("file:/")
        return document
    return value


@pytest.fixture
def landing(spark: SparkSession, tmp_path: Path) -> Callable[..., Landing]:
    def build(source_format: str = "json", *, schema: Any = None, **options: str) -> Landing:
        prefixed = {
            name
            if name in {"rescuedDataColumn", "header", "multiLine", "mode", "pathGlobFilter", "sep"}
            else f"cloudFiles.{name}": value
            for name, value in options.items()
        }
        result = Landing(spark, tmp_path, {"cloudFiles.format": source_format, **prefixed}, schema)
        result.files.mkdir()
        return result

    return build
