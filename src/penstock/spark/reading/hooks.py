"""Lets a pipeline's own reads reach Penstock: hooks on PySpark's readers, writers and session.

The user's `spark` stays a real SparkSession. Once installed, the hooks ask the handler of the
current context what a read means; without a handler they do exactly what PySpark does.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from delta.tables import DeltaTable
from pyspark.errors import AnalysisException, IllegalArgumentException, PySparkTypeError, PySparkValueError
from pyspark.sql import DataFrame, DataFrameReader, DataFrameWriter, DataFrameWriterV2, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame
from pyspark.sql.sql_formatter import SQLStringFormatter
from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter
from pyspark.sql.types import DataType

from penstock.errors import DefinitionError, did_you_mean
from penstock.spark.failures.causes import reason_of
from penstock.spark.reading.local_rows import as_connect_takes, is_rows
from penstock.spark.reading.method_hooks import hook
from penstock.spark.reading.read_handler import current_handler, own_handler, unhooked
from penstock.spark.reading.recorded_options import (
    apply_load_arguments,
    recorded_options,
    remember_arguments,
    remember_calls,
    remember_options,
)
from penstock.spark.reading.stream_answers import answer_load, answer_table
from penstock.spark.sources.option import no_secret
from penstock.spark.sources.stream_read import StreamRead

_FILE_WRITES = ("save", "json", "csv", "parquet", "text", "orc", "xml")
_FILE_READS = ("load", "json", "csv", "parquet", "text", "orc", "xml")
_DATAFRAME_ACTIONS = """
    approxQuantile checkpoint collect corr count cov first foreach foreachPartition head isEmpty localCheckpoint show
    tail take toArrow toLocalIterator toPandas
