"""What Penstock says of a script's queries before they start, and what it makes of them."""

from __future__ import annotations

import shutil
import textwrap

import pytest
from tests.integration.s3_server import S3Server
from tests.spark.script.script_project import ScriptProject, ScriptRun

from penstock.spark.session.query_settings import query_settings

EVENTS = [
    {"ts": "2026-01-01T10:00:00Z", "user": "a", "n": 1},
    {"ts": "2026-01-01T10:04:00Z", "user": "a", "n": 2},
    {"ts": "2026-01-01T10:12:00Z", "user": "b", "n": 3},
    {"ts": "2026-01-01T12:00:00Z", "user": "b", "n": 4},
]
START = """\
from pyspark.sql.functions import *
events = spark.readStream.format("json").schema("ts TIMESTAMP, user STRING, n LONG").load("DIR/in")
marked = events.withWatermark("ts", "10 minutes")
def once(frame): return frame.writeStream.trigger(availableNow=True)
"""
FIRST = START.count("\n") + 1
"""The line of the first statement behind START."""


def _run(app: ScriptProject, code: str) -> ScriptRun:
    return app.run(START + textwrap.dedent(code))


def test_a_missing_checkpoint_is_given_and_the_same_with_each_run(app: ScriptProject) -> None:
    code = 'once(events).format("delta").start("DIR/out").awaitTermination()\n'
    app.arrive("1", EVENTS)
    run = _run(app, code).fine()
    [notice] = run.notices
    assert (notice["condition"], notice["line"]) == ("QUERY_CHECKPOINT_CHOSEN", FIRST)
    app.arrive("2", EVENTS[:1])
    _run(app, code).fine()
    assert [row[0] for row in app.rows("out", "n")] == [1, 1, 2, 3, 4]


def test_two_queries_may_not_share_a_checkpoint(app: ScriptProject) -> None:
    app.arrive("1", EVENTS)
    run = _run(
        app,
        """\
        one = once(events).option("checkpointLocation", "DIR/c").format("delta").start("DIR/one")
        one.awaitTermination()
        once(events).option("checkpointLocation", "DIR/c").format("delta").start("DIR/two")
        """,
    )
    error = run.error("QUERY_CHECKPOINT_SHARED")
    assert (str(error.location), error.facts["first"], error.exit_code) == (f"app.py:{FIRST + 2}", f"app.py:{FIRST}", 3)
    assert not (app.directory / "two").exists()


def test_a_query_may_start_again_with_its_own_checkpoint(app: ScriptProject) -> None:
    app.arrive("1", EVENTS)
    run = _run(
        app,
        """\
        for _ in range(2):
            once(events).option("checkpointLocation", "DIR/c").format("delta").start("DIR/one").awaitTermination()
        """,
    )
    assert run.fine().told == []
    assert len(app.rows("one", "n")) == 4


def test_a_lost_checkpoint_stops_a_query_that_would_write_everything_again(
    app: ScriptProject, s3: S3Server, bucket: str
) -> None:
    code = 'once(events).option("checkpointLocation", "DIR/c").format("delta").start("DIR/out").awaitTermination()\n'
    app.arrive("1", EVENTS)
    _run(app, code.replace("DIR", f"s3://{bucket}")).fine()
    for key in s3.keys(bucket):
        if key.startswith("c/"):
            s3.client.delete_object(Bucket=bucket, Key=key)
    error = _run(app, code.replace("DIR", f"s3a://{bucket}")).error("QUERY_CHECKPOINT_LOST")
    assert (str(error.location), error.facts["path"]) == (f"app.py:{FIRST}", f"s3a://{bucket}/c")

    _run(app, code).fine()
    shutil.rmtree(app.directory / "c")
    error = _run(app, code).error("QUERY_CHECKPOINT_LOST")
    assert (str(error.location), error.facts["batch"], error.exit_code) == (f"app.py:{FIRST}", "0", 3)
    assert len(app.rows("out", "n")) == 4
    shutil.rmtree(app.directory / "out")  # on purpose
    _run(app, code).fine()
    assert len(app.rows("out", "n")) == 4


def test_once_runs_as_available_now(app: ScriptProject) -> None:
    app.arrive("1", EVENTS[:2])
    app.arrive("2", EVENTS[2:])
    run = _run(
        app,
        """\
        one_file = spark.readStream.format("json").schema("n LONG").option("maxFilesPerTrigger", 1).load("DIR/in")
        (one_file.writeStream.format("delta").option("checkpointLocation", "DIR/c").trigger(once=True)
            .start("DIR/out").awaitTermination())
        """,
    )
    assert run.fine().told == ["TRIGGER_ONCE_REPLACED"]
    assert len(app.rows("out", "n")) == 4
    assert sum(1 for event in run.events if event.origin.batch_id is not None) == 2


