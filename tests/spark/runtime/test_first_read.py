"""A flow may read its first rows from a snapshot or from the log, and change over at any start: each row comes once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from penstock.config import Trigger, TriggerKind
from penstock.runtime.storage_state.first_read import FROM_THE_FIRST_VERSION, reads_from_the_first_version
from penstock.spark.streams.writes import start_stream

ROWS = 60


@dataclass(frozen=True)
class EachBatch:
    """Gives the batches to a function."""

    function: Callable[[DataFrame, int], None]

    def start(self, writer: DataStreamWriter) -> StreamingQuery:
        return writer.foreachBatch(self.function).start()


@pytest.mark.parametrize("dies_in", [0, 2])
@pytest.mark.parametrize("begins", ["from the log", "from a snapshot"])
def test_each_row_comes_once_whichever_way_the_batch_is_read_again(
    spark: SparkSession, tmp_path: Path, begins: str, dies_in: int
) -> None:
    table, checkpoint = str(tmp_path / "table"), str(tmp_path / "checkpoint")
    for first in range(0, ROWS, 20):
        spark.range(first, first + 20, numPartitions=2).write.format("delta").mode("append").save(table)
    options = {"maxFilesPerTrigger": "1" if dies_in else "100"}
    rows: Counter[int] = Counter()

    def start(*, from_the_log: bool, dies_in: int | None = None) -> None:
        def write(batch: DataFrame, number: int) -> None:
            if number == dies_in:
                raise RuntimeError("as if the process died")
            rows.update(row.id for row in batch.collect())

        chosen = {**options, **(FROM_THE_FIRST_VERSION if from_the_log else {})}
        stream = spark.readStream.format("delta").options(**chosen).name("numbers").load(table)
        start_stream(
            stream,
            EachBatch(write),
            query_name="numbers",
            checkpoint=checkpoint,
            trigger=Trigger(TriggerKind.AVAILABLE_NOW),
        ).awaitTermination()

    def from_the_log() -> bool:
        return reads_from_the_first_version(checkpoint, "numbers", table, options)

    assert from_the_log()
    with pytest.raises(StreamingQueryException):
        start(from_the_log=begins == "from the log", dies_in=dies_in)
    if begins == "from the log":
        assert from_the_log()
        spark.sql(f"OPTIMIZE delta.`{table}`")  # the files that the batch was to read are not in a snapshot any more
        assert not from_the_log()
    else:
        assert from_the_log() == (dies_in == 0)  # one batch took the whole snapshot; of several, offsets are within
    start(from_the_log=from_the_log())
    assert rows == Counter(range(ROWS))
