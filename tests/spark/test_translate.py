"""Java's exceptions, thrown for real, and what is made of them."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from penstock.errors import DataError, DefinitionError, ExternalError, PenstockError, SourceLocation
from penstock.graph.elements import Expectation, OnViolation
from penstock.graph.identifier import Identifier
from penstock.spark.accelerators.own_classes import LOG_STORE
from penstock.spark.expectations.observed import observe_expectations
from penstock.spark.failures.causes import failure_messages
from penstock.spark.failures.translate import translate_analysis, translate_failure, user_raised

_PLACE = SourceLocation("orders.py", 7)


def _thrown(spark: SparkSession, throwable: Any) -> BaseException:
    try:
        spark._jvm.scala.util.Failure(throwable).get()  # type: ignore[union-attr]
    except Exception as error:  # noqa: BLE001 - the subject of the test
        return error
    raise AssertionError


def _set_frames(spark: SparkSession, throwable: Any, classes: list[str]) -> None:
    java: Any = spark._jvm.java  # type: ignore[union-attr]
    frames = spark.sparkContext._gateway.new_array(java.lang.StackTraceElement, len(classes))  # type: ignore[union-attr]
    for number, name in enumerate(classes):
        frames[number] = java.lang.StackTraceElement(name, "call", "File.java", 1)
    throwable.setStackTrace(frames)


def test_failures_of_a_running_flow(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    java, kafka = jvm.java, jvm.org.apache.kafka.common.errors
    refused = java.net.ConnectException("Connection refused")
    cases = {
        java.io.IOException("write: No space left on device"): ("STORAGE_FULL", True),
        kafka.TimeoutException("Timed out waiting for a node assignment"): ("KAFKA_LOST", True),
        java.lang.RuntimeException("outer", kafka.DisconnectException("gone")): ("KAFKA_LOST", True),
        java.lang.RuntimeException("outer", refused): ("SERVICE_UNREACHABLE", True),
        java.net.SocketTimeoutException("Accept timed out"): ("FLOW_FAILED", True),
        java.lang.RuntimeException("Disk quota exceeded while writing"): ("STORAGE_FULL", True),
    }
    for throwable, (condition, retryable) in cases.items():
        error = translate_failure(_thrown(spark, throwable), dataset="shop.orders", flow="orders")
        assert (error.condition, error.retryable) == (condition, retryable), throwable.toString()
        assert error.dataset == "shop.orders"
    nested = _thrown(spark, java.lang.RuntimeException("outer", java.lang.RuntimeException("middle", refused)))
    told = {"flow": "f", "detail": "RuntimeException: middle"}
    assert translate_failure(nested, dataset="d", flow="f").facts == told, "the client's words, which hold the address"
    lost = (
        "Job aborted due to stage failure: Task 0 in stage 5.0 failed 4 times, most recent failure: Lost task 0.3 in "
    )
    lost += (
        "stage 5.0 (TID 9) (10.0.0.1 executor 3): ExecutorLostFailure (executor 3 exited) Reason: Command exited with "
    )
    for code, condition in ((137, "EXECUTORS_LOST_DURING_BATCH"), (52, "FLOW_FAILED")):  # 52: its memory was too small
        spark_error = _thrown(spark, jvm.org.apache.spark.SparkException(f"{lost}code {code}"))
        failed = translate_failure(spark_error, dataset="d", flow="f")
        assert (failed.condition, failed.is_outage) == (condition, code == 137)
    alone = translate_failure(_thrown(spark, refused), dataset="d", flow="f")
    assert alone.facts["detail"] == "ConnectException: Connection refused"
    assert alone.is_outage
    assert failure_messages(nested) == ("outer", "middle", "Connection refused")


def test_a_storage_that_does_not_work_is_told_from_what_it_keeps_from_being_done(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    java, hadoop = jvm.java, jvm.org.apache.hadoop.fs
    file_system = ["org.apache.spark.sql.execution.SomeExec", "org.apache.hadoop.fs.RawLocalFileSystem"]
    cases = [
        (java.io.IOException("Input/output error"), file_system, "STORAGE_FAILED"),
        (java.net.SocketTimeoutException("Read timed out"), ["org.apache.hadoop.fs.s3a.Invoker"], "STORAGE_FAILED"),
        (hadoop.PathIOException("/t/offsets/1"), file_system, "STORAGE_FAILED"),
        (java.io.IOException("Input/output error"), [LOG_STORE], "STORAGE_FAILED"),
        (java.io.IOException("write: No space left on device"), file_system, "STORAGE_FULL"),
        (java.io.IOException("Stream is corrupted"), ["net.jpountz.lz4.LZ4BlockInputStream"], "FLOW_FAILED"),
        (java.io.FileNotFoundException("/t/offsets/1"), file_system, "FLOW_FAILED"),
        (java.net.SocketTimeoutException("Read timed out"), ["com.example.Client"], "FLOW_FAILED"),
    ]
    for thrown, classes, condition in cases:
        _set_frames(spark, thrown, classes)
        error = translate_failure(_thrown(spark, java.lang.RuntimeException("outer", thrown)), dataset="d", flow="f")
        assert (error.condition, error.retryable) == (condition, True), thrown.toString()
        assert error.is_outage == (condition == "STORAGE_FAILED")
        assert error.facts["detail"] == thrown.getMessage()


def test_a_member_of_spark_that_is_gone_is_told_from_one_of_the_users_jar(spark: SparkSession) -> None:
    java: Any = spark._jvm.java  # type: ignore[union-attr]
    missing = "void org.apache.spark.sql.Something.call()"
    cases = {
        ("penstock.json.JsonRecords", "org.apache.spark.Task"): "penstock.json.JsonRecords",
        ("java.lang.ClassLoader", "penstock.files.SparkReflection"): "penstock.files.SparkReflection",
        ("com.example.Client", "penstock.files.ArrivingFiles"): None,
    }
    for classes, own_class in cases.items():
        thrown = java.lang.NoSuchMethodError(missing)
        _set_frames(spark, thrown, list(classes))
        failure = _thrown(spark, java.lang.RuntimeException("outer", thrown))
        error = translate_failure(failure, dataset="d", flow="f")
        analysed = translate_analysis(failure, known=(), location=_PLACE, dataset="d")
        assert (error.dataset, error.facts["detail"]) == ("d", missing)
        if own_class is None:
            assert (error.condition, analysed.condition) == ("FLOW_FAILED", "DATASET_FUNCTION_FAILED")
        else:
            assert (error.condition, analysed.condition) == ("SPARK_INTERNALS_CHANGED", "SPARK_INTERNALS_CHANGED")
            assert (error.facts["java_class"], error.retryable) == (own_class, False)


def test_a_class_for_a_newer_java_is_told_with_both_versions(spark: SparkSession, tmp_path: Path) -> None:
    """The JVM looks at the version of a class before anything else in it."""
    with ZipFile(tmp_path / "later.jar", "w") as jar:
        jar.writestr("later/Function.class", bytes.fromhex("cafebabe") + struct.pack(">HH", 0, 44 + 99))
    jvm: Any = spark._jvm
    urls = spark.sparkContext._gateway.new_array(jvm.java.net.URL, 1)  # type: ignore[union-attr]
    urls[0] = jvm.java.io.File(str(tmp_path / "later.jar")).toURI().toURL()
    with pytest.raises(Py4JJavaError) as loaded:
        jvm.java.net.URLClassLoader(urls).loadClass("later.Function")
    own = int(jvm.java.lang.Runtime.version().feature())
    of_worker = f"Job aborted due to stage failure: Lost task 0.3: {loaded.value.java_exception.toString()}"
    failures = [loaded.value, _thrown(spark, jvm.org.apache.spark.SparkException(of_worker))]
    for failure in failures:
        error = translate_failure(failure, dataset="d", flow="f")
        assert (error.condition, error.retryable) == ("CLASS_NEEDS_NEWER_JAVA", False)
        assert error.facts == {"java_class": "later.Function", "needed": "99", "known": str(own)}
        assert translate_analysis(failure, known=(), location=_PLACE, dataset="d").condition == "CLASS_NEEDS_NEWER_JAVA"


def test_a_checkpoint_that_another_run_has_written_is_not_called_incompatible(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    thrown = getattr(jvm.org.apache.spark.sql.errors, "QueryExecutionErrors$").__getattr__("MODULE$")
    error = translate_failure(_thrown(spark, thrown.concurrentStreamLogUpdate(3)), dataset="shop.ids", flow="ids")
    assert (error.condition, error.exit_code, error.retryable) == ("CHECKPOINT_WRITTEN_BY_ANOTHER", 3, False)


def test_a_damaged_log_of_a_table_is_named(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    unreadable = {
        "file:///t/ids/_delta_log/2.checkpoint.parquet": ("TABLE_NOT_READABLE", "/t/ids"),
        "file:///t/ids/part-1.parquet": ("FLOW_FAILED", None),
    }
    for path, (condition, name) in unreadable.items():
        facts = jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(jvm.java.util.HashMap({"path": path}))
        thrown = jvm.org.apache.spark.SparkException("FAILED_READ_FILE.NO_HINT", facts, None)
        error = translate_failure(_thrown(spark, thrown), dataset="shop.ids", flow="ids")
        assert (error.condition, error.facts.get("name")) == (condition, name)
    lost = jvm.org.apache.spark.sql.delta.DeltaErrors.actionNotFoundException("protocol", 3)
    error = translate_failure(_thrown(spark, lost), dataset="shop.ids", flow="ids")
    assert (error.condition, error.facts["name"], error.exit_code) == ("TABLE_NOT_READABLE", "shop.ids", 3)


def test_what_the_engine_says_itself_stays_as_it_is(spark: SparkSession) -> None:
    own = ExternalError("KAFKA_UNREACHABLE", servers="broker:9092")
    assert translate_failure(own, dataset="shop.orders", flow="orders") is own
    assert own.dataset == "shop.orders"
    definition = DefinitionError("FLOW_CYCLE", path="a -> a", name="a")
    assert translate_analysis(definition, known=(), location=_PLACE, dataset="shop.a") is definition
    assert (definition.location, definition.dataset) == (_PLACE, "shop.a")
    for gone in (ConnectionRefusedError("py4j"), BrokenPipeError()):
        assert translate_failure(gone, dataset="d", flow="f").condition == "JVM_DIED"


def test_a_broken_expectation_is_told_from_other_raised_errors(spark: SparkSession) -> None:
    name = 'it\'s ä "quoted", with: colon]'
    rules = [Expectation(name, "id < 0", OnViolation.FAIL, _PLACE), Expectation("b", "false", OnViolation.FAIL, _PLACE)]
    dataset = Identifier("shop", 'odd ":name')
    broken, _ = observe_expectations(spark.range(1), rules, dataset=dataset, occurrence=0)
    with pytest.raises(Exception, match="PENSTOCK") as failure:
        broken.collect()
    error = translate_failure(failure.value, dataset="shop.target", flow="f")
    assert isinstance(error, DataError)
    assert error.facts == {
        "name": 'shop.odd ":name',
        "expectations": f"'{name}', 'b'",
        "row": '{"id":0}',
        "origin": "",
    }
    with pytest.raises(Exception, match="mine") as raised:
        spark.range(1).select(sf.raise_error(sf.lit("mine"))).collect()
    assert user_raised(raised.value) == "mine"
    own = translate_failure(raised.value, dataset="d", flow="f")
    assert own.condition == "FLOW_FAILED"
    assert "mine" in own.facts["detail"]


def test_errors_of_analysis_have_a_place_and_no_plan(spark: SparkSession) -> None:
    def analysed(action: Any) -> PenstockError:
        with pytest.raises(Exception) as failure:  # noqa: PT011 - the subject of the test
            action()
        return translate_analysis(failure.value, known=("orders", "shop.orders"), location=_PLACE, dataset="shop.a")

    missing = analysed(lambda: spark.table("oders"))
    assert (missing.condition, missing.facts) == (
        "TABLE_OR_VIEW_NOT_FOUND",
        {"name": "oders", "suggestion": "Did you mean 'orders'?"},
    )
    column = analysed(lambda: spark.range(1).select("amount"))
    assert (column.condition, column.location, column.dataset) == ("QUERY_ANALYSIS_FAILED", _PLACE, "shop.a")
    assert "amount" in column.facts["detail"]
    assert "\n" not in column.facts["detail"]
    assert "SQLSTATE" not in column.facts["detail"]
    path = analysed(lambda: spark.read.json("/no/such/place"))
    assert (path.condition, path.facts) == ("PATH_NOT_FOUND", {"path": "/no/such/place"})
    own = analysed(lambda: {"a": 1}["key"])
    assert (own.condition, own.facts) == ("DATASET_FUNCTION_FAILED", {"error": "KeyError", "reason": "'key'"})
    java = analysed(lambda: spark._jvm.java.util.ArrayDeque().pop())  # type: ignore[union-attr]
    assert (java.condition, java.facts["error"]) == ("DATASET_FUNCTION_FAILED", "NoSuchElementException")
