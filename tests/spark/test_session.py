from __future__ import annotations

import base64
import json
import os
import signal
import socket
import stat
import struct
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from deltalake import DeltaTable
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from tests.spark.session_settings import CHOSEN

from penstock.config.values.secret import pattern_of
from penstock.errors import StateError
from penstock.spark import _jvm
from penstock.spark.accelerators.hadoop_conf import prune_hadoop_conf
from penstock.spark.session.defaults import DEFAULTS, Machine, session_conf
from penstock.spark.session.driver_log import leave_out_of_log
from penstock.spark.session.launch import SessionConfig
from penstock.spark.session.session import driver_log, jvm_exit_code, start_session


def test_every_default_is_in_force(spark: SparkSession) -> None:
    in_force = dict(spark.sparkContext.getConf().getAll())
    for key, value in session_conf(Machine.of("local[2]"), CHOSEN).items():
        assert in_force[key].endswith(value)  # Spark puts options of its own before the driver's Java options


def test_who_does_not_know_the_secret_is_not_deserialized(spark: SparkSession) -> None:
    context = spark.sparkContext
    blocks = _jvm.jvm(spark).org.apache.spark.SparkEnv.get().blockManager().blockManagerId().port()
    body = b"\0\0\0\0\xac\xed\0\5: a Java object"
    request = struct.pack(">BQI", 3, 7, len(body)) + body  # Spark's RpcRequest
    for port in (int(context.getConf().get("spark.driver.port", "")), blocks):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(struct.pack(">Q", len(request) + 8) + request)
            answer = connection.recv(65536)
        assert b"SaslMessage" in answer
        assert b"ObjectInputStream" not in answer
    secrets = [key for key, _ in context.getConf().getAll() if "authenticate" in key]
    assert secrets == ["spark.authenticate"]  # the secret is in no setting