def test_triggers_without_batches_are_refused_with_all_that_is_in_the_way(app: ScriptProject) -> None:
    app.arrive("1", EVENTS)
    code = 'marked.groupBy("ts").count().writeStream.trigger(continuous="1 second").format("json").start("DIR/out")'
    error = _run(app, code).error("QUERY_TRIGGER_REFUSED")
    assert str(error.location) == f"app.py:{FIRST}"
    assert error.facts["reasons"] == (
        "it reads json, which gives batches only; it has a watermark; it keeps state (aggregate); its sink is json, "
        "not Kafka"
    )
    code = 'events.writeStream.trigger(realTime="1 minute").format("delta").start("DIR/out")'
    assert _run(app, code).error("QUERY_TRIGGER_REFUSED").facts["reasons"] == (
        "it reads json, not Kafka; its sink is delta, not Kafka; its output mode is append, not update"
    )


def test_an_aggregation_without_watermark_is_refused_in_append_mode(app: ScriptProject) -> None:
    app.arrive("1", EVENTS)
    error = _run(app, 'once(events.groupBy("user").count()).format("console").start()\n').error(
        "AGGREGATION_NEVER_WRITTEN"
    )
    assert str(error.location) == f"app.py:{FIRST}"


def test_and_told_of_in_update_mode(app: ScriptProject) -> None:
    app.arrive("1", EVENTS)
    run = _run(
        app, 'once(events.groupBy("user").count()).outputMode("update").format("noop").start().awaitTermination()\n'
    )
    assert run.fine().told == ["STREAMING_AGGREGATION_WITHOUT_WATERMARK"]


def test_joins_that_keep_or_lose_rows_without_a_word_are_told_of(app: ScriptProject) -> None:
    app.arrive("1", EVENTS)
    run = _run(
        app,
        """\
        other = marked.select(col("user").alias("who"), col("ts").alias("at"))
        once(marked.join(other, expr("user = who"))).format("noop").start().awaitTermination()
        once(marked.join(other, expr("user = who AND at = ts"))).format("noop").start().awaitTermination()
        plain = events.select(col("user").alias("who"), col("ts").alias("at"))
        once(marked.join(plain, expr("user = who AND at = ts"), "left")).format("noop").start().awaitTermination()
        """,
    )
    found = [(each["condition"], each["line"]) for each in run.fine().notices]
    assert found == [
        ("STREAM_STREAM_JOIN_WITHOUT_TIME_BOUND", FIRST + 1),
        ("JOIN_WATERMARK_ON_ONE_SIDE", FIRST + 4),
    ]


def test_watermarks_that_cannot_be_are_refused_at_their_line_and_one_without_delay_is_told_of(
    app: ScriptProject,
) -> None:
    app.arrive("1", EVENTS)
    for watermark, condition in {
        '"tss", "1 hour"': "WATERMARK_COLUMN_NOT_FOUND",
        '"user", "1 hour"': "WATERMARK_COLUMN_NOT_TIMESTAMP",
        '"ts", "-1 minutes"': "WATERMARK_DELAY_INVALID",
    }.items():
        error = _run(app, f"once(events.withWatermark({watermark})).format('noop').start()\n").error(condition)
        assert str(error.location) == f"app.py:{FIRST}"
    run = _run(
        app,
        """\
        eager = events.withWatermark("ts", "0 seconds")
        once(eager.dropDuplicatesWithinWatermark(["user"])).format("noop").start().awaitTermination()
        once(eager).format("noop").start().awaitTermination()
        """,
    )
    assert [(each["condition"], each["line"]) for each in run.fine().notices] == [
        ("WATERMARK_WITHOUT_DELAY", FIRST + 1)
    ]


def test_a_state_store_that_is_chosen_after_the_first_batch_is_told_of(app: ScriptProject) -> None:
    name = "spark.sql.streaming.stateStore.providerClass"
    code = """\
        hours = once(marked.groupBy(window("ts", "1 hour")).count()).option("checkpointLocation", "DIR/c")
        hours.format("delta").start("DIR/out").awaitTermination()
        """
    app.arrive("1", EVENTS)
    assert _run(app, code).fine().told == []
    other = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    app.arrive("2", EVENTS[:1])
    with query_settings(app.spark, {name: other}):
        run = _run(app, code).fine()
    [notice] = run.notices
    assert (notice["condition"], notice["line"]) == ("STATE_SETTING_KEPT", FIRST + 1)
    assert f"{name} stays org.apache.spark.sql.execution.streaming.state.RocksDB" in notice["message"]


def test_complete_mode_is_told_of_where_there_are_keys(app: ScriptProject) -> None:
    app.arrive("1", EVENTS)
    run = _run(
        app,
        """\
        once(marked.groupBy("user").count()).outputMode("complete").format("noop").start().awaitTermination()
        once(events.agg(sum("n"))).outputMode("complete").format("noop").start().awaitTermination()
        """,
    )
    assert [(each["condition"], each["line"]) for each in run.fine().notices] == [("COMPLETE_MODE_KEEPS_ALL", FIRST)]


