"""The one door to the JVM: nothing outside `penstock.spark` may import this module."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Thread
from typing import Any, Final

from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import ParseException, PySparkException
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import StructType

SPARK_ERROR: Final = "org.apache.spark.SparkThrowable"
"""The class of Java exceptions that have a condition."""

_A_TIME = 10**15  # any; py4j makes a Long of it, of smaller ones an Integer


def jvm(spark: SparkSession) -> Any:
    """Returns py4j's view of the JVM, on which `jvm.java.lang.System` and the like resolve."""
    return spark._jvm


def callback_server(spark: SparkSession) -> Thread:
    """Returns the thread that takes the JVM's calls of Python objects, started if it was not."""
    gateway: Any = spark.sparkContext._gateway
    ensure_callback_server_started(gateway)
    server: Thread = gateway._callback_server.thread
    return server


def java_session(spark: SparkSession) -> Any:
    """Returns the `org.apache.spark.sql.classic.SparkSession` behind `spark`."""
    return spark._jsparkSession


def scala_seq(sequence: Any) -> list[Any]:
    """Returns the elements of a `scala.collection.Seq` as a Python list."""
    return [sequence.apply(position) for position in range(sequence.size())]


def nodes(plan: Any) -> Iterator[Any]:
    """Yields the nodes of a plan, each before its children."""
    yield plan
    for child in scala_seq(plan.children()):
        yield from nodes(child)


def id_of(named: Any) -> str:
    """Returns the id that Spark has generated for an attribute or an alias."""
    return str(named.exprId().id())


def is_marked(expression: Any, key: str) -> bool:
    """Whether an expression is a column with this key in its metadata."""
    return expression.getClass().getSimpleName() == "AttributeReference" and bool(expression.metadata().contains(key))


def scala_map(spark: SparkSession, options: Mapping[str, str]) -> Any:
    """Returns a `scala.collection.immutable.Map` of texts."""
    return jvm(spark).org.apache.spark.api.python.PythonUtils.toScalaMap(dict(options))


def analyzed_plan(frame: DataFrame) -> Any:
    """Returns the analysed `LogicalPlan` of `frame`."""
    return frame._jdf.queryExecution().analyzed()


def optimized_plan(frame: DataFrame) -> Any:
    """Returns the `LogicalPlan` that Spark's optimizer makes of `frame`, also of a streaming one."""
    optimizer = java_session(frame.sparkSession).sessionState().optimizer()
    return optimizer.execute(analyzed_plan(frame))


def local_relation(spark: SparkSession, schema: StructType, *, streaming: bool) -> DataFrame:
    """Returns a DataFrame over an empty `LocalRelation`, marked as streaming or not."""
    java = jvm(spark)
    struct = java_session(spark).parseDataType(schema.json())
    attributes = java.org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes(struct)
    relation = java.org.apache.spark.sql.catalyst.plans.logical.LocalRelation(
        attributes, to_seq(spark, ()), streaming, java.scala.Option.empty()
    )
    return frame_of(spark, relation)


def frame_of(spark: SparkSession, plan: Any) -> DataFrame:
    """Returns a DataFrame of an analysed `LogicalPlan`."""
    return DataFrame(jvm(spark).org.apache.spark.sql.classic.Dataset.ofRows(java_session(spark), plan), spark)


def without_ctes(frame: DataFrame) -> Any:
    """Returns the analysed plan of `frame` with each common table expression in the places that refer to it."""
    inline = jvm(frame.sparkSession).org.apache.spark.sql.catalyst.optimizer.InlineCTE(True, False)
    return inline.apply(analyzed_plan(frame))


def check_streaming(frame: DataFrame, mode: str) -> None:
    """Runs Spark's own check of a streaming plan against an output mode (`Append`, …)."""
    java = jvm(frame.sparkSession)
    output_mode = getattr(java.org.apache.spark.sql.streaming.OutputMode, mode)()
    checker = java.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    checker.checkForStreaming(analyzed_plan(frame), output_mode)