"""
_ACTIONS: tuple[tuple[type, str], ...] = (
    (ClassicDataFrame, _DATAFRAME_ACTIONS),
    (DataFrameWriter, "csv insertInto jdbc json orc parquet save saveAsTable text xml"),
    (DataFrameWriterV2, "append create createOrReplace overwrite overwritePartitions replace"),
    (DataStreamWriter, "start toTable"),
)

_REFUSALS = (AnalysisException, IllegalArgumentException)
"""What Spark refuses a watermark with."""

_NO_INTERVAL = ("CANNOT_PARSE_INTERVAL", "INVALID_INTERVAL_FORMAT")


def secret_here(name: str) -> str:
    """The `Secret` of the code that is running.

    Raises:
        DefinitionError: SECRET_NOT_DECLARED.
        ConfigError: SECRET_NOT_FOUND.
    """
    handler = current_handler()
    return (no_secret if handler is None else handler.secret)(name)


Original = Callable[..., Any]
"""What PySpark or Delta has under the hooked name."""


@functools.cache
def install_read_hooks() -> None:
    """Installs the hooks in this process, once; they cost one context lookup per call."""
    remember_calls(DataStreamReader, "format", "schema", "name")
    remember_calls(DataFrameReader, "format", "schema")
    remember_options(DataStreamReader, lambda key, value: _mapped(key, value, batch=False))
    # `option("path", …)` is a path as well as the argument of `load`; a read by name needs all options.
    remember_options(DataFrameReader, lambda key, value: _mapped(key, value, batch=True))
    for method in _FILE_READS:
        hook(DataStreamReader, method, partial(_stream_read, method))
        hook(DataFrameReader, method, partial(_batch_path, method))
    # Behind the hook of its path: a connector's path is its own, and no file that Spark reads.
    hook(DataFrameReader, "load", _batch_load)
    hook(DataStreamReader, "table", _stream_table)
    hook(DataFrameReader, "table", _batch_table)
    hook(SparkSession, "table", _session_table)
    hook(SparkSession, "sql", _session_sql)
    hook(SparkSession, "createDataFrame", _create_data_frame)
    # Module-level code and the function of a sink may write; in a dataset function `_ACTIONS` refuses it first.
    for method in _FILE_WRITES:
        hook(DataFrameWriter, method, _write_path)
    hook(DataFrameWriter, "option", _write_option)
    hook(DataFrameWriter, "options", _write_options)
    for method in ("forPath", "isDeltaTable"):
        hook(DeltaTable, method, _delta_path)
    hook(ClassicDataFrame, "withWatermark", _watermark)
    for owner, methods in _ACTIONS:
        for method in methods.split():
            hook(owner, method, partial(_action, method))


def _stream_table(original: Original, self: Any, /, tableName: str) -> Any:  # noqa: N803 - PySpark's parameter name
    handler = current_handler()
    if handler is None:
        return original(self, tableName)
    return unhooked(answer_table, handler, self._spark, self, tableName)


def _stream_read(method: str, original: Original, self: Any, /, *arguments: Any, **named: Any) -> Any:
    handler = current_handler()
    if handler is None:
        return original(self, *arguments, **named)
    record = recorded_options(self)
    path, others = arguments[0] if arguments else named.pop("path", None), arguments[1:]
    if method == "load":
        # load(path, format, schema, **options) sets what was not chained, before it reads.
        apply_load_arguments(self, others, named)
        others, named = (), {}
    elif record["format"] == "":
        record["format"] = method
        remember_arguments(self, inspect.signature(original).bind_partial(self, *arguments, **named).arguments)

    def load(reader: DataStreamReader, where: str | None) -> Any:
        return original(reader, **named) if where is None else original(reader, where, *others, **named)

    return unhooked(answer_load, handler, self._spark, self, path, load)


def _mapped(key: str, value: Any, *, batch: bool) -> Any:
    handler = current_handler()
    if handler is None or key.casefold() != "path" or not isinstance(value, str):
        return value
    return unhooked(handler.path, value, batch=batch)


def _batch_path(method: str, original: Original, self: Any, /, path: Any = None, *arguments: Any, **named: Any) -> Any:
    handler = current_handler()
    if handler is not None and isinstance(path, str):
        path = unhooked(handler.path, path, batch=True)
    elif handler is not None and isinstance(path, (list, tuple)):
        path = [unhooked(handler.path, each, batch=True) for each in path]
    if path is None:
        return original(self, *arguments, **named)
    if method in {"parquet", "orc"} and isinstance(path, list):
        return original(self, *path, *arguments, **named)
    return original(self, path, *arguments, **named)


def _batch_load(original: Original, self: Any, /, path: Any = None, *arguments: Any, **named: Any) -> Any:
    handler = current_handler()
    if handler is None:
        return original(self, path, *arguments, **named)
    apply_load_arguments(self, arguments, named)
    record = recorded_options(self)
    where = path if isinstance(path, str) else None
    request = StreamRead(record["format"] or "parquet", dict(record["options"]), record["schema"], where)
    answer = unhooked(handler.batch, self._spark, request)
    return original(self, path) if answer is None else answer


def _write_path(original: Original, self: Any, /, path: Any = None, *arguments: Any, **named: Any) -> None:
    original(self, _mapped("path", path, batch=False), *arguments, **named)


def _write_option(original: Original, self: Any, /, key: str, value: Any) -> Any:
    return original(self, key, _mapped(key, value, batch=False))


def _write_options(original: Original, self: Any, /, **values: Any) -> Any:
    return original(self, **{key: _mapped(key, value, batch=False) for key, value in values.items()})


def _delta_path(original: Original, sparkSession: SparkSession, *arguments: Any, **named: Any) -> Any:  # noqa: N803 - Delta's
    """What the function of a sink usually merges into, it finds by path."""
    first, *others = arguments or (named.pop("path" if "path" in named else "identifier"),)
    return original(sparkSession, _mapped("path", first, batch=False), *others, **named)


def _batch_table(original: Original, self: Any, /, tableName: str) -> Any:  # noqa: N803 - PySpark's parameter name
    answer = _by_name(self._spark, tableName, dict(recorded_options(self)["options"]))
    return original(self, tableName) if answer is None else answer


def _session_table(original: Original, self: SparkSession, /, tableName: str) -> Any:  # noqa: N803 - PySpark's
    answer = _by_name(self, tableName, {})
    return original(self, tableName) if answer is None else answer


def _by_name(spark: SparkSession, name: str, options: dict[str, str]) -> DataFrame | None:
    handler = current_handler()
    return None if handler is None else unhooked(handler.table, spark, name, streaming=False, options=options)


def _session_sql(original: Original, self: SparkSession, /, sqlQuery: str, args: Any = None, **kwargs: Any) -> Any:  # noqa: N803
    handler = current_handler()
    if handler is None:
        return original(self, sqlQuery, args, **kwargs)
    formatter = SQLStringFormatter(self)
    statement = formatter.format(sqlQuery, **kwargs) if kwargs else sqlQuery
    try:
        return unhooked(handler.statement, self, statement, lambda text: original(self, text, args))
    finally:
        if kwargs:
            formatter.clear()


def _create_data_frame(  # noqa: PLR0917 - parameters of PySpark
    original: Original,
    self: SparkSession,
    /,
    data: Any,
    schema: Any = None,
    samplingRatio: Any = None,  # noqa: N803 - PySpark's parameter names
    verifySchema: bool = True,  # noqa: N803
) -> Any:
    # Not of the whole process: a script of plain Spark runs as there.
    if own_handler() is None or not (verifySchema and is_rows(data, schema)):
        return original(self, data, schema, samplingRatio, verifySchema)
    rows = list(data)
    try:
        return original(self, rows, schema, samplingRatio, verifySchema)
    except (PySparkTypeError, PySparkValueError):
        taken = as_connect_takes(rows, DataType.fromDDL(schema) if isinstance(schema, str) else schema)
        if taken is None:
            raise
        return original(self, *taken)


def _action(method: str, original: Original, self: Any, /, *arguments: Any, **named: Any) -> Any:
    handler = current_handler()
    if handler is not None:
        unhooked(handler.action, method)
    return original(self, *arguments, **named)


def _watermark(original: Original, self: ClassicDataFrame, /, eventTime: str, delayThreshold: str) -> Any:  # noqa: N803
    try:
        return original(self, eventTime, delayThreshold)
    except _REFUSALS as refusal:
        if current_handler() is None:
            raise
        error = watermark_error(self, eventTime, delayThreshold, refusal)
        if error is None:
            raise
        raise error from refusal


def watermark_error(
    frame: DataFrame, column: str, delay: str, refusal: AnalysisException | IllegalArgumentException
) -> DefinitionError | None:
    """Returns the error to raise in the place of one of the `_REFUSALS`; None when it is about something else."""
    condition = refusal.getCondition() or ""
    if condition.startswith("UNRESOLVED_COLUMN"):
        known = frame.columns
        suggestion = did_you_mean(column, known, also=f"Its columns are {', '.join(known)}.")
        return DefinitionError("WATERMARK_COLUMN_NOT_FOUND", column=column, suggestion=suggestion)
    if condition == "EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE":
        types = {name.casefold(): kind for name, kind in frame.dtypes}
        kind = types.get(column.strip("`").casefold(), "another type")
        return DefinitionError("WATERMARK_COLUMN_NOT_TIMESTAMP", column=column, type=kind)
    if isinstance(refusal, IllegalArgumentException) or condition.startswith(_NO_INTERVAL):
        reason = reason_of(refusal).removeprefix("requirement failed: ")
        return DefinitionError("WATERMARK_DELAY_INVALID", delay=delay, reason=reason)
    return None