def test_update_mode_into_delta_merges(app: ScriptProject) -> None:
    code = """\
        counts = marked.groupBy(window("ts", "10 minutes"), "user").agg(sum("n").alias("n"))
        (once(counts).outputMode("update").format("delta").option("checkpointLocation", "DIR/c")
            .start("DIR/counts").awaitTermination())
        """
    app.arrive("1", EVENTS[:2])
    assert _run(app, code).fine().told == []
    app.arrive("2", [{"ts": "2026-01-01T10:05:00Z", "user": "a", "n": 10}, *EVENTS[2:]])
    _run(app, code).fine()
    assert app.rows("counts", "user", "n") == [("a", 13), ("b", 3), ("b", 4)]
    assert app.status("app.counts").type == "STREAMING_TABLE"


def test_an_update_without_known_keys_is_refused(app: ScriptProject) -> None:
    app.arrive("1", EVENTS)
    error = _run(app, 'once(events).outputMode("update").format("delta").start("DIR/o")\n').error(
        "UPDATE_KEYS_NOT_FOUND"
    )
    assert str(error.location) == f"app.py:{FIRST}"


def test_session_windows_in_update_mode_run_in_append_mode(app: ScriptProject) -> None:
    app.arrive("1", EVENTS)
    run = _run(
        app,
        """\
        sessions = marked.groupBy(session_window("ts", "5 minutes"), "user").count()
        (once(sessions).outputMode("update").format("delta").option("checkpointLocation", "DIR/c")
            .start("DIR/sessions").awaitTermination())
        """,
    )
    assert run.fine().told == ["SESSION_WINDOW_APPENDED"]
    assert app.rows("sessions", "user", "count") == [("a", 2), ("b", 1)]


@pytest.mark.slow  # as the golden query of test_guides.py
def test_a_delta_table_is_partitioned_by_the_start_of_windows(app: ScriptProject) -> None:
    app.arrive("1", EVENTS)
    run = _run(
        app,
        """\
        windows = marked.groupBy(window("ts", "10 minutes")).count()
        (once(windows).format("delta").option("checkpointLocation", "DIR/c").partitionBy("window.start")
            .start("DIR/windows").awaitTermination())
        """,
    )
    assert run.fine().told == ["PARTITION_COLUMN_ADDED"]
    assert {row[0].hour for row in app.rows("windows", "window_start")} == {10}
    assert list((app.directory / "windows").glob("window_start=*"))


def test_a_folder_of_files_takes_one_query_and_one_checkpoint(app: ScriptProject) -> None:
    code = (
        'once(events).format("parquet").option("checkpointLocation", "DIR/c").start("DIR/files").awaitTermination()\n'
    )
    app.arrive("1", EVENTS)
    _run(app, code).fine()
    assert _run(app, code.replace("/c", "/d")).error("SINK_FOLDER_IN_USE").exit_code == 3
    two = code + code.replace("/c", "/d")
    assert str(_run(app, two).error("FILE_SINK_SHARED").location) == f"app.py:{FIRST + 1}"


def test_a_batch_function_that_cannot_know_a_repeated_batch_is_told_of(app: ScriptProject) -> None:
    app.arrive("1", EVENTS)
    run = _run(
        app,
        """\
        def careless(rows, batch_id): rows.write.format("noop").mode("append").save()
        def careful(rows, batch_id): rows.write.format("noop").mode("append").option("txnVersion", batch_id).save()
        for number, function in enumerate([careless, careful, lambda rows, _: rows is None and rows.merge]):
            stream = once(events).foreachBatch(function).option("checkpointLocation", f"DIR/c{number}")
            query = stream.start()
            query.stop()
        """,
    )
    assert [each["message"].split("'")[1] for each in run.fine().notices] == ["careless"]


def test_settings_that_come_too_late_are_told_and_the_script_goes_on(app: ScriptProject) -> None:
    app.arrive("1", EVENTS)
    run = _run(
        app,
        """\
        from pyspark.sql import SparkSession
        session = SparkSession.builder.config("spark.driver.memory", "77g").config("own.key", "x").getOrCreate()
        assert session.conf.get("own.key") == "x"
        spark.conf.set("spark.executor.memory", "8g")
        spark.conf.set("spark.sql.shuffle.partitions", "3")
        assert spark.conf.get("spark.sql.shuffle.partitions") == "3"
        once(events).format("noop").start().awaitTermination()
        spark.conf.set("spark.sql.shuffle.partitions", "2")
        """,
    )
    assert [(each["condition"], each["line"]) for each in run.fine().notices] == [
        ("SETTING_WITHOUT_EFFECT", FIRST + 1),
        ("SETTING_WITHOUT_EFFECT", FIRST + 3),
    ]
