"""Folders that name a value which the type of their partition column does not take."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from tests.spark.auto_loader.conftest import Landing

from penstock.spark.sources.auto_loader import describe_failure

Build = Callable[..., Landing]


# Slow: the values are of the path, whatever the files hold.
@pytest.mark.parametrize(
    "source_format", ["json", *(pytest.param(each, marks=pytest.mark.slow) for each in ("csv", "parquet"))]
)
def test_a_value_of_another_type_is_rescued(spark: SparkSession, landing: Build, source_format: str) -> None:
    it = landing(source_format, schemaEvolutionMode="rescue", schemaHints="id BIGINT, share DECIMAL(3,2)")
    for number, folder in enumerate(("part=1/share=0.25", "part=3000000000/share=0.5", "part=abc/share=0.125")):
        (it.files / folder).parent.mkdir(parents=True, exist_ok=True)
        spark.range(number, number + 1).coalesce(1).write.format(source_format).option("header", "true").save(
            str(it.files / folder)
        )
        it.run()
    found = it.rows("id", "part", "share", "_rescued_data")
    assert [(row[0], row[1], str(row[2]), row[3]) for row in found] == [
        (0, 1, "0.25", None),
        (1, None, "0.50", {"part": "3000000000"}),
        (2, None, "0.13", {"part": "abc", "share": "0.125"}),
    ]


def test_a_partition_column_gets_wider_where_types_do(spark: SparkSession, landing: Build) -> None:
    it = landing("csv", schemaEvolutionMode="addNewColumnsWithTypeWidening")
    spark.sql(
        f"CREATE TABLE delta.`{it.root / 'table'}` (id STRING, part INT, _rescued_data STRING) USING delta "
        "TBLPROPERTIES ('delta.enableTypeWidening' = 'true')"
    )
    for number, part in enumerate(("1", "3000000000", "abc")):
        it.put(f"part={part}/{number}.csv", f"id\n{number}\n")
        it.run()
    assert it.rows() == [("0", 1, None), ("1", 3000000000, None), ("2", None, {"part": "abc"})]
    assert [evolution.message for evolution in it.evolutions] == ["wider types: part bigint"]


def test_without_rescued_data_the_batch_fails_and_a_hint_keeps_the_text(landing: Build) -> None:
    it = landing("text")
    it.put("part=01/1.txt", "a\n")
    it.run()
    it.put("part=x y/2.txt", "b\n")
    with pytest.raises(StreamingQueryException) as failure:
        it.run()
    error = describe_failure(failure.value)
    assert error is not None
    assert error.condition == "AUTO_LOADER_PARTITION_VALUE"
    assert (error.facts["column"], error.facts["found"], error.facts["expected"]) == ("part", "x y", "int")
    assert it.rows("value", "part") == [("a", 1)]