def physical_aggregation(plan: Any) -> tuple[list[Any], list[Any]] | None:
    """Returns what an `Aggregate` groups by and the aggregate functions that its state holds, each once."""
    found = jvm(SparkSession.active()).org.apache.spark.sql.catalyst.planning.PhysicalAggregation.unapply(plan)
    return None if found.isEmpty() else (scala_seq(found.get()._1()), scala_seq(found.get()._2()))


def frees_join_state(join: Any) -> bool:
    """Whether a `Join` of two streams can forget rows of both sides: by the watermark in its keys or its condition."""
    java = jvm(SparkSession.active())
    helper = java.org.apache.spark.sql.catalyst.analysis.StreamingJoinHelper
    if helper.isWatermarkInJoinKeys(join):
        return True
    left, right = join.left().outputSet(), join.right().outputSet()
    some_time = java.scala.Option.apply(_A_TIME)
    return all(
        helper.getStateValueWatermark(mine, other, join.condition(), some_time).isDefined()
        for mine, other in ((left, right), (right, left))
    )


def join_keys(join: Any) -> list[tuple[Any, Any]]:
    """Returns the expressions that a `Join` compares for equality, of its left and its right side."""
    keys = jvm(SparkSession.active()).org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys.unapply(join)
    return [] if keys.isEmpty() else list(zip(scala_seq(keys.get()._2()), scala_seq(keys.get()._3()), strict=True))


def parse_plan(spark: SparkSession, statement: str) -> Any:
    """Returns the unresolved `LogicalPlan` of a SQL statement."""
    return java_session(spark).sessionState().sqlParser().parsePlan(statement)


def substitute_variables(spark: SparkSession, statement: str) -> str:
    """Returns `statement` with each `${key}` replaced by the session's setting, as Spark does before it parses."""
    substitution = jvm(spark).org.apache.spark.sql.internal.VariableSubstitution()
    return str(substitution.substitute(statement))


def statement_offset(error: PySparkException, statement: str) -> int | None:
    """Returns the offset in `statement` that Spark says `error` is about, or None when it says none."""
    throwable = getattr(error, "_origin", None)
    if throwable is None or not is_instance(throwable, SPARK_ERROR):
        return None
    for context in throwable.getQueryContext():
        if str(context.contextType()) == "SQL" and not context.objectType() and context.startIndex() >= 0:
            return int(context.startIndex())
    if not is_instance(throwable, "org.apache.spark.sql.AnalysisException"):
        return None
    line, column = throwable.line(), throwable.startPosition()
    if line.isEmpty() or column.isEmpty():
        return None
    lines = statement.splitlines(keepends=True)[: int(line.get()) - 1]
    return min(sum(map(len, lines)) + int(column.get()), len(statement))


def register_relation(spark: SparkSession, name: str, frame: DataFrame) -> None:
    """Makes `name()` in SQL mean `frame`.

    Unlike a temporary view, it also shows the hidden columns of its sources: `_metadata`.
    """
    java = jvm(spark)
    nothing = getattr(getattr(java.scala.collection.immutable, "Map$"), "MODULE$").empty()
    # A Scala map is a function; this one answers the same plan whatever the arguments are.
    builder = nothing.withDefaultValue(analyzed_plan(frame))
    info = java.org.apache.spark.sql.catalyst.expressions.ExpressionInfo("penstock", name)
    _table_functions(spark).registerFunction(_function_identifier(spark, name), info, builder)


def drop_relation(spark: SparkSession, name: str) -> None:
    """Takes back `register_relation`."""
    _table_functions(spark).dropFunction(_function_identifier(spark, name))


def _table_functions(spark: SparkSession) -> Any:
    return java_session(spark).sessionState().tableFunctionRegistry()


def _function_identifier(spark: SparkSession, name: str) -> Any:
    java = jvm(spark)
    option = java.scala.Option
    # Where Spark keeps temporary functions.
    return java.org.apache.spark.sql.catalyst.FunctionIdentifier(name, option.apply("session"), option.apply("system"))


