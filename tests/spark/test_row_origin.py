"""What a row still knows of where it comes from."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from penstock.spark.plans.row_origin import row_origin

_NOTHING = {"file_path": None, "topic": None, "partition": None, "offset": None}


def _origin(frame: DataFrame) -> dict[str, object] | None:
    column = row_origin(frame)
    if column is None:
        return None
    row = frame.select(column.alias("origin")).collect()[0]
    return dict(row["origin"].asDict())


def test_files_and_kafka_coordinates_are_known_where_the_query_keeps_them(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text('{"id": 1, "_metadata": 2}\n')
    files = spark.read.schema("id LONG").json(str(tmp_path))
    found = _origin(files.where("id > 0").withColumn("twice", sf.col("id") * 2).select("twice"))
    assert found is not None
    assert str(found.pop("file_path")).endswith("/rows.json")
    assert found == {name: None for name in _NOTHING if name != "file_path"}
    assert _origin(files.groupBy("id").count()) is None
    assert _origin(spark.range(1)) is None
    assert _origin(spark.read.schema("_metadata LONG").json(str(tmp_path))) is None, "the user's own column"

    kafka = spark.range(1).selectExpr("'orders' AS Topic", "2 AS partition", "17L AS offset")
    assert _origin(kafka) == _NOTHING | {"topic": "orders", "partition": 2, "offset": 17}
    assert _origin(kafka.withColumn("offset", sf.lit("17"))) is None, "not Kafka's type"
