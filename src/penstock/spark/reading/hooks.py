"""Lets a pipeline's own reads reach Penstock: hooks on PySpark's readers, writers and session.

The user's `spark` stays a real SparkSession. Once installed, the hooks ask the handler of the
current context what a read means; without a handler they do exactly what PySpark does.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from delta.tables import DeltaTable
from pyspark.errors import PySparkTypeError, PySparkValueError
from pyspark.sql import DataFrame, DataFrameReader, DataFrameWriter, DataFrameWriterV2, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame
from pyspark.sql.sql_formatter import SQLStringFormatter
from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter
from pyspark.sql.types import DataType

from penstock.spark.failures.watermarks import REFUSALS, watermark_error
from penstock.spark.reading.local_rows import as_connect_takes, is_rows
from penstock.spark.reading.recorded_options import (
    apply_load_arguments,
    named_source,
    recorded_options,
    remember_arguments,
    remember_options,
    remember_source,
)
from penstock.spark.session.read_handler import current_handler, own_handler
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


def secret_here(name: str) -> str:
    """The `Secret` of the code that is running.

    Raises:
        DefinitionError: SECRET_NOT_DECLARED.
        ConfigError: SECRET_NOT_FOUND.
    """
    handler = current_handler()
    return (no_secret if handler is None else handler.secret)(name)


@functools.cache
def install_read_hooks() -> None:
    """Installs the hooks in this process, once; they cost one context lookup per call."""
    remember_source(DataStreamReader, "format", "schema", "name")
    remember_source(DataFrameReader, "format", "schema")
    remember_options(DataStreamReader, lambda key, value: _mapped(key, value, batch=False))
    # `option("path", …)` is a path as well as the argument of `load`; a read by name needs all options.
    remember_options(DataFrameReader, lambda key, value: _mapped(key, value, batch=True))
    for method in (*_FILE_READS, "table"):
        _hook_stream_read(method)
    for method in _FILE_READS:
        _hook_batch_path(method)
    _hook_batch_load()
    for method in _FILE_WRITES:
        _hook_write_path(method)
    for method in ("forPath", "isDeltaTable"):
        _hook_delta_path(method)
    _hook_write_option()
    _hook_batch_table()
    _hook_session()
    _hook_watermark()
    for owner, methods in _ACTIONS:
        for method in methods.split():
            _hook_action(owner, method)


def _hook_stream_read(method: str) -> None:
    original = getattr(DataStreamReader, method)

    @functools.wraps(original)
    def hooked(self: Any, *arguments: Any, **named: Any) -> DataFrame:
        handler = current_handler()
        if handler is None:
            return original(self, *arguments, **named)
        record = recorded_options(self)
        if method == "table":
            table_name = arguments[0] if arguments else named["tableName"]
            answer = handler.table(
                self._spark,
                table_name,
                streaming=True,
                options=dict(record["options"]),
                source_name=record["name"],
            )
            if answer is not None:
                return answer
            return handler.stream(
                self._spark,
                StreamRead(format="table", options=dict(record["options"]), schema=None, path=table_name),
                lambda name, options: original(
                    named_source(self.options(**options), record["name"] or name), table_name
                ),
            )
        path = arguments[0] if arguments else named.pop("path", None)
        if method == "load":
            # load(path, format, schema, **options) sets what was not chained, before it reads.
            apply_load_arguments(self, arguments[1:], named)
            named = {}
        elif record["format"] == "":
            record["format"] = method
            remember_arguments(self, inspect.signature(original).bind_partial(self, *arguments, **named).arguments)
        where = None if path is None else handler.path(path, batch=False)
        read = StreamRead(
            format=record["format"] or "parquet", options=dict(record["options"]), schema=record["schema"], path=where
        )
        positional = () if where is None else (where, *(arguments[1:] if method != "load" else ()))
        return handler.stream(
            self._spark,
            read if record["name"] is None else read.named(record["name"]),
            lambda name, options: original(named_source(self.options(**options), name), *positional, **named),
        )

    setattr(DataStreamReader, method, hooked)


def _mapped(key: str, value: Any, *, batch: bool) -> Any:
    handler = current_handler()
    if handler is None or key.casefold() != "path" or not isinstance(value, str):
        return value
    return handler.path(value, batch=batch)


def _hook_batch_path(method: str) -> None:
    original = getattr(DataFrameReader, method)

    @functools.wraps(original)
    def hooked(self: Any, path: Any = None, *arguments: Any, **named: Any) -> DataFrame:
        handler = current_handler()
        if handler is not None and isinstance(path, str):
            path = handler.path(path, batch=True)
        elif handler is not None and isinstance(path, (list, tuple)):
            path = [handler.path(each, batch=True) for each in path]
        if path is None:
            return original(self, *arguments, **named)
        if method in {"parquet", "orc"} and isinstance(path, list):
            return original(self, *path, *arguments, **named)
        return original(self, path, *arguments, **named)

    setattr(DataFrameReader, method, hooked)


def _hook_batch_load() -> None:
    """Behind the hook of its path: a connector's path is its own, and no file that Spark reads."""
    original = DataFrameReader.load

    @functools.wraps(original)
    def hooked(self: Any, path: Any = None, *arguments: Any, **named: Any) -> DataFrame:
        handler = current_handler()
        if handler is None:
            return original(self, path, *arguments, **named)
        apply_load_arguments(self, arguments, named)
        record = recorded_options(self)
        where = path if isinstance(path, str) else None
        request = StreamRead(record["format"] or "parquet", dict(record["options"]), record["schema"], where)
        answer = handler.batch(self._spark, request)
        return original(self, path) if answer is None else answer

    DataFrameReader.load = hooked  # type: ignore[method-assign]