def reader_options(spark: SparkSession, source_format: str) -> frozenset[str]:
    """Returns the names of the options that Spark's reader of a file format knows; empty for other formats."""
    name = _OPTION_OBJECTS.get(source_format)
    if name is None:
        return frozenset()
    holder = jvm(spark)
    for part in f"{name}$".split("."):
        holder = getattr(holder, part)
    return frozenset(str(getattr(holder, "MODULE$").getAllOptions().mkString(",")).split(","))


_OPTION_OBJECTS = {
    "avro": "org.apache.spark.sql.avro.AvroOptions",
    "csv": "org.apache.spark.sql.catalyst.csv.CSVOptions",
    "json": "org.apache.spark.sql.catalyst.json.JSONOptions",
    "orc": "org.apache.spark.sql.execution.datasources.orc.OrcOptions",
    "parquet": "org.apache.spark.sql.execution.datasources.parquet.ParquetOptions",
    "text": "org.apache.spark.sql.execution.datasources.text.TextOptions",
    "xml": "org.apache.spark.sql.catalyst.xml.XmlOptions",
}


def cloned_session(spark: SparkSession, conf: Mapping[str, str]) -> SparkSession:
    """Returns a clone of the session, so that `conf` touches no other query."""
    clone = java_session(spark).cloneSession()
    for key, value in conf.items():
        clone.conf().set(key, value)
    return SparkSession(spark.sparkContext, clone)


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


def drop_view(spark: SparkSession, name: str) -> None:
    """Forgets a temporary view; PySpark's `dropTempView` would also forget what is cached of the rows behind it."""
    java_session(spark).sessionState().catalog().dropTempView(name)


def is_temporary_view(spark: SparkSession, name: str) -> bool:
    """Returns whether `name` is a temporary view of the session; False for what cannot be one."""
    state = java_session(spark).sessionState()
    try:
        return bool(state.catalog().isTempView(state.sqlParser().parseTableIdentifier(name)))
    except ParseException:
        return False


@contextmanager
def printing_to(spark: SparkSession) -> Iterator[Callable[[], str]]:
    """Catches what the JVM prints in this thread, and the threads that it starts; yields a function that returns it."""
    java = jvm(spark)
    console = getattr(java.scala, "Console$").__getattr__("MODULE$")
    written = java.java.io.ByteArrayOutputStream()
    before = console.out()
    console.setOutDirect(java.java.io.PrintStream(written, True))
    try:
        yield lambda: str(written.toString())
    finally:
        console.setOutDirect(before)


def is_logical_plan(node: Any) -> bool:
    """Returns whether a JVM object is a Catalyst `LogicalPlan`."""
    return is_instance(node, "org.apache.spark.sql.catalyst.plans.logical.LogicalPlan")


def is_command(spark: SparkSession, plan: Any) -> bool:
    """Returns whether a parsed statement does something other than answer a query."""
    names = ("Command", "ParsedStatement", "UnaryCommand", "V2WriteCommand")
    return any(is_instance(plan, f"org.apache.spark.sql.catalyst.plans.logical.{name}") for name in names)


def file_index(relation: Any) -> Any | None:
    """Returns the `FileIndex` of a `LogicalRelation`, None when it reads no files."""
    source = relation.relation()
    hadoop = "org.apache.spark.sql.execution.datasources.HadoopFsRelation"
    return source.location() if is_instance(source, hadoop) else None


def is_instance(node: Any, class_name: str) -> bool:
    """Returns whether a Java object is one of this class: py4j answers `hasattr` with True for any name."""
    return bool(is_instance_of(SparkContext._gateway, node, class_name))


def avro_schema_reader(spark: SparkSession) -> Callable[[str], str]:
    """Returns a function that reads the schema in the header of an Avro file, as JSON text.

    It raises Py4JJavaError for a file that is no Avro file.
    """
    java = jvm(spark)
    settings = java_session(spark).sessionState().newHadoopConf()

    def schema_of(path: str) -> str:
        file = java.org.apache.avro.mapred.FsInput(java.org.apache.hadoop.fs.Path(path), settings)
        try:
            generic = java.org.apache.avro.generic.GenericDatumReader()
            return str(java.org.apache.avro.file.DataFileReader.openReader(file, generic).getSchema().toString())
        finally:
            file.close()

    return schema_of


