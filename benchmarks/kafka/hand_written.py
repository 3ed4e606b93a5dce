"""The same flow as an engineer writes it in plain PySpark: hand_written.py BROKER TOPIC OUTPUT SETTINGS [once].

Without `once` it runs until it is ended.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

SCHEMA = "id BIGINT, sent BIGINT, amount DOUBLE, note STRING"


def main(broker: str, topic: str, output: str, settings: dict[str, str], *, once: bool) -> None:
    builder = SparkSession.builder.appName("kafka")
    for key, value in settings.items():
        builder = builder.config(key, value)
    query = start(builder.getOrCreate(), broker, topic, output, once=once)
    query.awaitTermination()
    note_seconds(query, output)


def start(spark: SparkSession, broker: str, topic: str, output: str, *, once: bool) -> StreamingQuery:
    """Starts the query in the session."""
    options = {"kafka.bootstrap.servers": broker, "subscribe": topic, "startingOffsets": "earliest"}
    messages = spark.readStream.format("kafka").options(**options).load()
    rows = messages.select(f.from_json(f.col("value").cast("string"), SCHEMA).alias("row")).select("row.*")
    writer = rows.writeStream.format("delta").option("checkpointLocation", f"{output}/checkpoint")
    writer = writer.trigger(availableNow=True) if once else writer.trigger(processingTime="0 seconds")
    return writer.start(f"{output}/bronze")


def note_seconds(query: StreamingQuery, output: str) -> None:
    """Writes what the batches with rows took into a file."""
    batches = [batch for batch in query.recentProgress if batch["numInputRows"]]
    seconds = sum(batch["durationMs"]["triggerExecution"] for batch in batches) / 1000
    Path(output, "batch_seconds").write_text(str(seconds))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4]), once="once" in sys.argv[5:])
