"""A guide's "foreachBatch() + JDBC", as a script: docs/reference/guide-snippets.md."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession
from tests.postgres_server import PASSWORD, USER, PostgresServer
from tests.spark.script.script_project import ScriptProject

from penstock.runtime.script.session import LIKE_SPARK
from penstock.spark.session.query_settings import query_settings


def test_a_batch_function_writes_through_jdbc(
    spark: SparkSession, tmp_path: Path, postgres: PostgresServer, schema: str
) -> None:
    code = f"""\
    def to_postgres(batch, batch_id):
        (batch.write.format("jdbc")
        .option("url", "{postgres.url()}")
        .option("dbtable", "{schema}.orders")
        .option("user", "{USER}")
        .option("password", {PASSWORD!r})
        .mode("append")
        .save())
    stream_df = spark.readStream.schema("id INT, amount INT").json("DIR/in")
    query = (stream_df
    .writeStream
    .foreachBatch(to_postgres)
    .option("checkpointLocation", "DIR/checkpoints/orders")
    .trigger(availableNow=True)
    .start()
    )
    query.awaitTermination()
    """
    with query_settings(spark, LIKE_SPARK):
        app = ScriptProject(tmp_path, spark)
        app.arrive("1", [{"id": 1, "amount": 10}, {"id": 2, "amount": 20}])
        run = app.run(code)
        assert run.fine().told == ["FOREACH_BATCH_REPEATS"], "that JDBC knows no batches is said"
        app.arrive("2", [{"id": 3, "amount": 30}])
        app.run(code).fine()
    assert postgres.rows(f"SELECT id, amount FROM {schema}.orders ORDER BY id") == [(1, 10), (2, 20), (3, 30)]