def _hook_write_path(method: str) -> None:
    """Module-level code and the function of a sink may write; in a dataset function `_ACTIONS` refuses it first."""
    original = getattr(DataFrameWriter, method)

    @functools.wraps(original)
    def hooked(self: Any, path: Any = None, *arguments: Any, **named: Any) -> None:
        original(self, _mapped("path", path, batch=False), *arguments, **named)

    setattr(DataFrameWriter, method, hooked)


def _hook_write_option() -> None:
    option, options = DataFrameWriter.option, DataFrameWriter.options

    @functools.wraps(option)
    def hooked_option(self: Any, key: str, value: Any) -> Any:
        return option(self, key, _mapped(key, value, batch=False))

    @functools.wraps(options)
    def hooked_options(self: Any, **values: Any) -> Any:
        return options(self, **{key: _mapped(key, value, batch=False) for key, value in values.items()})

    DataFrameWriter.option = hooked_option  # type: ignore[method-assign]
    DataFrameWriter.options = hooked_options  # type: ignore[method-assign]


def _hook_delta_path(method: str) -> None:
    """What the function of a sink usually merges into, it finds by path."""
    original = getattr(DeltaTable, method)

    @functools.wraps(original)
    def hooked(sparkSession: SparkSession, *arguments: Any, **named: Any) -> Any:  # noqa: N803 - Delta's parameter name
        first, *others = arguments or (named.pop("path" if "path" in named else "identifier"),)
        return original(sparkSession, _mapped("path", first, batch=False), *others, **named)

    setattr(DeltaTable, method, staticmethod(hooked))


def _hook_batch_table() -> None:
    original = DataFrameReader.table

    @functools.wraps(original)
    def hooked(self: Any, tableName: str) -> DataFrame:  # noqa: N803 - PySpark's parameter name
        handler = current_handler()
        options = dict(recorded_options(self)["options"])
        answer = None if handler is None else handler.table(self._spark, tableName, streaming=False, options=options)
        return original(self, tableName) if answer is None else answer

    DataFrameReader.table = hooked  # type: ignore[method-assign]


def _hook_session() -> None:
    table, sql = SparkSession.table, SparkSession.sql

    @functools.wraps(table)
    def hooked_table(self: SparkSession, tableName: str) -> DataFrame:  # noqa: N803 - PySpark's parameter name
        handler = current_handler()
        answer = None if handler is None else handler.table(self, tableName, streaming=False, options={})
        return table(self, tableName) if answer is None else answer

    @functools.wraps(sql)
    def hooked_sql(self: SparkSession, sqlQuery: str, args: Any = None, **kwargs: Any) -> Any:  # noqa: N803
        handler = current_handler()
        if handler is None:
            return sql(self, sqlQuery, args, **kwargs)
        formatter = SQLStringFormatter(self)
        statement = formatter.format(sqlQuery, **kwargs) if kwargs else sqlQuery
        try:
            return handler.statement(self, statement, lambda text: sql(self, text, args))
        finally:
            if kwargs:
                formatter.clear()

    _hook_create_data_frame()
    SparkSession.table = hooked_table  # type: ignore[method-assign]
    SparkSession.sql = hooked_sql  # type: ignore[method-assign]


def _hook_create_data_frame() -> None:
    original: Callable[..., DataFrame] = SparkSession.createDataFrame

    @functools.wraps(original)
    def hooked(
        self: SparkSession,
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

    SparkSession.createDataFrame = hooked  # type: ignore[assignment, method-assign]


def _hook_action(owner: type, method: str) -> None:
    original = getattr(owner, method)

    @functools.wraps(original)
    def hooked(self: Any, *arguments: Any, **named: Any) -> Any:
        handler = current_handler()
        if handler is not None:
            handler.action(method)
        return original(self, *arguments, **named)

    setattr(owner, method, hooked)


def _hook_watermark() -> None:
    original = ClassicDataFrame.withWatermark

    @functools.wraps(original)
    def hooked(self: ClassicDataFrame, eventTime: str, delayThreshold: str) -> Any:  # noqa: N803 - Spark's names
        try:
            return original(self, eventTime, delayThreshold)
        except REFUSALS as refusal:
            if current_handler() is None:
                raise
            error = watermark_error(self, eventTime, delayThreshold, refusal)
            if error is None:
                raise
            raise error from refusal

    ClassicDataFrame.withWatermark = hooked  # type: ignore[method-assign]