def test_a_secret_in_an_exception_of_a_function_is_not_in_the_log(spark: SparkSession) -> None:
    secret = 'p4ss/"word+ü'
    shown = [secret, quote(secret, safe=""), base64.b64encode(f"user:{secret}".encode()).decode()]
    leave_out_of_log(SparkContext._gateway, pattern_of([secret]))
    message = "cannot log in with " + " or ".join(shown)
    log = driver_log()
    assert log is not None
    before = len(log.read_text("utf-8"))
    with pytest.raises(PySparkException):
        spark.range(1).select(f.udf(lambda _: int(message), "long")("id")).collect()
    written = log.read_text("utf-8")[before:]
    assert "cannot log in with *** or *** or " in written
    assert not [form for form in (*shown, "p4ss", "cDRzcy") if form in written]
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_who_does_not_know_the_secret_calls_no_python_function(spark: SparkSession, tmp_path: Path) -> None:
    gateway: Any = SparkContext._gateway
    seen: list[int] = []
    query = (
        spark.readStream.name("numbers")
        .format("rate-micro-batch")
        .option("rowsPerBatch", 2)
        .load()
        .writeStream.foreachBatch(lambda batch, _number: seen.append(batch.count()))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    try:
        deadline = time.monotonic() + 60
        while not seen and time.monotonic() < deadline:
            time.sleep(0.05)
        assert seen[0] == 2
        called = [name for name in gateway.gateway_property.pool.dict if str(name).startswith("p")]
        with socket.create_connection(("127.0.0.1", gateway._callback_server.port), timeout=10) as connection:
            connection.sendall(f"c\n{called[-1]}\ncall\ni1\ni2\ne\n".encode())
            with suppress(ConnectionResetError):
                assert connection.recv(1000) == b""
    finally:
        query.stop()


@pytest.mark.timeout(120)
def test_a_python_function_over_a_file_ends(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    spark.range(3).select(f.concat(f.lit("n"), f.col("id").cast("string")).alias("name")).write.format("delta").save(
        path
    )
    upper = f.udf(lambda name: name.upper(), "string")
    rows = spark.read.format("delta").load(path).select(upper("name").alias("name")).collect()
    assert sorted(row["name"] for row in rows) == ["N0", "N1", "N2"]


def test_the_keys_of_the_defaults_are_sparks(spark: SparkSession, tmp_path: Path) -> None:
    # A misspelt key would be taken in silence. Delta tells Spark its keys at the first write.
    spark.range(1).write.format("delta").save(str(tmp_path / "table"))
    static = {
        "spark.sql.extensions",
        "spark.sql.catalog.spark_catalog",
        "spark.sql.catalogImplementation",
        "spark.sql.codegen.cache.maxEntries",
        "spark.sql.ui.retainedExecutions",
        "spark.databricks.delta.properties.defaults.checkpointInterval",
        "spark.sql.streaming.checkpointFileManagerClass",  # Spark reads it and does not list it; see test_local_disk.py
    }
    for default in DEFAULTS:
        by_pattern = default.key.startswith("spark.sql.streaming.stateStore.rocksdb.")
        if default.key.startswith(("spark.sql.", "spark.databricks.")) and default.key not in static and not by_pattern:
            assert spark.conf.isModifiable(default.key), default.key


def test_the_checksum_of_a_commit_has_its_transactions_and_not_its_files(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.range(1).write.format("delta").option("txnAppId", "app").option("txnVersion", 1)
    rows.save(str(tmp_path / "table"))
    checksum = tmp_path / "table/_delta_log/00000000000000000000.crc"
    told = json.loads(checksum.read_text())
    assert told["numFiles"] > 0
    assert [each["appId"] for each in told["setTransactions"]] == ["app"]
    assert "allFiles" not in told


def test_times_are_written_as_every_reader_takes_them(spark: SparkSession, tmp_path: Path) -> None:
    texts = ["0001-01-01 00:00:00", "1582-10-04 12:00:00", "9999-12-31 23:59:59.123456"]
    values = ", ".join(f"(TIMESTAMP'{text}', TIMESTAMP_NTZ'{text}', DATE'{text[:10]}')" for text in texts)
    spark.sql(f"SELECT * FROM VALUES {values} AS t(at, local, day)").write.format("delta").save(str(tmp_path / "t"))
    expected = [datetime.fromisoformat(text) for text in texts]
    rows = sorted(DeltaTable(str(tmp_path / "t")).to_pyarrow_table().to_pylist(), key=lambda row: row["day"])
    assert [row["at"] for row in rows] == [each.replace(tzinfo=UTC) for each in expected]
    assert [(row["local"], row["day"]) for row in rows] == [(each, each.date()) for each in expected]


@pytest.mark.accelerated
def test_hadoop_has_its_settings_without_those_of_yarn_and_notes_of_their_files(
    spark: SparkSession, tmp_path: Path
) -> None:
    assert prune_hadoop_conf(spark, local=True)  # again: what tests before have loaded may have read the files
    spark.range(1).write.format("delta").save(str(tmp_path / "table"))  # with which Hadoop loads what it has
    settings = _jvm.java_session(spark).sessionState().newHadoopConf()
    assert settings.get("io.file.buffer.size") == "65536"
    assert settings.get("mapreduce.framework.name") == "local"
    assert settings.get("yarn.resourcemanager.hostname") is None
    assert settings.getPropertySources("io.file.buffer.size") is None
    assert settings.getPropertySources("mapreduce.framework.name") is None


def test_state_is_kept_in_rocksdb_with_changelogs(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(10).withColumn("at", f.current_timestamp()).write.format("delta").save(str(tmp_path / "in"))
    counts = (
        spark.readStream.name("numbers").format("delta").load(str(tmp_path / "in"))
        .withWatermark("at", "1 minute").groupBy(f.window("at", "1 minute")).count()
    )  # fmt: skip
    query = (
        counts.writeStream.format("delta").option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True).start(str(tmp_path / "out"))
    )  # fmt: skip
    query.awaitTermination()
    state = tmp_path / "checkpoint" / "state" / "0"
    assert len([each for each in state.iterdir() if each.name.isdigit()]) == 2
    assert list(state.glob("0/*.changelog"))
    interval = spark.sql(f"SHOW TBLPROPERTIES delta.`{tmp_path / 'out'}` ('delta.checkpointInterval')").collect()
    assert interval[0].value == "50"


def test_nothing_is_left_in_the_current_folder(spark: SparkSession) -> None:
    before = set(os.listdir())
    spark.sql("CREATE TABLE left_over USING delta AS SELECT 1 AS one")
    spark.sql("DROP TABLE left_over")
    assert set(os.listdir()) - before <= {".pytest_cache"}
    assert "/penstock-" in str(spark.conf.get("spark.sql.warehouse.dir"))


def test_python_functions_run_on_this_python(spark: SparkSession) -> None:
    @f.udf("string")
    def executable() -> str:
        return sys.executable

    assert spark.range(1).select(executable()).collect()[0][0] == sys.executable


def test_log_and_state_of_the_running_session(spark: SparkSession) -> None:
    log = driver_log()
    assert log is not None
    assert log.is_file()
    assert jvm_exit_code() is None


def test_ctrl_c_stays_pythons(spark: SparkSession) -> None:
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.accelerated
def test_a_long_answer_comes_as_quickly_as_a_short_one(spark: SparkSession) -> None:
    """Where the system can be asked for it; elsewhere each takes 44 ms."""
    repeat = _jvm.jvm(spark).org.apache.commons.lang3.StringUtils.repeat
    took = []
    for _ in range(21):
        began = time.perf_counter()
        assert len(repeat("x", 9000)) == 9000
        took.append(time.perf_counter() - began)
    assert min(took[10:]) < 0.03 or not hasattr(socket, "TCP_QUICKACK")


def test_one_session_a_process(spark: SparkSession) -> None:
    with pytest.raises(StateError) as raised:
        start_session(SessionConfig(name="another"))
    assert (raised.value.condition, raised.value.facts) == ("SPARK_ALREADY_RUNNING", {"name": "tests"})
    assert raised.value.exit_code == 3