def activate(spark: SparkSession) -> None:
    """Makes `spark` the active session of this thread, so that `SparkSession.getActiveSession()` finds it."""
    jvm(spark).org.apache.spark.sql.SparkSession.setActiveSession(java_session(spark))


def has_format(spark: SparkSession, name: str) -> bool:
    """Returns whether Spark finds a format of that name, among the registered Python data sources too."""
    state = java_session(spark).sessionState()
    try:
        jvm(spark).org.apache.spark.sql.execution.datasources.DataSource.lookupDataSource(name, state.conf())
    except (PySparkException, Py4JJavaError):
        return bool(state.dataSourceManager().dataSourceExists(name))  # starts a Python process to ask for them
    return True


def path_exists(spark: SparkSession, uri: str) -> bool:
    """Returns whether there is a file or folder, on any file system that Hadoop knows, under the session's settings."""
    path = jvm(spark).org.apache.hadoop.fs.Path(uri)
    return bool(path.getFileSystem(java_session(spark).sessionState().newHadoopConf()).exists(path))


def matches_files(spark: SparkSession, pattern: str) -> bool:
    """Returns whether a glob pattern of Hadoop matches any file or folder."""
    path = jvm(spark).org.apache.hadoop.fs.Path(pattern)
    found = path.getFileSystem(java_session(spark).sessionState().newHadoopConf()).globStatus(path)
    return found is not None and len(found) > 0


def qualified_path(spark: SparkSession, path: str) -> str:
    """Returns a path with the scheme of its file system, as Hadoop spells it: `file:/data/in`."""
    there = jvm(spark).org.apache.hadoop.fs.Path(path)
    return str(there.getFileSystem(java_session(spark).sessionState().newHadoopConf()).makeQualified(there).toString())


def table_snapshot(frame: DataFrame) -> Any:
    """Returns Delta's `Snapshot` of the table version that `frame`, a plain read of it, would read."""
    index = file_index(analyzed_plan(frame))
    assert index is not None, "a read of a Delta table is a relation of files"
    return index.getSnapshot()


def rows_of_files(spark: SparkSession, snapshot: Any, chosen: Column) -> DataFrame:
    """Returns the rows that some files of a `Snapshot` hold; `chosen` is a condition on Delta's `AddFile`."""
    java = jvm(spark)
    files = snapshot.allFiles().where(chosen._jc).collect()
    sequence = java.scala.collection.immutable.ArraySeq.unsafeWrapArray(files)
    return DataFrame(snapshot.deltaLog().createDataFrame(snapshot, sequence, False, java.scala.Option.empty()), spark)


def column_of(spark: SparkSession, expression: Any) -> Column:
    """Returns the column that an expression of a plan stands for, such as an attribute, whatever others are called."""
    return Column(jvm(spark).org.apache.spark.sql.classic.ExpressionUtils.column(expression))


def expression_of(spark: SparkSession, column: Column) -> Any:
    """Returns the Java expression of a column, not resolved."""
    return jvm(spark).org.apache.spark.sql.classic.ExpressionUtils.expression(column._jc)


def with_children(spark: SparkSession, plan: Any, children: Sequence[Any]) -> Any:
    """Returns the node of a `LogicalPlan` with other children, which have the same columns."""
    return plan.withNewChildren(to_seq(spark, children))


def to_seq(spark: SparkSession, elements: Sequence[Any]) -> Any:
    """Returns a `scala.collection.immutable.Seq` of Java objects."""
    built = getattr(getattr(jvm(spark).scala.collection.immutable, "Nil$"), "MODULE$")
    for element in reversed(elements):
        built = built.prepended(element)
    return built


def array_of(spark: SparkSession, class_name: str, *elements: Any) -> Any:
    """Returns a Java array."""
    kind: Any = jvm(spark)
    for part in class_name.split("."):
        kind = getattr(kind, part)
    gateway: Any = spark.sparkContext._gateway
    array = gateway.new_array(kind, len(elements))
    for position, element in enumerate(elements):
        array[position] = element
    return array
