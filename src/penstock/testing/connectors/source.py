"""What every source has to do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQueryException

from penstock.errors import PenstockError
from penstock.spark.sources.formats import source_of
from penstock.spark.sources.source import ChecksAccess, ReadsBatch, SourceRead, checked
from penstock.spark.sources.stream_read import native_load
from penstock.testing.session import shared_session


@dataclass(slots=True)
class _Run:
    """What one start of a query has handed over: the rows of each batch, and Spark's progress."""

    batches: dict[int, list[str]] = field(default_factory=dict)
    progress: list[dict[str, Any]] = field(default_factory=list)
    failed: bool = False

    @property
    def rows(self) -> list[str]:
        return sorted(chain.from_iterable(self.batches.values()))


class SourceConformance:
    """Tests of a source; a derived class says how it is read, and how rows get there.

    Attributes:
        format: The format, as a pipeline names it.
        id: The SQL expression that gives a row's id.
        secret: The value of an option that nothing may show, if there is one.
        unknown: An option that does not exist, and is refused; None for Spark's own formats, which pass over it.
    """

    format: ClassVar[str]
    id: ClassVar[str] = "id"
    secret: ClassVar[str | None] = None
    unknown: ClassVar[str | None] = "noSuchOption"

    def options(self) -> Mapping[str, str]:
        """Returns the options of a read from the source's beginning."""
        raise NotImplementedError

    def put(self, ids: Iterable[int]) -> None:
        """Lets rows arrive, one for each id; returns when they are there."""
        raise NotImplementedError

    def schema(self) -> str | None:
        """Returns the columns that a pipeline gives the read, None where the source knows them."""
        return None

    # ---- the tests ----

    def test_the_rows_of_a_failed_batch_are_read_again(self, tmp_path: Path) -> None:
        """A process dies while it writes a batch: the next one gets the same rows, and then those that came since."""
        self.put([1, 2, 3])
        failed = self._run(tmp_path, dies=True)
        assert failed.failed
        assert len(failed.batches) == 1
        [(number, before)] = failed.batches.items()
        self.put([4, 5])
        after = self._run(tmp_path)
        assert after.batches[number] == before
        assert self._ids(after.rows) == [1, 2, 3, 4, 5]

    def test_a_restart_goes_on_where_the_last_run_ended(self, tmp_path: Path) -> None:
        """No row is lost or read twice, also when nothing has come; offsets lead on from each other."""
        self.put([1, 2, 3])
        runs = [self._run(tmp_path)]
        self.put([4])
        runs += [self._run(tmp_path), self._run(tmp_path)]
        assert self._ids(sorted(chain.from_iterable(run.rows for run in runs))) == [1, 2, 3, 4]
        assert runs[2].rows == []
        batches = [each for run in runs for each in run.progress if "addBatch" in each["durationMs"]]
        offsets = [(each["sources"][0]["startOffset"], each["sources"][0]["endOffset"]) for each in batches]
        assert all(end == start for (_, end), (start, _) in pairwise(offsets)), offsets
        assert len({json.dumps(end, sort_keys=True) for _, end in offsets}) >= 2
        shown = json.dumps([run.progress for run in runs])
        stored = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
        if self.secret is not None:
            assert self.secret not in shown, "Spark's progress shows a secret"
            assert not any(self.secret.encode() in each for each in stored), "the checkpoint keeps a secret"

    def test_the_columns_stay_the_same(self, tmp_path: Path) -> None:
        """A flow is analysed, and started, and started again: its columns do not depend on what has come meanwhile."""
        self.put([1])
        first = self._stream(tmp_path).schema
        self.put([2, 3])
        assert self._stream(tmp_path).schema == first
        assert self._stream(tmp_path).selectExpr(f"{self.id} AS id").columns == ["id"]

    def test_a_batch_reads_all_rows(self) -> None:
        """What `penstock run --batch` reads, if the source can be read as a batch."""
        source = source_of(self.format)
        if isinstance(source, ReadsBatch):
            self.put([1, 2])
            self.put([3])
            read = checked(source, self._read(self.options()))
            found = source.batch(read).selectExpr(f"CAST({self.id} AS BIGINT) AS id").collect()
            assert sorted(row["id"] for row in found) == [1, 2, 3]

    def test_a_wrong_option_is_named(self, tmp_path: Path) -> None:
        """An option that does not exist, and one that is missing, are reported by name; a secret is never repeated."""
        options = source_of(self.format).options or ()
        wrong = {option.name: self._without(option.name) for option in options if option.required}
        if self.unknown is not None:
            wrong[self.unknown] = {**self.options(), self.unknown: "1"}
        for name, given in wrong.items():
            with pytest.raises(PenstockError) as refused:
                self._stream(tmp_path, given)
            assert name.casefold() in refused.value.message.casefold()
            assert self.secret is None or self.secret not in str(refused.value)

    # ---- how they read ----

    def _without(self, name: str) -> dict[str, str]:
        return {key: value for key, value in self.options().items() if key.casefold() != name.casefold()}

    def _read(self, options: Mapping[str, str]) -> SourceRead:
        spark = shared_session()
        given = {key: value for key, value in options.items() if key.casefold() != "path"}
        path = next((value for key, value in options.items() if key.casefold() == "path"), None)

        def load(name: str | None, more: Mapping[str, str]) -> DataFrame:
            settings = {**given, **more}
            return native_load(spark, self.format, settings, self.schema(), path, source_name=name or "source")

        read = SourceRead(
            format=self.format, options=given, schema=self.schema(), path=path, name="source", spark=spark, load=load
        )
        return replace(read, persist=True, description=self.format)

    def _stream(self, folder: Path, options: Mapping[str, str] | None = None) -> DataFrame:
        source = source_of(self.format)
        read = checked(source, self._read(self.options() if options is None else options))
        if isinstance(source, ChecksAccess):
            source.check(read)
        return source.stream(replace(read, schemas=str(folder / "schemas")))

    def _run(self, folder: Path, *, dies: bool = False, options: Mapping[str, str] | None = None) -> _Run:
        """Runs the stream to its end, or until it dies after the rows of its first batch were taken."""
        run = _Run()

        def take(rows: DataFrame, batch: int) -> None:
            found = rows.selectExpr("*", f"CAST({self.id} AS BIGINT) AS _id")
            taken = sorted(row["row"] for row in found.selectExpr("to_json(struct(*)) AS row").collect())
            if taken:
                run.batches[batch] = taken
            if dies and taken:
                raise RuntimeError("the test's crash")

        query = _started(self._stream(folder, options), take, folder / "checkpoint")
        try:
            query.awaitTermination()
        except StreamingQueryException:
            run.failed = True
            if not dies:
                raise
        run.progress = [json.loads(each.json) for each in query.recentProgress]
        return run

    @staticmethod
    def _ids(rows: Iterable[str]) -> list[int]:
        return sorted(json.loads(row)["_id"] for row in rows)


def _started(stream: DataFrame, take: Callable[[DataFrame, int], None], checkpoint: Path) -> Any:
    writer = stream.writeStream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    return writer.foreachBatch(take).start()


class RateLimitConformance(SourceConformance):
    """The tests of a source that can limit a batch."""

    def two_rows(self) -> Mapping[str, str]:
        """Returns the option with which a batch has two rows at most."""
        raise NotImplementedError

    def test_a_batch_keeps_its_limit(self, tmp_path: Path) -> None:
        """A backlog is read in small batches, each row once, and the run ends when it is read."""
        self.put([1])
        self.put([2])
        self.put([3])
        self.put([4, 5])
        run = self._run(tmp_path, options={**self.options(), **self.two_rows()})
        assert max(map(len, run.batches.values())) <= 2
        assert self._ids(run.rows) == [1, 2, 3, 4, 5]
