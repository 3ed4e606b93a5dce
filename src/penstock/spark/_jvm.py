"""The one door to the JVM: nothing outside `penstock.spark` may import this module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType


def jvm(spark: SparkSession) -> Any:
    """Returns py4j's view of the JVM, on which `jvm.java.lang.System` and the like resolve."""
    return spark._jvm


def java_session(spark: SparkSession) -> Any:
    """Returns the `org.apache.spark.sql.classic.SparkSession` behind `spark`."""
    return spark._jsparkSession


def scala_seq(sequence: Any) -> list[Any]:
    """Returns the elements of a `scala.collection.Seq` as a Python list."""
    return [sequence.apply(position) for position in range(sequence.size())]


def analyzed_plan(frame: DataFrame) -> Any:
    """Returns the analysed `LogicalPlan` of `frame`."""
    return frame._jdf.queryExecution().analyzed()


def local_relation(spark: SparkSession, schema: StructType, *, streaming: bool) -> DataFrame:
    """Returns a DataFrame over an empty `LocalRelation`, marked as streaming or not."""
    java = jvm(spark)
    struct = java_session(spark).parseDataType(schema.json())
    attributes = java.org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes(struct)
    nothing = getattr(java.scala.collection.immutable, "Nil$")
    relation = java.org.apache.spark.sql.catalyst.plans.logical.LocalRelation(
        attributes, getattr(nothing, "MODULE$"), streaming, java.scala.Option.empty()
    )
    return DataFrame(java.org.apache.spark.sql.classic.Dataset.ofRows(java_session(spark), relation), spark)


def check_streaming(frame: DataFrame, mode: str) -> None:
    """Runs Spark's own check of a streaming plan against an output mode (`Append`, …)."""
    java = jvm(frame.sparkSession)
    output_mode = getattr(java.org.apache.spark.sql.streaming.OutputMode, mode)()
    checker = java.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    checker.checkForStreaming(analyzed_plan(frame), output_mode)


def parse_plan(spark: SparkSession, statement: str) -> Any:
    """Returns the unresolved `LogicalPlan` of a SQL statement."""
    return java_session(spark).sessionState().sqlParser().parsePlan(statement)


def on_cloned_session(frame: DataFrame, conf: Mapping[str, str]) -> DataFrame:
    """Returns `frame` bound to a clone of its session, so that `conf` touches no other query."""
    spark = frame.sparkSession
    clone = java_session(spark).cloneSession()
    for key, value in conf.items():
        clone.conf().set(key, value)
    dataset = jvm(spark).org.apache.spark.sql.classic.Dataset.ofRows(clone, analyzed_plan(frame))
    return DataFrame(dataset, SparkSession(spark.sparkContext, clone))


def release(checkpointed: DataFrame) -> None:
    """Frees the rows that `checkpointed`, the result of `localCheckpoint`, holds on the executors."""
    analyzed_plan(checkpointed).rdd().unpersist(False)


def dataset_id(frame: DataFrame) -> int:
    """Returns the id under which Spark files the observed metrics of `frame.observe(name, …)`."""
    return int(frame._jdf.id())


def observation(frame: DataFrame, name: str, observed_dataset_id: int) -> Any:
    """Registers and returns a Java `Observation` for metrics `name` in the session of `frame`."""
    spark = frame.sparkSession
    java_observation = jvm(spark).org.apache.spark.sql.Observation(name)
    java_session(spark).observationManager().register(java_observation, observed_dataset_id)
    return java_observation


def observed_values(java_observation: Any) -> dict[str, int] | None:
    """Returns the counters of a Java `Observation`, or None while its query has not reported."""
    if not java_observation.future().isCompleted():
        return None
    return {str(name): int(value) for name, value in java_observation.getAsJava().items()}


def is_temporary_view(spark: SparkSession, name: str) -> bool:
    """Tells whether `name` is a temporary view of the session; False for what cannot be one."""
    state = java_session(spark).sessionState()
    try:
        return bool(state.catalog().isTempView(state.sqlParser().parseTableIdentifier(name)))
    except ParseException:
        return False


def is_logical_plan(node: Any) -> bool:
    """Tells whether a JVM object is a Catalyst `LogicalPlan`."""
    return _is_instance(node, "org.apache.spark.sql.catalyst.plans.logical.LogicalPlan")


def is_command(spark: SparkSession, plan: Any) -> bool:
    """Tells whether a parsed statement does something other than answer a query."""
    names = ("Command", "ParsedStatement", "UnaryCommand", "V2WriteCommand")
    return any(_is_instance(plan, f"org.apache.spark.sql.catalyst.plans.logical.{name}") for name in names)


def sql_position(error: PySparkException) -> tuple[int, int] | None:
    """Returns the line (from 1) and the position in it (from 0) that Spark gives for an error in SQL text."""
    throwable = getattr(error, "_origin", None)
    if throwable is None or not _is_instance(throwable, "org.apache.spark.sql.AnalysisException"):
        return None
    line, position = throwable.line(), throwable.startPosition()
    return (int(line.get()), int(position.get())) if line.isDefined() and position.isDefined() else None


def is_spark_error(throwable: Any) -> bool:
    """Tells whether a Java exception has a condition: py4j answers `hasattr` with True for any name."""
    return _is_instance(throwable, "org.apache.spark.SparkThrowable")


def _is_instance(node: Any, class_name: str) -> bool:
    return bool(is_instance_of(SparkContext._gateway, node, class_name))


def case_sensitive_clone(spark: SparkSession) -> SparkSession:
    """Returns a clone of the session in which names that differ only in case are different names."""
    clone = java_session(spark).cloneSession()
    clone.conf().set("spark.sql.caseSensitive", "true")
    return SparkSession(spark.sparkContext, clone)


def activate(spark: SparkSession) -> None:
    """Makes `spark` the active session of this thread, so that `SparkSession.getActiveSession()` finds it."""
    jvm(spark).org.apache.spark.sql.SparkSession.setActiveSession(java_session(spark))


def has_format(spark: SparkSession, name: str) -> bool:
    """Tells whether Spark finds a format of that name, among the registered Python data sources too."""
    state = java_session(spark).sessionState()
    if state.dataSourceManager().dataSourceExists(name):
        return True
    try:
        jvm(spark).org.apache.spark.sql.execution.datasources.DataSource.lookupDataSource(name, state.conf())
    except (PySparkException, Py4JJavaError):
        return False
    return True


def path_exists(spark: SparkSession, uri: str) -> bool:
    """Tells whether there is a file or folder, on any file system that Hadoop knows."""
    path = jvm(spark).org.apache.hadoop.fs.Path(uri)
    return bool(path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()).exists(path))
